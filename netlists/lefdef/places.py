"""Macros and cells of a design in database units: lower left corners of their oriented boxes, and back to the model.

`centres_um` is the one formula by which a DEF's coordinates become the model's, so that a place that was written reads
back as the same float64 and is scored the same.
"""

from __future__ import annotations

import numpy as np

from netlists.errors import InputError
from netlists.lefdef.def_file import LongArray
from netlists.model import ByteArray, Database, Design, FloatArray, IntArray, NodeKind, Placement, oriented_size_um

TOLERANCE_DBU = 0.01  # of places that went through sums of float64 µm


def database_of(design: Design) -> Database:
    if design.database is None:
        raise InputError(
            f"design '{design.name}' does not come from LEF/DEF, so that it has no database units to be written in"
        )
    return design.database


def movable_macros(design: Design) -> IntArray:
    """Nodes of the hard macros that may be moved, in order."""
    hard = design.netlist.nodes_of(NodeKind.HARD_MACRO)
    return hard[~design.start.fixed[hard]]


def sizes_dbu(design: Design, nodes: IntArray, orientation: ByteArray) -> tuple[FloatArray, FloatArray]:
    """Oriented sizes of nodes in database units, as they are. `orientation` (N,)."""
    netlist = design.netlist
    width, height = oriented_size_um(netlist.width_um[nodes], netlist.height_um[nodes], orientation[nodes])
    units = database_of(design).units_per_um
    return width * units, height * units


def corners_dbu(design: Design, placement: Placement, nodes: IntArray) -> tuple[FloatArray, FloatArray]:
    """Lower left corners in database units, not rounded."""
    database = database_of(design)
    width, height = sizes_dbu(design, nodes, placement.orientation)
    return (
        placement.x_um[nodes] * database.units_per_um + database.origin_x - width / 2,
        placement.y_um[nodes] * database.units_per_um + database.origin_y - height / 2,
    )


def centres_um(
    x: LongArray, y: LongArray, width_um: FloatArray, height_um: FloatArray, database: Database
) -> tuple[FloatArray, FloatArray]:
    """Centres (µm from the canvas's corner) of oriented boxes whose lower left corners are x, y (dbu)."""
    units = database.units_per_um
    return (x - database.origin_x) / units + width_um / 2, (y - database.origin_y) / units + height_um / 2


def on_grid(design: Design, placement: Placement, nodes: IntArray) -> Placement:
    """The placement with the lower left corners of these nodes at the nearest points of the manufacturing grid."""
    database = database_of(design)
    grid = database.grid
    x, y = (np.round(at / grid).astype(np.int64) * grid for at in corners_dbu(design, placement, nodes))
    netlist = design.netlist
    size = oriented_size_um(netlist.width_um[nodes], netlist.height_um[nodes], placement.orientation[nodes])
    new_x, new_y = placement.x_um.copy(), placement.y_um.copy()
    new_x[nodes], new_y[nodes] = centres_um(x, y, *size, database)
    return placement.moved(x_um=new_x, y_um=new_y)


def whole_corners(design: Design, placement: Placement, nodes: IntArray) -> tuple[LongArray, LongArray]:
    """Lower left corners as integers. Raises InputError naming a macro that is off the manufacturing grid."""
    grid = database_of(design).grid
    x, y = corners_dbu(design, placement, nodes)
    whole_x, whole_y = np.round(x).astype(np.int64), np.round(y).astype(np.int64)
    off = (np.abs(x - whole_x) > TOLERANCE_DBU) | (np.abs(y - whole_y) > TOLERANCE_DBU)
    off |= (whole_x % grid != 0) | (whole_y % grid != 0)
    if off.any():
        at = int(np.flatnonzero(off)[0])
        raise InputError(
            f"'{design.netlist.node_name[nodes[at]]}' has its corner at ({x[at]:.4f} {y[at]:.4f}) database"
            " units, off the"
            f" manufacturing grid of {grid} ({np.count_nonzero(off):,} like this); snap the placement first"
        )
    return whole_x, whole_y
