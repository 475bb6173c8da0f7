"""A flat design in, its clustered design out: seeds, partition, split and join by place, merged nets.

Deterministic: equal design and options give the equal result. Memory: arrays over the netlist, and the partitioner's
own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from netlists.clustering.hypergraph import NodeNets, node_nets
from netlists.clustering.merged import merged_design
from netlists.clustering.partition import partition
from netlists.clustering.seeds import seeds
from netlists.clustering.spread import SPREAD_SHARE, join_small, split_spread
from netlists.model import Design, IntArray, NodeKind


@dataclass(frozen=True, kw_only=True)
class ClusterOptions:
    """How to cluster. Defaults: Circuit Training's published values where it has them."""

    groups: int = 700  # beside those of the seeds
    bloat: float = 1.9  # area of a soft macro / area of its cells; with it ariane_ct has the published start density
    max_degree: int = 500  # nodes; larger nets do not tell what belongs together
    seed_degree: int = 10  # nodes; a cell joins a macro's or port's seed by nets up to this size only
    seed: int = 0


@dataclass(frozen=True, eq=False, kw_only=True)
class Clustering:
    """`design`: hard macros, ports, soft macros. node_of (N,): the clustered node that each flat node is in."""

    design: Design
    node_of: IntArray


def cluster(design: Design, options: ClusterOptions | None = None) -> Clustering:
    """Clusters the standard cells of a flat design; one without any comes back as it is."""
    options = options or ClusterOptions()
    netlist = design.netlist
    cells = netlist.nodes_of(NodeKind.CELL)
    if not len(cells):
        return Clustering(design=design, node_of=np.arange(netlist.node_count, dtype=np.int32))
    nets = node_nets(netlist)
    of_seed, _ = seeds(design, nets, max_degree=options.seed_degree)
    rest = cells[of_seed[cells] < 0]
    groups = min(options.groups, max(1, len(rest) // 10))
    part = of_seed.astype(np.int64)
    part[rest] = netlist.node_count + partition(
        rest, netlist.node_count, nets, groups, max_degree=options.max_degree, seed=options.seed
    )
    of_cell = np.unique(part[cells], return_inverse=True)[1].astype(np.int32)
    placed = design.has_start and np.ptp(design.start.x_um[cells]) > 0
    if placed:
        limit = SPREAD_SHARE * math.sqrt(design.canvas.width_um * design.canvas.height_um)
        x, y = design.start.x_um[cells], design.start.y_um[cells]
        of_cell = split_spread(of_cell, x, y, limit)
        fewest = max(2, len(cells) // (4 * (int(of_cell.max()) + 1)))
        shared = _shared_nets(nets, cells, of_cell, netlist.node_count, options.max_degree)
        of_cell = join_small(of_cell, x, y, fewest=fewest, reach_um=limit / 2, connected=shared)
    group = np.full(netlist.node_count, -1, dtype=np.int32)
    group[cells] = of_cell
    clustered, node_of = merged_design(design, group, options.bloat)
    count = int(of_cell.max()) + 1
    rule = (
        f"{len(cells):,} standard cells in {count:,} soft macros of {options.bloat:g} times their cells' area:"
        " Mt-KaHyPar,"
        f" seeds at macros and ports"
        + (", spread groups split, small ones joined by the cells' places" if placed else "")
    )
    return Clustering(design=replace(clustered, derived={**clustered.derived, "soft macros": rule}), node_of=node_of)


def _shared_nets(nets: NodeNets, cells: IntArray, of_cell: IntArray, nodes: int, max_degree: int) -> IntArray:
    """(P, 3): pairs of groups (lower number first) and how many nets go from the one's cells to the other's."""
    group = np.full(nodes, -1, dtype=np.int64)
    group[cells] = of_cell
    degree = np.diff(nets.start)
    driver = group[nets.node[nets.start[:-1]]]
    net = np.repeat(np.arange(len(degree)), degree)
    first, second = driver[net], group[nets.node]
    good = (first >= 0) & (second >= 0) & (first != second) & (degree <= max_degree)[net]
    low, high = np.minimum(first[good], second[good]), np.maximum(first[good], second[good])
    count = int(of_cell.max()) + 1
    key, times = np.unique(low * count + high, return_counts=True)
    return np.stack([key // count, key % count, times], axis=1)
