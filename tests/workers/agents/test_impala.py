"""The agent as a whole: acting, learning a known task, and what it does with numbers that are none."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from numpy.testing import assert_allclose

from workers.agents.gym_tasks import GymVector
from workers.agents.impala import Agent, ImpalaConfig
from workers.agents.losses import LossConfig
from workers.agents.networks import MlpNet
from workers.agents.types import VectorObservation
from workers.menger.actor import Actor
from workers.menger.codec import stack
from workers.menger.in_process import train
from workers.menger.learner import SKIPS_IN_A_ROW, Learner
from workers.menger.roles import RoleError


def agent(lstm_width: int = 0, batch_size: int = 16) -> Agent:
    config = ImpalaConfig(
        discount=0.99,
        unroll_length=20,
        batch_size=batch_size,
        learning_rate=2e-3,
        loss=LossConfig(entropy_weight=0.002),
    )
    return Agent(MlpNet(actions=2, lstm_width=lstm_width), config, lstm_width)


def poles(count: int, seed: int = 0) -> GymVector:
    return GymVector("CartPole-v1", count, seed, reward_scale=0.1)


def test_learns_cartpole():
    """A uniform policy balances for about 22 steps; benchmarks/learning.py goes on to 475."""
    _, infos = train(agent(), poles(16), updates=250)
    returns = [info["return"] for info in infos]
    assert np.mean(returns[:50]) < 40
    assert np.mean(returns[-50:]) > 150


def test_unroll_is_what_happened():
    """Behaviour log probabilities, states and episode starts agree with the network run over the unroll again."""
    it = agent(lstm_width=8, batch_size=4)
    env = poles(4)
    actor = Actor(it, env, seed=3)
    params = it.init(jax.random.key(0), jax.tree.map(lambda leaf: leaf[0], env.reset())).params
    for _ in range(3):
        batch = stack(actor.unroll(params, 7))
    _, parts = it.loss(params, batch)
    assert_allclose(parts["rho_mean"], 1.0, rtol=1e-5)
    assert batch.first.shape == (21, 4)
    assert np.array_equal(batch.discount == 0, batch.first[1:])
    assert np.array_equal(batch.version, [7] * 4)
    outputs = it.network.apply(params, batch.observation, batch.initial_state, batch.first)
    following = stack(actor.unroll(params, 7))
    one_more = it.network.apply(
        params,
        jax.tree.map(lambda leaf: leaf[:-1], batch.observation),
        batch.initial_state,
        batch.first[:-1],
    )
    assert_allclose(one_more.state.hidden, following.initial_state.hidden, rtol=1e-4, atol=1e-6)
    assert outputs.value.shape == (21, 4)


def test_actions_are_allowed_and_seeded():
    it = agent()
    params = it.init(jax.random.key(0), VectorObservation(np.zeros(4, np.float32), np.ones(2, bool))).params
    mask = np.array([[True, False], [False, True], [True, True]])
    seen = VectorObservation(np.zeros((3, 4), np.float32), mask)

    def draw(seed: int, step: int) -> np.ndarray:
        return np.asarray(it.act(params, seen, it.initial_state(3), np.zeros(3, bool), seed, step).action)

    drawn = np.stack([draw(1, step) for step in range(30)])
    assert np.all(mask[np.arange(3), drawn])
    assert len(set(drawn[:, 2])) == 2
    assert np.array_equal(draw(1, 5), draw(1, 5))
    assert not np.array_equal(np.stack([draw(2, step) for step in range(30)]), drawn)


def test_a_batch_with_nan_changes_nothing_and_many_end_the_learner():
    it = agent(batch_size=2)
    env = poles(2)
    first = jax.tree.map(lambda leaf: leaf[0], env.reset())
    learner = Learner(it, it.init(jax.random.key(0), first))
    batch = stack(Actor(it, env, seed=0).unroll(learner.state.params, 1))
    before = jax.tree.map(np.asarray, learner.state)
    poisoned = batch._replace(reward=np.full_like(batch.reward, np.nan))
    learner.update(poisoned)
    assert int(learner.state.skipped) == 1
    assert learner.version == 1
    jax.tree.map(np.testing.assert_array_equal, before.params, learner.state.params)
    jax.tree.map(np.testing.assert_array_equal, before.optimiser, learner.state.optimiser)
    learner.update(batch)
    assert learner.version == 2
    for _ in range(SKIPS_IN_A_ROW - 1):
        learner.update(poisoned)
    with pytest.raises(RoleError, match="not finite 20 times in a row at version 2"):
        learner.update(poisoned)


@pytest.mark.parametrize("wrong", [{"discount": 1.5}, {"batch_size": 0}, {"learning_rate": -1.0}])
def test_settings_without_meaning_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        ImpalaConfig(**wrong)
