"""Soft macros at an episode's end: a few sweeps that trade wirelength against crowding, in milliseconds.

In: positions with all hard macros placed. Out: positions of the soft macros. Each sweep takes the soft macros one by
one and puts each into the grid cell that costs least: exact growth of its nets' wirelength (a term in x plus a term
in y, so all cells cost little more than one row and one column) plus what crowding there adds. Crowding of a cell
is the square of its density above `FREE_DENSITY`; hard macros count fully. Starts at the design's soft places.
Called by the environment once an episode. Not the optimiser: `placement.search` betters what comes out.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from netlists.model import ORIENTATION_MATRIX, Design, FloatArray, IntArray, NodeKind, Placement
from placement.cost import evaluate
from placement.cost.problem import Problem, problem_of
from placement.kernels import compiling

# Weight of crowding in each sweep, over the design's own. Falling weights spread the soft macros first and then let
# wirelength draw them together: on random and greedy episodes of three benchmark designs that takes 1 to 4 % off the
# proxy cost of equal weights. Rising ones, wirelength first, add 2 to 5 %.
RAMP = (4.0, 2.0, 1.0, 1.0)
LONG_RAMP = (16.0, 8.0, 4.0, 2.0, 1.0, 1.0)  # for soft macros that start from made-up places
FREE_DENSITY = 0.5  # crowding below it costs nothing; 0.4 to 0.7 are equally good on the benchmark designs
MOST_TERMINALS = 64  # larger nets are left out: no single move changes their box much, and reading them takes the time
# Wirelength cost that crowding 1 in every cell is worth. The best value depends on how scarce routing is (0.4 on
# ariane133_ng45, 0.1 on ibm10), so each design takes the one that gives its reference the least proxy cost.
STRENGTHS = (0.1, 0.2, 0.4, 0.8, 1.6)

# No NaN comes in, so that min and max may be vectorised; infinities do.
_kernel = compiling(nogil=True, error_model="numpy", fastmath={"nnan", "nsz"})

_MATRIX = ORIENTATION_MATRIX.astype(np.float64)
_TURNED = 4  # Orientation.E and above swap width and height


@_kernel
def _box_share(low: float, high: float, cell: int, size: float) -> float:
    return max(min(high, (cell + 1) * size) - max(low, cell * size), 0.0) / size


@_kernel
def _inside(centre: float, size: float, length: float) -> float:
    """The centre moved as little as needed for a box of this size to lie within [0, length]."""
    half = min(size, length) / 2
    return min(max(centre, half), length - half)


@_kernel
def _add_box(p: Problem, density: FloatArray, x: float, y: float, w: float, h: float, sign: float) -> None:
    """Add a box's share of every cell to density (rows, columns)."""
    llx, urx, lly, ury = x - w / 2, x + w / 2, y - h / 2, y + h / 2
    c0, c1 = max(int(llx / p.cell_width), 0), min(int(urx / p.cell_width), p.columns - 1)
    r0, r1 = max(int(lly / p.cell_height), 0), min(int(ury / p.cell_height), p.rows - 1)
    for row in range(r0, r1 + 1):
        up = sign * _box_share(lly, ury, row, p.cell_height)
        for col in range(c0, c1 + 1):
            density[row, col] += up * _box_share(llx, urx, col, p.cell_width)


@_kernel
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


@_kernel
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


@_kernel
def _add_growth(line: FloatArray, low: float, high: float, weight: float, size: float) -> None:
    """Add weight * (distance of a cell's middle from [low, high]) for every cell of a row of cells of this size.

    line (cells + 1, 2): what offset and slope change by at each cell, so that a net costs six additions whatever the
    number of cells; `_sum_growth` adds up.
    """
    cells = len(line) - 1
    before = min(max(int(low / size + 0.5), 0), cells)  # cells whose middle lies below low
    after = min(max(int(high / size + 0.5), 0), cells)  # first cell whose middle lies above high
    line[0, 0] += weight * low
    line[0, 1] -= weight
    line[before, 0] -= weight * low
    line[before, 1] += weight
    line[after, 0] -= weight * high
    line[after, 1] += weight


@_kernel
def _sum_growth(line: FloatArray, size: float, out: FloatArray) -> None:
    """Values in the middles of the cells: out (cells,)."""
    offset, slope = 0.0, 0.0
    for cell in range(len(out)):
        offset += line[cell, 0]
        slope += line[cell, 1]
        out[cell] = offset + slope * (cell + 0.5) * size


