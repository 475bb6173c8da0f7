"""The OpenAPI description: what FastAPI derives from routes and schemas, plus security, problem details and examples.

`write(path)` puts it into a file; the browser application's types are generated from `frontend/openapi.json`.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from backend.schemas import EventRead, Problem

JOB_ID = "5f0c8a1b9d3e4f67a2b1c0d9e8f7a6b5"
DESIGN_ID = "1c9e4d7f2a8b4c06b3d5e7f90a1b2c3d"
PLACEMENT_ID = "9b2d4f6a8c0e41f3a5b7c9d1e3f5a7b9"
COSTS = {
    "wirelength": 812345.6,
    "wirelength_cost": 0.0485,
    "density_cost": 0.7312,
    "congestion_cost": 0.8921,
    "proxy_cost": 0.86015,
}
COUNTS = {
    "hard_macros": 133,
    "soft_macros": 799,
    "ports": 495,
    "cells": 0,
    "pins": 21604,
    "nets": 18021,
    "drivers_without_sinks": 2,
    "fixed": 495,
}
CANVAS = {
    "width_um": 1357.36,
    "height_um": 1356.88,
    "columns": 23,
    "rows": 28,
    "hor_routes_per_um": 11.285,
    "ver_routes_per_um": 12.605,
    "hor_macro_routes_per_um": 7.143,
    "ver_macro_routes_per_um": 8.339,
    "smoothing": 2,
    "utilisation": 0.512,
}
DESIGN = {
    "id": DESIGN_ID,
    "name": "ariane133",
    "state": "ready",
    "error": None,
    "created_at": "2026-03-01T09:30:00Z",
    "files": [{"name": "netlist.pb.txt", "bytes": 15482311}, {"name": "initial.plc", "bytes": 91022}],
    "counts": COUNTS,
    "canvas": CANVAS,
    "derived": {},
    "warnings": ["2 drivers have no sinks"],
    "start_costs": COSTS,
    "start_problems": [],
}
TOPOLOGY = {
    "cells": [
        {"name": "east", "actors": 3, "caches": 1, "replay_shards": 1},
        {"name": "west", "actors": 2, "caches": 1, "replay_shards": 1},
    ],
    "learners": 1,
    "devices": 1,
    "optimisers": 1,
    "start_smaller": False,
}
ROLE = {
    "id": "3d5f7a9b1c2e4f60a8b6c4d2e0f1a3b5",
    "role": "actor",
    "cell": "east",
    "index": 0,
    "host": "actor-1",
    "pid": 4711,
    "address": None,
    "version": "0.1.0",
    "state": "running",
    "alive": True,
    "stopping": False,
    "restarting": False,
    "heartbeat_age_s": 0.8,
    "steps_per_s": 806.0,
    "model_version": 410,
    "model_age_s": 0.4,
    "versions_behind": 2,
    "model_source": "10.0.0.7:40123",
    "bytes_in": 61341696,
    "bytes_out": 93323264,
    "rss_mb": 496.0,
}
JOB = {
    "id": JOB_ID,
    "design_id": DESIGN_ID,
    "design_name": "ariane133",
    "name": None,
    "method": "auto",
    "seconds": 60,
    "trials": None,
    "seed": 0,
    "workers": 2,
    "from_scratch": False,
    "place_cells": False,
    "state": "running",
    "stage": "placing",
    "cause": None,
    "progress": 0.4,
    "eta_s": 36.0,
    "attempt": 1,
    "created_at": "2026-03-01T09:31:00Z",
    "started_at": "2026-03-01T09:31:01Z",
    "finished_at": None,
    "start_costs": {**COSTS, "proxy_cost": 0.9911},
    "best_costs": COSTS,
    "best_placement_id": PLACEMENT_ID,
    "topology": TOPOLOGY,
}
PLACEMENT = {
    "id": PLACEMENT_ID,
    "job_id": JOB_ID,
    "rank": 1,
    "costs": COSTS,
    "legal": True,
    "problems": [],
    "provenance": {"start": "episode", "policy_version": 412, "seed": 0, "seconds": 41.2},
    "created_at": "2026-03-01T09:31:42Z",
    "formats": ["plc", "json", "svg", "png"],
    "cells": None,
}
EXAMPLES: dict[str, Any] = {
    "Costs": COSTS,
    "Counts": COUNTS,
    "CanvasRead": CANVAS,
    "DesignRead": DESIGN,
    "DesignPage": {"items": [DESIGN], "next_cursor": None},
    "JobCreate": {"design_id": DESIGN_ID, "method": "auto", "seconds": 60, "seed": 0, "workers": 2},
    "JobRead": JOB,
    "TopologySpec": TOPOLOGY,
    "TopologyPatch": {"cells": [{"name": "east", "actors": 6}]},
    "RolesRestart": {"role": "actor", "cell": "east"},
    "RoleRead": ROLE,
    "TopologyRead": {
        "job_id": JOB_ID,
        "state": "running",
        "local": False,
        "desired": TOPOLOGY,
        "queues": [{"queue": "actor.east", "wanted": 3, "present": 1, "allowed": 2}],
        "waiting_for": ["actor.east: 1 of 3"],
        "roles": [ROLE],
    },
    "JobPage": {"items": [JOB], "next_cursor": None},
    "PlacementRead": PLACEMENT,
    "PlacementPage": {"items": [PLACEMENT], "next_cursor": None},
    "MetricPoint": {"time_s": 24.0, "values": {"best_proxy_cost": 0.86, "episodes_per_s": 3.1}},
    "MetricsRead": {"points": [{"time_s": 24.0, "values": {"best_proxy_cost": 0.86, "episodes_per_s": 3.1}}]},
    "EventRead": {
        "id": 7,
        "kind": "state",
        "at": "2026-03-01T09:32:01Z",
        "data": {"state": "finishing", "stage": "finishing", "cause": None},
    },
    "Health": {
        "status": "ok",
        "version": "0.1.0",
        "database": "ok",
        "worker": "ok",
        "queued_jobs": 0,
        "oldest_queued_s": None,
    },
    "Problem": {
        "type": "/docs/problems/design-not-found",
        "title": "Not Found",
        "status": 404,
        "detail": f"There is no design {DESIGN_ID}",
        "instance": f"/api/v1/designs/{DESIGN_ID}",
    },
    "SessionCreate": {"token": "the-token-of-the-printed-address"},
}
OPEN_PATHS = ("/api/v1/healthz", "/api/v1/session")


def describe(app: FastAPI) -> None:
    """Give `app` the full description."""

    def build() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _build(app)
        return app.openapi_schema

    app.openapi = build  # type: ignore[method-assign]  # FastAPI's documented way


def _build(app: FastAPI) -> dict[str, Any]:
    document = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
    schemas = document["components"]["schemas"]
    for model in (Problem, EventRead):  # not the body of any response, yet part of the contract
        schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
        schemas.update(schema.pop("$defs", {}))
        schemas[model.__name__] = schema
    for name, example in EXAMPLES.items():
        schemas[name]["examples"] = [example]
    document["components"]["securitySchemes"] = {
        "token": {"type": "http", "scheme": "bearer"},
        "session": {
            "type": "apiKey",
            "in": "cookie",
            "name": "placewright_…",
            "description": "The cookie that POST /api/v1/session sets; its name differs from service to service",
        },
    }
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            is_open = path == OPEN_PATHS[0] or (path == OPEN_PATHS[1] and method == "post")
            operation["security"] = [] if is_open else [{"token": []}, {"session": []}]
            _use_problem(operation)
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    return document


def _use_problem(operation: dict[str, Any]) -> None:
    """Validation errors are problem details here, not the framework's own form."""
    invalid = operation["responses"].get("422")
    if invalid is not None:
        reference = {"schema": {"$ref": "#/components/schemas/Problem"}}
        invalid["content"] = {"application/problem+json": reference}


def write(path: Path) -> None:
    """Write the description to a file, the same bytes for the same routes and schemas."""
    from backend.app import make_app
    from backend.core.config import load_settings

    with tempfile.TemporaryDirectory() as folder:
        app = make_app(load_settings({"data": Path(folder)}))
        text = json.dumps(app.openapi(), indent=2, ensure_ascii=False, sort_keys=True)
    path.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
