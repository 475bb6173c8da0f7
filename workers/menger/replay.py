"""Unrolls into and out of the replay shards (servers.py), each a Reverb server with a queue bounded in bytes.

On-policy use: each unroll is sampled once, oldest first; writers wait while a shard is full, which paces the actors to
the learner. A lost shard loses its queue and nothing else: the writer turns to the others, the reader reads on.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from numpy.typing import NDArray

from workers.agents.types import Unroll
from workers.menger.codec import BadUnrollError, UnrollCodec
from workers.menger.reverb_native import UNROLL_TABLE, ItemReader, ItemWriter, reachable
from workers.menger.seal import UNSEALED, Seal, SealError

log = logging.getLogger("placewright.replay")

REACH_S = 1.0  # to find out whether a shard's server accepts connections
FULL_S = 10.0  # a full shard is no fault; after so long without a place its server is asked whether it is there


class ShardedWriter:
    """ReplayWriter over all shards that `addresses()` names, in turn. One thread at a time."""

    def __init__(
        self,
        codec: UnrollCodec,
        addresses: Callable[[], Sequence[str]],
        start_at: int = 0,
        seal: Seal = UNSEALED,
    ) -> None:
        self._codec = codec
        self._seal = seal
        self._addresses = addresses
        self._turn = start_at  # actors begin at different shards, so that the load is even
        self._writers: dict[str, ItemWriter] = {}
        self._current: str | None = None  # the shard that the waiting unrolls are on their way to
        self._waiting: list[Unroll] = []
        self._since_s = 0.0
        self.lost_unrolls = 0  # sent to a shard that went away; each was sent again to another

    def write(self, unrolls: list[Unroll], timeout_s: float) -> bool:
        self._waiting = list(unrolls)
        self._current = None
        return self.flush(timeout_s)

    def flush(self, timeout_s: float) -> bool:
        """Wait for what is on its way. A shard that has gone is given up: the unrolls go to the next one."""
        if not self._waiting:
            return True
        if self._current is None and not self._send():
            time.sleep(min(timeout_s, 0.2))  # no shard is known; ask again soon
            return False
        assert self._current is not None
        if self._writers[self._current].flush(timeout_s):
            self._waiting = []
            return True
        if self._gone(self._current):
            log.warning("replay shard at %s has gone; turning to another", self._current)
            self._writers.pop(self._current).close()
            self.lost_unrolls += len(self._waiting)
            self._current = None
        return False

    def _gone(self, address: str) -> bool:
        if address not in self._addresses():
            return True
        if time.monotonic() - self._since_s < FULL_S:
            return False
        self._since_s = time.monotonic()
        return not reachable(address, REACH_S)

    def _send(self) -> bool:
        """Hand the waiting unrolls to the next shard. False: there is none."""
        shards = sorted(self._addresses())
        if not shards:
            return False
        self._current = shards[self._turn % len(shards)]
        self._turn += 1
        writer = self._writers.get(self._current) or ItemWriter(self._current)
        self._writers[self._current] = writer
        self._since_s = time.monotonic()
        for unroll in self._waiting:
            writer.write(UNROLL_TABLE, self._seal.close(UNROLL_TABLE, self._codec.encode(unroll)))
        return True


class ShardedReader:
    """ReplayReader over all shards: a thread a shard, which may block in Reverb and is then left behind."""

    def __init__(
        self, codec: UnrollCodec, addresses: Callable[[], Sequence[str]], max_held: int, seal: Seal = UNSEALED
    ) -> None:
        self._codec = codec
        self._seal = seal
        self._addresses = addresses
        self._items: queue.Queue[tuple[str, list[NDArray]]] = queue.Queue(max_held)
        self._threads: dict[str, threading.Thread] = {}
        self._closed = threading.Event()
        self.rejected = 0
        self.last_rejection = ""

    def read(self, timeout_s: float) -> Unroll | None:
        """What has no seal of this job, is no unroll of this task, or holds nonsense, is dropped and counted in
        `rejected`."""
        self._follow_shards()
        end_s = time.monotonic() + timeout_s
        while (left_s := end_s - time.monotonic()) > 0:
            try:
                address, arrays = self._items.get(timeout=min(left_s, 1.0))
            except queue.Empty:
                self._follow_shards()
                continue
            try:
                return self._codec.decode(self._seal.open(UNROLL_TABLE, arrays))
            except (BadUnrollError, SealError) as error:
                self.rejected += 1
                self.last_rejection = f"from {address}: {error}"
                if self.rejected & (self.rejected - 1) == 0:  # 1, 2, 4, …: a broken actor must not fill the log
                    log.warning("%d unrolls refused so far, the last %s", self.rejected, self.last_rejection)
        return None

    def _follow_shards(self) -> None:
        for address in self._addresses():
            if address not in self._threads:
                thread = threading.Thread(target=self._pump, args=(address,), name=f"shard {address}", daemon=True)
                self._threads[address] = thread
                thread.start()

    def _pump(self, address: str) -> None:
        reader: Any = ItemReader(address, UNROLL_TABLE)
        while not self._closed.is_set():
            try:
                arrays = reader.read()
            except RuntimeError as error:
                if not self._closed.is_set():
                    log.warning("reading from replay shard %s ended: %s", address, error)
                return
            while not self._closed.is_set():
                try:
                    self._items.put((address, arrays), timeout=1.0)
                    break
                except queue.Full:
                    continue

    def close(self) -> None:
        self._closed.set()
