"""The learner's input: unrolls of a reader → stacked batches on the device, made ahead by one thread.

What waits is bounded in bytes, but one batch may always wait. An error of the thread (reader, stacking, device) is
raised by the next call of `next`; `close` ends the thread and drops what waits. `ahead_bytes` 0 switches the thread
off: batches are then made when they are asked for.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import jax

from workers.agents.types import Unroll
from workers.menger.codec import stack
from workers.menger.protocol import ReplayReader
from workers.menger.stats import RateMeter

READ_S = 0.5  # between two looks at the stop flag
CLOSE_S = 5.0


class Pipeline:
    """Batches for one learner thread, which alone calls `next`."""

    def __init__(
        self,
        reader: ReplayReader,
        batch_size: int,
        *,
        ahead_bytes: int,
        place: Callable[[Unroll], Any] = jax.device_put,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`place` puts a stacked batch of `batch_size` unrolls on the device; it runs in the pipeline's thread."""
        if batch_size < 1 or ahead_bytes < 0:
            raise ValueError(f"batch_size is {batch_size}, must be at least 1; ahead_bytes {ahead_bytes}, at least 0")
        self._reader = reader
        self._batch_size = batch_size
        self._ahead_bytes = ahead_bytes
        self._place = place
        self._clock = clock
        self._held: list[Unroll] = []
        self._batches: deque[tuple[Any, int]] = deque()  # with their bytes
        self._waiting_bytes = 0
        self._failure: BaseException | None = None
        self._closed = False
        self._changed = threading.Condition()
        self._waits = RateMeter(clock=clock)
        self.bytes_in = 0  # of all unrolls taken, before compression
        self._thread = threading.Thread(target=self._run, name="pipeline", daemon=True)
        if ahead_bytes:
            self._thread.start()

    @property
    def waiting_bytes(self) -> int:
        """Of the batches that lie ready."""
        return self._waiting_bytes

    def wait_share(self) -> float:
        """Share of the last 10 s that the learner spent in `next`, so that its device had nothing to do, 0-1."""
        return min(1.0, self._waits.per_s())

    def next(self, timeout_s: float) -> Any | None:
        """The next batch, or None within the time-out. Raises what the thread died of."""
        begin_s = self._clock()
        try:
            return self._take(timeout_s) if self._ahead_bytes else self._make(timeout_s)
        finally:
            self._waits.add(self._clock() - begin_s)

    def close(self) -> None:
        """No more batches; those that wait are dropped."""
        with self._changed:
            self._closed = True
            self._batches.clear()
            self._waiting_bytes = 0
            self._changed.notify_all()
        if self._ahead_bytes:
            self._thread.join(CLOSE_S)

    def _take(self, timeout_s: float) -> Any | None:
        with self._changed:
            self._changed.wait_for(lambda: self._batches or self._failure or self._closed, timeout_s)
            if self._batches:  # those made before a failure are good
                batch, size = self._batches.popleft()
                self._waiting_bytes -= size
                self._changed.notify_all()
                return batch
            if self._failure is not None:
                raise self._failure
            return None

    def _make(self, timeout_s: float) -> Any | None:
        """Read until a batch is whole; what was read when the time is over is kept for the next call."""
        end_s = time.monotonic() + timeout_s
        while len(self._held) < self._batch_size and not self._closed:
            left_s = end_s - time.monotonic()
            unroll = self._reader.read(left_s) if left_s > 0 else None
            if unroll is None:
                return None
            self._held.append(unroll)
            self.bytes_in += nbytes(unroll)
        if self._closed:
            return None
        batch, self._held = self._place(stack(self._held)), []
        return batch

    def _run(self) -> None:
        try:
            while not self._closed:
                batch = self._make(READ_S)
                if batch is not None:
                    self._put(batch, nbytes(batch))
        except BaseException as error:  # it is the learner's to tell, whatever it is
            with self._changed:
                self._failure = error
                self._changed.notify_all()

    def _put(self, batch: Any, size: int) -> None:
        with self._changed:
            room = lambda: not self._batches or self._waiting_bytes + size <= self._ahead_bytes
            self._changed.wait_for(lambda: self._closed or room())
            if not self._closed:
                self._batches.append((batch, size))
                self._waiting_bytes += size
                self._changed.notify_all()


def nbytes(tree: Any) -> int:
    """Bytes of all arrays of a pytree."""
    return sum(int(leaf.nbytes) for leaf in jax.tree.leaves(tree))
