"""Cells onto rows and sites, each to the nearest place that no macro covers. Cells may overlap each other afterwards.

In: places from the global placement. Out: places with corners on sites within the free parts of rows, and orientations
that the rows ask for. What legalises cells is the next tool.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netlists.bookshelf.made_up import made_up_rows
from netlists.model import ByteArray, Design, FloatArray, Orientation, Placement, Row
from placement.cells.problem import CellProblem
from placement.cells.refine import choose_rows, pins_of_cells
from placement.cells.room import obstacles_um
from placement.kernels import kernel

_NEAR = 1e-6  # of a row's height or a site's width: what sums of float64 may be off by
# An orientation upside down (mirrored about the x axis), by the number of `Orientation`.
_UPSIDE_DOWN = np.array([3, 2, 1, 0, 4, 5, 6, 7], dtype=np.int8)
_UPRIGHT = (Orientation.N, Orientation.FN)
_PASSES = 2  # over the choice of rows; a third gained 0.1 % on ibm01
_REACH_ROWS = 2.0  # rows: how far from where it was a cell may look for a better one
_STANDING = 4  # orientations below keep width and height


@dataclass(frozen=True, eq=False, kw_only=True)
class FreeRows:
    """Rows from the bottom up with their free parts, for cells of one height."""

    y_um: FloatArray  # (R,) bottom, never falling
    x_um: FloatArray  # (R,) of the first site
    step_um: FloatArray  # (R,)
    flipped: NDArray[np.bool_]  # (R,) cells stand upside down
    start: NDArray[np.int64]  # (R+1,) row r has the parts start[r]:start[r+1]
    low_um: FloatArray  # (S,) ends of the parts
    high_um: FloatArray  # (S,)

    @property
    def parts(self) -> tuple[FloatArray, FloatArray, FloatArray, NDArray[np.int64], FloatArray, FloatArray]:
        """What the kernels take, in their order."""
        return self.y_um, self.x_um, self.step_um, self.start, self.low_um, self.high_um


def rows_of(design: Design) -> tuple[Row, ...]:
    """The design's rows; where it has none, rows that cover the canvas."""
    return design.rows or made_up_rows(design)


def free_rows(rows: tuple[Row, ...], obstacles: FloatArray, height_um: float) -> FreeRows:
    """The free parts of rows for cells of this height: what no obstacle covers from a row's bottom to their top."""
    order = sorted(rows, key=lambda row: (row.y_um, row.x_um))
    bottom = np.array([row.y_um for row in order])
    top = max(row.y_um + row.height_um for row in order)
    near = _NEAR * order[0].height_um
    first = np.searchsorted(bottom, obstacles[:, 1] - height_um + near, side="left")
    last = np.searchsorted(bottom, obstacles[:, 3] - near, side="left")
    taken: list[list[tuple[float, float]]] = [[] for _ in order]
    for low, high, begin, end in zip(obstacles[:, 0].tolist(), obstacles[:, 2].tolist(), first, last, strict=True):
        for number in range(begin, end):
            taken[number].append((low, high))
    start, lows, highs = [0], [], []
    for row, cuts in zip(order, taken, strict=True):
        at = row.x_um
        if row.y_um + height_um <= top + near:
            for low, high in [*sorted(cuts), (row.right_um, row.right_um)]:
                if min(low, row.right_um) > at:
                    lows.append(at)
                    highs.append(min(low, row.right_um))
                at = max(at, high)
        start.append(len(lows))
    return FreeRows(
        y_um=bottom,
        x_um=np.array([row.x_um for row in order]),
        step_um=np.array([row.step_um for row in order]),
        flipped=np.array([row.orientation not in _UPRIGHT for row in order]),
        start=np.array(start, dtype=np.int64),
        low_um=np.array(lows, dtype=np.float64),
        high_um=np.array(highs, dtype=np.float64),
    )


