"""Verilog text in, tokens out, in chunks of whole statements. Source: IEEE 1364-2005, clause 3 "Lexical conventions".

Comments and attributes `(* … *)` are blanked first, at the same length, so that every token's line can be told when it
is needed. An escaped identifier keeps its backslash and loses the blank that ends it. Knows no grammar.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from netlists.errors import InputError, ParseError
from netlists.files import Limits, text_blocks

CHUNK_CHARS = 1 << 20
_BLANKED = re.compile(r'\\\S+|"(?:[^"\\\n]|\\.)*"|(//[^\n]*|/\*.*?(?:\*/|\Z)|\(\*(?!\s*\)).*?(?:\*\)|\Z))', re.S)
_TOKEN = re.compile(
    r"[A-Za-z_][A-Za-z0-9_$]*|[()\[\].,;{}:=#]"
    r"|\\\S+"  # escaped identifier
    r"|(?:[0-9][0-9_]*\s*)?'[sS]?[bBoOdDhH]\s*[0-9a-fA-FxXzZ?_]+"  # based number
    r"|[0-9][0-9_]*(?:\.[0-9]+)?"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|`[A-Za-z_]\w*|\$[A-Za-z_]\w*"
    r"|/\*|[^\s]"
)
# A place to cut: a semicolon at the end of its line that no escaped identifier holds.
_CUT = re.compile(r"(?:^|\s)[^\s\\]*;[ \t]*\n")


_HEAD = re.compile(
    r"(?>\s|//[^\n]*(?:\n|$)|/\*.*?\*/|\(\*.*?\*\)|`[a-z_]+[^\n]*(?:\n|$))*+(?:module|macromodule)\b", re.S
)
_HEAD_CHARS = 1 << 16


def looks_like_verilog(path: Path, limits: Limits) -> bool:
    """By the first word that is no comment, else by the name."""
    try:
        head = next(text_blocks(path, limits), "")[:_HEAD_CHARS]
    except InputError:  # whoever reads the file says what is wrong with it
        head = ""
    return bool(_HEAD.match(head)) or path.name.lower().removesuffix(".gz").endswith((".v", ".sv"))


class Chunk:
    """Tokens of a piece of one file, which ends where a statement ends."""

    def __init__(self, path: Path, text: str, first_line: int) -> None:
        self.path, self.text, self.first_line = path, text, first_line

    def tokens(self) -> list[str]:
        return _TOKEN.findall(self.text)

    def line(self, at: int) -> int:
        """The line of a token; of the last one for those beyond. Reads the piece again: for messages only."""
        start = 0
        for number, match in enumerate(_TOKEN.finditer(self.text)):
            start = match.start()
            if number == at:
                break
        return self.first_line + self.text.count("\n", 0, start)


class Line(NamedTuple):
    """The line of a token, found when a message needs it: `int(line)`."""

    chunk: Chunk
    at: int

    def __int__(self) -> int:
        return self.chunk.line(self.at)


def chunks(path: Path, limits: Limits) -> Iterator[Chunk]:
    """The file in pieces of about 1 MiB (or the longest statement). Raises ParseError."""
    text = "".join(text_blocks(path, limits))

    def blank(match: re.Match[str]) -> str:
        comment = match[1]
        if comment is None:
            return match[0]
        if comment[0] != "/" or comment[1] == "*":
            end = "*/" if comment[0] == "/" else "*)"
            if len(comment) < 4 or not comment.endswith(end):
                raise ParseError(path, text.count("\n", 0, match.start()) + 1, f"'{comment[:2]}' without its '{end}'")
        return re.sub(r"[^\n]", " ", comment)

    text = _BLANKED.sub(blank, text)
    line, pos = 1, 0
    while pos < len(text):
        end = _cut(text, pos)
        piece = text[pos:end]
        yield Chunk(path, piece, line)
        line += piece.count("\n")
        pos = end


def _cut(text: str, pos: int) -> int:
    if len(text) - pos <= CHUNK_CHARS:
        return len(text)
    last = None
    start = pos + max(CHUNK_CHARS - 20_000, 0)
    for match in _CUT.finditer(text, start, pos + CHUNK_CHARS):
        last = match
    last = last or _CUT.search(text, pos + CHUNK_CHARS)
    return last.end() if last else len(text)


def plain_name(token: str) -> str:
    """The name that an identifier stands for: without the backslash of an escaped one."""
    return token[1:] if token[:1] == "\\" else token


def is_name(token: str) -> bool:
    first = token[:1]
    return first.isalpha() or first == "_" or (first == "\\" and len(token) > 1)


def number_bits(token: str, path: Path, line: Line | int) -> str:
    """A constant as characters 0 1 x z, most significant first; 32 of them for a plain number."""
    found = re.fullmatch(r"([0-9_]*)\s*'[sS]?([bBoOdDhH])\s*([0-9a-fA-FxXzZ?_]+)", token)
    if found is None:
        if not token.replace("_", "").isdecimal():
            raise ParseError(path, int(line), f"'{token}' is not a constant")
        return format(int(token.replace("_", "")) % (1 << 32), "032b")
    size, base, digits = found[1].replace("_", ""), found[2].lower(), found[3].replace("_", "").lower()
    width = int(size) if size else 32
    if not 0 < width <= 1 << 16:
        raise ParseError(path, int(line), f"constant '{token}': a width of {width:,} bits")
    if base == "d":
        if not digits.isdecimal():
            bits = digits.replace("?", "z") * width if len(digits) == 1 and digits in "xz?" else ""
        else:
            bits = format(int(digits), "b")
    else:
        per = {"b": 1, "o": 3, "h": 4}[base]
        bits = ""
        for digit in digits.replace("?", "z"):
            if digit not in "xz" and int(digit, 16) >= 1 << per:
                raise ParseError(path, int(line), f"constant '{token}': '{digit}' is no digit of base '{base}'")
            bits += digit * per if digit in "xz" else format(int(digit, 16), f"0{per}b")
    if not bits:
        raise ParseError(path, int(line), f"constant '{token}' has odd digits")
    fill = bits[0] if bits[0] in "xz" else "0"
    return bits.rjust(width, fill)[-width:]
