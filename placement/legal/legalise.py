"""Legaliser: from any placement to a legal one, least displacement first.

In: a design and a placement that may overlap, stick out or hold NaN. Out: a legal placement. A legal one comes back
as it is. Otherwise several ways to get legal run and the one with the least displacement is taken:
1. macros one after another to the legal place nearest to where they were (`place_nearest`), in several orders;
2. the same after overlapping macros were pushed apart step by step (`push_apart`), which spreads crowds all ways;
3. where macros overlap only a little, all of them shifted, each keeping its neighbours (`shift.py`);
the best followed by moves back towards the wished places (`draw_nearer`). If none finds room: `pack`, then drawn
nearer. Orientations and fixed nodes are kept; soft macros are only pulled inside the canvas. Knows no costs.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from netlists.model import Design, FloatArray, IntArray, Placement
from placement.kernels import allocating
from placement.legal.boxes import canvas_box_um, clearance_um, rules_of
from placement.legal.check import check
from placement.legal.feasible import check_feasible
from placement.legal.free_space import (
    FIT_UM,
    free_space,
    nearest_centre,
    nearest_centre_in,
    nearest_in_rooms,
    occupy,
)
from placement.legal.pack import inside, pack
from placement.legal.separate import separate
from placement.legal.shift import shift_apart
from placement.legal.space import Space, allowed_orientations, space_of, turned_to_fit, with_clearance

PUSHES = 400  # sweeps of push_apart; dense designs stop gaining after about 200
PUSH = 0.5  # share of an overlap taken away in one sweep; whole pushes throw crowded boxes past each other
SWEEPS = 12  # of draw_nearer; it ends earlier when nothing moves
RETRIES = 8  # of one order, each time with the box that found no room put first
DRAWN = 3  # of the ways found so many, those of least displacement, are drawn nearer
FEW = 300  # macros; of more, one success of `shift_apart` is enough
REACH = 3  # draw_nearer looks so many longer sides around a box for a nearer place: some 50 neighbours


@allocating
def place_nearest(
    canvas: FloatArray,
    obstacles: FloatArray,
    width: FloatArray,
    height: FloatArray,
    wish: FloatArray,
    order: IntArray,
    room_start: IntArray,
    rooms: FloatArray,
) -> tuple[FloatArray, int]:
    """Boxes in `order`, each at the legal centre nearest to its wish (M, 2). Centres (M, 2), and how many fitted.

    Other arguments here and below: see `Space`.
    """
    centre = wish.copy()
    free, count = free_space(canvas, obstacles)
    for step in range(len(order)):
        m = order[step]
        w, h = width[m], height[m]
        mine = rooms[room_start[m] : room_start[m + 1]]
        if len(mine):
            x, y, distance = nearest_centre_in(free, count, w, h, wish[m, 0], wish[m, 1], mine)
        else:
            x, y, distance = nearest_centre(free, count, w, h, wish[m, 0], wish[m, 1])
        if distance == np.inf:
            return centre, step
        centre[m, 0], centre[m, 1] = x, y
        free, count = occupy(free, count, x - w / 2, y - h / 2, x + w / 2, y + h / 2)
    return centre, len(order)


@allocating
def push_apart(
    canvas: FloatArray,
    obstacles: FloatArray,
    width: FloatArray,
    height: FloatArray,
    wish: FloatArray,
    sweeps: int,
    room_start: IntArray,
    rooms: FloatArray,
) -> FloatArray:
    """Push overlapping boxes apart along the axis where they share less, the lighter one further. Centres (M, 2).

    May end with overlaps left. Relative order mostly survives, because every push is the shortest that helps.
    """
    centre = wish.copy()
    macros = len(width)
    for _ in range(sweeps):
        most = 0.0
        order = np.argsort(centre[:, 0] - width / 2)
        for p in range(macros):
            a = order[p]
            for q in range(p + 1, macros):
                b = order[q]
                if centre[b, 0] - width[b] / 2 > centre[a, 0] + width[a] / 2 + width[a]:
                    break
                dx = (width[a] + width[b]) / 2 - abs(centre[a, 0] - centre[b, 0])
                dy = (height[a] + height[b]) / 2 - abs(centre[a, 1] - centre[b, 1])
                if dx <= FIT_UM or dy <= FIT_UM:
                    continue
                most = max(most, min(dx, dy))
                area_a, area_b = width[a] * height[a], width[b] * height[b]
                share = area_b / (area_a + area_b)  # of the push that a takes
                axis = 0 if dx <= dy else 1
                push = PUSH * min(dx, dy)
                if centre[a, axis] > centre[b, axis] or (centre[a, axis] == centre[b, axis] and a > b):
                    push = -push
                centre[a, axis] -= share * push
                centre[b, axis] += (1 - share) * push
        for m in range(macros):
            for o in range(len(obstacles)):
                right = obstacles[o, 2] + width[m] / 2 - centre[m, 0]
                left = centre[m, 0] + width[m] / 2 - obstacles[o, 0]
                up = obstacles[o, 3] + height[m] / 2 - centre[m, 1]
                down = centre[m, 1] + height[m] / 2 - obstacles[o, 1]
                least = min(min(right, left), min(up, down))
                if least <= FIT_UM:
                    continue
                most = max(most, least)
                if least == right:
                    centre[m, 0] += least
                elif least == left:
                    centre[m, 0] -= least
                elif least == up:
                    centre[m, 1] += least
                else:
                    centre[m, 1] -= least
            centre[m, 0] = min(max(centre[m, 0], canvas[0] + width[m] / 2), canvas[2] - width[m] / 2)
            centre[m, 1] = min(max(centre[m, 1], canvas[1] + height[m] / 2), canvas[3] - height[m] / 2)
            mine = rooms[room_start[m] : room_start[m + 1]]
            if len(mine):
                centre[m, 0], centre[m, 1] = nearest_in_rooms(centre[m, 0], centre[m, 1], mine)
        if most <= FIT_UM:
            break
    return centre


@allocating
def _touched(box: FloatArray, llx: float, lly: float, urx: float, ury: float) -> bool:
    return box[0] < urx and box[2] > llx and box[1] < ury and box[3] > lly


@allocating
def _may_swap(room_start: IntArray, rooms: FloatArray, centre: FloatArray, m: int, b: int) -> bool:
    """Whether each of two boxes has a room at the other's centre."""
    for box, at in ((m, b), (b, m)):
        mine = rooms[room_start[box] : room_start[box + 1]]
        if len(mine):
            x, y = nearest_in_rooms(centre[at, 0], centre[at, 1], mine)
            if x != centre[at, 0] or y != centre[at, 1]:
                return False
    return True


