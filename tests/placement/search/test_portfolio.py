"""The plan of a portfolio and who goes on with whose result: pure choices, equal for all members."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placement.search.portfolio import Round, Work, heir, plan, share_of

METHODS = ("auto", "rl", "search", "analytic", "anneal")
COSTS = st.lists(st.one_of(st.none(), st.floats(0.1, 2.0)), min_size=1, max_size=9)


def make_plan(method: str, *, member: int = 0, seed: int = 0, seconds: float | None = 60.0) -> tuple[Round, ...]:
    return plan(method, member=member, seed=seed, with_global=True, seconds=seconds)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seconds", [None, 10.0, 60.0, 3600.0])
def test_a_plan_uses_the_whole_budget_and_members_do_the_same_with_other_seeds(
    method: str, seconds: float | None
) -> None:
    plans = [make_plan(method, member=member, seconds=seconds) for member in range(3)]
    assert sum(turn.share for turn in plans[0]) == pytest.approx(1.0)
    assert all(turn.share > 0 for turn in plans[0])
    assert len({tuple((t.work, t.share, t.exchange) for t in turns) for turns in plans}) == 1
    seeds = [turn.seed for turns in plans for turn in turns]
    assert len(set(seeds)) == len(seeds)
    assert all(0 <= seed < 2**31 for seed in seeds)


def test_what_each_method_does() -> None:
    works = {method: {turn.work for turn in make_plan(method)} for method in METHODS}
    assert works == {
        "auto": {Work.SEARCH, Work.GLOBAL, Work.EPISODE},
        "rl": {Work.SEARCH, Work.EPISODE},
        "search": {Work.SEARCH},
        "analytic": {Work.SEARCH, Work.GLOBAL},
        "anneal": {Work.ANNEAL},
    }
    assert len(make_plan("anneal")) == 1  # the plain baseline: no exchange, no rounds
    short = plan("analytic", member=0, seed=0, with_global=False, seconds=5.0)
    assert {turn.work for turn in short} == {Work.SEARCH}
    by_work = make_plan("analytic", seconds=None)
    assert by_work[0].work is Work.GLOBAL  # a head start is for people who wait
    assert make_plan("analytic", seed=1)[0].seed != make_plan("analytic", seed=2)[0].seed


@pytest.mark.parametrize("method", ["auto", "search", "analytic"])
def test_the_last_round_betters_what_is_best_of_all(method: str) -> None:
    last = make_plan(method)[-1]
    assert last.work is Work.SEARCH
    assert last.exchange


@given(st.integers(0, 10**12), st.integers(1, 64))
def test_a_budget_of_work_is_shared_out_whole(total: int, members: int) -> None:
    shares = [share_of(total, member=member, members=members) for member in range(members)]
    assert sum(shares) == total
    assert max(shares) - min(shares) <= 1


@given(COSTS)
def test_an_heir_never_gets_worse_and_the_better_half_keeps_its_own(costs: list[float | None]) -> None:
    taken = [heir(member, costs) for member in range(len(costs))]
    there = [member for member, cost in enumerate(costs) if cost is not None]
    if not there:
        assert taken == list(range(len(costs)))
        return
    for member, source in enumerate(taken):
        assert source in there
        assert costs[member] is None or costs[source] <= costs[member]  # type: ignore[operator]
    own = [member for member in there if taken[member] == member]
    assert len(own) == (len(there) + 1) // 2
    best = min(there, key=lambda member: costs[member])  # type: ignore[arg-type,return-value]
    assert costs[taken[best]] == costs[best]
    followers = [source for member, source in enumerate(taken) if member in there and source != member]
    assert len(set(followers)) == len(followers)  # each good result gets one follower at most: diversity stays


def test_two_members_go_on_from_the_better_one() -> None:
    assert [heir(member, [0.9, 0.8]) for member in (0, 1)] == [1, 1]
    assert [heir(member, [0.8, 0.8]) for member in (0, 1)] == [0, 0]
    assert [heir(member, [0.9, None]) for member in (0, 1)] == [0, 0]
