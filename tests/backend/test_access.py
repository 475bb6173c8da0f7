"""Tokens and sessions: stored hashed, valid until revoked, cookies only from the service's own pages."""

from __future__ import annotations

import sqlalchemy as sa
from fastapi import FastAPI
from fastapi.testclient import TestClient

from backend.core.access import Access, hash_token
from backend.core.tables import Token
from backend.services import Services

TOKEN = "token-of-the-tests-0123456789"  # of the fixture `settings`
HOST = {"Origin": "http://testserver"}


def anonymous(app: FastAPI) -> TestClient:
    return TestClient(app, raise_server_exceptions=False)


def begin(app: FastAPI) -> TestClient:
    browser = anonymous(app)
    assert browser.post("/api/v1/session", json={"token": TOKEN}, headers=HOST).status_code == 204
    return browser


def test_without_or_with_a_wrong_token(app: FastAPI) -> None:
    client = anonymous(app)
    for headers in (
        {},
        {"Authorization": "Bearer wrong"},
        {"Authorization": f"Basic {TOKEN}"},
        {"Authorization": "Bearer"},
    ):
        answer = client.get("/api/v1/jobs", headers=headers)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"].startswith("Bearer")
        assert answer.headers["content-type"] == "application/problem+json"


def test_every_route_but_health_and_login_is_guarded(app: FastAPI) -> None:
    client = anonymous(app)
    for path, operations in app.openapi()["paths"].items():
        for method in operations:
            answer = client.request(method, path.format(design_id="x", job_id="x", placement_id="x", format="plc"))
            is_open = path == "/api/v1/healthz" or (path, method) == ("/api/v1/session", "post")
            assert (answer.status_code == 401) != is_open, (path, method, answer.status_code)


def test_no_token_is_stored_in_the_clear(services: Services) -> None:
    token = services.access.new_token()
    rows = services.database.read(lambda session: list(session.scalars(sa.select(Token))))
    stored = [value for row in rows for value in vars(row).values()]
    assert token not in stored
    assert TOKEN not in stored
    assert hash_token(token) in stored


def test_first_token_is_made_once(services: Services) -> None:
    services.access.take_setting(None)
    first = services.access.first_token()
    assert first is not None
    assert len(first) >= 40
    assert services.access.first_token() is None


def test_a_new_setting_replaces_the_old_one_and_its_sessions(app: FastAPI, services: Services) -> None:
    browser = begin(app)
    services.access.take_setting("another-secret-0123456789")
    fresh = Access(services.database, services.settings)  # remembers nothing
    app.state.services = services.__class__(**{**vars(services), "access": fresh})
    assert browser.get("/api/v1/jobs").status_code == 401
    assert anonymous(app).get("/api/v1/jobs", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 401
    headers = {"Authorization": "Bearer another-secret-0123456789"}
    assert anonymous(app).get("/api/v1/jobs", headers=headers).status_code == 200


def test_revoked_tokens_end_their_sessions(app: FastAPI, services: Services) -> None:
    token = services.access.new_token()
    secret = services.access.begin_session(token)
    new = services.access.new_token(revoke_others=True)
    fresh = Access(services.database, services.settings)
    app.state.services = services.__class__(**{**vars(services), "access": fresh})
    client = anonymous(app)
    assert client.get("/api/v1/jobs", headers={"Authorization": f"Bearer {token}"}).status_code == 401
    assert client.get("/api/v1/jobs", headers={"Cookie": f"{fresh.cookie}={secret}"}).status_code == 401
    assert client.get("/api/v1/jobs", headers={"Authorization": f"Bearer {new}"}).status_code == 200


def test_session_cookie(app: FastAPI) -> None:
    browser = anonymous(app)
    answer = browser.post("/api/v1/session", json={"token": TOKEN}, headers=HOST)
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert TOKEN not in cookie
    assert browser.get("/api/v1/jobs").status_code == 200
    assert browser.get("/api/v1/session").status_code == 204
    assert browser.delete("/api/v1/session", headers=HOST).status_code == 204
    assert browser.get("/api/v1/session").status_code == 401


def test_an_ended_session_cannot_come_back(app: FastAPI) -> None:
    browser = begin(app)
    cookie = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
    assert anonymous(app).get("/api/v1/jobs", headers={"Cookie": cookie}).status_code == 200
    browser.delete("/api/v1/session", headers=HOST)
    assert anonymous(app).get("/api/v1/jobs", headers={"Cookie": cookie}).status_code == 401


def test_wrong_token_begins_no_session(app: FastAPI) -> None:
    answer = anonymous(app).post("/api/v1/session", json={"token": "wrong"}, headers=HOST)
    assert answer.status_code == 401
    assert "set-cookie" not in answer.headers


def test_a_session_is_no_token(app: FastAPI) -> None:
    secret = next(iter(begin(app).cookies.values()))
    assert anonymous(app).get("/api/v1/jobs", headers={"Authorization": f"Bearer {secret}"}).status_code == 401
    assert anonymous(app).post("/api/v1/session", json={"token": secret}).status_code == 401


def test_cookies_change_things_from_own_pages_only(app: FastAPI) -> None:
    browser = begin(app)
    body = {"design_id": "0" * 32}
    for headers in (
        {},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://testserver.evil.example"},
    ):
        answer = browser.post("/api/v1/jobs", json=body, headers=headers)
        assert answer.status_code == 403, headers
        assert answer.json()["type"].endswith("other-origin")
    assert browser.post("/api/v1/jobs", json=body, headers=HOST).status_code == 404  # the design is unknown
    answer = anonymous(app).post("/api/v1/session", json={"token": TOKEN}, headers={"Origin": "https://evil.example"})
    assert answer.status_code == 403


def test_health_tells_strangers_nothing_of_designs(app: FastAPI) -> None:
    for path in ("/healthz", "/api/v1/healthz"):
        answer = anonymous(app).get(path)
        assert answer.status_code == 200
        assert answer.json()["database"] == "ok"
        assert answer.json()["worker"] == "unknown"
