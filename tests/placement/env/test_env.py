"""Whole random episodes: specification of observations, rewards, ends; vector against single; dead ends; gymnasium."""

from __future__ import annotations

import numpy as np
import pytest

from netlists.errors import InfeasibleError
from netlists.model import Design
from placement.cost import evaluate
from placement.env import (
    FEATURE_COUNT,
    GRID_BUCKETS,
    MAP_COUNT,
    EnvConfig,
    Feature,
    MacroEnv,
    Map,
    Observation,
    VectorEnv,
    greedy_episode,
    grid_side,
    random_episode,
)
from placement.legal import check


def assert_specification(env: MacroEnv, o: Observation) -> None:
    side = env.side
    assert o.maps.shape == (MAP_COUNT, side, side)
    assert o.features.shape == (FEATURE_COUNT,)
    assert o.mask.shape == (side * side,)
    assert (o.maps.dtype, o.features.dtype, o.mask.dtype) == (np.float32, np.float32, np.bool_)
    assert np.isfinite(o.maps).all()
    assert np.isfinite(o.features).all()
    assert o.maps.min() >= 0
    assert o.maps.max() <= 1
    assert o.features.min() >= 0
    assert np.array_equal(o.maps[Map.LEGAL].ravel() > 0, o.mask)
    padding = np.ones((side, side), bool)
    padding[: env.plan.rows, : env.plan.columns] = False
    assert not o.maps[:, padding].any()


def result(env: MacroEnv, info: dict):
    return env.design.start.moved(x_um=info["x_um"], y_um=info["y_um"], orientation=info["orientation"])


@pytest.mark.parametrize("seed", range(5))
def test_random_episodes_on_a_sample(sample: Design, seed: int) -> None:
    env = MacroEnv(sample)
    random = np.random.default_rng(seed)
    observation = env.reset(seed)
    for step in range(env.macro_count):
        assert_specification(env, observation)
        assert observation.features[Feature.PROGRESS] == pytest.approx(step / env.macro_count)
        assert observation.mask.any()
        observation, reward, ended, info = env.step(int(random.choice(np.flatnonzero(observation.mask))))
        if ended:
            break
        assert reward == 0
        assert info == {}
    assert ended
    assert_specification(env, observation)
    assert not observation.mask.any()
    placement = result(env, info)
    assert check(sample, placement).legal
    assert info["proxy_cost"] == pytest.approx(evaluate(sample, placement).proxy_cost, rel=1e-12)
    penalty = env.config.infeasible_penalty * info["infeasible"] / env.macro_count
    assert reward == pytest.approx(1.0 - info["proxy_cost"] - penalty)
    with pytest.raises(RuntimeError, match="reset"):
        env.step(0)


def test_order_is_largest_first_then_connectivity(sample: Design) -> None:
    env = MacroEnv(sample)
    area = env.plan.width * env.plan.height
    assert np.all(np.diff(area) <= 1e-6 * area[0])
    same = np.abs(np.diff(area)) <= 1e-9 * area[0]
    assert np.all(np.diff(env.plan.degree)[same] <= 1e-12)
    assert sorted(env.order.tolist()) == np.flatnonzero((sample.netlist.node_kind == 0) & ~sample.start.fixed).tolist()


def test_dense_rewards_only_spread_the_return(sample: Design) -> None:
    plain, dense = MacroEnv(sample), MacroEnv(sample, EnvConfig(dense_reward=True, reward_scale=2.0))
    actions, info = random_episode(plain, 3)
    dense.reset()
    rewards = [dense.step(action)[1] for action in actions]
    assert sum(rewards) == pytest.approx(2.0 * info["return"])
    assert sum(1 for r in rewards if r != 0) > len(rewards) // 2


def test_a_forbidden_action_is_refused_and_changes_nothing(sample: Design) -> None:
    env = MacroEnv(sample)
    before = env.reset()
    for action in (int(np.flatnonzero(~before.mask)[0]), -1, env.side**2):
        with pytest.raises(ValueError, match="not allowed"):
            env.step(action)
    assert np.array_equal(env.observe().maps, before.maps)
    env.step(int(np.flatnonzero(before.mask)[0]))


def test_decode_replays_an_episode(sample: Design) -> None:
    env = MacroEnv(sample)
    actions, info = random_episode(env, 8)
    placement = env.decode(actions)
    assert np.array_equal(placement.x_um, info["x_um"])
    assert np.array_equal(placement.y_um, info["y_um"])
    partial = env.decode(actions[:3])
    assert check(sample, partial).legal


def test_greedy_beats_random(sample: Design) -> None:
    env = MacroEnv(sample)
    random = np.mean([random_episode(env, seed)[1]["costs"]["wirelength_cost"] for seed in range(5)])
    assert greedy_episode(env)[1]["costs"]["wirelength_cost"] < random


def test_vector_equals_single_environments(sample: Design) -> None:
    single, vector = [MacroEnv(sample) for _ in range(3)], VectorEnv(sample, count=3)
    random = np.random.default_rng(0)
    seen, stacked = [env.reset() for env in single], vector.reset()
    finished = 0
    for _ in range(2 * vector.macro_count + 1):
        for k in range(3):
            for part, whole in zip(seen[k], stacked, strict=True):
                assert np.array_equal(part, whole[k])
        actions = np.array([random.choice(np.flatnonzero(mask)) for mask in stacked.mask])
        stacked, rewards, ended, infos = vector.step(actions)
        assert [info["env"] for info in infos] == np.flatnonzero(ended).tolist()
        for k in range(3):
            seen[k], reward, done, info = single[k].step(int(actions[k]))
            assert rewards[k] == pytest.approx(reward)
            assert ended[k] == done
            if done:
                mine = next(i for i in infos if i["env"] == k)
                assert mine["proxy_cost"] == info["proxy_cost"]
                assert mine["return"] == pytest.approx(reward)
                seen[k] = single[k].reset()
                finished += 1
    assert finished == vector.episodes >= 6


