"""Alembic migrations, packaged with the service and run at its start by `backend.core.migrate`."""
