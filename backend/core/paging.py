"""Pages of a list, newest first. A cursor is the place of the last item seen, so new items never shift a page."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.orm import Session

from backend.core.errors import UnprocessableError

DEFAULT_LIMIT = 50
MAX_LIMIT = 200

Row = TypeVar("Row")


def page(
    session: Session,
    query: sa.Select[*tuple[Any, ...]],
    table: Any,
    *,
    cursor: str | None,
    limit: int,
    key: Callable[[Any], Any] = lambda row: row[0],
) -> tuple[Sequence[Any], str | None]:
    """Rows of `query` after `cursor` and the next cursor (None at the end). `key(row)` has created_at and id."""
    if cursor is not None:
        created_at, last_id = _decode(cursor)
        query = query.where(
            sa.or_(table.created_at < created_at, sa.and_(table.created_at == created_at, table.id < last_id))
        )
    query = query.order_by(table.created_at.desc(), table.id.desc()).limit(limit + 1)
    rows = session.execute(query).all()
    if len(rows) <= limit:
        return rows, None
    last = key(rows[limit - 1])
    return rows[:limit], _encode(last.created_at, last.id)


def _encode(created_at: datetime, last_id: str) -> str:
    return base64.urlsafe_b64encode(f"{created_at.isoformat()}|{last_id}".encode()).decode().rstrip("=")


def _decode(cursor: str) -> tuple[datetime, str]:
    try:
        text = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()
        created_at, _, last_id = text.partition("|")
        moment = datetime.fromisoformat(created_at)
        if moment.tzinfo is None:
            raise ValueError
    except ValueError:
        raise UnprocessableError("bad-cursor", "cursor is not one that this service gave out") from None
    return moment, last_id
