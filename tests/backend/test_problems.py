"""Every error is problem details: unknown routes, wrong methods, wrong values, faults."""

from __future__ import annotations

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from backend.core.errors import PROBLEM_PAGES
from backend.problem_pages import KINDS
from backend.services import Services

ID = "0" * 32


@pytest.mark.parametrize(
    ("method", "path", "options", "status", "kind"),
    [
        ("GET", "/api/v1/nothing", {}, 404, "no-such-route"),
        ("GET", "/api/v2/jobs", {}, 404, "no-such-route"),
        ("GET", "/api", {}, 404, "no-such-route"),
        ("GET", "/assets/gone.js", {}, 404, "no-such-route"),
        ("PUT", "/api/v1/jobs", {}, 405, "method-not-allowed"),
        ("POST", "/anything", {}, 405, "method-not-allowed"),
        ("GET", f"/api/v1/jobs/{ID}", {}, 404, "job-not-found"),
        ("GET", f"/api/v1/jobs/{ID}/events", {}, 404, "job-not-found"),
        ("GET", f"/api/v1/jobs/{ID}/metrics", {}, 404, "job-not-found"),
        ("GET", f"/api/v1/jobs/{ID}/placements", {}, 404, "job-not-found"),
        ("DELETE", f"/api/v1/jobs/{ID}", {}, 404, "job-not-found"),
        ("GET", f"/api/v1/designs/{ID}", {}, 404, "design-not-found"),
        ("GET", f"/api/v1/designs/{ID}/layout", {}, 404, "design-not-found"),
        ("DELETE", f"/api/v1/designs/{ID}", {}, 404, "design-not-found"),
        ("GET", f"/api/v1/placements/{ID}", {}, 404, "placement-not-found"),
        ("GET", f"/api/v1/placements/{ID}/files/plc", {}, 404, "placement-not-found"),
        ("POST", "/api/v1/jobs", {"json": {"design_id": ID}}, 404, "design-not-found"),
        ("POST", "/api/v1/jobs", {"json": {}}, 422, "invalid-request"),
        ("POST", "/api/v1/jobs", {"content": "{"}, 422, "invalid-request"),
        ("POST", "/api/v1/jobs", {"content": b"\xff\xfe"}, 422, "invalid-request"),
        ("POST", "/api/v1/jobs", {"json": {"design_id": ID, "seconds": -1}}, 422, "invalid-request"),
        ("POST", "/api/v1/jobs", {"json": {"design_id": ID, "method": "magic"}}, 422, "invalid-request"),
        ("POST", "/api/v1/jobs", {"json": {"design_id": ID, "surprise": 1}}, 422, "invalid-request"),
        ("GET", "/api/v1/jobs?limit=0", {}, 422, "invalid-request"),
        ("GET", "/api/v1/jobs?limit=1000", {}, 422, "invalid-request"),
        ("GET", "/api/v1/jobs?state=sleeping", {}, 422, "invalid-request"),
        ("GET", "/api/v1/jobs?cursor=junk", {}, 422, "bad-cursor"),
        ("GET", "/api/v1/designs?cursor=%00", {}, 422, "bad-cursor"),
        ("POST", "/api/v1/designs", {"json": {}}, 415, "not-multipart"),
        ("POST", "/api/v1/jobs", {"content": b"x" * (2 << 20)}, 413, "body-too-large"),
    ],
)
def test_errors(client: TestClient, method: str, path: str, options: dict, status: int, kind: str) -> None:
    answer = client.request(method, path, **options)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    body = answer.json()
    assert body["type"] == PROBLEM_PAGES + kind
    assert body["status"] == status
    assert body["title"]
    assert body["detail"]
    assert body["instance"] == path.partition("?")[0]


def test_a_wrong_field_is_named_with_its_value(client: TestClient) -> None:
    body = client.post("/api/v1/jobs", json={"design_id": ID, "workers": 65}).json()
    assert body["errors"] == [
        {"field": "body.workers", "message": "Input should be less than or equal to 64", "value": "65"}
    ]
    assert "workers" in body["detail"]
    assert "65" in body["detail"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{bad json", "at line 1, column 2: Expecting property name enclosed in double quotes, found 'bad json'"),
        ('{\n "seed": x}', "at line 2, column 10: Expecting value, found 'x}'"),
        ("{", "at line 1, column 2: Expecting property name enclosed in double quotes, the body ends there"),
    ],
)
def test_a_body_that_is_no_json_is_told_where_and_why(client: TestClient, content: str, words: str) -> None:
    body = client.post("/api/v1/jobs", content=content, headers={"Content-Type": "application/json"}).json()
    assert body["detail"] == f"body: not valid JSON {words}"
    assert body["errors"] == [{"field": "body", "message": f"not valid JSON {words}"}]


