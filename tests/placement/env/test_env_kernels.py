"""Mask, positions and wirelength maps of the environment against obvious twins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from netlists.errors import InfeasibleError
from netlists.model import Design, Placement
from placement.cost import evaluate
from placement.env import EnvConfig, MacroEnv, Map, random_episode
from placement.legal import check
from placement.legal.boxes import canvas_box_um, clearance_um, obstacles_um


def legal_boxes(env: MacroEnv) -> np.ndarray:
    """(O, 4) what the current macro must keep off: obstacles and the macros placed, with their clearance."""
    plan, done = env.plan, int(env.states.step[0])
    centre = env.states.centre[0, :done]
    size = np.stack([plan.width[:done], plan.height[:done]], axis=1)
    half = (plan.width[0] - env.design.netlist.width_um[plan.node[0]]) / 2
    grown = obstacles_um(env.design) + np.array([-half, -half, half, half])
    return np.concatenate([np.concatenate([centre - size / 2, centre + size / 2], axis=1), grown])


def slow_mask(env: MacroEnv) -> np.ndarray:
    """Cells in which some centre is legal, by trying every centre where something could begin to be legal."""
    plan, m = env.plan, int(env.states.step[0])
    w, h = plan.width[m], plan.height[m]
    half = (plan.width[0] - env.design.netlist.width_um[plan.node[0]]) / 2
    canvas = canvas_box_um(env.design) + np.array([half, half, -half, -half])
    boxes = legal_boxes(env)
    xs = np.concatenate([[canvas[0] + w / 2, canvas[2] - w / 2], boxes[:, 0] - w / 2, boxes[:, 2] + w / 2])
    ys = np.concatenate([[canvas[1] + h / 2, canvas[3] - h / 2], boxes[:, 1] - h / 2, boxes[:, 3] + h / 2])
    mask = np.zeros((plan.side, plan.side), bool)
    for row in range(plan.rows):
        for col in range(plan.columns):
            x0, y0 = col * plan.cell_width, row * plan.cell_height
            x1, y1 = x0 + plan.cell_width, y0 + plan.cell_height
            # a legal region that meets the cell has a point at the cell's edge or at one of the lines above
            for x in [x0, x1, *xs[(xs >= x0) & (xs <= x1)]]:
                for y in [y0, y1, *ys[(ys >= y0) & (ys <= y1)]]:
                    slack = 1e-9
                    inside = (
                        x - w / 2 >= canvas[0] - slack
                        and y - h / 2 >= canvas[1] - slack
                        and x + w / 2 <= canvas[2] + slack
                        and y + h / 2 <= canvas[3] + slack
                    )
                    free = not np.any(
                        (x + w / 2 > boxes[:, 0] + slack)
                        & (x - w / 2 < boxes[:, 2] - slack)
                        & (y + h / 2 > boxes[:, 1] + slack)
                        & (y - h / 2 < boxes[:, 3] - slack)
                    )
                    mask[row, col] |= inside and free
    return mask.ravel()


sizes = st.lists(st.tuples(st.floats(4, 37), st.floats(4, 37)), min_size=1, max_size=7)


@settings(max_examples=30, deadline=None)
@given(sizes, st.integers(0, 1000), st.booleans(), st.sampled_from([(7, 9), (20, 13), (1, 1)]))
def test_mask_is_exact_and_every_allowed_action_is_legal(
    make_netted, sizes: list, seed: int, hindered: bool, grid: tuple[int, int]
) -> None:
    blockages = [(30, 30, 52, 41), (0, 80, 20, 100)] if hindered else []
    design = make_netted(sizes, blockages=blockages, grid=grid, seed=seed)
    try:
        env = MacroEnv(design, EnvConfig(max_grid=16))  # coarser than the cost grid of 20 x 13
    except InfeasibleError:
        return
    random = np.random.default_rng(seed)
    observation, ended, info = env.reset(), False, {}
    while not ended:
        assert np.array_equal(observation.mask, slow_mask(env))
        observation, _, ended, info = env.step(int(random.choice(np.flatnonzero(observation.mask))))
    placement = design.start.moved(x_um=info["x_um"], y_um=info["y_um"], orientation=info["orientation"])
    assert check(design, placement).legal, check(design, placement).problems()


def test_the_macro_goes_into_the_cell_that_was_chosen(make_netted) -> None:
    env = MacroEnv(make_netted([(20, 12), (15, 15), (9, 30)], grid=(13, 11)))
    random = np.random.default_rng(4)
    observation = env.reset()
    for step in range(3):
        action = int(random.choice(np.flatnonzero(observation.mask)))
        observation, *_ = env.step(action)
        x, y = env.states.centre[0, step]
        row, col = divmod(action, env.side)
        assert col * env.plan.cell_width - 1e-9 <= x <= (col + 1) * env.plan.cell_width + 1e-9
        assert row * env.plan.cell_height - 1e-9 <= y <= (row + 1) * env.plan.cell_height + 1e-9


def known_wirelength(env: MacroEnv, centre: np.ndarray, count: int) -> float:
    """Wirelength cost over ports, fixed, soft macros at the start and the first `count` macros, net by net."""
    netlist, start = env.design.netlist, env.design.start
    x, y = start.x_um.copy(), start.y_um.copy()
    unknown = set(env.order[count:].tolist())
    x[env.order[:count]], y[env.order[:count]] = centre[:count, 0], centre[:count, 1]
    total = 0.0
    for e in range(netlist.net_count):
        pins = netlist.net_pin[netlist.net_start[e] : netlist.net_start[e + 1]]
        known = [p for p in pins if netlist.pin_node[p] not in unknown]
        if known and set(netlist.pin_node[pins].tolist()) & set(env.order.tolist()):
            px = [x[netlist.pin_node[p]] + netlist.pin_dx_um[p] for p in known]
            py = [y[netlist.pin_node[p]] + netlist.pin_dy_um[p] for p in known]
            total += netlist.net_weight[e] * (max(px) - min(px) + max(py) - min(py))
    canvas = env.design.canvas
    return total / ((canvas.width_um + canvas.height_um) * netlist.net_weight.sum())


def test_growth_of_wirelength_is_exact(make_netted) -> None:
    env = MacroEnv(make_netted([(20, 12), (15, 15), (9, 30), (6, 6)]), EnvConfig(dense_reward=True))
    random = np.random.default_rng(2)
    observation = env.reset()
    before = known_wirelength(env, env.states.centre[0], 0)
    for step in range(3):
        observation, reward, *_ = env.step(int(random.choice(np.flatnonzero(observation.mask))))
        after = known_wirelength(env, env.states.centre[0], step + 1)
        assert -reward == pytest.approx(after - before, rel=1e-9, abs=1e-12)
        before = after


def test_wire_map_equals_net_by_net_growth(make_netted) -> None:
    env = MacroEnv(make_netted([(20, 12), (15, 15), (9, 30)], grid=(8, 6)))
    observation = env.reset()
    observation, *_ = env.step(int(np.flatnonzero(observation.mask)[10]))
    centre = env.states.centre[0].copy()
    grid = np.zeros((env.plan.rows, env.plan.columns))
    for row in range(env.plan.rows):
        for col in range(env.plan.columns):
            centre[1] = (col + 0.5) * env.plan.cell_width, (row + 0.5) * env.plan.cell_height
            grid[row, col] = known_wirelength(env, centre, 2)
    expected = (grid - grid.min()) / (grid.max() - grid.min())
    assert np.allclose(observation.maps[Map.WIRE, : env.plan.rows, : env.plan.columns], expected, atol=1e-6)


def test_soft_placing_betters_scattered_ones_and_moves_nothing_else(sample: Design) -> None:
    env = MacroEnv(sample)
    soft = sample.netlist.node_kind == 1
    random = np.random.default_rng(0)
    x, y = sample.start.x_um.copy(), sample.start.y_um.copy()
    x[soft] = random.uniform(0, sample.canvas.width_um, soft.sum())
    y[soft] = random.uniform(0, sample.canvas.height_um, soft.sum())
    scattered: Placement = sample.start.moved(x_um=x, y_um=y)
    placed = env.finisher.soft.place(scattered)
    assert evaluate(sample, placed).proxy_cost < evaluate(sample, scattered).proxy_cost
    assert np.array_equal(placed.x_um[~soft], x[~soft])
    assert len(check(sample, placed).soft_outside) == 0


def test_clearance_keeps_boxes_apart_in_float32(sample: Design) -> None:
    env = MacroEnv(sample)
    assert env.plan.width[0] - sample.netlist.width_um[env.order[0]] == pytest.approx(clearance_um(sample))


def soft_choice_by_hand(p, density: np.ndarray, boxes: list, w: float, h: float, strength: float):
    """Cost of every cell for one soft macro: growth of its nets' boxes (low, high per axis, weight) and crowding."""
    costs = {}
    for row in range(p.rows):
        for col in range(p.columns):
            x = min(max((col + 0.5) * p.cell_width, w / 2), p.width - w / 2)
            y = min(max((row + 0.5) * p.cell_height, h / 2), p.height - h / 2)
            costs[x, y] = soft_cost_by_hand(p, density, boxes, w, h, strength, x, y)
    return costs


