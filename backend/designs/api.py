"""Routes of designs: translate HTTP to `backend.designs.service`, nothing more."""

from __future__ import annotations

from typing import Annotated, Any

import anyio.to_thread
from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import FileResponse

from backend.core.broker import IO_QUEUE, PARSE_DESIGN
from backend.core.errors import ConflictError, document
from backend.core.ids import new_id
from backend.core.paging import DEFAULT_LIMIT, MAX_LIMIT
from backend.designs import service
from backend.designs.upload import receive
from backend.schemas import DesignPage, DesignRead, DesignState, LayoutRead, ReadingOptions
from backend.services import ServicesDep

router = APIRouter(prefix="/designs", tags=["designs"])

Cursor = Annotated[str | None, Query(description="next_cursor of the page before")]
Limit = Annotated[int, Query(ge=1, le=MAX_LIMIT)]

UPLOAD_FORM: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["files"],
                    "properties": {
                        "files": {
                            "type": "array",
                            "items": {"type": "string", "format": "binary"},
                            "description": "The netlist and, if there is one, its .plc; .gz everywhere",
                        },
                        "name": {"type": "string", "maxLength": 200, "description": "Default: the first file's name"},
                        **ReadingOptions.model_json_schema()["properties"],
                    },
                }
            }
        },
    }
}


@router.post("", status_code=202, openapi_extra=UPLOAD_FORM, responses=document(400, 401, 413, 415, 422, 507))
async def create_design(request: Request, response: Response, services: ServicesDep) -> DesignRead:
    """Upload a design's files. They are streamed to disk and read by a worker: poll GET /designs/{id} until its
    state is ready or failed."""
    design_id = new_id()
    received = service.uploads_folder(services.settings.data) / design_id
    upload = await receive(request, received, max_files=services.settings.max_files)

    def store() -> DesignRead:
        design = service.create(services.database, services.settings.data, design_id, upload, received)
        services.broker.send(PARSE_DESIGN, design_id, queue=IO_QUEUE)
        return design

    design = await anyio.to_thread.run_sync(store)
    response.headers["Location"] = f"/api/v1/designs/{design_id}"
    return design


@router.get("", responses=document(401, 422))
def list_designs(services: ServicesDep, cursor: Cursor = None, limit: Limit = DEFAULT_LIMIT) -> DesignPage:
    """All designs, newest first."""
    return service.list_page(services.database, cursor, limit)


@router.get("/{design_id}", responses=document(401, 404))
def get_design(design_id: str, services: ServicesDep) -> DesignRead:
    """State of a design, and what was found in its files."""
    return service.get(services.database, design_id)


@router.get("/{design_id}/layout", response_model=LayoutRead, responses=document(401, 404, 409))
def get_layout(design_id: str, request: Request, services: ServicesDep) -> FileResponse:
    """Geometry of the design at its start."""
    design = service.get(services.database, design_id)
    if design.state != DesignState.READY:
        raise ConflictError("design-not-ready", f"The design is {design.state}: {design.error or 'not read yet'}")
    folder = service.design_folder(services.settings.data, design_id)
    headers = {"Cache-Control": "private, max-age=3600", "Vary": "Accept-Encoding"}
    packed = folder / "layout.json.gz"
    if packed.is_file() and "gzip" in request.headers.get("accept-encoding", ""):
        return FileResponse(packed, media_type="application/json", headers={**headers, "Content-Encoding": "gzip"})
    return FileResponse(folder / "layout.json", media_type="application/json", headers=headers)


@router.delete("/{design_id}", status_code=204, responses=document(401, 404, 409))
def delete_design(design_id: str, services: ServicesDep) -> None:
    """Remove a design with its files, its jobs and their results. Refused while one of its jobs is open."""
    service.remove(services.database, services.settings.data, design_id)
