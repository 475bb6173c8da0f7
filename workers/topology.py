"""Which processes a run starts: the job's topology where it can learn, else searches alone."""

from __future__ import annotations

import importlib.util

from backend.jobs.records import JobRecord
from backend.jobs.topology import RoleKey, role_keys
from backend.schemas import RoleName


def learning_available() -> bool:
    """Whether this installation has the replay server (Linux on x86-64 only). Imports nothing."""
    return importlib.util.find_spec("reverb") is not None and importlib.util.find_spec("jax") is not None


def plan(job: JobRecord, *, can_learn: bool) -> list[RoleKey]:
    """All processes of a job, in order of starting. Where nothing can learn, all its `workers` search."""
    if job.topology is None or not can_learn:
        return [RoleKey(RoleName.OPTIMISER, "", index) for index in range(job.workers)]
    return role_keys(job.topology)
