"""What the search may do with which node: legality of hard macros, limits of soft ones, partners for swaps.

In: a design and a legal start. Out: `Board`, a plain tuple of arrays for the compiled loops, beside the cost's State.
Legality is kept at every step: hard macros stay clear of each other, of blockages and of the canvas' edge by a
clearance that survives rounding to float32; fixed nodes never move; soft macros may overlap but stay inside.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netlists.model import Design
from placement.cost.geometry import half_size
from placement.cost.incremental import COST, State
from placement.cost.problem import Problem
from placement.kernels import inlined
from placement.legal.boxes import clearance_um

BEST_COST = 0  # index of Board.best


class Board(NamedTuple):
    """N nodes, M movable ones, H hard macros, B blockages."""

    movable: NDArray[np.int32]  # (M,) nodes
    movable_hard: NDArray[np.int32]  # (·,) the hard ones among them
    slot: NDArray[np.int32]  # (N,) place of a hard macro in `left` …; -1 for all else
    left: NDArray[np.float64]  # (H,) µm, sides of the hard macros now
    right: NDArray[np.float64]
    bottom: NDArray[np.float64]
    top: NDArray[np.float64]
    blockages: NDArray[np.float64]  # (B, 4) llx lly urx ury µm
    clearance: float  # µm
    peer_start: NDArray[np.int32]  # (N+1,) movable hard macros of a node's very size: its partners for swaps
    peer: NDArray[np.int32]
    random: NDArray[np.uint64]  # (1,) state of the generator
    best: NDArray[np.float64]  # (1,) lowest cost seen
    best_saved: NDArray[np.bool_]  # (1,) whether best_x … hold the placement of that cost
    best_x: NDArray[np.float64]  # (N,)
    best_y: NDArray[np.float64]
    best_orientation: NDArray[np.int8]


def new_board(design: Design, p: Problem, s: State, seed: int) -> Board:
    """For a state at a legal placement. What may move is the design's to say."""
    n = design.netlist.node_count
    free = ~design.start.fixed & p.has_area
    hard = np.flatnonzero(p.is_hard)
    slot = np.full(n, -1, dtype=np.int32)
    slot[hard] = np.arange(len(hard))
    movable_hard = np.flatnonzero(free & p.is_hard).astype(np.int32)
    half = np.array([half_size(p, int(v), int(s.orientation[v])) for v in hard]).reshape(-1, 2)
    peers: list[list[int]] = [[] for _ in range(n)]
    groups: dict[tuple[float, float, bool], list[int]] = {}
    for v in movable_hard.tolist():
        groups.setdefault((p.node_width[v], p.node_height[v], bool(s.orientation[v] >= 4)), []).append(v)
    for group in groups.values():
        if len(group) > 1:
            for v in group:
                peers[v] = group
    return Board(
        movable=np.flatnonzero(free).astype(np.int32),
        movable_hard=movable_hard,
        slot=slot,
        left=s.x[hard] - half[:, 0],
        right=s.x[hard] + half[:, 0],
        bottom=s.y[hard] - half[:, 1],
        top=s.y[hard] + half[:, 1],
        blockages=design.blockages_um.copy(),
        clearance=clearance_um(design),
        peer_start=np.concatenate([[0], np.cumsum([len(q) for q in peers])]).astype(np.int32),
        peer=np.array([v for q in peers for v in q], dtype=np.int32),
        random=np.array([seed * 2 + 1], dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15),
        best=np.array([s.total[COST]]),
        best_saved=np.ones(1, dtype=np.bool_),
        best_x=s.x.copy(),
        best_y=s.y.copy(),
        best_orientation=s.orientation.copy(),
    )


@inlined
def uniform(b: Board) -> float:
    """The next random number in [0, 1). SplitMix64 (Steele, Lea and Flood 2014)."""
    b.random[0] += np.uint64(0x9E3779B97F4A7C15)
    z = b.random[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return float(z >> np.uint64(11)) * 1.1102230246251565e-16  # 2^-53


@inlined
def below(b: Board, count: int) -> int:
    """A random integer in [0, count)."""
    return int(uniform(b) * count)


@inlined
def clamp(position: float, half: float, size: float, clearance: float, otherwise: float) -> float:
    """The nearest centre that keeps a box inside [0, size]; `otherwise` when it is too large to."""
    low, high = half + clearance, size - half - clearance
    if low > high:
        return otherwise
    return min(max(position, low), high)


@inlined
def fits(p: Problem, b: Board, slot: int, other: int, x: float, y: float, half_w: float, half_h: float) -> bool:
    """Whether a hard macro may be centred at (x, y), all others as they are; `other` (or -1) is not looked at."""
    c = b.clearance
    left, right, bottom, top = x - half_w - c, x + half_w + c, y - half_h - c, y + half_h + c
    if left < 0.0 or bottom < 0.0 or right > p.width or top > p.height:
        return False
    hits = 0
    for i in range(len(b.left)):
        if left < b.right[i] and right > b.left[i] and bottom < b.top[i] and top > b.bottom[i]:
            hits += 1 if i != slot and i != other else 0
    for i in range(len(b.blockages)):
        if left < b.blockages[i, 2] and right > b.blockages[i, 0]:
            hits += 1 if bottom < b.blockages[i, 3] and top > b.blockages[i, 1] else 0
    return hits == 0


@inlined
def set_box(b: Board, slot: int, x: float, y: float, half_w: float, half_h: float) -> None:
    """Note where a hard macro is now."""
    b.left[slot], b.right[slot] = x - half_w, x + half_w
    b.bottom[slot], b.top[slot] = y - half_h, y + half_h


@inlined
def save_best(s: State, b: Board) -> None:
    """Copy the state as the best placement."""
    for node in range(len(s.x)):
        b.best_x[node], b.best_y[node], b.best_orientation[node] = s.x[node], s.y[node], s.orientation[node]
    b.best_saved[0] = True
