"""Rectilinear polygons as rectangles: inside, or the rest of their box. Whole numbers in, whole numbers out."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

Corner = tuple[int, int]
Rect = tuple[int, int, int, int]  # llx lly urx ury
MAX_CORNERS = 5000


def rectangles(corners: Sequence[Corner], *, inside: bool) -> list[Rect]:
    """Rectangles that together are the polygon (`inside`) or its box without it. They do not overlap.

    Raises ValueError with the reason where edges are slanted or cross each other.
    """
    ring = _ring(corners)
    _refuse_crossings(ring)
    xs = [x for x, _ in ring]
    left, right = min(xs), max(xs)
    levels = sorted({y for _, y in ring})
    uprights = [(x1, min(y1, y2), max(y1, y2)) for (x1, y1), (x2, y2) in _edges(ring) if x1 == x2]
    result: list[Rect] = []
    for bottom, top in pairwise(levels):
        crossed = sorted(x for x, low, high in uprights if low <= bottom and high >= top)
        cuts = crossed if inside else [left, *crossed, right]
        for start, end in zip(cuts[0::2], cuts[1::2], strict=True):
            if start < end:
                _add(result, (start, bottom, end, top))
    return result


def _add(rects: list[Rect], new: Rect) -> None:
    """Adds a rectangle, grown together with one below of the same width."""
    for at in range(len(rects) - 1, -1, -1):
        old = rects[at]
        if old[3] < new[1]:
            break
        if old[3] == new[1] and old[0] == new[0] and old[2] == new[2]:
            rects[at] = (old[0], old[1], old[2], new[3])
            return
    rects.append(new)


def _ring(corners: Sequence[Corner]) -> list[Corner]:
    """The corners without repetitions of one beside itself."""
    ring: list[Corner] = []
    for corner in corners:
        if not ring or ring[-1] != corner:
            ring.append(corner)
    if len(ring) > 1 and ring[0] == ring[-1]:
        ring.pop()
    if len(ring) > MAX_CORNERS:
        raise ValueError(f"{len(ring):,} corners; the limit is {MAX_CORNERS:,}")
    if len(ring) < 4:
        raise ValueError(f"{len(ring)} different corners; a rectilinear polygon has at least 4")
    for (x1, y1), (x2, y2) in _edges(ring):
        if x1 != x2 and y1 != y2:
            raise ValueError(f"the edge from ({x1} {y1}) to ({x2} {y2}) is slanted")
    return ring


def _edges(ring: Sequence[Corner]) -> list[tuple[Corner, Corner]]:
    return list(zip(ring, [*ring[1:], ring[0]], strict=True))


def _refuse_crossings(ring: Sequence[Corner]) -> None:
    edges = _edges(ring)
    flat = [(min(a[0], b[0]), max(a[0], b[0]), a[1], n) for n, (a, b) in enumerate(edges) if a[1] == b[1]]
    upright = [(a[0], min(a[1], b[1]), max(a[1], b[1]), n) for n, (a, b) in enumerate(edges) if a[0] == b[0]]
    count = len(edges)
    for left, right, y, n in flat:
        for x, low, high, m in upright:
            if (n - m) % count not in (1, count - 1) and left <= x <= right and low <= y <= high:
                raise ValueError(f"the polygon touches or crosses itself at ({x} {y})")
    _refuse_folds([(y, left, right) for left, right, y, _ in flat])
    _refuse_folds([(x, low, high) for x, low, high, _ in upright])


def _refuse_folds(edges: Sequence[tuple[int, int, int]]) -> None:
    """(line, start, end) of parallel edges: none may lie on another."""
    ordered = sorted(edges)
    for (line, _, end), (other, start, _) in pairwise(ordered):
        if line == other and start < end:
            raise ValueError("two edges of the polygon lie on each other")
