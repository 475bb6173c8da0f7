"""Global placement: several seeds descend together, each is legalised, its soft macros settle, the exact cost decides.

In: a design. Out: legal candidates, best first, with exact costs. Called by flow.py and whoever wants many different
good placements. Raises InfeasibleError where no seed can be made legal.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from netlists.errors import InfeasibleError
from netlists.model import Design, Placement
from placement.analytic.arrays import Float
from placement.analytic.engine import Engine
from placement.analytic.schedule import PLACE, SETTLE, SPREAD, Stage
from placement.cost import CostReport, evaluate
from placement.legal import check, check_feasible, legalise
from placement.legal.space import turned_to_fit

_NOISE = 0.25  # cells: how far from a given start seeds begin, so that each goes its own way

Better = Callable[[Placement, CostReport], None]


@dataclass(frozen=True, eq=False)
class Candidate:
    """A legal placement and its exact cost."""

    placement: Placement
    cost: CostReport


def global_place(
    design: Design,
    *,
    seed: int,
    seeds: int = 4,
    seconds: float | None = None,
    steps: int | None = None,
    from_start: bool,
    start: Placement | None = None,
    should_stop: Callable[[], bool] | None = None,
    on_better: Better | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> list[Candidate]:
    """Up to `seeds` legal candidates, best first: those that could be made legal.

    from_start: begin at `start` (the design's by default) rather than at the middle of the canvas. steps: of the main
    stage, the others in proportion; default: the schedule's own. seconds (of `clock`) limit all stages together; a
    time limit that does not bind changes nothing, and equal arguments then give equal results on one machine.
    Orientations are the start's, where constraints allow them.
    """
    begin_s = clock()
    check_feasible(design)
    base = turned_to_fit(design, design.start if start is None else start)
    engine = Engine(design, base.orientation)
    scale = 1.0 if steps is None else steps / PLACE.steps

    def run(stage: Stage, z: Float, free: Float, share: float) -> Float:
        """A stage that must end before this share of the time is over."""
        left_s = None if seconds is None else max(begin_s + share * seconds - clock(), 0.0)
        steps_here = max(round(stage.steps * scale), 1)
        return engine.run(stage, z, free, steps=steps_here, seconds=left_s, should_stop=should_stop, clock=clock)

    if from_start:
        random = np.random.default_rng(seed)
        z = np.stack([engine.positions(base)] * seeds)
        noise = random.normal(0.0, _NOISE, z.shape).astype(np.float32)
        z = np.where(engine.free > 0, np.clip(z + noise, engine.host.low, engine.host.high), z)
    else:
        z = np.stack([engine.centred(seed * 1009 + i) for i in range(seeds)])
        z = run(SPREAD, z, engine.free, 0.25)
    z = run(PLACE, z, engine.free, 0.8)

    legal: list[Placement] = []
    refusal: InfeasibleError | None = None
    for one in z:
        try:
            legal.append(legalise(design, engine.placement(one, base, engine.free)))
        except InfeasibleError as error:  # a crowded canvas may be legalised from some arrangements only
            refusal = error
    if refusal is not None and not legal:
        raise refusal
    settled = run(SETTLE, np.stack([engine.positions(one) for one in legal]), engine.free_soft, 0.95)
    candidates = []
    best = np.inf
    for before, one in zip(legal, settled, strict=True):
        after = engine.placement(one, before, engine.free_soft)
        placement = min((before, after), key=lambda placement: evaluate(design, placement).proxy_cost)
        if not check(design, placement).legal:
            continue
        cost = evaluate(design, placement)
        candidates.append(Candidate(placement, cost))
        if on_better is not None and cost.proxy_cost < best:
            on_better(placement, cost)
        best = min(best, cost.proxy_cost)
    return sorted(candidates, key=lambda candidate: candidate.cost.proxy_cost)
