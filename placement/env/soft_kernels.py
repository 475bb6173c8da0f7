"""The soft placer's sweep: positions of soft macros in, better ones out. See soft.py, which calls `place_soft`.

A sweep takes the soft macros one by one and puts each into the grid cell that costs least: exact growth of its nets'
wirelength (a term in x plus a term in y, each convex, so cells are tried outwards from the lowest, no further than
wirelength alone allows) plus what crowding there adds. Crowding of a cell is the square of its density above
`FREE_DENSITY`; hard macros count fully.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netlists.model import ORIENTATION_MATRIX, FloatArray, IntArray
from placement.cost.problem import Problem
from placement.kernels import compiling

FREE_DENSITY = 0.5  # crowding below it costs nothing; 0.4 to 0.7 are equally good on the benchmark designs
MOST_TERMINALS = 64  # larger nets are left out: no single move changes their box much, and reading them takes the time

# No NaN comes in, so that min and max may be vectorised; infinities do. Arrays are made by the caller, so reference
# counting is off; small steps are inlined: passing a tuple of arrays costs more than they do (placement/kernels.py).
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": {"nnan", "nsz"}, "_nrt": False}
_kernel = compiling(**_OPTIONS)
_inlined = compiling(**_OPTIONS, forceinline=True)

_MATRIX = ORIENTATION_MATRIX.astype(np.float64)
_TURNED = 4  # Orientation.E and above swap width and height


class Work(NamedTuple):
    """Arrays that a call fills before it reads them; made once, for making them takes its time."""

    term_x: FloatArray  # (T,) where the terminals are
    term_y: FloatArray
    density: FloatArray  # (rows, columns)
    along_x: FloatArray  # (columns,) growth of wirelength with one soft macro in each column
    along_y: FloatArray  # (rows,)
    line_x: FloatArray  # (columns + 1, 2) see _add_growth
    line_y: FloatArray
    across: FloatArray  # shares of a box, see _shares
    up: FloatArray


def new_work(p: Problem) -> Work:
    terms = len(p.term_dx)
    return Work(
        *(np.empty(shape) for shape in (terms, terms, (p.rows, p.columns), p.columns, p.rows)),
        *(np.zeros((cells + 1, 2)) for cells in (p.columns, p.rows)),
        *(np.empty(2 * cells + 3) for cells in (p.columns, p.rows)),
    )


@_inlined
def _box_share(low: float, high: float, cell: int, size: float) -> float:
    return max(min(high, (cell + 1) * size) - max(low, cell * size), 0.0) / size


@_inlined
def _inside(centre: float, size: float, length: float) -> float:
    """The centre moved as little as needed for a box of this size to lie within [0, length]."""
    half = min(size, length) / 2
    return min(max(centre, half), length - half)


@_inlined
def _add_box(p: Problem, density: FloatArray, x: float, y: float, w: float, h: float, sign: float) -> None:
    """Add a box's share of every cell to density (rows, columns)."""
    llx, urx, lly, ury = x - w / 2, x + w / 2, y - h / 2, y + h / 2
    c0, c1 = max(int(llx / p.cell_width), 0), min(int(urx / p.cell_width), p.columns - 1)
    r0, r1 = max(int(lly / p.cell_height), 0), min(int(ury / p.cell_height), p.rows - 1)
    for row in range(r0, r1 + 1):
        up = sign * _box_share(lly, ury, row, p.cell_height)
        for col in range(c0, c1 + 1):
            density[row, col] += up * _box_share(llx, urx, col, p.cell_width)


@_inlined
def place_terminals(
    p: Problem,
    node: int,
    x: FloatArray,
    y: FloatArray,
    orientation: NDArray[np.int8],
    term_x: FloatArray,
    term_y: FloatArray,
) -> None:
    """Write where a node's terminals are."""
    o = orientation[node]
    for term in range(p.node_term_start[node], p.node_term_start[node + 1]):
        dx, dy = p.term_dx[term], p.term_dy[term]
        term_x[term] = x[node] + _MATRIX[o, 0, 0] * dx + _MATRIX[o, 0, 1] * dy
        term_y[term] = y[node] + _MATRIX[o, 1, 0] * dx + _MATRIX[o, 1, 1] * dy