@allocating
def draw_nearer(
    canvas: FloatArray,
    obstacles: FloatArray,
    width: FloatArray,
    height: FloatArray,
    wish: FloatArray,
    centre: FloatArray,
    sweeps: int,
    room_start: IntArray,
    rooms: FloatArray,
) -> FloatArray:
    """Move legal boxes one by one to the nearest free place to their wish, and swap equal ones, while that helps.

    Only the part of the surroundings that could hold a nearer place is searched. Displacement never grows, legality
    never breaks.
    """
    centre = centre.copy()
    macros = len(width)
    boxes = np.empty((macros, 4))
    boxes[:, 0], boxes[:, 1] = centre[:, 0] - width / 2, centre[:, 1] - height / 2
    boxes[:, 2], boxes[:, 3] = centre[:, 0] + width / 2, centre[:, 1] + height / 2
    windows = np.empty((macros, 4))  # what the last search of each box looked at
    hopeless = np.zeros(macros, np.bool_)  # its last search found nothing and no space in its window came free since
    for _ in range(sweeps):
        moved = False
        off = (centre[:, 0] - wish[:, 0]) ** 2 + (centre[:, 1] - wish[:, 1]) ** 2
        for m in np.argsort(-off):
            for b in range(macros):  # equal boxes whose exchange brings both together nearer to their wishes
                if b == m or width[b] != width[m] or height[b] != height[m]:
                    continue
                now = np.hypot(centre[m, 0] - wish[m, 0], centre[m, 1] - wish[m, 1]) + np.hypot(
                    centre[b, 0] - wish[b, 0], centre[b, 1] - wish[b, 1]
                )
                then = np.hypot(centre[b, 0] - wish[m, 0], centre[b, 1] - wish[m, 1]) + np.hypot(
                    centre[m, 0] - wish[b, 0], centre[m, 1] - wish[b, 1]
                )
                if then < now - FIT_UM and _may_swap(room_start, rooms, centre, m, b):
                    for axis in range(2):
                        centre[m, axis], centre[b, axis] = centre[b, axis], centre[m, axis]
                    for side in range(4):
                        boxes[m, side], boxes[b, side] = boxes[b, side], boxes[m, side]
                    hopeless[m] = hopeless[b] = False
                    moved = True
            distance = np.hypot(centre[m, 0] - wish[m, 0], centre[m, 1] - wish[m, 1])
            if distance <= FIT_UM or hopeless[m]:
                continue
            w, h = width[m], height[m]
            window = windows[m]
            reach = REACH * max(w, h)
            window[0] = max(canvas[0], max(wish[m, 0] - distance, centre[m, 0] - reach) - w / 2)
            window[1] = max(canvas[1], max(wish[m, 1] - distance, centre[m, 1] - reach) - h / 2)
            window[2] = min(canvas[2], min(wish[m, 0] + distance, centre[m, 0] + reach) + w / 2)
            window[3] = min(canvas[3], min(wish[m, 1] + distance, centre[m, 1] + reach) + h / 2)
            free = np.empty((64, 4))
            free[0] = window
            count = 1
            for o in range(len(obstacles)):
                if _touched(obstacles[o], window[0], window[1], window[2], window[3]):
                    free, count = occupy(
                        free, count, obstacles[o, 0], obstacles[o, 1], obstacles[o, 2], obstacles[o, 3]
                    )
            for b in range(macros):
                if b != m and _touched(boxes[b], window[0], window[1], window[2], window[3]):
                    free, count = occupy(free, count, boxes[b, 0], boxes[b, 1], boxes[b, 2], boxes[b, 3])
            mine = rooms[room_start[m] : room_start[m + 1]]
            if len(mine):
                x, y, squared = nearest_centre_in(free, count, w, h, wish[m, 0], wish[m, 1], mine)
            else:
                x, y, squared = nearest_centre(free, count, w, h, wish[m, 0], wish[m, 1])
            hopeless[m] = True
            if np.sqrt(squared) < distance * (1 - 1e-6) - FIT_UM:
                for b in range(macros):
                    if _touched(boxes[m], windows[b, 0], windows[b, 1], windows[b, 2], windows[b, 3]):
                        hopeless[b] = False
                centre[m, 0], centre[m, 1] = x, y
                boxes[m, 0], boxes[m, 1], boxes[m, 2], boxes[m, 3] = x - w / 2, y - h / 2, x + w / 2, y + h / 2
                moved = True
        if not moved:
            break
    return centre


