"""The optimiser role: one member of a job's portfolio. Searches in rounds, hands every improvement to the run.

`placewright role optimiser --job ID --index I` (workers/cli/role.py) calls `run_optimiser`. What a member does in which
round, and whose result it goes on with, is placement/search/portfolio.py; here are the processes' side of it: budgets,
waiting, the exchange of results (workers/exchange.py). Improvements go to the database as candidates of kind
"improved"; the run (workers/run.py) checks, writes and ranks them.

With a budget of work a round begins when all members have ended the one before, so that results depend on design, seed,
members and budget alone. With a budget of time rounds end at fixed moments, and nobody waits for a member that is late.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy.exc import OperationalError

from backend.jobs.records import JobRecord
from backend.jobs.store import JobStore
from netlists.model import Design, Placement
from placement.cost import CostReport, evaluate
from placement.layout import pack_layout, unpack_layout
from placement.legal import check, legalise
from placement.search import SearchResult, anneal, improve
from placement.search.portfolio import GLOBAL_SECONDS, TRIALS_PER_STEP, Round, Work, heir, plan, share_of
from workers.exchange import EXCHANGE, Exchange, Standing, get_terms, note_begin, stage
from workers.start import legal_start

log = logging.getLogger(__name__)

GLOBAL_TRIALS = 300_000  # GLOBAL_SECONDS for a budget of work: so many buy a global start that is worth something
LATE_S = 0.3  # that a member waits for the others' results of the round before, when time is the budget
POLL_S = 0.02
AWAY_POLL_S = 1.0
DATABASE_AWAY_S = 120.0  # as long as the run itself goes on without it
LEAST_S = 0.02  # a round that has less time left is passed over


@dataclass(frozen=True, kw_only=True)
class Allowance:
    """A member's whole budget: the moments between which its rounds lie, or trials."""

    begin_s: float = 0.0
    until_s: float = 0.0
    trials: int | None = None
    clock: Callable[[], float] = time.monotonic  # its moments; another one to measure in CPU seconds
    patience_s: float = LATE_S  # at an exchange of a budget of time: for a member that is late

    @property
    def seconds(self) -> float | None:
        return None if self.trials is not None else self.until_s - self.begin_s


