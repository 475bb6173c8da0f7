"""The compiled loop of the search: propose, try exactly, keep or drop.

`run` makes a number of trials at one temperature (0 = only what is no worse). Its moves: those of `moves`, to a random
place, exchange with another macro, flip. A hard macro that would lie on another is put beside it. Every decision uses
the exact cost. Deterministic for a board's generator.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from placement.cost.geometry import half_size
from placement.cost.incremental import COST, MOVED, State, accept, propose, trial, withdraw
from placement.cost.problem import Problem
from placement.kernels import inlined, kernel
from placement.search.board import (
    Board,
    below,
    beside,
    clamp,
    fits,
    may_swap,
    may_turn,
    note_place,
    other_class,
    save_best,
    uniform,
)
from placement.search.moves import median_target, off_route_target, step_target, to_net_target

STEP, TO_NET, ANYWHERE, SWAP, FLIP, MEDIAN, OFF_ROUTE = 0, 1, 2, 3, 4, 5, 6
KINDS = 7


@inlined
def _propose_place(p: Problem, s: State, b: Board, node: int, x: float, y: float) -> bool:
    """Propose a node at (x, y), moved inside the canvas and beside a macro in the way; False when that is taken too."""
    half_w, half_h = half_size(p, node, s.orientation[node])
    slot = b.slot[node]
    clearance = b.clearance if slot >= 0 else 0.0
    x = clamp(x, half_w, p.width, clearance, s.x[node])
    y = clamp(y, half_h, p.height, clearance, s.y[node])
    if slot >= 0 and not fits(p, b, slot, -1, x, y, half_w, half_h):
        x, y = beside(b, slot, x, y, half_w, half_h)
        if not fits(p, b, slot, -1, x, y, half_w, half_h):
            return False
    propose(p, s, node, x, y, s.orientation[node])
    return True


@inlined
def _propose_swap(p: Problem, s: State, b: Board, node: int) -> bool:
    """Exchange centres: a hard macro with one of its size, a soft one with any soft one."""
    if b.slot[node] >= 0:
        first = b.peer_start[node]
        count = b.peer_start[node + 1] - first
        if count == 0:
            return False
        other = b.peer[first + below(b, count)]
        if other == node or not may_swap(p, s, b, node, other):
            return False
        propose(p, s, node, s.x[other], s.y[other], s.orientation[node])
        propose(p, s, other, s.x[node], s.y[node], s.orientation[other])
        return True
    other = b.movable[below(b, len(b.movable))]
    if other == node or b.slot[other] >= 0:
        return False
    x, y = s.x[node], s.y[node]
    return _propose_place(p, s, b, node, s.x[other], s.y[other]) and _propose_place(p, s, b, other, x, y)


@inlined
def _propose_flip(p: Problem, s: State, b: Board) -> bool:
    """A hard macro in another orientation that it may have."""
    if len(b.movable_hard) == 0:
        return False
    node = b.movable_hard[below(b, len(b.movable_hard))]
    now = int(s.orientation[node])
    o = (now & 4) | ((now + 1 + below(b, 3)) & 3)
    if other_class(b, node, now) and uniform(b) < 0.5:
        o ^= 4
    if not may_turn(p, s, b, node, o):
        return False
    propose(p, s, node, s.x[node], s.y[node], o)
    return True


@inlined
def _take(p: Problem, s: State, b: Board) -> None:
    """Accept the trial and keep the hard macros' boxes in step."""
    moved = s.counter[MOVED]
    accept(p, s)
    for i in range(moved):
        node = s.moved[i]
        if b.slot[node] >= 0:
            note_place(p, s, b, node)


@inlined
def _draw_kind(b: Board, mix: NDArray) -> int:
    draw, kind = uniform(b), 0
    while kind < KINDS - 1 and draw >= mix[kind]:
        kind += 1
    return kind


