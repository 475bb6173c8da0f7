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
from netlists.model import (
    ByteArray,
    Design,
    FloatArray,
    IntArray,
    NodeKind,
    Orientation,
    Placement,
    oriented_size_um,
)
from placement.kernels import allocating
from placement.legal.boxes import clearance_um, rules_of
from placement.legal.check import check
from placement.legal.feasible import check_feasible
from placement.legal.free_space import (
    BOTTOM_LEFT,
    FIT_UM,
    LEAST_AREA,
    LEFT_BOTTOM,
    SHORT_SIDE,
    choose_corner,
    choose_corner_in,
    free_space,
    occupy,
)
from placement.legal.separate import separate
from placement.legal.space import Space, allowed_orientations, fits_somewhere, space_of, turned_to_fit, with_clearance

RULES = (BOTTOM_LEFT, LEFT_BOTTOM, SHORT_SIDE, LEAST_AREA)
EXACT_MACROS = 8  # up to so many movable macros the exact search runs
EXACT_NODES = 20_000  # partial packings it looks at: about 2 s
SHUFFLED_WORK = 40_000  # macros placed by all shuffled tries together: a few seconds
SHUFFLED_TRIES = 400
TURNED_TRIES = 10  # mixtures of quarter turns, where those are allowed


@allocating
def pack_in_order(
    canvas: FloatArray,
    obstacles: FloatArray,
    width: FloatArray,
    height: FloatArray,
    order: IntArray,
    rule: int,
    room_start: IntArray,
    rooms: FloatArray,
) -> tuple[FloatArray, int]:
    """Put boxes one after another into a corner of the free space, and of their rooms where they have some.

    Lower left corners (M, 2); how many were placed. Arguments: see `Space`.
    """
    corner = np.zeros((len(width), 2))
    free, count = free_space(canvas, obstacles)
    for step in range(len(order)):
        m = order[step]
        mine = rooms[room_start[m] : room_start[m + 1]]
        if len(mine):
            corner[m, 0], corner[m, 1], found = choose_corner_in(free, count, width[m], height[m], rule, mine)
            if not found:
                return corner, step
        else:
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


def _corners(space: Space, free: FloatArray, m: int) -> set[tuple[float, float]]:
    """Lower left corners of the free rectangles (F, 4), and of the rooms in them, that a box fits into."""
    canvas, w, h = space.canvas_um, float(space.width_um[m]), float(space.height_um[m])
    free = free[(free[:, 2] - free[:, 0] >= w - FIT_UM) & (free[:, 3] - free[:, 1] >= h - FIT_UM)]
    rooms = space.rooms_of(m)
    if not len(rooms):
        return {(min(r[0], max(canvas[0], canvas[2] - w)), min(r[1], max(canvas[1], canvas[3] - h))) for r in free}
    found = (choose_corner_in(r[None], 1, w, h, BOTTOM_LEFT, one[None]) for r in free for one in rooms)
    return {(x, y) for x, y, fits in found if fits}


def _exact(space: Space) -> FloatArray | None:
    """Depth-first over every order and every lower left corner of a maximal free rectangle. None: not found."""
    width, height = space.width_um, space.height_um
    macros = len(width)
    alike = [(float(width[m]), float(height[m]), space.rooms_of(m).tobytes()) for m in range(macros)]
    seen: set[frozenset[tuple[tuple[float, float, bytes], float, float]]] = set()

    def descend(
        placed: dict[int, tuple[float, float]], free: FloatArray, count: int
    ) -> dict[int, tuple[float, float]] | None:
        if len(placed) == macros:
            return placed
        tried: set[tuple[float, float, bytes]] = set()
        for m in sorted(set(range(macros)) - set(placed), key=lambda i: -width[i] * height[i]):
            w, h, _ = alike[m]
            if alike[m] in tried:
                continue
            tried.add(alike[m])
            for x, y in _corners(space, free[:count], m):
                now = {**placed, m: (x, y)}
                key = frozenset((alike[i], cx, cy) for i, (cx, cy) in now.items())
                if key in seen or len(seen) >= EXACT_NODES:
                    continue
                seen.add(key)
                found = descend(now, *occupy(free.copy(), count, x, y, x + w, y + h))
                if found:
                    return found
        return None

    found = descend({}, *free_space(space.canvas_um, space.obstacles_um))
    return np.array([found[m] for m in range(macros)]).reshape(-1, 2) if found else None


