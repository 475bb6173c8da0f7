"""The incremental cost equals the full one, whatever has been tried, committed and undone before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netlists.model import Design
from netlists.samples import SampleSize, make_sample
from placement.cost import evaluate
from placement.cost.incremental import COST, IncrementalCost, accept, new_state, propose, rebuild, trial, withdraw
from placement.cost.problem import problem_of


def change(rng: np.random.Generator, design: Design, incremental: IncrementalCost) -> float:
    """Try a random move, swap, turn or pair of moves, some of them onto grid lines or out of the canvas."""
    n, c = design.netlist.node_count, design.canvas
    node = int(rng.integers(n))
    other = (node + 1 + int(rng.integers(n - 1))) % n
    x, y = rng.uniform(-0.1, 1.1) * c.width_um, rng.uniform(-0.1, 1.1) * c.height_um
    if rng.random() < 0.2:
        x, y = round(x / c.cell_width_um) * c.cell_width_um, round(y / c.cell_height_um) * c.cell_height_um
    kind = rng.integers(4)
    if kind == 0:
        return incremental.try_move(node, x, y)
    if kind == 1:
        return incremental.try_swap(node, other)
    if kind == 2:
        return incremental.try_orientation(node, int(rng.integers(8)))
    return incremental.try_nodes([(node, x, y, int(rng.integers(8))), (other, y, x, 0)])


@given(
    seed=st.integers(0, 10**6),
    columns=st.integers(1, 12),
    rows=st.integers(1, 12),
    smoothing=st.integers(0, 3),
    macros=st.integers(1, 8),
    nets=st.integers(0, 20),
)
@settings(max_examples=120, deadline=None)
def test_equals_the_full_evaluation(
    odd_design: Callable[..., Design], seed: int, columns: int, rows: int, smoothing: int, macros: int, nets: int
) -> None:
    design = odd_design(seed, columns, rows, smoothing, macros, nets)
    rng = np.random.default_rng(seed)
    incremental = IncrementalCost(design, design.start)
    for _ in range(30):
        visible = incremental.placement
        cost = incremental.cost
        tried = change(rng, design, incremental)
        assert incremental.cost == cost  # a trial writes nothing visible
        np.testing.assert_array_equal(incremental.placement.x_um, visible.x_um)
        if rng.random() < 0.6:
            incremental.commit()
            assert incremental.cost == tried
        full = evaluate(design, incremental.placement)
        assert incremental.report().as_dict() == pytest.approx(full.as_dict(), rel=1e-9, abs=1e-12)


def test_undo_takes_commits_back(odd_design: Callable[..., Design]) -> None:
    design = odd_design(11, 10, 9, 2, 8, 30)
    rng = np.random.default_rng(0)
    incremental = IncrementalCost(design, design.start)
    costs, placements = [incremental.cost], [incremental.placement]
    for _ in range(200):
        change(rng, design, incremental)
        incremental.commit()
        costs.append(incremental.cost)
        placements.append(incremental.placement)
    while len(costs) > 1:
        back = int(rng.integers(1, min(7, len(costs))))
        incremental.undo(back)
        del costs[-back:], placements[-back:]
        assert incremental.cost == pytest.approx(costs[-1], rel=1e-9)
        for name in ("x_um", "y_um", "orientation"):
            np.testing.assert_array_equal(getattr(incremental.placement, name), getattr(placements[-1], name))
    with pytest.raises(IndexError):
        incremental.undo()


@pytest.mark.parametrize(
    ("columns", "rows", "smoothing", "commits"), [(12, 11, 2, 1000), (3, 3, 1, 3000), (128, 128, 3, 1000)]
)
def test_many_commits(odd_design: Callable[..., Design], columns: int, rows: int, smoothing: int, commits: int) -> None:
    """Commits without a fresh start: rounding does not add up to 1e-9."""
    design = odd_design(5, columns, rows, smoothing, 12, 60)
    rng = np.random.default_rng(1)
    incremental = IncrementalCost(design, design.start)
    for step in range(commits):
        change(rng, design, incremental)
        incremental.commit()
        if step % 500 == 0:
            full = evaluate(design, incremental.placement)
            assert incremental.report().as_dict() == pytest.approx(full.as_dict(), rel=1e-9, abs=1e-12)
    before = incremental.cost
    rebuild(problem_of(design), incremental.state)
    assert incremental.cost == pytest.approx(before, rel=1e-9)


@pytest.mark.parametrize(("smoothing", "commits"), [(0, 10_000), (1, 10_000), (2, 100_000), (3, 10_000)])
def test_a_hundred_thousand_commits(smoothing: int, commits: int) -> None:
    """On generated netlists, without a fresh start: moves, swaps, flips, pairs, and now and then up to 20 undone."""
    size = SampleSize(macros=12, clusters=25, ports=24, data_bits=6, terminals=8.0, scale_um=30.0)
    design = make_sample(size, seed=smoothing)
    design = replace(design, canvas=replace(design.canvas, smoothing=smoothing))
    rng = np.random.default_rng(smoothing)
    incremental = IncrementalCost(design, design.start)
    costs = [incremental.cost]
    made = checked = 0
    while made < commits:
        if rng.random() < 0.02 and len(costs) > 20:
            back = int(rng.integers(1, 21))
            incremental.undo(back)
            del costs[-back:]
            made += back
            assert incremental.cost == pytest.approx(costs[-1], rel=1e-9)
        else:
            tried = change(rng, design, incremental)
            incremental.commit()
            costs.append(tried)
            made += 1
        if made >= checked + 1000:
            checked = made
            full = evaluate(design, incremental.placement)
            assert incremental.report().as_dict() == pytest.approx(full.as_dict(), rel=1e-9, abs=0)


def test_a_limit_gives_a_lower_bound(odd_design: Callable[..., Design]) -> None:
    """A trial that stops at its limit returns something above the limit and not above the cost."""
    design = odd_design(21, 20, 20, 2, 20, 120)
    p, s = problem_of(design), new_state(problem_of(design), design.start)
    rng = np.random.default_rng(2)
    stopped = 0
    for _ in range(2000):
        node = int(rng.integers(20))
        x, y = rng.random() * p.width, rng.random() * p.height
        propose(p, s, node, x, y, 0)
        exact = trial(p, s, np.inf)
        withdraw(p, s)
        limit = float(s.total[COST] + rng.normal() * 0.01)
        propose(p, s, node, x, y, 0)
        bound = trial(p, s, limit)
        if exact <= limit:
            assert bound == exact
            accept(p, s)
        else:
            assert limit < bound <= exact * (1 + 1e-12)
            stopped += bound < exact
            withdraw(p, s)
    assert stopped > 100  # the bound is used at all


def test_wrong_use(odd_design: Callable[..., Design]) -> None:
    design = odd_design(1, 4, 4, 0)
    incremental = IncrementalCost(design, design.start)
    with pytest.raises(RuntimeError, match="nothing has been tried"):
        incremental.commit()
    with pytest.raises(ValueError, match="twice"):
        incremental.try_swap(0, 0)
    with pytest.raises(ValueError, match="node 99"):
        incremental.try_move(99, 0.0, 0.0)
    with pytest.raises(ValueError, match="not a place"):
        incremental.try_move(0, float("nan"), 0.0)


def test_one_net_over_everything(odd_design: Callable[..., Design]) -> None:
    """A net of thousands of terminals moves like any other."""
    design = odd_design(9, 10, 10, 1, 8, 0)
    n = design.netlist
    netlist = replace(
        n,
        pin_name=tuple(f"p{i}" for i in range(5000)),
        pin_node=np.arange(5000) % n.node_count,
        pin_dx_um=np.linspace(-1, 1, 5000),
        pin_dy_um=np.zeros(5000),
        net_start=np.array([0, 5000]),
        net_pin=np.arange(5000),
        net_weight=np.ones(1),
    )
    design = replace(design, netlist=netlist)
    incremental = IncrementalCost(design, design.start)
    rng = np.random.default_rng(3)
    for _ in range(20):
        change(rng, design, incremental)
        incremental.commit()
        assert incremental.cost == pytest.approx(evaluate(design, incremental.placement).proxy_cost, rel=1e-9)
