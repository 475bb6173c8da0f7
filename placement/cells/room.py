"""Where cells have room: rows less macros, blockages and locked cells, as a grid of free area and its integral.

In: a flat design and a placement of its macros. Out: `Room`, which tells the free area of any box in constant time.
Macros keep their halos free of cells, as a DEF's HALO means it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from netlists.errors import InputError
from netlists.model import Design, FloatArray, NodeKind, Placement, oriented_halo_um, oriented_size_um

MOST_EDGES = 4096  # along an axis: what bounds the memory of the exact union of boxes, to 16 MB
MOST_EXACT = 4000  # obstacles that are united exactly; smaller ones beyond (locked cells) do not overlap


@dataclass(frozen=True, eq=False, kw_only=True)
class Room:
    """Free area on a grid of bins over the canvas."""

    width_um: float
    height_um: float
    free_um2: FloatArray  # (rows, columns), row 0 at the bottom
    integral_um2: FloatArray  # (rows+1, columns+1): free area left of and below each corner of the bins

    @property
    def total_um2(self) -> float:
        return float(self.integral_um2[-1, -1])


def make_room(design: Design, placement: Placement, columns: int, rows: int) -> Room:
    """The room of a design. Raises InputError where there is none at all."""
    width, height = design.canvas.width_um, design.canvas.height_um
    boxes = _clipped(obstacles_um(design, placement), width, height)
    largest = np.argsort(-(boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1]), kind="stable")
    exact, small = boxes[np.sort(largest[:MOST_EXACT])], boxes[np.sort(largest[MOST_EXACT:])]
    free = _free_area(_clipped(_rows_um(design), width, height), exact, width, height, columns, rows)
    if len(small):
        middle_x, middle_y = (small[:, 0] + small[:, 2]) / 2, (small[:, 1] + small[:, 3]) / 2
        column = np.minimum((middle_x / width * columns).astype(np.int64), columns - 1)
        row = np.minimum((middle_y / height * rows).astype(np.int64), rows - 1)
        area = (small[:, 2] - small[:, 0]) * (small[:, 3] - small[:, 1])
        np.subtract.at(free, (row, column), area)
        free = np.maximum(free, 0.0)
    if not free.sum() > 0:
        raise InputError(f"design '{design.name}' has no room for cells: rows less macros and blockages are empty")
    integral = np.zeros((rows + 1, columns + 1))
    integral[1:, 1:] = free.cumsum(axis=0).cumsum(axis=1)
    return Room(width_um=width, height_um=height, free_um2=free, integral_um2=integral)


def obstacles_um(design: Design, placement: Placement) -> FloatArray:
    """(B, 4) llx lly urx ury that cells keep off: macros with their halos, locked cells, blockages."""
    netlist = design.netlist
    cells = netlist.nodes_of(NodeKind.CELL)
    solid = np.concatenate([netlist.nodes_of(NodeKind.HARD_MACRO), cells[design.start.fixed[cells]]])
    orientation = placement.orientation[solid]
    width, height = oriented_size_um(netlist.width_um[solid], netlist.height_um[solid], orientation)
    x, y = placement.x_um[solid], placement.y_um[solid]
    boxes = np.stack([x - width / 2, y - height / 2, x + width / 2, y + height / 2], axis=1)
    if design.constraints is not None:
        halo = oriented_halo_um(design.constraints.halo_um[solid], orientation)
        boxes += halo * np.array([-1.0, -1.0, 1.0, 1.0])
    return np.concatenate([boxes, design.blockages_um])


def _rows_um(design: Design) -> FloatArray:
    """(R, 4) boxes of the rows; the canvas where the design has none."""
    if not design.rows:
        return np.array([[0.0, 0.0, design.canvas.width_um, design.canvas.height_um]])
    return np.array([[row.x_um, row.y_um, row.right_um, row.y_um + row.height_um] for row in design.rows])


def _clipped(boxes: FloatArray, width: float, height: float) -> FloatArray:
    inside = np.clip(boxes, 0.0, np.array([width, height, width, height]))
    return inside[(inside[:, 2] > inside[:, 0]) & (inside[:, 3] > inside[:, 1])]


def _edges(values: FloatArray, size: float, bins: int) -> FloatArray:
    """Sorted edges along an axis, bins' among them; where there are too many, those of a uniform grid."""
    lines = np.linspace(0.0, size, bins + 1)
    edges = np.unique(np.concatenate([lines, values]))
    if len(edges) > MOST_EDGES:
        edges = np.linspace(0.0, size, bins * max(1, MOST_EDGES // bins) + 1)
    return edges


def _free_area(
    rows: FloatArray, obstacles: FloatArray, width: float, height: float, columns: int, bin_rows: int
) -> FloatArray:
    """(bin_rows, columns) µm²: the union of the rows less the union of the obstacles, exact but for `MOST_EDGES`."""
    both = np.concatenate([rows, obstacles])
    xs, ys = _edges(both[:, [0, 2]].ravel(), width, columns), _edges(both[:, [1, 3]].ravel(), height, bin_rows)
    open_ = np.zeros((len(ys) - 1, len(xs) - 1), dtype=np.bool_)
    for boxes, value in ((rows, True), (obstacles, False)):
        at = [_nearest(edges, boxes[:, side]) for side, edges in ((0, xs), (1, ys), (2, xs), (3, ys))]
        for left, bottom, right, top in zip(*at, strict=True):
            open_[bottom:top, left:right] = value
    first_x = _nearest(xs, np.linspace(0.0, width, columns + 1)[:-1])
    first_y = _nearest(ys, np.linspace(0.0, height, bin_rows + 1)[:-1])
    by_row = np.add.reduceat(open_ * np.diff(xs)[None, :], first_x, axis=1)
    return np.asarray(np.add.reduceat(by_row * np.diff(ys)[:, None], first_y, axis=0))


def _nearest(edges: FloatArray, values: FloatArray) -> np.ndarray:
    at = np.clip(np.searchsorted(edges, values), 1, len(edges) - 1)
    return np.where(values - edges[at - 1] < edges[at] - values, at - 1, at)
