"""What of the smooth cost is decided exactly, now and then, on the host: the shape of routes, and macros that are near.

The rules of routing (proxy cost rules, "Congestion") choose among L, T and star by the cells that terminals lie in. The
choice has no gradient, the ends of what was chosen have: every piece of a route is a segment on the line of one
terminal from one terminal to another. `route_shapes` makes the choice and names the terminals; terms.py deposits the
segments. A terminal that shares its cell with another of its net has no segment of its own, except on a net of two
terminals or with its driver: those stay, at length 0, so that they have a gradient.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from placement.analytic.arrays import FloatField, IntField
from placement.kernels import compiling

_kernel = compiling(nogil=True)


class Shape(NamedTuple):
    """Segments and pairs of one placement (one seed). Unused entries have weight 0, or name the pad box."""

    hor: IntField  # (3, S) terminals: whose row, from whose column, to whose column
    hor_weight: FloatField  # (S,)
    ver: IntField  # (3, S) terminals: whose column, from whose row, to whose row
    ver_weight: FloatField  # (S,)
    pairs: IntField  # (2, P) boxes


@_kernel
def _put(out: NDArray, weight: NDArray, at: int, line: int, start: int, end: int, amount: float) -> None:
    out[0, at], out[1, at], out[2, at], weight[at] = line, start, end, amount


@_kernel
def _before(ra: int, ca: int, rb: int, cb: int) -> bool:
    return ra < rb or (ra == rb and ca < cb)


@_kernel
def _three(
    row: NDArray,
    col: NDArray,
    term: NDArray,
    weight: float,
    base: int,
    hor: NDArray,
    hor_weight: NDArray,
    ver: NDArray,
    ver_weight: NDArray,
) -> None:
    """Segments of a net that lies in three cells, into slots base and base + 1."""
    i, j, k = 0, 1, 2
    if _before(col[j], row[j], col[i], row[i]):
        i, j = j, i
    if _before(col[k], row[k], col[j], row[j]):
        j, k = k, j
    if _before(col[j], row[j], col[i], row[i]):
        i, j = j, i
    r1, r2, r3, c1, c2, c3 = row[i], row[j], row[k], col[i], col[j], col[k]
    a, b, c = term[i], term[j], term[k]
    if c1 < c2 < c3 and min(r1, r3) < r2 < max(r1, r3):
        _put(hor, hor_weight, base, a, a, b, weight)
        _put(hor, hor_weight, base + 1, b, b, c, weight)
        _put(ver, ver_weight, base, b, a, b, weight)
        _put(ver, ver_weight, base + 1, c, b, c, weight)
    elif c2 == c3 and c1 < c2 and r1 < min(r2, r3):
        _put(hor, hor_weight, base, a, a, b, weight)
        _put(ver, ver_weight, base, b, a, c if r3 > r2 else b, weight)
    elif r2 == r3:
        _put(hor, hor_weight, base, a, a, b, weight)
        _put(hor, hor_weight, base + 1, b, b, c, weight)
        _put(ver, ver_weight, base, b, a, b, weight)
    else:
        left, right = a, c  # sorted by column
        if _before(row[j], col[j], row[i], col[i]):
            i, j = j, i
        if _before(row[k], col[k], row[j], col[j]):
            j, k = k, j
        if _before(row[j], col[j], row[i], col[i]):
            i, j = j, i
        _put(hor, hor_weight, base, term[j], left, right, weight)
        _put(ver, ver_weight, base, term[i], term[i], term[j], weight)
        _put(ver, ver_weight, base + 1, term[k], term[j], term[k], weight)


@_kernel
def route_shapes(
    row: NDArray,
    col: NDArray,
    columns: int,
    net_start: NDArray,
    net_term: NDArray,
    net_routes: NDArray,
    stamp: NDArray,
    hor: NDArray,
    hor_weight: NDArray,
    ver: NDArray,
    ver_weight: NDArray,
) -> None:
    """Fill the segments of all nets.

    row, col (T,) int cells of terminals · net_* as in Problem · stamp (rows·columns,) int64, all -1 · hor, ver (3, S)
    int32, hor_weight, ver_weight (S,): net e owns slots net_start[e] - e … (one less than its terminals).
    """
    hor_weight[:] = 0.0
    ver_weight[:] = 0.0
    cell_row, cell_col = np.empty(len(stamp) + 1, np.int64), np.empty(len(stamp) + 1, np.int64)
    cell_term = np.empty(len(stamp) + 1, np.int64)
    for net in range(len(net_routes)):
        start, end, weight = net_start[net], net_start[net + 1], net_routes[net]
        base = start - net
        source = net_term[start]
        if end - start == 2:
            sink = net_term[start + 1]
            _put(hor, hor_weight, base, source, source, sink, weight)
            _put(ver, ver_weight, base, sink, source, sink, weight)
            continue
        count = 0
        for k in range(start, end):
            term = net_term[k]
            cell = row[term] * columns + col[term]
            if stamp[cell] != net:
                stamp[cell] = net
                cell_row[count], cell_col[count], cell_term[count] = row[term], col[term], term
                count += 1
        if count == 3:
            _three(cell_row, cell_col, cell_term, weight, base, hor, hor_weight, ver, ver_weight)
            continue
        for i in range(1, count):
            _put(hor, hor_weight, base + i - 1, source, source, cell_term[i], weight)
            _put(ver, ver_weight, base + i - 1, cell_term[i], source, cell_term[i], weight)
        slot = base + max(count - 1, 0)
        for k in range(start + 1, end):  # sinks in the driver's cell: length 0, but they have a gradient
            term = net_term[k]
            if row[term] == row[source] and col[term] == col[source]:
                _put(hor, hor_weight, slot, source, source, term, weight)
                _put(ver, ver_weight, slot, term, source, term, weight)
                slot += 1


@_kernel
def near_pairs(x: NDArray, y: NDArray, half_w: NDArray, half_h: NDArray, margin: np.float32, pairs: NDArray) -> int:
    """Pairs of boxes that overlap when each is `margin` wider, into pairs (2, P); returns how many were found.

    When more are found than fit, those nearest along the sweep are kept.
    """
    count = 0
    order = np.argsort(x - half_w, kind="mergesort")
    for p in range(len(x)):
        a = order[p]
        for q in range(p + 1, len(x)):
            b = order[q]
            if x[b] - half_w[b] - margin > x[a] + half_w[a]:
                break
            if abs(y[a] - y[b]) < half_h[a] + half_h[b] + margin:
                if count < pairs.shape[1]:
                    pairs[0, count], pairs[1, count] = a, b
                count += 1
    return count
