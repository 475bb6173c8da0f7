"""Placement by gradients, then by the exact search: the method `analytic`.

In: a design, a legal start, a budget. Out: `SearchResult`, in the call form of placement.search.improve. Called by the
optimiser role and the command line. Never worse than the start.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from netlists.model import Design, Placement
from placement.analytic.place import Better, Candidate, global_place
from placement.cost import CostReport, evaluate
from placement.search import SearchResult, StageGain, improve

GLOBAL_SHARE = 0.5  # of the time, for global placement; the search gets the rest


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
    """Better a legal placement by global placement from it and from scratch, then by `improve` on the best found.

    seconds: of `clock`, in all; 0 returns the start. on_better: told of every better legal placement.
    """
    begin_s = clock()
    start_cost = evaluate(design, start)
    best = Candidate(start, start_cost)
    stages: list[StageGain] = []
    trials = 0

    def better(placement: Placement, cost: CostReport) -> None:
        nonlocal best
        if cost.proxy_cost < best.cost.proxy_cost:
            best = Candidate(placement, cost)
            if on_better is not None:
                on_better(placement, cost)

    def stopped() -> bool:
        return should_stop is not None and should_stop()

    if seconds > 0:
        for name, from_start, share in (("global from start", True, 0.5), ("global from scratch", False, 1.0)):
            if stopped():
                break
            before, since_s = best.cost.proxy_cost, clock()
            left_s = begin_s + GLOBAL_SHARE * share * seconds - since_s
            if left_s <= 0:
                continue
            global_place(
                design,
                seed=seed,
                seeds=1,
                seconds=left_s,
                from_start=from_start,
                start=start,
                should_stop=should_stop,
                on_better=better,
                clock=clock,
            )
            stages.append(StageGain(name, clock() - since_s, 0, before - best.cost.proxy_cost))
        left_s = begin_s + seconds - clock()
        if left_s > 0 and not stopped():
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
