"""Where a job begins: its design as the job wants it, and the legal start that all results are compared to.

In: the job's files and spec. Out: `Design`; `Standing`, the start with its cost and the stage that made it. Called by
the run and by its roles. No database.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from backend.jobs.records import JobRecord
from netlists.load import load_design
from netlists.model import Design

if TYPE_CHECKING:
    from workers.exchange import Standing


def job_design(job: JobRecord) -> Design:
    """The design of a job. Raises InputError."""
    design = load_design(list(job.design_files), name=job.design_name, constraints=job.constraints)
    return design.without_start() if job.from_scratch else design


def legal_start(design: Design) -> Standing:
    """The given start made legal; without one, hard macros packed and soft macros placed around them.

    Raises InfeasibleError.
    """
    # Here, for roles that need a design but no search: kernels take a second to import.
    from placement.cost import evaluate
    from placement.env.soft import SoftPlacer
    from placement.legal import legalise, pack
    from workers.exchange import Standing, stage

    begin_s = time.monotonic()
    if design.has_start:
        placement = legalise(design, design.start)
        name, origin = "legalise", "legalised upload"
        before = evaluate(design, design.start).proxy_cost
    else:
        packed = pack(design)
        placement = SoftPlacer(design, packed).place(packed)
        name, origin = "packing", "constructive packing"
        before = None
    cost = evaluate(design, placement).proxy_cost
    gain = 0.0 if before is None else before - cost
    made = stage(name, seconds=time.monotonic() - begin_s, trials=0, gain=gain)
    return Standing(placement=placement, cost=cost, stages=(made,), origin={"start": origin})
