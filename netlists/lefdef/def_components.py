"""COMPONENTS of a DEF: the usual layout by one pattern, everything else word by word with messages.

The tests hold both ways against each other. Memory: a name and about 30 bytes a component.
"""

from __future__ import annotations

import re
from array import array

import numpy as np

from netlists.errors import InputError, ParseError
from netlists.files import Limits, read_blocks
from netlists.lefdef.def_file import Components, Halo, Status
from netlists.lefdef.def_walk import ITEM
from netlists.lefdef.statement import Statement
from netlists.lefdef.text import Chunk, Warnings, count_lines
from netlists.model import Orientation

MAX_DBU = 1_000_000_000_000
ORIENTATIONS = {orientation.name.encode(): int(orientation) for orientation in Orientation}
STATUSES = {status.name.encode(): int(status) for status in Status}
_USUAL = re.compile(
    rb"\s*+-\s++((?![;#\"])\S++)\s++((?![;#\"])\S++)\s++(?:\+\s++SOURCE\s++(?:NETLIST|DIST|USER|TIMING)\s++)?+"
    rb"(?:\+\s++(?:UNPLACED|(PLACED|FIXED|COVER)\s++\(\s++(-?[0-9]{1,12})\s++(-?[0-9]{1,12})\s++\)\s++(F?[NSEW]))\s++)?+"
    rb"(?:\+\s++SOURCE\s++(?:NETLIST|DIST|USER|TIMING)\s++)?+;(?=\s|\Z)"
)
# keyword -> words that follow it; -1 = up to the next '+'
_PASSED = {b"EEQMASTER": 1, b"SOURCE": 1, b"MASKSHIFT": 1, b"ROUTEHALO": 3, b"WEIGHT": 1, b"PROPERTY": -1,
           b"GENERATE": -1, b"FOREIGN": -1, b"PHYSICAL": 0}  # fmt: skip


class Interned(dict[bytes, int]):
    """Numbers for texts, in order of their first use."""

    def __missing__(self, text: bytes) -> int:
        number = self[text] = len(self)
        return number


