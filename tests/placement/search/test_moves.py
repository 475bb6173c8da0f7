"""Aimed moves against their obvious twins: medians by sorting, congested cells by the maps, boxes by overlap."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from netlists.model import Design
from placement.cost import cost_maps
from placement.cost.geometry import half_size
from placement.cost.incremental import State, new_state
from placement.cost.problem import Problem, problem_of
from placement.search.board import MEDIAN_NETS, Board, beside, fits, new_board
from placement.search.moves import coolest_line, median_interval, off_route_target

SIZES = [(20.0, 10.0)] * 4 + [(12.0, 12.0)] * 4 + [(8.0, 25.0), (30.0, 6.0)]


def at_start(design: Design, seed: int = 0) -> tuple[Problem, State, Board]:
    p = problem_of(design)
    s = new_state(p, design.start)
    return p, s, new_board(design, p, s, seed)


def bounds_of_nets(p: Problem, s: State, b: Board, node: int) -> list[tuple[float, float, float, float]]:
    """Slow twin of `net_bounds` over all nets of a node: terminals elsewhere less the offset of the node's last one."""
    bounds = []
    for net in p.node_net[p.node_net_start[node] : p.node_net_start[node + 1]]:
        terms = p.net_term[p.net_start[net] : p.net_start[net + 1]]
        own, others = terms[b.term_node[terms] == node][-1], terms[b.term_node[terms] != node]
        if len(others):
            x = s.term_x[others] - (s.term_x[own] - s.x[node])
            y = s.term_y[others] - (s.term_y[own] - s.y[node])
            bounds.append((x.min(), x.max(), y.min(), y.max()))
    return bounds


@pytest.mark.parametrize("seed", range(3))
def test_optimal_interval_is_the_median(nets_of: Callable[..., Design], seed: int) -> None:
    p, s, b = at_start(nets_of(SIZES, 20, seed=seed), seed)
    looked_at = 0
    for node in b.movable:
        if p.node_net_start[node + 1] - p.node_net_start[node] > MEDIAN_NETS:
            continue
        bounds = bounds_of_nets(p, s, b, int(node))
        count = median_interval(p, s, b, int(node))
        assert count == 2 * len(bounds)
        if not bounds:
            continue
        looked_at += 1
        left, right, bottom, top = np.array(bounds).T
        np.testing.assert_array_equal(b.bounds[0, :count], np.sort([*left, *right]))
        np.testing.assert_array_equal(b.bounds[1, :count], np.sort([*bottom, *top]))

        def length(x: float, left: np.ndarray = left, right: np.ndarray = right) -> float:
            return float((np.maximum(right, x) - np.minimum(left, x)).sum())

        at = b.bounds[0, count // 2 - 1 : count // 2 + 1]
        least = min(length(x) for x in b.bounds[0, :count])
        assert length(at.mean()) == pytest.approx(least)
        assert length(at[0] - 1.0) >= least
        assert length(at[1] + 1.0) >= least
    assert looked_at > 5


def test_a_node_with_many_nets_looks_at_some_of_them(nets_of: Callable[..., Design]) -> None:
    p, s, b = at_start(nets_of(SIZES, 20))
    nets = np.diff(p.node_net_start)
    node = int(b.movable[np.argmax(nets[b.movable])])
    bounds = bounds_of_nets(p, s, b, node)
    assert nets[node] > MEDIAN_NETS
    assert median_interval(p, s, b, node) <= 2 * MEDIAN_NETS
    assert set(b.bounds[0, :2]) <= {v for left, right, _, _ in bounds for v in (left, right)}


def test_coolest_line_is_the_least_above_the_limit(nets_of: Callable[..., Design]) -> None:
    _, _, b = at_start(nets_of(SIZES))
    values = np.random.default_rng(0).uniform(0, 1, (3, 10))
    for line in range(3):
        sums = np.maximum(values[:, 2:7] - 0.4, 0.0).sum(axis=1)
        drawn = [coolest_line(b, values, line, 2, 7, 2, 0.4) for _ in range(200)]
        others = {other for other in range(3) if abs(other - line) in (1, 2)}
        assert set(drawn) - {-1} <= others
        assert max(set(drawn) - {-1}, key=drawn.count) == min(others & {line - 1, line + 1}, key=lambda i: sums[i])


def test_a_route_leaves_a_congested_line(nets_of: Callable[..., Design]) -> None:
    """The node is an end of a net with a congested cell in the row or column that it leaves, by whole lines."""
    design = nets_of(SIZES, 30)
    p, s, b = at_start(design)
    maps = cost_maps(design, design.start)
    hot = 0.9 * np.sort(np.concatenate([maps.horizontal.ravel(), maps.vertical.ravel()]))[-p.congestion_top]
    found = 0
    for _ in range(300):
        node, x, y = off_route_target(p, s, b, 0.3)
        if node < 0:
            continue
        found += 1
        assert b.may_move[node]
        rows, columns = (y - s.y[node]) / p.cell_height, (x - s.x[node]) / p.cell_width
        assert (rows == 0) != (columns == 0)
        assert rows + columns == pytest.approx(round(rows + columns))
        terms = slice(p.node_term_start[node], p.node_term_start[node + 1])
        if rows:
            assert maps.horizontal[s.term_row[terms]].max() > hot - 1e-9
        else:
            assert maps.vertical[:, s.term_col[terms]].max() > hot - 1e-9
    assert found > 50


def test_beside_is_the_nearest_place_off_the_macro_in_the_way(nets_of: Callable[..., Design]) -> None:
    p, s, b = at_start(nets_of(SIZES, fixed=[2]))
    rng = np.random.default_rng(1)
    moved = 0
    for _ in range(500):
        node = int(rng.choice(b.movable_hard))
        slot = int(b.slot[node])
        half_w, half_h = half_size(p, node, int(s.orientation[node]))
        x, y = rng.uniform(half_w + 1, p.width - half_w - 1), rng.uniform(half_h + 1, p.height - half_h - 1)
        in_way = [
            i
            for i in range(len(b.left))
            if i != slot
            and x - half_w - b.clearance < b.right[i]
            and x + half_w + b.clearance > b.left[i]
            and y - half_h - b.clearance < b.top[i]
            and y + half_h + b.clearance > b.bottom[i]
        ]
        to = beside(b, slot, x, y, half_w, half_h)
        if not in_way:
            assert to == (x, y)
            continue
        i = in_way[0]
        ways = (x + half_w - b.left[i], b.right[i] - x + half_w, y + half_h - b.bottom[i], b.top[i] - y + half_h)
        assert abs(to[0] - x) + abs(to[1] - y) == pytest.approx(min(ways) + b.clearance, rel=1e-6)
        if len(in_way) == 1 and fits(p, b, slot, -1, *to, half_w, half_h):
            moved += 1
    assert moved > 20
