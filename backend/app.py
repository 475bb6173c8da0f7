"""The web application: `make_app(settings)`; all routes, middleware and error forms come together here."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version

import anyio.to_thread
from fastapi import APIRouter, Depends, FastAPI

from backend import pages, problem_pages, prometheus, session_api
from backend.core import errors
from backend.core.config import Settings
from backend.core.middleware import BodyLimit, SecurityHeaders
from backend.designs import api as designs_api
from backend.jobs import api as jobs_api
from backend.openapi import describe
from backend.services import Services, require_access

API = "/api/v1"
# Threads that wait for the database or the disk. More would only take turns at the interpreter with the event loop.
THREADS = 12


def make_app(settings: Settings) -> FastAPI:
    """The application on a migrated database. Enqueues work for workers; does none itself."""
    services = Services.of(settings)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        anyio.to_thread.current_default_thread_limiter().total_tokens = THREADS
        yield
        services.feeds.close()
        services.close()

    app = FastAPI(
        title="Placewright",
        version=version("placewright"),
        description="Places the macros of a chip: upload a netlist, start a job, watch it, download the placement.",
        openapi_url=f"{API}/openapi.json",
        docs_url=None,  # their pages load scripts from elsewhere
        redoc_url=None,
        lifespan=lifespan,
    )
    app.state.services = services
    errors.install(app)
    app.add_middleware(BodyLimit, upload_path=f"{API}/designs", max_upload_bytes=settings.max_upload_bytes)
    app.add_middleware(SecurityHeaders)
    guarded = APIRouter(prefix=API, dependencies=[Depends(require_access)])
    for router in (designs_api.router, jobs_api.jobs, jobs_api.placements):
        guarded.include_router(router)
    app.include_router(guarded)
    for router in (session_api.session, session_api.health):
        app.include_router(router, prefix=API)
    app.include_router(session_api.health, include_in_schema=False)  # /healthz
    app.include_router(prometheus.router, include_in_schema=False)  # /metrics, where scrapers look
    describe(app)
    app.include_router(problem_pages.router)
    app.include_router(pages.make_router(settings.frontend))
    return app
