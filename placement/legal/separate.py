"""Takes away the overlaps that only rounding makes: abutting hard macros are set apart by the clearance.

In: a legal placement. Out: one without any overlap in float64 or float32 (`strict`), wherever there is room; the same
object if there is nothing to do. Last step of `pack` and `legalise`, first of the search. Neighbours keep their order
along the axis in which they lie apart (`chains`). Knows no costs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from netlists.model import BoolArray, Design, FloatArray, Placement
from placement.legal.boxes import TOLERANCE_UM, MacroBoxes, canvas_box_um, clearance_um, macro_boxes
from placement.legal.chains import Edge, Line, Link, set_apart
from placement.legal.check import check
from placement.legal.strict import corners_in, strict_overlaps

WALLS = 4
ROUNDS = 8  # of setting apart; each but the first with links between boxes that came to overlap at a corner

Pairs = list[tuple[int, int]]


class _Boxes(NamedTuple):
    """All hard macros (M), then what else stands: walls around the canvas (4), blockages. µm."""

    centre: FloatArray  # (B, 2)
    half: FloatArray  # (B, 2)
    corners: FloatArray  # (B, 4)
    corners32: FloatArray  # (B, 4) as float32 arithmetic has them
    movable: BoolArray  # (B,)


def _all_boxes(design: Design, macros: MacroBoxes) -> _Boxes:
    canvas = canvas_box_um(design)
    far, (right, top) = float(canvas[2:].sum()), canvas[2:]
    walls = [[-far, -far, 0, far], [-far, -far, far, 0], [right, -far, far, far], [-far, top, far, far]]
    standing = np.concatenate([walls, design.blockages_um])
    size = np.stack([macros.width_um, macros.height_um], axis=1)
    return _Boxes(
        centre=np.concatenate([np.stack([macros.x_um, macros.y_um], axis=1), (standing[:, :2] + standing[:, 2:]) / 2]),
        half=np.concatenate([size, standing[:, 2:] - standing[:, :2]]) / 2,
        corners=np.concatenate([macros.corners_um(), standing]),
        corners32=np.concatenate([corners_in(macros, np.float32), standing.astype(np.float32).astype(np.float64)]),
        movable=np.concatenate([macros.movable & size.all(axis=1), np.zeros(len(standing), np.bool_)]),
    )


def _neighbours(boxes: _Boxes, reach: float) -> tuple[Pairs, ...]:
    """Pairs of boxes less than `reach` apart of which one may move, the earlier box first.

    Four lists: apart in x, and in y, and not in the other axis; then those that meet at a corner, by the axis in which
    they are further apart. Boxes without area overlap nothing and are left out.
    """
    found: tuple[Pairs, ...] = ([], [], [], [])
    corners, movable, solid = boxes.corners, boxes.movable, boxes.half.all(axis=1)
    for a in np.flatnonzero(solid).tolist():
        rest = corners[a + 1 :]
        gap = np.maximum(rest[:, :2] - corners[a, 2:], corners[a, :2] - rest[:, 2:])
        near = (gap.max(axis=1) < reach) & (movable[a] | movable[a + 1 :]) & solid[a + 1 :]
        axes, meet = gap.argmax(axis=1), gap.min(axis=1) >= -TOLERANCE_UM
        for other in np.flatnonzero(near).tolist():
            axis, b = int(axes[other]), a + 1 + other
            first = boxes.centre[a, axis] <= boxes.centre[b, axis]
            found[axis + 2 * int(meet[other])].append((a, b) if first else (b, a))
    return found


def _moved_along(boxes: _Boxes, axis: int, pairs: Pairs, clearance: float) -> FloatArray | None:
    """New centres (B,) along an axis with these pairs kept apart."""
    order = np.argsort(boxes.centre[:, axis], kind="stable")
    rank = np.argsort(order)
    low, high = boxes.corners[:, axis], boxes.corners[:, axis + 2]
    rounding = 4 * float(np.spacing(np.abs(boxes.corners).max()))
    links = [Link(int(rank[a]), int(rank[b]), max(float(high[a] - low[b]), 0.0) + rounding) for a, b in pairs]

    def edges(side: int) -> list[Edge]:
        return list(zip(boxes.corners[order, side].tolist(), boxes.corners32[order, side].tolist(), strict=True))

    at = set_apart(
        Line(
            at=boxes.centre[order, axis].tolist(),
            half=boxes.half[order, axis].tolist(),
            movable=boxes.movable[order].tolist(),
            low=edges(axis),
            high=edges(axis + 2),
            links=[link for link in links if link.before < link.after],
            clearance=clearance,
        )
    )
    return None if at is None else np.array(at)[rank]


def _overlaps(design: Design, placement: Placement) -> list[set[tuple[int, int]]]:
    """In float64 and in float32: pairs of boxes of which one may move, numbered as in `_Boxes`; outside: (m, m)."""
    macros = macro_boxes(design, placement)
    number = np.zeros(design.netlist.node_count, np.int64)
    number[macros.node] = np.arange(len(macros.node))
    found = []
    for dtype in (np.float64, np.float32):
        strict = strict_overlaps(design, placement, dtype)
        pairs = [(int(number[a]), int(number[b])) for a, b in strict.pairs]
        pairs += [(int(number[n]), len(macros.node) + WALLS + int(b)) for n, b in strict.blocked]
        pairs += [(int(number[n]), int(number[n])) for n in strict.outside]
        found.append({(a, b) for a, b in pairs if macros.movable[a] or (b < len(macros.node) and macros.movable[b])})
    return found


def separate(design: Design, placement: Placement) -> Placement:
    """A legal placement with its abutting hard macros set apart, so that rounding makes no overlap of them.

    Moves by some clearances (2^-21 of the canvas each), only movable hard macros, and only if something does overlap.
    Where there is no room for the clearance: no overlap in float32, else none in float64, else no more than before.
    """
    before = _overlaps(design, placement)
    if not any(before):
        return placement
    macros, clearance = macro_boxes(design, placement), clearance_um(design)
    boxes = _all_boxes(design, macros)
    *links, corners_x, corners_y = _neighbours(boxes, 2 * (len(macros.node) + 2) * clearance)
    best, least = placement, before
    for _ in range(ROUNDS):
        across, up = (_moved_along(boxes, axis, pairs, clearance) for axis, pairs in enumerate(links))
        if across is None or up is None:
            break
        x, y = placement.x_um.copy(), placement.y_um.copy()
        x[macros.node], y[macros.node] = across[: len(macros.node)], up[: len(macros.node)]
        apart = placement.moved(x_um=x, y_um=y)
        left = _overlaps(design, apart)
        if [len(pairs) for pairs in left] < [len(pairs) for pairs in least] and check(design, apart).legal:
            best, least = apart, left
        met = set().union(*left)
        fresh = [[(a, b) for a, b in pairs if {(a, b), (b, a)} & met] for pairs in (corners_x, corners_y)]
        if not any(set(new) - set(pairs) for new, pairs in zip(fresh, links, strict=True)):
            break
        for pairs, new in zip(links, fresh, strict=True):
            pairs.extend(new)
    return best
