"""A job without a service: a data folder of its own with one design and one job, for the command line.

`placewright place` and `train` use it, so that they run the very code that the service runs. Files are linked, not
copied.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy.orm import Session

from backend.core.config import Settings, load_settings
from backend.core.ids import new_id
from backend.core.migrate import migrate
from backend.core.tables import DesignRow, JobRow
from backend.designs.folders import clustered_folder
from backend.jobs.store import JobStore
from backend.schemas import DesignState, JobState, TopologySpec


@dataclass(frozen=True, kw_only=True)
class PrivateJob:
    """One job in a data folder of its own."""

    settings: Settings
    store: JobStore
    job_id: str

    def environment(self) -> Mapping[str, str]:
        """What the run process must have in its environment."""
        return {**os.environ, **self.settings.environment(), "PLACEWRIGHT_ROLES": "local"}


def create_private_job(
    folder: Path,
    files: Sequence[Path],
    *,
    name: str,
    method: str,
    seconds: float,
    seed: int,
    workers: int,
    constraints: Mapping[str, Any] | None = None,
    trials: int | None = None,
    from_scratch: bool = False,
    topology: TopologySpec | None = None,
    clustered: Sequence[Path] = (),
) -> PrivateJob:
    """Make `folder` a data folder holding one design (these files) and one job that waits to be run.

    `clustered`: files of the same design with its cells clustered, for the run to read.
    """
    settings = load_settings({"data": folder, "database_url": "", "broker_url": "", "roles": "local"})
    migrate(settings.database_url)
    store = JobStore.from_url(settings.database_url, settings.data)
    design_id, job_id = new_id(), new_id()
    target = settings.data / "designs" / design_id / "files"
    target.mkdir(parents=True)
    listed = []
    for number, path in enumerate(files):
        stored = f"{number:03d}"
        (target / stored).symlink_to(path.resolve())
        listed.append({"name": path.name, "stored": stored, "bytes": path.stat().st_size})

    for path in clustered:
        copy = clustered_folder(settings.data, design_id) / path.name
        copy.parent.mkdir(exist_ok=True)
        copy.symlink_to(path.resolve())

    def work(session: Session) -> None:
        now = store.database.now(session)
        session.add(
            DesignRow(
                id=design_id,
                name=name,
                state=DesignState.READY,
                created_at=now,
                files=listed,
                facts={},
                enqueued_at=now,
                enqueued_count=0,
            )
        )
        session.flush()
        session.add(
            JobRow(
                id=job_id,
                design_id=design_id,
                method=method,
                seconds=seconds,
                trials=trials,
                seed=seed,
                workers=workers,
                constraints=None if constraints is None else dict(constraints),
                from_scratch=from_scratch,
                topology=None if topology is None else topology.model_dump(mode="json"),
                state=JobState.QUEUED,
                progress=0.0,
                created_at=now,
                attempt=0,
                enqueued_at=now,
                enqueued_count=0,
                last_event=0,
            )
        )

    store.database.write(work)
    return PrivateJob(settings=settings, store=store, job_id=job_id)
