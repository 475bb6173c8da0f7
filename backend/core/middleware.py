"""Pure ASGI middleware: bodies are counted while they stream in, every answer gets its security headers."""

from __future__ import annotations

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from backend.core.errors import TooLargeError, problem

MAX_JSON_BYTES = 1 << 20

# The pages load nothing from anywhere else; pictures of placements are ours too, blob: is how the page saves files.
PAGE_POLICY = (
    "default-src 'self'; img-src 'self' data: blob:; style-src 'self' 'unsafe-inline'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'self'; object-src 'none'"
)
SECURITY_HEADERS = {
    "content-security-policy": PAGE_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


class BodyLimit:
    """Refuses bodies over a limit: at once by their Content-Length, else when the bytes that came pass it."""

    def __init__(self, app: ASGIApp, *, upload_path: str, max_upload_bytes: int) -> None:
        self.app = app
        self.upload_path = upload_path
        self.max_upload_bytes = max_upload_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        is_upload = scope["method"] == "POST" and scope["path"] == self.upload_path
        limit = self.max_upload_bytes if is_upload else MAX_JSON_BYTES
        detail = f"The body is larger than {limit:,} bytes, the limit of {'uploads' if is_upload else 'a request'}"
        declared = dict(scope["headers"]).get(b"content-length", b"")
        if declared.isdigit() and int(declared) > limit:
            headers = {"Connection": "close"}
            response = problem(413, detail, kind="body-too-large", instance=scope["path"], headers=headers)
            await response(scope, receive, send)
            return
        seen = 0

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            if message["type"] == "http.request":
                seen += len(message.get("body", b""))
                if seen > limit:
                    raise TooLargeError("body-too-large", detail)
            return message

        await self.app(scope, counted, send)


class SecurityHeaders:
    """Adds the headers that a route did not set itself."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self.app(scope, receive, with_headers)
