"""A design as a graph for networks: macros, clusters and groups of ports, joined where nets join them.

In: a design. Out: `Graph`, arrays padded to a bucket, so that one compiled network serves every design of the bucket.
Letters: V nodes, L links, D features. Nodes: movable hard macros first, in placing order (so node number = step of the
episode), then fixed macros, soft macros, and ports, which are joined to groups by where they lie on the canvas' edge.
A net of k nodes is k-1 links from its first node to the others, each weighing the net's weight over k-1; links between
the same two nodes add up. Agents need this module's types only.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netlists.errors import PlacewrightError
from netlists.model import Design, FloatArray, IntArray, NodeKind
from placement.cost.problem import problem_of
from placement.env.plan import placing_order

NODE_BUCKETS = (256, 1024, 4096)  # the last is the largest design that networks with a graph take
LINKS_PER_NODE = 8  # room; of more links the heaviest are kept
PORT_GROUPS = 8  # per side of the canvas, a grid of them: ports of one square are one node


class GraphTooLargeError(PlacewrightError):
    """The design has more nodes than the largest bucket."""


class NodeFeature(IntEnum):
    """Columns of Graph.node, about [0, 1]."""

    MACRO = 0  # what it is: one of the first four is 1
    FIXED = 1
    SOFT = 2
    PORTS = 3
    WIDTH = 4  # share of the canvas' width
    HEIGHT = 5
    AREA = 6  # share of the canvas' area, times the number of macros, over 4
    DEGREE = 7  # log2(1 + weight of its nets) / 12
    PLACED = 8  # 1: it has a place that no episode changes, and that is
    X = 9  # share of the canvas' width
    Y = 10


NODE_FEATURES = len(NodeFeature)  # D


class Graph(NamedTuple):
    """Padded with nodes of zeros and with links of weight 0 from node 0 to itself."""

    node: NDArray[np.float32]  # (V, D) see NodeFeature
    present: NDArray[np.bool_]  # (V,) False = padding
    link: NDArray[np.int32]  # (L, 2) node numbers, in no direction
    weight: NDArray[np.float32]  # (L,) over the heaviest link's


def _node_of(design: Design, order: IntArray) -> tuple[NDArray[np.int64], int, FloatArray]:
    """Node number of each netlist node (N,), how many there are, and (V', 2) centres of port groups as shares."""
    kind, start, canvas = design.netlist.node_kind, design.start, design.canvas
    number = np.full(len(kind), -1, np.int64)
    number[order] = np.arange(len(order))
    others = np.concatenate(
        [
            np.flatnonzero((kind == NodeKind.HARD_MACRO) & (number < 0)),
            np.flatnonzero(kind == NodeKind.SOFT_MACRO),
        ]
    )
    number[others] = len(order) + np.arange(len(others))
    count = len(order) + len(others)
    port = np.flatnonzero(kind == NodeKind.PORT)
    share = np.stack([start.x_um[port] / canvas.width_um, start.y_um[port] / canvas.height_um], axis=1)
    square = np.clip(np.nan_to_num(share) * PORT_GROUPS, 0, PORT_GROUPS - 1).astype(np.int64)
    squares, group = np.unique(square[:, 1] * PORT_GROUPS + square[:, 0], return_inverse=True)
    number[port] = count + group
    centres = (np.stack([squares % PORT_GROUPS, squares // PORT_GROUPS], axis=1) + 0.5) / PORT_GROUPS
    return number, count + len(squares), centres


def _links(
    design: Design, number: NDArray[np.int64], count: int, degree: FloatArray
) -> tuple[NDArray[np.int64], FloatArray]:
    """Links (L', 2) with their weights, heaviest first. Adds each net's weight to `degree` (V',) of its nodes."""
    p = problem_of(design)
    term_node = np.repeat(np.arange(len(number)), np.diff(p.node_term_start))
    net_of = np.repeat(np.arange(len(p.net_weight)), np.diff(p.net_start))
    at = number[term_node[p.net_term]]
    # Each net's nodes once, the driver's first: a pin listed twice is no second link.
    _, once = np.unique(net_of * count + at, return_index=True)
    once.sort()
    net, node = net_of[once][at[once] >= 0], at[once][at[once] >= 0]
    np.add.at(degree, node, p.net_weight[net])
    begins = np.concatenate([[True], net[1:] != net[:-1]]) if len(net) else np.zeros(0, bool)
    size = np.bincount(net, minlength=len(p.net_weight))
    driver = node[begins][np.cumsum(begins) - 1] if len(net) else node
    a, b = driver[~begins], node[~begins]
    weight = p.net_weight[net[~begins]] / np.maximum(size[net[~begins]] - 1, 1)
    low, high = np.minimum(a, b), np.maximum(a, b)
    pairs, where = np.unique(low * count + high, return_inverse=True)
    total = np.bincount(where, weights=weight, minlength=len(pairs))
    heaviest = np.argsort(-total, kind="stable")
    pairs = pairs[heaviest]
    return np.stack([pairs // count, pairs % count], axis=1), np.asarray(total[heaviest], np.float64)


def make_graph(design: Design) -> Graph:
    """Raises GraphTooLargeError, with numbers, for a design beyond the largest bucket."""
    netlist, canvas, start = design.netlist, design.canvas, design.start
    p = problem_of(design)
    net_weight = np.zeros(netlist.node_count)
    np.add.at(net_weight, np.repeat(np.arange(netlist.node_count), np.diff(p.node_net_start)), p.net_weight[p.node_net])
    order = placing_order(design, net_weight)
    number, count, centres = _node_of(design, order)
    if count > NODE_BUCKETS[-1]:
        raise GraphTooLargeError(
            f"{design.name!r} has {count} macros, clusters and groups of ports; the graph network takes at most "
            f"{NODE_BUCKETS[-1]}"
        )
    nodes = next(bucket for bucket in NODE_BUCKETS if bucket >= count)
    degree = np.zeros(count)
    link, weight = _links(design, number, count, degree)
    kept = min(len(link), LINKS_PER_NODE * nodes)

    node = np.zeros((nodes, NODE_FEATURES), np.float32)
    own = np.flatnonzero((number >= 0) & (netlist.node_kind != NodeKind.PORT))
    at = number[own]
    hard = netlist.node_kind[own] == NodeKind.HARD_MACRO
    fixed = start.fixed[own] & np.isfinite(start.x_um[own] + start.y_um[own])
    width, height = netlist.width_um[own] / canvas.width_um, netlist.height_um[own] / canvas.height_um
    node[: len(order), NodeFeature.MACRO] = 1.0
    node[at, NodeFeature.FIXED] = hard & (at >= len(order))
    node[at, NodeFeature.SOFT] = ~hard
    node[at, NodeFeature.WIDTH], node[at, NodeFeature.HEIGHT] = width, height
    node[at, NodeFeature.AREA] = width * height * max(len(order), 1) / 4
    node[at, NodeFeature.PLACED] = fixed
    node[at, NodeFeature.X] = np.where(fixed, start.x_um[own] / canvas.width_um, 0.0)
    node[at, NodeFeature.Y] = np.where(fixed, start.y_um[own] / canvas.height_um, 0.0)
    groups = slice(count - len(centres), count)
    node[groups, NodeFeature.PORTS] = node[groups, NodeFeature.PLACED] = 1.0
    node[groups, NodeFeature.X : NodeFeature.Y + 1] = centres
    node[:count, NodeFeature.DEGREE] = np.log2(1 + degree) / 12

    links = np.zeros((LINKS_PER_NODE * nodes, 2), np.int32)
    weights = np.zeros(LINKS_PER_NODE * nodes, np.float32)
    links[:kept], weights[:kept] = link[:kept], weight[:kept] / max(weight.max(initial=0.0), 1e-300)
    return Graph(node, np.arange(nodes) < count, links, weights)
