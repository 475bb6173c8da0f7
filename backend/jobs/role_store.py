"""What the database knows of a job's role processes: registered, heard of, told to stop, scaled, restarted.

The half of `JobStore` that roles and their run use. A heartbeat is one UPDATE that does not wait for the disk (losing
the last ones in a crash loses nothing), so that many roles cost little; ages are by the database's clock alone.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Mapping
from datetime import timedelta
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from backend.core.ids import new_id
from backend.core.tables import JobRow, RoleRow, WorkerRow
from backend.jobs.records import RoleRecord, RoleRefusedError, UnknownJobError
from backend.jobs.topology import RoleKey, desired_topology, fair_shares, learning_keys, queue_counts
from backend.schemas import LEARNING_METHODS, EventKind, JobState

if TYPE_CHECKING:
    from backend.core.db import Database

ACTIVE = (JobState.RUNNING, JobState.FINISHING)
VERSION = version("placewright")
SECRET_BYTES = 32


class RoleStore:
    """Mixed into `JobStore`, which has the database."""

    database: Database
    stale_after_s: float

    def put_event(self, session: Session, job_id: str, kind: EventKind, data: Mapping[str, Any]) -> int:
        raise NotImplementedError

    def register_role(
        self,
        job_id: str,
        role: str,
        cell: str,
        index: int,
        address: str | None,
        pid: int,
        host: str,
        version: str = VERSION,
    ) -> str:
        """A role process says where it is. Returns its role id.

        Raises RoleRefusedError, and leaves an event, where its program's version is not that of the job's run.
        """
        role_id = new_id()

        def work(session: Session) -> str | None:
            running = session.scalar(sa.select(JobRow.version).where(JobRow.id == job_id))
            if running is not None and running != version:
                words = f"{RoleKey(role, cell, index)} on {host} is of version {version}, the job runs {running}"
                data = {"level": "error", "message": f"refused: {words}; upgrade that worker", "role": role}
                self.put_event(session, job_id, EventKind.LOG, data)
                return words
            session.add(
                RoleRow(
                    id=role_id,
                    job_id=job_id,
                    role=role,
                    cell=cell,
                    index=index,
                    address=address,
                    pid=pid,
                    host=host,
                    state="starting",
                    stats={},
                    heartbeat_at=self.database.now(session),
                    stop_requested=False,
                    restart_requested=False,
                    version=version,
                )
            )
            return None

        if refusal := self.database.write(work):
            raise RoleRefusedError(refusal)
        return role_id

    def job_secret(self, job_id: str) -> bytes:
        """What the roles of a job seal with, 32 bytes; made once, whichever role asks first. Raises UnknownJobError."""
        asked = sa.select(JobRow.secret).where(JobRow.id == job_id)
        made = sa.update(JobRow).where(JobRow.id == job_id, JobRow.secret.is_(None))
        made = made.values(secret=secrets.token_bytes(SECRET_BYTES))

        def make(session: Session) -> bytes | None:
            session.execute(made)
            return session.scalar(asked)

        secret = self.database.read(lambda session: session.scalar(asked)) or self.database.write(make)
        if secret is None:
            raise UnknownJobError(job_id)
        return secret

    def role_heartbeat(self, role_id: str, state: str, stats: Mapping[str, Any], address: str | None = None) -> bool:
        """Say that a role lives. False: it must stop (told so, run over or cancelled, or started anew without it)."""
        values: dict[str, Any] = {"state": state, "stats": finite(stats), "heartbeat_at": self.database.clock()}
        if address is not None:
            values["address"] = address
        update = sa.update(RoleRow).where(RoleRow.id == role_id).values(**values)
        update = update.execution_options(synchronize_session=False)

        def work(session: Session) -> bool:
            row = session.execute(update.returning(RoleRow.job_id, RoleRow.stop_requested)).first()
            if row is None:
                return False
            job = session.execute(
                sa.select(JobRow.state, JobRow.cancel_requested_at).where(JobRow.id == row[0])
            ).first()
            return job is not None and job[0] in ACTIVE and job[1] is None and not row[1]

        return self.database.write(work, durable=False)

    def roles(self, job_id: str, role: str | None = None, *, serving: bool = False) -> list[RoleRecord]:
        """The registered roles of a job's present attempt, by role, cell, index. `serving`: those with an address."""
        query = sa.select(RoleRow).where(RoleRow.job_id == job_id)
        if role is not None:
            query = query.where(RoleRow.role == role)
        if serving:
            query = query.where(RoleRow.address.is_not(None))
        query = query.order_by(RoleRow.role, RoleRow.cell, RoleRow.index)

        def work(session: Session) -> list[RoleRecord]:
            now = self.database.now(session)
            return [
                RoleRecord(
                    id=row.id,
                    role=row.role,
                    cell=row.cell,
                    index=row.index,
                    address=row.address,
                    pid=row.pid,
                    host=row.host,
                    state=row.state,
                    stats=row.stats,
                    heartbeat_age_s=max(0.0, (now - row.heartbeat_at).total_seconds()),
                    version=row.version,
                    stop_requested=row.stop_requested,
                    restart_requested=row.restart_requested,
                )
                for row in session.scalars(query)
            ]

        return self.database.read(work)

    def stop_roles(self, job_id: str, role: str | None = None) -> None:
        """Tell a job's roles (all, or those of one kind) to stop at their next heartbeat."""
        query = sa.update(RoleRow).where(RoleRow.job_id == job_id).values(stop_requested=True)
        if role is not None:
            query = query.where(RoleRow.role == role)
        self.database.write(lambda session: session.execute(query))

    def stop_role(self, role_id: str) -> None:
        """Tell one role to stop at its next heartbeat."""
        query = sa.update(RoleRow).where(RoleRow.id == role_id).values(stop_requested=True, restart_requested=False)
        self.database.write(lambda session: session.execute(query))

    def end_role(self, job_id: str, key: RoleKey, state: str, pid: int | None = None) -> None:
        """Record the end of a process that could not tell it itself; if it lives after all, it is told to stop."""
        ours = (RoleRow.job_id == job_id, RoleRow.role == key.role, RoleRow.cell == key.cell)
        query = sa.update(RoleRow).where(*ours, RoleRow.index == key.index, *_not_ended())
        if pid is not None:
            query = query.where(RoleRow.pid == pid)
        query = query.values(state=state, stop_requested=True, restart_requested=False)
        self.database.write(lambda session: session.execute(query))

    def restart_roles(self, job_id: str, role: str | None, cell: str | None, index: int | None) -> int:
        """Ask for a rolling restart of the living roles that these conditions name. Returns how many there are."""
        query = sa.update(RoleRow).where(RoleRow.job_id == job_id, RoleRow.stop_requested.is_(False), *_not_ended())
        for column, wanted in ((RoleRow.role, role), (RoleRow.cell, cell), (RoleRow.index, index)):
            if wanted is not None:
                query = query.where(column == wanted)
        query = query.values(restart_requested=True).execution_options(synchronize_session=False)
        return len(self.database.write(lambda session: session.execute(query.returning(RoleRow.id)).all()))

    def queue_shares(self, job_id: str) -> dict[str, int]:
        """What this job may have of each role queue's slots, beside the other jobs that run. Raises UnknownJobError."""

        def work(session: Session) -> dict[str, int]:
            if session.get(JobRow, job_id) is None:
                raise UnknownJobError(job_id)
            fresh = self.database.now(session) - timedelta(seconds=self.stale_after_s)
            slots: dict[str, int] = {}
            for served in session.scalars(sa.select(WorkerRow.slots).where(WorkerRow.heartbeat_at > fresh)):
                for queue, count in served.items():
                    slots[queue] = slots.get(queue, 0) + count
            running = sa.select(JobRow).where(JobRow.state == JobState.RUNNING, JobRow.method.in_(LEARNING_METHODS))
            wants: dict[str, dict[str, int]] = {}
            for job in session.scalars(running.order_by(JobRow.started_at, JobRow.id)):
                topology = desired_topology(job.method, job.workers, job.topology, job.scaled_topology)
                for queue, count in queue_counts(learning_keys(topology) if topology else ()).items():
                    wants.setdefault(queue, {})[job.id] = count
            return {queue: fair_shares(slots.get(queue, 0), jobs).get(job_id, 0) for queue, jobs in wants.items()}

        return self.database.read(work)


def _not_ended() -> tuple[sa.ColumnElement[bool], ...]:
    return (RoleRow.state.not_like("stopped%"), RoleRow.state.not_like("failed%"))


def finite(value: Any) -> Any:
    """The same JSON value with None in place of NaN and infinities, which JSON does not know."""
    if isinstance(value, Mapping):
        return {str(key): finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return value
