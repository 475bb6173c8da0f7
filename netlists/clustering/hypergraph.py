"""The nodes of a flat netlist by nets: arrays of distinct nodes a net, for the partitioner and the seeds.

N nodes, E nets. Letters and order are those of the netlist.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from netlists.model import IntArray, Netlist


@dataclass(frozen=True, eq=False)
class NodeNets:
    """Net e connects the distinct nodes node[start[e]:start[e+1]], the driver first."""

    start: IntArray  # (E+1,)
    node: IntArray


def node_nets(netlist: Netlist) -> NodeNets:
    """Distinct nodes of each net; the first stays first, the others in order of their number."""
    net = np.repeat(np.arange(netlist.net_count), np.diff(netlist.net_start))
    node = netlist.pin_node[netlist.net_pin].astype(np.int64)
    driver = node[netlist.net_start[:-1]][net] if netlist.net_count else node
    rank = (node != driver).astype(np.int64)  # the driver's node before all others
    order = np.lexsort((node, rank, net))
    net, node = net[order], node[order]
    first = np.ones(len(net), dtype=np.bool_)
    first[1:] = (net[1:] != net[:-1]) | (node[1:] != node[:-1])
    count = np.bincount(net[first], minlength=netlist.net_count)
    return NodeNets(np.concatenate([[0], np.cumsum(count)]).astype(np.int64), node[first].astype(np.int32))
