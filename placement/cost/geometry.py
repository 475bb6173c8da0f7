"""Where terminals and boxes are, and which grid cell that is: scalar kernels of the full and the incremental cost.

Both computations must use these very functions: cells are found by a floor, so the last bit of a position counts.
"""

from __future__ import annotations

from numpy.typing import NDArray

from netlists.model import ORIENTATION_MATRIX
from placement.cost.problem import Problem
from placement.kernels import inlined

_MATRIX = ORIENTATION_MATRIX.astype("float64")
_TURNED = 4  # Orientation.E and above swap width and height


@inlined
def cell_of(position: float, size: float, count: int) -> int:
    """Row or column of a position, clamped into the grid: pins on and beyond the edges occur in real files."""
    # A truncation equals the floor from 0 on; below 0 both are clamped to the first cell.
    cell = int(position / size)
    if position < 0.0 or cell < 0:
        return 0
    return min(cell, count - 1)


@inlined
def place_terminals(
    p: Problem,
    node: int,
    x: float,
    y: float,
    o: int,
    term_x: NDArray,
    term_y: NDArray,
    term_row: NDArray,
    term_col: NDArray,
) -> None:
    """Write position and cell of every terminal of a node whose centre is (x, y) µm and orientation o."""
    a, b, c, d = _MATRIX[o, 0, 0], _MATRIX[o, 0, 1], _MATRIX[o, 1, 0], _MATRIX[o, 1, 1]
    for term in range(p.node_term_start[node], p.node_term_start[node + 1]):
        dx, dy = p.term_dx[term], p.term_dy[term]
        tx = x + (a * dx + b * dy)
        ty = y + (c * dx + d * dy)
        term_x[term] = tx
        term_y[term] = ty
        term_col[term] = cell_of(tx, p.cell_width, p.columns)
        term_row[term] = cell_of(ty, p.cell_height, p.rows)


@inlined
def half_size(p: Problem, node: int, o: int) -> tuple[float, float]:
    """Half width and half height (µm) of a node in orientation o."""
    if o >= _TURNED:
        return 0.5 * p.node_height[node], 0.5 * p.node_width[node]
    return 0.5 * p.node_width[node], 0.5 * p.node_height[node]


@inlined
def overlap(low: float, high: float, cell: int, size: float) -> float:
    """Length (µm, ≥ 0) that the interval [low, high] shares with a row or column of this size."""
    return max(min(high, (cell + 1) * size) - max(low, cell * size), 0.0)