def test_vector_refuses_bad_actions(sample: Design) -> None:
    vector = VectorEnv(sample, count=2)
    o = vector.reset()
    with pytest.raises(ValueError, match="shape"):
        vector.step(np.zeros(3, int))
    with pytest.raises(ValueError, match="environment 1"):
        vector.step(np.array([np.flatnonzero(o.mask[0])[0], np.flatnonzero(~o.mask[1])[0]]))
    with pytest.raises(ValueError, match="count"):
        VectorEnv(sample, count=0)


def test_dead_ends_are_finished_legally_penalised_and_counted(make_netted) -> None:
    """Four of 45 x 45: the first in the middle leaves no room for the others."""
    design = make_netted([(45, 45)] * 4, grid=(16, 16))
    env = MacroEnv(design)
    env.reset()
    middle = 8 * env.side + 8
    _, reward, ended, info = env.step(middle)
    assert ended
    assert info["infeasible"] == 3
    assert check(design, result(env, info)).legal
    assert reward == pytest.approx(1 - info["proxy_cost"] - 2.0 * 3 / 4)
    vector = VectorEnv(design, count=1)
    vector.reset()
    vector.step(np.array([middle]))
    assert (vector.episodes, vector.infeasible_episodes) == (1, 1)


def test_exact_fit_can_be_reached(make_netted) -> None:
    """Four of 50 x 50 fill the canvas: no clearance, and corners are the only way."""
    design = make_netted([(50, 50)] * 4, grid=(16, 16))
    env = MacroEnv(design)
    observation, ended, info = env.reset(), False, {}
    assert env.plan.snap
    while not ended:
        observation, _, ended, info = env.step(int(np.flatnonzero(observation.mask)[0]))
    assert info["infeasible"] == 0
    assert check(design, result(env, info)).legal


def test_fixed_macros_and_blockages_are_seen_and_kept(make_netted) -> None:
    design = make_netted([(20, 20), (10, 10), (15, 5)], fixed=[0], blockages=[(80, 80, 100, 100)], grid=(10, 10))
    env = MacroEnv(design)
    assert env.macro_count == 2
    observation = env.reset()
    assert observation.maps[Map.OCCUPANCY, 9, 9] == 1.0
    assert observation.maps[Map.OCCUPANCY].sum() > 4
    for seed in range(10):
        _, info = random_episode(env, seed)
        assert check(design, result(env, info)).legal


def test_one_macro(make_netted) -> None:
    env = MacroEnv(make_netted([(30, 30)]))
    _, info = random_episode(env, 0)
    assert info["steps"] == 1


def test_nothing_to_place_and_impossible_designs_are_refused(make_netted) -> None:
    with pytest.raises(InfeasibleError, match="no movable hard macro"):
        MacroEnv(make_netted([(20, 20)], fixed=[0]))
    with pytest.raises(InfeasibleError, match=r"125\.0 %"):
        MacroEnv(make_netted([(50, 50)] * 5))


@pytest.mark.parametrize(
    ("columns", "rows", "most", "side"),
    [(10, 10, 32, 16), (24, 21, 32, 32), (45, 41, 32, 32), (45, 41, 128, 64), (1, 1, 16, 16), (128, 3, 128, 128)],
)
def test_grid_side(columns: int, rows: int, most: int, side: int) -> None:
    assert grid_side(columns, rows, most) == side
    assert side in GRID_BUCKETS


def test_configuration_is_checked() -> None:
    with pytest.raises(ValueError, match="max_grid is 33"):
        EnvConfig(max_grid=33)
    with pytest.raises(ValueError, match="reward_scale"):
        EnvConfig(reward_scale=0)


def test_gymnasium_checker_passes(sample: Design) -> None:
    from gymnasium.utils.env_checker import check_env

    from placement.env.gym_adapter import GymMacroEnv

    env = GymMacroEnv(sample)
    check_env(env, skip_render_check=True)
    observation, _ = env.reset(seed=1)
    ended, info = False, {}
    for _ in range(env.env.macro_count):
        observation, _, ended, truncated, info = env.step(env.action_space.sample())
        assert env.observation_space.contains(observation)
        assert not truncated
    assert ended
    assert info["masked"] > 0


@pytest.mark.parametrize("name", ["ariane133_ng45", "ibm01", "ariane_ct"])
def test_random_episodes_on_real_designs(benchmarks, name: str) -> None:
    from netlists.load import load_design

    folder = benchmarks / "circuit_training" / name
    design = load_design([folder / "netlist.pb.txt.gz"], folder / "initial.plc")
    vector = VectorEnv(design, count=4)
    random = np.random.default_rng(0)
    observation = vector.reset()
    infos: list[dict] = []
    while len(infos) < 4:
        actions = np.array([random.choice(np.flatnonzero(mask)) for mask in observation.mask])
        observation, _, _, ended = vector.step(actions)
        infos += ended
    for info in infos:
        placement = design.start.moved(x_um=info["x_um"], y_um=info["y_um"], orientation=info["orientation"])
        assert check(design, placement).legal, check(design, placement).problems()
