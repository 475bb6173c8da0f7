"""The exact optimiser: from a legal placement to a better legal one, over hard and soft macros.

In: a design, a legal start, a budget. Out: `SearchResult`. One configuration for all designs; what each part gains is
measured in docs/placement-engine.md. Called by workers (the optimiser role, the command line) and the environment's
post-processing.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from netlists.model import Design, Placement
from placement.search.driver import Better, Stage, search
from placement.search.result import SearchResult

# Shares of moves: step, to net, anywhere, swap, flip.
_MIX = (0.35, 0.35, 0.05, 0.15, 0.10)

STAGES = (
    Stage(name="annealing", until=0.97, mix=_MIX, temperature=(1e-4, 1e-7), reach=(0.3, 0.03)),
    Stage(name="descent", until=0.995, mix=_MIX, reach=(0.03, 0.01)),
)


def improve(
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
    """Better a legal placement within `seconds` (of `clock`) or `trials`; see `search` for what holds."""
    return search(
        design,
        start,
        STAGES,
        seconds=seconds,
        trials=trials,
        seed=seed,
        should_stop=should_stop,
        on_better=on_better,
        clock=clock,
    )
