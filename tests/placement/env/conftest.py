"""Designs to place: a generated one with nets, and awkward little ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from netlists.model import Canvas, Design, Netlist, NodeKind, Placement, Side
from netlists.samples import make_sample


def netted_design(
    sizes: Sequence[tuple[float, float]],
    *,
    side_um: float = 100.0,
    grid: tuple[int, int] = (10, 10),
    soft: int = 6,
    fixed: Sequence[int] = (),
    blockages: Sequence[tuple[float, float, float, float]] = (),
    seed: int = 0,
) -> Design:
    """Hard macros of these sizes, `soft` soft macros of 4 x 4 µm, two ports; random nets of 2 to 4 pins over all."""
    random = np.random.default_rng(seed)
    hard, n = len(sizes), len(sizes) + soft + 2
    kind = np.repeat([NodeKind.HARD_MACRO, NodeKind.SOFT_MACRO, NodeKind.PORT], [hard, soft, 2]).astype(np.int8)
    size = np.concatenate([np.array(sizes, float).reshape(-1, 2), np.full((soft, 2), 4.0), np.zeros((2, 2))])
    nets = [random.choice(n, random.integers(2, 5), replace=False) for _ in range(3 * n)]
    pin_node = np.concatenate(nets).astype(np.int32)
    offset = random.uniform(-0.5, 0.5, (len(pin_node), 2)) * size[pin_node] * (kind[pin_node] == 0)[:, None]
    at = random.uniform(10, side_um - 10, (n, 2))
    at[-2:] = [(0, side_um / 2), (side_um, side_um / 3)]
    held = np.zeros(n, np.bool_)
    held[list(fixed)] = True
    netlist = Netlist(
        node_name=tuple(f"n{i}" for i in range(n)),
        node_kind=kind,
        node_index=np.arange(n, dtype=np.int32),
        width_um=size[:, 0],
        height_um=size[:, 1],
        port_side=np.where(kind == NodeKind.PORT, Side.LEFT, Side.NONE).astype(np.int8),
        pin_name=tuple(f"p{i}" for i in range(len(pin_node))),
        pin_node=pin_node,
        pin_dx_um=offset[:, 0],
        pin_dy_um=offset[:, 1],
        net_start=np.concatenate([[0], np.cumsum([len(net) for net in nets])]).astype(np.int32),
        net_pin=np.arange(len(pin_node), dtype=np.int32),
        net_weight=random.integers(1, 4, len(nets)).astype(float),
    )
    return Design(
        name="netted",
        netlist=netlist,
        canvas=Canvas(width_um=side_um, height_um=side_um, columns=grid[0], rows=grid[1]),
        start=Placement(x_um=at[:, 0], y_um=at[:, 1], orientation=np.zeros(n, np.int8), fixed=held),
        blockages_um=np.array(blockages, float).reshape(-1, 4),
    )


@pytest.fixture(scope="session")
def make_netted() -> Callable[..., Design]:
    return netted_design


@pytest.fixture(scope="session")
def sample() -> Design:
    return make_sample("small", seed=1)
