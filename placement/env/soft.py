"""Soft macros at an episode's end: a few sweeps that trade wirelength against crowding, in milliseconds.

In: positions with all hard macros placed. Out: positions of the soft macros. Each sweep takes the soft macros one by
one and puts each into the grid cell that costs least: exact growth of its nets' wirelength (a term in x plus a term
in y, so all cells cost little more than one row and one column) plus what crowding there adds. Crowding of a cell
is the square of its density above `FREE_DENSITY`; hard macros count fully. Starts at the design's soft places.
Called by the environment once an episode. Not the optimiser: `placement.search` betters what comes out.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from netlists.model import ORIENTATION_MATRIX, Design, FloatArray, IntArray, NodeKind, Placement
from placement.cost import evaluate
from placement.cost.problem import Problem, problem_of

SWEEPS = 3
FREE_DENSITY = 0.5  # crowding below it costs nothing; 0.4 to 0.7 are equally good on the benchmark designs
MOST_TERMINALS = 64  # larger nets are left out: no single move changes their box much, and reading them takes the time
# Wirelength cost that crowding 1 in every cell is worth. The best value depends on how scarce routing is (1 on
# ariane133_ng45, 0.2 on ibm10), so each design takes the one that gives its reference the least proxy cost.
STRENGTHS = (0.1, 0.2, 0.4, 0.8, 1.6)

_MATRIX = ORIENTATION_MATRIX.astype(np.float64)
_TURNED = 4  # Orientation.E and above swap width and height


@njit(cache=True, error_model="numpy", fastmath={"nnan", "nsz"})
def _box_share(low: float, high: float, cell: int, size: float) -> float:
    return max(min(high, (cell + 1) * size) - max(low, cell * size), 0.0) / size


@njit(cache=True, error_model="numpy", fastmath={"nnan", "nsz"})
def _add_box(p: Problem, density: FloatArray, x: float, y: float, w: float, h: float, sign: float) -> None:
    """Add a box's share of every cell to density (rows, columns)."""
    llx, urx, lly, ury = x - w / 2, x + w / 2, y - h / 2, y + h / 2
    c0, c1 = max(int(llx / p.cell_width), 0), min(int(urx / p.cell_width), p.columns - 1)
    r0, r1 = max(int(lly / p.cell_height), 0), min(int(ury / p.cell_height), p.rows - 1)
    for row in range(r0, r1 + 1):
        up = sign * _box_share(lly, ury, row, p.cell_height)
        for col in range(c0, c1 + 1):
            density[row, col] += up * _box_share(llx, urx, col, p.cell_width)


@njit(cache=True, error_model="numpy", fastmath={"nnan", "nsz"})
def add_boxes(
    p: Problem, nodes: IntArray, x: FloatArray, y: FloatArray, orientation: NDArray[np.int8], density: FloatArray
) -> None:
    """Add the boxes of `nodes` to density (rows, columns)."""
    for node in nodes:
        w, h = p.node_width[node], p.node_height[node]
        if orientation[node] >= _TURNED:
            w, h = h, w
        _add_box(p, density, x[node], y[node], w, h, 1.0)


@njit(cache=True, error_model="numpy", fastmath={"nnan", "nsz"})
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


