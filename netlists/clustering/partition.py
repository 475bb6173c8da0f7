"""Nodes into balanced groups with few nets between them: Mt-KaHyPar's deterministic preset, in two levels.

That preset's time grows fast with the number of groups; cutting into the square root of it, and each part again, takes
seconds where one cut takes many minutes. (The preset for many groups is not deterministic.) The one module that knows
the partitioner, which is imported when called, so that everything but clustering works without it.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np

from netlists.clustering.hypergraph import NodeNets
from netlists.errors import PlacewrightError
from netlists.model import IntArray

IMBALANCE = 0.1  # of the groups' sizes, at each level


def partition(chosen: IntArray, nodes: int, nets: NodeNets, groups: int, *, max_degree: int, seed: int) -> IntArray:
    """(C,) int32 group of each chosen node, 0 to groups - 1. Equal arguments give equal results.

    chosen (C,) of `nodes` nodes · nets of more than `max_degree` nodes are left out: they do not tell what belongs
    together.
    """
    if groups <= 1 or len(chosen) <= groups:
        return (np.arange(len(chosen)) % max(groups, 1)).astype(np.int32)
    try:
        import mtkahypar
    except ImportError as error:
        raise PlacewrightError("clustering needs the package 'mtkahypar', which is not installed") from error
    cutter = _Cutter(mtkahypar, nets, nodes, max_degree, seed)
    parts = max(1, round(math.sqrt(groups)))
    first = cutter.cut(chosen, parts)
    result = np.empty(len(chosen), dtype=np.int32)
    done = 0
    for part in range(parts):
        members = np.flatnonzero(first == part)
        share = (groups - done) // (parts - part)
        result[members] = done + cutter.cut(chosen[members], share)
        done += share
    return result


class _Cutter:
    def __init__(self, module: Any, nets: NodeNets, nodes: int, max_degree: int, seed: int) -> None:
        self.module, self.nodes, self.seed = module, nodes, seed
        self.kahypar = module.initialize(1)
        degree = np.diff(nets.start)
        small = (degree >= 2) & (degree <= max_degree)
        self.net = np.repeat(np.arange(len(degree)), degree)[np.repeat(small, degree)]
        self.node = nets.node[np.repeat(small, degree)]

    def cut(self, chosen: IntArray, groups: int) -> IntArray:
        """(C,) group of each chosen node by the nets among them."""
        if groups <= 1 or len(chosen) <= groups:
            return (np.arange(len(chosen)) % max(groups, 1)).astype(np.int32)
        number = np.full(self.nodes, -1, dtype=np.int64)
        number[chosen] = np.arange(len(chosen))
        inside = number[self.node] >= 0
        net, node = self.net[inside], number[self.node[inside]]
        count = np.bincount(net)
        useful = count[net] >= 2
        net, node = net[useful], node[useful]
        if not len(net):
            return (np.arange(len(chosen)) % groups).astype(np.int32)
        bounds = np.flatnonzero(np.diff(net, prepend=-1, append=-1)).tolist()
        flat = node.tolist()
        edges = [flat[start:end] for start, end in pairwise(bounds)]
        self.module.set_seed(self.seed)
        context = self.kahypar.context_from_preset(self.module.PresetType.DETERMINISTIC)
        context.set_partitioning_parameters(groups, IMBALANCE, self.module.Objective.KM1)
        context.logging = False
        graph = self.kahypar.create_hypergraph(context, len(chosen), len(edges), edges)
        return np.array(graph.partition(context).get_partition(), dtype=np.int32)
