"""Models over Reverb: a server with the newest version, and sources that ask it for "newer than v".

The learner runs a `ModelServer`; a cache is a `ModelServer` that a `Relay` keeps filled from its source, so caches may
chain (learner → cache → cache → actor), and one that starts anew refills itself. The learner's cost to publish does not
depend on how many read. Two tables: the version alone (small, asked often) and the version with its weights.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from workers.menger.protocol import Model, ModelSource, SourceAwayError
from workers.menger.reverb_native import ItemWriter, newest_table, read_once, start_server

log = logging.getLogger("placewright.models")

VERSION_TABLE = "version"
MODEL_TABLE = "model"
WRITE_S = 10.0
STOP_S = 0.5


class ModelServer:
    """ModelSink with a Reverb server of its own at `port`. Holds version 0 from the start, so no read ever blocks."""

    def __init__(self) -> None:
        self._server, self.port = start_server([newest_table(VERSION_TABLE), newest_table(MODEL_TABLE)])
        self.version = 0
        self._writer = self._own_writer()
        self._store(Model(0, np.zeros(1, np.float32)))
        self._writer = self._own_writer()  # a writer keeps to the shapes of its first item

    def publish(self, model: Model) -> None:
        """Replace the model. An older or equal version changes nothing."""
        if model.version > self.version:
            self._store(model)
            self.version = model.version

    def _own_writer(self) -> ItemWriter:
        return ItemWriter(f"127.0.0.1:{self.port}")

    def _store(self, model: Model) -> None:
        version = np.int64(model.version)
        self._writer.write(MODEL_TABLE, [version, model.weights])
        if not self._writer.flush(WRITE_S):
            raise TimeoutError(f"own model table did not take version {model.version} within {WRITE_S} s")
        self._writer.write(VERSION_TABLE, [version])  # after the weights: who sees the version finds the model
        if not self._writer.flush(WRITE_S):
            raise TimeoutError(f"own version table did not take version {model.version} within {WRITE_S} s")

    def stop(self) -> None:
        self._server.Stop()


class ReverbSource:
    """ModelSource at one address. Reads run in threads, for Reverb waits for ever for a server that has gone."""

    def __init__(self, address: str) -> None:
        self.address = address

    def newest(self, than: int, timeout_s: float) -> Model | None:
        version = int(self._ask(VERSION_TABLE, timeout_s)[0])
        if version <= than:
            return None
        version, weights = self._ask(MODEL_TABLE, timeout_s)
        return Model(int(version), np.asarray(weights, np.float32))

    def _ask(self, table: str, timeout_s: float) -> list[Any]:
        answer: list[list[Any]] = []
        failure: list[str] = []

        def ask() -> None:
            try:
                answer.append(read_once(self.address, table))
            except RuntimeError as error:
                failure.append(str(error))

        thread = threading.Thread(target=ask, name=f"ask {self.address}", daemon=True)
        thread.start()
        thread.join(timeout_s)
        if not answer:
            reason = failure[0] if failure else f"no answer within {timeout_s} s"
            raise SourceAwayError(f"model source {self.address}: {reason}")
        return answer[0]


class FallbackSource:
    """ModelSource that asks the first of `addresses()` that answers: caches first, then the learner."""

    def __init__(self, addresses: Callable[[], Sequence[str]]) -> None:
        self._addresses = addresses
        self._silent: set[str] = set()
        self.current = ""

    def newest(self, than: int, timeout_s: float) -> Model | None:
        addresses = list(self._addresses())
        self._silent &= set(addresses)
        for address in sorted(addresses, key=lambda a: a in self._silent):  # stable: silent ones last
            try:
                model = ReverbSource(address).newest(than, timeout_s)
            except SourceAwayError as error:
                log.warning("%s", error)
                self._silent.add(address)
                continue
            self._silent.discard(address)
            self.current = address
            return model
        raise SourceAwayError(f"none of {len(addresses)} model sources answers")


class Relay:
    """Keeps what a sink holds equal to the newest of a source: a cache, or an actor's background refresh."""

    def __init__(self, source: ModelSource, deliver: Callable[[Model], None], every_s: float, timeout_s: float) -> None:
        self._source = source
        self._deliver = deliver
        self._every_s = every_s
        self._timeout_s = timeout_s
        self._stop = threading.Event()
        self.version = 0
        self.away = ""  # why the source gave nothing the last time; empty = it answered
        self._thread = threading.Thread(target=self._run, name="model relay", daemon=True)

    def start(self) -> Relay:
        self._thread.start()
        return self

    def stop(self) -> None:
        """No more deliveries. A read of a source that has gone is left behind, not waited for."""
        self._stop.set()
        self._thread.join(STOP_S)

    def _run(self) -> None:
        while not self._stop.is_set():
            self.step()
            self._stop.wait(self._every_s)

    def step(self) -> None:
        """One look at the source."""
        try:
            model = self._source.newest(self.version, self._timeout_s)
        except SourceAwayError as error:
            self.away = str(error)
            return
        self.away = ""
        if model is not None and not self._stop.is_set():
            self._deliver(model)
            self.version = model.version
