"""JSON bodies of requests, read strictly: no key twice, no endless nesting, no number of thousands of digits.

In: a request. Out: its value, as `json` reads it. Raises JSONDecodeError, which leaves as the problem `invalid-request`
with line and column (backend/core/errors.py). Routers take it by `route_class=StrictJsonRoute`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute

from netlists.constraints_json.located import MAX_DEPTH

MAX_DIGITS = 308  # of a whole number; more than float64 reaches


class _RefusedError(Exception):
    """Says what was found, and the text by which it is found again in the body."""

    def __init__(self, message: str, words: str, which: int = 0) -> None:
        super().__init__(message)
        self.words, self.which = words, which


def strict_json(text: str) -> Any:
    """The value that a text holds. Raises JSONDecodeError."""
    try:
        value = json.loads(text, object_pairs_hook=_object, parse_int=_whole)
    except _RefusedError as error:
        at = text.find(error.words)
        for _ in range(error.which):
            at = max(text.find(error.words, at + 1), at)
        raise json.JSONDecodeError(str(error), text, max(at, 0)) from None
    except RecursionError:
        raise json.JSONDecodeError(f"Nested more than {MAX_DEPTH} deep", text, _too_deep(text)) from None
    if text.count("[") + text.count("{") > MAX_DEPTH and _depth(value) > MAX_DEPTH:
        raise json.JSONDecodeError(f"Nested more than {MAX_DEPTH} deep", text, _too_deep(text))
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _RefusedError(f"The key {json.dumps(key)[:100]} is given twice in one object", json.dumps(key), 1)
            seen.add(key)
    return found


def _whole(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise _RefusedError(f"A number of {len(digits):,} digits; at most {MAX_DIGITS} are read", digits)
    return int(digits)


def _depth(value: Any) -> int:
    """How deep lists and objects lie in each other, without recursion."""
    level, depth = [value], 0
    while level := [one for one in level if isinstance(one, (dict, list)) and one]:
        level = [item for one in level for item in (one.values() if isinstance(one, dict) else one)]
        depth += 1
    return depth


def _too_deep(text: str) -> int:
    """Where the nesting passes MAX_DEPTH."""
    depth, at, quoted = 0, 0, False
    while at < len(text):
        letter = text[at]
        if quoted:
            at += letter == "\\"
            quoted = letter != '"'
        elif letter == '"':
            quoted = True
        elif letter in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                return at
        elif letter in "]}":
            depth -= 1
        at += 1
    return 0


class _StrictRequest(Request):
    async def json(self) -> Any:
        if not hasattr(self, "_json"):
            self._json = strict_json(_text(await self.body()))
        return self._json


def _text(body: bytes) -> str:
    encoding = json.detect_encoding(body)
    try:
        return body.decode(encoding)
    except UnicodeDecodeError as error:
        before = len(body[: error.start].decode(encoding, errors="replace"))
        message = f"Byte 0x{body[error.start]:02x} is no {encoding} text"
        raise json.JSONDecodeError(message, body.decode(encoding, errors="replace"), before) from None


class StrictJsonRoute(APIRoute):
    """A route whose JSON body is read by `strict_json`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def strict(request: Request) -> Response:
            return await handler(_StrictRequest(request.scope, request.receive))

        return strict
