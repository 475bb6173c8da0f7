"""Alembic's entry: runs the scripts on the connection that `backend.core.migrate` hands over."""

from __future__ import annotations

from alembic import context

from backend.core.tables import Base

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    render_as_batch=context.config.attributes["connection"].dialect.name == "sqlite",
)
with context.begin_transaction():
    context.run_migrations()
