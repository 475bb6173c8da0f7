"""Mask, positions and wirelength maps of the environment against obvious twins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netlists.errors import InfeasibleError
from netlists.model import Design, Placement
from placement.cost import evaluate
from placement.env import EnvConfig, MacroEnv, Map
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
