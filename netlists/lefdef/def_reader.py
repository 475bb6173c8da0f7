"""DEF (5.6 to 5.8) in, `DefFile` out, in one pass over the text.

Statements and sections that placing does not need (vias, rules, wiring, fills, technology) are passed over; the writer
takes them from the file. Statements not known are skipped to their `;` and counted in a warning.
"""

from __future__ import annotations

import math
from pathlib import Path

from netlists.errors import ParseError
from netlists.files import DEFAULT_LIMITS, Limits
from netlists.lefdef.def_components import MAX_DBU, ComponentSection, dbu, orientation_of, point
from netlists.lefdef.def_file import DefFile, Row, Tracks
from netlists.lefdef.def_nets import NetSection
from netlists.lefdef.def_pins import ItemSection, read_blockage, read_group, read_pin, read_region
from netlists.lefdef.def_walk import MAX_COUNT, Walk
from netlists.lefdef.statement import Statement
from netlists.lefdef.text import Warnings

_PLAIN = {
    b"NAMESCASESENSITIVE", b"TECHNOLOGY", b"ARRAY", b"FLOORPLAN", b"HISTORY", b"GCELLGRID",
    b"COMPONENTMASKSHIFT", b"CANPLACE", b"CANNOTOCCUPY", b"COMMENTCHAR", b"PROPERTY",
}  # fmt: skip


def read_def(path: Path, limits: Limits = DEFAULT_LIMITS, *, exact_only: bool = False) -> DefFile:
    """Reads one DEF, plain or gzip. Raises ParseError (file, line, column, token) or InputError.

    `exact_only` leaves the patterns for the usual layouts unused (for the tests).
    """
    return _Reader(path, limits, exact_only).read()


class _Reader:
    def __init__(self, path: Path, limits: Limits, exact_only: bool) -> None:
        self.path, self.limits = path, limits
        self.warnings = Warnings()
        self.components = ComponentSection(self.warnings, limits, exact_only=exact_only)
        self.nets = NetSection(self.components.number, self.warnings, limits, exact_only=exact_only)
        self.file = DefFile(path=path, components=self.components.components())

    def read(self) -> DefFile:
        file, warnings = self.file, self.warnings
        walk = Walk(
            self.path,
            {
                b"COMPONENTS": self.components,
                b"NETS": self.nets,
                b"PINS": ItemSection(lambda item: read_pin(item, file.pins, warnings), warnings),
                b"BLOCKAGES": ItemSection(lambda item: read_blockage(item, file.blockages, warnings), warnings),
                b"REGIONS": ItemSection(lambda item: read_region(item, file.regions, warnings), warnings),
                b"GROUPS": ItemSection(lambda item: read_group(item, file.groups, warnings), warnings),
            },
            self._statement,
            warnings,
        )
        walk.run(self.limits)
        if not file.units_per_um:
            raise ParseError(self.path, 0, "has no UNITS DISTANCE MICRONS, so its coordinates have no scale")
        file.components = self.components.components()
        file.nets = self.nets.nets()
        file.counted = walk.counted
        file.warnings = warnings.texts()
        return file

    def _statement(self, statement: Statement) -> None:
        file = self.file
        word = statement.take().upper()
        if word == b"VERSION":
            file.version = statement.take("a version").decode()
        elif word == b"DESIGN":
            file.design = statement.take("the design's name").decode()
        elif word == b"DIVIDERCHAR":
            file.divider = statement.raw().decode() or "/"
        elif word == b"BUSBITCHARS":
            file.bus_bits = statement.raw().decode() or "[]"
        elif word == b"UNITS":
            statement.expect(b"DISTANCE")
            statement.expect(b"MICRONS")
            file.units_per_um = statement.integer("database units a µm", least=1, most=1_000_000)
        elif word == b"DIEAREA":
            corners = []
            while statement.left():
                corners.append(point(statement, self.warnings))
            if len(corners) < 2:
                statement.fail("DIEAREA needs two corners, or a polygon of four or more", back=1)
            file.die = tuple(corners)
        elif word == b"ROW":
            file.rows.append(self._row(statement))
        elif word == b"TRACKS":
            self._tracks(statement)
        elif word in _PLAIN:
            pass
        else:
            if not word.replace(b"_", b"").isalnum() or len(word) > 40:
                statement.fail("is no DEF statement", back=1)
            self.warnings.add(f"DEF statement {word.decode()} is not known and skipped", statement.place)

    def _row(self, statement: Statement) -> Row:
        name = statement.take("the row's name").decode()
        site = statement.take("the row's site").decode()
        x, y = dbu(statement, self.warnings), dbu(statement, self.warnings)
        orientation = orientation_of(statement)
        columns = rows = 1
        step_x = step_y = 0
        if statement.left() and statement.peek().upper() == b"DO":
            statement.take()
            columns = statement.integer("a count", least=0, most=MAX_COUNT)
            statement.expect(b"BY")
            rows = statement.integer("a count", least=0, most=MAX_COUNT)
            if statement.left() and statement.peek().upper() == b"STEP":
                statement.take()
                step_x, step_y = dbu(statement, self.warnings), dbu(statement, self.warnings)
        return Row(name, site, x, y, orientation, columns, rows, step_x, step_y)

    def _tracks(self, statement: Statement) -> None:
        axis = statement.take("X or Y").upper()
        if axis not in (b"X", b"Y"):
            statement.fail("must be X or Y", back=1)
        start = dbu(statement, self.warnings)
        statement.expect(b"DO")
        count = statement.integer("a count", least=0, most=MAX_COUNT)
        statement.expect(b"STEP")
        step = round(statement.number("a step", least=0, most=MAX_DBU))
        while statement.left() and statement.peek().upper() != b"LAYER":
            statement.take()
        if statement.left():
            statement.take()
        layers = tuple(statement.take().decode() for _ in range(statement.left()))
        self.file.tracks.append(Tracks(axis.decode(), start, count, step, layers))


def die_box(file: DefFile) -> tuple[int, int, int, int]:
    """The box around DIEAREA, dbu; (0, 0, 0, 0) where the file has none."""
    if not file.die:
        return 0, 0, 0, 0
    xs, ys = [x for x, _ in file.die], [y for _, y in file.die]
    return min(xs), min(ys), max(xs), max(ys)


def is_whole(value: float) -> bool:
    return math.isfinite(value) and value == int(value)
