"""Plain simulated annealing: random steps, swaps and flips from hot to cold. The baseline that `improve` has to beat.

In and out as in `improve`. Same exact cost and the same compiled loop; no moves aimed at anything.
"""

from __future__ import annotations

from functools import partial

from placement.search.driver import Stage, search

# Shares of moves: step, to net, anywhere, swap, flip, median, off route.
_STAGES = (
    Stage(
        name="annealing",
        until=0.995,
        mix=(0.6, 0.0, 0.1, 0.2, 0.1, 0.0, 0.0),
        temperature=(3e-4, 1e-7),
        reach=(0.5, 0.02),
    ),
)


anneal = partial(search, stages=_STAGES)  # the call form is that of `search`
