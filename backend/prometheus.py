"""`/metrics`: what the service and the roles of its running jobs report, in Prometheus' text format.

Everything is read from the database at the moment of asking, so any API process gives the same answer. Needs a token,
as everything that names jobs: `authorization` of the scrape configuration (docs/operations.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import sqlalchemy as sa
from fastapi import APIRouter, Depends, Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from sqlalchemy.orm import Session

from backend.core.errors import document
from backend.core.tables import JobRow, RoleRow, WorkerRow
from backend.jobs.topology import desired_topology, queue_counts, role_keys
from backend.jobs.topology_service import is_alive, role_read
from backend.schemas import JobState
from backend.services import Services, ServicesDep, require_access

router = APIRouter(tags=["health"], dependencies=[Depends(require_access)])

ROLE = ("job", "role", "cell", "index")
OF_ROLES = {
    "steps_per_s": "Environment steps (actors) or updates (learners) a second",
    "model_version": "Version of the model that a role holds",
    "model_age_s": "Seconds since that version came",
    "versions_behind": "The learner's newest version less the role's",
    "queue_fill": "Share of a replay shard's places that are taken",
    "bytes_held": "Bytes in a replay shard, before compression",
    "bytes_in": "Bytes of models or unrolls taken since the role's start",
    "bytes_out": "Bytes of unrolls or models given since the role's start",
    "data_wait_share": "Share of the last 10 s that a learner waited for data",
    "refused_unrolls": "Unrolls that a learner refused since its start",
    "refused_models": "Answers of model sources without the job's seal, since the role's start",
    "rss_mb": "Resident memory, MiB",
    "heartbeat_age_s": "Seconds since the last heartbeat, by the database's clock",
}


@router.get(
    "/metrics",
    response_class=Response,
    responses={200: {"description": "Metrics", "content": {"text/plain": {}}}, **document(401)},
)
def get_metrics(services: ServicesDep) -> Response:
    """Jobs, workers and roles in Prometheus' text format."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Snapshot(services))
    return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)


class _Snapshot:
    """One look at the database, as a collector."""

    def __init__(self, services: Services) -> None:
        self.services = services

    def collect(self) -> Iterator[GaugeMetricFamily]:
        services = self.services
        jobs = GaugeMetricFamily("placewright_jobs", "Jobs by state", labels=["state"])
        workers = GaugeMetricFamily("placewright_worker_slots", "Slots of living workers", labels=["queue"])
        wanted = GaugeMetricFamily("placewright_roles_wanted", "Roles that a job is to have", labels=["job", "queue"])
        present = GaugeMetricFamily("placewright_roles_present", "Roles that are alive", labels=["job", "queue"])
        figures = {
            name: GaugeMetricFamily(f"placewright_role_{name}", words, labels=ROLE) for name, words in OF_ROLES.items()
        }
        counts, slots, running = services.database.read(self._read)
        for state in JobState:
            jobs.add_metric([state], counts.get(state, 0))
        for queue, count in sorted(slots.items()):
            workers.add_metric([queue], count)
        for job_id, topology in running:
            records = services.store.roles(job_id)
            alive = [r for r in records if is_alive(r, services.settings.role_stale_seconds) and not r.stop_requested]
            there = queue_counts({record.key for record in alive})
            for queue, count in queue_counts(role_keys(topology) if topology else ()).items():
                wanted.add_metric([job_id, queue], count)
                present.add_metric([job_id, queue], there.get(queue, 0))
            newest = max((int(r.stats.get("policy_version") or 0) for r in records), default=0)
            for record in alive:
                shown = role_read(record, newest, services.settings.role_stale_seconds)
                for name, family in figures.items():
                    if (value := getattr(shown, name)) is not None:
                        family.add_metric([job_id, record.role, record.cell, str(record.index)], float(value))
        yield from (jobs, workers, wanted, present, *figures.values())

    def _read(self, session: Session) -> tuple[dict[str, int], dict[str, int], list[tuple[str, Any]]]:
        """(jobs by state, slots by queue, running jobs with their topologies)"""
        by_state = sa.select(JobRow.state, sa.func.count()).group_by(JobRow.state)
        counts = {state: count for state, count in session.execute(by_state)}
        fresh = self.services.database.now(session) - timedelta(seconds=self.services.settings.stale_after_seconds)
        slots: dict[str, int] = {}
        for served in session.scalars(sa.select(WorkerRow.slots).where(WorkerRow.heartbeat_at > fresh)):
            for queue, count in served.items():
                slots[queue] = slots.get(queue, 0) + count
        with_roles = sa.select(RoleRow.job_id).distinct()
        active = sa.select(JobRow).where(JobRow.state == JobState.RUNNING, JobRow.id.in_(with_roles))
        running = [
            (job.id, desired_topology(job.method, job.workers, job.topology, job.scaled_topology))
            for job in session.scalars(active.order_by(JobRow.id))
        ]
        return counts, slots, running
