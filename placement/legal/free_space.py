"""Free space as the set of all maximal empty rectangles: where can a box still go?

In: rectangles (llx, lly, urx, ury) in µm. The set starts as the canvas; `occupy` takes a box out of it. Because the set
holds *every* maximal empty rectangle, a box fits somewhere exactly if it fits into one of them, and the legal centre
nearest to a wish is the nearest over the rectangles. Packer, legaliser and environment all build on these kernels.
Pure functions on arrays. The rectangle set is Jylänki's "maximal rectangles" (A Thousand Ways to Pack the Bin, 2010).
"""

from __future__ import annotations

import numpy as np

from netlists.model import FloatArray
from placement.kernels import allocating

# µm; a tenth of the judge's tolerance: widths that fit exactly are not refused over the last bit of their sum.
FIT_UM = 1e-10

BOTTOM_LEFT, LEFT_BOTTOM, SHORT_SIDE, LEAST_AREA = 0, 1, 2, 3  # rules of `choose_corner`


@allocating
def _contains(a: FloatArray, b: FloatArray) -> bool:
    return a[0] <= b[0] and a[1] <= b[1] and a[2] >= b[2] and a[3] >= b[3]


@allocating
def occupy(free: FloatArray, count: int, llx: float, lly: float, urx: float, ury: float) -> tuple[FloatArray, int]:
    """Take a box out of the free space. free (F, 4), of which the first `count` are in use.

    Returns the array (a larger copy if it was full) and the new count. O(count) and, for
    the few rectangles that meet the box, the square of their number. A box without area
    takes nothing.
    """
    if urx - llx <= FIT_UM or ury - lly <= FIT_UM:
        return free, count
    pieces = np.empty((16, 4))
    beside = np.empty(count, np.int64)  # kept rectangles that touch the box: the only ones that can hold a piece
    piece_count, beside_count, kept = 0, 0, 0
    for i in range(count):
        r0, r1, r2, r3 = free[i, 0], free[i, 1], free[i, 2], free[i, 3]
        if llx >= r2 - FIT_UM or urx <= r0 + FIT_UM or lly >= r3 - FIT_UM or ury <= r1 + FIT_UM:
            if kept != i:
                free[kept, 0], free[kept, 1], free[kept, 2], free[kept, 3] = r0, r1, r2, r3
            if llx <= r2 + FIT_UM and urx >= r0 - FIT_UM and lly <= r3 + FIT_UM and ury >= r1 - FIT_UM:
                beside[beside_count] = kept
                beside_count += 1
            kept += 1
            continue
        if piece_count + 4 > len(pieces):
            larger = np.empty((2 * len(pieces), 4))
            larger[:piece_count] = pieces[:piece_count]
            pieces = larger
        if llx > r0 + FIT_UM:
            pieces[piece_count] = (r0, r1, llx, r3)
            piece_count += 1
        if urx < r2 - FIT_UM:
            pieces[piece_count] = (urx, r1, r2, r3)
            piece_count += 1
        if lly > r1 + FIT_UM:
            pieces[piece_count] = (r0, r1, r2, lly)
            piece_count += 1
        if ury < r3 - FIT_UM:
            pieces[piece_count] = (r0, ury, r2, r3)
            piece_count += 1
    if kept + piece_count > len(free):
        grown = np.empty((2 * (kept + piece_count), 4))
        grown[:kept] = free[:kept]
        free = grown
    # A kept rectangle never lies in a piece (it would have lain in the rectangle cut), so only pieces are pruned.
    count = kept
    for p in range(piece_count):
        redundant = False
        for b in range(beside_count):
            if _contains(free[beside[b]], pieces[p]):
                redundant = True
                break
        if not redundant:
            for q in range(piece_count):
                if q != p and _contains(pieces[q], pieces[p]) and (q < p or not _contains(pieces[p], pieces[q])):
                    redundant = True
                    break
        if not redundant:
            free[count] = pieces[p]
            count += 1
    return free, count


@allocating
def free_space(canvas: FloatArray, obstacles: FloatArray) -> tuple[FloatArray, int]:
    """All maximal empty rectangles of `canvas` (4,) less `obstacles` (O, 4)."""
    free = np.empty((64, 4))
    free[0] = canvas
    count = 1
    for o in range(len(obstacles)):
        free, count = occupy(free, count, obstacles[o, 0], obstacles[o, 1], obstacles[o, 2], obstacles[o, 3])
    return free, count


@allocating
def choose_corner(free: FloatArray, count: int, width: float, height: float, rule: int) -> int:
    """The free rectangle into whose lower left corner the box should go by `rule`; -1 if it fits nowhere."""
    best = -1
    best_first, best_second = np.inf, np.inf
    for i in range(count):
        room_x, room_y = free[i, 2] - free[i, 0] - width, free[i, 3] - free[i, 1] - height
        if room_x < -FIT_UM or room_y < -FIT_UM:
            continue
        if rule == BOTTOM_LEFT:
            first, second = free[i, 1] + height, free[i, 0]
        elif rule == LEFT_BOTTOM:
            first, second = free[i, 0] + width, free[i, 1]
        elif rule == SHORT_SIDE:
            first, second = min(room_x, room_y), max(room_x, room_y)
        else:
            first = (free[i, 2] - free[i, 0]) * (free[i, 3] - free[i, 1])
            second = min(room_x, room_y)
        if first < best_first or (first == best_first and second < best_second):
            best, best_first, best_second = i, first, second
    return best


