"""Seeds of clusters: the cells next to a macro's pins, and those next to ports that lie together, stay together.

A cell that is connected to a macro by a short net joins that macro's seed; ports on one stretch of the edge, one grid
cell long, share a seed. Source: Circuit Training's description of its grouping (docs/NETLIST_FORMAT, "grouping").
"""

from __future__ import annotations

import numpy as np

from netlists.clustering.hypergraph import NodeNets
from netlists.model import Design, IntArray, NodeKind


def seeds(design: Design, nets: NodeNets, *, max_degree: int) -> tuple[IntArray, int]:
    """(N,) int32 seed of each node, -1 = none, and the number of seeds. Only nets of at most `max_degree` nodes count.

    A cell next to several seeds joins the one with most connections to it; ties go to the lower number.
    """
    netlist = design.netlist
    seed = np.full(netlist.node_count, -1, dtype=np.int32)
    macros = netlist.nodes_of(NodeKind.HARD_MACRO)
    seed[macros] = np.arange(len(macros))
    ports = netlist.nodes_of(NodeKind.PORT)
    stretch = _stretches(design, ports)
    seed[ports] = len(macros) + stretch
    count = len(macros) + int(stretch.max(initial=-1)) + 1
    degree = np.diff(nets.start)
    net = np.repeat(np.arange(len(degree)), degree)
    small = (degree <= max_degree)[net]
    net, node = net[small], nets.node[small]
    seeded = seed[node] >= 0
    cell = netlist.node_kind[node] == NodeKind.CELL
    best = _votes(net[cell], node[cell], net[seeded], seed[node[seeded]], netlist.node_count)
    cells = netlist.node_kind == NodeKind.CELL
    seed[cells] = best[cells]
    return seed, count


def _stretches(design: Design, ports: IntArray) -> IntArray:
    """Number of the stretch of the canvas's edge that each port is nearest to; used ones only, from 0."""
    canvas, start = design.canvas, design.start
    x, y = start.x_um[ports], start.y_um[ports]
    side = np.argmin([x, canvas.width_um - x, y, canvas.height_um - y], axis=0) if len(ports) else np.zeros(0, np.int64)
    along = np.where(side < 2, y / canvas.cell_height_um, x / canvas.cell_width_um)
    key = side * 10_000 + np.clip(np.floor(along), 0, 9_999).astype(np.int64)
    return np.unique(key, return_inverse=True)[1].astype(np.int32)


def _votes(net_of_cell: IntArray, cell: IntArray, net_of_seed: IntArray, seed: IntArray, nodes: int) -> IntArray:
    """(nodes,) the seed that shares most nets with each node; -1 = none."""
    best = np.full(nodes, -1, dtype=np.int32)
    if not len(seed) or not len(cell):
        return best
    order = np.argsort(net_of_seed, kind="stable")
    net_of_seed, seed = net_of_seed[order], seed[order]
    low, high = np.searchsorted(net_of_seed, net_of_cell), np.searchsorted(net_of_seed, net_of_cell, side="right")
    times = high - low
    pairs = np.repeat(np.arange(len(cell)), times)
    within = np.arange(len(pairs)) - np.repeat(np.cumsum(times) - times, times)
    key = cell[pairs].astype(np.int64) * (int(seed.max()) + 1) + seed[low[pairs] + within]
    kinds, votes = np.unique(key, return_counts=True)
    node, which = kinds // (int(seed.max()) + 1), kinds % (int(seed.max()) + 1)
    order = np.lexsort((-which, votes, node))  # the last entry of a node is its winner
    best[node[order]] = which[order]
    return best