def _shuffled_orders(width: FloatArray, height: FloatArray, effort: float) -> Iterator[IntArray]:
    """Sizes blurred by up to 30 %, then sorted: near the good orders, but each time another one."""
    random = np.random.default_rng(0)
    keys = (height, width * height, np.maximum(width, height))
    for k in range(int(effort * min(SHUFFLED_TRIES, SHUFFLED_WORK // max(1, len(width))))):
        key = keys[k % len(keys)]
        yield np.argsort(-key * random.uniform(0.7, 1.3, len(width)), kind="stable").astype(np.int32)


def _roomy_last(space: Space, order: IntArray) -> IntArray:
    """The same order, but boxes with rooms first, those with the least area of rooms before others."""
    area = np.full(len(order), np.inf)
    for m in range(len(order)):
        if len(rooms := space.rooms_of(m)):
            area[m] = np.prod(rooms[:, 2:] - rooms[:, :2], axis=1).sum()
    return order[np.argsort(area[order], kind="stable")]


def pack_boxes(space: Space, clearance: float, effort: float = 1.0) -> FloatArray | None:
    """Centres (M, 2) of the padded boxes, packed; None if no try succeeds.

    Boxes, obstacles and canvas edges end up `clearance` apart. effort: share of the shuffled tries.
    """
    narrowed = with_clearance(space, clearance)
    width, height = space.width_um, space.height_um
    size = np.stack([narrowed.width_um, narrowed.height_um], axis=1)

    def packed(order: IntArray, rule: int) -> FloatArray | None:
        s = narrowed
        corner, placed = pack_in_order(
            s.canvas_um, s.obstacles_um, s.width_um, s.height_um, order, rule, s.room_start, s.rooms_um
        )
        return corner + size / 2 if placed == len(order) else None

    has_rooms = bool(len(space.rooms_um))
    for order in _sorted_orders(width, height):
        for rule in RULES:
            for tried in (order, _roomy_last(space, order)) if has_rooms else (order,):
                if (centre := packed(tried, rule)) is not None:
                    return centre
    if len(width) <= EXACT_MACROS:
        found = _exact(narrowed)
        if found is not None:
            return found + size / 2
    for number, order in enumerate(_shuffled_orders(width, height, effort)):
        tried = _roomy_last(space, order) if has_rooms and number % 2 else order
        if (centre := packed(tried, RULES[number % len(RULES)])) is not None:
            return centre
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


def _turns(design: Design) -> Iterator[ByteArray]:
    """Orientations (N,) to pack in: the start's where allowed; then, where quarter turns are, all lying, all standing,
    and mixtures."""
    start = turned_to_fit(design, design.start)
    yield start.orientation
    allowed = allowed_orientations(design)
    free = (design.netlist.node_kind == NodeKind.HARD_MACRO) & ~design.start.fixed
    upright, turned = allowed[:, :4].any(axis=1), allowed[:, 4:].any(axis=1)
    both = np.flatnonzero(free & upright & turned)
    if not len(both):
        return
    first = np.stack([np.argmax(allowed[:, :4], axis=1), 4 + np.argmax(allowed[:, 4:], axis=1)])
    fits = [fits_somewhere(design, first[side].astype(np.int8)) for side in (0, 1)]
    wide = design.netlist.width_um >= design.netlist.height_um
    random = np.random.default_rng(0)
    choices = [~wide, wide, *(random.random(len(wide)) < 0.5 for _ in range(TURNED_TRIES))]  # True: a quarter turn
    for choice in choices:
        side = np.where(fits[0] & fits[1], choice, ~fits[0]).astype(int)
        orientation = start.orientation.copy()
        orientation[both] = np.where(
            (orientation[both] >= Orientation.E) == side[both], orientation[both], first[side[both], both]
        )
        yield orientation


def pack(design: Design) -> Placement:
    """Pack the movable hard macros from nothing; fixed nodes and ports as in the design's start, orientations too
    where constraints do not ask for others.

    Soft macros stay where the start has them, pulled into the canvas. Raises InfeasibleError if a bound is broken
    (`check_feasible`) or if no packing was found, with what was tried.
    """
    check_feasible(design)
    turns = list(_turns(design))
    for orientation in turns:
        space = space_of(design, orientation)
        for clearance in (clearance_um(design), 0.0):
            centre = pack_boxes(space, clearance, 1 / len(turns))
            if centre is None:
                continue
            x, y = design.start.x_um.copy(), design.start.y_um.copy()
            x[space.node], y[space.node] = (centre - space.offset_um).T
            packed = inside(design, design.start.moved(x_um=x, y_um=y, orientation=orientation))
            if not check(design, packed).broken_by_macros:
                return separate(design, packed)
    area, canvas = float((space.width_um * space.height_um).sum()), design.canvas
    raise InfeasibleError(
        f"no legal packing found for {len(space.node)} movable macros of {area:.6g} µm² in all"
        f"{'' if rules_of(design) is None else ' with their halos and spacing'} on a canvas of "
        f"{canvas.width_um:.6g} x {canvas.height_um:.6g} µm with {len(space.obstacles_um)} fixed macros and blockages "
        f"(utilisation {100 * area / (canvas.width_um * canvas.height_um):.1f} % of the whole canvas); tried orders "
        f"sorted by 5 keys with 4 corner rules, {'exact search, ' if len(space.node) <= EXACT_MACROS else ''}and "
        f"shuffled orders{'' if rules_of(design) is None else '; the design has constraints, see docs/constraints.md'}"
    )
