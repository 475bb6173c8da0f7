"""The database: one URL in, short transactions out. SQLite for one machine, PostgreSQL by another URL.

`read(work)` and `write(work)` each run one function in one transaction and may run it again when the database was busy:
a work function therefore changes nothing but the database. Sources of the SQLite settings: sqlite.org "WAL",
"PRAGMA busy_timeout" and "Transactions" (a transaction that reads first and writes later cannot wait: BEGIN IMMEDIATE).
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.orm import Session

from backend.core.tables import UtcDateTime
from netlists.errors import PlacewrightError

T = TypeVar("T")

BUSY_TIMEOUT_MS = 30_000  # one writer holds the file for milliseconds; 30 s outlasts a checkpoint on a slow disk
TRIES = 6
# serialization_failure, deadlock_detected: PostgreSQL asks for the transaction to be run again.
POSTGRES_RETRY = ("40001", "40P01")
NETWORK_FILE_SYSTEMS = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "fuse.sshfs", "afs", "ceph", "glusterfs"}
)


class DatabaseError(PlacewrightError):
    """The database cannot be used as it is configured."""


class Database:
    """Engines of one URL, made at first use in each process: an engine must not cross a fork."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._lock = threading.Lock()
        self._pid = 0
        self._engine: sa.Engine | None = None

    @property
    def is_sqlite(self) -> bool:
        return self.url.startswith("sqlite")

    @property
    def engine(self) -> sa.Engine:
        with self._lock:
            if self._engine is None or self._pid != os.getpid():
                if self._engine is not None:
                    self._engine.dispose(close=False)  # its connections belong to the parent process
                self._engine = _make_engine(self.url)
                self._pid = os.getpid()
            return self._engine

    def read(self, work: Callable[[Session], T]) -> T:
        """Run `work` in a transaction that only reads: one consistent view."""
        return self._run(work, self.engine)

    def write(self, work: Callable[[Session], T], *, durable: bool = True) -> T:
        """Run `work` in a transaction that may write, and commit.

        Not durable: the commit does not wait for the disk (PostgreSQL; SQLite's write-ahead log never does), so that a
        crash of the database's machine may undo it.
        """
        if not durable and not self.is_sqlite:
            return self._run(_not_durable(work), self.engine)
        return self._run(work, self.engine.execution_options(placewright_write=True))

    def _run(self, work: Callable[[Session], T], engine: sa.Engine) -> T:
        for attempt in range(TRIES):
            try:
                with Session(engine, expire_on_commit=False) as session, session.begin():
                    return work(session)
            except sa.exc.OperationalError as error:
                if attempt + 1 == TRIES or not _is_transient(error):
                    raise
                time.sleep(random.uniform(0.5, 1.5) * 0.02 * 2**attempt)
        raise AssertionError("unreachable")

    def now(self, session: Session) -> datetime:
        """The time by the database's clock, which is the only one that all hosts of a lease share."""
        if self.is_sqlite:
            return datetime.now(UTC)
        return session.scalar(sa.select(sa.func.clock_timestamp(type_=sa.DateTime(timezone=True)))).astimezone(UTC)  # type: ignore[union-attr]

    def clock(self) -> sa.ColumnElement[datetime]:
        """The same time as `now`, as part of a statement: costs no question of its own."""
        if self.is_sqlite:
            return sa.literal(datetime.now(UTC), UtcDateTime())
        return sa.func.clock_timestamp(type_=UtcDateTime())

    def dispose(self) -> None:
        with self._lock:
            if self._engine is not None and self._pid == os.getpid():
                self._engine.dispose()
            self._engine = None


def _not_durable(work: Callable[[Session], T]) -> Callable[[Session], T]:
    def begin(session: Session) -> T:
        session.execute(sa.text("SET LOCAL synchronous_commit TO OFF"))
        return work(session)

    return begin


def _is_transient(error: sa.exc.OperationalError) -> bool:
    if getattr(error.orig, "sqlstate", None) in POSTGRES_RETRY:
        return True
    text = str(error.orig)
    return "database is locked" in text or "database table is locked" in text


def _make_engine(url: str) -> sa.Engine:
    if not url.startswith("sqlite"):
        return sa.create_engine(url, pool_size=10, max_overflow=30, pool_pre_ping=True)
    path = sa.make_url(url).database
    if path and path != ":memory:":
        check_file_system(Path(path))
    engine = sa.create_engine(url, pool_size=20, max_overflow=40, connect_args={"timeout": BUSY_TIMEOUT_MS / 1000})
    sa.event.listen(engine, "connect", _configure_sqlite)
    sa.event.listen(engine, "begin", _begin_sqlite)
    return engine


def _configure_sqlite(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # the driver's own BEGIN is off: _begin_sqlite says which kind
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
    cursor.execute("PRAGMA journal_mode = WAL")
    cursor.execute("PRAGMA synchronous = NORMAL")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.close()


def _begin_sqlite(connection: sa.Connection) -> None:
    write = connection.get_execution_options().get("placewright_write", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")


def check_file_system(path: Path) -> None:
    """Refuse a SQLite file on a network share, where its write-ahead log loses data. Raises DatabaseError."""
    kind = file_system_of(path)
    if kind in NETWORK_FILE_SYSTEMS:
        raise DatabaseError(
            f"{path} lies on a network share ({kind}); SQLite's write-ahead log does not work there. Use a local "
            "folder for PLACEWRIGHT_DATA, or a PostgreSQL server through PLACEWRIGHT_DATABASE_URL."
        )


def file_system_of(path: Path, mounts: Path = Path("/proc/mounts")) -> str | None:
    """Type of the file system that holds `path`, by the longest mount point above it; None where that is unknown."""
    try:
        rows = [line.split() for line in mounts.read_text().splitlines()]
    except OSError:
        return None
    resolved = path.resolve()
    best: tuple[int, str | None] = (-1, None)
    for row in rows:
        point = Path(row[1].encode().decode("unicode_escape"))  # spaces are written \040
        if resolved.is_relative_to(point) and len(point.parts) >= best[0]:
            best = (len(point.parts), row[2])
    return best[1]
