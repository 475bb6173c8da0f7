"""A maker of flat chips of any size: macros in the middle, ports around, cells whose nets have a hidden plane order."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from netlists.model import Canvas, Design, Netlist, NodeKind, Orientation, Placement, Row, Side

ROW_UM, SITE_UM = 2.0, 0.5


def make_chip(cells: int = 400, *, seed: int = 1, filled: float = 0.5, rows: bool = True, tall: int = 0) -> Design:
    """Two macros on a square; each cell drives one to three near ones of a hidden plane, all starting at one spot.

    filled: share of the room between the macros that the cells take · tall: so many of the cells are two rows high.
    """
    rng = np.random.default_rng(seed)
    width = rng.integers(2, 8, cells) * SITE_UM
    height = np.full(cells, ROW_UM)
    height[:tall] = 2 * ROW_UM
    # two macros take a quarter of the square
    side = np.ceil(np.sqrt((width * height).sum() / filled / 0.75) / ROW_UM / 4) * 4 * ROW_UM
    ports, macros = 16, 2
    hidden = rng.uniform(0, side, (cells, 2))
    edge = np.linspace(0, side, 4, endpoint=False) + side / 8
    port_at = np.concatenate([
        np.stack([edge, np.zeros(4)], axis=1), np.stack([edge, np.full(4, side)], axis=1),
        np.stack([np.zeros(4), edge], axis=1), np.stack([np.full(4, side), edge], axis=1),
    ])  # fmt: skip
    kind = np.array([NodeKind.PORT] * ports + [NodeKind.HARD_MACRO] * macros + [NodeKind.CELL] * cells)
    macro_at = np.array([[side / 4, side / 2], [3 * side / 4, side / 2]])
    place = np.concatenate([port_at, macro_at, hidden])
    first = ports + macros
    nets = []
    for cell in range(cells):
        near = np.argsort(np.hypot(*(hidden - hidden[cell]).T))[1 : 2 + rng.integers(0, 3)]
        nets.append([first + cell, *(first + near)])
    for fixed in range(first):
        nets.append([fixed, first + int(np.argmin(np.hypot(*(hidden - place[fixed]).T)))])
    pins = [node for net in nets for node in net]
    pin_node = np.array(pins)
    on_cell = pin_node >= first
    n = len(kind)
    netlist = Netlist(
        node_name=tuple(f"n{number}" for number in range(n)),
        node_kind=kind,
        node_index=np.arange(n),
        width_um=np.concatenate([np.zeros(ports), np.full(macros, side / 4), width]),
        height_um=np.concatenate([np.zeros(ports), np.full(macros, side / 2), height]),
        port_side=np.where(kind == NodeKind.PORT, Side.LEFT, Side.NONE),
        pin_name=tuple(f"p{number}" for number in range(len(pins))),
        pin_node=pin_node,
        pin_dx_um=np.where(on_cell, rng.uniform(-0.4, 0.4, len(pins)), 0.0),
        pin_dy_um=np.where(on_cell, rng.uniform(-0.9, 0.9, len(pins)), 0.0),
        net_start=np.concatenate([[0], np.cumsum([len(net) for net in nets])]),
        net_pin=np.arange(len(pins)),
        net_weight=rng.choice([1.0, 2.0], len(nets)),
    )
    start = np.concatenate([port_at, macro_at, np.full((cells, 2), side / 2)])
    placement = Placement(
        x_um=start[:, 0], y_um=start[:, 1], orientation=np.zeros(n, np.int8), fixed=kind == NodeKind.PORT
    )
    lines = tuple(
        Row(
            x_um=0.0,
            y_um=number * ROW_UM,
            height_um=ROW_UM,
            site_width_um=SITE_UM,
            step_um=SITE_UM,
            sites=round(side / SITE_UM),
            orientation=Orientation.FS if number % 2 else Orientation.N,
        )
        for number in range(round(side / ROW_UM))
    )
    return Design(
        name="chip",
        netlist=netlist,
        canvas=Canvas(width_um=side, height_um=side, columns=10, rows=10),
        start=placement,
        rows=lines if rows else (),
    )


@pytest.fixture(scope="session")
def chip() -> Callable[..., Design]:
    return make_chip
