"""What the search promises: legal, never worse, repeatable, on time, and of use."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from netlists.load import load_design
from netlists.model import Design, NodeKind, Orientation, Placement
from placement.cost import CostReport, evaluate
from placement.legal import check, legalise
from placement.search import SearchResult, anneal, improve

METHODS = [pytest.param(improve, id="improve"), pytest.param(anneal, id="anneal")]
MACROS = [(20.0, 10.0)] * 4 + [(12.0, 12.0)] * 4 + [(8.0, 25.0), (30.0, 6.0)]


def assert_sound(design: Design, start: Placement, result: SearchResult) -> None:
    """Legal in float64 and, where macros moved, in float32; costs true and not worse; fixed and soft as they must."""
    placement = result.placement
    assert check(design, placement).legal
    assert result.cost == evaluate(design, placement)
    assert result.start_cost == evaluate(design, start)
    assert result.cost.proxy_cost <= result.start_cost.proxy_cost
    assert np.isfinite([*placement.x_um, *placement.y_um]).all()
    still = design.start.fixed | (design.netlist.node_kind >= NodeKind.PORT)
    for name in ("x_um", "y_um", "orientation"):
        np.testing.assert_array_equal(getattr(placement, name)[still], getattr(start, name)[still])
    np.testing.assert_array_equal(placement.orientation >= Orientation.E, start.orientation >= Orientation.E)
    moved = (placement.x_um != start.x_um) | (placement.y_um != start.y_um)
    w, h = design.netlist.width_um / 2, design.netlist.height_um / 2
    for node in np.flatnonzero(moved & (design.netlist.node_kind == NodeKind.SOFT_MACRO)):
        assert w[node] <= placement.x_um[node] <= design.canvas.width_um - w[node]
        assert h[node] <= placement.y_um[node] <= design.canvas.height_um - h[node]
    assert all(stage.gain >= 0 for stage in result.stages)


@pytest.mark.parametrize("method", METHODS)
def test_improves_and_stays_legal(nets_of: Callable[..., Design], method: Callable[..., SearchResult]) -> None:
    design = nets_of(MACROS, 30, fixed=[1, 12], blockages=[(70.0, 70.0, 95.0, 95.0)])
    result = method(design, design.start, trials=60_000, seed=1)
    assert_sound(design, design.start, result)
    assert result.cost.proxy_cost < 0.95 * result.start_cost.proxy_cost
    gained = sum(stage.gain for stage in result.stages)
    assert gained == pytest.approx(result.start_cost.proxy_cost - result.cost.proxy_cost, rel=1e-6)
    assert [stage.name for stage in result.stages][-1] == "flips"
    assert 0.99 * 60_000 <= result.trials <= 61_000


@pytest.mark.parametrize("method", METHODS)
def test_repeatable(nets_of: Callable[..., Design], method: Callable[..., SearchResult]) -> None:
    design = nets_of(MACROS, 20)
    one, two, other = (method(design, design.start, trials=8000, seed=seed) for seed in (5, 5, 6))
    assert one.cost == two.cost
    for name in ("x_um", "y_um", "orientation"):
        np.testing.assert_array_equal(getattr(one.placement, name), getattr(two.placement, name))
    assert other.cost != one.cost


@pytest.mark.parametrize("method", METHODS)
def test_moved_macros_are_apart_in_float32(nets_of: Callable[..., Design], method: Callable[..., SearchResult]) -> None:
    design = nets_of([(20.0, 20.0)] * 12, side=97.3)
    p = method(design, design.start, trials=30_000, seed=2).placement
    moved = (p.x_um != design.start.x_um) | (p.y_um != design.start.y_um)
    hard = np.flatnonzero(design.netlist.node_kind == NodeKind.HARD_MACRO)
    assert moved[hard].sum() >= 6
    x, y = p.x_um.astype(np.float32), p.y_um.astype(np.float32)
    for a, b in itertools.combinations(hard.tolist(), 2):
        if moved[a] or moved[b]:
            half = np.float32(10)
            assert (
                x[a] + half <= x[b] - half or x[b] + half <= x[a] - half or y[a] + half <= y[b] - half
                or y[b] + half <= y[a] - half
            )  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
def test_no_budget_gives_the_start(nets_of: Callable[..., Design], method: Callable[..., SearchResult]) -> None:
    design = nets_of(MACROS, 5)
    for budget in ({"seconds": 0.0}, {"trials": 0}):
        result = method(design, design.start, **budget)
        assert result.placement is design.start
        assert result.cost == result.start_cost
        assert result.stages == ()


def test_warm_start_is_never_worse(nets_of: Callable[..., Design]) -> None:
    design = nets_of(MACROS, 30)
    placement, cost = design.start, np.inf
    for seed in range(6):
        result = improve(design, placement, trials=500 * 4**seed, seed=seed)
        assert_sound(design, placement, result)
        assert result.cost.proxy_cost <= cost
        placement, cost = result.placement, result.cost.proxy_cost


def test_flips_are_tried(nets_of: Callable[..., Design]) -> None:
    """Orientation is part of the result: two macros that cannot move, each with its pin on the far side."""
    design = nets_of([(50.0, 100.0), (50.0, 100.0)], side=100.0)
    n = design.netlist
    netlist = replace(
        n, pin_name=("a", "b"), pin_node=np.array([0, 1]), pin_dx_um=np.array([-20.0, 20.0]), pin_dy_um=np.zeros(2),
        net_start=np.array([0, 2]), net_pin=np.array([0, 1]), net_weight=np.ones(1),
    )  # fmt: skip
    design = replace(design, netlist=netlist)
    result = improve(design, design.start, trials=1)
    assert result.start_cost.wirelength == pytest.approx(90)
    assert result.cost.wirelength == pytest.approx(10)
    assert {Orientation(o).name[-1] for o in result.placement.orientation[:2]} <= {"N", "S"}
    assert_sound(design, design.start, result)


def test_on_time_and_reports(nets_of: Callable[..., Design]) -> None:
    """A budget of seconds ends the search, better placements are told of, and the last one told is the result."""
    design = nets_of(MACROS, 30)
    improve(design, design.start, trials=1)  # compiled
    told: list[tuple[Placement, CostReport]] = []
    result = improve(design, design.start, seconds=2.0, on_better=lambda p, c: told.append((p, c)))
    assert result.seconds >= 1.9
    assert_sound(design, design.start, result)
    assert 1 <= len(told) <= 6
    assert all(cost == evaluate(design, placement) for placement, cost in told)
    assert [c.proxy_cost for _, c in told] == sorted((c.proxy_cost for _, c in told), reverse=True)
    assert told[-1][1] == result.cost


def test_budget_runs_on_the_clock_it_is_given(nets_of: Callable[..., Design]) -> None:
    """On a clock that counts looks at it, the search ends within 2 % of its budget."""
    design = nets_of(MACROS, 30)
    ticks = itertools.count()
    result = improve(design, design.start, seconds=1000.0, clock=lambda: float(next(ticks)))
    assert 980 <= result.seconds <= 1020


def test_stops_when_told(nets_of: Callable[..., Design]) -> None:
    design = nets_of(MACROS, 10)
    looks = itertools.count()
    began = time.monotonic()
    result = improve(design, design.start, seconds=3600.0, should_stop=lambda: next(looks) > 5)
    assert time.monotonic() - began < 300
    assert_sound(design, design.start, result)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("hard", "soft", "options"),
    [
        pytest.param([(10.0, 10.0)], 0, {}, id="one macro"),
        pytest.param([(50.0, 100.0), (50.0, 100.0)], 3, {}, id="two that just fit"),
        pytest.param([(25.0, 25.0)] * 16, 0, {}, id="full canvas"),
        pytest.param([(10.0, 20.0)] * 9, 9, {"fixed": range(20)}, id="all fixed"),
        pytest.param(MACROS, 5, {"cells": 1}, id="one cell"),
        pytest.param(MACROS, 5, {"cells": 3}, id="nine cells"),
        pytest.param(MACROS, 5, {"cells": 128}, id="many cells"),
    ],
)
def test_edges(
    nets_of: Callable[..., Design],
    method: Callable[..., SearchResult],
    hard: list[tuple[float, float]],
    soft: int,
    options: dict,
) -> None:
    design = nets_of(hard, soft, **options)
    assert_sound(design, design.start, method(design, design.start, trials=3000, seed=4))


def test_zero_area_and_huge_soft_macros(nets_of: Callable[..., Design]) -> None:
    design = nets_of(MACROS, 6)
    width, height = design.netlist.width_um.copy(), design.netlist.height_um.copy()
    width[10], height[10], width[11], height[12] = 0.0, 0.0, 150.0, 120.0  # canvas: 100 x 100
    design = replace(design, netlist=replace(design.netlist, width_um=width, height_um=height))
    p = improve(design, design.start, trials=5000).placement
    assert p.x_um[11] == design.start.x_um[11]  # no place is inside
    assert p.y_um[12] == design.start.y_um[12]
    assert check(design, p).legal


def test_wrong_use(nets_of: Callable[..., Design]) -> None:
    design = nets_of(MACROS, 2)
    with pytest.raises(ValueError, match="either seconds or trials"):
        improve(design, design.start)
    with pytest.raises(ValueError, match="negative"):
        improve(design, design.start, seconds=-1.0)
    x = design.start.x_um.copy()
    x[1] = x[0]
    with pytest.raises(ValueError, match=r"legal start.*n0.*n1"):
        improve(design, design.start.moved(x_um=x), seconds=1.0)


@pytest.mark.parametrize("name", ["ibm01", "ariane133_ng45"])
def test_real_designs_get_clearly_better(benchmarks: Path, name: str) -> None:
    """A tenth of a minute's work already takes a fair part of the way."""
    design = load_design(benchmarks / "circuit_training" / name, benchmarks / "circuit_training" / name / "initial.plc")
    start = legalise(design, design.start)
    result = improve(design, start, trials=200_000, seed=1)
    assert_sound(design, start, result)
    assert result.cost.proxy_cost < 0.95 * result.start_cost.proxy_cost
