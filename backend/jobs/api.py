"""Routes of jobs and placements: translate HTTP to `backend.jobs.service`, nothing more."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import anyio.to_thread
from fastapi import APIRouter, Header, Query, Response
from fastapi.responses import FileResponse, StreamingResponse

from backend.core.errors import ConflictError, NotFoundError, document
from backend.core.json_body import StrictJsonRoute
from backend.core.paging import DEFAULT_LIMIT, MAX_LIMIT
from backend.jobs import service, topology_service
from backend.schemas import (
    JobCreate,
    JobPage,
    JobRead,
    JobState,
    MetricsRead,
    PlacementPage,
    PlacementRead,
    RolesRestart,
    TopologyPatch,
    TopologyRead,
)
from backend.services import ServicesDep

jobs = APIRouter(prefix="/jobs", tags=["jobs"], route_class=StrictJsonRoute)
placements = APIRouter(prefix="/placements", tags=["placements"])

Cursor = Annotated[str | None, Query(description="next_cursor of the page before")]
Limit = Annotated[int, Query(ge=1, le=MAX_LIMIT)]
EventId = Annotated[int | None, Query(ge=0, description="Only events with a higher id; 0 = all")]

# Format in the address: (file in the placement's folder, media type, ending of the download's name)
FORMATS = {
    "plc": ("placement.plc", "text/plain; charset=utf-8", ".plc"),
    "pb": ("placement.pb.txt.gz", "application/gzip", ".pb.txt.gz"),
    "svg": ("placement.svg", "image/svg+xml", ".svg"),
    "png": ("placement.png", "image/png", ".png"),
    "def": ("placement.def.gz", "application/gzip", ".def.gz"),
    "tcl": ("placement.tcl", "text/plain; charset=utf-8", ".tcl"),
    "pl": ("placement.pl", "text/plain; charset=utf-8", ".pl"),
    "json": ("placement.json", "application/json", ".json"),
    "constraints": ("constraints.json", "application/json", ".constraints.json"),
}
# What a browser may do with a file of ours that it shows by itself: nothing but draw it.
FILE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"

STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Server-sent events. `event:` is an EventKind; stored events carry `id:` and an EventRead as "
        "`data:`, progress and metrics carry their values only.",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    },
    204: {"description": "The job is over and every event of it was received: do not come back"},
}


@jobs.post("", status_code=201, responses=document(401, 404, 409, 422))
def create_job(
    body: JobCreate,
    response: Response,
    services: ServicesDep,
    idempotency_key: Annotated[
        str | None, Header(min_length=8, max_length=200, description="Sent again, gives the job it made before")
    ] = None,
) -> JobRead:
    """Start a placement job on a ready design; poll GET /jobs/{id} or listen on /jobs/{id}/events."""
    if body.topology is not None:
        topology_service.check_size(services.settings, body.topology)
    job, created = service.create(services.database, services.store, services.broker, body, idempotency_key)
    response.headers["Location"] = f"/api/v1/jobs/{job.id}"
    if not created:
        response.status_code = 200
    return job


@jobs.get("", responses=document(401, 422))
def list_jobs(
    services: ServicesDep,
    cursor: Cursor = None,
    limit: Limit = DEFAULT_LIMIT,
    state: JobState | None = None,
    design_id: str | None = None,
) -> JobPage:
    """All jobs, newest first."""
    return service.list_page(services.database, cursor, limit, state, design_id)


@jobs.get("/{job_id}", response_model=JobRead, responses=document(401, 404))
async def get_job(job_id: str, services: ServicesDep) -> Response:
    """State of a job: how far it is and the best costs so far."""
    return Response(await services.polls.get(job_id), media_type="application/json")


@jobs.delete("/{job_id}", responses=document(401, 404))
def cancel_job(job_id: str, services: ServicesDep) -> JobRead:
    """Cancel: the run stops within seconds and keeps the best placement it has found. A job that is over stays so."""
    return service.cancel(services.database, services.store, job_id)


@jobs.get("/{job_id}/events", response_class=StreamingResponse, responses={**STREAM, **document(401, 404, 429)})
async def get_events(
    job_id: str,
    services: ServicesDep,
    after: EventId = None,
    last_event_id: Annotated[str | None, Header(description="As EventSource sends it when it comes back")] = None,
) -> Response:
    """Events of a job as they happen, after those asked for; from the first one on by default. Ends with the job."""
    begin = after or 0
    if last_event_id is not None and last_event_id.isdigit():
        begin = max(begin, int(last_event_id))
    job = await anyio.to_thread.run_sync(service.get, services.database, job_id)
    if (
        job.state.is_final
        and begin
        and not await anyio.to_thread.run_sync(service.has_events_after, services.database, job_id, begin)
    ):
        return Response(status_code=204)
    headers = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
    return StreamingResponse(services.feeds.stream(job_id, begin), media_type="text/event-stream", headers=headers)


@jobs.get("/{job_id}/metrics", responses=document(401, 404, 422))
def get_metrics(
    job_id: str,
    services: ServicesDep,
    after_s: Annotated[float | None, Query(allow_inf_nan=False, description="Only points with a later time_s")] = None,
) -> MetricsRead:
    """Values over the time of a job: the cost curve and the figures of learning and search."""
    return service.metrics(services.database, job_id, after_s)


@jobs.get("/{job_id}/topology", responses=document(401, 404, 409))
def get_topology(job_id: str, services: ServicesDep) -> TopologyRead:
    """The processes of a job that learns: what it is to have, what it has, what it waits for."""
    return topology_service.read(services.database, services.store, services.settings, job_id)


@jobs.patch("/{job_id}/topology", responses=document(401, 404, 409, 422))
def scale_job(job_id: str, body: TopologyPatch, services: ServicesDep) -> TopologyRead:
    """Scale cells up or down; the run starts and stops processes within seconds."""
    topology_service.scale(services.database, services.store, services.settings, job_id, body)
    return topology_service.read(services.database, services.store, services.settings, job_id)


@jobs.post("/{job_id}/roles/restart", status_code=202, responses=document(401, 404, 409, 422))
def restart_roles(job_id: str, body: RolesRestart, services: ServicesDep) -> TopologyRead:
    """Restart roles one after another: each is there again before the next one stops."""
    topology_service.restart(services.database, services.store, job_id, body)
    return topology_service.read(services.database, services.store, services.settings, job_id)


@jobs.get("/{job_id}/placements", responses=document(401, 404))
def list_placements(job_id: str, services: ServicesDep) -> PlacementPage:
    """The job's leaderboard, best first. It is short: one page holds it."""
    return PlacementPage(items=service.placements(services.database, services.store, job_id))


