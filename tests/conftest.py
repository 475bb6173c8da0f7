"""Fixtures shared by all tests: where the benchmarks are, which services are there.

A test whose service, browser or data is absent skips with a clear word; with PLACEWRIGHT_REQUIRE_ALL=1 (as in
`.ci/run`) the same absence is a failure.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from benchmarks.menger.network import Network, why_not

REDIS_URL = os.environ.get("PLACEWRIGHT_TEST_REDIS_URL", "redis://127.0.0.1:6379/0")
POSTGRES_URL = os.environ.get("PLACEWRIGHT_TEST_POSTGRES_URL", "postgresql+psycopg://postgres@127.0.0.1:5432/postgres")


def absent(what: str) -> NoReturn:
    """Skip because something outside the project is missing; fail instead where everything is required."""
    if os.environ.get("PLACEWRIGHT_REQUIRE_ALL") == "1":
        pytest.fail(f"{what} (PLACEWRIGHT_REQUIRE_ALL=1 turns this skip into a failure)")
    pytest.skip(what)


@pytest.fixture(scope="session")
def benchmarks() -> Path:
    """Folder of the real designs with measured costs."""
    folder = os.environ.get("PLACEWRIGHT_BENCHMARKS")
    if not folder or not Path(folder).is_dir():
        absent("PLACEWRIGHT_BENCHMARKS does not name the folder of benchmark designs")
    return Path(folder).resolve()


@pytest.fixture(scope="session")
def partitioner() -> None:
    """Mt-KaHyPar, which has no wheel for every machine."""
    if importlib.util.find_spec("mtkahypar") is None:
        absent("the package mtkahypar is not installed")


@pytest.fixture(scope="session")
def redis_url() -> str:
    """URL of a running Redis. Tests share it: use a key prefix of your own (`key_prefix`)."""
    import redis

    try:
        redis.Redis.from_url(REDIS_URL, socket_connect_timeout=2).ping()
    except redis.exceptions.RedisError as error:
        absent(f"no Redis at {REDIS_URL}: {error}")
    return REDIS_URL


@pytest.fixture
def key_prefix() -> str:
    return f"placewright-test-{uuid.uuid4().hex[:12]}:"


@pytest.fixture
def postgres_url() -> Iterator[str]:
    """URL of a schema of this test's own in a running PostgreSQL, dropped afterwards."""
    import sqlalchemy as sa

    schema = f"placewright_test_{uuid.uuid4().hex[:12]}"
    engine = sa.create_engine(POSTGRES_URL, isolation_level="AUTOCOMMIT", connect_args={"connect_timeout": 2})
    try:
        with engine.connect() as connection:
            connection.execute(sa.text(f'CREATE SCHEMA "{schema}"'))
    except sa.exc.OperationalError as error:
        absent(f"no PostgreSQL at {POSTGRES_URL}: {error.orig}")
    yield f"{POSTGRES_URL}?options=-csearch_path%3D{schema}"
    with engine.connect() as connection:
        connection.execute(sa.text(f'DROP SCHEMA "{schema}" CASCADE'))
    engine.dispose()


@pytest.fixture
def network() -> Iterator[Network]:
    """Hosts of a test's own: network namespaces on a switch."""
    if reason := why_not():
        absent(reason)
    with Network() as made:
        yield made


@pytest.fixture(scope="session")
def chromium() -> str:
    """Path of a Chromium or Chrome to drive through Playwright."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if path := shutil.which(name):
            return path
    absent("no chromium on this machine (Debian package: chromium)")
