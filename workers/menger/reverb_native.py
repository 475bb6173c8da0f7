"""Reverb's own native client and server, loaded without TensorFlow's Python package.

`import reverb` brings all of TensorFlow in: 6 s and 450 MB a process. Its extension module needs only TensorFlow's base
library: 0.4 s and 70 MB. The library is loaded first, privately (RTLD_LOCAL), so that the extension finds it by its
name and no other library sees its symbols. numpy must be imported before the extension, which otherwise crashes.

Pinned: tested against dm-reverb 0.14.0 with tensorflow-cpu 2.15.1; other versions are refused, not tried.
Everything of Reverb that this project uses goes through this module.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.machinery
import importlib.util
import os
import socket
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np  # noqa: F401  (must be imported before the extension module)

from netlists.errors import PlacewrightError
from workers.menger.listening import Binding, bind

PINNED = {"dm-reverb": "0.14.0", "tensorflow-cpu": "2.15.1"}
UNROLL_TABLE = "unrolls"  # of a replay shard
BASE_LIBRARY = "libtensorflow_framework.so.2"


class ReverbUnavailableError(PlacewrightError):
    """Reverb is not installed here, or in a version that the loader does not know."""


def _folder(package: str) -> Path:
    spec = importlib.util.find_spec(package)  # finds, does not import
    if spec is None or not spec.submodule_search_locations:
        raise ReverbUnavailableError(f"package {package} is not installed (Linux on x86-64 only)")
    return Path(next(iter(spec.submodule_search_locations)))


@functools.cache
def native() -> Any:
    """Reverb's extension module. Loaded once a process."""
    for name, wanted in PINNED.items():
        try:
            found = version(name)
        except PackageNotFoundError as error:
            raise ReverbUnavailableError(f"{name} {wanted} is not installed (Linux on x86-64 only)") from error
        if found != wanted:
            raise ReverbUnavailableError(f"{name} is {found}, the loader knows {wanted}")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # its base library greets on stderr otherwise
    ctypes.CDLL(str(_folder("tensorflow") / BASE_LIBRARY))
    loader = importlib.machinery.ExtensionFileLoader("libpybind", str(_folder("reverb") / "libpybind.so"))
    spec = importlib.util.spec_from_loader("libpybind", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def queue_table(name: str, max_size: int) -> Any:
    """A table that gives each item out once, oldest first, and makes writers wait while it holds `max_size` items."""
    reverb = native()
    return reverb.Table(
        name=name,
        sampler=reverb.FifoSelector(),
        remover=reverb.FifoSelector(),
        max_size=max_size,
        max_times_sampled=1,
        rate_limiter=reverb.RateLimiter(
            samples_per_insert=1.0, min_size_to_sample=1, min_diff=0.0, max_diff=float(max_size)
        ),
        extensions=[],
        signature=None,
    )


def newest_table(name: str) -> Any:
    """A table of one item, the newest; it can be read any number of times, and a write never waits."""
    reverb = native()
    unbounded = 1e18
    return reverb.Table(
        name=name,
        sampler=reverb.LifoSelector(),
        remover=reverb.FifoSelector(),
        max_size=1,
        max_times_sampled=0,
        rate_limiter=reverb.RateLimiter(
            samples_per_insert=1.0, min_size_to_sample=1, min_diff=-unbounded, max_diff=unbounded
        ),
        extensions=[],
        signature=None,
    )


# Fields of Reverb's TableInfo message (reverb_service.proto, schema.proto)
CURRENT_SIZE = 7
RATE_LIMITER, SAMPLE_STATS, COMPLETED = 5, 6, 2


def table_size(table: Any) -> int:
    """How many items a table of this process holds."""
    size = _fields(table.info()).get(CURRENT_SIZE, 0)
    assert isinstance(size, int)
    return size


def table_reads(table: Any) -> int:
    """How many items a table of this process has given out since it was made."""
    limiter = _fields(table.info()).get(RATE_LIMITER, b"")
    assert isinstance(limiter, bytes)
    stats = _fields(limiter).get(SAMPLE_STATS, b"")
    assert isinstance(stats, bytes)
    reads = _fields(stats).get(COMPLETED, 0)
    assert isinstance(reads, int)
    return reads


def _fields(message: bytes) -> dict[int, int | bytes]:
    """Numbers and bytes of a protobuf message by field, the last of each; protobuf leaves zeros out."""
    found: dict[int, int | bytes] = {}
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        number, kind = divmod(varint(), 8)
        if kind == 0:
            found[number] = varint()
            continue
        size = {1: lambda: 8, 2: varint, 5: lambda: 4}[kind]()
        found[number] = message[at : at + size]
        at += size
    return found


def start_server(tables: list[Any], binding: Binding | None = None) -> tuple[Any, int]:
    """A server on a free port. Returns it (keep it; `Stop()` ends it) and the port. Raises ListeningError.

    Reverb cannot bind port 0 and tell: a free one is looked up first, and another tried if someone took it meanwhile.
    """
    reverb = native()
    for attempt in range(5):
        with socket.socket() as probe:
            probe.bind(("", 0))
            port = probe.getsockname()[1]
        try:
            server = reverb.Server(tables, port, None)
        except RuntimeError:
            if attempt == 4:
                raise
            continue
        if binding is not None:
            bind(binding, port)
        return server, port
    raise AssertionError("unreachable")


class ItemWriter:
    """Writes items, each a list of arrays, into tables of one server. For one thread; never waits beyond a time-out."""

    def __init__(self, address: str) -> None:
        reverb = native()
        self.address = address
        self._client = reverb.Client(address)
        self._writer = self._client.NewTrajectoryWriter(reverb.ConstantChunkerOptions(1, 1), False)

    def write(self, table: str, arrays: list[Any]) -> None:
        """Hand an item over for sending. `flush` says whether it arrived."""
        references = self._writer.Append(arrays)
        self._writer.CreateItem(table, 1.0, [[reference] for reference in references], [True] * len(references))

    def flush(self, timeout_s: float) -> bool:
        """True: all items are in their tables. False: not yet (queue full or server away); they are on their way."""
        try:
            self._writer.Flush(0, max(1, int(timeout_s * 1000)))
        except RuntimeError as error:
            if "Timeout exceeded" in str(error) or "Deadline" in str(error):
                return False
            raise
        return True

    def close(self) -> None:
        """Give up what is not delivered. Without it, dropping a writer whose server has gone would hang the process."""
        self._writer.Close()


INFO_ARRAYS = 5  # key, probability, table size, priority, times sampled; the item's arrays follow


class ItemReader:
    """Endless stream of items of a table. `read` blocks, so it is called by a thread that may be left behind."""

    def __init__(self, address: str, table: str, in_flight: int = 2) -> None:
        self._client = native().Client(address)
        self._sampler = self._client.NewSampler(table, -1, in_flight)

    def read(self) -> list[Any]:
        """The next item's arrays. Waits for ever when there is none, also while the server is away."""
        return list(self._sampler.GetNextTrajectory()[INFO_ARRAYS:])


def read_once(address: str, table: str) -> list[Any]:
    """One item of a table that is never empty. Blocks while the server is away: call it from a thread."""
    client = native().Client(address)
    return list(client.NewSampler(table, 1, 1).GetNextTrajectory()[INFO_ARRAYS:])


def reachable(address: str, timeout_s: float) -> bool:
    """Whether a server accepts connections there."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=timeout_s).close()
    except OSError:
        return False
    return True
