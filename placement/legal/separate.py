"""Takes away the overlaps that only rounding makes: abutting hard macros are set apart by the clearance.

In: a legal placement. Out: one without any overlap in float64 or float32 (`strict`), wherever there is room; the same
object if there is nothing to do. Last step of `pack` and `legalise`, first of the search. Neighbours keep their order
along the axis in which they lie apart (`chains`), halos, spacings and regions are kept. Knows no costs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from netlists.model import BoolArray, Design, FloatArray, Placement
from placement.legal.boxes import OUTWARD, TOLERANCE_UM, MacroBoxes, canvas_box_um, clearance_um, macro_boxes, rules_of
from placement.legal.chains import Edge, Line, Link, set_apart
from placement.legal.check import check
from placement.legal.space import space_of
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
    halo: FloatArray  # (B, 4) how far each side keeps off what stands
    margin: FloatArray  # (B, 4) how far it keeps off the margins of other macros
    movable: BoolArray  # (B,)
    bounds: FloatArray  # (B, 4) least x, least y, greatest x, greatest y of centres


def _bounds(design: Design, placement: Placement, macros: MacroBoxes) -> FloatArray:
    """(M, 4) for the centres: the room that each is in (`space`), or no bounds."""
    bounds = np.tile([-np.inf, -np.inf, np.inf, np.inf], (len(macros.node), 1))
    if rules_of(design) is None:
        return bounds
    space = space_of(design, placement.orientation)
    for m, box in enumerate(np.flatnonzero(macros.movable)):
        centre = np.array([macros.x_um[box], macros.y_um[box]])
        if len(rooms := space.rooms_of(m) - np.tile(space.offset_um[m], 2)):
            beyond = np.concatenate([rooms[:, :2] - centre, centre - rooms[:, 2:]], axis=1).max(axis=1)
            room = rooms[beyond.argmin()]
            bounds[box] = *np.minimum(room[:2], centre), *np.maximum(room[2:], centre)
    return bounds


def _all_boxes(design: Design, placement: Placement, macros: MacroBoxes) -> _Boxes:
    canvas = canvas_box_um(design)
    far, (right, top) = float(canvas[2:].sum()), canvas[2:]
    walls = [[-far, -far, 0, far], [-far, -far, far, 0], [right, -far, far, far], [-far, top, far, far]]
    standing = np.concatenate([walls, design.blockages_um])
    size = np.stack([macros.width_um, macros.height_um], axis=1)
    nothing = np.zeros_like(standing)
    return _Boxes(
        centre=np.concatenate([np.stack([macros.x_um, macros.y_um], axis=1), (standing[:, :2] + standing[:, 2:]) / 2]),
        half=np.concatenate([size, standing[:, 2:] - standing[:, :2]]) / 2,
        corners=np.concatenate([macros.corners_um(), standing]),
        corners32=np.concatenate([corners_in(macros, np.float32), standing.astype(np.float32).astype(np.float64)]),
        halo=np.concatenate([macros.halo_um, nothing]),
        margin=np.concatenate([macros.margin_um, nothing]),
        movable=np.concatenate([macros.movable & size.all(axis=1), np.zeros(len(standing), np.bool_)]),
        bounds=np.concatenate([_bounds(design, placement, macros), nothing]),
    )


def _neighbours(boxes: _Boxes, macros: int, reach: float) -> tuple[Pairs, ...]:
    """Pairs of boxes less than `reach` apart, beyond what they must be, of which one may move; the earlier box first.

    Four lists: apart in x, and in y, and not in the other axis; then those that meet at a corner, by the axis in which
    they are further apart. Macros without area overlap nothing and are left out.
    """
    found: tuple[Pairs, ...] = ([], [], [], [])
    movable, solid = boxes.movable, boxes.half.all(axis=1)
    padded, clear = boxes.corners + boxes.margin * OUTWARD, boxes.corners + boxes.halo * OUTWARD
    for a in np.flatnonzero(solid[:macros]).tolist():
        rest = np.concatenate([padded[a + 1 : macros], boxes.corners[macros:]])
        own = np.concatenate([np.tile(padded[a], (macros - a - 1, 1)), np.tile(clear[a], (len(solid) - macros, 1))])
        gap = np.maximum(rest[:, :2] - own[:, 2:], own[:, :2] - rest[:, 2:])
        near = (gap.max(axis=1) < reach) & (movable[a] | movable[a + 1 :]) & solid[a + 1 :]
        axes, meet = gap.argmax(axis=1), gap.min(axis=1) >= -TOLERANCE_UM
        for other in np.flatnonzero(near).tolist():
            axis, b = int(axes[other]), a + 1 + other
            first = boxes.centre[a, axis] <= boxes.centre[b, axis]
            found[axis + 2 * int(meet[other])].append((a, b) if first else (b, a))
    return found


def _moved_along(boxes: _Boxes, macros: int, axis: int, pairs: Pairs, clearance: float) -> FloatArray | None:
    """New centres (B,) along an axis with these pairs kept apart."""
    order = np.argsort(boxes.centre[:, axis], kind="stable")
    rank = np.argsort(order)
    rounding = 4 * float(np.spacing(np.abs(boxes.corners).max()))

    def edges(side: int) -> list[Edge]:
        return list(zip(boxes.corners[order, side].tolist(), boxes.corners32[order, side].tolist(), strict=True))

    def link(a: int, b: int) -> Link:
        keeps = boxes.margin if max(a, b) < macros else boxes.halo
        spacing = float(keeps[a, axis + 2] + keeps[b, axis])
        gap = float(boxes.corners[b, axis] - boxes.corners[a, axis + 2])
        return Link(int(rank[a]), int(rank[b]), spacing, max(spacing - gap, 0.0) + rounding)

    at = set_apart(
        Line(
            at=boxes.centre[order, axis].tolist(),
            first=boxes.bounds[order, axis].tolist(),
            last=boxes.bounds[order, axis + 2].tolist(),
            half=boxes.half[order, axis].tolist(),
            movable=boxes.movable[order].tolist(),
            low=edges(axis),
            high=edges(axis + 2),
            links=[link(a, b) for a, b in pairs if rank[a] < rank[b]],
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
    count = len(macros.node)
    boxes = _all_boxes(design, placement, macros)
    *links, corners_x, corners_y = _neighbours(boxes, count, 2 * (count + 2) * clearance)
    best, least = placement, before
    for _ in range(ROUNDS):
        across, up = (_moved_along(boxes, count, axis, pairs, clearance) for axis, pairs in enumerate(links))
        if across is None or up is None:
            break
        x, y = placement.x_um.copy(), placement.y_um.copy()
        x[macros.node], y[macros.node] = across[:count], up[:count]
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
