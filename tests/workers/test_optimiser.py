"""A member of a portfolio without its process: rounds, exchange, what it reports, what it does when started again."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from backend.jobs.private import PrivateJob, create_private_job
from netlists.model import Design, Placement
from netlists.samples import make_sample, write_sample
from placement.cost import CostReport, evaluate
from placement.layout import pack_layout, unpack_layout
from placement.legal import check
from placement.search.portfolio import plan
from workers.exchange import EXCHANGE, Exchange, Standing, clear_terms, first_begin, get_terms, note_begin, put_terms
from workers.optimiser import Allowance, Optimiser, run_optimiser
from workers.start import legal_start

TRIALS = 12_000


@pytest.fixture(scope="module")
def design() -> Design:
    return make_sample("small", 2)


@pytest.fixture(scope="module")
def start(design: Design) -> Standing:
    return legal_start(design)


class Told:
    """What members report, in order."""

    def __init__(self) -> None:
        self.results: list[tuple[Placement, CostReport, Standing, str, bool]] = []

    def report(self, *result: Any) -> None:
        self.results.append(result)


def member(
    design: Design,
    folder: Path,
    told: Told,
    *,
    index: int = 0,
    members: int = 1,
    allowance: Allowance = Allowance(trials=TRIALS),  # noqa: B008  # frozen
    should_stop: Callable[[], bool] = lambda: False,
    method: str = "search",
) -> Optimiser:
    return Optimiser(
        design=design,
        rounds=plan(method, member=index, seed=1, with_global=False, seconds=allowance.seconds),
        member=index,
        members=members,
        allowance=allowance,
        exchange=Exchange(folder, design),
        take_episode=lambda: None,
        report=told.report,
        should_stop=should_stop,
    )


def layouts(folder: Path) -> dict[str, bytes]:
    """Files of an exchange without what may differ: seconds."""
    return {path.name: path.read_bytes().partition(b"\n")[2] for path in folder.iterdir()}


def run_members(design: Design, folder: Path, first: Standing, members: int = 2) -> Told:
    told = Told()
    threads = [
        threading.Thread(target=member(design, folder, told, index=index, members=members).run, args=(first,))
        for index in range(members)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return told


def test_members_report_only_what_is_better_and_gains_add_up(design: Design, start: Standing, tmp_path: Path) -> None:
    told = run_members(design, tmp_path, start)
    for index in range(2):
        mine = [result for result in told.results if result[3] == f"member {index}"]
        costs = [cost.proxy_cost for _, cost, *_ in mine]
        assert costs == sorted(costs, reverse=True)
        assert costs[0] < start.cost
        placement, cost, standing, _, running = mine[-1]
        assert not running
        assert check(design, placement).legal
        assert cost == evaluate(design, placement)
        gained = sum(stage["gain"] for stage in standing.stages)
        given = evaluate(design, design.start).proxy_cost
        assert gained == pytest.approx(given - cost.proxy_cost, abs=1e-9)
        assert {"name", "seconds", "trials", "gain"} <= set(standing.stages[-1])
        assert sum(stage["trials"] for stage in standing.stages) == pytest.approx(TRIALS, rel=0.1)


def test_a_budget_of_work_gives_equal_results_and_one_behind_goes_on_from_the_better(
    design: Design, start: Standing, tmp_path: Path
) -> None:
    runs = [tmp_path / "one", tmp_path / "two"]
    for folder in runs:
        run_members(design, folder, start)
    assert layouts(runs[0]) == layouts(runs[1])
    exchange = Exchange(runs[0], design)
    rounds = plan("search", member=0, seed=1, with_global=False)
    taken = 0
    for number in range(1, len(rounds)):
        before = [exchange.get(index, number - 1) for index in (0, 1)]
        after = [exchange.get(index, number) for index in (0, 1)]
        best = min(standing.cost for standing in before if standing)
        assert all(standing is not None and standing.cost <= best for standing in after)
        notes = [s for standing in after if standing for s in standing.stages if s["name"] == "exchange"]
        taken += sum(note["round"] == number for note in notes)
    assert taken == len(rounds) - 1  # one of two, each time


def test_a_member_that_was_killed_does_what_it_would_have_done(design: Design, start: Standing, tmp_path: Path) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    run_members(design, whole, start)
    broken.mkdir()
    kept = [path for path in whole.iterdir() if path.name.startswith("member-0") or path.name.endswith("round-0")]
    for path in kept:  # member 1 got as far as its first round
        (broken / path.name).write_bytes(path.read_bytes())
    member(design, broken, Told(), index=1, members=2).run(start)
    assert layouts(broken) == layouts(whole)


def test_a_round_of_work_that_is_cut_short_is_not_handed_on(design: Design, start: Standing, tmp_path: Path) -> None:
    told = Told()
    stopping = member(design, tmp_path, told, should_stop=lambda: len(told.results) > 0)
    stopping.allowance = Allowance(trials=10**9)
    stopping.run(start)
    assert list(tmp_path.iterdir()) == []
    assert told.results[-1][1].proxy_cost < start.cost


def test_time_ends_rounds_and_nobody_waits_for_a_member_that_is_gone(
    design: Design, start: Standing, tmp_path: Path
) -> None:
    now_s = time.monotonic()
    told = Told()
    alone = member(design, tmp_path, told, members=3, allowance=Allowance(begin_s=now_s - 1.0, until_s=now_s + 3.0))
    alone.run(start)
    assert time.monotonic() < now_s + 60  # far from for ever
    assert told.results[-1][1].proxy_cost < start.cost
    assert Exchange(tmp_path, design).newest(0, len(alone.rounds)) is not None
    late = member(design, tmp_path, told, index=1, members=3, allowance=Allowance(begin_s=0.0, until_s=1.0))
    before = len(told.results)
    late.run(start)
    assert len(told.results) == before  # its time was over before it began


def test_a_global_start_with_a_budget_of_work_is_repeatable(design: Design, start: Standing, tmp_path: Path) -> None:
    def run(folder: Path) -> dict[str, bytes]:
        told = Told()
        one = member(design, folder, told, method="analytic", allowance=Allowance(trials=400_000))
        one.rounds = plan("analytic", member=0, seed=1, with_global=True)[:1]
        one.run(start)
        assert "global from start" in {stage["name"] for stage in told.results[-1][2].stages}
        return layouts(folder)

    assert run(tmp_path / "one") == run(tmp_path / "two")


def test_exchange_keeps_everything_exactly(design: Design, start: Standing, tmp_path: Path) -> None:
    exchange = Exchange(tmp_path, design)
    assert exchange.get(None) is None
    exchange.put(None, start)
    exchange.put(3, Standing(placement=start.placement, cost=0.1 + 0.2, origin={"start": "episode"}, round=2))
    for got in (exchange.get(None), exchange.newest(3, 9)):
        assert got is not None
        for name in ("x_um", "y_um", "orientation", "fixed"):
            np.testing.assert_array_equal(getattr(got.placement, name), getattr(start.placement, name))
    got = exchange.newest(3, 9)
    assert got is not None
    assert (got.cost, got.round, got.origin) == (0.1 + 0.2, 2, {"start": "episode"})
    assert exchange.newest(3, 2) is None


def test_members_wait_for_their_terms(job: Callable[..., PrivateJob], design: Design, tmp_path: Path) -> None:
    private = job(method="search")
    record = private.store.job(private.job_id)
    exchange = record.folder / EXCHANGE
    clear_terms(exchange)
    put_terms(exchange, 0.5, 1.5)
    assert get_terms(exchange) == (0.5, 1.5)
    clear_terms(exchange)  # those of an earlier attempt
    assert get_terms(exchange) is None
    asked = iter([False, False, True])
    run_optimiser(private.store, record, design, index=0, members=1, should_stop=lambda: next(asked))
    assert list(exchange.iterdir()) == []


def test_the_first_member_to_begin_counts_and_new_terms_forget_it(tmp_path: Path) -> None:
    clear_terms(tmp_path)
    assert first_begin(tmp_path) is None
    before_s = time.monotonic()
    note_begin(tmp_path, 1)
    between_s = time.monotonic()
    note_begin(tmp_path, 0)
    began_s = first_begin(tmp_path)
    assert began_s is not None
    assert before_s <= began_s <= between_s
    clear_terms(tmp_path)
    assert first_begin(tmp_path) is None


def test_a_start_from_scratch_knows_nothing_of_the_given_positions(design: Design) -> None:
    moved = design.start.moved(x_um=design.start.x_um * 0.9, y_um=design.start.y_um * 0.8)
    still = design.start.fixed | (design.netlist.width_um == 0)
    moved = moved.moved(
        x_um=np.where(still, design.start.x_um, moved.x_um), y_um=np.where(still, design.start.y_um, moved.y_um)
    )
    one, two = (legal_start(replace(design, start=given).without_start()) for given in (design.start, moved))
    np.testing.assert_array_equal(one.placement.x_um, two.placement.x_um)
    np.testing.assert_array_equal(one.placement.y_um, two.placement.y_um)
    assert check(design, one.placement).legal
    assert one.origin == {"start": "constructive packing"}


@pytest.fixture
def job(tmp_path: Path) -> Callable[..., PrivateJob]:
    def make(**spec: Any) -> PrivateJob:
        write_sample(tmp_path / "sample", "small", 2)
        values = {"name": "small", "method": "rl", "seconds": 60, "seed": 0, "workers": 2, **spec}
        return create_private_job(tmp_path / "data", sorted((tmp_path / "sample").iterdir()), **values)

    return make


def test_episodes_go_through_the_search_with_their_policys_version(
    job: Callable[..., PrivateJob], design: Design, start: Standing
) -> None:
    """An actor's candidate comes back improved, legal, and with its provenance."""
    private = job(seconds=20)
    store = private.store
    p = start.placement
    layout = pack_layout(p.x_um, p.y_um, p.orientation)
    store.add_candidate(private.job_id, 0.9, layout, {"policy_version": 7, "actor": 0}, kind="episode")
    improved: list[Any] = []
    exchange = store.job(private.job_id).folder / EXCHANGE
    clear_terms(exchange)
    put_terms(exchange, time.monotonic(), time.monotonic() + 20)

    def should_stop() -> bool:
        improved.extend(store.take_candidates(private.job_id, limit=10, kind="improved"))
        return any("policy_version" in c.origin and not c.origin.get("running") for c in improved)

    run_optimiser(
        store,
        store.job(private.job_id),
        design,
        index=0,
        members=1,
        should_stop=should_stop,
    )
    improved.extend(store.take_candidates(private.job_id, limit=10, kind="improved"))
    from_episode = [c for c in improved if c.origin["start"] == "episode"]
    assert from_episode
    best = min(from_episode, key=lambda c: c.cost)
    assert best.origin["policy_version"] == 7
    x_um, y_um, orientation = unpack_layout(best.layout, design.netlist.node_count)
    placed = design.start.moved(x_um=x_um, y_um=y_um, orientation=orientation)
    assert check(design, placed).legal
    assert evaluate(design, placed).proxy_cost == pytest.approx(best.cost, rel=1e-12)
    assert best.cost < evaluate(design, p).proxy_cost
    assert np.array_equal(placed.fixed, design.start.fixed)
