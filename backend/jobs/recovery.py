"""Puts jobs and designs back on their feet: the database half of the tasks' and the sweeper's work.

Each function is one transaction that decides by what the row says now, so that it may run twice, on several hosts at
once, and against a run that comes back to life. Signals and processes are `workers/`' business.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.orm import Session

from backend.core.tables import DesignRow, JobRow, WorkerRow
from backend.designs.service import fail_parsing
from backend.jobs.store import ACTIVE, JobStore
from backend.schemas import DesignState, EventKind, JobState

# A message is taken for lost after a minute, then after two, four, … up to an hour: a job may well wait that long
# behind another, and each doubt costs one message more.
RESEND_AFTER_S = 60.0
RESEND_DOUBLINGS = 6
PARSE_ATTEMPTS = 3
CANCELLED = "cancelled by the user"
ENDED = (JobState.DONE, JobState.FAILED, JobState.CANCELLED)


@dataclass(frozen=True, kw_only=True)
class Lease:
    """Who is said to run a job."""

    job_id: str
    owner: str | None
    host: str | None
    pgid: int | None


def silent_leases(store: JobStore, silent_s: float) -> list[Lease]:
    """Running jobs whose owner has not been heard of for `silent_s`."""

    def work(session: Session) -> list[Lease]:
        before = store.database.now(session) - timedelta(seconds=silent_s)
        return _leases(session, sa.or_(JobRow.heartbeat_at < before, JobRow.owner.is_(None)))

    return store.database.read(work)


def overdue_cancels(store: JobStore, grace_s: float) -> list[Lease]:
    """Running jobs that were to end more than `grace_s` ago."""

    def work(session: Session) -> list[Lease]:
        return _leases(session, JobRow.cancel_requested_at < store.database.now(session) - timedelta(seconds=grace_s))

    return store.database.read(work)


def lately_ended(store: JobStore, after_s: float, within_s: float) -> list[Lease]:
    """Jobs that ended between `within_s` and `after_s` ago, with where they ran: nothing of them should live."""

    def work(session: Session) -> list[Lease]:
        now = store.database.now(session)
        ended = JobRow.finished_at.between(now - timedelta(seconds=within_s), now - timedelta(seconds=after_s))
        return _leases(session, sa.and_(ended, JobRow.pgid.is_not(None)), ENDED)

    return store.database.read(work)


def _leases(session: Session, condition: sa.ColumnElement[bool], states: Sequence[JobState] = ACTIVE) -> list[Lease]:
    query = sa.select(JobRow.id, JobRow.owner, JobRow.host, JobRow.pgid).where(JobRow.state.in_(states), condition)
    return [Lease(job_id=row[0], owner=row[1], host=row[2], pgid=row[3]) for row in session.execute(query)]


def release(store: JobStore, job_id: str, owner: str | None, cause: str, *, count: bool = True) -> JobState:
    """Take an open job from the owner it had when seen (None: never claimed) and let it wait for another start.

    `count`: the attempt is used up, else (the service stopped it) it is given back. A job that was to be cancelled is
    cancelled, one without attempts left fails with `cause`; both keep their best placement. Returns the state now.
    """

    def work(session: Session) -> JobState:
        job = store.lock(session, job_id)
        if job is None:
            return JobState.CANCELLED
        state = JobState(job.state)
        if state.is_final or job.owner != owner:
            return state
        if job.cancel_requested_at is not None:
            store.end(session, job, JobState.CANCELLED, CANCELLED)
            return JobState.CANCELLED
        if count and state == JobState.QUEUED:
            job.attempt += 1  # it ended before it could claim, which counts them otherwise
        elif not count and state in ACTIVE:
            job.attempt -= 1
        if count and job.attempt >= store.attempt_limit:
            store.end(session, job, JobState.FAILED, f"{cause} (start {job.attempt} of {store.attempt_limit})")
            return JobState.FAILED
        now = store.database.now(session)
        job.state, job.owner, job.eta_s, job.stage = JobState.QUEUED, None, None, "waiting to go on"
        job.enqueued_at, job.enqueued_count = now, 1
        message = f"{cause}; the job goes on from its best placement"
        store.put_event(session, job_id, EventKind.LOG, {"level": "warning", "message": message, "role": "service"})
        store.put_state(session, job_id, JobState.QUEUED, job.stage, cause, job.attempt)
        return JobState.QUEUED

    return store.database.write(work)


def end_cancelled(store: JobStore, job_id: str) -> None:
    """Record the end of a job whose processes were stopped from outside."""

    def work(session: Session) -> None:
        job = store.lock(session, job_id)
        if job is not None and not JobState(job.state).is_final:
            store.end(session, job, JobState.CANCELLED, CANCELLED)

    store.database.write(work)


def lost_messages(store: JobStore) -> tuple[list[str], list[str]]:
    """(jobs, designs) that have waited so long that their message may be lost; counted as sent again now."""

    def overdue(session: Session, rows: Iterable[JobRow | DesignRow]) -> list[str]:
        now = store.database.now(session)
        found = []
        for row in rows:
            patience = RESEND_AFTER_S * 2 ** min(row.enqueued_count, RESEND_DOUBLINGS) / 2
            if _age_s(now, row.enqueued_at) > patience:
                row.enqueued_at, row.enqueued_count = now, row.enqueued_count + 1
                found.append(row.id)
        return found

    def work(session: Session) -> tuple[list[str], list[str]]:
        queued = sa.select(JobRow).where(JobRow.state == JobState.QUEUED)
        unread = sa.select(DesignRow).where(
            DesignRow.state == DesignState.PARSING, DesignRow.parse_heartbeat_at.is_(None)
        )
        jobs = overdue(session, session.scalars(queued.with_for_update(skip_locked=True)))
        return jobs, overdue(session, session.scalars(unread.with_for_update(skip_locked=True)))

    return store.database.write(work)


def waiting(store: JobStore) -> tuple[list[str], list[str]]:
    """(jobs, designs) that wait to be started: what a service that comes up sends again at once."""

    def work(session: Session) -> tuple[list[str], list[str]]:
        jobs = session.scalars(sa.select(JobRow.id).where(JobRow.state == JobState.QUEUED).order_by(JobRow.created_at))
        designs = session.scalars(sa.select(DesignRow.id).where(DesignRow.state == DesignState.PARSING))
        return list(jobs), list(designs)

    return store.database.read(work)


def abandoned_designs(store: JobStore) -> list[str]:
    """Designs whose reader is gone: those to be read again, put back; after PARSE_ATTEMPTS they fail instead."""

    def work(session: Session) -> tuple[list[str], list[str]]:
        now = store.database.now(session)
        before = now - timedelta(seconds=store.stale_after_s)
        query = sa.select(DesignRow).where(
            DesignRow.state == DesignState.PARSING, DesignRow.parse_heartbeat_at < before
        )
        again, given_up = [], []
        for row in session.scalars(query.with_for_update(skip_locked=True)):
            if row.enqueued_count >= PARSE_ATTEMPTS:
                given_up.append(row.id)
                continue
            row.parse_heartbeat_at, row.enqueued_at, row.enqueued_count = None, now, row.enqueued_count + 1
            again.append(row.id)
        return again, given_up

    again, given_up = store.database.write(work)
    for design_id in given_up:
        error = f"The reading of the files was broken off {PARSE_ATTEMPTS} times, perhaps for lack of memory"
        fail_parsing(store.database, store.data, design_id, error)
    return again


# Workers


def worker_heartbeat(store: JobStore, worker_id: str, host: str, pid: int, slots: dict[str, int]) -> None:
    """A `placewright worker` says that it lives, and how many tasks of which queues it takes at a time; ones long
    silent are forgotten."""

    def work(session: Session) -> None:
        now = store.database.now(session)
        row = session.get(WorkerRow, worker_id)
        if row is None:
            row = WorkerRow(id=worker_id, host=host, pid=pid, started_at=now)
            session.add(row)
        row.queues, row.slots = list(slots), slots
        row.heartbeat_at = now
        session.execute(sa.delete(WorkerRow).where(WorkerRow.heartbeat_at < now - timedelta(days=1)))

    store.database.write(work)


def worker_gone(store: JobStore, worker_id: str) -> None:
    store.database.write(lambda session: session.execute(sa.delete(WorkerRow).where(WorkerRow.id == worker_id)))


def _age_s(now: datetime, then: datetime) -> float:
    return (now - then).total_seconds()
