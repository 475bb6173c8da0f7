"""Whether silence in the database means anything: not just after the database itself was away, when all seem silent."""

from __future__ import annotations

import time
from collections.abc import Callable


class Sight:
    """Knows from the moments of successful looks at the database whether there was a gap. One thread."""

    def __init__(self, stale_after_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        """A gap is a time without a look longer than half of `stale_after_s`, after which others are called silent."""
        self._stale_after_s = stale_after_s
        self._clock = clock
        self._last_s = clock()
        self._clear_from_s = -float("inf")

    def clear(self) -> bool:
        """To be called after each successful look. False for `stale_after_s` after a gap: give all time to report."""
        now_s = self._clock()
        if now_s - self._last_s > self._stale_after_s / 2:
            self._clear_from_s = now_s + self._stale_after_s
        self._last_s = now_s
        return now_s >= self._clear_from_s
