"""PINS, BLOCKAGES, REGIONS and GROUPS of a DEF: short sections, word by word."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from netlists.errors import ParseError
from netlists.lefdef.def_components import orientation_of, point, to_plus
from netlists.lefdef.def_file import Blockage, DefPin, Group, Rect, Region, Status
from netlists.lefdef.def_walk import ITEM
from netlists.lefdef.statement import Statement
from netlists.lefdef.text import Chunk, Warnings
from netlists.model import ORIENTATION_MATRIX

_DIRECTIONS = (b"INPUT", b"OUTPUT", b"INOUT", b"FEEDTHRU")


class ItemSection:
    """A section whose items are statements for one function."""

    def __init__(self, take: Callable[[Statement], None], warnings: Warnings) -> None:
        self.take, self.warnings, self.count, self.seen = take, warnings, 0, 0

    def begin(self, count: int, statement: Statement) -> None:
        self.count, self.seen = count, 0

    def items(self, chunk: Chunk, pos: int) -> int:
        while item := ITEM.match(chunk.text, pos):
            self.take(Statement(chunk, item.start(1), item.end(1), True))
            pos = item.end()
            self.seen += 1
        return pos

    def end(self, statement: Statement) -> None:
        if self.seen != self.count:
            name = statement.words[-1].decode()
            self.warnings.add(f"{name} announces {self.count:,}, but holds {self.seen:,}")


class _Port:
    """Shapes and place of one port of a pin."""

    def __init__(self) -> None:
        self.xs: list[int] = []
        self.ys: list[int] = []
        self.layer = ""
        self.place: tuple[int, int, int, Status] | None = None

    def point(self) -> tuple[float, float]:
        """The port's point, moved by the centre of the box around its shapes, oriented."""
        assert self.place is not None
        x, y, orientation, _ = self.place
        if not self.xs:
            return float(x), float(y)
        centre = ((min(self.xs) + max(self.xs)) / 2, (min(self.ys) + max(self.ys)) / 2)
        dx, dy = ORIENTATION_MATRIX[orientation].astype(np.float64) @ centre
        return x + float(dx), y + float(dy)


def read_pin(item: Statement, pins: dict[str, DefPin], warnings: Warnings) -> None:
    """One item of PINS into `pins`. A pin of several ports is where its first placed port is."""
    name = item.take("the pin's name").decode()
    if name in pins:
        raise ParseError(
            item.chunk.path, item.line, f"pin '{name}' is defined a second time; first at line {pins[name].line:,}"
        )
    ports = [_Port()]
    net, direction, use, special = "", "", "SIGNAL", False
    while item.left():
        item.expect(b"+")
        word = item.take("a keyword").upper()
        if word == b"NET":
            net = item.take("the net's name").decode()
        elif word == b"SPECIAL":
            special = True
        elif word == b"DIRECTION":
            taken = item.take("a direction").upper()
            if taken not in _DIRECTIONS:
                item.fail("directions are INPUT, OUTPUT, INOUT and FEEDTHRU", back=1)
            direction = taken.decode()
        elif word == b"USE":
            use = item.take("a use").upper().decode()
        elif word == b"PORT":
            ports.append(_Port())
        elif word in (b"LAYER", b"POLYGON"):
            _shape(item, ports[-1], warnings)
        elif word in (b"PLACED", b"FIXED", b"COVER"):
            x, y = point(item, warnings)
            ports[-1].place = (x, y, orientation_of(item), Status[word.decode()])
        elif word in (b"VIA", b"NETEXPR", b"SUPPLYSENSITIVITY", b"GROUNDSENSITIVITY", b"UNPLACED", b"PROPERTY") or (
            word.startswith(b"ANTENNA")
        ):
            to_plus(item)
        else:
            warnings.add(f"'+ {word.decode()}' of a pin is not known and skipped", item.place)
            to_plus(item)
    placed = next((port for port in ports if port.place is not None), None)
    x_of, y_of = placed.point() if placed else (0.0, 0.0)
    status = placed.place[3] if placed and placed.place else Status.UNPLACED
    layer = next((port.layer for port in ports if port.layer), "")
    pins[name] = DefPin(name, net, direction, use, status, x_of, y_of, layer, special, item.line)


