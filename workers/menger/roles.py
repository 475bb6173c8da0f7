"""What all roles have in common: registering, heartbeats, finding each other, stopping, ending with a named cause.

A role process runs `live(store, job_id, role, index, body)`: `body(life)` does the role's work until
`life.should_stop()`. A thread sends a heartbeat with `life.stats` and keeps the list of the job's other roles fresh.
The database away for a while is logged and survived. Exit codes: 0 told to stop, 1 a fault (its cause is the last line
on stderr).
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy.exc import OperationalError

from backend.core.config import get_settings
from backend.jobs.records import RoleRecord
from backend.jobs.store import JobStore
from netlists.errors import PlacewrightError
from workers.processes import die_with_parent

log = logging.getLogger("placewright.role")

HEARTBEAT_S = 1.0  # well below the service's 5 s, for a learning job is watched as it goes
STALE_S = 5.0  # a role not heard of for so long is not used by others
FIND_S = 120.0  # for another role to appear: the slowest start seen on a busy machine is about 30 s
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)
HOST_VARIABLE = "PLACEWRIGHT_ROLE_HOST"  # name or address under which other hosts reach this one's roles


class RoleError(PlacewrightError):
    """A role cannot go on; the message is the cause."""


class Life:
    """One role's existence: identity, stop flag, statistics, and sight of the other roles."""

    def __init__(self, store: JobStore, job_id: str, role: str, index: int) -> None:
        self.store = store
        self.job_id = job_id
        self.role = role
        self.index = index
        self.stats: dict[str, Any] = {}
        self.state = "starting"
        self.stopped = threading.Event()
        self._address: str | None = None
        self._others: list[RoleRecord] = []
        self._role_id = store.register_role(job_id, role, 0, index, None, os.getpid(), socket.gethostname())
        self._refresh()
        self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)
        self._thread.start()

    def should_stop(self) -> bool:
        return self.stopped.is_set()

    def serve_at(self, port: int) -> None:
        """Tell the others where this role listens, at once."""
        self._address = f"{own_host()}:{port}"
        self._report()

    def addresses(self, role: str) -> list[str]:
        """Where the living processes of a role listen, by index. The newest of several with one index."""
        newest: dict[int, RoleRecord] = {}
        for record in self._others:
            if record.role != role or record.address is None or record.heartbeat_age_s > STALE_S:
                continue
            known = newest.get(record.index)
            if known is None or record.heartbeat_age_s < known.heartbeat_age_s:
                newest[record.index] = record
        return [str(newest[index].address) for index in sorted(newest)]

    def wait_for(self, role: str, timeout_s: float = FIND_S) -> list[str]:
        """Addresses of a role once one has appeared; empty if told to stop. Raises RoleError after `timeout_s`."""
        end_s = time.monotonic() + timeout_s
        self.state = f"waiting for a {role}"
        while not self.should_stop():
            if found := self.addresses(role):
                self.state = "running"
                return found
            if time.monotonic() > end_s:
                raise RoleError(
                    f"{self.role} {self.index}: no {role} of job {self.job_id} appeared within {timeout_s:g} s"
                )
            self.stopped.wait(0.2)
            self._refresh()
        return []

    def end(self, state: str) -> None:
        self.state = state
        self.stopped.set()
        self._thread.join(2 * HEARTBEAT_S)
        try:
            self._report()
        except OperationalError as error:
            log.warning("last heartbeat not written: %s", error.orig)

    def _report(self) -> bool:
        """One heartbeat. False: this role must stop."""
        stats = {**self.stats, "rss_mb": _rss_mb()}
        return self.store.role_heartbeat(self._role_id, self.state, stats, self._address)

    def _refresh(self) -> None:
        self._others = self.store.roles(self.job_id)

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
            self.stopped.wait(HEARTBEAT_S)


def own_host() -> str:
    """Where other roles reach this process: this machine's loopback, or, with roles on queues, its address."""
    if given := os.environ.get(HOST_VARIABLE):
        return given
    if get_settings().roles == "local":
        return "127.0.0.1"
    try:
        return socket.gethostbyname(socket.gethostname())
    except OSError:
        return socket.gethostname()


def _rss_mb() -> float:
    """Resident memory of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1]) if Path("/proc/self/statm").exists() else 0
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def _stop_on_signal(life: Life) -> None:
    """A thread, not a handler: a handler that sets an event can interrupt the very code that holds its lock."""
    signal.sigwait(STOP_SIGNALS)
    life.stopped.set()


def live(store: JobStore, job_id: str, role: str, index: int, body: Callable[[Life], None]) -> int:
    """Run a role to its end, after `prepare_process`. Returns the exit code; the caller should leave by `leave`."""
    life = Life(store, job_id, role, index)
    threading.Thread(target=_stop_on_signal, args=(life,), name="signals", daemon=True).start()
    log.info("%s %d of job %s: process %d", role, index, job_id, os.getpid())
    try:
        body(life)
    except PlacewrightError as error:
        log.error("%s", error)
        life.end(f"failed: {error}")
        return 1
    except Exception as error:
        log.exception("%s %d failed", role, index)
        life.end(f"failed: {type(error).__name__}: {error}")
        return 1
    life.end("stopped")
    log.info("stopped")
    return 0


def prepare_process() -> None:
    """First thing in a role's process: die with the parent, leave signals to the thread that waits for them, log."""
    die_with_parent()
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)  # in this thread and all that come
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s", stream=sys.stderr)


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