@njit(cache=True, error_model="numpy", fastmath={"nnan", "nsz"})
def sweep_soft(
    p: Problem,
    term_node: IntArray,
    soft: IntArray,
    x: FloatArray,
    y: FloatArray,
    orientation: NDArray[np.int8],
    density: FloatArray,
    strength: float,
) -> None:
    """One sweep over the soft macros in the order of `soft`; x, y (N,) and density (rows, columns) are updated.

    term_node (T,) node of each terminal · strength: cost of crowding 1 in one cell, in wirelength cost.
    """
    along_x, along_y = np.empty(p.columns), np.empty(p.rows)
    for node in soft:
        w, h = p.node_width[node], p.node_height[node]
        if orientation[node] >= _TURNED:
            w, h = h, w
        _add_box(p, density, x[node], y[node], w, h, -1.0)
        along_x[:] = 0.0
        along_y[:] = 0.0
        wire_now = 0.0
        for n in range(p.node_net_start[node], p.node_net_start[node + 1]):
            net = p.node_net[n]
            if p.net_start[net + 1] - p.net_start[net] > MOST_TERMINALS:
                continue
            x_low, x_high, y_low, y_high = np.inf, -np.inf, np.inf, -np.inf
            for k in range(p.net_start[net], p.net_start[net + 1]):
                term = p.net_term[k]
                other = term_node[term]
                if other == node:
                    continue
                o = orientation[other]
                dx, dy = p.term_dx[term], p.term_dy[term]
                tx = x[other] + _MATRIX[o, 0, 0] * dx + _MATRIX[o, 0, 1] * dy
                ty = y[other] + _MATRIX[o, 1, 0] * dx + _MATRIX[o, 1, 1] * dy
                x_low, x_high = min(x_low, tx), max(x_high, tx)
                y_low, y_high = min(y_low, ty), max(y_high, ty)
            if x_low > x_high:
                continue
            weight = p.net_weight[net] * p.wirelength_scale
            wire_now += weight * (max(max(x_low - x[node], x[node] - x_high), 0.0))
            wire_now += weight * (max(max(y_low - y[node], y[node] - y_high), 0.0))
            for col in range(p.columns):
                cx = (col + 0.5) * p.cell_width
                along_x[col] += weight * max(max(x_low - cx, cx - x_high), 0.0)
            for row in range(p.rows):
                cy = (row + 0.5) * p.cell_height
                along_y[row] += weight * max(max(y_low - cy, cy - y_high), 0.0)
        best = wire_now + strength * _crowding(p, density, x[node], y[node], w, h)
        best_x, best_y = x[node], y[node]
        lowest_x = along_x.min()
        for row in range(p.rows):
            if along_y[row] + lowest_x >= best:
                continue
            cy = min(max((row + 0.5) * p.cell_height, min(h, p.height) / 2), p.height - min(h, p.height) / 2)
            for col in range(p.columns):
                wire = along_x[col] + along_y[row]
                if wire >= best:
                    continue
                cx = min(max((col + 0.5) * p.cell_width, min(w, p.width) / 2), p.width - min(w, p.width) / 2)
                cost = wire + strength * _crowding(p, density, cx, cy, w, h)
                if cost < best:
                    best, best_x, best_y = cost, cx, cy
        x[node], y[node] = best_x, best_y
        _add_box(p, density, best_x, best_y, w, h, 1.0)


class SoftPlacer:
    """Places the soft macros of one design, again and again. Holds the arrays that stay the same."""

    def __init__(self, design: Design, reference: Placement) -> None:
        """`reference`: a legal placement of the design, on which the weight of crowding is set."""
        self._p = problem_of(design)
        netlist = design.netlist
        self._term_node = np.repeat(np.arange(netlist.node_count), np.diff(self._p.node_term_start)).astype(np.int32)
        movable = (netlist.node_kind == NodeKind.SOFT_MACRO) & ~design.start.fixed
        area = netlist.width_um * netlist.height_um
        soft = np.flatnonzero(movable)
        self._soft = soft[np.argsort(-area[soft], kind="stable")].astype(np.int32)
        self._has_area = np.flatnonzero(self._p.has_area)

        def cost(strength: float) -> float:
            return evaluate(design, self.place(reference, strength)).proxy_cost

        self.strength = min(STRENGTHS, key=cost) if len(soft) else STRENGTHS[0]

    def place(self, placement: Placement, strength: float | None = None) -> Placement:
        """The same placement with its movable soft macros placed anew."""
        p = self._p
        x, y, orientation = placement.x_um.copy(), placement.y_um.copy(), placement.orientation.copy()
        density = np.zeros((p.rows, p.columns))
        add_boxes(p, self._has_area, x, y, orientation, density)
        per_cell = (self.strength if strength is None else strength) / density.size
        for _ in range(SWEEPS):
            sweep_soft(p, self._term_node, self._soft, x, y, orientation, density, per_cell)
        return placement.moved(x_um=x, y_um=y)
