"""Health of a service: the database answers, a worker was heard of, how long the oldest job has waited."""

from __future__ import annotations

import logging
from datetime import timedelta
from importlib.metadata import version

import sqlalchemy as sa
from sqlalchemy.orm import Session

from backend.core.config import Settings
from backend.core.db import Database
from backend.core.tables import JobRow, WorkerRow
from backend.schemas import Health, JobState

log = logging.getLogger(__name__)


def read_health(database: Database, settings: Settings) -> Health:
    def work(session: Session) -> Health:
        now = database.now(session)
        heard = session.scalar(sa.select(sa.func.max(WorkerRow.heartbeat_at, type_=WorkerRow.heartbeat_at.type)))
        queued = sa.select(sa.func.count(), sa.func.min(JobRow.enqueued_at, type_=JobRow.enqueued_at.type))
        count, oldest = session.execute(queued.where(JobRow.state == JobState.QUEUED)).one()
        alive = heard is not None and now - heard < timedelta(seconds=settings.stale_after_seconds)
        return Health(
            status="ok" if alive else "degraded",
            version=version("placewright"),
            database="ok",
            worker="unknown" if heard is None else "ok" if alive else "down",
            queued_jobs=count,
            oldest_queued_s=max(0.0, (now - oldest).total_seconds()) if oldest else None,
        )

    try:
        return database.read(work)
    except sa.exc.SQLAlchemyError as error:
        log.error("database down: %s", error)
        return Health(
            status="degraded",
            version=version("placewright"),
            database="down",
            worker="unknown",
            queued_jobs=0,
            oldest_queued_s=None,
        )
