"""Compiles all kernels of this room into numba's cache, on a design of a few macros.

Run once at set-up (`placewright warm-up`), so that no job waits for the compiler. Every argument type that real
designs bring is met here; a second run finds everything in the cache.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from netlists.constraints import Constraints
from netlists.model import Canvas, Design, Netlist, NodeKind, Placement, Side


def tiny_design() -> Design:
    """Two hard macros, a soft one and a port on 20 x 20 µm, the hard ones overlapping."""
    netlist = Netlist(
        node_name=("a", "b", "Grp_0", "p"),
        node_kind=np.array([NodeKind.HARD_MACRO, NodeKind.HARD_MACRO, NodeKind.SOFT_MACRO, NodeKind.PORT]),
        node_index=np.array([0, 2, 4, 6]),
        width_um=np.array([4.0, 4.0, 2.0, 0.0]),
        height_um=np.array([3.0, 3.0, 2.0, 0.0]),
        port_side=np.array([Side.NONE, Side.NONE, Side.NONE, Side.LEFT]),
        pin_name=("a/q", "b/d", "Grp_0/d", "p"),
        pin_node=np.array([0, 1, 2, 3]),
        pin_dx_um=np.array([1.0, -1.0, 0.0, 0.0]),
        pin_dy_um=np.array([0.5, 0.5, 0.0, 0.0]),
        net_start=np.array([0, 3, 5]),
        net_pin=np.array([0, 1, 2, 3, 0]),
        net_weight=np.array([2.0, 1.0]),
    )
    start = Placement(
        x_um=np.array([8.0, 10.0, 15.0, 0.0]),
        y_um=np.array([8.0, 9.0, 15.0, 10.0]),
        orientation=np.zeros(4, dtype=np.int8),
        fixed=np.array([False, False, False, True]),
    )
    canvas = Canvas(width_um=20.0, height_um=20.0, columns=10, rows=10)
    return Design(name="tiny", netlist=netlist, canvas=canvas, start=start)


def under_rules(design: Design) -> Design:
    """The same with every kind of constraint; its search and episodes meet no other types than without."""
    n, half = design.netlist.node_count, design.canvas.width_um / 2
    rules = Constraints(
        halo_um=np.full((n, 4), 0.5),
        orientations=np.full(n, 0xFF, dtype=np.uint8),
        boundary_spacing_um=np.full(n, 0.5),
        region=np.zeros(n, dtype=np.int32),
        region_names=("left",),
        regions_um=(np.array([[0.0, 0.0, half, design.canvas.height_um]]),),
        macro_spacing_um=0.5,
    )
    return replace(design, constraints=rules, blockages_um=np.array([[0.0, 0.0, 1.0, 1.0]]))


def with_cells(design: Design) -> Design:
    """The same with its soft macro taken for a cell that may move."""
    kind = np.where(design.netlist.node_kind == NodeKind.SOFT_MACRO, NodeKind.CELL, design.netlist.node_kind)
    return replace(design, netlist=replace(design.netlist, node_kind=kind))


def warm_up() -> None:
    """Compile and cache; about a minute the first time, some seconds afterwards (jax is imported)."""
    from placement.analytic.engine import Engine
    from placement.cells import CellOptions, place_cells
    from placement.cost import evaluate
    from placement.env import MacroEnv, VectorEnv, random_episode
    from placement.legal import check, check_feasible, legalise, pack
    from placement.search import anneal, improve

    design = tiny_design()
    check_feasible(design)
    pack(design)
    legal = legalise(design, design.start)
    check(design, legal)
    evaluate(design, legal)
    evaluate(replace(design, canvas=replace(design.canvas, columns=2, rows=2)), legal)  # few cells: another rule
    improve(design, legal, trials=100)
    anneal(design, legal, trials=100)
    random_episode(MacroEnv(design), seed=0)
    VectorEnv(design).reset()
    pack(under_rules(design))
    engine = Engine(design, legal.orientation)
    engine.shape(engine.positions(legal))
    flat = with_cells(design)
    place_cells(flat, flat.start, CellOptions(rounds=2))