def _shape(item: Statement, port: _Port, warnings: Warnings) -> None:
    port.layer = port.layer or item.peek().decode() if item.left() else port.layer
    item.take("the layer's name")
    while item.left() and item.peek() not in (b"(", b"+"):
        item.take()  # MASK, SPACING, DESIGNRULEWIDTH and their numbers
    while item.left() and item.peek() == b"(":
        x, y = point(item, warnings)
        port.xs.append(x)
        port.ys.append(y)


def read_blockage(item: Statement, blockages: list[Blockage], warnings: Warnings) -> None:
    """One item of BLOCKAGES."""
    line = item.line
    kind = item.take("LAYER or PLACEMENT").upper()
    if kind not in (b"LAYER", b"PLACEMENT"):
        item.fail("must be LAYER or PLACEMENT", back=1)
    name = item.take("the layer's name").decode() if kind == b"LAYER" else "PLACEMENT"
    soft, partial, component = False, None, ""
    rects: list[Rect] = []
    polygons: list[tuple[tuple[int, int], ...]] = []
    while item.left():
        word = item.take().upper()
        if word == b"+":
            key = item.take("a keyword").upper()
            if key == b"SOFT":
                soft = True
            elif key == b"PARTIAL":
                partial = item.number("a density in per cent", least=0, most=100)
            elif key == b"COMPONENT":
                component = item.take("the component's name").decode()
            elif key in (b"SPACING", b"DESIGNRULEWIDTH", b"MASK"):
                item.take("a value")
            elif key not in (b"SLOTS", b"FILLS", b"PUSHDOWN", b"EXCEPTPGNET"):
                warnings.add(f"'+ {key.decode()}' of a blockage is not known and skipped", item.place)
        elif word == b"RECT":
            (x1, y1), (x2, y2) = point(item, warnings), point(item, warnings)
            rects.append((min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2)))
        elif word == b"POLYGON":
            corners = []
            while item.left() and item.peek() == b"(":
                corners.append(point(item, warnings))
            if len(corners) < 3:
                item.fail(f"a polygon of {len(corners)} corners", back=1)
            polygons.append(tuple(corners))
        elif word in (b"SPACING", b"DESIGNRULEWIDTH") and kind == b"LAYER":
            item.take("a value")
        else:
            item.fail("must be '+', RECT or POLYGON", back=1)
    blockages.append(Blockage(name, soft, partial, component, tuple(rects), tuple(polygons), line))


def read_region(item: Statement, regions: dict[str, Region], warnings: Warnings) -> None:
    """One item of REGIONS."""
    name = item.take("the region's name").decode()
    rects: list[Rect] = []
    kind = ""
    while item.left() and item.peek() == b"(":
        (x1, y1), (x2, y2) = point(item, warnings), point(item, warnings)
        rects.append((min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2)))
    while item.left():
        item.expect(b"+")
        word = item.take("a keyword").upper()
        if word == b"TYPE":
            kind = item.take("FENCE or GUIDE").upper().decode()
            if kind not in ("FENCE", "GUIDE"):
                item.fail("types are FENCE and GUIDE", back=1)
        to_plus(item)
    if name in regions:
        item.fail(f"region '{name}' is defined a second time")
    regions[name] = Region(name, kind, tuple(rects))


def read_group(item: Statement, groups: list[Group], warnings: Warnings) -> None:
    """One item of GROUPS."""
    name = item.take("the group's name").decode()
    members: list[str] = []
    region = ""
    while item.left() and item.peek() != b"+":
        members.append(item.take().decode())
    while item.left():
        item.expect(b"+")
        word = item.take("a keyword").upper()
        if word == b"REGION" and item.left():
            region = item.take().decode()
        to_plus(item)
    groups.append(Group(name, tuple(members), region))
