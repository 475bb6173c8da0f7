"""Serves the built browser application: its files, and its one page for every address that is no file.

Files under assets/ have their content's hash in their name and are kept for ever; the page itself is asked for anew.
A file beside which `.gz` or `.br` lies is sent packed. Where nothing is built, a page says so.
"""

from __future__ import annotations

import mimetypes
from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse, HTMLResponse, Response

from backend.core.errors import NotFoundError

PACKED = (("br", ".br"), ("gzip", ".gz"))
NOT_BUILT = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Placewright</title>
<h1>The browser application is not built</h1>
<p>The service runs; its REST API is at <a href="/api/v1/openapi.json">/api/v1</a>.</p>
<p>To build the pages: <code>make setup</code>, then load this page again.</p></html>"""


def make_router(root: Path) -> APIRouter:
    """Routes of the pages in folder `root`; must be the last ones added."""
    router = APIRouter(include_in_schema=False)
    files = root.resolve()

    @router.api_route("/{path:path}", methods=["GET", "HEAD"])
    def get_page(path: str, request: Request) -> Response:
        if path == "api" or (path.startswith(("api/", "assets/")) and not _inside(files, path)):
            raise NotFoundError("no-such-route", f"There is nothing at /{path}")
        found = _inside(files, path) or _inside(files, "index.html")
        if found is None:
            return HTMLResponse(NOT_BUILT, status_code=503, headers={"Cache-Control": "no-store"})
        hashed = found.parent.name == "assets"
        headers = {
            "Cache-Control": "public, max-age=31536000, immutable" if hashed else "no-cache",
            "Vary": "Accept-Encoding",
        }
        media_type = mimetypes.guess_type(found.name)[0] or "application/octet-stream"
        accepted = request.headers.get("accept-encoding", "")
        for encoding, ending in PACKED:
            packed = found.with_name(found.name + ending)
            if encoding in accepted and packed.is_file():
                return FileResponse(packed, media_type=media_type, headers={**headers, "Content-Encoding": encoding})
        return FileResponse(found, media_type=media_type, headers=headers)

    return router


def _inside(root: Path, path: str) -> Path | None:
    """The file `path` below `root`, or None; never one outside."""
    if not path or "\0" in path:
        return None
    found = (root / path).resolve()
    return found if found.is_relative_to(root) and found.is_file() else None