@_inlined
def _crowding(p: Problem, density: FloatArray, x: float, y: float, w: float, h: float) -> float:
    """By how much the sum of squared density above FREE_DENSITY grows with a box at (x, y)."""
    llx, urx, lly, ury = x - w / 2, x + w / 2, y - h / 2, y + h / 2
    c0, c1 = max(int(llx / p.cell_width), 0), min(int(urx / p.cell_width), p.columns - 1)
    r0, r1 = max(int(lly / p.cell_height), 0), min(int(ury / p.cell_height), p.rows - 1)
    total = 0.0
    for row in range(r0, r1 + 1):
        up = _box_share(lly, ury, row, p.cell_height)
        for col in range(c0, c1 + 1):
            before = max(density[row, col] - FREE_DENSITY, 0.0)
            after = max(density[row, col] + up * _box_share(llx, urx, col, p.cell_width) - FREE_DENSITY, 0.0)
            total += after * after - before * before
    return total


@_inlined
def _shares(extent: float, size: float, out: FloatArray) -> int:
    """Shares that a box of `extent`, centred in a cell, has of it and the cells beside it: out[0 … 2n], the cell itself
    at n, which is returned. `out` holds 2 * (extent / size) + 3 numbers."""
    beside = int(max(extent / size - 1.0, 0.0) / 2.0 + 1.0 - 1e-9)
    for k in range(2 * beside + 1):
        low = (k - beside - 0.5) * size
        out[k] = max(min(extent / 2, low + size) - max(-extent / 2, low), 0.0) / size
    return beside


@_inlined
def _crowding_centred(
    density: FloatArray, row: int, col: int, up: FloatArray, rows: int, across: FloatArray, columns: int, most: float
) -> float:
    """`_crowding` of a box centred in cell (row, col) that lies within the grid: shares `up` of `rows` cells each way
    and `across` of `columns`. Stops early once the sum is `most` or more."""
    total = 0.0
    for i in range(2 * rows + 1):
        line = density[row - rows + i]
        for j in range(2 * columns + 1):
            now = line[col - columns + j] - FREE_DENSITY
            before, after = max(now, 0.0), max(now + up[i] * across[j], 0.0)
            total += after * after - before * before
        if total >= most:
            break
    return total


@_inlined
def _add_growth(line: FloatArray, low: float, high: float, weight: float, per_size: float) -> None:
    """Add weight * (distance of a cell's middle from [low, high]) for every cell of a row of cells, but for the line
    weight * (low - middle), which `_sum_growth` begins with.

    line (cells + 1, 2): what offset and slope change by at each cell, so that a net costs four additions whatever the
    number of cells. per_size: 1 / size of a cell.
    """
    cells = len(line) - 1
    before = min(max(int(low * per_size + 0.5), 0), cells)  # cells whose middle lies below low
    after = min(max(int(high * per_size + 0.5), 0), cells)  # first cell whose middle lies above high
    line[before, 0] -= weight * low
    line[before, 1] += weight
    line[after, 0] -= weight * high
    line[after, 1] += weight


@_inlined
def _sum_growth(line: FloatArray, offset: float, slope: float, size: float, out: FloatArray) -> int:
    """Values in the middles of the cells: out (cells,); where the lowest is. `line` is left as zeros."""
    lowest = 0
    for cell in range(len(out)):
        offset += line[cell, 0]
        slope += line[cell, 1]
        out[cell] = offset + slope * (cell + 0.5) * size
        if out[cell] < out[lowest]:
            lowest = cell
        line[cell, 0] = line[cell, 1] = 0.0
    line[len(out), 0] = line[len(out), 1] = 0.0
    return lowest