class ComponentSection:
    """Takes the section's items into columns; `components()` gives the arrays."""

    def __init__(self, warnings: Warnings, limits: Limits, *, exact_only: bool = False) -> None:
        self.warnings, self.limits, self.exact_only = warnings, limits, exact_only
        self.number: dict[bytes, int] = {}  # name -> component
        self.masters = Interned()
        self.master, self.x, self.y = array("i"), array("q"), array("q")
        self.orientation, self.status, self.offset = array("b"), array("b"), array("q")
        self.halo: dict[int, Halo] = {}
        self.region: dict[int, str] = {}
        self.count = 0

    def begin(self, count: int, statement: Statement) -> None:
        self.count = count
        if count > self.limits.max_nodes:
            raise InputError(f"{statement.place()}: {count:,} components; the limit is {self.limits.max_nodes:,} nodes")

    def items(self, chunk: Chunk, pos: int) -> int:
        usual, text, offset = _USUAL.match, chunk.text, chunk.offset
        number, masters = self.number, self.masters
        while True:
            found = None if self.exact_only else usual(text, pos)
            if found is None:
                item = ITEM.match(text, pos)
                if item is None:
                    return pos
                self._exact(Statement(chunk, item.start(1), item.end(1), True), offset + pos)
                pos = item.end()
                continue
            name, master, status, x, y, orientation = found.groups()
            if number.setdefault(name, len(number)) != len(self.master):
                self._refuse_second(name, chunk, found.start(1))
            self.master.append(masters[master])
            self.offset.append(offset + pos)
            if status is None:
                self._place(0, 0, 0, 0)
            else:
                self._place(int(x), int(y), ORIENTATIONS[orientation], STATUSES[status])
            pos = found.end()

    def _place(self, x: int, y: int, orientation: int, status: int) -> None:
        self.x.append(x)
        self.y.append(y)
        self.orientation.append(orientation)
        self.status.append(status)

    def _exact(self, item: Statement, offset: int) -> None:
        name = item.take("the component's name")
        if self.number.setdefault(name, len(self.number)) != len(self.master):
            self._refuse_second(name, item.chunk, item.start)
        component = len(self.master)
        master = self.masters[item.take("the component's cell type")]
        x = y = orientation = status = 0
        while item.left():
            item.expect(b"+")
            word = item.take("a keyword").upper()
            if word in (b"PLACED", b"FIXED", b"COVER", b"UNPLACED"):
                status = STATUSES[word]
                if word != b"UNPLACED" or (item.left() and item.peek() == b"("):
                    x, y = point(item, self.warnings)
                    orientation = orientation_of(item)
            elif word == b"HALO":
                soft = bool(item.left() and item.peek().upper() == b"SOFT" and item.take())
                left, bottom, right, top = (dbu(item, self.warnings, least=0) for _ in range(4))
                self.halo[component] = Halo(left, bottom, right, top, soft)
            elif word == b"REGION":
                self.region[component] = item.take("the region's name").decode()
                to_plus(item)  # old files give corners here
            elif word in _PASSED:
                pass_words(item, _PASSED[word])
            else:
                self.warnings.add(f"'+ {word.decode()}' of a component is not known and skipped", item.place)
                to_plus(item)
        self.master.append(master)
        self.offset.append(offset)
        self._place(x, y, orientation, status)

    def _refuse_second(self, name: bytes, chunk: Chunk, pos: int) -> None:
        first = line_at(chunk, self.offset[self.number[name]], self.limits)
        raise ParseError(
            chunk.path,
            chunk.where(pos)[0],
            f"component '{name.decode()}' is defined a second time; first at line {first:,}",
        )

    def end(self, statement: Statement) -> None:
        if self.count != len(self.master):
            self.warnings.add(f"COMPONENTS announces {self.count:,}, but holds {len(self.master):,}")

    def components(self) -> Components:
        names = b"\n".join(self.number).decode().split("\n") if self.number else []
        return Components(
            name=tuple(names),
            master=np.array(self.master, dtype=np.int32),
            masters=tuple(master.decode() for master in self.masters),
            x=np.array(self.x, dtype=np.int64),
            y=np.array(self.y, dtype=np.int64),
            orientation=np.array(self.orientation, dtype=np.int8),
            status=np.array(self.status, dtype=np.int8),
            offset=np.array(self.offset, dtype=np.int64),
            halo=self.halo,
            region=self.region,
        )


def line_at(chunk: Chunk, offset: int, limits: Limits) -> int:
    """The line of a byte of the (unpacked) file, for messages: reads the file anew up to there. Skips white space."""
    line, start = 1, 0
    for block in read_blocks(chunk.path, limits):
        part = block[: offset - start + 256]
        if start + len(block) > offset:
            at = offset - start
            while at < len(part) and part[at : at + 1].isspace():
                at += 1
            return line + count_lines(part[:at])
        line += count_lines(block)
        start += len(block)
    return line


def dbu(item: Statement, warnings: Warnings, *, least: int = -MAX_DBU) -> int:
    """A coordinate. A number with a point or exponent counts where it is integral, with a warning."""
    text = item.peek() if item.left() else b""
    value = item.integer("database units", least=least, most=MAX_DBU)
    if b"e" in text.lower() or b"." in text:
        warnings.add("coordinate written with a point or an exponent, which DEF does not allow", item.place)
    return value


def point(item: Statement, warnings: Warnings) -> tuple[int, int]:
    """`( x y )`"""
    item.expect(b"(")
    x, y = dbu(item, warnings), dbu(item, warnings)
    item.expect(b")")
    return x, y


def orientation_of(item: Statement) -> int:
    word = item.take("an orientation")
    if word not in ORIENTATIONS:
        item.fail(f"orientations are {', '.join(name.decode() for name in ORIENTATIONS)}", back=1)
    return ORIENTATIONS[word]


def to_plus(item: Statement) -> None:
    while item.left() and item.peek() != b"+":
        item.take()


def pass_words(item: Statement, count: int) -> None:
    if count < 0:
        to_plus(item)
    for _ in range(count):
        item.take("a value")
