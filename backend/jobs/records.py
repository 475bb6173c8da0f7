"""What the job store hands out: frozen records, detached from any database session."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from backend.jobs.topology import RoleKey
from backend.schemas import JobState, TopologySpec
from netlists.errors import PlacewrightError
from netlists.options import Options


class UnknownJobError(LookupError):
    """No job has this id."""


class RoleRefusedError(PlacewrightError):
    """A role process may not join a job; the message says why."""


@dataclass(frozen=True, kw_only=True)
class JobRecord:
    """What a run must know of its job."""

    id: str
    design_id: str
    design_name: str
    design_folder: Path  # designs/<id>
    design_files: tuple[Path, ...]  # what a run reads: the clustered design's files, else the uploaded ones
    uploaded_files: tuple[Path, ...]  # under our names
    folder: Path  # jobs/<id>, made by the first run
    method: str
    seconds: float
    trials: int | None  # work budget; then `seconds` is a limit
    seed: int
    workers: int
    constraints: dict[str, Any] | None  # of the job's own, on top of the design's
    topology: TopologySpec | None  # the processes it is to have now; None where nothing learns
    from_scratch: bool
    place_cells: bool  # the flat design's, roughly, after its macros
    reading: Options  # how the uploaded files are to be read
    state: JobState
    stage: str | None  # what the run does now, in words
    cause: str | None  # why it failed or was cancelled
    progress: float  # 0–1
    attempt: int  # 1 = first start
    attempts_left: bool
    started_at: datetime | None
    cancel_requested: bool
    owner: str | None
    host: str | None
    pgid: int | None
    start_costs: dict[str, float] | None
    best_costs: dict[str, float] | None
    best_placement_id: str | None


@dataclass(frozen=True, kw_only=True)
class Heartbeat:
    """What a run learns each time it reports."""

    cancel_requested: bool
    topology: TopologySpec | None  # what the job is to have now, if it learns
    lost: bool  # the lease belongs to another, or the job is over: stop, and write nothing more


@dataclass(frozen=True, kw_only=True)
class Candidate:
    id: int
    cost: float
    layout: bytes  # placement.layout.pack_layout
    origin: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class PlacementRecord:
    id: str
    job_id: str
    rank: int  # 1 = best of its job
    folder: Path
    costs: dict[str, float]
    legal: bool
    problems: list[str]
    provenance: dict[str, Any]
    formats: list[str]
    created_at: datetime


@dataclass(frozen=True, kw_only=True)
class RoleRecord:
    id: str
    role: str
    cell: str  # "" of roles that belong to none
    index: int
    address: str | None
    pid: int
    host: str
    state: str
    stats: dict[str, Any]
    heartbeat_age_s: float  # by the database's clock
    version: str
    stop_requested: bool = False
    restart_requested: bool = False

    @property
    def key(self) -> RoleKey:
        return RoleKey(self.role, self.cell, self.index)

    @property
    def ended(self) -> bool:
        return self.state.startswith(("stopped", "failed"))
