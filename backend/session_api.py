"""Routes of browser sessions and of health: what can be asked without a token."""

from __future__ import annotations

import anyio.to_thread
from fastapi import APIRouter, Depends, Request, Response
from pydantic import Field

from backend.core.access import SESSION_DAYS, same_origin
from backend.core.errors import ForbiddenError, document
from backend.core.json_body import StrictJsonRoute
from backend.health import read_health
from backend.schemas import Health, Schema
from backend.services import ServicesDep, require_access

session = APIRouter(prefix="/session", tags=["session"], route_class=StrictJsonRoute)
health = APIRouter(tags=["health"])


class SessionCreate(Schema):
    token: str = Field(max_length=500, description="The token of the address that the service printed")


@session.post("", status_code=204, responses=document(401, 403, 422))
def begin_session(body: SessionCreate, request: Request, response: Response, services: ServicesDep) -> None:
    """Exchange a token for a session cookie (HttpOnly, SameSite=Strict), which every later request then sends."""
    if "origin" in request.headers and not same_origin(request):
        raise ForbiddenError("other-origin", "A session is begun only from this service's own pages")
    secret = services.access.begin_session(body.token)
    response.set_cookie(
        services.access.cookie,
        secret,
        max_age=SESSION_DAYS * 86400,
        httponly=True,
        samesite="strict",
        secure=services.access.secure_cookie,
    )


@session.get("", status_code=204, dependencies=[Depends(require_access)], responses=document(401))
async def check_session() -> None:
    """204 while the session (or token) is valid, else 401."""


@session.delete("", status_code=204, dependencies=[Depends(require_access)], responses=document(401, 403))
def end_session(request: Request, response: Response, services: ServicesDep) -> None:
    """End the session of this browser."""
    secret = request.cookies.get(services.access.cookie)
    if secret:
        services.access.end_session(secret)
    response.delete_cookie(services.access.cookie)


@health.get("/healthz", responses={503: {"model": Health, "description": "The database does not answer"}})
async def healthz(response: Response, services: ServicesDep) -> Health:
    """Whether the service can do its work. Needs no token."""
    state = await anyio.to_thread.run_sync(read_health, services.database, services.settings)
    if state.database == "down":
        response.status_code = 503
    return state
