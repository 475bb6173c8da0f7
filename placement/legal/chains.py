"""Boxes in a row, set apart by as little movement as does: one axis of `separate`.

In: boxes along a line, some of which stand, and links that say which of two comes first. Out: new centres. Links are a
graph without cycles, so least and greatest centres follow from its longest paths; each box stays where it is or moves
as little as its neighbours and its own bounds leave it. Where a chain of links is too long for its room, its own links
give up one thing after the other (the levels); all others keep theirs. Plain numbers, no design.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

# What a link keeps: the clearance; no overlap in float32 and float64; none in float64; no more overlap than there is.
CLEAR, EXACT, EXACT64, AS_IS = range(4)

Edge = tuple[float, float]  # µm, in float64 and as float32 arithmetic has it


class Link(NamedTuple):
    """Box `before` lies before box `after`, `spacing` or more from it.

    shared: by how much less than `spacing` they are apart now, with what rounding may add. µm.
    """

    before: int
    after: int
    spacing: float
    shared: float


class Line(NamedTuple):
    """B boxes in the order of their middles."""

    at: list[float]  # (B,) centres, µm
    first: list[float]  # (B,) least centre, whatever the links say; at most `at`
    last: list[float]  # (B,) greatest
    half: list[float]  # (B,) half sizes
    movable: list[bool]  # (B,)
    low: list[Edge]  # (B,) edges; used of those that stand
    high: list[Edge]
    links: list[Link]
    clearance: float


def least_centre(half: float, edge: Edge, level: int, clearance: float, link: Link) -> float:
    """The least centre of a box that keeps a link's `level` behind an edge."""
    if level == CLEAR:
        return edge[0] + link.spacing + clearance + half
    if level == AS_IS:
        return edge[0] + link.spacing - link.shared + half
    if link.spacing > 0:  # far more than a last bit: no overlap in either type
        return edge[0] + link.spacing + half
    x = np.nextafter(np.nextafter(edge[0] + half, -np.inf), -np.inf)
    while x - half < edge[0]:
        x = np.nextafter(x, np.inf)
    x32, half32, edge32 = np.float32(x), np.float32(half), np.float32(edge[1])
    if level == EXACT and x32 - half32 < edge32:
        while x32 - half32 < edge32:
            x32 = np.nextafter(x32, np.float32(np.inf))
        x = max(x, float(x32))
    return float(x)


def _after(line: Line, link: Link, level: int, at: float) -> float:
    """The least centre of the later box with the earlier at `at`."""
    a, half = link.before, line.half[link.before]
    edge = (at + half, float(np.float32(at) + np.float32(half))) if line.movable[a] else line.high[a]
    return least_centre(line.half[link.after], edge, level, line.clearance, link)


def _before(line: Line, link: Link, level: int, at: float) -> float:
    """The greatest centre of the earlier box with the later at `at`: the mirror image, which rounds alike."""
    b, half = link.after, line.half[link.after]
    low, low32 = (at - half, float(np.float32(at) - np.float32(half))) if line.movable[b] else line.low[b]
    return -least_centre(line.half[link.before], (-low, -low32), level, line.clearance, link)


def set_apart(line: Line) -> list[float] | None:
    """New centres (B,). None if not even AS_IS holds, which nothing but a wrong `shared` brings about."""
    links, boxes = line.links, range(len(line.at))
    level = [CLEAR] * len(links)
    into: list[list[int]] = [[] for _ in boxes]
    out: list[list[int]] = [[] for _ in boxes]
    for k, link in enumerate(links):
        into[link.after].append(k)
        out[link.before].append(k)

    def behind(b: int, at: list[float]) -> float:
        return max((_after(line, links[k], level[k], at[links[k].before]) for k in into[b]), default=-np.inf)

    def ahead(a: int, at: list[float]) -> float:
        return min((_before(line, links[k], level[k], at[links[k].after]) for k in out[a]), default=np.inf)

    while True:
        least, greatest = list(line.at), list(line.at)
        for b in boxes:
            if line.movable[b]:
                least[b] = max(behind(b, least), line.first[b])
        for a in reversed(boxes):
            if line.movable[a]:
                greatest[a] = min(ahead(a, greatest), line.last[a])
        broken = [
            k
            for k, (a, b, *_) in enumerate(links)
            if (
                _after(line, links[k], level[k], least[a]) > greatest[b]
                if line.movable[b]
                else _before(line, links[k], level[k], line.at[b]) < least[a]
            )
        ]
        if not broken:
            break
        broken = [k for k in broken if level[k] < AS_IS]
        if not broken:
            return None
        lowest = min(level[k] for k in broken)
        broken = [k for k in broken if level[k] == lowest]
        inner = {links[k].after for k in broken}
        for k in broken:  # a whole chain gives up its clearance; what matters more, link by link
            if lowest == CLEAR or links[k].before not in inner:
                level[k] += 1
    at = list(line.at)
    for b in boxes:
        if line.movable[b]:
            at[b] = min(max(at[b], behind(b, at)), greatest[b])
    return at