@_kernel
def sweep_soft(
    p: Problem,
    soft: IntArray,
    x: FloatArray,
    y: FloatArray,
    orientation: NDArray[np.int8],
    term_x: FloatArray,
    term_y: FloatArray,
    density: FloatArray,
    strength: float,
) -> None:
    """One sweep over the soft macros in the order of `soft`.

    Updated: x, y (N,), term_x, term_y (T,) and density (rows, columns). strength: wirelength cost that crowding 1 in
    one cell is worth. A soft macro counts as if its pins were at its centre, which is where clusters have them.
    """
    along_x, along_y = np.empty(p.columns), np.empty(p.rows)
    line_x, line_y = np.zeros((p.columns + 1, 2)), np.zeros((p.rows + 1, 2))
    for node in soft:
        w, h = p.node_width[node], p.node_height[node]
        if orientation[node] >= _TURNED:
            w, h = h, w
        _add_box(p, density, x[node], y[node], w, h, -1.0)
        x[node], y[node] = _inside(x[node], w, p.width), _inside(y[node], h, p.height)
        first_term, end_term = p.node_term_start[node], p.node_term_start[node + 1]
        line_x[:] = 0.0
        line_y[:] = 0.0
        wire_now = 0.0
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
            wire_now += weight * (max(max(x_low - x[node], x[node] - x_high), 0.0))
            wire_now += weight * (max(max(y_low - y[node], y[node] - y_high), 0.0))
            _add_growth(line_x, x_low, x_high, weight, p.cell_width)
            _add_growth(line_y, y_low, y_high, weight, p.cell_height)
        _sum_growth(line_x, p.cell_width, along_x)
        _sum_growth(line_y, p.cell_height, along_y)
        best = wire_now + strength * _crowding(p, density, x[node], y[node], w, h)
        best_x, best_y = x[node], y[node]
        lowest_x = along_x.min()
        for row in range(p.rows):
            if along_y[row] + lowest_x >= best:
                continue
            cy = _inside((row + 0.5) * p.cell_height, h, p.height)
            for col in range(p.columns):
                wire = along_x[col] + along_y[row]
                if wire >= best:
                    continue
                cx = _inside((col + 0.5) * p.cell_width, w, p.width)
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
) -> None:
    """One sweep for each of `strengths`; x, y (N,) of the nodes in `soft` are updated."""
    term_x, term_y = np.empty(len(p.term_dx)), np.empty(len(p.term_dx))
    density = np.zeros((p.rows, p.columns))
    for node in range(len(x)):
        place_terminals(p, node, x, y, orientation, term_x, term_y)
        if p.has_area[node]:
            w, h = p.node_width[node], p.node_height[node]
            if orientation[node] >= _TURNED:
                w, h = h, w
            _add_box(p, density, x[node], y[node], w, h, 1.0)
    for strength in strengths:
        sweep_soft(p, soft, x, y, orientation, term_x, term_y, density, strength)


class SoftPlacer:
    """Places the soft macros of one design, again and again. Holds the arrays that stay the same."""

    def __init__(self, design: Design, reference: Placement) -> None:
        """`reference`: a legal placement of the design, on which the weight of crowding is set."""
        self._p = problem_of(design)
        netlist = design.netlist
        movable = (netlist.node_kind == NodeKind.SOFT_MACRO) & ~design.start.fixed
        area = netlist.width_um * netlist.height_um
        soft = np.flatnonzero(movable)
        self._ramp = np.array(RAMP if design.has_start else LONG_RAMP)
        self._soft = soft[np.argsort(-area[soft], kind="stable")].astype(np.int32)

        def cost(strength: float) -> float:
            return evaluate(design, self.place(reference, strength)).proxy_cost

        self.strength = min(STRENGTHS, key=cost) if len(soft) else STRENGTHS[0]

    def place(self, placement: Placement, strength: float | None = None) -> Placement:
        """The same placement with its movable soft macros placed anew."""
        p = self._p
        x, y, orientation = placement.x_um.copy(), placement.y_um.copy(), placement.orientation.copy()
        per_cell = (self.strength if strength is None else strength) / (p.rows * p.columns)
        place_soft(p, self._soft, x, y, orientation, per_cell * self._ramp)
        return placement.moved(x_um=x, y_um=y)