@_kernel
def sweep_soft(
    p: Problem,
    soft: IntArray,
    x: FloatArray,
    y: FloatArray,
    orientation: NDArray[np.int8],
    work: Work,
    strength: float,
) -> None:
    """One sweep over the soft macros in the order of `soft`.

    Updated: x, y (N,), term_x, term_y (T,) and density (rows, columns). strength: wirelength cost that crowding 1 in
    one cell is worth. A soft macro counts as if its pins were at its centre, which is where clusters have them.
    """
    along_x, along_y, line_x, line_y = work.along_x, work.along_y, work.line_x, work.line_y
    across, up, density = work.across, work.up, work.density
    term_x, term_y = work.term_x, work.term_y
    per_width, per_height = 1.0 / p.cell_width, 1.0 / p.cell_height
    for node in soft:
        w, h = p.node_width[node], p.node_height[node]
        if orientation[node] >= _TURNED:
            w, h = h, w
        _add_box(p, density, x[node], y[node], w, h, -1.0)
        x[node], y[node] = _inside(x[node], w, p.width), _inside(y[node], h, p.height)
        first_term, end_term = p.node_term_start[node], p.node_term_start[node + 1]
        offset_x, offset_y, slope, wire_now = 0.0, 0.0, 0.0, 0.0
        for n in range(p.node_net_start[node], p.node_net_start[node + 1]):
            net = p.node_net[n]
            if p.net_start[net + 1] - p.net_start[net] > MOST_TERMINALS:
                continue
            x_low, x_high, y_low, y_high = np.inf, -np.inf, np.inf, -np.inf
            for k in range(p.net_start[net], p.net_start[net + 1]):
                term = p.net_term[k]
                if first_term <= term < end_term:
                    continue
                x_low, x_high = min(x_low, term_x[term]), max(x_high, term_x[term])
                y_low, y_high = min(y_low, term_y[term]), max(y_high, term_y[term])
            if x_low > x_high:
                continue
            weight = p.net_weight[net] * p.wirelength_scale
            wire_now += weight * (
                max(max(x_low - x[node], x[node] - x_high), 0.0) + max(max(y_low - y[node], y[node] - y_high), 0.0)
            )
            _add_growth(line_x, x_low, x_high, weight, per_width)
            _add_growth(line_y, y_low, y_high, weight, per_height)
            offset_x += weight * x_low
            offset_y += weight * y_low
            slope -= weight
        lowest_col = _sum_growth(line_x, offset_x, slope, p.cell_width, along_x)
        lowest_row = _sum_growth(line_y, offset_y, slope, p.cell_height, along_y)
        best = wire_now + strength * _crowding(p, density, x[node], y[node], w, h)
        best_x, best_y = x[node], y[node]
        columns_beside = _shares(min(w, p.width), p.cell_width, across)
        rows_beside = _shares(min(h, p.height), p.cell_height, up)
        lowest_x = along_x[lowest_col]
        next_below, next_above = lowest_row - 1, lowest_row
        while True:
            below = along_y[next_below] if next_below >= 0 else np.inf
            above = along_y[next_above] if next_above < p.rows else np.inf
            wire_y = min(below, above)
            if wire_y + lowest_x >= best:
                break
            if below < above:
                row = next_below
                next_below -= 1
            else:
                row = next_above
                next_above += 1
            middle_y = (row + 0.5) * p.cell_height
            cy = _inside(middle_y, h, p.height)
            next_left, next_right = lowest_col - 1, lowest_col
            while True:
                left = along_x[next_left] if next_left >= 0 else np.inf
                right = along_x[next_right] if next_right < p.columns else np.inf
                wire = wire_y + min(left, right)
                if wire >= best:
                    break
                if left < right:
                    col = next_left
                    next_left -= 1
                else:
                    col = next_right
                    next_right += 1
                middle_x = (col + 0.5) * p.cell_width
                cx = _inside(middle_x, w, p.width)
                if cx == middle_x and cy == middle_y:
                    most = (best - wire) / strength
                    cost = wire + strength * _crowding_centred(
                        density, row, col, up, rows_beside, across, columns_beside, most
                    )
                else:
                    cost = wire + strength * _crowding(p, density, cx, cy, w, h)
                if cost < best:
                    best, best_x, best_y = cost, cx, cy
        x[node], y[node] = best_x, best_y
        place_terminals(p, node, x, y, orientation, term_x, term_y)
        _add_box(p, density, best_x, best_y, w, h, 1.0)


@_kernel
def place_soft(
    p: Problem,
    soft: IntArray,
    x: FloatArray,
    y: FloatArray,
    orientation: NDArray[np.int8],
    strengths: FloatArray,
    work: Work,
) -> None:
    """One sweep for each of `strengths`; x, y (N,) of the nodes in `soft` are updated."""
    term_x, term_y, density = work.term_x, work.term_y, work.density
    density[:] = 0.0
    for node in range(len(x)):
        place_terminals(p, node, x, y, orientation, term_x, term_y)
        if p.has_area[node]:
            w, h = p.node_width[node], p.node_height[node]
            if orientation[node] >= _TURNED:
                w, h = h, w
            _add_box(p, density, x[node], y[node], w, h, 1.0)
    for strength in strengths:
        sweep_soft(p, soft, x, y, orientation, work, strength)
