"""Live news of jobs for any number of listeners: one poller a job asks the database, all listeners share its answer.

Stored events carry ids and are replayed from the database to a listener that comes (back); progress and metrics are
passed on as they are, without ids. No database call runs on the event loop. A listener too slow to keep up is let go:
its client comes back with its last event id and misses nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import anyio.to_thread
import sqlalchemy as sa
from sqlalchemy.orm import Session

from backend.core.db import Database
from backend.core.errors import TooManyError
from backend.core.tables import EventRow, JobRow, MetricRow
from backend.jobs.records import UnknownJobError
from backend.schemas import EventKind, EventRead, JobState

POLL_S = 0.3  # news are at most this old, well within the second that a person notices
HEARTBEAT_S = 15.0  # proxies cut a connection after 30 to 60 s of silence
QUEUE = 256  # messages that may wait for one listener
RETRY_MS = 2000  # EventSource waits this long before it comes back


@dataclass(frozen=True, kw_only=True)
class News:
    """What a poll found."""

    events: list[EventRead]
    points: list[dict[str, Any]]
    progress: dict[str, Any]
    last_event: int
    last_metric: int
    final: bool


def message(event: str, data: str, event_id: int | None = None) -> str:
    """One server-sent event."""
    head = f"id: {event_id}\n" if event_id is not None else ""
    return f"{head}event: {event}\ndata: {data}\n\n"


def stored_message(event: EventRead) -> str:
    return message(event.kind, event.model_dump_json(), event.id)


def read_events(database: Database, job_id: str, after: int) -> list[EventRead]:
    return database.read(lambda session: _events(session, job_id, after))


def _events(session: Session, job_id: str, after: int) -> list[EventRead]:
    query = sa.select(EventRow).where(EventRow.job_id == job_id, EventRow.id > after).order_by(EventRow.id)
    return [EventRead.model_validate(row) for row in session.scalars(query)]


def read_news(database: Database, job_id: str, last_event: int | None, last_metric: int | None) -> News:
    """What is newer than both marks; None = begin here, with nothing old. Raises UnknownJobError."""

    def work(session: Session) -> News:
        job = session.get(JobRow, job_id)
        if job is None:
            raise UnknownJobError(job_id)
        metrics = sa.select(MetricRow).where(MetricRow.job_id == job_id)
        if last_metric is None:
            newest = session.scalar(sa.select(sa.func.max(MetricRow.id)).where(MetricRow.job_id == job_id)) or 0
            rows = []
        else:
            rows = list(session.scalars(metrics.where(MetricRow.id > last_metric).order_by(MetricRow.id)))
            newest = rows[-1].id if rows else last_metric
        return News(
            events=[] if last_event is None or job.last_event == last_event else _events(session, job_id, last_event),
            points=[{"time_s": row.time_s, "values": row.values} for row in rows],
            progress={
                "progress": job.progress,
                "eta_s": job.eta_s,
                "stage": job.stage,
                "best_proxy_cost": job.best_costs["proxy_cost"] if job.best_costs else None,
            },
            last_event=job.last_event,
            last_metric=newest,
            final=JobState(job.state).is_final,
        )

    return database.read(work)


@dataclass(eq=False)
class Listener:
    queue: asyncio.Queue[tuple[int | None, str] | None] = field(default_factory=lambda: asyncio.Queue(QUEUE))


class Feed:
    """The poller of one job and those who listen to it."""

    def __init__(self, database: Database, job_id: str) -> None:
        self.database = database
        self.job_id = job_id
        self.listeners: set[Listener] = set()
        self.ready = asyncio.Event()  # the marks are set: what comes later reaches every listener
        self.progress: dict[str, Any] = {}
        self.ended = False
        self.task = asyncio.create_task(self._poll())

    async def _poll(self) -> None:
        last_event: int | None = None
        last_metric: int | None = None
        try:
            while True:
                news = await anyio.to_thread.run_sync(read_news, self.database, self.job_id, last_event, last_metric)
                began = last_event is None  # sets the marks; listeners read the state of now themselves
                if news.points:
                    self._tell(None, message(EventKind.METRICS, json.dumps({"points": news.points})))
                if news.progress != self.progress and not began:
                    self._tell(None, message(EventKind.PROGRESS, json.dumps(news.progress)))
                self.progress = news.progress
                for event in news.events:  # last, so that the end of a job is the last word of its stream
                    self._tell(event.id, stored_message(event))
                last_event = news.events[-1].id if news.events else (news.last_event if began else last_event)
                last_metric = news.last_metric
                self.ready.set()
                if news.final and not began:
                    return
                await asyncio.sleep(0 if began else POLL_S)
        except UnknownJobError:
            return  # removed with its design
        finally:
            self.ended = True
            self.ready.set()
            for listener in list(self.listeners):
                self._end(listener)

    def _tell(self, event_id: int | None, text: str) -> None:
        for listener in list(self.listeners):
            try:
                listener.queue.put_nowait((event_id, text))
            except asyncio.QueueFull:
                self._end(listener)

    def _end(self, listener: Listener) -> None:
        self.listeners.discard(listener)
        if listener.queue.full():  # all that waits is dropped: part of it would hide the rest from the next replay
            while not listener.queue.empty():
                listener.queue.get_nowait()
        listener.queue.put_nowait(None)


class Feeds:
    """All feeds of an application; a feed lives as long as someone listens."""

    def __init__(self, database: Database, *, max_streams: int) -> None:
        self.database = database
        self.max_streams = max_streams
        self._feeds: dict[str, Feed] = {}
        self._open = 0
        self._closing = asyncio.Event()

    def close(self) -> None:
        """End every stream, so that the server can stop."""
        self._closing.set()
        for feed in self._feeds.values():
            feed.task.cancel()

    def stream(self, job_id: str, after: int) -> AsyncIterator[str]:
        """Text of the stream from the event after `after` on. Raises TooManyError before the first byte."""
        if self._open >= self.max_streams:
            raise TooManyError("too-many-streams", f"{self.max_streams} event streams are open; poll GET /jobs/ID")
        return self._stream(job_id, after)

    async def _stream(self, job_id: str, after: int) -> AsyncIterator[str]:
        self._open += 1
        listener = Listener()
        feed = self._join(job_id, listener)
        try:
            yield f"retry: {RETRY_MS}\n\n"
            await feed.ready.wait()
            if feed.progress:
                yield message(EventKind.PROGRESS, json.dumps(feed.progress))
            last = after
            for event in await anyio.to_thread.run_sync(read_events, self.database, job_id, after):
                last = event.id
                yield stored_message(event)
            while not self._closing.is_set():
                try:
                    async with asyncio.timeout(HEARTBEAT_S):
                        item = await listener.queue.get()
                except TimeoutError:
                    yield ": still here\n\n"
                    continue
                if item is None:
                    return
                event_id, text = item
                if event_id is None or event_id > last:
                    last = event_id or last
                    yield text
        finally:
            self._open -= 1
            self._leave(job_id, feed, listener)

    def _join(self, job_id: str, listener: Listener) -> Feed:
        feed = self._feeds.get(job_id)
        if feed is None or feed.ended:
            feed = self._feeds[job_id] = Feed(self.database, job_id)
        feed.listeners.add(listener)
        return feed

    def _leave(self, job_id: str, feed: Feed, listener: Listener) -> None:
        feed.listeners.discard(listener)
        if not feed.listeners:
            feed.task.cancel()
            if self._feeds.get(job_id) is feed:
                with contextlib.suppress(KeyError):
                    del self._feeds[job_id]
