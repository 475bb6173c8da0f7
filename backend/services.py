"""What routes work with: one `Services` per application, made at start, handed to routes as a dependency."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from backend.core.access import Access
from backend.core.broker import Broker
from backend.core.config import Settings
from backend.core.db import Database
from backend.jobs.feed import Feeds
from backend.jobs.polls import JobPolls
from backend.jobs.store import JobStore


@dataclass(frozen=True, kw_only=True)
class Services:
    settings: Settings
    database: Database
    store: JobStore
    broker: Broker
    access: Access
    feeds: Feeds
    polls: JobPolls

    @classmethod
    def of(cls, settings: Settings) -> Services:
        """All of them on the settings' database, which must have been migrated."""
        database = Database(settings.database_url)
        store = JobStore(
            database,
            settings.data,
            stale_after_s=settings.stale_after_seconds,
            attempt_limit=settings.attempts,
        )
        return cls(
            settings=settings,
            database=database,
            store=store,
            broker=Broker(settings),
            access=Access(database, settings),
            polls=JobPolls(database),
            feeds=Feeds(database, max_streams=settings.max_streams),
        )

    def close(self) -> None:
        self.broker.close()
        self.store.close()


def get_services(request: Request) -> Services:
    services: Services = request.app.state.services
    return services


ServicesDep = Annotated[Services, Depends(get_services)]


async def require_access(request: Request) -> None:
    """Dependency of every route but health: a valid token or session."""
    await get_services(request).access.check(request)
