"""LEF and DEF text in chunks of whole statements: bytes, with their place in the file.

In: a path. Out: `Chunk`s of about 1 MiB that end where a statement ends, so that the readers never meet half of one;
the text of comments and quoted strings is masked at the same length, so that every offset stays true. Memory: one
chunk, or the longest statement.

Rules of the text (LEF/DEF 5.8 language reference, "Typographical and syntax conventions"): tokens stand between white
space, a statement ends with `;`, `#` at the start of a token begins a comment, a string in double quotes stays in
its line, a backslash takes the next character as it is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

from netlists.errors import ParseError
from netlists.files import DEFAULT_LIMITS, Limits, read_blocks

MAX_STATEMENT_BYTES = 256 << 20  # a clock net of a million pins has 40 MB
MAX_WARNING_KINDS = 200  # different texts; more are counted together
STRING = re.compile(rb'"(?:[^"\\\n\r]|\\.)*+"')
_MASKED = re.compile(rb'(?<![^\s;])(?:"(?:[^"\\\n\r]|\\.)*+"|#[^\n\r]*+)')
_END_OF_STATEMENT = re.compile(rb"(?<!\\);(?=[\s#]|\Z)")
_TOKEN = re.compile(rb"\S+")


class Chunk:
    """Whole statements. `text` has comments as blanks and strings as `"___"`; `raw` is the file's own bytes.

    Both start at byte `offset` of the (unpacked) file, in line `line`, counted from 1.
    """

    def __init__(self, path: Path, raw: bytes, text: bytes, offset: int, line: int) -> None:
        self.path, self.raw, self.text, self.offset, self.line = path, raw, text, offset, line
        self._known = (0, line)  # a position and its line: those asked for mostly grow
        self._has_cr = b"\r" in raw

    def where(self, pos: int) -> tuple[int, int]:
        """Line and column, both from 1, of a position in `text`. LF, CRLF and CR end a line."""
        at, line = self._known if self._known[0] <= pos else (0, self.line)
        line += count_lines(self.raw[at:pos])
        start = self._line_start(pos)
        self._known = (start, line)
        return line, pos - start + 1

    def fail(self, pos: int, message: str) -> NoReturn:
        """Raises ParseError: file, line, column, the token there and what is wrong with it."""
        line, column = self.where(pos)
        found = _TOKEN.search(self.raw, pos)
        token = found.group().decode(errors="replace")[:80] if found else "the end of the file"
        raise ParseError(self.path, line, f"column {column}, at '{token}': {message}", self._line_text(pos))

    def name(self, token: bytes) -> str:
        return token.decode()  # the chunk has been checked

    def _line_start(self, pos: int) -> int:
        last_cr = self.raw.rfind(b"\r", 0, pos) if self._has_cr else -1
        return max(self.raw.rfind(b"\n", 0, pos), last_cr) + 1

    def _line_text(self, pos: int) -> str:
        start = self._line_start(pos)
        end = min((at for end in (b"\n", b"\r") if (at := self.raw.find(end, pos)) >= 0), default=len(self.raw))
        return self.raw[start:end][:200].decode(errors="replace")


def count_lines(raw: bytes) -> int:
    """Line ends in these bytes, where CRLF is one."""
    if b"\r" not in raw:
        return raw.count(b"\n")
    return raw.count(b"\n") + raw.count(b"\r") - raw.count(b"\r\n")


def read_chunks(path: Path, limits: Limits = DEFAULT_LIMITS) -> Iterator[Chunk]:
    """The file's statements, in order. Raises ParseError for what is no text and for statements without end."""
    waiting: list[bytes] = []
    offset, line, size, wanted = 0, 1, 0, 0
    first = True
    for block in read_blocks(path, limits):
        waiting.append(block)
        size += len(block)
        if size < wanted:
            continue
        raw = b"".join(waiting)
        text = _masked(raw, first)
        end = _last_end(text)
        if end <= 0:
            # Nothing ends here: the next try sees twice as much, so that one long statement costs linear time.
            waiting, wanted = [raw], 2 * len(raw)
            if len(raw) > MAX_STATEMENT_BYTES:
                raise ParseError(path, line, f"a statement longer than {MAX_STATEMENT_BYTES:,} bytes, without its ';'")
            continue
        yield _checked(Chunk(path, raw[:end], text[:end], offset, line))
        offset, line, first = offset + end, line + count_lines(raw[:end]), False
        waiting, size, wanted = [raw[end:]], len(raw) - end, 0
    raw = b"".join(waiting)
    yield _checked(Chunk(path, raw, _masked(raw, first), offset, line))


def _masked(raw: bytes, first: bool) -> bytes:
    text = raw
    if first and text.startswith(b"\xef\xbb\xbf"):
        text = b"   " + text[3:]
    if b"#" in text or b'"' in text:
        text = _MASKED.sub(_mask, text)
    return text


def _mask(found: re.Match[bytes]) -> bytes:
    length = found.end() - found.start()
    return b" " * length if found.group().startswith(b"#") else b'"' + b"_" * (length - 2) + b'"'


def _last_end(text: bytes) -> int:
    """Where the last statement that is surely complete ends: behind a `;` with white space after it; else 0."""
    at = len(text)
    line = max(text.rfind(b"\n"), text.rfind(b"\r")) + 1
    if text.count(b'"', line) % 2:  # a string whose end is yet to come: a `;` in it would end nothing
        at = text.rfind(b'"')
    while (at := text.rfind(b";", 0, at)) >= 0:
        if at + 1 < len(text) and _END_OF_STATEMENT.match(text, at):
            return at + 1
    return 0


def _checked(chunk: Chunk) -> Chunk:
    raw = chunk.raw
    if (at := raw.find(b"\0")) >= 0:
        raise ParseError(chunk.path, chunk.where(at)[0], "byte 0x00 is not text; is this a binary file?")
    if not raw.isascii():
        try:
            raw.decode()
        except UnicodeDecodeError as error:
            line = chunk.where(error.start)[0]
            message = f"byte 0x{raw[error.start]:02x} is not UTF-8 text; is this a binary file?"
            raise ParseError(chunk.path, line, message) from error
    return chunk


class Warnings:
    """Warnings of a file, equal ones counted: `text`, or `text (x 1,234)`."""

    def __init__(self) -> None:
        self._count: Counter[str] = Counter()
        self._first: dict[str, str] = {}

    def add(self, text: str, example: str | Callable[[], str] = "", times: int = 1) -> None:
        """One more of `text`; `example` names the first thing that it was about (called only for the first)."""
        if text not in self._count and len(self._count) >= MAX_WARNING_KINDS:
            text, example = "further kinds of warning", ""
        self._count[text] += times
        if text not in self._first:
            self._first[text] = example if isinstance(example, str) else example()

    def texts(self) -> tuple[str, ...]:
        result = []
        for text, count in self._count.items():
            first = self._first[text]
            detail = [f"first: {first}"] if first else []
            detail += [f"x {count:,}"] if count > 1 else []
            result.append(text + (f" ({'; '.join(detail)})" if detail else ""))
        return tuple(result)