@dataclass(kw_only=True)
class Optimiser:
    """One member's loop over its rounds."""

    design: Design
    rounds: Sequence[Round]
    member: int
    members: int
    allowance: Allowance
    exchange: Exchange
    take_episode: Callable[[], Standing | None]
    # Told of improvements only: placement, cost, where it comes from, the lineage that it is the newest of, whether the
    # round still runs.
    report: Callable[[Placement, CostReport, Standing, str, bool], None]
    should_stop: Callable[[], bool]
    tell: Callable[[Mapping[str, float]], None] = lambda _: None

    def run(self, first: Standing) -> None:
        """Round after round until the budget is used up. What it holds never gets worse."""
        own = self.exchange.newest(self.member, len(self.rounds)) or first
        done = 0.0
        for number, turn in enumerate(self.rounds):
            done += turn.share
            if number <= own.round:  # made by this member's process before it was started again
                continue
            if self.should_stop():
                return
            budget = self._budget(turn, done)
            if budget is None:
                continue
            if turn.exchange:
                own = self._exchanged(own, number)
            if turn.work is Work.EPISODE:
                own = self._episode(own, turn, budget, number)
            else:
                own = self._bettered(own, first, turn, budget, number)
            if self.should_stop() and self.allowance.trials is not None:
                return  # cut short: not what this round gives
            own = replace(own, round=number)
            self.exchange.put(self.member, own)
            self.tell({"progress": done})

    # --- budgets and exchange -------------------------------------------------------------------------------------

    def _budget(self, turn: Round, done: float) -> dict[str, Any] | None:
        """Seconds or trials of a round that ends when the share `done` of all is used; None: no time left for it."""
        if self.allowance.trials is not None:
            return {"trials": round(turn.share * self.allowance.trials)}
        begin_s, until_s = self.allowance.begin_s, self.allowance.until_s
        left_s = begin_s + done * (until_s - begin_s) - self.allowance.clock()
        return {"seconds": left_s} if left_s > LEAST_S else None

    def _exchanged(self, own: Standing, number: int) -> Standing:
        """Own result, or that of the member whose heir this one is."""
        standings = self._standings(number, own)
        costs = [None if standing is None else standing.cost for standing in standings]
        source = heir(self.member, costs)
        taken = standings[source]
        if taken is None or taken.cost >= own.cost:
            return own
        note = stage("exchange", seconds=0.0, trials=0, gain=own.cost - taken.cost, round=number, taken_from=source)
        return Standing(placement=taken.placement, cost=taken.cost, stages=(*own.stages, note), origin=taken.origin)

    def _standings(self, number: int, own: Standing) -> list[Standing | None]:
        """Of all members after the round before `number`; with a budget of time, the newest there are."""
        others = [member for member in range(self.members) if member != self.member]
        patience_s = self.allowance.patience_s if self.allowance.trials is None else float("inf")
        end_s = time.monotonic() + patience_s
        found: dict[int, Standing | None] = {self.member: own}
        for member in others:
            while (standing := self.exchange.get(member, number - 1)) is None:
                if time.monotonic() > end_s or self.should_stop():
                    standing = self.exchange.newest(member, len(self.rounds))
                    break
                time.sleep(POLL_S)
            found[member] = standing
        return [found[member] for member in range(self.members)]

    # --- rounds ---------------------------------------------------------------------------------------------------

    def _bettered(self, own: Standing, first: Standing, turn: Round, budget: dict[str, Any], number: int) -> Standing:
        """The better of what is held and what the round finds."""
        start = first if turn.work is Work.GLOBAL else own
        lineage = f"member {self.member}"

        def on_better(placement: Placement, cost: CostReport) -> None:
            if cost.proxy_cost < own.cost:
                self.report(placement, cost, own, lineage, True)

        found = self._search(start.placement, turn, budget, on_better)
        stages = (*own.stages, *_stages(found, own.cost, number))
        if found.cost.proxy_cost >= own.cost:
            return replace(own, stages=stages)
        better = replace(own, placement=found.placement, cost=found.cost.proxy_cost, stages=stages)
        self.report(found.placement, found.cost, better, lineage, False)
        return better

    def _episode(self, own: Standing, turn: Round, budget: dict[str, Any], number: int) -> Standing:
        """A search from the agents' best episode, told of in any case; without one, from what is held."""
        episode = self.take_episode()
        if episode is None:
            return self._bettered(own, own, replace(turn, work=Work.SEARCH), budget, number)
        lineage = f"member {self.member}, episode {episode.origin['episode']}"
        found = self._search(
            episode.placement,
            turn,
            budget,
            lambda placement, cost: self.report(placement, cost, episode, lineage, True),
        )
        better = replace(
            episode,
            placement=found.placement,
            cost=found.cost.proxy_cost,
            stages=(*episode.stages, *_stages(found, episode.cost, number)),
        )
        self.report(found.placement, found.cost, better, lineage, False)
        if better.cost >= own.cost:
            return own
        seconds, trials = found.seconds, found.trials
        note = stage("episode", seconds=seconds, trials=trials, gain=own.cost - better.cost, round=number)
        return replace(better, stages=(*own.stages, note))

    def _search(
        self,
        start: Placement,
        turn: Round,
        budget: dict[str, Any],
        on_better: Callable[[Placement, CostReport], None],
    ) -> SearchResult:
        common: dict[str, Any] = {"seed": turn.seed, "should_stop": self.should_stop, "on_better": on_better}
        common["clock"] = self.allowance.clock
        if turn.work is Work.GLOBAL:
            from placement.analytic import global_rounds  # loads jax, which the other methods do without

            if "trials" in budget:
                budget = {"steps": budget["trials"] // TRIALS_PER_STEP}
            scratch_first = not self.design.has_start or self.member % 2 == 1
            return global_rounds(self.design, start, **budget, scratch_first=scratch_first, **common)
        if turn.work is Work.ANNEAL:
            found = anneal(self.design, start, **budget, **common)
        else:
            found = improve(self.design, start, **budget, **common)
        if found.seconds > 0:
            self.tell({"search_trials_per_s": found.trials / found.seconds})
        return found


def _stages(found: SearchResult, held_cost: float, number: int) -> list[dict[str, Any]]:
    """The stages of a round with their gains over what was held before it, which may be better than its start."""
    cost, stages = found.start_cost.proxy_cost, []
    for each in found.stages:
        cost -= each.gain
        gain = max(held_cost - cost, 0.0)
        held_cost -= gain
        stages.append(stage(each.name, seconds=each.seconds, trials=each.trials, gain=gain, round=number))
    return stages


def _patiently(call: Callable[[], None], patience_s: float, should_stop: Callable[[], bool]) -> None:
    """A write that is tried again while the database is away, and given up after `patience_s`."""
    end_s = time.monotonic() + patience_s
    while True:
        try:
            return call()
        except OperationalError as error:
            log.warning("database away, an improvement waits: %s", error.orig)
            if time.monotonic() >= end_s or should_stop():
                return None
            time.sleep(AWAY_POLL_S)


def run_optimiser(
    store: JobStore,
    job: JobRecord,
    design: Design,
    *,
    index: int,
    members: int,
    should_stop: Callable[[], bool],
    tell: Callable[[Mapping[str, float]], None] = lambda _: None,
) -> None:
    """Connects one `Optimiser` to the database, and waits until the run lets members begin.

    `tell` gets figures to show: progress (0-1), search_trials_per_s.
    """
    while (terms := get_terms(job.folder / EXCHANGE)) is None:
        if should_stop():
            return
        time.sleep(POLL_S)
    note_begin(job.folder / EXCHANGE, index)
    if job.trials is None:
        allowance = Allowance(begin_s=terms[0], until_s=terms[1])
        with_global = job.seconds >= GLOBAL_SECONDS
    else:
        allowance = Allowance(trials=share_of(job.trials, member=index, members=members))
        with_global = job.trials // members >= GLOBAL_TRIALS
    rounds = plan(job.method, member=index, seed=job.seed, with_global=with_global, seconds=allowance.seconds)

    def take_episode() -> Standing | None:
        try:
            candidates = store.take_candidates(job.id, limit=1, kind="episode")
        except OperationalError as error:
            log.warning("database away, no episode is taken: %s", error.orig)
            return None
        for candidate in candidates:
            x_um, y_um, orientation = unpack_layout(candidate.layout, design.netlist.node_count)
            legal = legalise(design, design.start.moved(x_um=x_um, y_um=y_um, orientation=orientation))
            if check(design, legal).legal:
                cost = evaluate(design, legal).proxy_cost
                origin = {**candidate.origin, "start": "episode", "episode": candidate.id}
                origin["episode_proxy_cost"] = candidate.cost
                return Standing(placement=legal, cost=cost, origin=origin)
            log.warning("episode candidate %s could not be made legal; left out", candidate.id)
        return None

    def report(placement: Placement, cost: CostReport, standing: Standing, lineage: str, running: bool) -> None:
        origin = {**standing.origin, "stages": list(standing.stages), "member": index, "lineage": lineage}
        if running:
            origin["running"] = True
        layout = pack_layout(placement.x_um, placement.y_um, placement.orientation)
        hand_in = lambda: store.add_candidate(job.id, cost.proxy_cost, layout, origin, kind="improved")
        _patiently(hand_in, 0.0 if running else DATABASE_AWAY_S, should_stop)  # a round's last word must not be lost

    exchange = Exchange(job.folder / EXCHANGE, design)
    Optimiser(
        design=design,
        rounds=rounds,
        member=index,
        members=members,
        allowance=allowance,
        exchange=exchange,
        take_episode=take_episode,
        report=report,
        should_stop=should_stop,
        tell=tell,
    ).run(exchange.get(None) or legal_start(design))
