"""The geometry that the browser draws, from a design: `LayoutRead`, written as JSON, plain and packed.

Called by the task that parses. Holds every node, so that its columns and the `nodes` of a placement's JSON file agree.
"""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Literal

import numpy as np

from backend.schemas import CanvasRead, HaloRead, LayoutRead, PinSide
from netlists.model import Design, Netlist, NodeKind, Orientation, Placement

MAX_NETS = 2000  # drawn lines beyond this hide the macros
MAX_NET_PINS = 64  # a clock or reset tree would be most of the file and a black blot
INSIDE = 0.25  # of a macro's shorter side: pins farther from every edge say nothing of a side
SIDES: tuple[Literal["left", "right", "bottom", "top"], ...] = ("left", "right", "bottom", "top")


def canvas_read(design: Design) -> CanvasRead:
    """Canvas with its utilisation: area of hard macros over the canvas less blockages."""
    canvas, netlist = design.canvas, design.netlist
    hard = netlist.node_kind == NodeKind.HARD_MACRO
    macros_um2 = float((netlist.width_um[hard] * netlist.height_um[hard]).sum())
    blocked_um2 = float(sum((box[2] - box[0]) * (box[3] - box[1]) for box in design.blockages_um))
    free_um2 = max(canvas.width_um * canvas.height_um - blocked_um2, 1e-12)
    return CanvasRead(
        width_um=canvas.width_um,
        height_um=canvas.height_um,
        columns=canvas.columns,
        rows=canvas.rows,
        hor_routes_per_um=canvas.hor_routes_per_um,
        ver_routes_per_um=canvas.ver_routes_per_um,
        hor_macro_routes_per_um=canvas.hor_macro_routes_per_um,
        ver_macro_routes_per_um=canvas.ver_macro_routes_per_um,
        smoothing=canvas.smoothing,
        utilisation=macros_um2 / free_um2,
    )


def layout_read(design: Design, placement: Placement) -> LayoutRead:
    """Columns of all nodes at `placement`, and a sample of the nets between macros and ports."""
    netlist = design.netlist
    return LayoutRead(
        canvas=canvas_read(design),
        name=list(netlist.node_name),
        kind=netlist.node_kind.tolist(),
        width_um=netlist.width_um.tolist(),
        height_um=netlist.height_um.tolist(),
        x_um=placement.x_um.tolist(),
        y_um=placement.y_um.tolist(),
        orientation=[Orientation(value).name for value in placement.orientation],
        fixed=placement.fixed.tolist(),
        blockages_um=[tuple(box) for box in design.blockages_um.tolist()],
        halos=_halos(design),
        pin_sides=pin_sides(netlist),
        nets=_net_sample(design),
    )


def _halos(design: Design) -> list[HaloRead]:
    rules = design.constraints
    if rules is None:
        return []
    with_halo = np.flatnonzero(rules.halo_um.any(axis=1))
    names = ("left_um", "bottom_um", "right_um", "top_um")
    return [
        HaloRead(node=node, **dict(zip(names, halo, strict=True)))
        for node, halo in zip(with_halo.tolist(), rules.halo_um[with_halo].tolist(), strict=True)
    ]


def pin_sides(netlist: Netlist) -> list[PinSide]:
    """The stretches of hard macros' sides that hold pins, in order of nodes, orientation N.

    A pin belongs to the side it is nearest to; one farther than `INSIDE` of the macro's shorter side belongs to none.
    """
    pins = np.flatnonzero(netlist.node_kind[netlist.pin_node] == NodeKind.HARD_MACRO)
    node = netlist.pin_node[pins]
    x, y = netlist.pin_dx_um[pins], netlist.pin_dy_um[pins]
    width, height = netlist.width_um[node], netlist.height_um[node]
    distance = np.stack([x + width / 2, width / 2 - x, y + height / 2, height / 2 - y])  # in the order of SIDES
    side = distance.argmin(axis=0)
    at_side = distance.min(axis=0) <= INSIDE * np.minimum(width, height)
    along = np.where(side < 2, y, x)[at_side]
    key, which, count = np.unique((node * 4 + side)[at_side], return_inverse=True, return_counts=True)
    low, high = np.full(len(key), np.inf), np.full(len(key), -np.inf)
    np.minimum.at(low, which, along)
    np.maximum.at(high, which, along)
    columns = (key.tolist(), low.tolist(), high.tolist(), count.tolist())
    return [
        PinSide(node=one // 4, side=SIDES[one % 4], from_um=start, to_um=end, pins=number)
        for one, start, end, number in zip(*columns, strict=True)
    ]


def write_layout(folder: Path, design: Design, placement: Placement) -> None:
    """layout.json and layout.json.gz in `folder`."""
    data = layout_read(design, placement).model_dump_json().encode()
    for name, content in (("layout.json.gz", gzip.compress(data, 6, mtime=0)), ("layout.json", data)):
        part = folder / f"{name}.part"
        part.write_bytes(content)
        part.rename(folder / name)


def _net_sample(design: Design) -> list[list[int]]:
    netlist = design.netlist
    step = -(-netlist.net_count // MAX_NETS) or 1
    nets = []
    for net in range(0, netlist.net_count, step):
        nodes = netlist.pin_node[netlist.net_pin[netlist.net_start[net] : netlist.net_start[net + 1]]]
        drawn = nodes[netlist.node_kind[nodes] != NodeKind.CELL]
        distinct = list(dict.fromkeys(drawn.tolist()))
        if 2 <= len(distinct) <= MAX_NET_PINS:
            nets.append(distinct)
    return nets
