"""The measured start temperature: in balance with the changes, high for poor starts, in proportion to the cost."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from netlists.model import Design, Placement
from placement.cost.incremental import COST, new_state
from placement.cost.problem import problem_of
from placement.search import improve
from placement.search.board import new_board
from placement.search.loop import KINDS
from placement.search.temperature import balance_temperature, start_temperature

SIZES = [(20.0, 10.0)] * 4 + [(12.0, 12.0)] * 4


def test_in_balance_the_expected_change_is_nothing() -> None:
    changes = np.random.default_rng(0).normal(2e-5, 1e-4, 5000)
    t = balance_temperature(changes, 1e-9, 1.0)
    expected = sum(d * min(1.0, np.exp(-d / t)) for d in changes) / len(changes)
    assert abs(expected) < 1e-4 * np.abs(changes).mean()


@pytest.mark.parametrize(("sign", "end"), [(1.0, 1e-6), (-1.0, 1e-2)])
def test_without_a_balance_it_is_an_end_of_the_range(sign: float, end: float) -> None:
    assert balance_temperature(sign * np.full(10, 1e-4), 1e-6, 1e-2) == pytest.approx(end, rel=0.02)


def measured(design: Design, placement: Placement, mix: np.ndarray | None = None) -> tuple[float, float]:
    p = problem_of(design)
    s = new_state(p, placement)
    equal = np.cumsum(np.full(KINDS, 1.0 / KINDS))
    t = start_temperature(p, s, new_board(design, p, s, 0), equal if mix is None else mix, 0.3)
    return t, float(s.total[COST])


def test_a_good_start_is_begun_cooler(nets_of: Callable[..., Design]) -> None:
    design = nets_of(SIZES, 30)
    better = improve(design, design.start, trials=30_000).placement
    assert 0 < measured(design, better)[0] < 0.7 * measured(design, design.start)[0]


def test_where_no_move_is_legal_it_is_a_share_of_the_cost_per_node(nets_of: Callable[..., Design]) -> None:
    design = nets_of([(25.0, 25.0)] * 16)  # a full canvas
    only_steps = np.ones(KINDS)
    t, cost = measured(design, design.start, only_steps)
    assert t == pytest.approx(0.03 * cost / 16)
