"""Everything a run, its roles and the tasks do with the database: `JobStore`, the only SQL that `workers/` knows.

In: a database URL and the data folder. Out: frozen records (`backend.jobs.records`). One call is one short
transaction; calls may come from any thread. A lease is (owner, heartbeat): taken by one UPDATE, kept by `heartbeat`,
free again three missed heartbeats later. An event gets its id from its job's row, whose lock makes ids rise in the
order in which events become visible.
"""

from __future__ import annotations

import math
import shutil
import threading
import time
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from backend.core.config import get_settings
from backend.core.db import Database
from backend.core.ids import new_id
from backend.core.tables import CandidateRow, DesignRow, EventRow, JobRow, MetricRow, PlacementRow, RoleRow
from backend.designs.folders import clustered_files
from backend.jobs.records import Candidate, Heartbeat, JobRecord, PlacementRecord, UnknownJobError
from backend.jobs.role_store import ACTIVE, VERSION, RoleStore, finite
from backend.jobs.topology import desired_topology
from backend.schemas import Costs, EventKind, JobState, PlacementRead
from netlists.options import Options

LEADERBOARD = 8  # placements kept per job; each is a few MB on disk
CANDIDATES = 64  # waiting candidates kept per job, the best ones; a run takes a few at a time
METRICS_EVERY_S = 1.0  # at most one write of metrics per second and process, whatever the rate of points
OPEN = (JobState.QUEUED, *ACTIVE)
COST_NAMES = tuple(Costs.model_fields)


