"""What actor and learner know of the transport: where models come from, where unrolls go to and come from.

Implementations: over Reverb `replay.py` and `model_cache.py`; in one process `InProcess…` below (tests, one-process
training, machines without Reverb). Every call returns within its time-out.
"""

from __future__ import annotations

import queue
import threading
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from workers.agents.types import Unroll


class Model(NamedTuple):
    """The weights of one version. Version 0 = none yet; versions only grow."""

    version: int
    weights: NDArray[np.float32]  # all parameters, flat (codec.flatten_params)


class ModelSource(Protocol):
    """Where an actor or a cache gets weights."""

    def newest(self, than: int, timeout_s: float) -> Model | None:
        """The newest model if its version is above `than`, else None. Raises SourceAwayError if nobody answers."""
        ...


class ModelSink(Protocol):
    """Where a learner puts weights."""

    def publish(self, model: Model) -> None: ...


class SourceAwayError(Exception):
    """A model source did not answer in time."""


class ReplayWriter(Protocol):
    """Where an actor puts unrolls."""

    def write(self, unrolls: list[Unroll], timeout_s: float) -> bool:
        """True: stored. False: not within the time-out; call `flush` until it is True before writing more."""
        ...

    def flush(self, timeout_s: float) -> bool: ...


class ReplayReader(Protocol):
    """Where a learner gets unrolls."""

    def read(self, timeout_s: float) -> Unroll | None:
        """The next unroll of any shard, or None within the time-out."""
        ...


class InProcessModels:
    """Model sink and source in one process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._model = Model(0, np.zeros(0, np.float32))

    def publish(self, model: Model) -> None:
        with self._lock:
            if model.version > self._model.version:
                self._model = model

    def newest(self, than: int, timeout_s: float) -> Model | None:
        with self._lock:
            return self._model if self._model.version > than else None


class InProcessQueue:
    """Replay of one process: each unroll is given out once, writers wait while `max_items` are held."""

    def __init__(self, max_items: int) -> None:
        self._queue: queue.Queue[Unroll] = queue.Queue(max_items)
        self._waiting: list[Unroll] = []

    def write(self, unrolls: list[Unroll], timeout_s: float) -> bool:
        self._waiting.extend(unrolls)
        return self.flush(timeout_s)

    def flush(self, timeout_s: float) -> bool:
        while self._waiting:
            try:
                self._queue.put(self._waiting[0], timeout=timeout_s)
            except queue.Full:
                return False
            self._waiting.pop(0)
        return True

    def read(self, timeout_s: float) -> Unroll | None:
        try:
            return self._queue.get(timeout=timeout_s)
        except queue.Empty:
            return None
