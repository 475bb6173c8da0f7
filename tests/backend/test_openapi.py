"""The OpenAPI description: sound, complete, with examples that its own schemas accept, and equal to the stored one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from backend import openapi, schemas
from backend.session_api import SessionCreate

STORED = Path(__file__).resolve().parents[2] / "frontend" / "openapi.json"

FIXED_POINTS = """POST /designs
GET /designs
GET /designs/{design_id}
POST /jobs
GET /jobs
GET /jobs/{job_id}
GET /jobs/{job_id}/events
GET /jobs/{job_id}/metrics
DELETE /jobs/{job_id}
GET /jobs/{job_id}/placements
GET /placements/{placement_id}
GET /placements/{placement_id}/files/{format}
GET /healthz"""


@pytest.fixture
def document(app: FastAPI) -> dict[str, Any]:
    return app.openapi()


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if "$ref" in value:
            yield value["$ref"]
        for item in value.values():
            yield from references(item)
    elif isinstance(value, list):
        for item in value:
            yield from references(item)


def test_served(client: TestClient, document: dict) -> None:
    assert client.get("/api/v1/openapi.json").json() == json.loads(json.dumps(document))


def test_stored_description_is_the_present_one(tmp_path: Path) -> None:
    openapi.write(tmp_path / "openapi.json")
    assert STORED.read_text() == (tmp_path / "openapi.json").read_text(), (
        "python -m backend.openapi frontend/openapi.json"
    )


def test_every_reference_leads_somewhere(document: dict) -> None:
    for reference in references(document):
        value: Any = document
        for part in reference.removeprefix("#/").split("/"):
            value = value[part]


def test_operations(document: dict) -> None:
    ids = []
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            ids.append(operation["operationId"])
            assert operation.get("description") or operation.get("summary"), (path, method)
            declared = {item["name"] for item in operation.get("parameters", []) if item["in"] == "path"}
            assert declared == set(re.findall(r"{(\w+)}", path))
            assert any(status.startswith("2") for status in operation["responses"])
            for status, response in operation["responses"].items():
                if status[0] in "45" and status != "503":
                    assert list(response["content"]) == ["application/problem+json"], (path, method, status)
            for scheme in operation["security"]:
                assert set(scheme) <= set(document["components"]["securitySchemes"])
            if operation["security"]:
                assert "401" in operation["responses"], (path, method)
    assert len(ids) == len(set(ids))


def test_the_fixed_points_are_there(document: dict) -> None:
    paths = {(method.upper(), path) for path, operations in document["paths"].items() for method in operations}
    for line in FIXED_POINTS.split("\n"):
        method, path = line.split()
        assert (method, f"/api/v1{path}") in paths


@pytest.mark.parametrize("name", sorted(openapi.EXAMPLES))
def test_examples_are_valid(name: str) -> None:
    model = SessionCreate if name == "SessionCreate" else getattr(schemas, name)
    model.model_validate(openapi.EXAMPLES[name])


def test_the_service_imports_nothing_of_the_learning_stack() -> None:
    import subprocess
    import sys

    code = (
        "import backend.app, sys; print([m for m in ('jax','flax','reverb','tensorflow','numba') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
