"""What the browser draws of a design: sides with pins, halos."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from backend.designs.layout import INSIDE, layout_read, pin_sides
from netlists.constraints_json.file import object_source, with_constraints
from netlists.model import Design, Netlist, NodeKind
from netlists.samples import make_sample


@pytest.fixture(scope="module")
def design() -> Design:
    return make_sample("small", seed=3)


def slow_pin_sides(netlist: Netlist) -> list[tuple[int, str, float, float, int]]:
    """Pin by pin."""
    found: dict[tuple[int, int], list[float]] = {}
    for pin, node in enumerate(netlist.pin_node.tolist()):
        if netlist.node_kind[node] != NodeKind.HARD_MACRO:
            continue
        w, h = float(netlist.width_um[node]), float(netlist.height_um[node])
        x, y = float(netlist.pin_dx_um[pin]), float(netlist.pin_dy_um[pin])
        distances = [x + w / 2, w / 2 - x, y + h / 2, h / 2 - y]
        side = distances.index(min(distances))
        if min(distances) <= INSIDE * min(w, h):
            found.setdefault((node, side), []).append(y if side < 2 else x)
    names = ("left", "right", "bottom", "top")
    return [(node, names[side], min(at), max(at), len(at)) for (node, side), at in sorted(found.items())]


def test_pin_sides_are_those_of_every_pin(design: Design) -> None:
    netlist = design.netlist
    rng = np.random.default_rng(1)
    scattered = replace(
        netlist,
        pin_dx_um=(rng.random(len(netlist.pin_node)) - 0.5) * netlist.width_um[netlist.pin_node],
        pin_dy_um=(rng.random(len(netlist.pin_node)) - 0.5) * netlist.height_um[netlist.pin_node],
    )
    for one in (netlist, scattered):
        got = [(side.node, side.side, side.from_um, side.to_um, side.pins) for side in pin_sides(one)]
        assert got == slow_pin_sides(one)
    inside = sum(side.pins for side in pin_sides(scattered))
    hard_pins = int(np.count_nonzero(netlist.node_kind[netlist.pin_node] == NodeKind.HARD_MACRO))
    assert 0 < inside < hard_pins


def test_no_pins_no_sides(design: Design) -> None:
    n = design.netlist
    none = np.zeros(0, np.int32)
    bare = replace(
        n, pin_name=(), pin_node=none, pin_dx_um=np.zeros(0), pin_dy_um=np.zeros(0), net_start=np.zeros(1, np.int32),
        net_pin=none, net_weight=np.zeros(0), net_name=(), pin_direction=np.zeros(0, np.int8),
    )  # fmt: skip
    assert pin_sides(bare) == []


def test_halos(design: Design) -> None:
    hard = design.netlist.nodes_of(NodeKind.HARD_MACRO)
    assert layout_read(design, design.start).halos == []
    rules = {"version": 1, "macros": [{"name": design.netlist.node_name[hard[1]], "halo_um": [1, 2, 3, 4]}]}
    ruled = with_constraints(design, [object_source(rules)])
    assert [halo.model_dump() for halo in layout_read(ruled, ruled.start).halos] == [
        {"node": int(hard[1]), "left_um": 1, "bottom_um": 2, "right_um": 3, "top_um": 4}
    ]