@inlined
def _propose(p: Problem, s: State, b: Board, kind: int, reach: float) -> bool:
    """Propose a move of this kind of a random node; False when there is no legal one (then withdraw)."""
    if kind == FLIP:
        return _propose_flip(p, s, b)
    node = b.movable[below(b, len(b.movable))]
    if kind == SWAP:
        return _propose_swap(p, s, b, node)
    if kind == STEP:
        node, x, y = step_target(p, s, b, node, reach)
    elif kind == TO_NET:
        node, x, y = to_net_target(p, s, b, node)
    elif kind == ANYWHERE:
        x, y = uniform(b) * p.width, uniform(b) * p.height
    elif kind == MEDIAN:
        node, x, y = median_target(p, s, b, node)
    else:
        node, x, y = off_route_target(p, s, b, reach)
    return node >= 0 and _propose_place(p, s, b, node, x, y)


@kernel
def sample_changes(p: Problem, s: State, b: Board, mix: NDArray, reach: float, changes: NDArray) -> int:
    """Exact changes of cost that moves of this mix would make, dropped again: fills changes (n,), returns how many.

    Fewer than n when hardly a move is legal. Draws from the board's generator.
    """
    found = 0
    for _ in range(20 * len(changes)):
        if found < len(changes):
            if _propose(p, s, b, _draw_kind(b, mix), reach):
                changes[found] = trial(p, s, np.inf) - s.total[COST]
                found += 1
            withdraw(p, s)
    return found


@kernel
def run(
    p: Problem,
    s: State,
    b: Board,
    mix: NDArray,
    temperature: float,
    reach: float,
    trials: int,
    tried: NDArray,
    taken: NDArray,
) -> None:
    """Make `trials` trials.

    mix (KINDS,) cumulative shares of the kinds of move · temperature in units of cost · reach: longest step, share of
    the canvas · tried, taken (KINDS,) int64 counters to add to. The best placement goes to the board.
    """
    for _ in range(trials):
        kind = _draw_kind(b, mix)
        tried[kind] += 1
        if not _propose(p, s, b, kind, reach):
            withdraw(p, s)
            continue
        limit = s.total[COST]
        if temperature > 0.0:
            limit -= temperature * np.log(1.0 - uniform(b))
        cost = trial(p, s, limit)
        if cost > limit:
            withdraw(p, s)
            continue
        if not b.best_saved[0] and cost > b.best[0]:
            save_best(s, b)
        _take(p, s, b)
        taken[kind] += 1
        if cost < b.best[0]:
            b.best[0] = cost
            b.best_saved[0] = False
    if not b.best_saved[0]:
        save_best(s, b)


@kernel
def flip_pass(p: Problem, s: State, b: Board) -> int:
    """Try every movable hard macro in every orientation that it may have until none is better. Returns the trials.

    Starts from, and leaves, a state that is the board's best placement.
    """
    trials = 0
    better = True
    while better:
        better = False
        for node in b.movable_hard:
            for turn in range(1, 8 if b.constrained else 4):
                now = int(s.orientation[node])
                o = (now & 4) | ((now + turn) & 3) if turn < 4 else now ^ turn
                if not may_turn(p, s, b, node, o):
                    continue
                propose(p, s, node, s.x[node], s.y[node], o)
                trials += 1
                cost = trial(p, s, s.total[COST])
                if cost < s.total[COST] * (1.0 - 1e-12):
                    _take(p, s, b)
                    better = True
                else:
                    withdraw(p, s)
    if s.total[COST] < b.best[0]:
        b.best[0] = s.total[COST]
        save_best(s, b)
    return trials


@kernel
def time_trials(p: Problem, s: State, b: Board, trials: int) -> None:
    """Try exact random steps and drop them: what a benchmark of one trial times."""
    for _ in range(trials):
        node = b.movable[below(b, len(b.movable))]
        node, x, y = step_target(p, s, b, node, 0.3)
        if _propose_place(p, s, b, node, x, y):
            trial(p, s, np.inf)
        withdraw(p, s)
