"""Seals on what travels between roles: HMAC-SHA256 (RFC 2104) with a key that only the job's roles know.

A sealed item is the item's arrays and a last one, the tag (32,) uint8. The tag covers what kind of item it is, and
number, dtypes, shapes and contents of the arrays, so that neither a weight nor the meaning of an item can be changed.
It hides nothing, and does not forbid that an old item is sent once more; see docs/decisions/0017.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Any

import numpy as np
from numpy.typing import NDArray

TAG_BYTES = hashlib.sha256().digest_size
KEY_BYTES = 32
NUMBERS = "biuf"  # kinds of dtypes that items are made of


class SealError(ValueError):
    """An item that does not come from a role of this job, or was changed on its way."""


class Seal:
    """Seals and opens items of one job. Thread-safe. Without a key (tests, benchmarks) items travel as they are."""

    def __init__(self, key: bytes | None) -> None:
        if key is not None and len(key) < KEY_BYTES:
            raise ValueError(f"a key of {len(key)} bytes, must have at least {KEY_BYTES}")
        self._key = key

    def close(self, kind: str, arrays: list[Any]) -> list[Any]:
        """The item to be sent."""
        if self._key is None:
            return arrays
        return [*arrays, np.frombuffer(self._tag(self._key, kind, arrays), np.uint8)]

    def open(self, kind: str, item: list[Any]) -> list[NDArray]:
        """The arrays of an item that came. Raises SealError."""
        if self._key is None:
            return item
        if not item:
            raise SealError(f"an item of {kind!r} is empty, without a seal")
        tag = np.asarray(item[-1])
        if tag.dtype != np.uint8 or tag.shape != (TAG_BYTES,):
            raise SealError(
                f"an item of {kind!r} is not sealed: its last array is {tag.dtype}{tag.shape}, not uint8({TAG_BYTES},)"
            )
        if any(np.asarray(array).dtype.kind not in NUMBERS for array in item):
            raise SealError(f"an item of {kind!r} holds something else than numbers")
        if not hmac.compare_digest(tag.tobytes(), self._tag(self._key, kind, item[:-1])):
            raise SealError(f"an item of {kind!r} is sealed with another key, or was changed on its way")
        return item[:-1]

    @staticmethod
    def _tag(key: bytes, kind: str, arrays: list[Any]) -> bytes:
        code = hmac.new(key, digestmod=hashlib.sha256)
        made = [np.asarray(array, order="C") for array in arrays]
        # Everything of variable length before the contents, with the lengths that the shapes say: nothing can be moved
        # from one array into the next.
        code.update(repr((kind, [(array.dtype.str, array.shape) for array in made])).encode())
        for array in made:
            code.update(array.reshape(-1).view(np.uint8).data)
        return code.digest()


UNSEALED = Seal(None)
