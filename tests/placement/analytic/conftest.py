"""Small random designs for global placement: connected, feasible, with every kind of node."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from netlists.model import Canvas, Design, Netlist, NodeKind, Placement, Side


def make(
    seed: int = 0,
    hard: int = 6,
    soft: int = 12,
    nets: int = 40,
    columns: int = 9,
    rows: int = 7,
    smoothing: int = 1,
    fixed: bool = False,
    soft_size: float = 1.0,
    blockages: bool = False,
) -> Design:
    """A design on a canvas of 90 x 70 µm; hard macros of some 10 x 12 µm, nets of 2 to 6 pins, two ports."""
    rng = np.random.default_rng(seed)
    kind = np.array([NodeKind.HARD_MACRO] * hard + [NodeKind.SOFT_MACRO] * soft + [NodeKind.PORT] * 2)
    n = len(kind)
    w, h = rng.uniform(6, 13, n), rng.uniform(6, 15, n)
    w[hard:], h[hard:] = soft_size * rng.uniform(1, 6, n - hard), soft_size * rng.uniform(1, 6, n - hard)
    w[kind == NodeKind.PORT] = h[kind == NodeKind.PORT] = 0.0
    pin_node = np.concatenate([np.repeat(np.arange(hard), 3), np.arange(hard, n)])
    on_hard = pin_node < hard
    dx = np.where(on_hard, rng.uniform(-0.5, 0.5, len(pin_node)) * w[pin_node], 0.0)
    dy = np.where(on_hard, rng.uniform(-0.5, 0.5, len(pin_node)) * h[pin_node], 0.0)
    sizes = np.minimum(rng.integers(2, 7, nets), len(pin_node))
    members = [rng.choice(len(pin_node), size, replace=False) for size in sizes]
    netlist = Netlist(
        node_name=tuple(f"n{i}" for i in range(n)),
        node_kind=kind,
        node_index=np.arange(n),
        width_um=w,
        height_um=h,
        port_side=np.where(kind == NodeKind.PORT, Side.LEFT, Side.NONE),
        pin_name=tuple(f"q{i}" for i in range(len(pin_node))),
        pin_node=pin_node,
        pin_dx_um=dx,
        pin_dy_um=dy,
        net_start=np.concatenate([[0], np.cumsum(sizes)]) if nets else np.zeros(1),
        net_pin=np.concatenate(members).astype(np.int32) if nets else np.zeros(0, dtype=np.int32),
        net_weight=rng.choice([0.5, 1.0, 3.0], nets),
    )
    canvas = Canvas(
        width_um=90.0, height_um=70.0, columns=columns, rows=rows, smoothing=smoothing,
        hor_routes_per_um=2.0, ver_routes_per_um=2.5, hor_macro_routes_per_um=1.0, ver_macro_routes_per_um=1.5,
    )  # fmt: skip
    x, y = rng.uniform(10, 80, n), rng.uniform(10, 60, n)
    x[kind == NodeKind.PORT] = 0.0
    if fixed:  # in a row that is legal
        x[:hard], y[:hard] = 7.5 + 15 * np.arange(hard), 35.0
    start = Placement(
        x_um=x,
        y_um=y,
        orientation=np.where(kind == NodeKind.HARD_MACRO, rng.integers(0, 8, n), 0),
        fixed=(kind == NodeKind.PORT) | fixed,
    )
    boxes = np.array([[0.0, 0.0, 20.0, 20.0]]) if blockages else np.zeros((0, 4))
    return Design(name=f"random{seed}", netlist=netlist, canvas=canvas, start=start, blockages_um=boxes)


@pytest.fixture(scope="session")
def make_design() -> Callable[..., Design]:
    """`make`: seed, counts, grid, and what is odd about it."""
    return make
