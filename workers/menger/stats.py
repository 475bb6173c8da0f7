"""Small meters for what roles report: rates and means over the recent past. Not thread-safe; one thread feeds each."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

WINDOW_S = 10.0


class RateMeter:
    """Events per second over the last `window_s` (less at the start)."""

    def __init__(self, window_s: float = WINDOW_S, clock: Callable[[], float] = time.monotonic) -> None:
        self._window_s = window_s
        self._clock = clock
        self._begin_s = clock()
        self._marks: deque[tuple[float, float]] = deque()
        self._sum = 0.0

    def add(self, count: float) -> None:
        self._marks.append((self._clock(), count))
        self._sum += count

    def per_s(self) -> float:
        now_s = self._clock()
        while self._marks and self._marks[0][0] < now_s - self._window_s:
            self._sum -= self._marks.popleft()[1]
        span_s = min(self._window_s, now_s - self._begin_s)
        return self._sum / span_s if span_s > 0 and self._marks else 0.0


class RecentMean:
    """Mean of the last `count` values; None before the first."""

    def __init__(self, count: int) -> None:
        self._values: deque[float] = deque(maxlen=count)

    def add(self, value: float) -> None:
        self._values.append(value)

    def mean(self) -> float | None:
        return sum(self._values) / len(self._values) if self._values else None
