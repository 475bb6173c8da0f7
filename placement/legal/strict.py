"""Overlap without any tolerance, as another tool computes it that reads the written file in float32 or float64.

In: design, placement, a float type. Out: what shares any area once every edge is computed as centre ± half a size in
that type. Called by `separate`, which takes such overlaps away, by benchmarks and by tests. What is *legal* is
`check`'s to say: it forgives what rounding alone can make.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from netlists.model import Design, FloatArray, IntArray, Placement
from placement.legal.boxes import MacroBoxes, canvas_box_um, macro_boxes
from placement.legal.overlaps import STORED_PAIRS, overlapping_pairs

FloatType = type[np.float32] | type[np.float64]


class StrictOverlaps(NamedTuple):
    """What overlaps by any amount at all. Indices into the netlist's nodes."""

    pairs: IntArray  # (K, 2) hard macros, at most STORED_PAIRS
    outside: IntArray  # (Q,) hard macros that stick out of the canvas
    blocked: IntArray  # (R, 2) hard macro, blockage

    @property
    def total(self) -> int:
        return len(self.pairs) + len(self.outside) + len(self.blocked)


def corners_in(boxes: MacroBoxes, dtype: FloatType) -> FloatArray:
    """(M, 4) llx lly urx ury of hard macros, each edge rounded to `dtype` as its arithmetic does; held in float64."""
    float_type: Any = dtype
    x, y = boxes.x_um.astype(float_type), boxes.y_um.astype(float_type)
    half_w, half_h = boxes.width_um.astype(float_type) / 2, boxes.height_um.astype(float_type) / 2
    return np.stack([x - half_w, y - half_h, x + half_w, y + half_h], axis=1).astype(np.float64)


def strict_overlaps(design: Design, placement: Placement, dtype: FloatType = np.float32) -> StrictOverlaps:
    """Hard macros that share area with each other, with a blockage or with what lies outside, all computed in `dtype`.

    Fixed ones are looked at too: they are the design's, and no placement can mend them. Positions must be finite.
    """
    boxes = macro_boxes(design, placement)
    corners = corners_in(boxes, dtype)
    canvas = canvas_box_um(design).astype(dtype).astype(np.float64)
    blockages = design.blockages_um.astype(dtype).astype(np.float64)
    first, second = np.empty(STORED_PAIRS, np.int32), np.empty(STORED_PAIRS, np.int32)
    count = min(int(overlapping_pairs(corners, 0.0, first, second, np.empty((STORED_PAIRS, 2)))), STORED_PAIRS)
    outside = np.any((corners[:, :2] < canvas[:2]) | (corners[:, 2:] > canvas[2:]), axis=1)
    shared = np.minimum(corners[:, None, 2:], blockages[None, :, 2:]) - np.maximum(
        corners[:, None, :2], blockages[None, :, :2]
    )
    macro, blockage = np.nonzero(np.all(shared > 0, axis=2))
    return StrictOverlaps(
        pairs=boxes.node[np.stack([first[:count], second[:count]], axis=1)],
        outside=boxes.node[outside],
        blocked=np.stack([boxes.node[macro], blockage], axis=1).astype(np.int32),
    )
