"""Where a run gets its roles from: children on this machine, or workers anywhere that listen on Celery's role queues.

`make_role_set` decides by `PLACEWRIGHT_ROLES`; the run (workers/run.py) sees one set either way, says what is wanted
and asks what has ended. Optimisers are always children of the run: they need no queue of their own, and a job without
learning works wherever a run does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from backend.core.broker import ROLE, Broker
from backend.core.config import Settings, get_settings
from backend.jobs.records import JobRecord, RoleRecord
from backend.jobs.store import JobStore
from backend.jobs.topology import STOP_ORDER, RoleKey, queue_counts, shortages
from backend.schemas import RoleName
from workers.menger.launch import RoleExit, RoleSet
from workers.sight import Sight

POLL_S = 0.2
LOOK_S = 1.0  # between two looks at the roles of a job on queues
ASK_AGAIN_S = 30.0  # a role that no worker has started by then is asked for again: its message may be lost


class Roles(Protocol):
    """The processes that work for one job, wherever they are."""

    def start(self) -> None: ...

    def poll(self) -> Sequence[RoleExit]:
        """Roles that have ended or gone silent by themselves since the last call. Never blocks."""

    def set_wanted(self, wanted: Sequence[RoleKey]) -> None:
        """Which there are to be from now on. To be called often: it also carries on what it has begun."""

    def stop_one(self, key: RoleKey) -> None:
        """End one role; as it is wanted, it is then started again."""

    def restart(self, key: RoleKey) -> None:
        """Start again one that `poll` told of."""

    def stop(self, deadline_s: float) -> None: ...


class QueuedRoles:
    """Roles asked for on queues: one message each; any worker that listens starts it. Known by their heartbeats.

    Of each queue it asks for no more than the job's fair share of the workers' slots, and gives up what is beyond it
    when another job comes.
    """

    def __init__(
        self,
        store: JobStore,
        job_id: str,
        wanted: Sequence[RoleKey],
        send: Callable[[RoleKey], bool],
        *,
        stale_after_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.store = store
        self.job_id = job_id
        self.wanted = list(wanted)
        self.send = send
        self.stale_after_s = stale_after_s
        self._clock = clock
        self._sight = Sight(stale_after_s, clock)
        self._next_look_s = -float("inf")
        self._seen: set[RoleKey] = set()  # there, at the last look
        self._asked_s: dict[RoleKey, float] = {}
        self._shares: Mapping[str, int] = {}

    def start(self) -> None:
        self.poll()

    def set_wanted(self, wanted: Sequence[RoleKey]) -> None:
        self.wanted = list(wanted)

    def poll(self) -> list[RoleExit]:
        """At most one look a second: ask for what is missing, stop what is too many, tell what has gone."""
        now_s = self._clock()
        if now_s < self._next_look_s:
            return []
        self._next_look_s = now_s + LOOK_S
        records = self._records()
        shares = self.store.queue_shares(self.job_id)
        if not self._sight.clear():
            return []
        self._shares = shares
        living = {record.key: record for record in records if self._lives(record)}
        gone = [self._exit(key, records) for key in self._seen - living.keys() if key in self.wanted]
        self._seen = {key for key, record in living.items() if not record.stop_requested}
        allowed = self._allowed()
        self._stop_surplus([record for key, record in living.items() if key not in allowed])
        told = {exit.key for exit in gone if exit is not None}
        for key in allowed:
            if key not in living and key not in told and now_s - self._asked_s.get(key, -ASK_AGAIN_S) >= ASK_AGAIN_S:
                self.restart(key)
        return [exit for exit in gone if exit is not None]

    def _records(self) -> list[RoleRecord]:
        """Of the roles that come over queues: optimisers are the run's own children."""
        return [record for record in self.store.roles(self.job_id) if record.role != RoleName.OPTIMISER]

    def _lives(self, record: RoleRecord) -> bool:
        return not record.ended and record.heartbeat_age_s <= self.stale_after_s

    def _exit(self, key: RoleKey, records: Sequence[RoleRecord]) -> RoleExit | None:
        """How one ended that was there at the last look; None: as it was told to."""
        last = min((r for r in records if r.key == key), key=lambda r: r.heartbeat_age_s, default=None)
        if last is None or (last.stop_requested and last.state == "stopped"):
            self._asked_s.pop(key, None)
            return None
        words = last.state if last.ended else f"no heartbeat for {last.heartbeat_age_s:.0f} s"
        if not last.ended:
            self.store.end_role(self.job_id, key, f"failed: {words}")  # should it come back, it is told to stop
        return RoleExit(key=key, code=1, last_stderr_lines=(words,))

    def _allowed(self) -> list[RoleKey]:
        """Those wanted that the shares permit, the first ones of each queue."""
        counts: dict[str, int] = {}
        allowed = []
        for key in self.wanted:
            counts[key.queue] = counts.get(key.queue, 0) + 1
            if counts[key.queue] <= self._shares.get(key.queue, 0):
                allowed.append(key)
        return allowed

    def _stop_surplus(self, surplus: Sequence[RoleRecord]) -> None:
        """Writers before the servers that they write to."""
        first = next((role for role in STOP_ORDER if any(record.role == role for record in surplus)), None)
        for record in surplus:
            if record.role == first and not record.stop_requested:
                self.store.stop_role(record.id)

    def waiting(self) -> list[str]:
        """What is missing on each queue, in words."""
        return shortages(queue_counts(self.wanted), queue_counts(key for key in self._seen if key in self.wanted))

    def stop_one(self, key: RoleKey) -> None:
        for record in self.store.roles(self.job_id, key.role):
            if record.key == key and self._lives(record):
                self.store.stop_role(record.id)
        self._asked_s.pop(key, None)

    def restart(self, key: RoleKey) -> None:
        if self.send(key):
            self._asked_s[key] = self._clock()

    def stop(self, deadline_s: float) -> None:
        """Tell all roles to stop at their next heartbeat, and wait until they have or the time is over."""
        self.store.stop_roles(self.job_id)
        end_s = time.monotonic() + deadline_s
        while time.monotonic() < end_s:
            records = self._records()
            if not any(self._lives(record) for record in records):
                return
            time.sleep(POLL_S)