def displacement_um(centre: FloatArray, wish: FloatArray) -> float:
    """Sum over the macros of the straight distance moved, µm."""
    return float(np.hypot(*(centre - wish).T).sum())


def _orders(width: FloatArray, height: FloatArray, target: FloatArray) -> Iterator[IntArray]:
    """Orders to place in: diagonal sweeps from the four corners, which keep relative order best (they win on nearly
    every start tried, see docs/legality.md), sweeps along one axis, and large before small for mixed sizes."""
    x, y = target.T
    for key in (x + y, -x - y, x - y, y - x, x, -x, y, -y, -width * height, -np.maximum(width, height)):
        yield np.lexsort((x + y, key)).astype(np.int32)


def _place_all(space: Space, target: FloatArray, order: IntArray) -> FloatArray | None:
    """`place_nearest`; a box that finds no room goes first in the next try."""
    s = space
    for _ in range(RETRIES):
        centre, placed = place_nearest(
            s.canvas_um, s.obstacles_um, s.width_um, s.height_um, target, order, s.room_start, s.rooms_um
        )
        if placed == len(order):
            return centre
        order = np.concatenate([order[placed : placed + 1], order[:placed], order[placed + 1 :]])
    return None


def _drawn(space: Space, wish: FloatArray, centre: FloatArray) -> FloatArray:
    s = space
    return draw_nearer(
        s.canvas_um, s.obstacles_um, s.width_um, s.height_um, wish, centre, SWEEPS, s.room_start, s.rooms_um
    )