@allocating
def nearest_centre(
    free: FloatArray, count: int, width: float, height: float, x: float, y: float
) -> tuple[float, float, float]:
    """The legal centre nearest to (x, y): its x, y and squared distance (inf: the box fits nowhere)."""
    best_x, best_y, best = x, y, np.inf
    for i in range(count):
        room_x, room_y = free[i, 2] - free[i, 0] - width, free[i, 3] - free[i, 1] - height
        if room_x < -FIT_UM or room_y < -FIT_UM:
            continue
        low_x, low_y = free[i, 0] + width / 2, free[i, 1] + height / 2
        cx = min(max(x, low_x), low_x + max(room_x, 0.0))
        cy = min(max(y, low_y), low_y + max(room_y, 0.0))
        distance = (cx - x) ** 2 + (cy - y) ** 2
        if distance < best:
            best_x, best_y, best = cx, cy, distance
    return best_x, best_y, best


@allocating
def shared_range(low: float, high: float, room_low: float, room_high: float) -> tuple[float, float]:
    """What two ranges share; where they miss each other by no more than FIT_UM, the middle between them."""
    low, high = max(low, room_low), min(high, room_high)
    if high < low <= high + FIT_UM:
        low = high = (low + high) / 2
    return low, high


@allocating
def choose_corner_in(
    free: FloatArray, count: int, width: float, height: float, rule: int, rooms: FloatArray
) -> tuple[float, float, bool]:
    """The lower left corner that a box should have by `rule`, its centre in one of `rooms` (R, 4); False: none."""
    best_x, best_y, found = 0.0, 0.0, False
    best_first, best_second = np.inf, np.inf
    for i in range(count):
        room_x, room_y = free[i, 2] - free[i, 0] - width, free[i, 3] - free[i, 1] - height
        if room_x < -FIT_UM or room_y < -FIT_UM:
            continue
        for r in range(len(rooms)):
            low_x, high_x = shared_range(
                free[i, 0] + width / 2, free[i, 0] + width / 2 + max(room_x, 0.0), rooms[r, 0], rooms[r, 2]
            )
            low_y, high_y = shared_range(
                free[i, 1] + height / 2, free[i, 1] + height / 2 + max(room_y, 0.0), rooms[r, 1], rooms[r, 3]
            )
            if low_x > high_x or low_y > high_y:
                continue
            if rule == BOTTOM_LEFT:
                first, second = low_y + height / 2, low_x - width / 2
            elif rule == LEFT_BOTTOM:
                first, second = low_x + width / 2, low_y - height / 2
            elif rule == SHORT_SIDE:
                first, second = min(high_x - low_x, high_y - low_y), max(high_x - low_x, high_y - low_y)
            else:
                first = (high_x - low_x + width) * (high_y - low_y + height)
                second = min(high_x - low_x, high_y - low_y)
            if first < best_first or (first == best_first and second < best_second):
                best_x, best_y, found = low_x - width / 2, low_y - height / 2, True
                best_first, best_second = first, second
    return best_x, best_y, found


@allocating
def nearest_centre_in(
    free: FloatArray, count: int, width: float, height: float, x: float, y: float, rooms: FloatArray
) -> tuple[float, float, float]:
    """`nearest_centre` among the centres in one of `rooms` (R, 4)."""
    best_x, best_y, best = x, y, np.inf
    for i in range(count):
        room_x, room_y = free[i, 2] - free[i, 0] - width, free[i, 3] - free[i, 1] - height
        if room_x < -FIT_UM or room_y < -FIT_UM:
            continue
        for r in range(len(rooms)):
            low_x, high_x = shared_range(
                free[i, 0] + width / 2, free[i, 0] + width / 2 + max(room_x, 0.0), rooms[r, 0], rooms[r, 2]
            )
            low_y, high_y = shared_range(
                free[i, 1] + height / 2, free[i, 1] + height / 2 + max(room_y, 0.0), rooms[r, 1], rooms[r, 3]
            )
            if low_x > high_x or low_y > high_y:
                continue
            cx, cy = min(max(x, low_x), high_x), min(max(y, low_y), high_y)
            distance = (cx - x) ** 2 + (cy - y) ** 2
            if distance < best:
                best_x, best_y, best = cx, cy, distance
    return best_x, best_y, best


@allocating
def nearest_in_rooms(x: float, y: float, rooms: FloatArray) -> tuple[float, float]:
    """The point of the union of `rooms` (R, 4) nearest to (x, y)."""
    best_x, best_y, best = x, y, np.inf
    for r in range(len(rooms)):
        cx, cy = min(max(x, rooms[r, 0]), rooms[r, 2]), min(max(y, rooms[r, 1]), rooms[r, 3])
        distance = (cx - x) ** 2 + (cy - y) ** 2
        if distance < best:
            best_x, best_y, best = cx, cy, distance
    return best_x, best_y