def soft_cost_by_hand(p, density, boxes, w, h, strength, x, y) -> float:
    wire = sum(
        weight * (max(x_low - x, x - x_high, 0) + max(y_low - y, y - y_high, 0))
        for x_low, x_high, y_low, y_high, weight in boxes
    )
    across = np.arange(p.columns) * p.cell_width
    up = np.arange(p.rows) * p.cell_height
    share_x = np.clip(np.minimum(x + w / 2, across + p.cell_width) - np.maximum(x - w / 2, across), 0, None)
    share_y = np.clip(np.minimum(y + h / 2, up + p.cell_height) - np.maximum(y - h / 2, up), 0, None)
    added = np.outer(share_y / p.cell_height, share_x / p.cell_width)
    over = lambda d: np.square(np.maximum(d - 0.5, 0)).sum()
    return wire + strength * (over(density + added) - over(density))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("size", [0.3, 1.0, 2.6])  # of the soft macro, in cells
def test_a_soft_macro_goes_where_it_costs_least(make_netted, seed: int, size: float) -> None:
    """One soft macro among others that stay: its place is the best of all cells and of where it was."""
    from placement.cost.problem import problem_of
    from placement.env import soft_kernels

    design = make_netted([(22, 18), (9, 14)], soft=6, grid=(11, 9), seed=seed)
    random = np.random.default_rng(seed)
    p = problem_of(design)
    node = int(np.flatnonzero(design.netlist.node_kind == 1)[seed])
    p.node_width[node], p.node_height[node] = size * p.cell_width, size * p.cell_height
    x, y = random.uniform(5, 95, (2, design.netlist.node_count))
    before = x.copy(), y.copy()
    strength = 10.0 ** random.uniform(-5, 0)
    work, orientation = soft_kernels.new_work(p), design.start.orientation
    soft_kernels.place_soft(p, np.array([node], np.int32), x, y, orientation, np.array([strength]), work)
    w, h = p.node_width[node], p.node_height[node]
    density = np.zeros((p.rows, p.columns))
    for other in np.flatnonzero(p.has_area):
        if other != node:
            box = before[0][other], before[1][other], p.node_width[other], p.node_height[other]
            soft_kernels._add_box(p, density, *box, 1.0)
    own = range(p.node_term_start[node], p.node_term_start[node + 1])
    boxes = []
    for net in p.node_net[p.node_net_start[node] : p.node_net_start[node + 1]]:
        terms = [t for t in p.net_term[p.net_start[net] : p.net_start[net + 1]] if t not in own]
        tx, ty = work.term_x[terms], work.term_y[terms]
        boxes.append((tx.min(), tx.max(), ty.min(), ty.max(), p.net_weight[net] * p.wirelength_scale))
    words = (p, density, boxes, w, h, strength)
    stay = min(max(before[0][node], w / 2), p.width - w / 2), min(max(before[1][node], h / 2), p.height - h / 2)
    costs = {**soft_choice_by_hand(*words), stay: soft_cost_by_hand(*words, *stay)}
    assert_allclose(soft_cost_by_hand(*words, x[node], y[node]), min(costs.values()), rtol=1e-9, atol=1e-12)
    assert min(abs(x[node] - a) + abs(y[node] - b) for a, b in costs) < 1e-9
    others = np.arange(len(x)) != node
    assert np.array_equal(x[others], before[0][others])


