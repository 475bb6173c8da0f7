"""A design flattened once into the arrays that the cost kernels read.

In: a Design. Out: `Problem`, a plain tuple of arrays and numbers (numba takes it as it is). Letters: N nodes,
T terminals, E nets that can cost anything, K net-terminal connections.

A *terminal* is a distinct pin position on a node: pins of one node with equal offsets are one terminal. Nets that
start at the same terminal and reach the same set of terminals are one net with their weights added; nets with a single
terminal cost nothing and are left out (their weight still counts in the normalisation, unless they have one pin only).

Source of the constants: the proxy cost rules of Circuit Training's evaluator, as published by TILOS MacroPlacement.
Called by evaluate, IncrementalCost and the search. Knows nothing of placements.
"""

from __future__ import annotations

from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from netlists.model import Design, Netlist, NodeKind

_DENSITY_SHARE = 0.1  # of the cells: the densest tenth counts
_CONGESTION_SHARE = 0.05  # of the 2n values of both maps
_FEW_CELLS = 10  # below this many cells density is the mean of the non-zero ones


class Problem(NamedTuple):
    """Static side of the cost. Lengths float64 µm; indices int32; CSR starts have one entry more than owners."""

    columns: int
    rows: int
    cell_width: float
    cell_height: float
    width: float  # canvas
    height: float
    smoothing: int
    wirelength_scale: float  # 1 / ((W + H) · sum of weights); 0 when there are no weights
    hor_blocked: float  # supply share that a hard macro takes per µm of overlap height
    ver_blocked: float  # … per µm of overlap width
    density_top: int  # number of cells the density cost averages; 0 = the mean of the non-zero cells instead
    congestion_top: int  # number of values the congestion cost averages
    hor_share: NDArray[
        np.float64
    ]  # (rows,) share of supply that one route takes in a cell, spread over the rows in reach
    ver_share: NDArray[np.float64]  # (columns,) the same for vertical routes
    has_area: NDArray[np.bool_]  # (N,) hard and soft macros
    is_hard: NDArray[np.bool_]  # (N,)
    node_width: NDArray[np.float64]  # (N,) in orientation N
    node_height: NDArray[np.float64]
    node_term_start: NDArray[np.int32]  # (N+1,) terminals are sorted by node
    term_dx: NDArray[np.float64]  # (T,) from the node's centre in orientation N
    term_dy: NDArray[np.float64]
    net_start: NDArray[np.int32]  # (E+1,)
    net_term: NDArray[np.int32]  # (K,) driver first
    net_weight: NDArray[np.float64]  # (E,) in wirelength
    net_routes: NDArray[np.float64]  # (E,) in routing: a weight below 1 counts as 1
    node_net_start: NDArray[np.int32]  # (N+1,)
    node_net: NDArray[np.int32]  # nets of each node, each once


def _terminals(netlist: Netlist) -> tuple[NDArray, NDArray]:
    """Distinct (node, dx, dy): one representative pin each (T,), sorted by node; and the terminal of each pin (P,)."""
    order = np.lexsort((netlist.pin_dy_um, netlist.pin_dx_um, netlist.pin_node))
    keys = (netlist.pin_node[order], netlist.pin_dx_um[order], netlist.pin_dy_um[order])
    first = np.ones(len(order), dtype=bool)
    first[1:] = np.any([key[1:] != key[:-1] for key in keys], axis=0)
    term_of_pin = np.empty(len(order), dtype=np.int64)
    term_of_pin[order] = np.cumsum(first) - 1
    return order[first], term_of_pin


def _merged_nets(netlist: Netlist, term_of_pin: NDArray) -> tuple[list[tuple[int, ...]], NDArray, NDArray]:
    """Terminals of each distinct net (driver first), its weight and its routes."""
    index: dict[tuple[int, ...], int] = {}
    weight: list[float] = []
    routes: list[float] = []
    start, terms = netlist.net_start.tolist(), term_of_pin[netlist.net_pin].tolist()
    for net, w in enumerate(netlist.net_weight.tolist()):
        of_net = terms[start[net] : start[net + 1]]
        if not of_net:
            continue
        key = (of_net[0], *sorted(set(of_net) - {of_net[0]}))
        if len(key) == 1:
            continue
        at = index.setdefault(key, len(weight))
        if at == len(weight):
            weight.append(0.0)
            routes.append(0.0)
        weight[at] += w
        routes[at] += max(w, 1.0)
    return list(index), np.array(weight), np.array(routes)


