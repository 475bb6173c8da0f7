"""Cells out of where there are too many of them, in the order in which they lie: the look-ahead of SimPL.

Bins that hold more cells than they have room for are joined to hot spots; a window around each grows until its cells
fit; within the window, cells and room are halved again and again, so that every half of the cells gets the half of the
room that lies on its side. What lies outside of the windows stays. Kernels take M cells and a `Room` by its arrays.
Source: Kim, Lee, Markov, "SimPL: an effective placement algorithm", ICCAD 2010, "look-ahead legalization"; cuts here
follow free area within bins, too, and are along the longer side of the part.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from netlists.model import FloatArray
from placement.cells.room import Room
from placement.kernels import allocating

# Parts of as many cells are not cut any further. With 1, ibm01 had less overflow (0.09, not 0.115) and more length: 2 %
# and 15 % at two seeds.
LEAF_CELLS = 4


@allocating
def box_room(
    integral: NDArray[np.float64], bin_width: float, bin_height: float, x0: float, y0: float, x1: float, y1: float
) -> float:
    """Free area (µm²) of a box within the canvas, taking that of a bin as spread evenly. O(1)."""
    rows, columns = integral.shape[0] - 1, integral.shape[1] - 1
    total = 0.0
    for x, y, sign in ((x1, y1, 1.0), (x0, y1, -1.0), (x1, y0, -1.0), (x0, y0, 1.0)):
        u, v = min(max(x / bin_width, 0.0), columns * 1.0), min(max(y / bin_height, 0.0), rows * 1.0)
        i, j = min(int(u), columns - 1), min(int(v), rows - 1)
        s, t = u - i, v - j
        low = integral[j, i] * (1 - s) + integral[j, i + 1] * s
        high = integral[j + 1, i] * (1 - s) + integral[j + 1, i + 1] * s
        total += sign * (low * (1 - t) + high * t)
    return total


@allocating
def _cut(
    integral: NDArray[np.float64], bin_width: float, bin_height: float,
    x0: float, y0: float, x1: float, y1: float, along_x: bool, share: float,
) -> float:  # fmt: skip
    """Where a box is cut so that `share` of its room lies left of (below) the cut."""
    low, high = (x0, x1) if along_x else (y0, y1)
    wanted = share * box_room(integral, bin_width, bin_height, x0, y0, x1, y1)
    a, b = low, high
    for _ in range(40):  # halvings: to 1e-12 of the box
        middle = 0.5 * (a + b)
        if along_x:
            got = box_room(integral, bin_width, bin_height, x0, y0, middle, y1)
        else:
            got = box_room(integral, bin_width, bin_height, x0, y0, x1, middle)
        if got < wanted:
            a = middle
        else:
            b = middle
    return 0.5 * (a + b)


@allocating
def spread_in_box(
    x: NDArray[np.float64], y: NDArray[np.float64], area: NDArray[np.float64], member: NDArray[np.int64],
    integral: NDArray[np.float64], bin_width: float, bin_height: float,
    x0: float, y0: float, x1: float, y1: float, leaf_cells: int,
) -> None:  # fmt: skip
    """Moves the cells of `member` (indices, whose order is used up) evenly over the room of a box, in place.

    In parts of `leaf_cells` or fewer a cell stays where it is, or goes to the nearest edge of its part.
    """
    size = 4 * (64 + len(member))
    box, part = np.empty((size, 4)), np.empty((size, 2), dtype=np.int64)
    box[0, 0], box[0, 1], box[0, 2], box[0, 3] = x0, y0, x1, y1
    part[0, 0], part[0, 1] = 0, len(member)
    open_ = 1
    while open_:
        open_ -= 1
        a0, b0, a1, b1 = box[open_, 0], box[open_, 1], box[open_, 2], box[open_, 3]
        begin, end = part[open_, 0], part[open_, 1]
        if end - begin <= leaf_cells:
            for cell in member[begin:end]:
                x[cell] = min(max(x[cell], a0), a1)
                y[cell] = min(max(y[cell], b0), b1)
            continue
        along_x = a1 - a0 >= b1 - b0
        at = x if along_x else y
        own = member[begin:end]
        values = at[own]
        # Cells on one spot go apart by their numbers: a stable order.
        own = own[np.argsort(values, kind="mergesort")]
        member[begin:end] = own
        total = 0.0
        for cell in own:
            total += area[cell]
        left, count = 0.0, 0
        while count < len(own) - 1 and (count == 0 or left + 0.5 * area[own[count]] < 0.5 * total):
            left += area[own[count]]
            count += 1
        share = left / total if total > 0 else count / len(own)
        cut = _cut(integral, bin_width, bin_height, a0, b0, a1, b1, along_x, share)
        for side in range(2):
            box[open_, 0], box[open_, 1], box[open_, 2], box[open_, 3] = a0, b0, a1, b1
            if side == 0:
                part[open_, 0], part[open_, 1] = begin, begin + count
                box[open_, 2 if along_x else 3] = cut
            else:
                part[open_, 0], part[open_, 1] = begin + count, end
                box[open_, 0 if along_x else 1] = cut
            open_ += 1


@allocating
def _usage(
    x: NDArray[np.float64], y: NDArray[np.float64], area: NDArray[np.float64],
    columns: int, rows: int, bin_width: float, bin_height: float,
) -> NDArray[np.float64]:  # fmt: skip
    """(rows, columns) µm²: area of the cells whose centres lie in each bin."""
    used = np.zeros((rows, columns))
    for cell in range(len(x)):
        i = min(max(int(x[cell] / bin_width), 0), columns - 1)
        j = min(max(int(y[cell] / bin_height), 0), rows - 1)
        used[j, i] += area[cell]
    return used


@allocating
def _hot_spots(over: NDArray[np.bool_], excess: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Boxes (S, 4) column row column row, inclusive, of connected bins that are too full, and their excess (S,)."""
    rows, columns = over.shape
    seen = np.zeros((rows, columns), dtype=np.bool_)
    boxes, sums = np.empty((rows * columns, 4), dtype=np.int64), np.zeros(rows * columns)
    stack = np.empty((rows * columns, 2), dtype=np.int64)
    count = 0
    for j in range(rows):
        for i in range(columns):
            if not over[j, i] or seen[j, i]:
                continue
            boxes[count, 0], boxes[count, 1], boxes[count, 2], boxes[count, 3] = i, j, i, j
            stack[0, 0], stack[0, 1] = i, j
            seen[j, i] = True
            open_ = 1
            while open_:
                open_ -= 1
                a, b = stack[open_, 0], stack[open_, 1]
                sums[count] += excess[b, a]
                boxes[count, 0], boxes[count, 2] = min(boxes[count, 0], a), max(boxes[count, 2], a)
                boxes[count, 1], boxes[count, 3] = min(boxes[count, 1], b), max(boxes[count, 3], b)
                for da, db in ((1, 0), (-1, 0), (0, 1), (0, -1)):
                    c, d = a + da, b + db
                    if 0 <= c < columns and 0 <= d < rows and over[d, c] and not seen[d, c]:
                        seen[d, c] = True
                        stack[open_, 0], stack[open_, 1] = c, d
                        open_ += 1
            count += 1
    return boxes[:count], sums[:count]


