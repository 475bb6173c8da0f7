"""The text format of protocol buffers, exactly: one node of a netlist at a time, token by token, with line numbers.

In: text and a place in it. Out: a `NodeText`, or the error's words. Takes comments, either quote, escapes, `:` or not
before `{`, `<>` as braces, lists, strings in pieces, any spacing. Called by `textproto.py`, which takes the usual
layout in one step and leaves the rest to this.

Source: the text format language specification of protocol buffers; field names of tensorflow's GraphDef.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, NoReturn

from netlists.errors import ParseError

MAX_NODE_CHARS = 64 << 20  # one node's text; 64 MiB is a driver of some million sinks

Attribute = tuple[str, str, str]
"""(key, value field, value): field is f, i, b (value as written) or s, placeholder (value without quotes, unescaped).
Fields of the node itself other than name, input and attr have the field ""."""

_TOKEN = re.compile(
    r"[ \t\n\f\v]*+(?:"
    r"(?P<comment>\#[^\n]*+)"
    r"|(?P<word>[A-Za-z_][A-Za-z0-9_./]*+)"
    r"|(?P<number>[-+]?(?:0[xX][0-9a-fA-F]++|(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][-+]?[0-9]++)?[fF]?)(?![\w.]))"
    r'|(?P<string>"(?:[^"\\\n]++|\\[^\n])*+"|' + r"'(?:[^'\\\n]++|\\[^\n])*+')"
    r"|(?P<sign>[-{}<>\[\]:;,]))"
)
_ESCAPE = re.compile(rb"\\(?:([0-7]{1,3})|[xX]([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)
_PLAIN_ESCAPES = dict(zip(b"abfnrtv\\'\"?", b"\a\b\f\n\r\t\v\\'\"?", strict=True))
_VALUE_FIELDS = ("f", "i", "b", "s", "placeholder")
_CLOSING = {"{": "}", "<": ">"}


class NodeText(NamedTuple):
    """One node as written. `line` is the line of its name."""

    name: str
    inputs: list[str]
    attributes: list[Attribute]
    line: int


class Incomplete(Exception):  # noqa: N818 - a signal between the functions of this module, not an error
    """The text read so far ends within a node."""


class ExactParser:
    """Reads one node of `text` from `pos`. `final`: nothing follows the text."""

    def __init__(
        self, path: Path, text: str, pos: int, line: int, final: bool, on_comment: Callable[[str], None]
    ) -> None:
        self.path, self.text, self.pos, self.line = path, text, pos, line
        self.final, self.on_comment = final, on_comment
        self.kind, self.value = "", ""
        self.open: list[tuple[str, int]] = []  # (what, line) of the blocks we are in, for messages
        self.comments: list[str] = []

    def node(self) -> NodeText | None:
        """The next node; None where only space and comments are left."""
        if not self._next(optional=True):
            self._tell_comments()
            return None
        if (self.kind, self.value) != ("word", "node"):
            self._fail(f"expected 'node', found {self._shown()}; a netlist is a list of node {{ … }} blocks")
        name: str | None = None
        name_line = self.line
        inputs: list[str] = []
        attributes: list[Attribute] = []
        closing = self._open("node")
        while not self._at_end(closing):
            field = self._word("a field of a node (name, input, attr)")
            if field == "attr":
                attributes.append(self._attribute(name))
            elif field == "input":
                inputs.extend(self._strings())
            elif field == "name":
                if name is not None:
                    self._fail(f"node '{name}' has a second name")
                name = self._scalar_string()
                name_line = self.line
            else:
                attributes.append((field, "", self._scalar_string()))
            self._separator()
        if name is None:
            raise ParseError(self.path, name_line, "node without a name")
        self._tell_comments()
        return NodeText(name, inputs, attributes, name_line)

    def _attribute(self, node: str | None) -> Attribute:
        key: str | None = None
        found: tuple[str, str] | None = None
        closing = self._open(f"attr of node '{node}'" if node else "attr")
        while not self._at_end(closing):
            field = self._word("'key' or 'value'")
            if field == "key":
                key = self._scalar_string()
            elif field == "value":
                found = self._value(key)
            else:
                self._fail(f"expected 'key' or 'value', found '{field}'")
            self._separator()
        if key is None or found is None:
            self._fail(f"attr of node '{node}' without a {'key' if key is None else 'value'}")
        return key, *found

    def _value(self, key: str | None) -> tuple[str, str]:
        result: tuple[str, str] | None = None
        closing = self._open(f"value of attribute '{key}'")
        while not self._at_end(closing):
            field = self._word(f"one of {', '.join(_VALUE_FIELDS)}")
            if field not in _VALUE_FIELDS:
                self._fail(f"attribute '{key}' holds a '{field}' value; supported are {', '.join(_VALUE_FIELDS)}")
            if result is not None:
                self._fail(f"attribute '{key}' has a second value")
            result = (field, self._scalar_string() if field in ("s", "placeholder") else self._scalar_number())
            self._separator()
        if result is None:
            self._fail(f"attribute '{key}' has an empty value")
        return result

    # Fields

    def _open(self, what: str) -> str:
        line = self.line
        self._next()
        if self.value == ":" and self.kind == "sign":
            self._next()
        if self.kind != "sign" or self.value not in _CLOSING:
            self._fail(f"expected '{{' after {what}, found {self._shown()}")
        self.open.append((what, line))
        return _CLOSING[self.value]

    def _at_end(self, closing: str) -> bool:
        self._next()
        if self.kind == "sign" and self.value == closing:
            self.open.pop()
            return True
        return False

    def _word(self, wanted: str) -> str:
        if self.kind != "word":
            self._fail(f"expected {wanted}, found {self._shown()}")
        return self.value

    def _colon(self, field: str) -> None:
        self._next()
        if self.kind != "sign" or self.value != ":":
            self._fail(f"expected ':' after {field}, found {self._shown()}")

    def _separator(self) -> None:
        """An optional , or ; after a field."""
        start, line = self.pos, self.line
        self._next()
        if self.kind != "sign" or self.value not in ",;":
            self.pos, self.line = start, line

    def _scalar_string(self) -> str:
        self._colon(self.value)
        self._next()
        return self._rest_of_string()

    def _rest_of_string(self) -> str:
        """The string whose first piece is the current token: pieces that follow each other are one string."""
        if self.kind != "string":
            self._fail(f"expected a quoted text, found {self._shown()}")
        pieces = [self.value]
        while True:
            start, line = self.pos, self.line
            self._next()
            if self.kind != "string":
                self.pos, self.line = start, line
                return "".join(self._unescaped(piece) for piece in pieces)
            pieces.append(self.value)

    def _strings(self) -> list[str]:
        self._colon("input")
        self._next()
        if self.kind != "sign" or self.value != "[":
            return [self._rest_of_string()]
        result: list[str] = []
        self._next()
        while not (self.kind == "sign" and self.value == "]"):
            result.append(self._rest_of_string())
            self._next()
            if self.kind == "sign" and self.value == ",":
                self._next()
            elif not (self.kind == "sign" and self.value == "]"):
                self._fail(f"expected ',' or ']' in a list, found {self._shown()}")
        return result

    def _scalar_number(self) -> str:
        self._colon(self.value)
        self._next()
        minus = ""
        if self.kind == "sign" and self.value == "-":
            minus = "-"
            self._next()
        if self.kind == "word" and self.value.lower() in ("inf", "infinity", "nan", "true", "false"):
            return minus + self.value.lower()
        if self.kind != "number":
            self._fail(f"expected a number, found {self._shown()}")
        if self.value[:2].lower() in ("0x", "-0", "+0") and "x" in self.value.lower():
            return minus + str(int(self.value, 16))
        return minus + self.value.rstrip("fF")

    # Tokens

    def _next(self, *, optional: bool = False) -> bool:
        """Moves to the next token; False where the text ends and `optional` is set."""
        while True:
            match = _TOKEN.match(self.text, self.pos)
            if match is None:
                return self._no_token(optional)
            if match.end() == len(self.text) and not self.final and match.lastgroup != "sign":
                raise Incomplete  # the token may go on in the next block
            kind = match.lastgroup or ""
            start = match.start(kind)
            self.line += self.text.count("\n", self.pos, start)
            self.pos = match.end()
            if kind != "comment":
                self.kind, self.value = kind, match.group(kind)
                return True
            self.comments.append(match.group(kind))

    def _no_token(self, optional: bool) -> bool:
        rest = self.text[self.pos :].lstrip(" \t\n\f\v")
        start = len(self.text) - len(rest)
        if rest:
            # A quoted text that does not end on its line may go on in the next block.
            if not self.final and "\n" not in rest and len(rest) < MAX_NODE_CHARS:
                raise Incomplete
            self.line += self.text.count("\n", self.pos, start)
            shown = rest.split("\n", 1)[0]
            quote = rest[0] in "\"'"
            self._fail("a quoted text does not end on its line" if quote else f"unexpected text {shown[:20]!r}", shown)
        if not self.final and not optional:
            raise Incomplete
        self.line += self.text.count("\n", self.pos)
        self.pos = len(self.text)
        if optional:
            return False
        what, line = self.open[-1] if self.open else ("node", self.line)
        self._fail(f"the file ends within the {what} that starts at line {line}; is it truncated?")

    def _tell_comments(self) -> None:
        for comment in self.comments:
            self.on_comment(comment)

    def _unescaped(self, token: str) -> str:
        inner = token[1:-1]
        if "\\" not in inner:
            return inner

        def plain(match: re.Match[bytes]) -> bytes:
            octal, hexadecimal, u4, u8, other = match.groups()
            if octal or hexadecimal:
                return bytes([int(octal, 8) & 0xFF if octal else int(hexadecimal, 16)])
            if u4 or u8:
                try:
                    return chr(int(u4 or u8, 16)).encode("utf-8")
                except (ValueError, UnicodeEncodeError):
                    self._fail(f"escape {match.group().decode()} names no character")
            if other[0] not in _PLAIN_ESCAPES:
                self._fail(f"unknown escape {match.group().decode('utf-8', 'replace')} in a quoted text")
            return bytes([_PLAIN_ESCAPES[other[0]]])

        try:
            return _ESCAPE.sub(plain, inner.encode("utf-8")).decode("utf-8")
        except UnicodeDecodeError:
            self._fail(f"the escapes of {token[:60]} do not make UTF-8 text")

    def _shown(self) -> str:
        return self.value[:60] if self.kind == "string" else f"'{self.value[:60]}'"

    def _fail(self, message: str, text: str = "") -> NoReturn:
        raise ParseError(self.path, self.line, message, text)