class BothRoles:
    """Optimisers here, the rest on queues."""

    def __init__(self, here: Roles, there: QueuedRoles) -> None:
        self.here, self.there = here, there

    def start(self) -> None:
        self.there.start()
        self.here.start()

    def poll(self) -> Sequence[RoleExit]:
        return [*self.here.poll(), *self.there.poll()]

    def set_wanted(self, wanted: Sequence[RoleKey]) -> None:
        here, there = split(wanted)
        self.here.set_wanted(here)
        self.there.set_wanted(there)

    def stop_one(self, key: RoleKey) -> None:
        self._side(key).stop_one(key)

    def restart(self, key: RoleKey) -> None:
        self._side(key).restart(key)

    def _side(self, key: RoleKey) -> Roles:
        return self.here if key.role == RoleName.OPTIMISER else self.there

    def stop(self, deadline_s: float) -> None:
        self.here.stop(deadline_s)
        self.there.stop(deadline_s)


def waiting(roles: Roles) -> list[str]:
    """What waits for a worker to take it, in words; empty where all roles are children."""
    return roles.there.waiting() if isinstance(roles, BothRoles) else []


def split(keys: Sequence[RoleKey]) -> tuple[list[RoleKey], list[RoleKey]]:
    """(optimisers, all others)"""
    return (
        [key for key in keys if key.role == RoleName.OPTIMISER],
        [key for key in keys if key.role != RoleName.OPTIMISER],
    )


def make_role_set(
    store: JobStore, job: JobRecord, wanted: Sequence[RoleKey], *, options: Mapping[str, Sequence[str]] | None = None
) -> Roles:
    """The set of roles that the settings and this job ask for."""
    settings = get_settings()
    here, there = split(wanted)
    on_queues = settings.roles == "queues" and bool(there)
    local = RoleSet(
        job_id=job.id,
        data_dir=settings.data,
        database_url=settings.database_url,
        wanted=here if on_queues else list(wanted),
        log_dir=job.folder / "roles",
        options=options or {},
    )
    if not on_queues:
        return local
    send = _sender(settings, job.id)
    return BothRoles(local, QueuedRoles(store, job.id, there, send, stale_after_s=settings.role_stale_seconds))


def _sender(settings: Settings, job_id: str) -> Callable[[RoleKey], bool]:
    broker = Broker(settings)
    return lambda key: broker.send(ROLE, job_id, *key, queue=key.queue)
