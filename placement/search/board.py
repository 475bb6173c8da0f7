"""What the search may do with which node: legality of hard macros, limits of soft ones, partners for swaps.

In: a design and a legal start. Out: `Board`, a plain tuple of arrays for the compiled loops, beside the cost's State.
Legality is kept at every step: hard macros stay clear of each other, of blockages and of the canvas' edge by a
clearance that survives rounding to float32; fixed nodes never move; soft macros may overlap but stay inside. So are
constraints: sides are those of padded boxes (placement/legal/boxes.py), and `fits`, `may_turn` and `may_swap` know the
rest. What moves says so to `note_place`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netlists.model import Design, Orientation
from placement.cost.geometry import half_size
from placement.cost.incremental import COST, State
from placement.cost.problem import Problem
from placement.kernels import inlined, kernel
from placement.legal.boxes import clearance_um, halos_um, margins_um, rules_of
from placement.legal.space import allowed_orientations, largest_rectangles_um

BEST_COST = 0  # index of Board.best
MEDIAN_NETS = 16  # of a node, looked at for its optimal interval


class Board(NamedTuple):
    """N nodes, M movable ones, H hard macros, B blockages."""

    movable: NDArray[np.int32]  # (M,) nodes
    movable_hard: NDArray[np.int32]  # (·,) the hard ones among them
    slot: NDArray[np.int32]  # (N,) place of a hard macro in `left` …; -1 for all else
    left: NDArray[np.float64]  # (H,) µm, sides of the padded hard macros now
    right: NDArray[np.float64]
    bottom: NDArray[np.float64]
    top: NDArray[np.float64]
    blockages: NDArray[np.float64]  # (B, 4) llx lly urx ury µm
    clearance: float  # µm
    peer_start: NDArray[np.int32]  # (N+1,) movable hard macros of a node's very size: its partners for swaps
    peer: NDArray[np.int32]
    may_move: NDArray[np.bool_]  # (N,) as in `movable`
    term_node: NDArray[np.int32]  # (T,) whose each terminal is
    bounds: NDArray[np.float64]  # (2, 2·MEDIAN_NETS) scratch: bounds of nets in x and y
    constrained: bool  # whether there are rules beyond canvas, overlap and blockages; without, those below are empty
    allowed: NDArray[np.bool_]  # (N, 8) orientations that a node may have
    halo: NDArray[np.float64]  # (H, 8, 4) left bottom right top in each orientation
    margin: NDArray[np.float64]  # (H, 8, 4) the same of padded boxes
    turn: NDArray[np.int8]  # (H,) orientation now
    area_start: NDArray[np.int32]  # (H+1,) macro h lies in one of areas[area_start[h]:area_start[h+1]]; none: anywhere
    areas: NDArray[np.float64]  # (R, 4) llx lly urx ury µm: all maximal rectangles of its region
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
    halo, margin, area_start, areas = _rules(design, hard)
    pad = margin[np.arange(len(hard)), s.orientation[hard]] if len(margin) else np.zeros((len(hard), 4))
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
        left=s.x[hard] - half[:, 0] - pad[:, 0],
        right=s.x[hard] + half[:, 0] + pad[:, 2],
        bottom=s.y[hard] - half[:, 1] - pad[:, 1],
        top=s.y[hard] + half[:, 1] + pad[:, 3],
        blockages=design.blockages_um.copy(),
        clearance=clearance_um(design),
        peer_start=np.concatenate([[0], np.cumsum([len(q) for q in peers])]).astype(np.int32),
        peer=np.array([v for q in peers for v in q], dtype=np.int32),
        may_move=free,
        term_node=np.repeat(np.arange(n, dtype=np.int32), np.diff(p.node_term_start)),
        bounds=np.zeros((2, 2 * MEDIAN_NETS)),
        constrained=rules_of(design) is not None,
        allowed=allowed_orientations(design),
        halo=halo,
        margin=margin,
        turn=s.orientation[hard].astype(np.int8),
        area_start=area_start,
        areas=areas,
        random=np.array([seed * 2 + 1], dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15),
        best=np.array([s.total[COST]]),
        best_saved=np.ones(1, dtype=np.bool_),
        best_x=s.x.copy(),
        best_y=s.y.copy(),
        best_orientation=s.orientation.copy(),
    )


def _rules(
    design: Design, hard: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int32], NDArray[np.float64]]:
    """halo, margin, area_start and areas of the Board; empty without constraints."""
    rules = rules_of(design)
    if rules is None:
        return np.zeros((0, 8, 4)), np.zeros((0, 8, 4)), np.zeros(1, np.int32), np.zeros((0, 4))
    turns = [np.full(len(hard), int(o), dtype=np.int8) for o in Orientation]
    halo = np.stack([halos_um(design, hard.astype(np.int32), turn) for turn in turns], axis=1)
    known: dict[tuple[int, float], NDArray[np.float64]] = {}
    each = []
    for node in hard.tolist():
        key = int(rules.region[node]), float(rules.boundary_spacing_um[node])
        if key not in known:
            known[key] = largest_rectangles_um(design, *key) if key != (-1, 0.0) else np.zeros((0, 4))
        each.append(known[key])
    start = np.concatenate([[0], np.cumsum([len(one) for one in each])]).astype(np.int32)
    return halo, margins_um(design, halo), start, np.concatenate([np.zeros((0, 4)), *each])


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
    if b.constrained:
        return fits_rules(p, b, slot, other, x, y, half_w, half_h, int(b.turn[slot]))
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


@kernel
def fits_rules(
    p: Problem, b: Board, slot: int, other: int, x: float, y: float, half_w: float, half_h: float, o: int
) -> bool:
    """`fits` under constraints, in orientation o (whose half sizes are given)."""
    llx, lly, urx, ury = x - half_w, y - half_h, x + half_w, y + half_h
    # Regions are exact: they often only just hold their macros, and need no float32.
    inside = b.area_start[slot] == b.area_start[slot + 1]
    for i in range(b.area_start[slot], b.area_start[slot + 1]):
        if llx >= b.areas[i, 0] and lly >= b.areas[i, 1] and urx <= b.areas[i, 2] and ury <= b.areas[i, 3]:
            inside = True
    if not inside:
        return False
    c = b.clearance
    left, bottom = llx - b.halo[slot, o, 0] - c, lly - b.halo[slot, o, 1] - c
    right, top = urx + b.halo[slot, o, 2] + c, ury + b.halo[slot, o, 3] + c
    if left < 0.0 or bottom < 0.0 or right > p.width or top > p.height:
        return False
    hits = 0
    for i in range(len(b.blockages)):
        if left < b.blockages[i, 2] and right > b.blockages[i, 0]:
            hits += 1 if bottom < b.blockages[i, 3] and top > b.blockages[i, 1] else 0
    left, bottom = llx - b.margin[slot, o, 0] - c, lly - b.margin[slot, o, 1] - c
    right, top = urx + b.margin[slot, o, 2] + c, ury + b.margin[slot, o, 3] + c
    for i in range(len(b.left)):
        if left < b.right[i] and right > b.left[i] and bottom < b.top[i] and top > b.bottom[i]:
            hits += 1 if i != slot and i != other else 0
    return hits == 0


@inlined
def may_turn(p: Problem, s: State, b: Board, node: int, o: int) -> bool:
    """Whether a hard macro may have orientation o where it is, all others as they are."""
    if not b.constrained:
        return True  # of its class: nothing changes its box
    if not b.allowed[node, o]:
        return False
    half_w, half_h = half_size(p, node, o)
    return fits_rules(p, b, b.slot[node], -1, s.x[node], s.y[node], half_w, half_h, o)


@inlined
def other_class(b: Board, node: int, o: int) -> bool:
    """Whether a node in orientation o may have one of the other class, a quarter turn away."""
    first = (o & 4) ^ 4
    allowed = b.allowed
    return b.constrained and (
        allowed[node, first] or allowed[node, first + 1] or allowed[node, first + 2] or allowed[node, first + 3]
    )


@inlined
def may_swap(p: Problem, s: State, b: Board, node: int, other: int) -> bool:
    """Whether two movable hard macros of one size may exchange centres."""
    if not b.constrained:
        return True
    return swap_fits_rules(p, s, b, node, other)


@kernel
def swap_fits_rules(p: Problem, s: State, b: Board, node: int, other: int) -> bool:
    """`may_swap` under constraints: each fits at the other's place, and both do beside each other."""
    o, q = int(s.orientation[node]), int(s.orientation[other])
    half_w, half_h = half_size(p, node, o)
    wide, high = half_size(p, other, q)
    slot, slot_b = b.slot[node], b.slot[other]
    if not fits_rules(p, b, slot, slot_b, s.x[other], s.y[other], half_w, half_h, o):
        return False
    if not fits_rules(p, b, slot_b, slot, s.x[node], s.y[node], wide, high, q):
        return False
    c = b.clearance
    return (
        s.x[other] - half_w - b.margin[slot, o, 0] - c >= s.x[node] + wide + b.margin[slot_b, q, 2]
        or s.x[other] + half_w + b.margin[slot, o, 2] + c <= s.x[node] - wide - b.margin[slot_b, q, 0]
        or s.y[other] - half_h - b.margin[slot, o, 1] - c >= s.y[node] + high + b.margin[slot_b, q, 3]
        or s.y[other] + half_h + b.margin[slot, o, 3] + c <= s.y[node] - high - b.margin[slot_b, q, 1]
    )


