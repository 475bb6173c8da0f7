"""Groups by where their cells are: those that are spread out are split, small ones join a neighbour.

Rules as Circuit Training describes them: a group wider or higher than a share of the canvas is cut at its cells'
median until none is; a group of few cells joins the nearest group if that is close.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from netlists.model import FloatArray, IntArray

SPREAD_SHARE = 0.25  # of the square root of the canvas's area: 1/16 of the area a group


def split_spread(group: IntArray, x_um: FloatArray, y_um: FloatArray, limit_um: float) -> IntArray:
    """(C,) groups with new numbers, none wider or higher than `limit_um`. C cells, in order; group (C,) from 0."""
    result = np.empty(len(group), dtype=np.int32)
    order = np.argsort(group, kind="stable")
    bounds = np.flatnonzero(np.diff(group[order], prepend=-1, append=-1))
    count = 0
    for start, end in pairwise(bounds):
        waiting = [order[start:end]]
        while waiting:
            cells = waiting.pop()
            width, height = np.ptp(x_um[cells]), np.ptp(y_um[cells])
            if max(width, height) <= limit_um or len(cells) < 2:
                result[cells] = count
                count += 1
                continue
            at = x_um[cells] if width >= height else y_um[cells]
            middle = (at.min() + at.max()) / 2
            waiting += [cells[at > middle], cells[at <= middle]]
    return result


def join_small(
    group: IntArray, x_um: FloatArray, y_um: FloatArray, *, fewest: int, reach_um: float, connected: IntArray
) -> IntArray:
    """(C,) groups with new numbers: those of fewer than `fewest` cells join the group they share most nets with nearby.

    connected (P, 3): pairs of groups and the number of nets that they share; each pair once.
    """
    count = int(group.max(initial=-1)) + 1
    size = np.bincount(group, minlength=count)
    centre_x = np.bincount(group, x_um, minlength=count) / np.maximum(size, 1)
    centre_y = np.bincount(group, y_um, minlength=count) / np.maximum(size, 1)
    neighbours: dict[int, list[tuple[int, int]]] = {}
    for first, second, nets in connected.tolist():
        neighbours.setdefault(first, []).append((nets, second))
        neighbours.setdefault(second, []).append((nets, first))
    into = np.arange(count)
    for small in np.argsort(size, kind="stable"):
        if size[small] >= fewest:
            break
        near = [
            (nets, -other)
            for nets, other in neighbours.get(int(small), [])
            if abs(centre_x[other] - centre_x[small]) <= reach_um and abs(centre_y[other] - centre_y[small]) <= reach_um
        ]
        if near:
            into[small] = -max(near)[1]
    for _ in range(count):  # follow chains; a circle ends at its lowest number
        following = np.minimum(into[into], into) if np.array_equal(into[into[into]], into) else into[into]
        if np.array_equal(following, into):
            break
        into = following
    return np.unique(into[group], return_inverse=True)[1].astype(np.int32)
