"""Placement by gradients, then by the exact search: the method `analytic`.

In: a design, a legal start, a budget. Out: `SearchResult`, in the call form of placement.search.improve. Called by the
optimiser role and the command line. Never worse than the start.

Global placement comes in rounds, for as long as another one fits into its share of the time: from the start, from
scratch, then in turn from the best so far and from scratch with another seed. Costs of equal rounds scatter by some
0.01, and a round from the best result often betters it (docs/analytic.md).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

from netlists.errors import InfeasibleError
from netlists.model import Design, Placement
from placement.analytic.place import Better, Candidate, global_place
from placement.cost import CostReport, evaluate
from placement.search import SearchResult, StageGain, improve

GLOBAL_SHARE = 0.35  # of the time, for rounds of global placement; the search gets the rest
LEAST_SECONDS = (
    10.0  # below it there is only the search: the compiler alone takes some 4 s of a core, and cannot be stopped
)
MOST_ROUNDS = 64  # later ones hardly find anything: leave the time to the search


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
    start_cost = evaluate(design, start)
    best = Candidate(start, start_cost)
    stages: list[StageGain] = []

    def better(placement: Placement, cost: CostReport) -> None:
        nonlocal best
        if cost.proxy_cost < best.cost.proxy_cost:
            best = Candidate(placement, cost)
            if on_better is not None:
                on_better(placement, cost)

    def going_on() -> bool:
        return should_stop is None or not should_stop()

    until_s = begin_s + (GLOBAL_SHARE * seconds if seconds >= LEAST_SECONDS else 0.0)
    longest_s = 0.0
    for number in range(MOST_ROUNDS):
        since_s, before = clock(), best.cost.proxy_cost
        if since_s + longest_s >= until_s or not going_on():
            break
        from_start = number % 2 == 0
        name = "global from scratch" if not from_start else "global from start" if number == 0 else "global from best"
        with suppress(InfeasibleError):  # of this round's arrangement; the start is legal
            global_place(
                design,
                seed=seed + number,
                seeds=1,
                seconds=until_s - since_s,
                from_start=from_start,
                start=best.placement if from_start else start,
                should_stop=should_stop,
                on_better=better,
                clock=clock,
            )
        took_s = clock() - since_s
        stages.append(StageGain(name, took_s, 0, before - best.cost.proxy_cost))
        if number > 0:  # the first one may have waited for the compiler
            longest_s = max(longest_s, took_s)

    trials = 0
    left_s = begin_s + seconds - clock()
    if left_s > 0 and seconds > 0 and going_on():
        found = improve(
            design,
            best.placement,
            seconds=left_s,
            seed=seed,
            should_stop=should_stop,
            on_better=better,
            clock=clock,
        )
        better(found.placement, found.cost)
        stages += found.stages
        trials = found.trials
    return SearchResult(best.placement, best.cost, start_cost, tuple(stages), trials, clock() - begin_s)
