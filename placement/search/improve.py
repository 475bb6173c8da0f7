"""The exact optimiser: from a legal placement to a better legal one, over hard and soft macros.

In: a design, a legal start, a budget. Out: `SearchResult`. One configuration for all designs; what each part gains is
measured in docs/placement-engine.md. Called by workers (the optimiser role, the command line) and the environment's
post-processing.
"""

from __future__ import annotations

from functools import partial

from placement.search.driver import Stage, search

# Shares of moves: step, to net, anywhere, swap, flip, median, off route.
_MIX = (0.35, 0.35, 0.03, 0.03, 0.08, 0.05, 0.11)

STAGES = (
    Stage(name="annealing", until=0.97, mix=_MIX, temperature=(1.0, 0.003), measured=True, reach=(0.3, 0.03)),
    Stage(name="descent", until=0.995, mix=_MIX, reach=(0.03, 0.01)),
)


improve = partial(search, stages=STAGES)  # the call form is that of `search`
