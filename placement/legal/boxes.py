"""Boxes of the hard macros and of what they must keep off: the one place where geometry for legality is made.

In: a design and a placement. Out: `MacroBoxes` (arrays, µm) and obstacle rectangles. Every other module of this folder,
and the environment, takes its boxes from here, so that spacing rules to come (halos, boundary distance, regions) have
one place to live in: they only change these arrays. No files, no costs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from netlists.model import BoolArray, Design, FloatArray, IntArray, NodeKind, Placement, oriented_size_um

# µm. Boxes may share this much in x or in y before it counts as overlap. Centres and half sizes are float64: an edge
# carries at most 3 roundings of half a unit in the last place, 3e-12 µm on a canvas of 10 mm, and sums of some hundred
# widths in a row 1e-10 µm. So 1e-9 forgives abutting boxes and stays 1000 times below the 1e-6 µm that must be found.
TOLERANCE_UM = 1e-9

# Share of the canvas' longer side. An edge computed in float32 is off by at most 3 roundings of 2^-24 of the canvas;
# two edges by 6 * 2^-24 < 2^-21. Boxes this far apart do not overlap in float32 either.
FLOAT32_CLEARANCE = 2.0**-21


@dataclass(frozen=True, eq=False, kw_only=True)
class MacroBoxes:
    """The M hard macros of a placement, in file order."""

    node: IntArray  # (M,) into Netlist nodes
    width_um: FloatArray  # (M,) after orientation
    height_um: FloatArray  # (M,)
    x_um: FloatArray  # (M,) centre
    y_um: FloatArray  # (M,)
    movable: BoolArray  # (M,) True = may be moved

    def corners_um(self) -> FloatArray:
        """(M, 4) llx lly urx ury."""
        half_w, half_h = self.width_um / 2, self.height_um / 2
        return np.stack([self.x_um - half_w, self.y_um - half_h, self.x_um + half_w, self.y_um + half_h], axis=1)


def macro_boxes(design: Design, placement: Placement) -> MacroBoxes:
    """Boxes of the hard macros at `placement`; what is movable is the design's to say, not the placement's."""
    netlist = design.netlist
    node = netlist.nodes_of(NodeKind.HARD_MACRO)
    width, height = oriented_size_um(netlist.width_um[node], netlist.height_um[node], placement.orientation[node])
    return MacroBoxes(
        node=node,
        width_um=width,
        height_um=height,
        x_um=placement.x_um[node],
        y_um=placement.y_um[node],
        movable=~design.start.fixed[node],
    )


def canvas_box_um(design: Design) -> FloatArray:
    """(4,) llx lly urx ury of the area to place in."""
    return np.array([0.0, 0.0, design.canvas.width_um, design.canvas.height_um])


def obstacles_um(design: Design) -> FloatArray:
    """(O, 4) rectangles that movable macros must keep off: fixed hard macros where they are, then blockages."""
    boxes = macro_boxes(design, design.start)
    return np.concatenate([boxes.corners_um()[~boxes.movable], design.blockages_um])


def clearance_um(design: Design) -> float:
    """Distance between boxes that keeps them apart in float32; wished for, not required."""
    return FLOAT32_CLEARANCE * max(design.canvas.width_um, design.canvas.height_um)


def with_clearance(
    canvas: FloatArray, obstacles: FloatArray, width: FloatArray, height: FloatArray, clearance: float
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Canvas less, all else plus half the clearance on every side: what then touches is `clearance` apart."""
    half = clearance / 2
    outward = np.array([-half, -half, half, half])
    return canvas - outward, obstacles + outward, width + clearance, height + clearance
