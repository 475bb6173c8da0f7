"""Placement by gradients, in rounds, then by the exact search: the method `analytic`.

In: a design, a legal start, a budget of seconds or of work. Out: `SearchResult`, in the call form of
placement.search.improve. Called by the optimiser role (`global_rounds`) and by whoever has one process
(`place_analytically`). Never worse than the start.

Global placement comes in rounds, for as long as another one fits into its budget: from the start, from scratch, then in
turn from the best so far and from scratch with another seed. Costs of equal rounds scatter by some 0.01, and a round
from the best result often betters it (docs/analytic.md).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

from netlists.errors import InfeasibleError
from netlists.model import Design, Placement
from placement.analytic.place import Better, Candidate, global_place
from placement.analytic.schedule import PLACE, SETTLE, SPREAD
from placement.cost import CostReport, evaluate
from placement.search import SearchResult, StageGain, improve
from placement.search.portfolio import GLOBAL_SECONDS, GLOBAL_SHARE

LEAST_STEPS = 100  # a round of fewer gradient steps spoils more than it arranges
MOST_ROUNDS = 64  # later ones hardly find anything: leave the time to the search


def round_steps(from_start: bool) -> int:
    """Gradient steps of one whole round."""
    return PLACE.steps + SETTLE.steps + (0 if from_start else SPREAD.steps)


def global_rounds(
    design: Design,
    start: Placement,
    *,
    seconds: float | None = None,
    steps: int | None = None,
    seed: int,
    scratch_first: bool = False,
    should_stop: Callable[[], bool] | None = None,
    on_better: Better | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> SearchResult:
    """Better a legal placement by rounds of global placement alone, within `seconds` (of `clock`) or gradient `steps`.

    steps: equal arguments give equal results on one machine; a budget below one round makes a shorter one, the rest
    that is too small for a further round is left. scratch_first: the first round is from scratch (members of a
    portfolio begin differently).
    """
    if (seconds is None) == (steps is None):
        raise ValueError(f"give either seconds or steps: seconds={seconds}, steps={steps}")
    begin_s = clock()
    start_cost = evaluate(design, start)
    best = Candidate(start, start_cost)
    stages: list[StageGain] = []

    def better(placement: Placement, cost: CostReport) -> None:
        nonlocal best
        if cost.proxy_cost < best.cost.proxy_cost:
            best = Candidate(placement, cost)
            if on_better is not None:
                on_better(placement, cost)

    longest_s, left = 0.0, steps or 0
    for number in range(MOST_ROUNDS):
        since_s, before = clock(), best.cost.proxy_cost
        from_start = (number % 2 == 0) != scratch_first
        needed = round_steps(from_start)
        if steps is not None and left < (needed if number else LEAST_STEPS):
            break
        if seconds is not None and since_s + longest_s >= begin_s + seconds:
            break
        if should_stop is not None and should_stop():
            break
        name = "global from scratch" if not from_start else "global from start" if number == 0 else "global from best"
        with suppress(InfeasibleError):  # of this round's arrangement; the start is legal
            global_place(
                design,
                seed=seed + number,
                seeds=1,
                seconds=None if seconds is None else begin_s + seconds - since_s,
                steps=None if steps is None else PLACE.steps * min(left, needed) // needed,
                from_start=from_start,
                start=best.placement if from_start else start,
                should_stop=should_stop,
                on_better=better,
                clock=clock,
            )
        took_s, left = clock() - since_s, left - needed
        stages.append(StageGain(name, took_s, 0, before - best.cost.proxy_cost))
        if number > 0:  # the first one may have waited for the compiler
            longest_s = max(longest_s, took_s)
    return SearchResult(best.placement, best.cost, start_cost, tuple(stages), 0, clock() - begin_s)


def place_analytically(
    design: Design,
    start: Placement,
    *,
    seconds: float,
    seed: int,
    should_stop: Callable[[], bool] | None = None,
    on_better: Better | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> SearchResult:
    """Better a legal placement by rounds of global placement, then by `improve` on the best found.

    seconds: of `clock`, in all; 0 returns the start. on_better: told of every better legal placement, with its cost.
    """
    begin_s = clock()
    share = GLOBAL_SHARE if seconds >= GLOBAL_SECONDS else 0.0
    first = global_rounds(
        design,
        start,
        seconds=share * seconds,
        seed=seed,
        should_stop=should_stop,
        on_better=on_better,
        clock=clock,
    )
    found = improve(
        design,
        first.placement,
        seconds=max(begin_s + seconds - clock(), 0.0),
        seed=seed,
        should_stop=should_stop,
        on_better=on_better,
        clock=clock,
    )
    stages = (*first.stages, *found.stages)
    return SearchResult(found.placement, found.cost, first.start_cost, stages, found.trials, clock() - begin_s)
