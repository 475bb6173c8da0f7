"""A placement of macros into the `.pl` that its design came from: other lines stay as they are; read back and compared.

In: the files of the design, the placement of a design with the same hard macros (the clustered one of a job). The
netlist itself is not read.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from netlists.bookshelf.coordinates import file_corner
from netlists.bookshelf.files import BookshelfFiles
from netlists.bookshelf.lines import some, without_comment
from netlists.bookshelf.nodes import NodeTable, PlaceTable, Status, read_nodes, read_places
from netlists.bookshelf.scl import core_box, read_rows
from netlists.circuit_training.writer import number
from netlists.errors import InputError, MismatchError
from netlists.files import DEFAULT_LIMITS, Limits, atomic_text, text_lines
from netlists.model import Design, FloatArray, IntArray, NodeKind, Orientation, Placement, oriented_size_um

_STATUS = {Status.FREE: "", Status.FIXED: " /FIXED", Status.FIXED_NI: " /FIXED_NI"}


def export_pl(
    path: Path,
    files: BookshelfFiles,
    design: Design,
    placement: Placement,
    *,
    cells: bool = False,
    limits: Limits = DEFAULT_LIMITS,
) -> Placement:
    """Writes the `.pl` of `files` with the hard macros where `placement` has them; returns what it says read back.

    `cells`: with the design's standard cells as well.

    The canvas's origin is added as it was taken off on reading. A macro's centre reads back the same, or off by the
    last bits of a float64 where no corner gives it. Raises InputError without a `.pl`, MismatchError where the design
    has macros that the files lack, or if the file says something else.
    """
    if files.pl is None:
        raise InputError(f"{files.nodes.name}: there is no .pl beside it to write the places into")
    nodes = read_nodes(files.nodes, limits)
    given = read_places(files.pl, nodes, limits)
    left, bottom, _, _ = core_box(read_rows(files.scl, limits) if files.scl else ())
    chosen = design.netlist.nodes_of(NodeKind.HARD_MACRO, *([NodeKind.CELL] if cells else []))
    what = "macros or cells" if cells else "macros"
    at = _nodes_of(nodes, [design.netlist.node_name[node] for node in chosen], files.nodes, what)
    size = np.array(nodes.width)[at], np.array(nodes.height)[at]
    x, y = _centres(given, at, size, (left, bottom))
    differ = x != placement.x_um[chosen]
    differ |= y != placement.y_um[chosen]
    differ |= given.orientation[at] != placement.orientation[chosen]
    moved = chosen[differ]
    width, height = oriented_size_um(size[0][differ], size[1][differ], placement.orientation[moved])
    corner_x = file_corner(placement.x_um[moved], width, left)
    corner_y = file_corner(placement.y_um[moved], height, bottom)
    lines = {
        design.netlist.node_name[node]: f"{design.netlist.node_name[node]} {number(cx)} {number(cy)}"
        f" : {Orientation(int(placement.orientation[node])).name}{_STATUS[Status(int(given.status[of]))]}"
        for node, of, cx, cy in zip(moved, at[differ], corner_x.tolist(), corner_y.tolist(), strict=True)
    }
    with atomic_text(path) as file:
        file.writelines(_exchanged(files.pl, lines, limits))

    back = read_places(path, nodes, limits)
    others = np.ones(len(nodes.line), dtype=np.bool_)
    others[at[differ]] = False
    for name in ("x", "y", "orientation", "status"):
        if not np.array_equal(getattr(back, name)[others], getattr(given, name)[others]):
            raise MismatchError(f"{path.name}: reads back with another {name} of nodes that were not to move")
    back_x, back_y = _centres(back, at, size, (left, bottom))
    for axis, read, wanted, origin in (("x", back_x, placement.x_um, left), ("y", back_y, placement.y_um, bottom)):
        last_bits = 4 * np.spacing(np.abs(wanted[chosen]) + abs(origin) + size[0] + size[1])
        _require(np.abs(read - wanted[chosen]) <= last_bits, path, axis, design, chosen)
    _require(back.orientation[at] == placement.orientation[chosen], path, "orientation", design, chosen)
    result_x, result_y = placement.x_um.copy(), placement.y_um.copy()
    result_x[chosen], result_y[chosen] = back_x, back_y
    return placement.moved(x_um=result_x, y_um=result_y)


def _nodes_of(nodes: NodeTable, names: list[str], path: Path, what: str) -> IntArray:
    if missing := [name for name in names if name not in nodes.index]:
        raise MismatchError(f"{path.name}: {len(missing):,} {what} are not among its nodes: {some(missing)}")
    return np.array([nodes.index[name] for name in names], dtype=np.int32)


def _centres(
    places: PlaceTable, at: IntArray, size: tuple[FloatArray, FloatArray], origin: tuple[float, float]
) -> tuple[FloatArray, FloatArray]:
    """Centres on the canvas, by the reader's own sums."""
    width, height = oriented_size_um(size[0], size[1], places.orientation[at])
    return (places.x[at] - origin[0]) + width / 2, (places.y[at] - origin[1]) + height / 2


def _exchanged(path: Path, lines: dict[str, str], limits: Limits) -> Iterator[str]:
    in_header = True
    for _, line in text_lines(path, limits):
        words = without_comment(line).split()
        yield (line if in_header or not words else lines.get(words[0], line)) + "\n"
        in_header = in_header and not words


def _require(good: np.ndarray, path: Path, what: str, design: Design, chosen: IntArray) -> None:
    if not good.all():
        bad = np.flatnonzero(~good)
        first = design.netlist.node_name[chosen[bad[0]]]
        raise MismatchError(f"{path.name}: reads back with another {what} for {len(bad):,} nodes, first '{first}'")
