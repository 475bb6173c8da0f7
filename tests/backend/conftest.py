"""Fixtures of the service's tests: a migrated database of each kind, and a store on it with one design."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from backend.core.db import Database
from backend.core.ids import new_id
from backend.core.migrate import migrate
from backend.core.tables import DesignRow, JobRow
from backend.jobs.store import JobStore

COSTS = {
    "wirelength": 1000.0,
    "wirelength_cost": 0.05,
    "density_cost": 0.7,
    "congestion_cost": 0.9,
    "proxy_cost": 0.85,
}


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """URL of an empty database, once of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'test.db'}"
    return str(request.getfixturevalue("postgres_url"))


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    migrate(database_url)
    database = Database(database_url)
    yield database
    database.dispose()


@pytest.fixture
def store(database: Database, tmp_path: Path) -> JobStore:
    return JobStore(database, tmp_path.resolve(), stale_after_s=60, attempt_limit=3)


@pytest.fixture
def make_job(database: Database) -> Callable[..., str]:
    """A function that stores a ready design and a queued job of it, and returns the job's id."""

    def make(**values: object) -> str:
        now = datetime.now(UTC)
        design_id, job_id = new_id(), new_id()
        row = {
            "id": job_id,
            "design_id": design_id,
            "name": None,
            "method": "auto",
            "seconds": 60.0,
            "seed": 0,
            "workers": 1,
            "state": "queued",
            "progress": 0.0,
            "attempt": 0,
            "created_at": now,
            "enqueued_at": now,
            "enqueued_count": 1,
            "last_event": 0,
            **values,
        }

        def work(session) -> None:
            session.add(
                DesignRow(
                    id=design_id,
                    name="adder",
                    state="ready",
                    created_at=now,
                    files=[{"name": "netlist.pb.txt", "stored": "file-00.pb.txt", "bytes": 10}],
                    facts={},
                    enqueued_at=now,
                    enqueued_count=1,
                )
            )
            session.flush()
            session.add(JobRow(**row))

        database.write(work)
        return job_id

    return make


@pytest.fixture
def costs() -> dict[str, float]:
    return dict(COSTS)
