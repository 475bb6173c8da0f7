"""Boxes of the hard macros and of what they must keep off: the one place where geometry for legality is made.

In: a design and a placement. Out: `MacroBoxes` (arrays, µm) and obstacle rectangles. Every other module of this folder,
the search and the environment take their boxes from here. A macro has three boxes: its own; with its halo, which lies
inside the canvas and off blockages; padded by `margin_um`, which keeps off other padded boxes. Without constraints the
three are one. Where a macro may be at all (regions, boundary) is in `space.py`. No files, no costs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from netlists.constraints import Constraints
from netlists.model import (
    BoolArray,
    ByteArray,
    Design,
    FloatArray,
    IntArray,
    NodeKind,
    Placement,
    oriented_halo_um,
    oriented_size_um,
)

# µm. Boxes may share this much in x or in y before it counts as overlap. Centres and half sizes are float64: an edge
# carries at most 3 roundings of half a unit in the last place, 3e-12 µm on a canvas of 10 mm, and sums of some hundred
# widths in a row 1e-10 µm. So 1e-9 forgives abutting boxes and stays 1000 times below the 1e-6 µm that must be found.
TOLERANCE_UM = 1e-9

# Share of the canvas' longer side. An edge computed in float32 is off by at most 3 roundings of 2^-24 of the canvas;
# two edges by 6 * 2^-24 < 2^-21. Boxes this far apart do not overlap in float32 either.
FLOAT32_CLEARANCE = 2.0**-21

OUTWARD = np.array([-1.0, -1.0, 1.0, 1.0])  # of left, bottom, right and top sides


@dataclass(frozen=True, eq=False, kw_only=True)
class MacroBoxes:
    """The M hard macros of a placement, in file order."""

    node: IntArray  # (M,) into Netlist nodes
    width_um: FloatArray  # (M,) after orientation
    height_um: FloatArray  # (M,)
    x_um: FloatArray  # (M,) centre
    y_um: FloatArray  # (M,)
    movable: BoolArray  # (M,) True = may be moved
    halo_um: FloatArray  # (M, 4) left bottom right top, after orientation
    margin_um: FloatArray  # (M, 4) the same: how far from its sides padded boxes end

    def corners_um(self) -> FloatArray:
        """(M, 4) llx lly urx ury."""
        half_w, half_h = self.width_um / 2, self.height_um / 2
        return np.stack([self.x_um - half_w, self.y_um - half_h, self.x_um + half_w, self.y_um + half_h], axis=1)

    def halo_corners_um(self) -> FloatArray:
        """(M, 4) with the halo."""
        return self.corners_um() + self.halo_um * OUTWARD

    def padded_corners_um(self) -> FloatArray:
        """(M, 4) with the margin."""
        return self.corners_um() + self.margin_um * OUTWARD


def rules_of(design: Design) -> Constraints | None:
    """The design's constraints if they hold any rule, else None."""
    rules = design.constraints
    return rules if rules is not None and rules.bind else None


def halos_um(design: Design, node: IntArray, orientation: ByteArray) -> FloatArray:
    """(M, 4) halos of these nodes in these orientations (M,)."""
    rules = rules_of(design)
    return np.zeros((len(node), 4)) if rules is None else oriented_halo_um(rules.halo_um[node], orientation)


def margins_um(design: Design, halo_um: FloatArray) -> FloatArray:
    """Margins of macros with these halos, same shape: the halo, but at least half the macro spacing on every side.

    Padded boxes that do not overlap are then apart by both halos, and by the spacing. Source of the rule: OpenROAD's
    macro placer keeps max(2 halo, channel) between macros.
    """
    rules = rules_of(design)
    return halo_um if rules is None else np.maximum(halo_um, rules.macro_spacing_um / 2)


def macro_boxes(design: Design, placement: Placement) -> MacroBoxes:
    """Boxes of the hard macros at `placement`; what is movable is the design's to say, not the placement's."""
    netlist = design.netlist
    node = netlist.nodes_of(NodeKind.HARD_MACRO)
    width, height = oriented_size_um(netlist.width_um[node], netlist.height_um[node], placement.orientation[node])
    halo = halos_um(design, node, placement.orientation[node])
    return MacroBoxes(
        node=node,
        width_um=width,
        height_um=height,
        x_um=placement.x_um[node],
        y_um=placement.y_um[node],
        movable=~design.start.fixed[node],
        halo_um=halo,
        margin_um=margins_um(design, halo),
    )


def canvas_box_um(design: Design) -> FloatArray:
    """(4,) llx lly urx ury of the area to place in."""
    return np.array([0.0, 0.0, design.canvas.width_um, design.canvas.height_um])


def obstacles_um(design: Design) -> FloatArray:
    """(O, 4) rectangles that movable macros must keep off: fixed hard macros where they are, with their halos, then
    blockages."""
    boxes = macro_boxes(design, design.start)
    return np.concatenate([boxes.halo_corners_um()[~boxes.movable], design.blockages_um])


def clearance_um(design: Design) -> float:
    """Distance between boxes that keeps them apart in float32; wished for, not required."""
    return FLOAT32_CLEARANCE * max(design.canvas.width_um, design.canvas.height_um)