class JobStore(RoleStore):
    """The database as a run and its roles see it. Thread-safe; one per process is enough."""

    def __init__(self, database: Database, data: Path, *, stale_after_s: float, attempt_limit: int) -> None:
        self.database = database
        self.data = data
        self.stale_after_s = stale_after_s
        self.attempt_limit = attempt_limit
        self._metrics: list[dict[str, Any]] = []
        self._metrics_lock = threading.Lock()
        self._metrics_flushed = 0.0

    @classmethod
    def from_url(cls, database_url: str | None = None, data: Path | None = None) -> JobStore:
        """A store on this database (default: the settings' own) whose folders lie in `data`."""
        settings = get_settings()
        return cls(
            Database(database_url or settings.database_url),
            data or settings.data,
            stale_after_s=settings.stale_after_seconds,
            attempt_limit=settings.attempts,
        )

    def close(self) -> None:
        self.flush()
        self.database.dispose()

    # The job and its lease

    def job(self, job_id: str) -> JobRecord:
        """Raises UnknownJobError."""

        def work(session: Session) -> JobRecord:
            found = session.execute(
                sa.select(JobRow, DesignRow)
                .join(DesignRow, DesignRow.id == JobRow.design_id)
                .where(JobRow.id == job_id)
            ).first()
            if found is None:
                raise UnknownJobError(job_id)
            job, design = found
            uploaded = tuple(self.data / "designs" / design.id / "files" / f["stored"] for f in design.files)
            return JobRecord(
                id=job.id,
                design_id=design.id,
                design_name=design.name,
                design_folder=self.data / "designs" / design.id,
                design_files=clustered_files(self.data, design.id) or uploaded,
                uploaded_files=uploaded,
                folder=self.data / "jobs" / job.id,
                method=job.method,
                seconds=job.seconds,
                trials=job.trials,
                seed=job.seed,
                workers=job.workers,
                constraints=job.constraints,
                topology=desired_topology(job.method, job.workers, job.topology, job.scaled_topology),
                from_scratch=job.from_scratch,
                place_cells=job.place_cells,
                reading=Options(**design.options),
                state=JobState(job.state),
                stage=job.stage,
                cause=job.cause,
                progress=job.progress,
                attempt=job.attempt,
                attempts_left=job.attempt < self.attempt_limit,
                started_at=job.started_at,
                cancel_requested=job.cancel_requested_at is not None,
                owner=job.owner,
                host=job.host,
                pgid=job.pgid,
                start_costs=job.start_costs,
                best_costs=job.best_costs,
                best_placement_id=job.best_placement_id,
            )

        return self.database.read(work)

    def claim(self, job_id: str, owner: str, host: str, pgid: int, attempt_limit: int | None = None) -> bool:
        """Take the lease of a job that is waiting, or whose owner has not been heard of for three heartbeats.

        One UPDATE decides. Counts an attempt and forgets the roles of an earlier one. False: someone live holds the
        lease, the job is over or cancelled, or its attempts are used up.
        """
        limit = self.attempt_limit if attempt_limit is None else attempt_limit

        def work(session: Session) -> bool:
            now = self.database.now(session)
            stale = now - timedelta(seconds=self.stale_after_s)
            attempt = session.scalar(
                sa.update(JobRow)
                .where(
                    JobRow.id == job_id,
                    JobRow.state.in_(OPEN),
                    JobRow.cancel_requested_at.is_(None),
                    JobRow.attempt < limit,
                    sa.or_(JobRow.owner.is_(None), JobRow.heartbeat_at < stale),
                )
                .values(
                    owner=owner,
                    host=host,
                    pgid=pgid,
                    heartbeat_at=now,
                    state=JobState.RUNNING,
                    stage="starting",
                    cause=None,
                    version=VERSION,
                    attempt=JobRow.attempt + 1,
                    started_at=sa.func.coalesce(JobRow.started_at, now),
                )
                .returning(JobRow.attempt)
                .execution_options(synchronize_session=False)
            )
            if attempt is None:
                return False
            session.execute(sa.delete(RoleRow).where(RoleRow.job_id == job_id))
            session.execute(sa.delete(CandidateRow).where(CandidateRow.job_id == job_id))
            self.put_state(session, job_id, JobState.RUNNING, "starting", None, attempt)
            return True

        return self.database.write(work)

    def heartbeat(
        self,
        job_id: str,
        owner: str,
        *,
        progress: float,
        eta_s: float | None,
        stage: str,
        state: JobState | None = None,
    ) -> Heartbeat:
        """Keep the lease and say how far the run is; `state` may move on from running to finishing."""
        if state not in (None, *ACTIVE):
            raise ValueError(f"a heartbeat cannot make a job {state}: use finish()")
        self.flush()

        def work(session: Session) -> Heartbeat:
            job = self.lock(session, job_id)
            if job is None or job.owner != owner or JobState(job.state).is_final:
                return Heartbeat(cancel_requested=bool(job and job.cancel_requested_at), topology=None, lost=True)
            changed = state is not None and job.state != state
            job.heartbeat_at = self.database.now(session)
            job.progress = min(1.0, max(0.0, progress))
            job.eta_s = eta_s
            job.stage = stage
            if changed:
                job.state = str(state)
                self.put_state(session, job_id, JobState(job.state), stage, None, job.attempt)
            topology = desired_topology(job.method, job.workers, job.topology, job.scaled_topology)
            return Heartbeat(cancel_requested=job.cancel_requested_at is not None, topology=topology, lost=False)

        return self.database.write(work)

    def request_cancel(self, job_id: str) -> None:
        """Ask the run to stop; it keeps its best placement. Heard at its next heartbeat."""

        def work(session: Session) -> None:
            job = self.lock(session, job_id)
            if job is not None and not JobState(job.state).is_final:
                job.cancel_requested_at = job.cancel_requested_at or self.database.now(session)

        self.database.write(work)

    def set_start_costs(self, job_id: str, costs: Mapping[str, float]) -> None:
        """Record the costs of the legalised start."""
        values = _five(costs)
        self.database.write(
            lambda session: session.execute(sa.update(JobRow).where(JobRow.id == job_id).values(start_costs=values))
        )

    def finish(self, job_id: str, owner: str, state: JobState, cause: str | None = None) -> bool:
        """End the job and give up the lease. False: the lease was lost, nothing is changed."""
        if not JobState(state).is_final:
            raise ValueError(f"{state} is not a final state")
        self.flush()

        def work(session: Session) -> bool:
            job = self.lock(session, job_id)
            if job is None or job.owner != owner or JobState(job.state).is_final:
                return False
            self.end(session, job, JobState(state), cause)
            return True

        return self.database.write(work)

    # What happened

    def add_event(self, job_id: str, kind: EventKind | str, data: Mapping[str, Any]) -> int:
        """Store an event; its id is returned and goes to every listener of the job."""
        return self.database.write(lambda session: self.put_event(session, job_id, EventKind(kind), data))

    def add_metrics(self, job_id: str, time_s: float, values: Mapping[str, float]) -> None:
        """Add one moment's values. Written in batches: at the latest a second later, by the next call of the store."""
        point = {"job_id": job_id, "time_s": float(time_s), "values": _finite_floats(values)}
        with self._metrics_lock:
            self._metrics.append(point)
            due = time.monotonic() - self._metrics_flushed >= METRICS_EVERY_S
        if due:
            self.flush()

    def flush(self) -> None:
        """Write the metrics that wait."""
        with self._metrics_lock:
            points, self._metrics = self._metrics, []
            self._metrics_flushed = time.monotonic()
        if points:
            self.database.write(lambda session: session.execute(sa.insert(MetricRow), points))

    # Placements and candidates

    def new_placement_folder(self, job_id: str) -> Path:
        """A fresh folder jobs/<id>/placements/<placement id>, to be filled and then given to `add_placement`."""
        folder = self.data / "jobs" / job_id / "placements" / new_id()
        folder.mkdir(parents=True)
        return folder

    def add_placement(
        self,
        job_id: str,
        folder: Path,
        costs: Mapping[str, float],
        legal: bool,
        problems: Sequence[str],
        provenance: Mapping[str, Any],
        formats: Sequence[str],
        replaces: str | None = None,
    ) -> str:
        """Enter a written placement into the job's leaderboard; the folder's name is its id, which is returned.

        `replaces` is the id of an entry that this one betters and that leaves the leaderboard for it.
        Legal ones come first, then the lower proxy cost, then the older. The best LEADERBOARD stay; the folders of
        those pushed out are removed, the new one's too if it is no better than any.
        """
        placement_id = folder.name

        def work(session: Session) -> list[str]:
            job = self.lock(session, job_id)
            if job is None:
                raise UnknownJobError(job_id)
            row = PlacementRow(
                id=placement_id,
                job_id=job_id,
                folder=str(folder.resolve().relative_to(self.data)),
                proxy_cost=float(costs["proxy_cost"]),
                costs=_five(costs),
                legal=legal,
                problems=list(problems),
                provenance=finite(provenance),
                formats=list(formats),
                created_at=self.database.now(session),
            )
            session.add(row)
            session.flush()
            ranked = list(session.scalars(ranking(job_id)))
            replaced = [other for other in ranked if other.id == replaces and other is not ranked[0]]
            ranked = [other for other in ranked if other not in replaced]
            rank = ranked.index(row) + 1
            if ranked[0].legal:
                job.best_placement_id, job.best_costs = ranked[0].id, ranked[0].costs
            if rank <= LEADERBOARD:
                read = PlacementRead.model_validate(self.record(row, rank), from_attributes=True)
                self.put_event(session, job_id, EventKind.PLACEMENT, read.model_dump(mode="json"))
            losers = replaced + ranked[LEADERBOARD:]
            for loser in losers:
                session.delete(loser)
            return [loser.folder for loser in losers]

        for pushed_out in self.database.write(work):
            shutil.rmtree(self.data / pushed_out, ignore_errors=True)
        return placement_id

    def set_formats(self, placement_id: str, formats: Sequence[str]) -> None:
        """Say in which formats a leaderboard entry can be downloaded."""
        query = sa.update(PlacementRow).where(PlacementRow.id == placement_id).values(formats=list(formats))
        self.database.write(lambda session: session.execute(query))

    def set_provenance(self, placement_id: str, provenance: Mapping[str, Any]) -> None:
        """Complete what is told of where a leaderboard entry comes from."""
        query = sa.update(PlacementRow).where(PlacementRow.id == placement_id).values(provenance=finite(provenance))
        self.database.write(lambda session: session.execute(query))

    def placements(self, job_id: str) -> list[PlacementRecord]:
        """The job's leaderboard, best first."""
        rows = self.database.read(lambda session: list(session.scalars(ranking(job_id))))
        return [self.record(row, rank) for rank, row in enumerate(rows, start=1)]

    def add_candidate(
        self, job_id: str, cost: float, layout: bytes, origin: Mapping[str, Any], kind: str = "episode"
    ) -> None:
        """Offer a layout: kind "episode" (an actor's, to the search) or "improved" (the search's, to the leaderboard).

        Of those of a kind that wait, the best CANDIDATES are kept.
        """

        def work(session: Session) -> None:
            session.add(
                CandidateRow(
                    job_id=job_id,
                    kind=kind,
                    cost=float(cost),
                    layout=layout,
                    origin=finite(origin),
                    created_at=self.database.now(session),
                )
            )
            session.flush()
            worst = session.scalars(_candidates(job_id, kind).offset(CANDIDATES)).all()
            if worst:
                session.execute(sa.delete(CandidateRow).where(CandidateRow.id.in_(worst)))

        self.database.write(work)

    def take_candidates(self, job_id: str, limit: int, kind: str = "episode") -> list[Candidate]:
        """Remove and return up to `limit` waiting candidates of a kind, lowest cost first; none is given out twice."""

        def work(session: Session) -> list[Candidate]:
            query = sa.select(CandidateRow).where(CandidateRow.job_id == job_id, CandidateRow.kind == kind)
            query = query.order_by(CandidateRow.cost, CandidateRow.id).limit(limit).with_for_update(skip_locked=True)
            rows = list(session.scalars(query))
            if rows:
                session.execute(sa.delete(CandidateRow).where(CandidateRow.id.in_([row.id for row in rows])))
            return [Candidate(id=row.id, cost=row.cost, layout=row.layout, origin=row.origin) for row in rows]

        return self.database.write(work)

    # Shared by the above and by backend.jobs.recovery; each works inside a caller's transaction

    def lock(self, session: Session, job_id: str) -> JobRow | None:
        return session.get(JobRow, job_id, with_for_update=True, populate_existing=True)

    def put_event(self, session: Session, job_id: str, kind: EventKind, data: Mapping[str, Any]) -> int:
        event_id = session.scalar(
            sa.update(JobRow)
            .where(JobRow.id == job_id)
            .values(last_event=JobRow.last_event + 1)
            .returning(JobRow.last_event)
            .execution_options(synchronize_session=False)
        )
        if event_id is None:
            raise UnknownJobError(job_id)
        now = self.database.now(session)
        session.add(EventRow(job_id=job_id, id=event_id, kind=kind, at=now, data=finite(data)))
        return event_id

    def put_state(
        self, session: Session, job_id: str, state: JobState, stage: str | None, cause: str | None, attempt: int
    ) -> None:
        data = {"state": state, "stage": stage, "cause": cause, "attempt": attempt}
        self.put_event(session, job_id, EventKind.STATE, data)

    def end(self, session: Session, job: JobRow, state: JobState, cause: str | None) -> None:
        job.state, job.cause, job.stage = state, cause, None
        job.finished_at = self.database.now(session)
        job.owner, job.eta_s = None, None
        if state == JobState.DONE:
            job.progress, job.eta_s = 1.0, 0.0
        session.flush()
        session.execute(sa.delete(CandidateRow).where(CandidateRow.job_id == job.id))
        self.put_state(session, job.id, state, None, cause, job.attempt)

    def record(self, row: PlacementRow, rank: int) -> PlacementRecord:
        return PlacementRecord(
            id=row.id,
            job_id=row.job_id,
            rank=rank,
            folder=self.data / row.folder,
            costs=row.costs,
            legal=row.legal,
            problems=row.problems,
            provenance=row.provenance,
            formats=row.formats,
            created_at=row.created_at,
        )


def ranking(job_id: str) -> sa.Select[PlacementRow]:
    """A job's placements, best first: legal before illegal, then proxy cost, then age."""
    order = (PlacementRow.legal.desc(), PlacementRow.proxy_cost, PlacementRow.created_at, PlacementRow.id)
    return sa.select(PlacementRow).where(PlacementRow.job_id == job_id).order_by(*order)


def _candidates(job_id: str, kind: str) -> sa.Select[int]:
    query = sa.select(CandidateRow.id).where(CandidateRow.job_id == job_id, CandidateRow.kind == kind)
    return query.order_by(CandidateRow.cost, CandidateRow.id)


def _finite_floats(values: Mapping[str, float]) -> dict[str, float]:
    return {name: float(value) for name, value in values.items() if math.isfinite(value)}


def _five(costs: Mapping[str, float]) -> dict[str, float]:
    return {name: float(costs[name]) for name in COST_NAMES}
