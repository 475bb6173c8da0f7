"""Many status polls, few queries: what is asked for while one query runs is answered together by the next.

No answer is older than its question, for a query begins after all that it answers were asked. Polls of one job share
one JSON text. One thread is in use at a time, however many clients poll, so the event loop is never crowded out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import anyio.to_thread
from sqlalchemy.orm import Session

from backend.core.db import Database
from backend.jobs import service


class JobPolls:
    """Reads jobs for the event loop that it is used on."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._waiting: dict[str, asyncio.Future[bytes]] = {}
        self._task: asyncio.Task[None] | None = None

    async def get(self, job_id: str) -> bytes:
        """JobRead as JSON. Raises NotFoundError."""
        future = self._waiting.get(job_id)
        if future is None:
            future = self._waiting[job_id] = asyncio.get_running_loop().create_future()
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._answer())
        return await asyncio.shield(future)  # one client that goes away must not take the answer from the others

    async def _answer(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting, {}
            try:
                found = await anyio.to_thread.run_sync(read_jobs, self.database, list(batch))
            except Exception as error:
                for future in batch.values():
                    future.set_exception(error)
                continue
            for job_id, future in batch.items():
                if job_id in found:
                    future.set_result(found[job_id])
                else:
                    future.set_exception(service.missing(job_id))


def read_jobs(database: Database, job_ids: Sequence[str]) -> dict[str, bytes]:
    """JSON of those of the jobs that there are."""

    def work(session: Session) -> dict[str, bytes]:
        return {job.id: job.model_dump_json().encode() for job in service.read_many(session, job_ids)}

    return database.read(work)