def _starts(counts: NDArray) -> NDArray[np.int32]:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)


def _lines_in_reach(count: int, radius: int) -> NDArray[np.int64]:
    """(count,) how many lines lie within `radius` of each, cut at the grid's edge."""
    line = np.arange(count)
    return np.minimum(line + radius, count - 1) - np.maximum(line - radius, 0) + 1


def flatten(design: Design) -> Problem:
    """Build the kernels' arrays. O(K log K), some 100 ms for 100,000 nets."""
    netlist, canvas = design.netlist, design.canvas
    representative, term_of_pin = _terminals(netlist)
    term_node = netlist.pin_node[representative]
    nets, weight, routes = _merged_nets(netlist, term_of_pin)
    degree = np.array([len(net) for net in nets], dtype=np.int64)
    net_term = np.array([term for net in nets for term in net], dtype=np.int32)
    net_of = np.repeat(np.arange(len(nets)), degree)
    pairs = np.unique(term_node[net_term].astype(np.int64) * max(len(nets), 1) + net_of)
    node_of_pair, net_of_pair = np.divmod(pairs, max(len(nets), 1))
    cells = canvas.rows * canvas.columns
    weights = netlist.net_weight[np.diff(netlist.net_start) > 1]
    norm = (canvas.width_um + canvas.height_um) * float(weights.sum())
    hor_scale = 1.0 / (canvas.cell_height_um * canvas.hor_routes_per_um)
    ver_scale = 1.0 / (canvas.cell_width_um * canvas.ver_routes_per_um)
    return Problem(
        columns=int(canvas.columns),
        rows=int(canvas.rows),
        cell_width=float(canvas.cell_width_um),
        cell_height=float(canvas.cell_height_um),
        width=float(canvas.width_um),
        height=float(canvas.height_um),
        smoothing=int(canvas.smoothing),
        wirelength_scale=1.0 / norm if norm > 0 else 0.0,
        hor_blocked=float(canvas.hor_macro_routes_per_um * hor_scale),
        ver_blocked=float(canvas.ver_macro_routes_per_um * ver_scale),
        density_top=int(_DENSITY_SHARE * cells) if cells >= _FEW_CELLS else 0,
        congestion_top=max(int(_CONGESTION_SHARE * 2 * cells), 1),
        hor_share=hor_scale / _lines_in_reach(canvas.rows, canvas.smoothing),
        ver_share=ver_scale / _lines_in_reach(canvas.columns, canvas.smoothing),
        has_area=np.isin(netlist.node_kind, (NodeKind.HARD_MACRO, NodeKind.SOFT_MACRO)),
        is_hard=netlist.node_kind == NodeKind.HARD_MACRO,
        node_width=netlist.width_um.copy(),
        node_height=netlist.height_um.copy(),
        node_term_start=_starts(np.bincount(term_node, minlength=netlist.node_count)),
        term_dx=netlist.pin_dx_um[representative].copy(),
        term_dy=netlist.pin_dy_um[representative].copy(),
        net_start=_starts(degree),
        net_term=net_term,
        net_weight=weight,
        net_routes=routes,
        node_net_start=_starts(np.bincount(node_of_pair, minlength=netlist.node_count)),
        node_net=net_of_pair.astype(np.int32),
    )


_problems: WeakKeyDictionary[Design, Problem] = WeakKeyDictionary()


def problem_of(design: Design) -> Problem:
    """`flatten`, remembered for as long as the design lives."""
    problem = _problems.get(design)
    if problem is None:
        problem = _problems[design] = flatten(design)
    return problem
