"""Half-perimeter wirelengths of a design under names that say what they count. Pure numpy, no kernel.

Both go over the very same nets with the same weights, from pin positions after orientation; a net with fewer than two
pins that count gives 0. Called by `placewright evaluate` and by reports on flat designs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from netlists.model import BoolArray, Design, FloatArray, NodeKind, Placement, pin_positions_um

DEFINITIONS = {
    "hpwl_um": "all nets: weight x half-perimeter of the box of all their pins, µm",
    "hpwl_unweighted_um": "all nets: half-perimeter of the box of all their pins, each net once, µm",
    "macro_hpwl_um": "nets with two or more pins on hard macros or ports: weight x half-perimeter of the box of those"
    " pins alone, µm; pins of cells and soft macros do not count",
}


@dataclass(frozen=True, kw_only=True)
class Hpwl:
    """Wirelengths in µm; what each counts: DEFINITIONS."""

    hpwl_um: float
    hpwl_unweighted_um: float
    macro_hpwl_um: float
    macro_nets: int  # nets that macro_hpwl_um counts


def hpwl(design: Design, placement: Placement) -> Hpwl:
    """The wirelengths of a placement, clustered or flat, legal or not."""
    netlist = design.netlist
    at = pin_positions_um(netlist, placement)
    whole = net_boxes_um(at, netlist.net_start, netlist.net_pin, np.ones(len(netlist.net_pin), dtype=np.bool_))
    kind = netlist.node_kind[netlist.pin_node[netlist.net_pin]]
    on_macros = (kind == NodeKind.HARD_MACRO) | (kind == NodeKind.PORT)
    macros = net_boxes_um(at, netlist.net_start, netlist.net_pin, on_macros)
    counted = np.bincount(_net_of(netlist.net_start)[on_macros], minlength=netlist.net_count) > 1
    return Hpwl(
        hpwl_um=float(whole @ netlist.net_weight),
        hpwl_unweighted_um=float(whole.sum()),
        macro_hpwl_um=float(macros @ netlist.net_weight),
        macro_nets=int(np.count_nonzero(counted)),
    )


def net_boxes_um(pin_xy_um: FloatArray, net_start: np.ndarray, net_pin: np.ndarray, counts: BoolArray) -> FloatArray:
    """Half-perimeter of each net over those of its pins that count.

    pin_xy_um (P, 2) float64 · net_start (E+1,), net_pin (K,) · counts (K,). Returns (E,) float64 µm.
    """
    net, at = _net_of(net_start)[counts], pin_xy_um[net_pin[counts]]
    present, first = np.unique(net, return_index=True)
    result = np.zeros(len(net_start) - 1)
    if len(present):
        box = np.maximum.reduceat(at, first) - np.minimum.reduceat(at, first)
        result[present] = box.sum(axis=1)
    return result


def _net_of(net_start: np.ndarray) -> np.ndarray:
    return np.repeat(np.arange(len(net_start) - 1), np.diff(net_start))
