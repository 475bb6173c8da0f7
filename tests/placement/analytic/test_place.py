"""Global placement: legal on samples and odd designs, the same for the same seed, compiled once, never worse."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest

from netlists.errors import InfeasibleError
from netlists.model import Design, NodeKind, Placement
from netlists.samples import make_sample
from placement.analytic import global_place, place_analytically
from placement.cost import evaluate
from placement.legal import check, legalise

STEPS = 60  # of the main stage: enough to move everything

ODD = {
    "one hard macro, nothing else": {"hard": 1, "soft": 0, "nets": 0},
    "one hard macro and ports": {"hard": 1, "soft": 0, "nets": 3},
    "no soft macros": {"soft": 0},
    "no hard macros": {"hard": 0},
    "every macro fixed": {"fixed": True},
    "no nets": {"nets": 0},
    "soft macros without area": {"soft_size": 0.0},
    "soft macros of half the canvas": {"soft_size": 8.0},
    "a grid of one cell": {"columns": 1, "rows": 1},
    "a grid of one row": {"columns": 12, "rows": 1},
    "a blockage": {"blockages": True},
}


def legal_start(design: Design) -> Placement:
    return legalise(design, design.start)


@pytest.mark.parametrize("from_start", [True, False])
@pytest.mark.parametrize("odd", ODD.values(), ids=ODD.keys())
def test_odd_designs_become_legal(make_design: Callable[..., Design], odd: dict, from_start: bool) -> None:
    design = make_design(1, **odd)
    found = global_place(design, seed=1, seeds=2, steps=STEPS, from_start=from_start)
    assert len(found) == 2
    costs = [candidate.cost.proxy_cost for candidate in found]
    assert costs == sorted(costs)
    for candidate in found:
        placement = candidate.placement
        assert check(design, placement).problems() == []
        assert len(check(design, placement).soft_outside) == 0
        assert candidate.cost == evaluate(design, placement)
        held = design.start.fixed | (design.netlist.node_kind == NodeKind.PORT)
        np.testing.assert_array_equal(placement.x_um[held], design.start.x_um[held])
        np.testing.assert_array_equal(placement.y_um[held], design.start.y_um[held])
        np.testing.assert_array_equal(placement.orientation, design.start.orientation)


def test_a_position_that_is_no_number(make_design: Callable[..., Design]) -> None:
    design = make_design(2)
    x = design.start.x_um.copy()
    x[:3] = np.nan
    found = global_place(design, seed=0, seeds=1, steps=STEPS, from_start=True, start=design.start.moved(x_um=x))
    assert check(design, found[0].placement).legal


def test_no_room_is_said(make_design: Callable[..., Design]) -> None:
    with pytest.raises(InfeasibleError):
        global_place(make_design(1, hard=80), seed=0, seeds=1, steps=STEPS, from_start=False)


def test_same_seed_same_result_and_another_seed_another(make_design: Callable[..., Design]) -> None:
    design = make_design(3)

    def places(seed: int) -> np.ndarray:
        found = global_place(design, seed=seed, seeds=2, steps=STEPS, from_start=False)
        return np.stack([[c.placement.x_um, c.placement.y_um] for c in found])

    np.testing.assert_array_equal(places(4), places(4))
    assert not np.array_equal(places(4), places(5))


def test_a_second_design_of_the_same_bucket_compiles_nothing(make_design: Callable[..., Design]) -> None:
    from placement.analytic import descent

    run = {"seed": 0, "seeds": 2, "steps": STEPS, "from_start": False}
    global_place(make_design(5, hard=6, soft=12, nets=40, columns=9, rows=7), **run)
    programs = descent.block._cache_size()
    assert programs >= 1
    global_place(make_design(6, hard=8, soft=17, nets=60, columns=12, rows=13, smoothing=2), **run)
    assert descent.block._cache_size() == programs


def test_betters_a_sample_from_both_starts() -> None:
    design = make_sample("small", 1)
    before = evaluate(design, legal_start(design)).proxy_cost
    for from_start in (True, False):
        best = global_place(design, seed=0, seeds=1, steps=300, from_start=from_start)[0]
        assert check(design, best.placement).legal
        assert best.cost.proxy_cost < 0.9 * before


def test_flow_never_worse_and_tells_every_gain(make_design: Callable[..., Design]) -> None:
    design = make_design(7)
    start = legal_start(design)
    told: list[float] = []
    result = place_analytically(
        design, start, seconds=12.0, seed=0, on_better=lambda _, cost: told.append(cost.proxy_cost)
    )
    assert check(design, result.placement).legal
    assert result.cost == evaluate(design, result.placement)
    assert told == sorted(told, reverse=True)
    assert result.cost.proxy_cost == min([*told, result.start_cost.proxy_cost])
    assert all(stage.gain >= 0 for stage in result.stages)
    assert result.stages[0].name == "global from start"
    again = place_analytically(design, result.placement, seconds=1.0, seed=0)
    assert again.cost.proxy_cost <= result.cost.proxy_cost


def test_flow_without_time_returns_the_start(make_design: Callable[..., Design]) -> None:
    design = make_design(7)
    start = legal_start(design)
    result = place_analytically(design, start, seconds=0.0, seed=0)
    assert result.placement is start
    assert result.cost == result.start_cost == evaluate(design, start)
    assert result.stages == ()


def test_flow_stops_when_told(make_design: Callable[..., Design]) -> None:
    design = make_design(7)
    start = legal_start(design)
    asked = 0

    def stop() -> bool:
        nonlocal asked
        asked += 1
        return asked > 2

    result = place_analytically(design, start, seconds=600.0, seed=0, should_stop=stop)
    assert result.cost.proxy_cost <= result.start_cost.proxy_cost
    assert result.seconds < 300


def test_importing_loads_no_jax() -> None:
    script = "import sys, placement.analytic; sys.exit('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
