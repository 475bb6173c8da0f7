"""Tables of the database, as SQLAlchemy models. Every change here needs a migration (a test compares the two).

Times are UTC. Ids are `backend.core.ids.new_id()`. Folders are stored relative to the data folder, so that it can be
moved. Structured values that are never searched are JSON columns, in the shape of `backend.schemas`.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, ClassVar

import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

CONVENTION = {
    "ix": "ix_%(column_0_label)s",
    "uq": "uq_%(table_name)s_%(column_0_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}


class UtcDateTime(sa.TypeDecorator[datetime]):
    """Aware datetimes in and out; SQLite, which has no time zones, stores them as UTC."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:
        if value is None:
            return None
        value = value.astimezone(UTC)
        return value.replace(tzinfo=None) if dialect.name == "sqlite" else value

    def process_result_value(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class Base(DeclarativeBase):
    metadata = sa.MetaData(naming_convention=CONVENTION)
    type_annotation_map: ClassVar = {datetime: UtcDateTime, dict[str, Any]: sa.JSON, list[Any]: sa.JSON, str: sa.String}


Id = sa.String(32)


class Token(Base):
    """Who may come in: bearer tokens, and the browser sessions begun with one. Only hashes are stored."""

    __tablename__ = "tokens"
    id: Mapped[str] = mapped_column(Id, primary_key=True)
    kind: Mapped[str] = mapped_column(sa.String(16))  # token | setting | session
    hash: Mapped[str] = mapped_column(sa.String(64), unique=True)  # SHA-256 of 256 random bits, hexadecimal
    parent_id: Mapped[str | None] = mapped_column(sa.ForeignKey("tokens.id", ondelete="CASCADE"))
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime | None]


class DesignRow(Base):
    __tablename__ = "designs"
    __table_args__ = (sa.Index("ix_designs_page", "created_at", "id"),)
    id: Mapped[str] = mapped_column(Id, primary_key=True)
    name: Mapped[str]
    state: Mapped[str] = mapped_column(sa.String(16), index=True)
    error: Mapped[str | None]
    created_at: Mapped[datetime]
    files: Mapped[list[Any]]  # {"name": the client's, "stored": ours, "bytes": …}
    facts: Mapped[dict[str, Any]]  # counts, canvas, derived, warnings, start_costs, start_problems of DesignRead
    enqueued_at: Mapped[datetime]
    enqueued_count: Mapped[int]
    parse_heartbeat_at: Mapped[datetime | None]  # None = nobody reads its files now
    options: Mapped[dict[str, Any]] = mapped_column(server_default="{}")  # ReadingOptions, where not as by default


class JobRow(Base):
    __tablename__ = "jobs"
    __table_args__ = (sa.Index("ix_jobs_page", "created_at", "id"),)
    id: Mapped[str] = mapped_column(Id, primary_key=True)
    design_id: Mapped[str] = mapped_column(sa.ForeignKey("designs.id", ondelete="CASCADE"), index=True)
    name: Mapped[str | None]
    method: Mapped[str] = mapped_column(sa.String(16))
    seconds: Mapped[float]
    trials: Mapped[int | None] = mapped_column(sa.BigInteger)
    seed: Mapped[int]
    workers: Mapped[int]
    constraints: Mapped[dict[str, Any] | None] = mapped_column(sa.JSON(none_as_null=True))  # of its own, as asked for
    from_scratch: Mapped[bool] = mapped_column(default=False, server_default=sa.false())
    place_cells: Mapped[bool] = mapped_column(default=False, server_default=sa.false())
    topology: Mapped[dict[str, Any] | None] = mapped_column(sa.JSON(none_as_null=True))  # as asked for
    scaled_topology: Mapped[dict[str, Any] | None] = mapped_column(sa.JSON(none_as_null=True))  # as changed since
    state: Mapped[str] = mapped_column(sa.String(16), index=True)
    stage: Mapped[str | None]
    cause: Mapped[str | None]
    progress: Mapped[float]
    eta_s: Mapped[float | None]
    created_at: Mapped[datetime]
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]
    start_costs: Mapped[dict[str, Any] | None]
    best_costs: Mapped[dict[str, Any] | None]
    best_placement_id: Mapped[str | None] = mapped_column(Id)
    # The lease: who runs the job, and when it was last heard of.
    owner: Mapped[str | None]
    host: Mapped[str | None]
    pgid: Mapped[int | None]
    heartbeat_at: Mapped[datetime | None]
    attempt: Mapped[int]
    version: Mapped[str | None] = mapped_column(sa.String(32))  # of the program that runs it; its roles' too
    secret: Mapped[bytes | None]  # what its roles seal with; made when the first of them asks, never shown
    cancel_requested_at: Mapped[datetime | None]
    enqueued_at: Mapped[datetime]
    enqueued_count: Mapped[int]
    last_event: Mapped[int]  # id of the newest event; the row's lock puts events in order
    idempotency_key: Mapped[str | None] = mapped_column(sa.String(200), unique=True)