def legal_centres(space: Space, wish: FloatArray, clearance: float) -> FloatArray | None:
    """Legal centres (M, 2) of padded boxes near to `wish` (M, 2), `clearance` apart; None if no way found room for
    all."""
    s = with_clearance(space, clearance)
    pushed = push_apart(s.canvas_um, s.obstacles_um, s.width_um, s.height_um, wish, PUSHES, s.room_start, s.rooms_um)
    found = [
        centre
        for target in (pushed, wish)
        for order in _orders(s.width_um, s.height_um, target)
        if (centre := _place_all(s, target, order)) is not None
    ]
    if not len(s.rooms_um):
        for near in (wish, pushed):
            centre, apart = shift_apart(s.canvas_um, s.obstacles_um, s.width_um, s.height_um, near, wish)
            if apart:
                found.append(centre)
                if len(centre) > FEW:
                    break
    found.sort(key=lambda centre: displacement_um(centre, wish))
    drawn = [_drawn(s, wish, centre) for centre in found[:DRAWN]]
    return min(drawn, key=lambda centre: displacement_um(centre, wish), default=None)


def legalise(design: Design, placement: Placement) -> Placement:
    """The legal placement near to `placement`; itself if it is legal already and nothing overlaps by rounding.

    Fixed nodes and ports go to where the design's start has them, macros keep the start's orientation class, or what
    orientations its constraints allow. Raises
    InfeasibleError where a bound is broken or neither this nor `pack` finds room.
    """
    if check(design, placement).legal:
        return separate(design, placement)
    start = design.start
    held = start.fixed
    turned = ~allowed_orientations(design)[np.arange(len(held)), placement.orientation]
    placement = inside(
        design,
        placement.moved(
            x_um=np.where(held, start.x_um, placement.x_um),
            y_um=np.where(held, start.y_um, placement.y_um),
            orientation=np.where(held | turned, start.orientation, placement.orientation),
        ),
    )
    check_feasible(design)
    placement = turned_to_fit(design, placement)
    space = space_of(design, placement.orientation)
    node, canvas = space.node, canvas_box_um(design)
    wish = np.stack([placement.x_um[node], placement.y_um[node]], axis=1)
    wish = np.where(np.isfinite(wish), wish, canvas[2:] / 2) + space.offset_um
    half = np.stack([space.width_um, space.height_um], axis=1) / 2
    wish = np.clip(wish, np.minimum(half, canvas[2:] / 2), np.maximum(canvas[2:] - half, canvas[2:] / 2))

    def placed(centre: FloatArray) -> Placement:
        x, y = placement.x_um.copy(), placement.y_um.copy()
        x[node], y[node] = (centre - space.offset_um).T
        return placement.moved(x_um=x, y_um=y)

    for clearance in (clearance_um(design), 0.0):
        centre = legal_centres(space, wish, clearance)
        if centre is not None and check(design, placed(centre)).legal:
            return separate(design, placed(centre))
    packed = pack(design)
    if rules_of(design) is not None:  # asymmetric halos and quarter turns: what fitted were packed's orientations
        placement = placement.moved(orientation=np.where(held, start.orientation, packed.orientation))
        space = space_of(design, placement.orientation)
    centre = np.stack([packed.x_um[node], packed.y_um[node]], axis=1) + space.offset_um
    nearer = placed(_drawn(space, wish, centre))
    return separate(design, nearer if check(design, nearer).legal else placed(centre))
