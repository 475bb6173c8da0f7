"""Errors of the service: one tree, each class knows its HTTP status; all of them leave as problem details (RFC 9457).

ServiceError               an HTTPException, so that it passes through the framework unchanged
├── BadRequestError        400  the request cannot be understood
├── UnauthorizedError      401  no valid token or session
├── ForbiddenError         403  a browser session used from another site
├── NotFoundError          404  no such thing; ids cannot be guessed, so nothing is said of whose it is
├── ConflictError          409  not in this state
├── TooLargeError          413  over a limit, which is named
├── UnsupportedMediaError  415
├── UnprocessableError     422  understood, but a value is wrong
├── TooManyError           429
├── UnavailableError       503
└── NoSpaceError           507  the disk is full

`install(app)` makes every error of the application take this form: unknown routes, wrong methods, validation, faults.
"""

from __future__ import annotations

import http
import logging
from collections.abc import Mapping
from typing import Any, ClassVar

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from backend.schemas import Problem

log = logging.getLogger(__name__)

PROBLEM_TYPE = "application/problem+json"
PROBLEM_PAGES = "/docs/problems/"  # served by backend/problem_pages.py, listed in docs/rest.md


class ServiceError(HTTPException):
    """Base: `kind` is the stable name of the problem, `detail` the sentence for people."""

    status: ClassVar[int] = 500

    def __init__(self, kind: str, detail: str, *, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(self.status, detail, headers=dict(headers or {}))
        self.kind = kind


class BadRequestError(ServiceError):
    status = 400


class UnauthorizedError(ServiceError):
    status = 401

    def __init__(self, detail: str) -> None:
        super().__init__("unauthorized", detail, headers={"WWW-Authenticate": 'Bearer realm="placewright"'})


class ForbiddenError(ServiceError):
    status = 403


class NotFoundError(ServiceError):
    status = 404


class ConflictError(ServiceError):
    status = 409


class TooLargeError(ServiceError):
    status = 413

    def __init__(self, kind: str, detail: str) -> None:
        # What is left of the body is not read: the connection cannot be used again.
        super().__init__(kind, detail, headers={"Connection": "close"})


class UnsupportedMediaError(ServiceError):
    status = 415


class UnprocessableError(ServiceError):
    status = 422


class TooManyError(ServiceError):
    status = 429


class UnavailableError(ServiceError):
    status = 503


class NoSpaceError(ServiceError):
    status = 507


def problem(
    status: int,
    detail: str,
    *,
    kind: str | None = None,
    instance: str | None = None,
    errors: list[dict[str, Any]] | None = None,
    headers: Mapping[str, str] | None = None,
) -> JSONResponse:
    """The response of an error."""
    body = Problem(
        type=f"{PROBLEM_PAGES}{kind}" if kind else "about:blank",
        title=http.HTTPStatus(status).phrase,
        status=status,
        detail=detail,
        instance=instance,
        errors=errors,
    )
    return JSONResponse(
        body.model_dump(exclude_none=True), status_code=status, headers=dict(headers or {}), media_type=PROBLEM_TYPE
    )


def document(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The `responses` of a route: each of these statuses carries problem details."""
    reference = {"schema": {"$ref": "#/components/schemas/Problem"}}
    return {
        status: {"description": http.HTTPStatus(status).phrase, "content": {PROBLEM_TYPE: reference}}
        for status in statuses
    }


def install(app: FastAPI) -> None:
    """Make every error of `app` problem details."""
    app.add_exception_handler(HTTPException, _on_http)
    app.add_exception_handler(RequestValidationError, _on_invalid)
    for away in (OperationalError, InterfaceError, PoolTimeoutError):
        app.add_exception_handler(away, _on_database_down)
    app.add_exception_handler(Exception, _on_fault)


def _on_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    kind = error.kind if isinstance(error, ServiceError) else None
    detail = error.detail
    if kind is None and error.status_code == 404:
        kind, detail = "no-such-route", f"There is nothing at {request.url.path}"
    elif kind is None and error.status_code == 405:
        kind, detail = "method-not-allowed", f"{request.method} is not possible at {request.url.path}"
    elif kind is None and error.status_code == 400:  # the framework's own word for a body that it cannot take apart
        kind = "invalid-request"
    return problem(error.status_code, detail, kind=kind, instance=request.url.path, headers=error.headers)


def _on_invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    errors = [_broken_json(item, error.body) or _wrong_field(item) for item in error.errors()]
    detail = "; ".join(
        f"{item['field']}: {item['message']}" + (f" (is {item['value']})" if "value" in item else "")
        for item in errors[:5]
    )
    return problem(422, detail, kind="invalid-request", instance=request.url.path, errors=errors)


def _wrong_field(item: Mapping[str, Any]) -> dict[str, Any]:
    field = ".".join(str(part) for part in item["loc"])
    return {"field": field, "message": item["msg"], "value": _short(item.get("input"))}


def _broken_json(item: Mapping[str, Any], body: object) -> dict[str, Any] | None:
    """What a body that is no JSON is told: line and column, what the reader expected, what stands there."""
    if item["type"] != "json_invalid" or not isinstance(body, str):
        return None
    at = item["loc"][-1]
    line, column = body.count("\n", 0, at) + 1, at - body.rfind("\n", 0, at)
    there = f"found {_short(body[at : at + 20])}" if body[at:].strip() else "the body ends there"
    reason = item["ctx"]["error"]
    return {"field": "body", "message": f"not valid JSON at line {line}, column {column}: {reason}, {there}"}


def _on_database_down(request: Request, error: Exception) -> Response:
    log.error("database down in %s %s: %s", request.method, request.url.path, error)
    detail = "The database does not answer; try again in a moment"
    headers = {"Retry-After": "5"}
    return problem(503, detail, kind="database-down", instance=request.url.path, headers=headers)


def _on_fault(request: Request, error: Exception) -> Response:
    log.error("fault in %s %s", request.method, request.url.path, exc_info=error)
    detail = "The service has a fault; its log says more. Nothing that was stored before is touched."
    return problem(500, detail, kind="fault", instance=request.url.path)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:97]}..."
