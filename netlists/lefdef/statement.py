"""One statement of a LEF or DEF as words that are taken one after the other, each with its place for messages.

For the parts of the files that are small; the long sections of a DEF are read by patterns (`def_components.py`,
`def_nets.py`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import NoReturn

from netlists.lefdef.text import Chunk

_END = re.compile(rb"(?<!\\);(?=\s|\Z)")
_WORD = re.compile(rb"\S+")


def statements(chunk: Chunk, pos: int = 0) -> Iterator[Statement]:
    """The statements of a chunk from `pos` on; last, if any, the words behind the last `;`."""
    text = chunk.text
    for end in _END.finditer(text, pos):
        yield Statement(chunk, pos, end.start(), True)
        pos = end.end()
    rest = Statement(chunk, pos, len(text), False)
    if rest.left():
        yield rest


class Statement:
    """Words of `chunk.text[start:end]`, the `;` left out. `at` counts those taken."""

    def __init__(self, chunk: Chunk, start: int, end: int, terminated: bool) -> None:
        self.chunk, self.start, self.end, self.terminated = chunk, start, end, terminated
        self.words = chunk.text[start:end].split()
        self.at = 0

    def left(self) -> int:
        return len(self.words) - self.at

    count = left

    def peek(self, ahead: int = 0) -> bytes:
        return self.words[self.at + ahead]

    def take(self, wanted: str = "a word") -> bytes:
        """The next word; ParseError naming what was wanted where there is none."""
        if self.at >= len(self.words):
            self.fail(f"the statement ends where {wanted} must stand")
        self.at += 1
        return self.words[self.at - 1]

    def raw(self) -> bytes:
        """The next word as the file has it: strings not masked, without their quotes."""
        start, end = self._span(self.at)
        self.take()
        return self.chunk.raw[start:end].strip(b'"')

    def expect(self, word: bytes) -> None:
        if self.take(f"'{word.decode()}'").upper() != word:
            self.fail(f"must be '{word.decode()}'", back=1)

    def number(self, wanted: str = "a number", *, least: float = -math.inf, most: float = math.inf) -> float:
        """The next word as a finite number in [least, most]."""
        try:
            value = float(self.take(wanted))
        except ValueError:
            value = math.nan
        if not least <= value <= most or not math.isfinite(value):
            self.fail(f"must be {wanted}{_range(least, most)}", back=1)
        return value

    def integer(self, wanted: str, *, least: int, most: int) -> int:
        """The next word as an integer in [least, most]; `1.89e+06` counts where it is integral."""
        value = self.number(wanted, least=least, most=most)
        if value != int(value):
            self.fail(f"must be {wanted}, an integer", back=1)
        return int(value)

    def skip(self) -> None:
        self.at = len(self.words)

    def here(self, back: int = 0) -> tuple[int, int]:
        """Line and column of the next word, or of one taken before."""
        return self.chunk.where(self._span(self.at - back)[0])

    @property
    def line(self) -> int:
        return self.chunk.where(self._span(0)[0])[0]

    @property
    def end_line(self) -> int:
        return self.chunk.where(self.end)[0]

    def place(self) -> str:
        return f"{self.chunk.path.name}:{self.line}"

    def text(self) -> str:
        return self.chunk.raw[self.start : self.end].decode(errors="replace").strip()

    def fail(self, message: str, back: int = 0) -> NoReturn:
        self.chunk.fail(self._span(self.at - back)[0], message)

    def _span(self, index: int) -> tuple[int, int]:
        """Where in the chunk the word of this number stands; behind the last word: where the statement ends."""
        for number, word in enumerate(_WORD.finditer(self.chunk.text, self.start, self.end)):
            if number == index:
                return word.span()
        return self.end, self.end


def _range(least: float, most: float) -> str:
    if math.isfinite(least) and math.isfinite(most):
        return f" from {least:g} to {most:g}"
    return ""