@pytest.mark.parametrize("seed", range(3))
def test_final_flips_shorten_the_exact_wirelength_and_stay_legal(make_netted, seed: int) -> None:
    """What the pass says it gains is what the exact cost falls by; no other orientation of the last macro is better."""
    from placement.cost.problem import problem_of
    from placement.env.flips import flip_macros, harmless

    design = make_netted([(22, 18), (9, 14), (12, 30), (8, 8)], fixed=[3], grid=(11, 9), seed=seed)
    plain, flipping = MacroEnv(design), MacroEnv(design, EnvConfig(final_flips=True))
    actions, before = random_episode(plain, seed)
    placement = flipping.decode(actions)
    without = plain.decode(actions)
    assert np.array_equal(placement.x_um, without.x_um)
    assert check(design, placement).legal
    orientation = without.orientation.copy()
    allowed = harmless(design, without.orientation, flipping.order)
    gain = flip_macros(problem_of(design), flipping.order, allowed, without.x_um, without.y_um, orientation)
    assert np.array_equal(orientation, placement.orientation)
    assert gain > 0
    fall = before["costs"]["wirelength_cost"] - evaluate(design, placement).wirelength_cost
    assert_allclose(fall, gain, rtol=1e-9)
    assert np.array_equal(placement.orientation[design.start.fixed], design.start.orientation[design.start.fixed])
    last = int(flipping.order[-1])
    for o in range(4):
        other = orientation.copy()
        other[last] = o
        assert evaluate(design, placement.moved(orientation=other)).wirelength_cost >= (
            evaluate(design, placement).wirelength_cost - 1e-12
        )


