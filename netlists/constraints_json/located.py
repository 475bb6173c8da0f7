"""JSON with the line of every value, for errors that name it. Stricter than `json`: a key given twice is an error.

In: a text. Out: `Located` values: an object is a dict of names to `Located`, an array a list of them. Raises
ParseError. `located` wraps values that never were text (line 0). Grammar: RFC 8259; numbers as Python's `json` reads
them, so NaN and Infinity come through for the caller to refuse with the thing's name.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netlists.errors import InputError, ParseError

MAX_DEPTH = 32
_EXACT = 2.0**53  # whole numbers below it are exact in float64
_SPACE = re.compile(r"[ \t\n\r]*")


@dataclass(frozen=True)
class Located:
    """A JSON value: dict[str, Located], list[Located], str, int, float, bool or None; `line` counts from 1."""

    value: Any
    line: int = 0

    def plain(self) -> Any:
        """The value without lines; whole numbers as integers."""
        if isinstance(self.value, dict):
            return {key: item.plain() for key, item in self.value.items()}
        if isinstance(self.value, list):
            return [item.plain() for item in self.value]
        if isinstance(self.value, float) and self.value.is_integer() and abs(self.value) < _EXACT:
            return int(self.value)
        return self.value


def located(value: Any, depth: int = 0) -> Located:
    """A plain JSON value as `Located`. Raises InputError for one that is nested too deep."""
    if depth > MAX_DEPTH:
        raise InputError(f"JSON nested more than {MAX_DEPTH} deep")
    if isinstance(value, dict):
        return Located({str(key): located(item, depth + 1) for key, item in value.items()})
    if isinstance(value, (list, tuple)):
        return Located([located(item, depth + 1) for item in value])
    return Located(value)


def parse_located(path: Path, text: str) -> Located:
    """The one value that the text holds. Raises ParseError with the line."""
    parser = _Parser(path, text)
    value, end = parser.value(0, 0)
    end = parser.skip(end)
    if end < len(text):
        parser.refuse(end, f"text after the end of the JSON value: {text[end : end + 20]!r}")
    return value


class _Parser:
    def __init__(self, path: Path, text: str) -> None:
        self.path, self.text = path, text
        self.starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self.scalar = json.JSONDecoder(parse_int=float).raw_decode  # int() of a long row of digits may refuse

    def line(self, at: int) -> int:
        return bisect_right(self.starts, at)

    def refuse(self, at: int, message: str) -> None:
        raise ParseError(self.path, self.line(at), f"not JSON: {message}")

    def skip(self, at: int) -> int:
        match = _SPACE.match(self.text, at)
        return match.end() if match else at

    def value(self, at: int, depth: int) -> tuple[Located, int]:
        at = self.skip(at)
        if depth > MAX_DEPTH:
            self.refuse(at, f"nested more than {MAX_DEPTH} deep")
        opening = self.text[at : at + 1]
        if opening == "{":
            return self.members(at, depth)
        if opening == "[":
            return self.items(at, depth)
        try:
            value, end = self.scalar(self.text, at)
        except json.JSONDecodeError as error:
            found = self.text[error.pos : error.pos + 20].split("\n")[0]
            self.refuse(error.pos, f"{error.msg}, found {found!r}" if found else f"{error.msg}, but the text ends")
        return Located(value, self.line(at)), end

    def items(self, start: int, depth: int) -> tuple[Located, int]:
        result: list[Located] = []
        at = self.skip(start + 1)
        if self.text[at : at + 1] == "]":
            return Located(result, self.line(start)), at + 1
        while True:
            value, at = self.value(at, depth + 1)
            result.append(value)
            at = self.skip(at)
            if self.text[at : at + 1] == "]":
                return Located(result, self.line(start)), at + 1
            at = self.comma(at, start, "]")

    def members(self, start: int, depth: int) -> tuple[Located, int]:
        result: dict[str, Located] = {}
        at = self.skip(start + 1)
        if self.text[at : at + 1] == "}":
            return Located(result, self.line(start)), at + 1
        while True:
            at = self.skip(at)
            if self.text[at : at + 1] != '"':
                self.refuse(at, f"expected a name in double quotes, found {self.text[at : at + 20]!r}")
            key, end = self.value(at, depth)
            if key.value in result:
                raise ParseError(
                    self.path, self.line(at), f"{key.value!r} is given twice, first at line {result[key.value].line}"
                )
            end = self.skip(end)
            if self.text[end : end + 1] != ":":
                self.refuse(end, f"expected ':' after {key.value!r}, found {self.text[end : end + 20]!r}")
            result[key.value], at = self.value(end + 1, depth + 1)
            at = self.skip(at)
            if self.text[at : at + 1] == "}":
                return Located(result, self.line(start)), at + 1
            at = self.comma(at, start, "}")

    def comma(self, at: int, start: int, end: str) -> int:
        if self.text[at : at + 1] != ",":
            found = repr(self.text[at : at + 20]) if at < len(self.text) else "the end of the text"
            self.refuse(at, f"expected ',' or '{end}' (opened at line {self.line(start)}), found {found}")
        return at + 1
