"""Fixtures of the service's tests: a migrated database of each kind, and a store on it with one design."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from backend.app import make_app
from backend.core.config import Settings, load_settings
from backend.core.db import Database
from backend.core.ids import new_id
from backend.core.migrate import migrate
from backend.core.tables import DesignRow, JobRow
from backend.jobs.store import JobStore
from backend.services import Services

TOKEN = "token-of-the-tests-0123456789"

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


def add_job(database: Database, **values: object) -> str:
    """Store a ready design and a queued job of it; returns the job's id."""
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


@pytest.fixture
def make_job(database: Database) -> Callable[..., str]:
    """A function that stores a ready design and a queued job of it, and returns the job's id."""
    return partial(add_job, database)


@pytest.fixture
def make_job_in() -> Callable[..., str]:
    """The same for the database of a given store."""
    return lambda store, **values: add_job(store.database, **values)


@pytest.fixture
def costs() -> dict[str, float]:
    return dict(COSTS)


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Settings on a data folder of this test's own, untouched by the environment's."""
    for name in [name for name in os.environ if name.startswith("PLACEWRIGHT_")]:
        monkeypatch.delenv(name)
    return load_settings({"data": tmp_path / "data", "token": TOKEN, "frontend": tmp_path / "pages", "max_files": 3})


@pytest.fixture
def app(settings: Settings) -> Iterator[FastAPI]:
    migrate(settings.database_url)
    app = make_app(settings)
    app.state.services.access.take_setting(TOKEN)
    yield app
    app.state.services.close()


@pytest.fixture
def client(app: FastAPI) -> Iterator[TestClient]:
    """A client with a valid token. Faults of the service come back as answers, as they would over a socket."""
    with TestClient(app, raise_server_exceptions=False, headers={"Authorization": f"Bearer {TOKEN}"}) as client:
        yield client


@pytest.fixture
def services(app: FastAPI) -> Services:
    services: Services = app.state.services
    return services


@pytest.fixture
def ready_design(services: Services) -> Callable[[], str]:
    """A function that stores a design whose files were read, and returns its id."""

    def make(state: str = "ready", error: str | None = None) -> str:
        design_id = new_id()
        now = datetime.now(UTC)
        files = services.settings.data / "designs" / design_id / "files"
        files.mkdir(parents=True)
        (files / "file-00.pb.txt").write_text("node {}")

        def work(session) -> None:
            session.add(
                DesignRow(
                    id=design_id,
                    name="adder",
                    state=state,
                    error=error,
                    created_at=now,
                    files=[{"name": "netlist.pb.txt", "stored": "file-00.pb.txt", "bytes": 7}],
                    facts={},
                    enqueued_at=now,
                    enqueued_count=1,
                )
            )

        services.database.write(work)
        return design_id

    return make
