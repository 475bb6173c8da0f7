"""Rewards in units of random episodes: what is measured, and that returns keep their order and differences."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose

from netlists.samples import make_sample
from placement.env import EnvConfig, VectorEnv
from workers.menger.rewards import LEAST_SPREAD, RewardScale, ScaledEnv, measure


class Seen(NamedTuple):
    mask: np.ndarray


class Lengths:
    """Environment k has episodes of k + 2 steps; a step pays -1, the last one `last` more for every action 1 before."""

    def __init__(self, count: int = 3, last: float = 10.0) -> None:
        self.count, self._last = count, last
        self._at = np.zeros(count, int)
        self._ones = np.zeros(count, int)

    def reset(self):
        self._at[:] = self._ones[:] = 0
        return Seen(np.tile([True, True, False], (self.count, 1)))

    def step(self, actions):
        assert np.all(actions < 2)  # the third is forbidden
        self._ones += actions == 1
        self._at += 1
        ended = self._at == np.arange(self.count) + 2
        reward = -np.ones(self.count, np.float32) + np.where(ended, self._last * self._ones, 0.0)
        self._at[ended] = self._ones[ended] = 0
        return Seen(np.tile([True, True, False], (self.count, 1))), reward, ended, [{}] * int(ended.sum())


def test_measures_mean_spread_and_drift():
    scale = measure(Lengths(), episodes=3000)
    # k + 2 fair coins of 10 each less k + 2: means 8, 12, 16; variance is the coins' and that between lengths
    assert_allclose(scale.mean, 12.0, rtol=0.05)
    assert_allclose(scale.spread, np.sqrt(75.0 + 32.0 / 3.0), rtol=0.05)
    assert scale.drift == -1.0


def test_the_same_seed_measures_the_same_and_every_environment_counts_alike():
    assert measure(Lengths()) == measure(Lengths())
    assert measure(Lengths(), seed=1) != measure(Lengths())


def test_episodes_that_are_all_alike_have_a_spread_above_zero():
    scale = measure(Lengths(last=0.0, count=1))
    assert scale == RewardScale(-2.0, LEAST_SPREAD * 2.0, -1.0)


def test_returns_are_shifted_and_divided_whatever_the_length():
    scale = RewardScale(mean=-7.0, spread=2.5, drift=-0.3)
    plain, scaled = Lengths(), ScaledEnv(Lengths(), scale)
    plain.reset()
    scaled.reset()
    random = np.random.default_rng(0)
    raw, units = np.zeros(3), np.zeros(3)
    pairs = []
    for _ in range(60):
        actions = random.integers(2, size=3)
        _, reward, ended, _ = plain.step(actions)
        _, shaped, also, _ = scaled.step(actions)
        assert np.array_equal(ended, also)
        assert shaped.dtype == np.float32
        assert_allclose(shaped[~ended], (reward[~ended] + 0.3) / 2.5, rtol=1e-6)
        raw += reward
        units += shaped
        pairs += zip(raw[ended], units[ended], strict=True)
        raw[ended] = units[ended] = 0.0
    assert len(pairs) > 40
    for whole, shaped_whole in pairs:
        assert shaped_whole == pytest.approx((whole + 7.0) / 2.5, rel=1e-5, abs=1e-5)


def test_random_episodes_of_a_design_have_mean_0_and_spread_1_in_any_unit():
    """The measuring episodes again, through ScaledEnv: exactly 0 and 1, for costs in units of 1 and of 100."""
    for unit in (1.0, 100.0):
        config = EnvConfig(max_grid=32, dense_reward=True, reward_scale=unit, infeasible_penalty=0.1)
        env = VectorEnv(make_sample("small", seed=1), config, count=4)
        again = measure(ScaledEnv(env, measure(env)))
        assert again.mean == pytest.approx(0.0, abs=1e-3)
        assert again.spread == pytest.approx(1.0, rel=1e-3)
        assert again.drift == pytest.approx(0.0, abs=1e-4)
