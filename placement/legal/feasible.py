"""Can any legal placement exist? Bounds that are checked in milliseconds, each with its numbers in the message.

In: a design. Raises `InfeasibleError` or returns nothing. Called before a job starts and by `pack`. The bounds are
necessary, not sufficient: what passes here may still fail to be packed, and then `pack` says so.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from netlists.errors import InfeasibleError
from netlists.model import Design, FloatArray, NodeKind
from placement.legal.boxes import TOLERANCE_UM, MacroBoxes, canvas_box_um, macro_boxes, obstacles_um
from placement.legal.check import blocked_um, outside_um, pairs_um

LARGEST_PART = 8  # counting bound: macros wider than 1/2 … 1/9 of the canvas


def union_area_um2(rectangles: FloatArray, within: FloatArray) -> float:
    """Area of the union of rectangles (R, 4), cut at `within` (4,). Sweep over x, O(R² log R)."""
    cut = np.concatenate([np.maximum(rectangles[:, :2], within[:2]), np.minimum(rectangles[:, 2:], within[2:])], axis=1)
    cut = cut[(cut[:, 2] > cut[:, 0]) & (cut[:, 3] > cut[:, 1])]
    area = 0.0
    edges = np.unique(cut[:, [0, 2]])
    for left, right in pairwise(edges):
        spans = cut[(cut[:, 0] <= left) & (cut[:, 2] >= right)]
        spans = spans[np.argsort(spans[:, 1])]
        top = -np.inf
        for low, high in spans[:, [1, 3]]:
            area += (right - left) * max(0.0, high - max(low, top))
            top = max(top, high)
    return area


def _apart(a: float, b: float) -> tuple[str, str]:
    """Both numbers with six digits, or as many more as it takes to see that they differ."""
    for digits in range(6, 17):
        shown = f"{a:.{digits}g}", f"{b:.{digits}g}"
        if shown[0] != shown[1]:
            break
    return shown


def _canvas_origin(design: Design) -> str:
    """What a message adds where no file gave the canvas."""
    return "; this canvas is derived from the netlist, a .plc file sets another" if "canvas" in design.derived else ""


def _check_values(design: Design) -> None:
    netlist, canvas = design.netlist, design.canvas
    if (
        not (np.isfinite(canvas.width_um) and np.isfinite(canvas.height_um))
        or min(canvas.width_um, canvas.height_um) <= 0
    ):
        raise InfeasibleError(f"canvas is {canvas.width_um} x {canvas.height_um} µm; both must be finite and above 0")
    for what, values in (("width", netlist.width_um), ("height", netlist.height_um)):
        bad = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
        if len(bad):
            name, value = netlist.node_name[bad[0]], values[bad[0]]
            raise InfeasibleError(f"{name!r} has {what} {value} µm; sizes must be finite and not negative")
    held = design.start.fixed & (netlist.node_kind == NodeKind.HARD_MACRO)
    lost = np.flatnonzero(held & ~(np.isfinite(design.start.x_um) & np.isfinite(design.start.y_um)))
    if len(lost):
        raise InfeasibleError(f"macro {netlist.node_name[lost[0]]!r} is fixed but has no finite position")


def _check_fixed(design: Design, boxes: MacroBoxes) -> None:
    name = design.netlist.node_name
    held = ~boxes.movable
    node, corners = boxes.node[held], boxes.corners_um()[held]
    out_by = outside_um(corners, canvas_box_um(design))
    for n, by in zip(node[out_by > TOLERANCE_UM], out_by[out_by > TOLERANCE_UM], strict=True):
        raise InfeasibleError(f"fixed macro {name[n]!r} sticks out of the canvas by {by:.6g} µm")
    pairs, extent, count = pairs_um(corners)
    if count:
        (a, b), (dx, dy) = node[pairs[0]], extent[0]
        more = f" ({count} such pairs)" if count > 1 else ""
        raise InfeasibleError(f"fixed macros {name[a]!r} and {name[b]!r} overlap by {dx:.6g} x {dy:.6g} µm{more}")
    hit, shared = blocked_um(corners, design.blockages_um)
    if len(hit):
        n, (dx, dy) = node[hit[0][0]], shared[0]
        raise InfeasibleError(f"fixed macro {name[n]!r} lies on blockage {hit[0][1]} by {dx:.6g} x {dy:.6g} µm")


def _check_sizes(design: Design, boxes: MacroBoxes) -> None:
    W, H = design.canvas.width_um, design.canvas.height_um
    width, height = boxes.width_um[boxes.movable], boxes.height_um[boxes.movable]
    large = np.flatnonzero((width > W + TOLERANCE_UM) | (height > H + TOLERANCE_UM))
    if len(large):
        i = large[0]
        name = design.netlist.node_name[boxes.node[boxes.movable][i]]
        w, h = width[i], height[i]
        turned = (
            "; it would fit after a quarter turn, which is not allowed"
            if w <= H + TOLERANCE_UM and h <= W + TOLERANCE_UM
            else ""
        )
        (w_shown, W_shown), (h_shown, H_shown) = _apart(w, W), _apart(h, H)
        raise InfeasibleError(
            f"macro {name!r} is {w_shown} x {h_shown} µm in its orientation, the canvas {W_shown} x {H_shown} µm"
            + turned
            + (f" ({len(large)} such macros)" if len(large) > 1 else "")
            + _canvas_origin(design)
        )


def _check_area(design: Design, boxes: MacroBoxes) -> None:
    W, H = design.canvas.width_um, design.canvas.height_um
    area = float((boxes.width_um * boxes.height_um)[boxes.movable].sum())
    free = W * H - union_area_um2(obstacles_um(design), canvas_box_um(design))
    slack = TOLERANCE_UM * (W + H) * max(1, int(boxes.movable.sum()))  # what touching boxes may share
    if area > free + slack:
        needed, there = _apart(area, free)
        percent = 100 * area / free if free > 0 else 0.0
        close = f"{percent:.1f}" == "100.0"
        share = f"{percent:{'.10g' if close else '.1f'}} %" if free > 0 else "without any free area"
        raise InfeasibleError(
            f"{int(boxes.movable.sum())} movable macros cover {needed} µm², the canvas has {there} µm² free of "
            f"blockages and fixed macros: utilisation {share}{_canvas_origin(design)}"
        )


def _check_counts(design: Design, boxes: MacroBoxes) -> None:
    """No more than a x b boxes wider than W/(a+1) and taller than H/(b+1) fit: a line meets at most a (b) of them.

    Source: dual feasible functions (Fekete and Schepers 2004), u(x) = floor((a+1) x) / a in both directions.
    """
    W, H = design.canvas.width_um, design.canvas.height_um
    for a in range(1, LARGEST_PART + 1):
        for b in range(1, LARGEST_PART + 1):
            wide = boxes.width_um > W / (a + 1) + TOLERANCE_UM
            count = int(np.count_nonzero(wide & (boxes.height_um > H / (b + 1) + TOLERANCE_UM)))
            if count > a * b:
                raise InfeasibleError(
                    f"{count} macros are wider than {W / (a + 1):.6g} µm and taller than {H / (b + 1):.6g} µm; no more "
                    f"than {a * b} such macros fit into the canvas of {W:.6g} x {H:.6g} µm{_canvas_origin(design)}"
                )


def check_feasible(design: Design) -> None:
    """Raise InfeasibleError, with numbers, if a bound shows that no legal placement exists.

    Checked: values finite, each macro inside the canvas in its orientation class, fixed macros legal among themselves,
    area of movable macros against free area, counts of large macros.
    """
    _check_values(design)
    boxes = macro_boxes(design, design.start)
    _check_fixed(design, boxes)
    _check_sizes(design, boxes)
    _check_area(design, boxes)
    _check_counts(design, boxes)
