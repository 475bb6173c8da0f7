"""What all roles have in common: registering, heartbeats, finding each other, stopping, ending with a named cause.

A role process runs `live(store, job_id, key, body)`: `body(life)` does the role's work until
`life.should_stop()`. A thread sends a heartbeat with `life.stats` and keeps the list of the job's other roles fresh.
The database away for a while is logged and survived:
the roles then go on with those that they know. Exit codes: 0 told to stop, 1 a fault (its cause is the last line
on stderr).
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import sys
import threading
import time
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy.exc import OperationalError

from backend.core import logs
from backend.core.config import get_settings
from backend.jobs.records import RoleRecord, RoleRefusedError
from backend.jobs.store import JobStore
from backend.jobs.topology import RoleKey
from netlists.errors import PlacewrightError
from workers.menger.listening import Binding, ListeningError, check_address
from workers.menger.seal import Seal
from workers.processes import die_with_parent
from workers.sight import Sight

log = logging.getLogger("placewright.role")

FIND_S = 120.0  # for another role to appear: the slowest start seen on a busy machine is about 30 s
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)
HOST_VARIABLE = "PLACEWRIGHT_ROLE_HOST"  # name or address under which other hosts reach this one's roles


class RoleError(PlacewrightError):
    """A role cannot go on; the message is the cause."""


class Life:
    """One role's existence: identity, stop flag, statistics, and sight of the other roles."""

    def __init__(self, store: JobStore, job_id: str, key: RoleKey) -> None:
        settings = get_settings()
        self.store = store
        self.job_id = job_id
        self.key = key
        self.role, self.cell, self.index = key
        self.stats: dict[str, Any] = {}
        self.state = "starting"
        self.stopped = threading.Event()
        self._beat_s = settings.role_heartbeat_seconds
        self._stale_s = settings.role_stale_seconds
        self._sight = Sight(self._stale_s)
        self._address: str | None = None
        self._servers: list[RoleRecord] = []
        self.binding = own_binding()
        self.seal = Seal(store.job_secret(job_id))
        self.role_id = store.register_role(job_id, *key, None, os.getpid(), socket.gethostname())
        self._refresh()
        self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)
        self._thread.start()

    @property
    def ordinal(self) -> int:
        """A number that no other process of this role in the job has but by chance: for seeds, and to begin at."""
        return self.index + zlib.crc32(self.cell.encode()) % 65_521 * 1024

    def should_stop(self) -> bool:
        return self.stopped.is_set()

    def serve_at(self, port: int) -> None:
        """Tell the others where this role listens, at once."""
        self._address = f"{own_host()}:{port}"
        self._report()

    def tell(self, stats: dict[str, Any], state: str) -> None:
        """Figures and state that others wait for, at once; later, where the database is away."""
        self.stats, self.state = stats, state
        with contextlib.suppress(OperationalError):  # the heartbeat's thread tells of it, and tries again
            self._report()

    def addresses(self, role: str) -> list[str]:
        """Where the living processes of a role listen, those of the own cell first."""
        found = sorted(self._living(role), key=lambda record: (record.cell != self.cell, record.cell, record.index))
        return [str(record.address) for record in found]

    def own_cell(self, role: str) -> list[str]:
        """Where those of the own cell listen, by index."""
        return [str(record.address) for record in self._living(role) if record.cell == self.cell]

    def model_sources(self) -> list[str]:
        """Whom to ask for models, in this order. An actor: caches of its cell, of others, the learner. A cache: those
        of its cell before it, the first one first, then the learner; so caches chain and never in a circle."""
        learners = self.addresses("learner")
        if self.role == "cache":
            earlier = [r for r in self._living("cache") if r.cell == self.cell and r.index < self.index]
            return [*(str(record.address) for record in earlier), *learners]
        own = self.own_cell("cache")
        others = [address for address in self.addresses("cache") if address not in own]
        return [*in_turn(own, self.index), *in_turn(others, self.index), *learners]

    def replay_shards(self) -> list[str]:
        """Where to write unrolls: shards of the own cell; those of others only while none lives there."""
        return self.own_cell("replay") or self.addresses("replay")

    def _living(self, role: str) -> list[RoleRecord]:
        """The newest living process of each cell and index, by these."""
        newest: dict[RoleKey, RoleRecord] = {}
        for record in self._servers:
            if record.role != role or record.ended or record.heartbeat_age_s > self._stale_s:
                continue
            known = newest.get(record.key)
            if known is None or record.heartbeat_age_s < known.heartbeat_age_s:
                newest[record.key] = record
        return [newest[key] for key in sorted(newest)]

    def wait_for(self, role: str, timeout_s: float = FIND_S) -> list[str]:
        """Addresses of a role once one has appeared; empty if told to stop. Raises RoleError after `timeout_s`."""
        end_s = time.monotonic() + timeout_s
        self.state = f"waiting for a {role}"
        while not self.should_stop():
            if found := self.addresses(role):
                self.state = "running"
                return found
            if time.monotonic() > end_s:
                raise RoleError(f"{self.key}: no {role} of job {self.job_id} appeared within {timeout_s:g} s")
            self.stopped.wait(0.2)
            with contextlib.suppress(OperationalError):  # away: the heartbeat's thread tells of it
                self._refresh()
        return []

    def end(self, state: str) -> None:
        self.state = state
        self.stopped.set()
        self._thread.join(2 * self._beat_s)
        try:
            self._report()
        except OperationalError as error:
            log.warning("last heartbeat not written: %s", error.orig)

    def _report(self) -> bool:
        """One heartbeat. False: this role must stop."""
        stats = {**self.stats, "rss_mb": _rss_mb()}
        return self.store.role_heartbeat(self.role_id, self.state, stats, self._address)

    def _refresh(self) -> None:
        found = self.store.roles(self.job_id, serving=True)
        # Just after the database was away everyone seems silent: those known before are kept.
        if self._sight.clear() or not self._servers:
            self._servers = found

    def _beat(self) -> None:
        while not self.stopped.is_set():
            try:
                if not self._report():
                    self.state = "told to stop"
                    self.stopped.set()
                    return
                self._refresh()
            except OperationalError as error:
                log.warning("database away, heartbeat not written: %s", error.orig)
            self.stopped.wait(self._beat_s)


