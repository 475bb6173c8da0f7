"""Runs the stages of a search: temperature and reach over a budget, the best placement, reports, the flip pass.

In: a design, a legal start, a plan of stages, a budget. Out: `SearchResult`, never worse than the start.
`improve` and `anneal` are plans for it. Single-threaded; the compiled loops release the GIL. No files, no database.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from netlists.model import Design, Placement
from placement.cost import CostReport, evaluate
from placement.cost.incremental import COST, State, new_state, rebuild
from placement.cost.problem import Problem, problem_of
from placement.legal import check, separate
from placement.search.board import Board, new_board, note_places
from placement.search.budget import Budget
from placement.search.loop import KINDS, flip_pass, run
from placement.search.result import SearchResult, StageGain
from placement.search.temperature import start_temperature

REPORT_S = 0.5  # least time between two calls of on_better
_REBUILD_TRIALS = 1_000_000  # rounding adds up to some 1e-13 of the cost in between

Better = Callable[[Placement, CostReport], None]


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One stretch of the compiled loop. Temperature and reach fall geometrically from first to last."""

    name: str
    until: float  # share of the whole budget at which it ends
    mix: tuple[
        float, ...
    ]  # (KINDS,) shares of the kinds of move: step, to net, anywhere, swap, flip, median, off route
    temperature: tuple[float, float] = (0.0, 0.0)  # in units of proxy cost, or of what is measured; 0 = descent
    measured: bool = False  # temperatures in units of `start_temperature` at the stage's beginning
    reach: tuple[float, float] = (0.1, 0.01)  # longest step, share of the canvas

    def cumulative(self) -> np.ndarray:
        if len(self.mix) != KINDS:
            raise ValueError(f"mix has {len(self.mix)} shares, expected {KINDS}")
        return np.cumsum(self.mix) / sum(self.mix)


def _at(ends: tuple[float, float], share: float) -> float:
    first, last = ends
    return first * (last / first) ** share if first > 0 else 0.0


class _Run:
    """The state of one search."""

    def __init__(self, design: Design, start: Placement, seed: int, budget: Budget, on_better: Better | None) -> None:
        self.design, self.start, self.budget, self.on_better = design, start, budget, on_better
        self.problem: Problem = problem_of(design)
        self.state: State = new_state(self.problem, start)
        self.board: Board = new_board(design, self.problem, self.state, seed)
        self.reported_cost = float(self.state.total[COST])
        self.reported_s = budget.elapsed_s()
        self.since_rebuild = 0

    def best_placement(self) -> Placement:
        b = self.board
        return self.start.moved(x_um=b.best_x, y_um=b.best_y, orientation=b.best_orientation)

    def report(self) -> None:
        """Tell of a better placement, not too often."""
        now_s = self.budget.elapsed_s()
        if self.on_better and self.board.best[0] < self.reported_cost and now_s - self.reported_s >= REPORT_S:
            placement = self.best_placement()
            self.reported_cost, self.reported_s = float(self.board.best[0]), now_s
            self.on_better(placement, evaluate(self.design, placement))

    def back_to_best(self) -> None:
        """The best placement becomes the state, computed afresh."""
        p, s, b = self.problem, self.state, self.board
        s.x[:], s.y[:], s.orientation[:] = b.best_x, b.best_y, b.best_orientation
        rebuild(p, s)
        self.since_rebuild = 0
        b.best[0] = s.total[COST]
        note_places(p, s, b)

    def stage(self, stage: Stage) -> StageGain:
        budget, board = self.budget, self.board
        mix, tried, taken = stage.cumulative(), np.zeros(KINDS, dtype=np.int64), np.zeros(KINDS, dtype=np.int64)
        before, began_s, began, trials = float(board.best[0]), budget.elapsed_s(), budget.spent(), 0
        unit = start_temperature(self.problem, self.state, board, mix, stage.reach[0]) if stage.measured else 1.0
        while not budget.is_over(stage.until):
            share = min(max((budget.spent() - began) / max(stage.until - began, 1e-9), 0.0), 1.0)
            count, slice_s = budget.slice(stage.until), budget.elapsed_s()
            temperature, reach = unit * _at(stage.temperature, share), _at(stage.reach, share)
            run(self.problem, self.state, board, mix, temperature, reach, count, tried, taken)
            budget.note(count, budget.elapsed_s() - slice_s)
            trials += count
            self.since_rebuild += count
            if self.since_rebuild >= _REBUILD_TRIALS:
                rebuild(self.problem, self.state)
                self.since_rebuild = 0
            self.report()
        self.back_to_best()
        return StageGain(stage.name, budget.elapsed_s() - began_s, trials, max(before - float(board.best[0]), 0.0))

    def flips(self) -> StageGain:
        """Every hard macro in every orientation of its class, until none is better."""
        before, began_s = float(self.board.best[0]), self.budget.elapsed_s()
        trials = int(flip_pass(self.problem, self.state, self.board))
        gain = max(before - float(self.board.best[0]), 0.0)
        return StageGain("flips", self.budget.elapsed_s() - began_s, trials, gain)


def search(
    design: Design,
    start: Placement,
    stages: tuple[Stage, ...],
    *,
    seconds: float | None = None,
    trials: int | None = None,
    seed: int = 0,
    should_stop: Callable[[], bool] | None = None,
    on_better: Better | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> SearchResult:
    """Better a legal placement by these stages within `seconds` (of `clock`) or `trials`.

    Raises ValueError when the start is not legal. A budget of 0 gives the start back as it is. With `trials` the result
    depends on the seed and the trials only.
    `on_better` gets better placements at most every `REPORT_S` and, at the end, the best one.
    """
    budget = Budget(seconds, trials, clock, should_stop)
    legality = check(design, start)
    if not legality.legal:
        raise ValueError(f"the search needs a legal start: {'; '.join(legality.problems()[:3])}")
    start_cost = evaluate(design, start)
    if budget.is_over() or not np.any(~design.start.fixed & problem_of(design).has_area):
        return SearchResult(start, start_cost, start_cost, (), 0, budget.elapsed_s())
    running = _Run(design, separate(design, start), seed, budget, on_better)
    gains = [running.stage(stage) for stage in stages]
    gains.append(running.flips())
    placement = running.best_placement()
    cost = evaluate(design, placement)
    if cost.proxy_cost >= start_cost.proxy_cost:
        placement, cost = start, start_cost
    elif on_better:
        on_better(placement, cost)
    return SearchResult(placement, cost, start_cost, tuple(gains), sum(g.trials for g in gains), budget.elapsed_s())