@pytest.mark.parametrize("path", ["/api/v1/jobs", "/api/v1/session"])
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'{"seed": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "line 1, column 41: Nested more than 32 deep"),
        (b'{"seed": "[[", "x": ' + b'{"a":' * 40 + b"1" + b"}" * 41, "Nested more than 32 deep"),
        (b'{"a": ' * 2000, "Nested more than 32 deep"),
        (b'{"seed":\n ' + b"9" * 5000 + b"}", "line 2, column 2: A number of 5,000 digits; at most 308 are read"),
        (b'{"seed": "\xff"}', "line 1, column 11: Byte 0xff is no utf-8 text"),
        (b'{"seed": 1, "seed": 2}', 'line 1, column 13: The key "seed" is given twice in one object'),
    ],
)
def test_a_body_that_no_reader_should_meet_is_an_invalid_request(
    client: TestClient, path: str, content: bytes, words: str
) -> None:
    answer = client.post(path, content=content, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422, answer.text
    assert answer.json()["type"].endswith("/invalid-request")
    assert words in answer.json()["detail"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        (field, value)
        for field in ("seconds", "trials", "seed", "workers")
        for value in ("NaN", "Infinity", "-Infinity", "-1", "1e400", "9" * 300, "1.5e300", '"many"', "[]")
    ],
)
def test_a_number_that_makes_no_sense_is_named(client: TestClient, field: str, value: str) -> None:
    content = f'{{"design_id": "{ID}", "{field}": {value}}}'
    answer = client.post("/api/v1/jobs", content=content, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422, answer.text
    body = answer.json()
    assert body["type"].endswith("/invalid-request")
    assert body["errors"][0]["field"] == f"body.{field}"


def test_a_fault_is_a_problem_too_and_tells_no_secrets(client: TestClient, services: Services, monkeypatch) -> None:
    def broken(work: object) -> None:
        raise RuntimeError("password=hunter2")

    monkeypatch.setattr(services.database, "read", broken)
    answer = client.get("/api/v1/jobs")
    assert answer.status_code == 500
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["type"].endswith("/fault")
    assert "hunter2" not in answer.text


def test_database_down(client: TestClient, services: Services, monkeypatch) -> None:
    import sqlalchemy as sa

    def down(work: object) -> None:
        raise sa.exc.OperationalError("SELECT", {}, Exception("no route to host"))

    monkeypatch.setattr(services.database, "read", down)
    answer = client.get("/api/v1/healthz")
    assert answer.status_code == 503
    assert answer.json()["database"] == "down"
    answer = client.get("/api/v1/jobs")
    assert answer.status_code == 503
    assert answer.json()["type"].endswith("/database-down")


def test_security_headers_are_on_every_answer(client: TestClient) -> None:
    for path in ("/", "/api/v1/jobs", "/api/v1/nothing", "/healthz"):
        headers = client.get(path).headers
        assert "default-src 'self'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"


def test_kinds_are_documented(app: FastAPI) -> None:
    import re
    from pathlib import Path

    root = Path(__file__).resolve().parents[2]
    source = "".join(path.read_text() for path in (root / "backend").rglob("*.py"))
    pattern = r'(?:(?<!Assertion)Error\(\s*|kind=|kind, detail = )"([a-z]+(?:-[a-z]+)*)"'
    kinds = set(re.findall(pattern, source)) | {"unauthorized"}
    assert kinds == set(KINDS)
    rows = re.findall(r"^\| `([a-z-]+)` \| (\d{3}) \| (.+) \|$", (root / "docs" / "rest.md").read_text(), re.M)
    assert rows == [(name, str(kind.status), kind.meaning) for name, kind in KINDS.items()]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_its_page(app: FastAPI, kind: str) -> None:
    answer = TestClient(app).get(PROBLEM_PAGES + kind)  # without a token
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/html")
    for words in (kind, str(KINDS[kind].status), "What to do"):
        assert words in answer.text
    assert "`" not in answer.text


@pytest.mark.parametrize("kind", ["nothing", "%3Cscript%3E", "Fault"])
def test_an_unknown_kind_has_no_page(client: TestClient, kind: str) -> None:
    answer = client.get(PROBLEM_PAGES + kind)
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["type"] == PROBLEM_PAGES + "no-such-route"
