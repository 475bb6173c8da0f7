"""Plain simulated annealing: random steps, swaps and flips from hot to cold. The baseline that `improve` has to beat.

In and out as in `improve`. Same exact cost and the same compiled loop; no moves aimed at anything.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from netlists.model import Design, Placement
from placement.search.driver import Better, Stage, search
from placement.search.result import SearchResult

# Shares of moves: step, to net, anywhere, swap, flip.
_STAGES = (
    Stage(name="annealing", until=0.995, mix=(0.6, 0.0, 0.1, 0.2, 0.1), temperature=(3e-4, 1e-7), reach=(0.5, 0.02)),
)


def anneal(
    design: Design,
    start: Placement,
    *,
    seconds: float | None = None,
    trials: int | None = None,
    seed: int = 0,
    should_stop: Callable[[], bool] | None = None,
    on_better: Better | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> SearchResult:
    """Anneal a legal placement for `seconds` (of `clock`) or `trials`; see `search` for what holds."""
    return search(
        design,
        start,
        _STAGES,
        seconds=seconds,
        trials=trials,
        seed=seed,
        should_stop=should_stop,
        on_better=on_better,
        clock=clock,
    )
