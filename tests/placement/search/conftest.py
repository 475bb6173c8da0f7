"""Small designs with nets and a legal start, for the search."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from netlists.model import Canvas, Design, Netlist, NodeKind, Placement


def net_design(
    hard: Sequence[tuple[float, float]],
    soft: int = 0,
    *,
    side: float = 100.0,
    cells: int = 12,
    fixed: Sequence[int] = (),
    blockages: Sequence[tuple[float, float, float, float]] = (),
    seed: int = 0,
) -> Design:
    """Hard macros of these sizes, `soft` soft ones and two ports, nets at random; placed row by row, so legal."""
    rng = np.random.default_rng(seed)
    m = len(hard)
    n = m + soft + 2
    kind = np.array([NodeKind.HARD_MACRO] * m + [NodeKind.SOFT_MACRO] * soft + [NodeKind.PORT] * 2)
    size = np.array([*hard, *[(3.0, 3.0)] * soft, (0, 0), (0, 0)], dtype=float)
    x, y = rng.uniform(5, side - 5, n), rng.uniform(5, side - 5, n)
    left = bottom = row = 0.0
    for i, (w, h) in enumerate(hard):
        if left + w > side:
            left, bottom, row = 0.0, bottom + row, 0.0
        x[i], y[i] = left + w / 2, bottom + h / 2
        left, row = left + w, max(row, h)
    x[-2:], y[-2:] = (0.0, side), side / 2
    pin_node = np.repeat(np.arange(n), 3)
    on = kind[pin_node] == NodeKind.HARD_MACRO
    nets = [rng.choice(len(pin_node), rng.integers(2, min(6, n) + 1), replace=False) for _ in range(4 * n)]
    held = np.zeros(n, dtype=bool)
    held[list(fixed)] = True
    netlist = Netlist(
        node_name=tuple(f"n{i}" for i in range(n)), node_kind=kind, node_index=np.arange(n),
        width_um=size[:, 0], height_um=size[:, 1], port_side=np.full(n, -1),
        pin_name=tuple(f"q{i}" for i in range(len(pin_node))), pin_node=pin_node,
        pin_dx_um=np.where(on, rng.uniform(-0.5, 0.5, len(pin_node)) * size[pin_node, 0], 0.0),
        pin_dy_um=np.where(on, rng.uniform(-0.5, 0.5, len(pin_node)) * size[pin_node, 1], 0.0),
        net_start=np.cumsum([0, *map(len, nets)]), net_pin=np.concatenate(nets), net_weight=np.ones(len(nets)),
    )  # fmt: skip
    canvas = Canvas(
        width_um=side, height_um=side, columns=cells, rows=cells, hor_routes_per_um=5.0, ver_routes_per_um=5.0
    )
    start = Placement(x_um=x, y_um=y, orientation=np.zeros(n), fixed=held)
    return Design(
        name="net", netlist=netlist, canvas=canvas, start=start, blockages_um=np.array(blockages).reshape(-1, 4)
    )


@pytest.fixture(scope="session")
def nets_of() -> Callable[..., Design]:
    """`net_design`: sizes of hard macros, number of soft ones, and what is fixed or blocked."""
    return net_design
