"""The topology of a job as the API sees it: what it is to have, what it has, what it waits for; scaling, restarts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError
from sqlalchemy.orm import Session

from backend.core.config import Settings
from backend.core.db import Database
from backend.core.errors import ConflictError, NotFoundError, UnprocessableError
from backend.core.tables import JobRow
from backend.jobs.records import RoleRecord
from backend.jobs.service import missing
from backend.jobs.store import JobStore
from backend.jobs.topology import desired_topology, queue_counts, role_keys, scaled, shortages
from backend.schemas import (
    MAX_LOCAL_ROLES,
    EventKind,
    JobState,
    QueueRead,
    RoleName,
    RoleRead,
    RolesRestart,
    TopologyPatch,
    TopologyRead,
    TopologySpec,
)

# Figures of a role's statistics that are shown; the roles' modules say what they mean.
FIGURES = (
    "steps_per_s",
    "model_version",
    "model_age_s",
    "model_source",
    "queue_fill",
    "bytes_held",
    "bytes_in",
    "bytes_out",
    "data_wait_share",
    "rss_mb",
    "refused_unrolls",
    "refused_models",
)


def check_size(settings: Settings, topology: TopologySpec) -> None:
    """Raises UnprocessableError for one that this machine alone would have to bear and cannot."""
    count = len(role_keys(topology))
    if settings.roles == "local" and count > MAX_LOCAL_ROLES:
        raise UnprocessableError(
            "topology-too-large",
            f"{count} processes as children of one run, allowed are {MAX_LOCAL_ROLES}; more need workers on role "
            "queues (PLACEWRIGHT_ROLES=queues)",
        )


def read(database: Database, store: JobStore, settings: Settings, job_id: str) -> TopologyRead:
    """Raises NotFoundError; ConflictError for a job that does not learn."""

    def work(session: Session) -> tuple[JobState, TopologySpec]:
        job = session.get(JobRow, job_id)
        if job is None:
            raise missing(job_id)
        return JobState(job.state), _learning(job)

    state, desired = database.read(work)
    records = store.roles(job_id)
    stale_after_s = settings.role_stale_seconds
    alive = [record for record in records if is_alive(record, stale_after_s) and not record.stop_requested]
    wanted = queue_counts(role_keys(desired))
    present = queue_counts({record.key for record in alive})
    local = settings.roles == "local"
    shares = {} if local else store.queue_shares(job_id)
    newest = max((record.stats.get("policy_version") or 0 for record in records if record.role == "learner"), default=0)
    return TopologyRead(
        job_id=job_id,
        state=state,
        local=local,
        desired=desired,
        queues=[
            QueueRead(
                queue=queue,
                wanted=count,
                present=present.get(queue, 0),
                allowed=None if local or queue == RoleName.OPTIMISER else shares.get(queue, 0),
            )
            for queue, count in sorted(wanted.items())
        ],
        waiting_for=shortages(wanted, present) if state == JobState.RUNNING else [],
        roles=[role_read(record, newest, stale_after_s) for record in records],
    )


def is_alive(record: RoleRecord, stale_after_s: float) -> bool:
    return not record.ended and record.heartbeat_age_s <= stale_after_s


def role_read(record: RoleRecord, newest_version: int, stale_after_s: float) -> RoleRead:
    """One role with the figures that it reported; `newest_version` is the learner's."""
    figures: dict[str, Any] = {name: record.stats.get(name) for name in FIGURES}
    if record.role == RoleName.LEARNER:
        figures["steps_per_s"] = record.stats.get("learner_steps_per_s")
        figures["model_version"] = record.stats.get("policy_version")
        figures["refused_unrolls"] = record.stats.get("rejected_unrolls")
    held = figures["model_version"]
    behind = max(0, newest_version - held) if held is not None and newest_version else None
    return RoleRead(
        id=record.id,
        role=RoleName(record.role),
        cell=record.cell,
        index=record.index,
        host=record.host,
        pid=record.pid,
        address=record.address,
        version=record.version,
        state=record.state,
        alive=is_alive(record, stale_after_s),
        stopping=record.stop_requested,
        restarting=record.restart_requested,
        heartbeat_age_s=record.heartbeat_age_s,
        versions_behind=behind,
        **figures,
    )


def scale(database: Database, store: JobStore, settings: Settings, job_id: str, patch: TopologyPatch) -> None:
    """Change what the job is to have; its run follows within seconds.

    Raises NotFoundError; ConflictError for a job that is over or does not learn; UnprocessableError for numbers beyond
    the limits.
    """

    def work(session: Session) -> None:
        job = _open(store, session, job_id)
        before = _learning(job)
        try:
            after = scaled(before, patch.cells)
        except ValidationError as error:
            words = "; ".join(item["msg"].removeprefix("Value error, ") for item in error.errors())
            raise UnprocessableError("bad-topology", words) from None
        check_size(settings, after)
        if after == before:
            return
        job.scaled_topology = after.model_dump(mode="json")
        changes = ", ".join(_changes(queue_counts(role_keys(before)), queue_counts(role_keys(after))))
        data = {"level": "info", "message": f"scaled: {changes}", "role": "service"}
        store.put_event(session, job_id, EventKind.LOG, data)

    database.write(work)


def _changes(before: Mapping[str, int], after: Mapping[str, int]) -> list[str]:
    queues = sorted(before.keys() | after.keys())
    pairs = [(queue, before.get(queue, 0), after.get(queue, 0)) for queue in queues]
    return [f"{queue} {old} → {new}" for queue, old, new in pairs if old != new]


def restart(database: Database, store: JobStore, job_id: str, which: RolesRestart) -> None:
    """Ask for a rolling restart. Raises NotFoundError, also where no living role is meant; ConflictError."""

    def work(session: Session) -> None:
        if _open(store, session, job_id).state != JobState.RUNNING:
            raise ConflictError("job-not-running", f"Job {job_id} does not run yet; it has no roles to restart")

    database.write(work)
    count = store.restart_roles(job_id, which.role, which.cell, which.index)
    if not count:
        given = ", ".join(f"{name} {value}" for name, value in which.model_dump(exclude_none=True).items()) or "none"
        raise NotFoundError("role-not-found", f"No living role of job {job_id} matches: {given}")
    data = {"level": "info", "message": f"rolling restart of {count} roles asked for", "role": "service"}
    store.add_event(job_id, EventKind.LOG, data)


def _open(store: JobStore, session: Session, job_id: str) -> JobRow:
    job = store.lock(session, job_id)
    if job is None:
        raise missing(job_id)
    if JobState(job.state).is_final:
        raise ConflictError("job-over", f"Job {job_id} is {job.state}")
    return job


def _learning(job: JobRow) -> TopologySpec:
    topology = desired_topology(job.method, job.workers, job.topology, job.scaled_topology)
    if topology is None:
        raise ConflictError("job-does-not-learn", f"Job {job.id} has method {job.method}, which has no topology")
    return topology