@allocating
def _spread(
    x: NDArray[np.float64], y: NDArray[np.float64], area: NDArray[np.float64], integral: NDArray[np.float64],
    width: float, height: float, columns: int, rows: int, tolerance: float, leaf_cells: int,
) -> int:  # fmt: skip
    """Spreads in place on hot bins of (rows, columns); returns the number of windows. `integral`: room for cells."""
    bin_width, bin_height = width / columns, height / rows
    fine_width, fine_height = width / (integral.shape[1] - 1), height / (integral.shape[0] - 1)
    room = np.empty((rows, columns))
    for j in range(rows):
        for i in range(columns):
            room[j, i] = box_room(integral, fine_width, fine_height, i * bin_width, j * bin_height,
                                  (i + 1) * bin_width, (j + 1) * bin_height)  # fmt: skip
    used = _usage(x, y, area, columns, rows, bin_width, bin_height)
    slack = tolerance * bin_width * bin_height
    boxes, excess = _hot_spots(used > room + slack, used - room)
    windows = 0
    for spot in np.argsort(-excess, kind="mergesort"):
        a0, b0, a1, b1 = boxes[spot, 0], boxes[spot, 1], boxes[spot, 2] + 1, boxes[spot, 3] + 1
        if not (used[b0:b1, a0:a1] > room[b0:b1, a0:a1] + slack).any():
            continue  # an earlier window has taken care of it
        while used[b0:b1, a0:a1].sum() > room[b0:b1, a0:a1].sum():
            if a0 == 0 and b0 == 0 and a1 == columns and b1 == rows:
                break
            a0, b0, a1, b1 = max(a0 - 1, 0), max(b0 - 1, 0), min(a1 + 1, columns), min(b1 + 1, rows)
        count = 0
        member = np.empty(len(x), dtype=np.int64)
        for cell in range(len(x)):
            i = min(max(int(x[cell] / bin_width), 0), columns - 1)
            j = min(max(int(y[cell] / bin_height), 0), rows - 1)
            if a0 <= i < a1 and b0 <= j < b1:
                member[count] = cell
                count += 1
        spread_in_box(x, y, area, member[:count], integral, fine_width, fine_height,
                      a0 * bin_width, b0 * bin_height, a1 * bin_width, b1 * bin_height, leaf_cells)  # fmt: skip
        used = _usage(x, y, area, columns, rows, bin_width, bin_height)
        windows += 1
    return windows


def spread(
    x_um: FloatArray, y_um: FloatArray, area_um2: FloatArray, room: Room, *, density: float, columns: int, rows: int
) -> tuple[FloatArray, FloatArray]:
    """Places (M,), (M,) µm at which no window of hot bins holds more than `density` of its free area."""
    x, y = np.clip(x_um, 0.0, room.width_um), np.clip(y_um, 0.0, room.height_um)
    _spread(x, y, area_um2, room.integral_um2 * density, room.width_um, room.height_um, columns, rows,
            0.0, LEAF_CELLS)  # fmt: skip
    return x, y
