"""The optimiser role: takes a legal start, betters it with the exact search, hands every improvement to the run.

`placewright role optimiser --job ID --index I` (workers/cli/role.py) calls `run_optimiser`. It begins at the legalised
upload; later rounds take the best episode that actors have found, else the best placement so far. Improvements go to
the database as candidates of kind "improved"; the run (workers/run.py) checks, writes and ranks them.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from backend.jobs.store import JobStore
from netlists.circuit_training.plc import read_plc
from netlists.model import Design, Placement
from placement.cost import CostReport, evaluate
from placement.layout import pack_layout, unpack_layout
from placement.legal import check, legalise
from placement.search import SearchResult, anneal, improve

log = logging.getLogger(__name__)

FIRST_SHARE = {"auto": 0.75, "rl": 0.15}  # of the time, for the upload's own start; other methods spend all on it
# Before a global start: a little plain search, so that a short budget or a busy machine gives something too.
HEAD_START_SHARE, HEAD_START_S = 0.08, 10.0
ROUND_SHARE = 0.125  # of the time, for each later start
MIN_ROUND_S = 2.0
READ_TRIES = 5  # of the best file, which may be bettered and removed between two steps


class Search(Protocol):
    """The call form that all searches share (placement.search.improve says what holds)."""

    def __call__(
        self,
        design: Design,
        start: Placement,
        /,
        *,
        seconds: float,
        seed: int,
        should_stop: Callable[[], bool] | None,
        on_better: Callable[[Placement, CostReport], None] | None,
    ) -> SearchResult: ...


@dataclass(frozen=True, kw_only=True)
class Start:
    """Where a round of search begins, and the words for it in the result's provenance."""

    placement: Placement
    lineage: str  # results of one lineage replace each other in the leaderboard
    origin: Mapping[str, Any] = field(default_factory=dict)


@dataclass(kw_only=True)
class Optimiser:
    """One process's loop over rounds. `report(placement, cost, start, result)` gets improvements only."""

    design: Design
    method: str
    index: int
    seed: int
    seconds: float
    take_episode: Callable[[], Start | None]
    take_best: Callable[[], Start | None]
    report: Callable[[Placement, CostReport, Start, Mapping[str, Any]], None]
    should_stop: Callable[[], bool]

    def run(self, first: Start) -> None:
        """Round after round until the time is up. Never returns something worse than it was given."""
        end_s = time.monotonic() + self.seconds
        if self._begins_with_gradients():
            self._round(first, min(self.seconds * HEAD_START_SHARE, HEAD_START_S), improve, 0)
        first_s = min(self.seconds * FIRST_SHARE.get(self.method, 1.0), end_s - time.monotonic())
        self._round(first, max(0.0, first_s), self._main_search(), 0)
        number = 0
        while not self.should_stop() and end_s - time.monotonic() > MIN_ROUND_S:
            number += 1
            start = self.take_episode() if self.method in FIRST_SHARE else None
            start = start or self.take_best()
            if start is None:
                return
            left_s = end_s - time.monotonic()
            search = anneal if self.method == "anneal" else improve
            self._round(start, min(left_s, max(MIN_ROUND_S, self.seconds * ROUND_SHARE)), search, number)

    def _begins_with_gradients(self) -> bool:
        """Of several optimisers of `auto`, every second one leaves the global start out."""
        return self.method == "analytic" or (self.method == "auto" and self.index % 2 == 0)

    def _main_search(self) -> Search:
        if self.method == "anneal":
            return anneal
        if self._begins_with_gradients():
            from placement.analytic import place_analytically  # loads jax, which the other methods do without

            return place_analytically
        return improve

    def _round(self, start: Start, seconds: float, search: Search, number: int) -> None:
        best = evaluate(self.design, start.placement).proxy_cost

        def on_better(placement: Placement, cost: CostReport) -> None:
            self.report(placement, cost, start, {"stages": [], "running": True})

        result: SearchResult = search(
            self.design,
            start.placement,
            seconds=seconds,
            seed=self.seed + 1009 * self.index + 100_003 * number,
            should_stop=self.should_stop,
            on_better=on_better,
        )
        if result.cost.proxy_cost < best or start.origin.get("start") == "episode":
            stages = [
                {"name": stage.name, "seconds": round(stage.seconds, 2), "trials": stage.trials, "gain": stage.gain}
                for stage in result.stages
            ]
            self.report(
                result.placement,
                result.cost,
                start,
                {"stages": stages, "trials": result.trials, "search_seconds": round(result.seconds, 2)},
            )


def run_optimiser(
    store: JobStore,
    job_id: str,
    design: Design,
    *,
    index: int,
    should_stop: Callable[[], bool],
    seconds: float,
    tell: Callable[[Mapping[str, float]], None],
) -> None:
    """Connects one `Optimiser` to the database. `tell` gets figures to show."""
    job = store.job(job_id)

    def placed(layout: bytes) -> Placement:
        x_um, y_um, orientation = unpack_layout(layout, design.netlist.node_count)
        return design.start.moved(x_um=x_um, y_um=y_um, orientation=orientation)

    def take_episode() -> Start | None:
        for candidate in store.take_candidates(job_id, limit=1, kind="episode"):
            legal = legalise(design, placed(candidate.layout))
            if check(design, legal).legal:
                origin = {"start": "episode", **candidate.origin, "episode_proxy_cost": candidate.cost}
                return Start(placement=legal, lineage=f"optimiser {index}, episode {candidate.id}", origin=origin)
            log.warning("episode candidate %s could not be made legal; left out", candidate.id)
        return None

    def take_best() -> Start | None:
        for _ in range(READ_TRIES):
            for best in store.placements(job_id)[:1]:
                origin = {key: value for key, value in best.provenance.items() if key not in ("stages", "trials")}
                with suppress(FileNotFoundError):
                    placement = read_plc(best.folder / "placement.plc", design.netlist).placement
                    return Start(placement=placement, lineage=f"optimiser {index}, best", origin=origin)
        return None

    def report(placement: Placement, cost: CostReport, start: Start, found: Mapping[str, Any]) -> None:
        origin = {**start.origin, **found, "optimiser": index, "seed": job.seed, "lineage": start.lineage}
        if "trials" in found and found["search_seconds"] > 0:
            tell({"search_trials_per_s": found["trials"] / found["search_seconds"]})
        layout = pack_layout(placement.x_um, placement.y_um, placement.orientation)
        store.add_candidate(job_id, cost.proxy_cost, layout, origin, kind="improved")

    first = take_best()
    if first is None:
        first = Start(placement=legalise(design, design.start), lineage="", origin={"start": "legalised upload"})
    first = Start(placement=first.placement, lineage=f"optimiser {index}, start", origin=first.origin)
    Optimiser(
        design=design,
        method=job.method,
        index=index,
        seed=job.seed,
        seconds=seconds,
        take_episode=take_episode,
        take_best=take_best,
        report=report,
        should_stop=should_stop,
    ).run(first)
