"""Can any legal placement exist? Bounds that are checked in milliseconds, each with its numbers in the message.

In: a design. Raises `InfeasibleError` or returns nothing. Called before a job starts and by `pack`. The bounds are
necessary, not sufficient: what passes here may still fail to be packed, and then `pack` says so.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from netlists.errors import InfeasibleError
from netlists.model import BoolArray, Design, FloatArray, NodeKind, Orientation
from placement.legal.boxes import OUTWARD, TOLERANCE_UM, MacroBoxes, canvas_box_um, macro_boxes, obstacles_um, rules_of
from placement.legal.overlaps import blocked_um, outside_um, pairs_um
from placement.legal.space import allowed_orientations, fits_somewhere, turned_to_fit, uncovered_um

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
    """boxes: in orientations that macros may have, and fit in where one does."""
    W, H = design.canvas.width_um, design.canvas.height_um
    movable = boxes.movable
    halo = boxes.halo_um[movable]
    width, height = boxes.width_um[movable] + halo[:, ::2].sum(axis=1), boxes.height_um[movable] + halo[:, 1::2].sum(1)
    large = np.flatnonzero((width > W + TOLERANCE_UM) | (height > H + TOLERANCE_UM))
    if len(large):
        i = large[0]
        node = boxes.node[movable][i]
        w, h = width[i], height[i]
        upright, turned = (allowed_orientations(design)[node].reshape(2, 4).any(axis=1)).tolist()
        would_fit = w <= H + TOLERANCE_UM and h <= W + TOLERANCE_UM
        turn = "; it would fit after a quarter turn, which is not allowed" if would_fit else ""
        (w_shown, W_shown), (h_shown, H_shown) = _apart(w, W), _apart(h, H)
        raise InfeasibleError(
            f"macro {design.netlist.node_name[node]!r}{' with its halo' if halo[i].any() else ''} is {w_shown} x "
            f"{h_shown} µm in {'any orientation it may have' if upright and turned else 'its orientation'}, the canvas "
            f"{W_shown} x {H_shown} µm"
            + turn
            + (f" ({len(large)} such macros)" if len(large) > 1 else "")
            + _canvas_origin(design)
        )


def _check_rooms(design: Design, boxes: MacroBoxes) -> None:
    """Each movable macro has a place of its own, as constraints go. boxes: as for `_check_sizes`."""
    rules = rules_of(design)
    if rules is None:
        return
    orientation = turned_to_fit(design, design.start).orientation
    lost = np.flatnonzero(~fits_somewhere(design, orientation))
    if not len(lost):
        return
    node = int(lost[0])
    m = int(np.flatnonzero(boxes.node == node)[0])
    left, bottom, right, top = boxes.halo_um[m]
    where = f"at least {rules.boundary_spacing_um[node]:.6g} µm from the canvas' edge"
    if rules.region[node] >= 0:
        name = rules.region_names[rules.region[node]]
        boxes_um = rules.regions_um[rules.region[node]]
        largest = max(boxes_um.tolist(), key=lambda box: (box[2] - box[0]) * (box[3] - box[1]))
        where += (
            f" and inside its region {name!r} ({len(boxes_um)} rectangles, the largest of {largest[2] - largest[0]:.6g}"
            f" x {largest[3] - largest[1]:.6g} µm)"
        )
    raise InfeasibleError(
        f"macro {design.netlist.node_name[node]!r} of {boxes.width_um[m]:.6g} x {boxes.height_um[m]:.6g} µm in "
        f"orientation {Orientation(orientation[node]).name}, with a halo of {left:g} {bottom:g} {right:g} {top:g} µm "
        f"(left, bottom, right, top), fits nowhere {where}, on a canvas of {design.canvas.width_um:.6g} x "
        f"{design.canvas.height_um:.6g} µm" + (f" ({len(lost)} such macros)" if len(lost) > 1 else "")
    )


def _check_area(design: Design, boxes: MacroBoxes) -> None:
    """Boxes with their halos, which are disjoint, against what blockages and fixed macros leave of the canvas."""
    corners = boxes.halo_corners_um()[boxes.movable]
    size = corners[:, 2:] - corners[:, :2]
    haloed = " with their halos" if boxes.halo_um.any() else ""
    _compare_areas(design, size, obstacles_um(design), canvas_box_um(design), haloed, "the canvas")
    rules = rules_of(design)
    if rules is None:
        return
    if rules.macro_spacing_um > 0:
        # Padded boxes are disjoint too, and reach out of the canvas by half the spacing at most.
        padded = boxes.padded_corners_um()
        around = canvas_box_um(design) + rules.macro_spacing_um / 2 * OUTWARD
        size = (padded[:, 2:] - padded[:, :2])[boxes.movable]
        _compare_areas(
            design,
            size,
            padded[~boxes.movable],
            around,
            " with halos and spacing",
            "the canvas, with half the spacing,",
        )
    bare = np.concatenate([boxes.corners_um()[~boxes.movable], design.blockages_um])
    for number, name in enumerate(rules.region_names):
        inside = boxes.movable & (rules.region[boxes.node] == number)
        if inside.any():
            size = np.stack([boxes.width_um, boxes.height_um], axis=1)[inside]
            _compare_areas(design, size, bare, rules.regions_um[number], "", f"region {name!r}")


def _compare_areas(
    design: Design, size: FloatArray, obstacles: FloatArray, within: FloatArray, what: str, where: str
) -> None:
    """size (M, 2) of disjoint boxes that must lie in `within` (4,) or (R, 4) and off `obstacles` (O, 4)."""
    rectangles = np.atleast_2d(within)
    around = np.array([*rectangles[:, :2].min(axis=0), *rectangles[:, 2:].max(axis=0)])
    if len(rectangles) > 1:
        obstacles = np.concatenate([obstacles, uncovered_um(around, rectangles)])
    extent = around[2:] - around[:2]
    area = float(np.prod(size, axis=1).sum())
    free = float(np.prod(extent)) - union_area_um2(obstacles, around)
    slack = TOLERANCE_UM * extent.sum() * max(1, len(size))  # what touching boxes may share
    if area > free + slack:
        needed, there = _apart(area, free)
        percent = 100 * area / free if free > 0 else 0.0
        close = f"{percent:.1f}" == "100.0"
        share = f"{percent:{'.10g' if close else '.1f'}} %" if free > 0 else "without any free area"
        raise InfeasibleError(
            f"{len(size)} movable macros cover {needed} µm²{what}, {where} has {there} µm² free of "
            f"blockages and fixed macros: utilisation {share}{_canvas_origin(design)}"
        )


def _check_counts(design: Design, boxes: MacroBoxes) -> None:
    """No more than a x b boxes wider than W/(a+1) and taller than H/(b+1) fit: a line meets at most a (b) of them.

    Source: dual feasible functions (Fekete and Schepers 2004), u(x) = floor((a+1) x) / a in both directions.
    """
    W, H = design.canvas.width_um, design.canvas.height_um
    width, height = boxes.width_um, boxes.height_um
    rules = rules_of(design)
    if rules is not None:  # with the halos, which lie inside the canvas; a quarter turn may be allowed
        halo = boxes.halo_um * boxes.movable[:, None]
        width, height = width + halo[:, 0] + halo[:, 2], height + halo[:, 1] + halo[:, 3]
        free = _may_turn(design)[boxes.node] & boxes.movable
        width, height = (
            np.where(free, np.minimum(width, height), width),
            np.where(free, np.minimum(width, height), height),
        )
    for a in range(1, LARGEST_PART + 1):
        for b in range(1, LARGEST_PART + 1):
            wide = width > W / (a + 1) + TOLERANCE_UM
            count = int(np.count_nonzero(wide & (height > H / (b + 1) + TOLERANCE_UM)))
            if count > a * b:
                haloed = "" if rules is None else " with their halos"
                raise InfeasibleError(
                    f"{count} macros{haloed} are wider than {W / (a + 1):.6g} µm and taller than {H / (b + 1):.6g} µm; "
                    f"no more than {a * b} such macros fit "
                    f"into the canvas of {W:.6g} x {H:.6g} µm{_canvas_origin(design)}"
                )


def _may_turn(design: Design) -> BoolArray:
    """(N,) nodes that may stand upright and turned."""
    allowed = allowed_orientations(design)
    return allowed[:, :4].any(axis=1) & allowed[:, 4:].any(axis=1)


def check_feasible(design: Design) -> None:
    """Raise InfeasibleError, with numbers, if a bound shows that no legal placement exists.

    Checked: values finite, each macro with its halo inside the canvas, its region and its distance from the boundary in
    an orientation that it may have, fixed macros legal among themselves, area of movable macros against free area,
    counts of large macros.
    """
    _check_values(design)
    boxes = macro_boxes(design, turned_to_fit(design, design.start))
    _check_fixed(design, boxes)
    _check_sizes(design, boxes)
    _check_rooms(design, boxes)
    _check_area(design, boxes)
    _check_counts(design, boxes)