@placements.get("/{placement_id}", responses=document(401, 404))
def get_placement(placement_id: str, services: ServicesDep) -> PlacementRead:
    """Costs, legality and origin of a placement."""
    record, _, _ = service.placement(services.database, services.store, placement_id)
    return service.placement_read(record)


@placements.get(
    "/{placement_id}/files/{format}",
    response_class=FileResponse,
    responses={
        200: {"description": "The file", "content": {kind: {} for _, kind, _ in FORMATS.values()}},
        **document(401, 404, 409),
    },
)
def get_placement_file(placement_id: str, format: str, services: ServicesDep) -> FileResponse:
    """A placement in one of its formats: plc, pb, svg, png, json; def and tcl of designs from LEF/DEF; pl of those from
    Bookshelf; constraints, where the design or the job has any.
    """
    record, design_name, job_state = service.placement(services.database, services.store, placement_id)
    available = ", ".join(record.formats)
    if format not in record.formats:
        if not job_state.is_final and format in service.late_formats(services.store.job(record.job_id)):
            raise ConflictError("file-not-ready", f"{format} is written when the job ends; available now: {available}")
        raise NotFoundError("format-not-available", f"This placement has no format '{format}'; available: {available}")
    name, media_type, ending = FORMATS[format]
    path = record.folder / name
    if not path.is_file():
        raise NotFoundError("file-lost", f"The file of format {format} is no longer on the disk")
    return FileResponse(
        path,
        media_type=media_type,
        filename=f"{_file_stem(design_name)}-{record.costs['proxy_cost']:.4f}-{record.id[:6]}{ending}",
        headers={"Cache-Control": "private, max-age=31536000, immutable", "Content-Security-Policy": FILE_POLICY},
    )


def _file_stem(design_name: str) -> str:
    """The design's name as part of a file name that every system accepts."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", Path(design_name).name).strip(".-")[:80] or "placement"
