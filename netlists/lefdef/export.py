"""A placement to a DEF and a Tcl file, both read back: what they say must be the placement, to the last bit."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from netlists.errors import MismatchError
from netlists.files import DEFAULT_LIMITS, Limits
from netlists.lefdef.def_file import Status
from netlists.lefdef.def_writer import read_places, spelled, write_def
from netlists.lefdef.names import canonical
from netlists.lefdef.places import database_of, movable_macros, whole_corners
from netlists.lefdef.tcl import read_tcl, write_tcl
from netlists.model import Design, IntArray, NodeKind, Orientation, Placement


def export_def(
    path: Path,
    source: Path,
    design: Design,
    placement: Placement,
    *,
    status: Status = Status.FIXED,
    cells: IntArray | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> Placement:
    """Writes the DEF and returns what it says when read back. Raises MismatchError if that is not `placement`.

    `cells`: nodes whose places are written beside those of the macros, as PLACED.
    """
    write_def(path, source, design, placement, status=status, cells=cells, limits=limits)
    back = read_places(path, design, limits, cells=cells)
    hard = design.netlist.nodes_of(NodeKind.HARD_MACRO)
    nodes = hard if cells is None else np.concatenate([hard, cells])
    for name in ("x_um", "y_um", "orientation"):
        differ = np.flatnonzero(getattr(back, name)[nodes] != getattr(placement, name)[nodes])
        if len(differ):
            first, what = design.netlist.node_name[nodes[differ[0]]], "macros" if cells is None else "macros or cells"
            raise MismatchError(
                f"{path.name}: reads back with another {name} for {len(differ):,} {what}, first '{first}'"
            )
    return placement.moved(
        x_um=back_of(placement.x_um, back.x_um, nodes), y_um=back_of(placement.y_um, back.y_um, nodes)
    )


def back_of(kept: np.ndarray, read: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    """`kept` with the values of `read` at these nodes."""
    result = kept.copy()
    result[nodes] = read[nodes]
    return result


def export_tcl(
    path: Path, design: Design, placement: Placement, version: str = "", *, source: Path | None = None
) -> int:
    """Writes the Tcl, reads it back and returns the number of macros. Names are as in the DEF `source`, if given.

    Raises MismatchError if the file says something else, or if the DEF lacks a macro.
    """
    nodes = movable_macros(design)
    names = [design.netlist.node_name[node] for node in nodes]
    if source is not None:
        spelling = spelled(source)
        if missing := [name for name in names if canonical(name) not in spelling]:
            raise MismatchError(
                f"{source.name}: {len(missing):,} macros are not among its components, first '{missing[0]}'"
            )
        names = [spelling[canonical(name)] for name in names]
    write_tcl(path, design, placement, version, names)
    x, y = whole_corners(design, placement, nodes)
    expected = {
        names[at]: (int(x[at]), int(y[at]), Orientation(int(placement.orientation[node])))
        for at, node in enumerate(nodes)
    }
    if read_tcl(path, database_of(design).units_per_um) != expected:
        raise MismatchError(f"{path.name}: does not read back as the placement that was written")
    return len(nodes)
