"""Jobs as the API sees them: created, listed, read, cancelled; their placements and metrics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from backend.core.broker import RUN_JOB, RUN_QUEUE, Broker
from backend.core.db import Database
from backend.core.errors import ConflictError, NotFoundError
from backend.core.ids import new_id
from backend.core.paging import page
from backend.core.tables import DesignRow, JobRow, MetricRow, PlacementRow
from backend.designs.cells import require_cells
from backend.designs.constraints import require_constraints
from backend.designs.service import find as find_design
from backend.jobs.records import JobRecord, PlacementRecord
from backend.jobs.store import JobStore, ranking
from backend.jobs.topology import desired_topology
from backend.schemas import DesignState, JobCreate, JobPage, JobRead, JobState, MetricPoint, MetricsRead, PlacementRead
from netlists.files import DEFAULT_LIMITS
from netlists.sources import own_formats

CANCELLED_BY_USER = "cancelled by the user"
MAX_METRIC_POINTS = 20_000


def create(
    database: Database, store: JobStore, broker: Broker, spec: JobCreate, key: str | None
) -> tuple[JobRead, bool]:
    """Store a job and enqueue it. With a key used before: that job, and False.

    Raises NotFoundError, ConflictError and UnprocessableError, for constraints that the design cannot have and cells
    that it has not.
    """
    if spec.constraints is not None or spec.place_cells:
        design = database.read(lambda session: find_design(session, spec.design_id))
        if design.state == DesignState.READY and spec.constraints is not None:
            require_constraints(store.data, design, spec.constraints, from_scratch=spec.from_scratch)
        if design.state == DesignState.READY and spec.place_cells:
            require_cells(store.data, design)

    def work(session: Session) -> tuple[JobRead, bool]:
        if key is not None:
            known = session.scalar(sa.select(JobRow).where(JobRow.idempotency_key == key))
            if known is not None:
                _require_same(known, spec)
                return to_read(known, find_design(session, known.design_id).name), False
        design = find_design(session, spec.design_id)
        if design.state != DesignState.READY:
            reason = design.error or "its files are still being read"
            raise ConflictError("design-not-ready", f"The design is {design.state}: {reason}")
        now = database.now(session)
        row = JobRow(
            id=new_id(),
            **spec.model_dump(mode="json"),
            state=JobState.QUEUED,
            progress=0.0,
            attempt=0,
            created_at=now,
            enqueued_at=now,
            enqueued_count=1,
            last_event=0,
            idempotency_key=key,
        )
        session.add(row)
        session.flush()
        store.put_state(session, row.id, JobState.QUEUED, None, None, 0)
        return to_read(row, design.name), True

    job, created = database.write(work)
    if created:
        broker.send(RUN_JOB, job.id, queue=RUN_QUEUE)
    return job, created


def get(database: Database, job_id: str) -> JobRead:
    """Raises NotFoundError."""
    return database.read(lambda session: read(session, job_id))


def read(session: Session, job_id: str) -> JobRead:
    found = session.execute(_with_design().where(JobRow.id == job_id)).first()
    if found is None:
        raise missing(job_id)
    return to_read(*found)


def read_many(session: Session, job_ids: Sequence[str]) -> list[JobRead]:
    """Those of the jobs that there are."""
    return [to_read(*row) for row in session.execute(_with_design().where(JobRow.id.in_(job_ids)))]


def list_page(
    database: Database, cursor: str | None, limit: int, state: JobState | None, design_id: str | None
) -> JobPage:
    query = _with_design()
    if state is not None:
        query = query.where(JobRow.state == state)
    if design_id is not None:
        query = query.where(JobRow.design_id == design_id)

    def work(session: Session) -> JobPage:
        rows, following = page(session, query, JobRow, cursor=cursor, limit=limit)
        return JobPage(items=[to_read(*row) for row in rows], next_cursor=following)

    return database.read(work)


def cancel(database: Database, store: JobStore, job_id: str) -> JobRead:
    """Ask for the job's end. One that waits ends now, one that runs soon, one that is over stays as it is."""

    def work(session: Session) -> JobRead:
        job = store.lock(session, job_id)
        if job is None:
            raise missing(job_id)
        if job.state == JobState.QUEUED:
            store.end(session, job, JobState.CANCELLED, CANCELLED_BY_USER)
        elif not JobState(job.state).is_final and job.cancel_requested_at is None:
            job.cancel_requested_at = database.now(session)
        session.flush()
        return read(session, job_id)

    return database.write(work)


