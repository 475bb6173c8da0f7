"""What boxes share: with each other, with blockages, with what lies beyond the canvas. Arrays in, arrays out.

Called by the judge (`check.py`, `check_rules.py`) and by `feasible.py`; shares nothing with legaliser or packer.
"""

from __future__ import annotations

import numpy as np

from netlists.model import FloatArray, IntArray
from placement.kernels import allocating
from placement.legal.boxes import TOLERANCE_UM

STORED_PAIRS = 100_000  # overlapping pairs kept with their names; all are counted


@allocating
def overlapping_pairs(
    corners: FloatArray, tolerance: float, first: IntArray, second: IntArray, extent: FloatArray
) -> int:
    """Pairs of boxes that share more than `tolerance` in both directions; returns their number.

    corners (M, 4) llx lly urx ury · first, second (C,), extent (C, 2): filled with the first C pairs (first < second).
    Sweep over x: O(M log M + pairs that share an x range).
    """
    order = np.argsort(corners[:, 0], kind="mergesort")
    count = 0
    for p in range(len(order)):
        a = order[p]
        for q in range(p + 1, len(order)):
            b = order[q]
            if corners[a, 2] - corners[b, 0] <= tolerance:
                break
            dx = min(corners[a, 2], corners[b, 2]) - corners[b, 0]
            dy = min(corners[a, 3], corners[b, 3]) - max(corners[a, 1], corners[b, 1])
            if dx > tolerance and dy > tolerance:
                if count < len(first):
                    first[count], second[count] = min(a, b), max(a, b)
                    extent[count, 0], extent[count, 1] = dx, dy
                count += 1
    return count


def pairs_um(corners: FloatArray) -> tuple[IntArray, FloatArray, int]:
    """Overlapping pairs of boxes: (K, 2) indices, (K, 2) shared extent, and how many there are in all."""
    corners = np.ascontiguousarray(corners, dtype=np.float64)
    first, second = np.empty(STORED_PAIRS, np.int32), np.empty(STORED_PAIRS, np.int32)
    extent = np.empty((STORED_PAIRS, 2))
    count = int(overlapping_pairs(corners, TOLERANCE_UM, first, second, extent))
    stored = min(count, STORED_PAIRS)
    return np.stack([first[:stored], second[:stored]], axis=1), extent[:stored].copy(), count


def blocked_um(corners: FloatArray, blockages: FloatArray) -> tuple[IntArray, FloatArray]:
    """Boxes on blockages: (R, 2) box, blockage, and (R, 2) shared extent."""
    low = np.maximum(corners[:, None, :2], blockages[None, :, :2])
    high = np.minimum(corners[:, None, 2:], blockages[None, :, 2:])
    shared = high - low
    hit = np.argwhere(np.all(shared > TOLERANCE_UM, axis=2)).astype(np.int32)
    return hit, shared[hit[:, 0], hit[:, 1]]


def outside_um(corners: FloatArray, canvas: FloatArray) -> FloatArray:
    """(M,) by how much each box sticks out of the canvas at most; 0 or less = inside."""
    return np.maximum(canvas[:2] - corners[:, :2], corners[:, 2:] - canvas[2:]).max(axis=1, initial=-np.inf)
