"""The browser application's files: one page for every address, packed where possible, never anything outside."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from backend.core.config import Settings


@pytest.fixture
def pages(settings: Settings) -> Path:
    folder = settings.frontend
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html>the page")
    (folder / "assets" / "app-1a2b.js").write_text("let x = 1")
    (folder / "assets" / "app-1a2b.js.gz").write_bytes(gzip.compress(b"let x = 1"))
    (folder.parent / "secret.txt").write_text("secret")
    return folder


def test_not_built(client: TestClient) -> None:
    answer = client.get("/")
    assert answer.status_code == 503
    assert "make setup" in answer.text


def test_one_page_for_every_address(client: TestClient, pages: Path) -> None:
    for path in ("/", "/jobs/123", "/designs", "/index.html"):
        answer = client.get(path)
        assert answer.text == "<!doctype html>the page"
        assert answer.headers["content-type"].startswith("text/html")
        assert answer.headers["cache-control"] == "no-cache"


def test_assets_are_kept_and_packed(client: TestClient, pages: Path) -> None:
    packed = client.get("/assets/app-1a2b.js", headers={"Accept-Encoding": "gzip"})
    plain = client.get("/assets/app-1a2b.js", headers={"Accept-Encoding": "identity"})
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.text == plain.text == "let x = 1"
    assert "javascript" in packed.headers["content-type"]
    assert "immutable" in plain.headers["cache-control"]


@pytest.mark.parametrize(
    "path", ["/../secret.txt", "/..%2fsecret.txt", "/assets/..%2f..%2fsecret.txt", "/%2e%2e/secret.txt"]
)
def test_nothing_outside(client: TestClient, pages: Path, path: str) -> None:
    assert client.get(path).text != "secret"
