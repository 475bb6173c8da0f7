"""Designs in the database and on disk: created from an upload, parsed by a worker, read, listed, removed.

States: parsing → ready | failed. The API creates; the task `parse_design` starts, finishes or fails (through the last
three functions here); each is one transaction.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from backend.core.db import Database
from backend.core.errors import ConflictError, NotFoundError
from backend.core.paging import page
from backend.core.tables import DesignRow, JobRow
from backend.designs.upload import Upload
from backend.jobs.store import OPEN
from backend.schemas import Costs, DesignFile, DesignPage, DesignRead, DesignState
from netlists.options import Options

COST_NAMES = tuple(Costs.model_fields)


def uploads_folder(data: Path) -> Path:
    """Where uploads are while they come in; complete ones are renamed to their place in one step."""
    return data / "uploads"


def design_folder(data: Path, design_id: str) -> Path:
    return data / "designs" / design_id


def create(database: Database, data: Path, design_id: str, upload: Upload, received: Path) -> DesignRead:
    """Move the received files to their place and store the design, to be parsed."""
    folder = design_folder(data, design_id)
    folder.mkdir(parents=True)
    received.rename(folder / "files")

    def work(session: Session) -> DesignRead:
        now = database.now(session)
        row = DesignRow(
            id=design_id,
            name=upload.name or _name_of(upload.files[0].name),
            state=DesignState.PARSING,
            created_at=now,
            options=upload.options,
            files=[{"name": f.name, "stored": f.stored, "bytes": f.bytes} for f in upload.files],
            facts={},
            enqueued_at=now,
            enqueued_count=1,
        )
        session.add(row)
        return to_read(row)

    try:
        return database.write(work)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def get(database: Database, design_id: str) -> DesignRead:
    """Raises NotFoundError."""
    return database.read(lambda session: to_read(find(session, design_id)))


def list_page(database: Database, cursor: str | None, limit: int) -> DesignPage:
    def work(session: Session) -> DesignPage:
        rows, following = page(session, sa.select(DesignRow), DesignRow, cursor=cursor, limit=limit)
        return DesignPage(items=[to_read(row[0]) for row in rows], next_cursor=following)

    return database.read(work)


def remove(database: Database, data: Path, design_id: str) -> None:
    """Remove a design with its jobs and all their files. Raises NotFoundError, ConflictError while a job is open."""

    def work(session: Session) -> list[str]:
        row = session.get(DesignRow, design_id, with_for_update=True)
        if row is None:
            raise _missing(design_id)
        jobs = session.execute(sa.select(JobRow.id, JobRow.state).where(JobRow.design_id == design_id)).all()
        running = [job_id for job_id, state in jobs if state in OPEN]
        if running:
            raise ConflictError("design-in-use", f"Cancel these jobs of the design first: {', '.join(running)}")
        session.delete(row)
        return [job_id for job_id, _ in jobs]

    for job_id in database.write(work):
        shutil.rmtree(data / "jobs" / job_id, ignore_errors=True)
    shutil.rmtree(design_folder(data, design_id), ignore_errors=True)


def find(session: Session, design_id: str) -> DesignRow:
    """Raises NotFoundError."""
    row = session.get(DesignRow, design_id)
    if row is None:
        raise _missing(design_id)
    return row


def to_read(row: DesignRow) -> DesignRead:
    return DesignRead(
        id=row.id,
        name=row.name,
        state=DesignState(row.state),
        error=row.error,
        created_at=row.created_at,
        files=[DesignFile(name=f["name"], bytes=f["bytes"]) for f in row.files],
        **row.options,
        **row.facts,
    )


# For the task that parses


def start_parsing(database: Database, design_id: str) -> bool:
    """Take a design that waits to be parsed. False: it is parsed, or someone is at it."""

    def work(session: Session) -> bool:
        row = session.get(DesignRow, design_id, with_for_update=True)
        if row is None or row.state != DesignState.PARSING or row.parse_heartbeat_at is not None:
            return False
        row.parse_heartbeat_at = database.now(session)
        return True

    return database.write(work)


def parsing_heartbeat(database: Database, design_id: str) -> None:
    """Say that the design is still being parsed."""
    database.write(
        lambda session: session.execute(
            sa.update(DesignRow)
            .where(DesignRow.id == design_id, DesignRow.state == DesignState.PARSING)
            .values(parse_heartbeat_at=database.now(session))
        )
    )


def pause_parsing(database: Database, design_id: str) -> None:
    """Put a design back: its worker stops, the next one begins anew."""
    query = sa.update(DesignRow).where(DesignRow.id == design_id, DesignRow.state == DesignState.PARSING)
    database.write(lambda session: session.execute(query.values(parse_heartbeat_at=None)))


def stored_files(database: Database, data: Path, design_id: str) -> list[tuple[Path, str]]:
    """(path, the client's name) of a design's files."""
    row = database.read(lambda session: find(session, design_id))
    folder = design_folder(data, design_id) / "files"
    return [(folder / file["stored"], file["name"]) for file in row.files]


def reading_options(database: Database, design_id: str) -> Options:
    """How the upload said that its files are to be read."""
    return Options(**database.read(lambda session: find(session, design_id)).options)


def given_name(database: Database, design_id: str) -> str:
    return database.read(lambda session: find(session, design_id)).name


def finish_parsing(database: Database, design_id: str, facts: Mapping[str, Any]) -> None:
    """Store what was found (DesignRead's counts … start_problems) and make the design ready."""
    DesignRead.model_validate(  # refuses facts that could not be shown later
        {"id": "", "name": "", "state": "ready", "created_at": "2000-01-01T00:00:00Z", "files": [], **facts}
    )
    _end_parsing(database, design_id, state=DesignState.READY, facts=dict(facts), error=None)


def fail_parsing(database: Database, data: Path, design_id: str, error: str) -> None:
    """Record why the files are of no use and remove them: the error stays, nothing else of the upload does."""
    if _end_parsing(database, design_id, state=DesignState.FAILED, facts={}, error=error):
        shutil.rmtree(design_folder(data, design_id), ignore_errors=True)


def _end_parsing(database: Database, design_id: str, **values: Any) -> bool:
    query = sa.update(DesignRow).where(DesignRow.id == design_id, DesignRow.state == DesignState.PARSING)
    query = query.values(**values).returning(DesignRow.id)
    return database.write(lambda session: session.scalar(query)) is not None


def _name_of(file_name: str) -> str:
    stem = file_name.removesuffix(".gz")
    for suffix in (".pb.txt", ".plc", ".def", ".lef", ".aux", ".nodes"):
        stem = stem.removesuffix(suffix)
    return stem or file_name


def _missing(design_id: str) -> NotFoundError:
    return NotFoundError("design-not-found", f"There is no design {design_id}")
