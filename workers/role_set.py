"""Where a run gets its roles from: children on this machine, or workers anywhere that listen on Celery's role queues.

`make_role_set` decides by `PLACEWRIGHT_ROLES`; the run (workers/run.py) sees one set either way. Optimisers are always
children of the run: they need no queue of their own, and a job without learning works wherever a run does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from backend.core.broker import ROLE, Broker
from backend.core.config import Settings, get_settings
from backend.jobs.records import JobRecord
from backend.jobs.store import JobStore
from workers.menger.launch import RoleExit, RoleSet, role_counts
from workers.topology import Topology

CELL = "main"  # actors, caches and shards of one job share one cell for now
QUEUES = {
    "learner": "learner",
    "actor": f"actor.{CELL}",
    "replay": f"replay.{CELL}",
    "cache": f"cache.{CELL}",
}
POLL_S = 0.2


class Roles(Protocol):
    """The processes that work for one job, wherever they are."""

    def start(self) -> None: ...

    def poll(self) -> Sequence[RoleExit]:
        """Roles that have ended or gone silent since the last call. Never blocks."""

    def restart(self, role: str, index: int) -> None: ...

    def stop(self, deadline_s: float) -> None: ...


def waiting_queues(roles: Roles) -> list[str]:
    """Queues on which roles wait for a worker to take them; none where all roles are children."""
    return roles.there.waiting() if isinstance(roles, BothRoles) else []


class QueuedRoles:
    """Roles asked for on queues: one message each; any worker that listens starts it. Known by their heartbeats."""

    def __init__(
        self,
        store: JobStore,
        job_id: str,
        topology: Topology,
        send: Callable[[str, int], bool],
        *,
        stale_after_s: float,
    ) -> None:
        self.store = store
        self.job_id = job_id
        self.wanted = [(role, index) for role, count in role_counts(topology).items() for index in range(count)]
        self.send = send
        self.stale_after_s = stale_after_s
        self._seen: set[tuple[str, int]] = set()

    def start(self) -> None:
        for role, index in self.wanted:
            self.send(role, index)

    def poll(self) -> list[RoleExit]:
        """A role that was there and is silent for three heartbeats, or has ended by itself, is gone."""
        live = {(record.role, record.index): record for record in self.store.roles(self.job_id)}
        gone = []
        for key in self.wanted:
            record = live.get(key)
            if record is None:
                continue
            ended = record.state.startswith(("failed", "stopped"))
            if not ended and record.heartbeat_age_s <= self.stale_after_s:
                self._seen.add(key)
            elif key in self._seen:
                self._seen.discard(key)
                words = record.state if ended else f"no heartbeat for {record.heartbeat_age_s:.0f} s"
                gone.append(RoleExit(role=key[0], index=key[1], code=1, last_stderr_lines=(words,)))
        return gone

    def waiting(self) -> list[str]:
        """Roles that no worker has taken yet, by the queue that each waits on."""
        there = {(record.role, record.index) for record in self.store.roles(self.job_id)}
        return [QUEUES[role] for role, index in self.wanted if (role, index) not in there]

    def restart(self, role: str, index: int) -> None:
        self.send(role, index)

    def stop(self, deadline_s: float) -> None:
        """Tell all roles to stop at their next heartbeat, and wait until they have or the time is over."""
        self.store.stop_roles(self.job_id)
        end_s = time.monotonic() + deadline_s
        wanted = set(self.wanted)
        while time.monotonic() < end_s:
            records = [r for r in self.store.roles(self.job_id) if (r.role, r.index) in wanted]
            if all(
                r.state.startswith(("stopped", "failed")) or r.heartbeat_age_s > self.stale_after_s for r in records
            ):
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

    def restart(self, role: str, index: int) -> None:
        (self.there if role in QUEUES else self.here).restart(role, index)

    def stop(self, deadline_s: float) -> None:
        self.here.stop(deadline_s)
        self.there.stop(deadline_s)


def make_role_set(
    store: JobStore, job: JobRecord, topology: Topology, *, options: Mapping[str, Sequence[str]] | None = None
) -> Roles:
    """The set of roles that the settings and this topology ask for."""
    settings = get_settings()

    def local(part: Topology) -> RoleSet:
        return RoleSet(
            job_id=job.id,
            data_dir=settings.data,
            database_url=settings.database_url,
            topology=part,
            log_dir=job.folder / "roles",
            options=options or {},
        )

    if settings.roles == "local" or not topology.learns:
        return local(topology)
    learning = replace(topology, optimisers=0)
    queued = QueuedRoles(store, job.id, learning, _sender(settings, job.id), stale_after_s=settings.stale_after_seconds)
    return BothRoles(local(Topology(optimisers=topology.optimisers)), queued)


def _sender(settings: Settings, job_id: str) -> Callable[[str, int], bool]:
    broker = Broker(settings)
    return lambda role, index: broker.send(ROLE, job_id, role, index, queue=QUEUES[role])
