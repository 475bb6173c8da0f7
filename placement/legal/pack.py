"""Constructive packing: a legal placement from nothing but the sizes.

In: a design. Out: a placement with every movable hard macro packed. Called when there is no start worth keeping and
when the legaliser finds no room. Tries, in this order: sorted orders with four corner rules (20 packings), an exact
search for few macros, shuffled orders. Each first with the clearance that keeps boxes apart in float32, then edge to
edge. Deterministic. Knows no costs.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from netlists.errors import InfeasibleError
from netlists.model import Design, FloatArray, IntArray, NodeKind, Placement, oriented_size_um
from placement.kernels import allocating
from placement.legal.boxes import canvas_box_um, clearance_um, macro_boxes, obstacles_um, with_clearance
from placement.legal.check import check
from placement.legal.feasible import check_feasible
from placement.legal.free_space import (
    BOTTOM_LEFT,
    FIT_UM,
    LEAST_AREA,
    LEFT_BOTTOM,
    SHORT_SIDE,
    choose_corner,
    free_space,
    occupy,
)
from placement.legal.separate import separate

RULES = (BOTTOM_LEFT, LEFT_BOTTOM, SHORT_SIDE, LEAST_AREA)
EXACT_MACROS = 8  # up to so many movable macros the exact search runs
EXACT_NODES = 20_000  # partial packings it looks at: about 2 s
SHUFFLED_WORK = 40_000  # macros placed by all shuffled tries together: a few seconds
SHUFFLED_TRIES = 400


@allocating
def pack_in_order(
    canvas: FloatArray, obstacles: FloatArray, width: FloatArray, height: FloatArray, order: IntArray, rule: int
) -> tuple[FloatArray, int]:
    """Put boxes one after another into a corner of the free space. Lower left corners (M, 2); how many were placed."""
    corner = np.zeros((len(width), 2))
    free, count = free_space(canvas, obstacles)
    for step in range(len(order)):
        m = order[step]
        r = choose_corner(free, count, width[m], height[m], rule)
        if r < 0:
            return corner, step
        # never beyond the canvas, not even by the last bit that `fits` forgives
        corner[m, 0] = min(free[r, 0], max(canvas[0], canvas[2] - width[m]))
        corner[m, 1] = min(free[r, 1], max(canvas[1], canvas[3] - height[m]))
        free, count = occupy(free, count, corner[m, 0], corner[m, 1], corner[m, 0] + width[m], corner[m, 1] + height[m])
    return corner, len(order)


def _sorted_orders(width: FloatArray, height: FloatArray) -> Iterator[IntArray]:
    """Large before small, by five meanings of large; ties by the other side, so that equal macros stand together."""
    for first, second in (
        (height, width),
        (width * height, height),
        (width, height),
        (np.maximum(width, height), np.minimum(width, height)),
        (width + height, height),
    ):
        yield np.lexsort((-second, -first)).astype(np.int32)


def _exact(canvas: FloatArray, obstacles: FloatArray, width: FloatArray, height: FloatArray) -> FloatArray | None:
    """Depth-first over every order and every lower left corner of a maximal free rectangle. None: not found."""
    macros = len(width)
    seen: set[frozenset[tuple[float, float, float, float]]] = set()

    def descend(
        placed: dict[int, tuple[float, float]], free: FloatArray, count: int
    ) -> dict[int, tuple[float, float]] | None:
        if len(placed) == macros:
            return placed
        tried: set[tuple[float, float]] = set()
        for m in sorted(set(range(macros)) - set(placed), key=lambda i: -width[i] * height[i]):
            w, h = float(width[m]), float(height[m])
            if (w, h) in tried:
                continue
            tried.add((w, h))
            for x, y in {
                (min(r[0], max(canvas[0], canvas[2] - w)), min(r[1], max(canvas[1], canvas[3] - h)))
                for r in free[:count]
                if r[2] - r[0] >= w - FIT_UM and r[3] - r[1] >= h - FIT_UM
            }:
                now = {**placed, m: (x, y)}
                key = frozenset((float(width[i]), float(height[i]), cx, cy) for i, (cx, cy) in now.items())
                if key in seen or len(seen) >= EXACT_NODES:
                    continue
                seen.add(key)
                found = descend(now, *occupy(free.copy(), count, x, y, x + w, y + h))
                if found:
                    return found
        return None

    found = descend({}, *free_space(canvas, obstacles))
    return np.array([found[m] for m in range(macros)]).reshape(-1, 2) if found else None


def _shuffled_orders(width: FloatArray, height: FloatArray) -> Iterator[IntArray]:
    """Sizes blurred by up to 30 %, then sorted: near the good orders, but each time another one."""
    random = np.random.default_rng(0)
    keys = (height, width * height, np.maximum(width, height))
    for k in range(min(SHUFFLED_TRIES, SHUFFLED_WORK // max(1, len(width)))):
        key = keys[k % len(keys)]
        yield np.argsort(-key * random.uniform(0.7, 1.3, len(width)), kind="stable").astype(np.int32)


def pack_boxes(
    canvas: FloatArray, obstacles: FloatArray, width: FloatArray, height: FloatArray, clearance: float
) -> FloatArray | None:
    """Centres (M, 2) of boxes packed into `canvas` beside `obstacles`; None if no try succeeds.

    Boxes, obstacles and canvas edges end up `clearance` apart.
    """
    room, grown, w, h = with_clearance(canvas, obstacles, width, height, clearance)
    size = np.stack([w, h], axis=1)
    for order in _sorted_orders(width, height):
        for rule in RULES:
            corner, placed = pack_in_order(room, grown, w, h, order, rule)
            if placed == len(width):
                return corner + size / 2
    if len(width) <= EXACT_MACROS:
        found = _exact(room, grown, w, h)
        if found is not None:
            return found + size / 2
    for number, order in enumerate(_shuffled_orders(width, height)):
        corner, placed = pack_in_order(room, grown, w, h, order, RULES[number % len(RULES)])
        if placed == len(width):
            return corner + size / 2
    return None


def inside(design: Design, placement: Placement) -> Placement:
    """Pull movable soft macros and cells into the canvas (centred where larger than it or without a position)."""
    netlist, canvas = design.netlist, design.canvas
    kind = netlist.node_kind
    soft = np.isin(kind, (NodeKind.SOFT_MACRO, NodeKind.CELL)) & ~design.start.fixed
    width, height = oriented_size_um(netlist.width_um, netlist.height_um, placement.orientation)

    def pulled(centre: FloatArray, size: FloatArray, length: float) -> FloatArray:
        known = np.where(np.isfinite(centre), centre, length / 2)
        half = np.minimum(size, length) / 2
        return np.where(soft, np.clip(known, half, length - half), centre)

    return placement.moved(
        x_um=pulled(placement.x_um, width, canvas.width_um), y_um=pulled(placement.y_um, height, canvas.height_um)
    )


def pack(design: Design) -> Placement:
    """Pack the movable hard macros from nothing; orientations, fixed nodes and ports as in the design's start.

    Soft macros stay where the start has them, pulled into the canvas. Raises InfeasibleError if a bound is broken
    (`check_feasible`) or if no packing was found, with what was tried.
    """
    check_feasible(design)
    boxes = macro_boxes(design, design.start)
    movable = boxes.movable
    width, height = boxes.width_um[movable], boxes.height_um[movable]
    canvas, obstacles = canvas_box_um(design), obstacles_um(design)
    for clearance in (clearance_um(design), 0.0):
        centre = pack_boxes(canvas, obstacles, width, height, clearance)
        if centre is None:
            continue
        x, y = design.start.x_um.copy(), design.start.y_um.copy()
        x[boxes.node[movable]], y[boxes.node[movable]] = centre[:, 0], centre[:, 1]
        packed = inside(design, design.start.moved(x_um=x, y_um=y))
        if check(design, packed).overlap_count == 0:
            return separate(design, packed)
    area = float((width * height).sum())
    raise InfeasibleError(
        f"no legal packing found for {len(width)} movable macros of {area:.6g} µm² in all on a canvas of "
        f"{canvas[2]:.6g} x {canvas[3]:.6g} µm with {len(obstacles)} fixed macros and blockages "
        f"(utilisation {100 * area / (canvas[2] * canvas[3]):.1f} % of the whole canvas); tried orders sorted by 5 "
        f"keys with 4 corner rules, {'exact search, ' if len(width) <= EXACT_MACROS else ''}and shuffled orders"
    )
