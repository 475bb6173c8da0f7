"""A DEF and a placement in; out the same DEF with new places, orientations and states of the movable macros.

On request of cells, too, which are PLACED then.

Every other byte is the file's own: wiring, comments, line ends, order. Places must be on the manufacturing grid
(`snap.py`). Names are matched by their key (`names.py`), so that a design from a protobuf or Verilog netlist can be
written into its floorplan.
"""

from __future__ import annotations

import contextlib
import gzip
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

import numpy as np

from netlists.errors import InputError, MismatchError
from netlists.files import DEFAULT_LIMITS, Limits, atomic_bytes, read_blocks
from netlists.lefdef.def_components import ComponentSection
from netlists.lefdef.def_file import Status
from netlists.lefdef.def_walk import ITEM, Walk
from netlists.lefdef.names import by_key, canonical
from netlists.lefdef.places import centres_um, database_of, movable_macros, whole_corners
from netlists.lefdef.statement import Statement
from netlists.lefdef.text import Chunk, Warnings
from netlists.model import Design, IntArray, NodeKind, Orientation, Placement, oriented_size_um

_SHOWN = 10
_CLAUSE = re.compile(
    rb"\+\s+(PLACED|FIXED|COVER|UNPLACED)(?=\s|\Z)(?:\s+\(\s+(\S+)\s+(\S+)\s+\)\s+(F?[NSEW])(?=\s|\Z))?"
)
_HEAD = re.compile(rb"\s*\S+\s+\S+")


@dataclass(frozen=True)
class Place:
    """Lower left corner (dbu), orientation and status of a component."""

    x: int
    y: int
    orientation: Orientation
    status: Status

    def clause(self) -> bytes:
        return f"+ {self.status.name} ( {self.x} {self.y} ) {self.orientation.name}".encode()