def test_final_flips_keep_to_what_is_allowed_and_to_halos(make_netted) -> None:
    """A macro held to N and FN, one with a halo on its left only: neither turns where it must not."""
    from dataclasses import replace

    from netlists.constraints import NO_REGION, Constraints
    from placement.env.flips import harmless

    design = make_netted([(22, 18), (9, 14), (12, 30)], grid=(11, 9))
    n = design.netlist.node_count
    masks, halo = np.zeros(n, np.uint8), np.zeros((n, 4))
    masks[0], halo[1, 0] = 0b11, 3.0
    rules = Constraints(
        halo_um=halo, orientations=masks, boundary_spacing_um=np.zeros(n), region=np.full(n, NO_REGION, np.int32)
    )
    held = replace(design, constraints=rules)
    allowed = harmless(held, held.start.orientation, np.arange(3, dtype=np.int32))
    assert [np.flatnonzero(row).tolist() for row in allowed[:3]] == [[0, 1], [0, 3], [0, 1, 2, 3]]
    env = MacroEnv(held, EnvConfig(final_flips=True))
    for seed in range(5):
        actions, _ = random_episode(env, seed)
        placement = env.decode(actions)
        assert check(held, placement).legal, check(held, placement).problems()
        assert placement.orientation[0] in (0, 1)
        assert placement.orientation[1] in (0, 3)
