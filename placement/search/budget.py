"""How long a search may go on: seconds on a clock, or a number of trials that makes it repeatable."""

from __future__ import annotations

from collections.abc import Callable

_SLICE_S = 0.05  # one call of the compiled loop; short enough to stop in time, long enough to cost nothing
_FIRST_TRIALS = 200  # before the speed is known; some ms
_SLICE_TRIALS = 2000  # with a budget of trials: fixed, so that temperatures do not depend on the machine


class Budget:
    """Counts down. `clock` gives seconds: time.monotonic, or time.process_time to measure in CPU seconds."""

    def __init__(
        self,
        seconds: float | None,
        trials: int | None,
        clock: Callable[[], float],
        should_stop: Callable[[], bool] | None,
    ) -> None:
        if (seconds is None) == (trials is None):
            raise ValueError(f"give either seconds or trials: seconds={seconds}, trials={trials}")
        if (seconds if seconds is not None else trials or 0) < 0:
            raise ValueError(f"a budget cannot be negative: seconds={seconds}, trials={trials}")
        self._seconds, self._trials, self._clock, self._should_stop = seconds, trials, clock, should_stop
        self._start_s = clock()
        self._speed = 0.0  # trials a second
        self.trials_done = 0
        self.stopped = False

    @property
    def is_timed(self) -> bool:
        return self._seconds is not None

    def elapsed_s(self) -> float:
        return self._clock() - self._start_s

    def spent(self) -> float:
        """Share of the budget used, 0–1."""
        if self._seconds is not None:
            return min(self.elapsed_s() / self._seconds, 1.0) if self._seconds > 0 else 1.0
        return min(self.trials_done / self._trials, 1.0) if self._trials else 1.0

    def is_over(self, share: float = 1.0) -> bool:
        """Whether this share of the budget is used up, or the caller wants an end."""
        if self._should_stop is not None and self._should_stop():
            self.stopped = True
        return self.stopped or self.spent() >= share

    def slice(self, share: float = 1.0) -> int:
        """How many trials to make before looking at the clock again, within this share of the budget."""
        if self._trials is not None:
            return max(min(_SLICE_TRIALS, round(self._trials * share) - self.trials_done), 1)
        if self._speed == 0.0:
            return _FIRST_TRIALS
        assert self._seconds is not None
        left_s = max(self._seconds * share - self.elapsed_s(), 0.0)
        return max(int(self._speed * min(_SLICE_S, left_s)), 10)

    def note(self, trials: int, seconds: float) -> None:
        """A slice has been made."""
        self.trials_done += trials
        if seconds > 0:
            self._speed = trials / seconds
