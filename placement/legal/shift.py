"""Legal places by shifting: neighbours keep their order and make room together, instead of one of them jumping away.

In: boxes that overlap a little, as global placement leaves them at high utilisation; obstacles, canvas. Out: legal
centres, or none. Every pair is kept apart along one axis, the one in which it overlaps less; least and greatest centres
follow from longest paths over all pairs. Where these cross, a chain of pairs is too long for the canvas, and the pair
on it that has most room in the other axis is put apart there instead. Each box ends halfway between what pushing to the
right and what pushing to the left make of its wish: both keep every pair apart, so what lies between does too.
Pure kernels on arrays. One of the ways of `legalise`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from netlists.model import FloatArray
from placement.kernels import allocating
from placement.legal.free_space import FIT_UM

SLIGHT = 0.1  # of the area of all boxes: with more overlap than that, order means little and chains grow too long
ROUNDS = 400  # of putting pairs apart in the other axis…
TOGETHER = 4  # …so many pairs a round
WORK = 1.6e8  # pairs looked at in a pass, times rounds: some 1.5 s

_X, _Y, _NEITHER = 0, 1, 2  # the axis that keeps a pair apart; obstacles among themselves are as they are


@allocating
def _least(
    order: NDArray[np.int64], low: FloatArray, half: FloatArray, axes: NDArray[np.int8], axis: int
) -> FloatArray:
    """Least centres (B,) with every pair of this axis apart, in `order` (B,). low (B,): least of each by itself."""
    at = low.copy()
    for q in range(len(order)):
        b = order[q]
        for p in range(q):
            a = order[p]
            if axes[a, b] == axis:
                at[b] = max(at[b], at[a] + half[a] + half[b])
    return at


@allocating
def _pushed(
    order: NDArray[np.int64],
    wish: FloatArray,
    high: FloatArray,
    half: FloatArray,
    axes: NDArray[np.int8],
    axis: int,
) -> FloatArray:
    """Centres (B,) at `wish`, upwards of it where smaller ones push, and at `high` where it lies above that."""
    at = wish.copy()
    for q in range(len(order)):
        b = order[q]
        for p in range(q):
            a = order[p]
            if axes[a, b] == axis:
                at[b] = max(at[b], at[a] + half[a] + half[b])
        at[b] = min(at[b], high[b])
    return at


@allocating
def _overlap_share(centre: FloatArray, half: FloatArray) -> float:
    """What boxes share over what they cover, pair by pair."""
    shared, area = 0.0, 0.0
    for a in range(len(centre)):
        area += 4.0 * half[a, 0] * half[a, 1]
        for b in range(a):
            dx = min(half[a, 0] + half[b, 0] - abs(centre[a, 0] - centre[b, 0]), 2.0 * min(half[a, 0], half[b, 0]))
            dy = min(half[a, 1] + half[b, 1] - abs(centre[a, 1] - centre[b, 1]), 2.0 * min(half[a, 1], half[b, 1]))
            if dx > 0.0 and dy > 0.0:
                shared += dx * dy
    return shared / area if area > 0.0 else 0.0


@allocating
def shift_apart(
    canvas: FloatArray, obstacles: FloatArray, width: FloatArray, height: FloatArray, near: FloatArray, wish: FloatArray
) -> tuple[FloatArray, bool]:
    """Centres (M, 2) near to `wish` (M, 2), in the order that the boxes have in `near` (M, 2); False: none found.

    O((M + O)²) a round. Refuses at once where boxes overlap by more than SLIGHT of their area.
    """
    macros, boxes = len(width), len(width) + len(obstacles)
    half, centre, aim = np.empty((boxes, 2)), np.empty((boxes, 2)), np.empty((boxes, 2))
    half[:macros, 0], half[:macros, 1] = width / 2, height / 2
    half[macros:] = (obstacles[:, 2:] - obstacles[:, :2]) / 2
    centre[:macros], aim[:macros] = near, wish
    centre[macros:] = (obstacles[:, 2:] + obstacles[:, :2]) / 2
    aim[macros:] = centre[macros:]
    if _overlap_share(centre[:macros], half[:macros]) > SLIGHT:
        return near.copy(), False
    low, high, least, most = np.empty((2, boxes)), np.empty((2, boxes)), np.empty((2, boxes)), np.empty((2, boxes))
    order, rank = np.empty((2, boxes), np.int64), np.empty((2, boxes), np.int64)
    for k in range(2):
        low[k], high[k] = canvas[k] + half[:, k], canvas[k + 2] - half[:, k]
        low[k, macros:], high[k, macros:] = centre[macros:, k], centre[macros:, k]
        order[k] = np.argsort(centre[:, k], kind="mergesort")
        rank[k, order[k]] = np.arange(boxes)
    axes = np.full((boxes, boxes), _NEITHER, np.int8)
    for a in range(macros):
        for b in range(boxes):
            if a != b:
                gap_x = abs(centre[a, 0] - centre[b, 0]) - half[a, 0] - half[b, 0]
                gap_y = abs(centre[a, 1] - centre[b, 1]) - half[a, 1] - half[b, 1]
                axes[a, b] = axes[b, a] = _X if gap_x >= gap_y else _Y
    changed = np.zeros((boxes, boxes), np.bool_)  # each pair changes its axis once
    for _ in range(min(ROUNDS, int(WORK / (boxes * boxes)))):
        for k in range(2):
            least[k] = _least(order[k], low[k], half[:, k], axes, k)
            most[k] = -_least(order[k, ::-1], -high[k], half[:, k], axes, k)
        room, partner = np.full(macros, -np.inf), np.full(macros, -1)
        crossed = False
        for k in range(2):
            j = 1 - k
            for a in range(macros):
                if least[k, a] <= most[k, a] + FIT_UM:
                    continue
                crossed = True
                for b in range(boxes):
                    if axes[a, b] != k or changed[a, b]:
                        continue
                    first, second = (a, b) if rank[k, a] < rank[k, b] else (b, a)
                    if least[k, first] + half[first, k] + half[second, k] <= most[k, second] + FIT_UM:
                        continue
                    below, above = (a, b) if rank[j, a] < rank[j, b] else (b, a)
                    there = most[j, above] - least[j, below] - half[a, j] - half[b, j]
                    if there > room[a]:
                        room[a], partner[a] = there, b
        if not crossed:
            out = np.empty((macros, 2))
            for k in range(2):
                start = np.minimum(np.maximum(aim[:, k], least[k]), most[k])
                up = _pushed(order[k], start, most[k], half[:, k], axes, k)
                down = -_pushed(order[k, ::-1], -start, -least[k], half[:, k], axes, k)
                out[:, k] = (up[:macros] + down[:macros]) / 2
            return out, True
        taken = np.zeros(boxes, np.bool_)
        count = 0
        for a in np.argsort(-room):
            b = partner[a]
            if b < 0 or taken[a] or taken[b]:
                continue
            axes[a, b] = axes[b, a] = 1 - axes[a, b]
            changed[a, b] = changed[b, a] = taken[a] = taken[b] = True
            count += 1
            if count == TOGETHER:
                break
        if count == 0:
            break
    return near.copy(), False
