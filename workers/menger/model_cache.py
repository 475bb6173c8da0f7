"""Models over Reverb: a server with the newest version, and sources that ask it for "newer than v".

The learner runs a `ModelServer`; a cache is a `ModelServer` that a `Relay` keeps filled from its source, so caches may
chain (learner → cache → cache → actor), and one that starts anew refills itself. The learner's cost to publish does not
depend on how many read. Two tables: the version alone (small, asked often) and the version with its weights.

Beside the version stands a beat, which the learner counts on while it lives and caches hand on from their own source. A
source whose beat stands still is stale, though it answers: readers turn to the next one. No clocks are compared.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from workers.menger.listening import Binding
from workers.menger.protocol import Model, ModelSource, SourceAwayError
from workers.menger.reverb_native import ItemWriter, newest_table, read_once, start_server, table_reads
from workers.menger.seal import UNSEALED, Seal, SealError

log = logging.getLogger("placewright.models")

VERSION_TABLE = "version"
MODEL_TABLE = "model"
WRITE_S = 10.0
STOP_S = 0.5
ASK_S = 2.0  # for a version, which is a few bytes; longer is taken for away
PULSE_S = 0.5  # between two beats of a learner
STALE_S = 4.0  # a source whose beat stands still for so long is passed over, if another one's does not


class ModelServer:
    """ModelSink with a Reverb server of its own at `port`. Holds version 0 from the start, so no read ever blocks."""

    def __init__(self, *, pulse_s: float | None = None, seal: Seal = UNSEALED, binding: Binding | None = None) -> None:
        """`pulse_s`: between beats of its own, of a learner's; a cache hands on its source's by `beat`."""
        self._seal = seal
        self._models = newest_table(MODEL_TABLE)
        self._server, self.port = start_server([newest_table(VERSION_TABLE), self._models], binding)
        self._own_host = binding.address if binding else "127.0.0.1"
        self.version = 0
        self._model_bytes = 0
        self._beat = 0
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._writer, self._versions = self._own_writer(), self._own_writer()
        self._store(Model(0, np.zeros(1, np.float32)))
        self._writer = self._own_writer()  # a writer keeps to the shapes of its first item
        if pulse_s is not None:
            threading.Thread(target=self._pulse, args=(pulse_s,), name="pulse", daemon=True).start()

    def publish(self, model: Model) -> None:
        """Replace the model. An older or equal version changes nothing."""
        with self._lock:
            if model.version > self.version:
                self._store(model)
                self.version = model.version
                self._model_bytes = model.weights.nbytes

    def bytes_out(self) -> int:
        """Of all models that readers took, before compression."""
        return table_reads(self._models) * self._model_bytes

    def beat(self, beat: int) -> None:
        """Show a beat; the same one again changes nothing."""
        with self._lock:
            if beat != self._beat:
                self._beat = beat
                self._store_version(self.version)

    def _pulse(self, pulse_s: float) -> None:
        while not self._ended.wait(pulse_s):
            self.beat(self._beat + 1)

    def _own_writer(self) -> ItemWriter:
        return ItemWriter(f"{self._own_host}:{self.port}")

    def _store(self, model: Model) -> None:
        version = np.int64(model.version)
        self._writer.write(MODEL_TABLE, self._seal.close(MODEL_TABLE, [version, model.weights]))
        if not self._writer.flush(WRITE_S):
            raise TimeoutError(f"own model table did not take version {model.version} within {WRITE_S} s")
        self._store_version(model.version)  # after the weights: who sees the version finds the model

    def _store_version(self, version: int) -> None:
        told = np.array([version, self._beat], np.int64)
        self._versions.write(VERSION_TABLE, self._seal.close(VERSION_TABLE, [told]))
        if not self._versions.flush(WRITE_S):
            raise TimeoutError(f"own version table did not take version {version} within {WRITE_S} s")

    def stop(self) -> None:
        self._ended.set()
        self._server.Stop()


class RefusedModelError(SourceAwayError):
    """A model source answered with something that has no seal of this job."""


class ReverbSource:
    """ModelSource at one address. Reads run in threads, for Reverb waits for ever for a server that has gone."""

    def __init__(self, address: str, seal: Seal = UNSEALED) -> None:
        self.address = address
        self.beat = 0  # at the last answer
        self._seal = seal

    def newest(self, than: int, timeout_s: float) -> Model | None:
        version, self.beat = (int(number) for number in self._ask(VERSION_TABLE, min(timeout_s, ASK_S))[0])
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
        try:
            return self._seal.open(table, answer[0])
        except SealError as error:
            raise RefusedModelError(f"model source {self.address}: refused, {error}") from error


class FallbackSource:
    """ModelSource that asks the first of `addresses()` that answers and is not stale."""

    def __init__(
        self,
        addresses: Callable[[], Sequence[str]],
        *,
        stale_s: float = STALE_S,
        clock: Callable[[], float] = time.monotonic,
        seal: Seal = UNSEALED,
    ) -> None:
        self._addresses = addresses
        self._seal = seal
        self.refused = 0  # answers without a seal of this job
        self._stale_s = stale_s
        self._clock = clock
        self._silent: set[str] = set()
        self._beats: dict[str, tuple[int, float]] = {}  # address -> beat, since when it is that
        self.current = ""
        self.beat = 0  # of the source used last

    def newest(self, than: int, timeout_s: float) -> Model | None:
        """Raises SourceAwayError. Where all are stale, the newest that any of them has."""
        addresses = list(self._addresses())
        self._silent &= set(addresses)
        self._beats = {address: seen for address, seen in self._beats.items() if address in addresses}
        stale: list[tuple[str, ReverbSource, Model | None]] = []
        last = ""
        for address in sorted(addresses, key=lambda a: a in self._silent):  # stable: silent ones last
            source = ReverbSource(address, self._seal)
            try:
                model = source.newest(than, timeout_s)
            except SourceAwayError as error:
                self.refused += isinstance(error, RefusedModelError)
                last = f": {error}"
                log.warning("%s", error)
                self._silent.add(address)
                continue
            self._silent.discard(address)
            if self._is_stale(address, source.beat):
                stale.append((address, source, model))
                continue
            return self._take(address, source, model)
        if stale:
            return self._take(*max(stale, key=lambda item: item[2].version if item[2] else 0))
        raise SourceAwayError(f"none of {len(addresses)} model sources answers{last}")

    def _is_stale(self, address: str, beat: int) -> bool:
        now_s = self._clock()
        known, since_s = self._beats.get(address, (None, now_s))
        if beat != known:
            self._beats[address] = (beat, now_s)
            return False
        return now_s - since_s > self._stale_s

    def _take(self, address: str, source: ReverbSource, model: Model | None) -> Model | None:
        if self.current and address != self.current:
            log.warning("models now come from %s, no longer from %s", address, self.current)
        self.current, self.beat = address, source.beat
        return model


class Relay:
    """Keeps what a sink holds equal to the newest of a source: a cache, or an actor's background refresh."""

    def __init__(
        self,
        source: ModelSource,
        deliver: Callable[[Model], None],
        every_s: float,
        timeout_s: float,
        on_answer: Callable[[], None] = lambda: None,
    ) -> None:
        """`on_answer` is called after every answer of the source, whether or not there was a newer model."""
        self._source = source
        self._deliver = deliver
        self._every_s = every_s
        self._timeout_s = timeout_s
        self._on_answer = on_answer
        self._stop = threading.Event()
        self.version = 0
        self.version_s = time.monotonic()  # when it came
        self.bytes = 0  # of all models taken
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
            self.version, self.version_s = model.version, time.monotonic()
            self.bytes += model.weights.nbytes
        self._on_answer()

    def figures(self) -> dict[str, float | str]:
        """What is reported of the models that came this way."""
        return {
            "model_age_s": time.monotonic() - self.version_s,
            "model_source_away": self.away,
            "bytes_in": self.bytes,
        }
