"""Small designs of hard macros, for everything that has to do with legality."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from netlists.model import Canvas, Design, Netlist, NodeKind, Placement

MakeDesign = Callable[..., Design]


def macro_design(
    sizes: Sequence[tuple[float, float]],
    *,
    width: float = 100.0,
    height: float = 100.0,
    centres: Sequence[tuple[float, float]] | None = None,
    fixed: Sequence[int] = (),
    blockages: Sequence[tuple[float, float, float, float]] = (),
    orientation: Sequence[int] | None = None,
    soft: Sequence[int] = (),
    ports: Sequence[int] = (),
) -> Design:
    """Hard macros `m0`, `m1`, … without nets; those listed in `soft` or `ports` are of that kind instead."""
    n = len(sizes)
    size = np.array(sizes, dtype=np.float64).reshape(-1, 2)
    kind = np.full(n, NodeKind.HARD_MACRO, dtype=np.int8)
    kind[list(soft)] = NodeKind.SOFT_MACRO
    kind[list(ports)] = NodeKind.PORT
    at = np.full((n, 2), (width / 2, height / 2)) if centres is None else np.array(centres, dtype=np.float64)
    held = np.zeros(n, dtype=np.bool_)
    held[list(fixed)] = True
    netlist = Netlist(
        node_name=tuple(f"m{i}" for i in range(n)),
        node_kind=kind,
        node_index=np.arange(n, dtype=np.int32),
        width_um=size[:, 0],
        height_um=size[:, 1],
        port_side=np.full(n, -1, dtype=np.int8),
        pin_name=(),
        pin_node=np.zeros(0, np.int32),
        pin_dx_um=np.zeros(0),
        pin_dy_um=np.zeros(0),
        net_start=np.zeros(1, np.int32),
        net_pin=np.zeros(0, np.int32),
        net_weight=np.zeros(0),
    )
    start = Placement(
        x_um=at.reshape(-1, 2)[:, 0],
        y_um=at.reshape(-1, 2)[:, 1],
        orientation=np.zeros(n, np.int8) if orientation is None else np.array(orientation, np.int8),
        fixed=held,
    )
    return Design(
        name="test",
        netlist=netlist,
        canvas=Canvas(width_um=width, height_um=height, columns=10, rows=10),
        start=start,
        blockages_um=np.array(blockages, dtype=np.float64).reshape(-1, 4),
    )


@pytest.fixture(scope="session")
def make_design() -> MakeDesign:
    return macro_design
