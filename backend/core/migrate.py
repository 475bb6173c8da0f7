"""Brings a database to the newest tables: `migrate(url)` at every start, safe when several processes start at once.

The steps are the Alembic scripts in `backend/migrations/versions`; the first one makes everything from nothing.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config

import backend.migrations
from backend.core.db import Database

# Any number that no other user of the same PostgreSQL database locks: the ASCII codes of "plwr".
ADVISORY_LOCK = 0x706C7772


def migrate(url: str) -> None:
    """Create or upgrade the tables at `url`. Does nothing where they are up to date."""
    database = Database(url)
    try:
        with _locked(database), database.engine.connect() as connection:
            config = alembic_config()
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
            connection.commit()
    finally:
        database.dispose()


def alembic_config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(backend.migrations.__file__).parent))
    config.set_main_option("path_separator", "os")
    return config


@contextmanager
def _locked(database: Database) -> Iterator[None]:
    if database.is_sqlite:
        path = Path(sa.make_url(database.url).database or "")
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(f"{path}.migrate-lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        return
    with database.engine.connect() as connection:
        connection.execute(sa.select(sa.func.pg_advisory_lock(ADVISORY_LOCK)))
        try:
            yield
        finally:
            connection.execute(sa.select(sa.func.pg_advisory_unlock(ADVISORY_LOCK)))
