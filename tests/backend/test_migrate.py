"""Migrations give exactly the tables of the models, on both databases, also when several processes start at once."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from backend.core.db import Database, DatabaseError, check_file_system, file_system_of
from backend.core.migrate import migrate
from backend.core.tables import Base


def test_migrations_equal_models(database: Database) -> None:
    with database.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, Base.metadata) == []


def test_migrating_again_changes_nothing(database: Database, make_job) -> None:
    job_id = make_job()
    migrate(database.url)
    with database.engine.connect() as connection:
        assert connection.scalar(sa.text("SELECT id FROM jobs")) == job_id


def test_several_starts_at_once(database_url: str) -> None:
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(migrate, [database_url] * 4))
    database = Database(database_url)
    assert set(Base.metadata.tables) <= set(sa.inspect(database.engine).get_table_names())
    database.dispose()


def test_downgrade_removes_everything(database_url: str) -> None:
    from alembic import command

    from backend.core.migrate import alembic_config

    migrate(database_url)
    database = Database(database_url)
    with database.engine.connect() as connection:
        config = alembic_config()
        config.attributes["connection"] = connection
        command.downgrade(config, "base")
        connection.commit()
    assert set(sa.inspect(database.engine).get_table_names()) <= {"alembic_version"}
    database.dispose()


def test_sqlite_settings(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'a.db'}"
    migrate(url)
    database = Database(url)
    with database.engine.connect() as connection:
        values = [
            connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "foreign_keys", "synchronous", "busy_timeout")
        ]
    assert values == ["wal", 1, 1, 30000]
    database.dispose()


def test_a_writer_that_reads_first_waits_for_another(tmp_path: Path) -> None:
    """With a deferred BEGIN this fails at once with "database is locked", whatever the time-out."""
    url = f"sqlite:///{tmp_path / 'a.db'}"
    migrate(url)
    database = Database(url)

    def count_up(_: int) -> None:
        def work(session) -> None:
            count = session.scalar(sa.text("SELECT count(*) FROM workers"))
            session.execute(
                sa.text(
                    "INSERT INTO workers (id, host, pid, queues, slots, started_at, heartbeat_at) "
                    "VALUES (:id, 'h', 1, '[]', '{}', '2026-01-01', '2026-01-01')"
                ),
                {"id": str(count)},
            )

        database.write(work)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(count_up, range(100)))
    assert database.read(lambda session: session.scalar(sa.text("SELECT count(*) FROM workers"))) == 100
    database.dispose()


def test_reading_does_not_wait_for_a_writer(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'a.db'}"
    migrate(url)
    holder = sqlite3.connect(tmp_path / "a.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    database = Database(url)
    assert database.read(lambda session: session.scalar(sa.text("SELECT count(*) FROM jobs"))) == 0
    holder.rollback()
    holder.close()
    database.dispose()


def test_network_share_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"/dev/sda1 / ext4 rw 0 0\nserver:/x {tmp_path}/a\\040share nfs4 rw 0 0\n")
    assert file_system_of(tmp_path / "a share" / "db", mounts) == "nfs4"
    assert file_system_of(tmp_path / "other" / "db", mounts) == "ext4"
    monkeypatch.setattr("backend.core.db.file_system_of", lambda path: "nfs4")
    with pytest.raises(DatabaseError, match="network share"):
        check_file_system(tmp_path / "db")
