"""Wirelength of cells along one axis: half-perimeters, and the quadratic form that equals them at a point.

Bound-to-bound model (Spindler, Schlichtmann, Johannes: Kraftwerk2, IEEE TCAD 2008): of a net of k pins, the two
outermost pins are tied to each other and to every other pin by springs of weight 1 / ((k - 1) · length), so that the
sum of weight · length² is the net's extent. Kernels take one axis; letters as in `problem.py`.
Slow twins: tests/placement/cells/slow.py.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netlists.model import FloatArray, IntArray
from placement.kernels import kernel


class Springs(NamedTuple):
    """A symmetric system A x = b without anchors: A = diag(diagonal) - sum of the springs between cells."""

    first: IntArray  # (S,) cell
    second: IntArray  # (S,) cell
    weight: FloatArray  # (S,)
    diagonal: FloatArray  # (M,)
    right: FloatArray  # (M,) b


@kernel
def axis_length(
    net_start: NDArray[np.int32],
    net_weight: NDArray[np.float64],
    pin_cell: NDArray[np.int32],
    pin_at: NDArray[np.float64],
    at: NDArray[np.float64],
) -> float:
    """Sum over nets of weight · extent along the axis, µm. at (M,) cells' centres · pin_at (K,) as `pin_x_um`. O(K)."""
    total = 0.0
    for net in range(len(net_weight)):
        low, high = np.inf, -np.inf
        for pin in range(net_start[net], net_start[net + 1]):
            cell = pin_cell[pin]
            value = pin_at[pin] + at[cell] if cell >= 0 else pin_at[pin]
            low = min(low, value)
            high = max(high, value)
        total += net_weight[net] * (high - low)
    return total


@kernel
def _springs(
    net_start: NDArray[np.int32],
    net_weight: NDArray[np.float64],
    pin_cell: NDArray[np.int32],
    pin_at: NDArray[np.float64],
    at: NDArray[np.float64],
    shortest: float,
    first: NDArray[np.int32],
    second: NDArray[np.int32],
    weight: NDArray[np.float64],
    diagonal: NDArray[np.float64],
    right: NDArray[np.float64],
) -> int:
    """Fills the arrays of `Springs` (room for 2 K) and returns how many springs there are between cells."""
    count = 0
    for net in range(len(net_weight)):
        begin, end = net_start[net], net_start[net + 1]
        lowest, highest = begin, begin
        low, high = np.inf, -np.inf
        for pin in range(begin, end):
            cell = pin_cell[pin]
            value = pin_at[pin] + at[cell] if cell >= 0 else pin_at[pin]
            if value < low:
                low, lowest = value, pin
            if value >= high:  # of equal ones the last, so that the two differ
                high, highest = value, pin
        scale = net_weight[net] / (end - begin - 1)
        for pin in range(begin, end):
            for bound in (lowest, highest):
                if pin == bound or (bound == highest and pin == lowest):
                    continue  # the pair of bounds is tied once
                i, j = pin_cell[pin], pin_cell[bound]
                if i == j:
                    continue  # one cell, or both fixed
                a, b = pin_at[pin], pin_at[bound]
                length = abs((a + at[i] if i >= 0 else a) - (b + at[j] if j >= 0 else b))
                w = scale / max(length, shortest)
                if i >= 0:
                    diagonal[i] += w
                    right[i] += w * (b - a)
                if j >= 0:
                    diagonal[j] += w
                    right[j] += w * (a - b)
                if i >= 0 and j >= 0:
                    first[count], second[count], weight[count] = i, j, w
                    count += 1
    return count


def springs(
    net_start: IntArray,
    net_weight: FloatArray,
    pin_cell: IntArray,
    pin_at: FloatArray,
    at: FloatArray,
    shortest_um: float,
) -> Springs:
    """The bound-to-bound model at `at` (M,). `shortest_um` > 0: springs are no stiffer than one of this length."""
    room = 2 * len(pin_cell)
    first, second = np.empty(room, dtype=np.int32), np.empty(room, dtype=np.int32)
    weight, diagonal, right = np.empty(room), np.zeros(len(at)), np.zeros(len(at))
    count = _springs(net_start, net_weight, pin_cell, pin_at, at, shortest_um, first, second, weight, diagonal, right)
    return Springs(first[:count], second[:count], weight[:count], diagonal, right)