@inlined
def beside(b: Board, slot: int, x: float, y: float, half_w: float, half_h: float) -> tuple[float, float]:
    """The nearest centre beside a hard macro that is in the way at (x, y); other macros are not looked at again."""
    c = b.clearance * 1.001  # the rounding of a sum must not bring them nearer than the clearance
    left, bottom, right, top = half_w + c, half_h + c, half_w + c, half_h + c
    if b.constrained:
        o = b.turn[slot]
        left += b.margin[slot, o, 0]
        bottom += b.margin[slot, o, 1]
        right += b.margin[slot, o, 2]
        top += b.margin[slot, o, 3]
    for i in range(len(b.left)):
        to_left, to_right = b.left[i] - right - x, b.right[i] + left - x
        down, up = b.bottom[i] - top - y, b.top[i] + bottom - y
        if i != slot and to_left < 0.0 < to_right and down < 0.0 < up:
            dx = to_left if -to_left < to_right else to_right
            dy = down if -down < up else up
            return (x + dx, y) if abs(dx) < abs(dy) else (x, y + dy)
    return x, y


@inlined
def set_box(b: Board, slot: int, x: float, y: float, half_w: float, half_h: float) -> None:
    """Note where a hard macro is now, turned as before."""
    b.left[slot], b.right[slot] = x - half_w, x + half_w
    b.bottom[slot], b.top[slot] = y - half_h, y + half_h
    if b.constrained:
        o = b.turn[slot]
        b.left[slot] -= b.margin[slot, o, 0]
        b.bottom[slot] -= b.margin[slot, o, 1]
        b.right[slot] += b.margin[slot, o, 2]
        b.top[slot] += b.margin[slot, o, 3]


@inlined
def note_place(p: Problem, s: State, b: Board, node: int) -> None:
    """Note where a hard macro is now, and how it is turned."""
    slot = b.slot[node]
    half_w, half_h = half_size(p, node, s.orientation[node])
    b.turn[slot] = s.orientation[node]
    set_box(b, slot, s.x[node], s.y[node], half_w, half_h)


@kernel
def note_places(p: Problem, s: State, b: Board) -> None:
    """`note_place` of every hard macro."""
    for node in range(len(b.slot)):
        if b.slot[node] >= 0:
            note_place(p, s, b, node)


@inlined
def save_best(s: State, b: Board) -> None:
    """Copy the state as the best placement."""
    for node in range(len(s.x)):
        b.best_x[node], b.best_y[node], b.best_orientation[node] = s.x[node], s.y[node], s.orientation[node]
    b.best_saved[0] = True