def write_def(
    path: Path,
    source: Path,
    design: Design,
    placement: Placement,
    *,
    status: Status = Status.FIXED,
    cells: IntArray | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> int:
    """Writes `source` with the movable hard macros of `placement` and `cells` (nodes); returns how many.

    `status` is that of the macros. A name that ends in .gz packs.

    Raises InputError for places off the grid, MismatchError where the DEF does not hold each of the macros once.
    """
    macros = movable_macros(design)
    nodes = macros if cells is None else np.concatenate([macros, cells])
    x, y = whole_corners(design, placement, nodes)
    places = {
        canonical(design.netlist.node_name[node]): Place(
            int(x[at]),
            int(y[at]),
            Orientation(int(placement.orientation[node])),
            status if at < len(macros) else Status.PLACED,
        )
        for at, node in enumerate(nodes)
    }
    if len(places) != len(nodes):
        raise InputError(f"design '{design.name}' has components whose names differ in escapes only")
    edits = _edits(source, places, limits)
    with _target(path) as file:
        _copy(source, edits, file, limits)
    return len(places)


def read_places(
    path: Path, design: Design, limits: Limits = DEFAULT_LIMITS, *, cells: IntArray | None = None
) -> Placement:
    """The design's start with its hard macros, and `cells` (nodes), where this DEF has them: to check and score what
    was written.

    Raises MismatchError where the DEF lacks one of them or leaves one UNPLACED.
    """
    section, header = ComponentSection(Warnings(), limits), _Header()
    Walk(path, {b"COMPONENTS": section}, header, Warnings(), until=b"COMPONENTS").run(limits)
    parts, database = section.components(), database_of(design)
    numbers = by_key(parts.name, header.divider, header.bus_bits, f"{path.name}: components")
    netlist, start = design.netlist, design.start
    hard = netlist.nodes_of(NodeKind.HARD_MACRO)
    nodes = hard if cells is None else np.concatenate([hard, cells])
    at = np.array([numbers.get(canonical(netlist.node_name[node]), -1) for node in nodes], dtype=np.int64)
    if header.units_per_um != database.units_per_um:
        raise MismatchError(
            f"{path.name}: has {header.units_per_um} units a µm; the design has {database.units_per_um}"
        )
    bad = (at < 0) | (parts.status[at] == Status.UNPLACED) if len(parts.name) else np.ones(len(nodes), np.bool_)
    if bad.any():
        names = ", ".join(f"'{netlist.node_name[node]}'" for node in nodes[bad][:_SHOWN])
        what = "hard macros" if cells is None else "hard macros and cells"
        raise MismatchError(f"{path.name}: {np.count_nonzero(bad):,} {what} are missing or UNPLACED: {names}")
    orientation = start.orientation.copy()
    orientation[nodes] = parts.orientation[at]
    width, height = oriented_size_um(netlist.width_um[nodes], netlist.height_um[nodes], orientation[nodes])
    x, y = start.x_um.copy(), start.y_um.copy()
    x[nodes], y[nodes] = centres_um(parts.x[at], parts.y[at], width, height, database)
    return start.moved(x_um=x, y_um=y, orientation=orientation)


def spelled(path: Path, limits: Limits = DEFAULT_LIMITS) -> dict[str, str]:
    """Key -> the name of a component as this DEF spells it. Raises InputError where two have one key."""
    section, header = ComponentSection(Warnings(), limits), _Header()
    Walk(path, {b"COMPONENTS": section}, header, Warnings(), until=b"COMPONENTS").run(limits)
    names = section.components().name
    numbers = by_key(names, header.divider, header.bus_bits, f"{path.name}: components")
    return {key: names[number] for key, number in numbers.items()}


class _Header:
    """Takes the statements before COMPONENTS: units and how names are spelled."""

    def __init__(self) -> None:
        self.divider, self.bus_bits, self.units_per_um = "/", "[]", 0

    def __call__(self, statement: Statement) -> None:
        word = statement.take().upper()
        if word == b"DIVIDERCHAR":
            self.divider = statement.raw().decode() or "/"
        elif word == b"BUSBITCHARS":
            self.bus_bits = statement.raw().decode() or "[]"
        elif word == b"UNITS":
            statement.take(), statement.take()
            self.units_per_um = statement.integer("database units a µm", least=1, most=1_000_000)


class _Editor:
    """Takes COMPONENTS and notes what is to be exchanged: (first byte, byte behind the last, new bytes) of the file."""

    def __init__(self, places: Mapping[str, Place], header: _Header) -> None:
        self.places, self.header = places, header
        self.edits: list[tuple[int, int, bytes]] = []
        self.found: dict[str, str] = {}

    def begin(self, count: int, statement: Statement) -> None:
        pass

    def items(self, chunk: Chunk, pos: int) -> int:
        plain = self.header.divider == "/" and self.header.bus_bits == "[]"
        while item := ITEM.match(chunk.text, pos):
            pos = item.end()
            name = chunk.text[item.start(1) : item.start(1) + 4096].split(None, 1)[0].decode()
            key = name if plain and "\\" not in name else canonical(name, self.header.divider, self.header.bus_bits)
            place = self.places.get(key)
            if place is None:
                continue
            if key in self.found:
                chunk.fail(
                    item.start(1), f"also '{self.found[key]}' is called '{key}', so that the macro's place is ambiguous"
                )
            self.found[key] = name
            self._edit(chunk, item.start(1), item.end(1), place)
        return pos

    def _edit(self, chunk: Chunk, start: int, end: int, place: Place) -> None:
        clause = _CLAUSE.search(chunk.text, start, end)
        offset = chunk.offset
        if clause is None:
            head = _HEAD.match(chunk.text, start, end)
            if head is None:
                chunk.fail(start, "this component has no cell type")
            self.edits.append((offset + head.end(), offset + head.end(), b" " + place.clause()))
        elif clause[2] is None:
            self.edits.append((offset + clause.start(), offset + clause.end(), place.clause()))
        else:
            new = (place.status.name, str(place.x), str(place.y), place.orientation.name)
            for group, text in enumerate(new, start=1):
                if clause[group] != text.encode():
                    self.edits.append((offset + clause.start(group), offset + clause.end(group), text.encode()))

    def end(self, statement: Statement) -> None:
        pass


def _edits(source: Path, places: Mapping[str, Place], limits: Limits) -> list[tuple[int, int, bytes]]:
    header = _Header()
    editor = _Editor(places, header)
    Walk(source, {b"COMPONENTS": editor}, header, Warnings(), until=b"COMPONENTS").run(limits)
    if missing := [key for key in places if key not in editor.found]:
        shown = ", ".join(f"'{key}'" for key in missing[:_SHOWN])
        raise MismatchError(
            f"{source.name}: {len(missing):,} of {len(places):,} macros or cells of the placement are not among its"
            f" components: {shown}"
        )
    return editor.edits


def _copy(source: Path, edits: list[tuple[int, int, bytes]], file: IO[bytes], limits: Limits) -> None:
    """The file's bytes with those of the edits (in order) exchanged."""
    pending = iter(edits)
    edit = next(pending, None)
    offset = 0  # of the block's first byte
    done = 0  # bytes of the file that are written or exchanged
    for block in read_blocks(source, limits):
        end = offset + len(block)
        while edit is not None and edit[0] <= end:
            file.write(block[max(done - offset, 0) : edit[0] - offset])
            file.write(edit[2])
            done = edit[1]
            edit = next(pending, None)
        if done < end:
            file.write(block[max(done - offset, 0) :])
            done = end
        offset = end


@contextlib.contextmanager
def _target(path: Path) -> Iterator[IO[bytes]]:
    with contextlib.ExitStack() as stack:
        raw = stack.enter_context(atomic_bytes(Path(path)))
        if Path(path).suffix == ".gz":
            raw = cast(
                IO[bytes],
                stack.enter_context(gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0, compresslevel=6)),
            )
        yield raw