@kernel
def _snap(
    left: NDArray[np.float64], bottom: NDArray[np.float64], width: NDArray[np.float64],
    row_y: NDArray[np.float64], row_x: NDArray[np.float64], step: NDArray[np.float64], start: NDArray[np.int64],
    low: NDArray[np.float64], high: NDArray[np.float64],
    row_of: NDArray[np.int64],
) -> None:  # fmt: skip
    """Moves lower left corners (M,) in place to the nearest site |dx| + |dy|; row_of (M,) the row, -1 = none fits."""
    rows = len(row_y)
    for cell in range(len(left)):
        x, y, w = left[cell], bottom[cell], width[cell]
        above = np.searchsorted(row_y, y)
        below = above - 1
        best, best_x, best_row = np.inf, x, -1
        while above < rows or below >= 0:
            up = row_y[above] - y if above < rows else np.inf
            down = y - row_y[below] if below >= 0 else np.inf
            if min(up, down) >= best:
                break
            if down <= up:
                row, away = below, down
                below -= 1
            else:
                row, away = above, up
                above += 1
            for part in range(start[row], start[row + 1]):
                least = np.ceil((low[part] - row_x[row]) / step[row] - 1e-6)
                most = np.floor((high[part] - w - row_x[row]) / step[row] + 1e-6)
                if most < least:
                    continue
                site = min(max(np.round((x - row_x[row]) / step[row]), least), most)
                at = row_x[row] + site * step[row]
                if abs(at - x) + away < best:
                    best, best_x, best_row = abs(at - x) + away, at, row
        row_of[cell] = best_row
        if best_row >= 0:
            left[cell], bottom[cell] = best_x, row_y[best_row]


def snap_to_rows(design: Design, placement: Placement, problem: CellProblem) -> tuple[Placement, int]:
    """The placement with its cells on rows and sites, and how many found no place and stay where they are.

    Each goes to the nearest place first, then to the row near by with the shortest nets (`refine.py`). Cells no higher
    than a row stand as their row asks; higher ones as they are.
    """
    rows = rows_of(design)
    obstacles = obstacles_um(design, placement)
    row_height = min(row.height_um for row in rows)
    width, height = problem.width_um, problem.height_um
    levels = np.maximum(np.ceil(height / row_height - _NEAR), 1.0)
    aim_x, aim_y = placement.x_um[problem.nodes], placement.y_um[problem.nodes]
    x, y, row_of = aim_x.copy(), aim_y.copy(), np.full(len(aim_x), -1, dtype=np.int64)
    classes = []
    for level in np.unique(levels):
        own = np.flatnonzero(levels == level)
        free = free_rows(rows, obstacles, float(level) * row_height)
        left, bottom, own_row = x[own] - width[own] / 2, y[own] - height[own] / 2, row_of[own]
        _snap(left, bottom, width[own], *free.parts, own_row)
        x[own], y[own], row_of[own] = left + width[own] / 2, bottom + height[own] / 2, own_row
        classes.append((own, free))
    net_of_pin = np.repeat(np.arange(len(problem.net_weight), dtype=np.int32), np.diff(problem.net_start))
    pins = pins_of_cells(problem.pin_cell, len(x))
    for _ in range(_PASSES):
        for own, free in classes:
            choose_rows(x, y, aim_x, aim_y, own, width, height, _REACH_ROWS * row_height, *free.parts,
                        problem.net_start, problem.net_weight, net_of_pin, problem.pin_cell, problem.pin_x_um,
                        problem.pin_y_um, *pins, row_of)  # fmt: skip
    new_x, new_y, orientation = placement.x_um.copy(), placement.y_um.copy(), placement.orientation.copy()
    new_x[problem.nodes], new_y[problem.nodes] = x, y
    own, free = classes[0]
    if levels[own[0]] == 1:
        placed = own[row_of[own] >= 0]
        nodes = problem.nodes[placed]
        orientation[nodes] = _standing(orientation[nodes], free.flipped[row_of[placed]])
    return placement.moved(x_um=new_x, y_um=new_y, orientation=orientation), int(np.count_nonzero(row_of < 0))


def _standing(orientation: ByteArray, flipped: NDArray[np.bool_]) -> ByteArray:
    """Orientations turned upside down where their row asks for it; those on their side are kept."""
    upright = np.isin(orientation, _UPRIGHT)
    turns = (orientation < _STANDING) & (upright == flipped)
    return np.where(turns, _UPSIDE_DOWN[orientation], orientation).astype(np.int8)