def has_events_after(database: Database, job_id: str, event_id: int) -> bool:
    query = sa.select(JobRow.last_event).where(JobRow.id == job_id)
    return (database.read(lambda session: session.scalar(query)) or 0) > event_id


def metrics(database: Database, job_id: str, after_s: float | None) -> MetricsRead:
    """The job's points in order of time, thinned evenly where there are more than a chart can show."""

    def work(session: Session) -> MetricsRead:
        _require(session, job_id)
        query = sa.select(MetricRow.time_s, MetricRow.values).where(MetricRow.job_id == job_id)
        if after_s is not None:
            query = query.where(MetricRow.time_s > after_s)
        rows = session.execute(query.order_by(MetricRow.time_s, MetricRow.id)).all()
        step = -(-len(rows) // MAX_METRIC_POINTS) or 1
        return MetricsRead(points=[MetricPoint(time_s=time_s, values=values) for time_s, values in rows[::step]])

    return database.read(work)


def placements(database: Database, store: JobStore, job_id: str) -> list[PlacementRead]:
    """The leaderboard, best first. Raises NotFoundError."""

    def work(session: Session) -> list[PlacementRow]:
        _require(session, job_id)
        return list(session.scalars(ranking(job_id)))

    rows = database.read(work)
    return [placement_read(store.record(row, rank)) for rank, row in enumerate(rows, start=1)]


def placement(database: Database, store: JobStore, placement_id: str) -> tuple[PlacementRecord, str, JobState]:
    """A placement, its design's name and its job's state. Raises NotFoundError."""

    def work(session: Session) -> tuple[PlacementRecord, str, JobState]:
        row = session.get(PlacementRow, placement_id)
        if row is None:
            raise NotFoundError(
                "placement-not-found",
                f"There is no placement {placement_id}; a job keeps its best ones only, see its leaderboard",
            )
        ids = [other.id for other in session.scalars(ranking(row.job_id))]
        found = session.execute(_with_design().where(JobRow.id == row.job_id)).one()
        return store.record(row, ids.index(row.id) + 1), found[1], JobState(found[0].state)

    return database.read(work)


def late_formats(job: JobRecord) -> tuple[str, ...]:
    """Formats that a job writes for its best placement when it ends."""
    files = sorted((job.design_folder / "files").iterdir())
    return ("pb", *own_formats(files, DEFAULT_LIMITS))


def placement_read(record: PlacementRecord) -> PlacementRead:
    return PlacementRead(
        id=record.id,
        job_id=record.job_id,
        rank=record.rank,
        costs=record.costs,  # type: ignore[arg-type]  # pydantic makes Costs of it
        legal=record.legal,
        problems=record.problems,
        provenance=record.provenance,
        created_at=record.created_at,
        formats=record.formats,  # type: ignore[arg-type]
        cells=record.provenance.get("cells"),
    )


def to_read(job: JobRow, design_name: str) -> JobRead:
    return JobRead(
        id=job.id,
        design_id=job.design_id,
        design_name=design_name,
        name=job.name,
        method=job.method,  # type: ignore[arg-type]
        seconds=job.seconds,
        trials=job.trials,
        seed=job.seed,
        workers=job.workers,
        from_scratch=job.from_scratch,
        place_cells=job.place_cells,
        state=JobState(job.state),
        stage="cancelling" if job.cancel_requested_at and not JobState(job.state).is_final else job.stage,
        cause=job.cause,
        progress=job.progress,
        eta_s=job.eta_s,
        attempt=job.attempt,
        created_at=job.created_at,
        started_at=job.started_at,
        finished_at=job.finished_at,
        start_costs=job.start_costs,  # type: ignore[arg-type]
        best_costs=job.best_costs,  # type: ignore[arg-type]
        best_placement_id=job.best_placement_id,
        constrained=job.constraints is not None,
        topology=desired_topology(job.method, job.workers, job.topology, job.scaled_topology),
    )


def _with_design() -> sa.Select[*tuple[Any, ...]]:
    return sa.select(JobRow, DesignRow.name).join(DesignRow, DesignRow.id == JobRow.design_id)


def _require(session: Session, job_id: str) -> None:
    if session.get(JobRow, job_id) is None:
        raise missing(job_id)


def _require_same(known: JobRow, spec: JobCreate) -> None:
    if any(getattr(known, name) != value for name, value in spec.model_dump(mode="json").items()):
        raise ConflictError("idempotency-key-reused", f"This Idempotency-Key made job {known.id}, with other values")


def missing(job_id: str) -> NotFoundError:
    return NotFoundError("job-not-found", f"There is no job {job_id}")
