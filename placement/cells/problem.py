"""A flat design and the places of its macros as the arrays that the placement of cells works on.

M cells to place, E nets with two or more pins of which one is a cell's, K pins. A pin is on a cell to place, or fixed
with all that does not move here: macros, ports, locked cells. Pure; called by `engine.py` and the tests.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from netlists.errors import InputError
from netlists.model import (
    Design,
    FloatArray,
    IntArray,
    NodeKind,
    Placement,
    oriented_size_um,
    pin_positions_um,
)


@dataclass(frozen=True, eq=False, kw_only=True)
class CellProblem:
    """What `engine.py` iterates on. Lengths are float64 µm, positions are centres on the canvas."""

    nodes: IntArray  # (M,) the flat design's nodes that are placed
    width_um: FloatArray  # (M,) oriented
    height_um: FloatArray  # (M,)
    net_start: IntArray  # (E+1,)
    net_weight: FloatArray  # (E,)
    pin_cell: IntArray  # (K,) into `nodes`; -1 = fixed
    pin_x_um: FloatArray  # (K,) from its cell's centre, or where it is if fixed
    pin_y_um: FloatArray  # (K,)

    @property
    def area_um2(self) -> FloatArray:
        return self.width_um * self.height_um


def movable_cells(design: Design) -> IntArray:
    """Nodes of the standard cells that may move, in order. Raises InputError where there are none."""
    cells = design.netlist.nodes_of(NodeKind.CELL)
    moving = cells[~design.start.fixed[cells]]
    if not len(moving):
        raise InputError(
            f"design '{design.name}' has no standard cells to place: {len(cells):,} cells, all of them fixed"
            if len(cells)
            else f"design '{design.name}' has no standard cells; cells are placed in flat designs"
        )
    return moving


def make_problem(design: Design, placement: Placement) -> CellProblem:
    """The problem of placing the movable cells of `design` with everything else where `placement` has it.

    Raises InputError where there are no movable cells.
    """
    netlist = design.netlist
    nodes = movable_cells(design)
    cell_of = np.full(netlist.node_count, -1, dtype=np.int32)
    cell_of[nodes] = np.arange(len(nodes), dtype=np.int32)
    degree = np.diff(netlist.net_start)
    net = np.repeat(np.arange(netlist.net_count), degree)
    cell = cell_of[netlist.pin_node[netlist.net_pin]]
    moves = np.bincount(net[cell >= 0], minlength=netlist.net_count) > 0
    kept = moves & (degree > 1)
    pins, cell = netlist.net_pin[kept[net]], cell[kept[net]]
    where = pin_positions_um(netlist, placement)[pins]
    node = netlist.pin_node[pins]
    on_cell = cell >= 0
    width, height = oriented_size_um(netlist.width_um[nodes], netlist.height_um[nodes], placement.orientation[nodes])
    return CellProblem(
        nodes=nodes,
        width_um=width,
        height_um=height,
        net_start=np.concatenate([[0], np.cumsum(degree[kept])]).astype(np.int32),
        net_weight=netlist.net_weight[kept],
        pin_cell=cell,
        pin_x_um=where[:, 0] - np.where(on_cell, placement.x_um[node], 0.0),
        pin_y_um=where[:, 1] - np.where(on_cell, placement.y_um[node], 0.0),
    )
