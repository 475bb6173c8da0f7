"""The structure of a DEF: statements, sections of `- …` items, END DESIGN. The one place that knows how they nest.

In: a path and who takes what. Sections nobody takes are passed over item by item. Called by the reader and, for the
components alone, by the writer. Source: LEF/DEF 5.8 language reference, "DEF syntax".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn, Protocol

from netlists.errors import ParseError
from netlists.files import DEFAULT_LIMITS, Limits
from netlists.lefdef.statement import Statement
from netlists.lefdef.text import Chunk, Warnings, read_chunks

MAX_COUNT = 1_000_000_000
SECTIONS = {
    b"VIAS", b"STYLES", b"NONDEFAULTRULES", b"REGIONS", b"COMPONENTS", b"PINS", b"PINPROPERTIES",
    b"BLOCKAGES", b"SLOTS", b"FILLS", b"SPECIALNETS", b"NETS", b"SCANCHAINS", b"GROUPS", b"CONSTRAINTS", b"ASSERTIONS",
    b"IOTIMINGS", b"PARTITIONS", b"DEFAULTCAP", b"TIMINGDISABLES", b"FLOORPLANCONSTRAINTS",
}  # fmt: skip
# The text of one item: up to a `;` with white space behind it.
ITEM = re.compile(rb"\s*+-\s++((?:[^;\\]++|\\.|;(?=\S))*+);", re.S)
_WORD = re.compile(rb"\s*+(\S++)")
_END = re.compile(rb"(?<!\\);(?=\s|\Z)")


class Section(Protocol):
    """Who takes the items of a section."""

    def begin(self, count: int, statement: Statement) -> None: ...

    def items(self, chunk: Chunk, pos: int) -> int:
        """Takes the items from `pos` on; returns where the first thing stands that is none."""

    def end(self, statement: Statement) -> None: ...


class StatementTaker(Protocol):
    def __call__(self, statement: Statement) -> None: ...


class Passed:
    """A section whose items are only counted."""

    def __init__(self, counted: dict[str, int]) -> None:
        self.counted, self.name, self.seen = counted, "", 0

    def begin(self, count: int, statement: Statement) -> None:
        self.name, self.seen = statement.words[0].decode(), 0

    def items(self, chunk: Chunk, pos: int) -> int:
        match = ITEM.match
        while found := match(chunk.text, pos):
            pos = found.end()
            self.seen += 1
        return pos

    def end(self, statement: Statement) -> None:
        self.counted[self.name] = self.counted.get(self.name, 0) + self.seen


class Walk:
    """Goes through one DEF. `until` ends it behind that section (the writer needs no more)."""

    def __init__(
        self,
        path: Path,
        sections: Mapping[bytes, Section],
        statement: StatementTaker,
        warnings: Warnings,
        *,
        until: bytes = b"",
    ) -> None:
        self.path, self.sections, self.statement, self.warnings, self.until = path, sections, statement, warnings, until
        self.counted: dict[str, int] = {}
        self.passed = Passed(self.counted)
        self.block = b""  # section, PROPERTYDEFINITIONS or BEGINEXT that is open
        self.block_line = 0
        self.seen: dict[bytes, int] = {}  # sections, with their lines
        self.done = False
        self.started = False

    def run(self, limits: Limits = DEFAULT_LIMITS) -> None:
        """Raises ParseError where the file breaks its structure or ends too early."""
        last = None
        for chunk in read_chunks(self.path, limits):
            last = chunk
            pos = 0
            while pos >= 0 and not self.done:
                pos = self._section(chunk, pos) if self.block in SECTIONS else self._top(chunk, pos)
            if self.done and self.until:
                return
        if not self.started:
            raise ParseError(self.path, 0, "is no DEF file: it holds no DEF statement")
        assert last is not None
        if self.block:
            name = self.block.decode()
            self._fail_at_end(last, f"the file ends within {name} (line {self.block_line:,}), without its END")
        if not self.done:
            self._fail_at_end(last, "the file ends without END DESIGN")

    def _fail_at_end(self, last: Chunk, message: str) -> NoReturn:
        raise ParseError(self.path, last.where(len(last.raw))[0], message)

    def _section(self, chunk: Chunk, pos: int) -> int:
        taker = self.sections.get(self.block, self.passed)
        pos = taker.items(chunk, pos)
        found = _WORD.match(chunk.text, pos)
        if found is None:
            return -1
        if found[1] == b"-":
            chunk.fail(found.start(1), f"this item of {self.block.decode()} has no end (';')")
        name = _WORD.match(chunk.text, found.end())
        if found[1] != b"END" or name is None or name[1] != self.block:
            chunk.fail(found.start(1), f"must be '-' or END {self.block.decode()}")
        taker.end(Statement(chunk, found.start(1), name.end(), True))
        self.done = self.block == self.until
        self.block = b""
        return name.end()

    def _top(self, chunk: Chunk, pos: int) -> int:
        found = _WORD.match(chunk.text, pos)
        if found is None:
            return -1
        word, start = found[1], found.start(1)
        if self.block == b"BEGINEXT":
            if word == b"ENDEXT":
                self.block = b""
            return found.end()
        if word == b"END":
            name = _WORD.match(chunk.text, found.end())
            ended = b"DESIGN" if not self.block else self.block
            if name is None or name[1] != ended:
                chunk.fail(start, f"must be followed by {ended.decode()}")
            self.done, self.block = not self.block, b""
            return name.end()
        if word in (b"BEGINEXT", b"PROPERTYDEFINITIONS") and not self.block:
            self.block, self.block_line = word, chunk.where(start)[0]
            return found.end()
        end = _END.search(chunk.text, start)
        if end is None:
            chunk.fail(start, "a statement without its ';'")
        statement = Statement(chunk, start, end.start(), True)
        if self.block:
            return end.end()  # a property definition
        if word in SECTIONS:
            self._begin(word, statement)
        else:
            self.statement(statement)
        self.started = True
        return end.end()

    def _begin(self, word: bytes, statement: Statement) -> None:
        if word in self.seen:
            statement.fail(f"a second section {word.decode()}; the first is at line {self.seen[word]:,}")
        self.block, self.block_line = word, statement.line
        self.seen[word] = self.block_line
        statement.take()
        count = statement.integer("the number of items", least=0, most=MAX_COUNT) if statement.left() else 0
        if statement.left():
            statement.fail(f"must be the ';' of {word.decode()}")
        self.sections.get(word, self.passed).begin(count, statement)


def looks_like_def(start: bytes) -> bool:
    """Whether these first bytes of a file are those of a DEF."""
    words = re.sub(rb"#[^\n\r]*", b"", start)
    return bool(
        re.search(rb"(?m)^\s*(UNITS\s+DISTANCE\s+MICRONS|DIEAREA\s+\(|COMPONENTS\s+\d+\s*;)", words)
        or (re.search(rb"(?m)^\s*VERSION\s+[\d.]+\s*;", words) and re.search(rb"(?m)^\s*DESIGN\s+\S+\s*;", words))
    )