def own_host() -> str:
    """Where other roles reach this process: as told, else where it listens, else this machine's address."""
    if given := os.environ.get(HOST_VARIABLE):
        return given
    if binding := own_binding():
        return binding.address
    try:
        return socket.gethostbyname(socket.gethostname())
    except OSError:
        return socket.gethostname()


def own_binding() -> Binding | None:
    """Where this process's server is to be reached: as told; roles that are children of their run, on loopback; else,
    None, on all addresses. Raises ListeningError for an address that this machine does not have."""
    settings = get_settings()
    if settings.role_bind:
        check_address(settings.role_bind)
        return Binding(settings.role_bind, required=True)
    if settings.roles == "local" and not os.environ.get(HOST_VARIABLE):
        return Binding("127.0.0.1", required=False)
    return None


def _rss_mb() -> float:
    """Resident memory of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1]) if Path("/proc/self/statm").exists() else 0
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def _stop_on_signal(life: Life) -> None:
    """A thread, not a handler: a handler that sets an event can interrupt the very code that holds its lock."""
    signal.sigwait(STOP_SIGNALS)
    life.stopped.set()


def live(store: JobStore, job_id: str, key: RoleKey, body: Callable[[Life], None]) -> int:
    """Run a role to its end, after `prepare_process`. Returns the exit code; the caller should leave by `leave`."""
    try:
        life = Life(store, job_id, key)
    except (RoleRefusedError, ListeningError) as error:
        log.error("refused: %s", error)
        return 1
    threading.Thread(target=_stop_on_signal, args=(life,), name="signals", daemon=True).start()
    log.info("%s of job %s: process %d", key, job_id, os.getpid())
    try:
        body(life)
    except PlacewrightError as error:
        log.error("%s", error)
        life.end(f"failed: {error}")
        return 1
    except Exception as error:
        log.exception("%s failed", key)
        life.end(f"failed: {type(error).__name__}: {error}")
        return 1
    life.end("stopped")
    log.info("stopped")
    return 0


def prepare_process(job_id: str, key: RoleKey) -> None:
    """First thing in a role's process: die with the parent, leave signals to the thread that waits for them, log."""
    die_with_parent()
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)  # in this thread and all that come
    logs.configure(job=job_id, role=str(key))


def leave(code: int) -> None:
    """End the process at once: threads left waiting in Reverb for a server that has gone would hold it up."""
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def in_turn(addresses: Sequence[str], index: int) -> list[str]:
    """The addresses, beginning with the index-th: spreads readers evenly over caches."""
    if not addresses:
        return []
    at = index % len(addresses)
    return [*addresses[at:], *addresses[:at]]
