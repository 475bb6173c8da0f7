"""The learner's input: order, bound in bytes, errors passed on, a clean end, the share of time waited."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator

import jax
import numpy as np
import pytest

from workers.agents.types import RecurrentState, Unroll, VectorObservation
from workers.menger.codec import stack
from workers.menger.pipeline import Pipeline, nbytes

B = 2
PATIENCE_S = 30.0


def unroll(number: int) -> Unroll:
    return Unroll(
        observation=VectorObservation(np.full((4, 5), number, np.float32), np.ones((4, 3), bool)),
        first=np.zeros(4, bool),
        action=np.zeros(3, np.int32),
        reward=np.full(3, number, np.float32),
        discount=np.ones(3, np.float32),
        behaviour_logp=np.full(3, -1.0, np.float32),
        initial_state=RecurrentState(np.zeros(2, np.float32), np.zeros(2, np.float32)),
        version=np.int32(number),
    )


BATCH_BYTES = B * nbytes(unroll(0))


class Listed:
    """A reader of these unrolls; an exception among them is raised. Afterwards there is never one."""

    def __init__(self, items: Iterable[Unroll | Exception], on_read: Callable[[], None] = lambda: None) -> None:
        self._items = iter(items)
        self._on_read = on_read
        self._for_ever = threading.Event()

    def read(self, timeout_s: float) -> Unroll | None:
        item = next(self._items, None)
        self._on_read()
        if item is None:
            self._for_ever.wait(min(timeout_s, 0.01))
        if isinstance(item, Exception):
            raise item
        return item


@pytest.fixture
def make() -> Iterator[Callable[..., Pipeline]]:
    made = []

    def pipeline(reader: Listed, ahead_bytes: int = 4 * BATCH_BYTES, **more) -> Pipeline:
        made.append(Pipeline(reader, B, ahead_bytes=ahead_bytes, **more))
        return made[-1]

    yield pipeline
    for one in made:
        one.close()


@pytest.mark.parametrize("ahead_bytes", [0, 4 * BATCH_BYTES])
def test_batches_come_whole_and_in_order(make, ahead_bytes):
    pipeline = make(Listed([unroll(k) for k in range(7)]), ahead_bytes)
    for begin in (0, 2, 4):
        batch = pipeline.next(PATIENCE_S)
        assert all(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(batch))
        jax.tree.map(np.testing.assert_array_equal, batch, stack([unroll(begin), unroll(begin + 1)]))
    assert pipeline.next(0.05) is None  # the seventh waits for an eighth
    assert pipeline.bytes_in == 7 * nbytes(unroll(0))


def test_what_waits_is_bounded_in_bytes(make):
    placed = threading.Semaphore(0)
    peak = 0

    def place(batch: Unroll) -> Unroll:
        nonlocal peak
        peak = max(peak, pipeline.waiting_bytes)
        placed.release()
        return batch

    ready = threading.Event()

    def once_known() -> None:
        assert ready.wait(PATIENCE_S)

    pipeline = make(Listed([unroll(k) for k in range(8 * B)], once_known), 3 * BATCH_BYTES, place=place)
    ready.set()
    for _ in range(4):  # three that wait and one in the thread's hands
        assert placed.acquire(timeout=PATIENCE_S)
    assert not placed.acquire(timeout=0.3)
    for number in range(8):
        batch = pipeline.next(PATIENCE_S)
        assert [int(version) for version in batch.version] == [2 * number, 2 * number + 1]
    assert peak == 3 * BATCH_BYTES
    assert pipeline.waiting_bytes == 0


def test_one_batch_may_wait_however_large_it_is(make):
    pipeline = make(Listed([unroll(k) for k in range(2 * B)]), ahead_bytes=1)
    assert pipeline.next(PATIENCE_S) is not None
    assert pipeline.next(PATIENCE_S) is not None


@pytest.mark.parametrize("ahead_bytes", [0, 4 * BATCH_BYTES])
def test_an_error_reaches_the_learner_after_the_batches_before_it(make, ahead_bytes):
    pipeline = make(Listed([unroll(0), unroll(1), unroll(2), OSError("shard on fire")]), ahead_bytes)
    assert pipeline.next(PATIENCE_S) is not None
    with pytest.raises(OSError, match="shard on fire"):
        pipeline.next(PATIENCE_S)


def test_an_error_of_the_device_reaches_the_learner(make):
    def place(batch: Unroll) -> Unroll:
        raise RuntimeError("out of memory")

    with pytest.raises(RuntimeError, match="out of memory"):
        make(Listed([unroll(0), unroll(1)]), place=place).next(PATIENCE_S)


def test_closing_ends_a_thread_that_waits_for_room(make):
    placed = threading.Semaphore(0)

    def place(batch: Unroll) -> Unroll:
        placed.release()
        return batch

    pipeline = make(Listed([unroll(k) for k in range(4 * B)]), ahead_bytes=1, place=place)
    for _ in range(2):
        assert placed.acquire(timeout=PATIENCE_S)
    pipeline.close()
    assert "pipeline" not in {thread.name for thread in threading.enumerate()}
    assert pipeline.next(0.01) is None


def test_the_share_of_time_waited_is_that_in_next(make):
    now_s = 0.0

    def one_second() -> None:
        nonlocal now_s
        now_s += 1.0

    pipeline = make(Listed([unroll(k) for k in range(2 * B)], one_second), 0, clock=lambda: now_s)
    for _ in range(2):
        assert pipeline.next(PATIENCE_S) is not None  # two reads: 2 s
        now_s += 0.5  # the update
    assert pipeline.wait_share() == pytest.approx(4 / 5)
    now_s += 20
    assert pipeline.wait_share() == 0


def test_senseless_numbers_are_refused():
    with pytest.raises(ValueError, match="batch_size is 0, must be at least 1; ahead_bytes 5"):
        Pipeline(Listed([]), 0, ahead_bytes=5)