class EventRow(Base):
    __tablename__ = "events"
    job_id: Mapped[str] = mapped_column(sa.ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)  # 1, 2, 3, … within its job
    kind: Mapped[str] = mapped_column(sa.String(16))
    at: Mapped[datetime]
    data: Mapped[dict[str, Any]]


class MetricRow(Base):
    __tablename__ = "metrics"
    __table_args__ = (sa.Index("ix_metrics_job", "job_id", "id"),)
    id: Mapped[int] = mapped_column(primary_key=True)
    job_id: Mapped[str] = mapped_column(sa.ForeignKey("jobs.id", ondelete="CASCADE"))
    time_s: Mapped[float]
    values: Mapped[dict[str, Any]]


class PlacementRow(Base):
    __tablename__ = "placements"
    __table_args__ = (sa.Index("ix_placements_rank", "job_id", "legal", "proxy_cost"),)
    id: Mapped[str] = mapped_column(Id, primary_key=True)
    job_id: Mapped[str] = mapped_column(sa.ForeignKey("jobs.id", ondelete="CASCADE"))
    folder: Mapped[str]
    proxy_cost: Mapped[float]
    costs: Mapped[dict[str, Any]]
    legal: Mapped[bool]
    problems: Mapped[list[Any]]
    provenance: Mapped[dict[str, Any]]
    formats: Mapped[list[Any]]
    created_at: Mapped[datetime]


class CandidateRow(Base):
    """A layout offered by an actor to the search, or by the search to the leaderboard: short-lived."""

    __tablename__ = "candidates"
    __table_args__ = (sa.Index("ix_candidates_cost", "job_id", "kind", "cost"),)
    id: Mapped[int] = mapped_column(primary_key=True)
    job_id: Mapped[str] = mapped_column(sa.ForeignKey("jobs.id", ondelete="CASCADE"))
    kind: Mapped[str] = mapped_column(sa.String(16))
    cost: Mapped[float]
    layout: Mapped[bytes]
    origin: Mapped[dict[str, Any]]
    created_at: Mapped[datetime]


class RoleRow(Base):
    """A process that works for a run: where it is, and when it was last heard of."""

    __tablename__ = "roles"
    id: Mapped[str] = mapped_column(Id, primary_key=True)
    job_id: Mapped[str] = mapped_column(sa.ForeignKey("jobs.id", ondelete="CASCADE"), index=True)
    role: Mapped[str] = mapped_column(sa.String(32))
    cell: Mapped[str] = mapped_column(sa.String(32))  # "" of roles that belong to none
    index: Mapped[int]
    address: Mapped[str | None]
    pid: Mapped[int]
    host: Mapped[str]
    state: Mapped[str]
    stats: Mapped[dict[str, Any]]
    heartbeat_at: Mapped[datetime]
    stop_requested: Mapped[bool]
    restart_requested: Mapped[bool]  # in a rolling restart, its turn has not come yet
    version: Mapped[str] = mapped_column(sa.String(32))


class WorkerRow(Base):
    """A `placewright worker`: what it listens to, and when it was last heard of."""

    __tablename__ = "workers"
    id: Mapped[str] = mapped_column(Id, primary_key=True)
    host: Mapped[str]
    pid: Mapped[int]
    queues: Mapped[list[Any]]
    slots: Mapped[dict[str, Any]]  # queue -> tasks at a time
    started_at: Mapped[datetime]
    heartbeat_at: Mapped[datetime]
