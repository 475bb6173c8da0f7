"""The agent as a whole: acting, learning a known task, and what it does with numbers that are none."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from numpy.testing import assert_allclose

from workers.agents.actor_critic import ActorCritic
from workers.agents.agent import AgentConfig, environment_seeds
from workers.agents.algorithms import make_agent
from workers.agents.gym_tasks import GymVector
from workers.agents.losses import LossConfig
from workers.agents.networks import MlpNet
from workers.agents.popart import unit_scale
from workers.agents.types import VectorObservation
from workers.menger.actor import Actor
from workers.menger.codec import stack
from workers.menger.in_process import train
from workers.menger.learner import SKIPS_IN_A_ROW, Learner
from workers.menger.roles import RoleError


def agent(lstm_width: int = 0, batch_size: int = 16, algorithm: str = "impala", **settings) -> ActorCritic:
    config = AgentConfig(
        discount=0.99,
        unroll_length=20,
        batch_size=batch_size,
        learning_rate=2e-3,
        loss=LossConfig(entropy_weight=0.002),
        **settings,
    )
    made = make_agent(algorithm, MlpNet(actions=2, lstm_width=lstm_width), config, lstm_width)
    assert isinstance(made, ActorCritic)
    return made


def poles(count: int, seed: int = 0) -> GymVector:
    return GymVector("CartPole-v1", count, seed, reward_scale=0.1)


@pytest.mark.parametrize(
    ("algorithm", "settings", "updates"),
    [("impala", {}, 250), ("ppo", {"epochs": 3, "minibatches": 2}, 100), ("impala", {"popart_rate": 0.01}, 250)],
    ids=["impala", "ppo", "popart"],
)
def test_learns_cartpole(algorithm, settings, updates):
    """A uniform policy balances for about 22 steps; benchmarks/cartpole.py goes on to 475, with every algorithm."""
    _, infos = train(agent(algorithm=algorithm, **settings), poles(16), updates=updates)
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
    _, (parts, _) = jax.jit(it.loss)(params, unit_scale(), batch)
    assert_allclose(parts["rho_mean"], 1.0, rtol=1e-5)
    assert batch.first.shape == (21, 4)
    assert np.array_equal(batch.discount == 0, batch.first[1:])
    assert np.array_equal(batch.version, [7] * 4)
    apply = jax.jit(it.network.apply)
    outputs = apply(params, batch.observation, batch.initial_state, batch.first)
    following = stack(actor.unroll(params, 7))
    one_more = apply(
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


def test_a_draw_does_not_depend_on_who_acts_beside():
    it = agent()
    params = it.init(jax.random.key(0), VectorObservation(np.zeros(4, np.float32), np.ones(2, bool))).params
    random = np.random.default_rng(0)
    seen = VectorObservation(random.normal(size=(64, 4)).astype(np.float32), np.ones((64, 2), bool))
    seeds = environment_seeds(7, 64)

    def draw(part: slice) -> np.ndarray:
        some = jax.tree.map(lambda leaf: leaf[part], seen)
        count = len(some.mask)
        return np.asarray(it.act(params, some, it.initial_state(count), np.zeros(count, bool), seeds[part], 3).action)

    together = draw(slice(None))
    assert set(together) == {0, 1}
    assert np.array_equal(together, np.concatenate([draw(slice(0, 16)), draw(slice(16, 64))]))


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


def test_a_gradient_made_elsewhere_is_the_update_made_here():
    it = agent(batch_size=4, algorithm="a3c")
    env = poles(4)
    first = jax.tree.map(lambda leaf: leaf[0], env.reset())
    state = it.init(jax.random.key(0), first)
    batch = stack(Actor(it, env, seed=0).unroll(state.params, 1))
    gradient, parts = it.gradient(state, batch)
    sent, _ = it.apply(it.init(jax.random.key(0), first), gradient, parts)
    here, _ = it.update(state, batch)
    jax.tree.map(lambda a, b: assert_allclose(a, b, rtol=1e-6, atol=1e-7), sent, here)


def test_popart_changes_units_and_not_what_is_meant():
    """The same batch again and again: values approach its targets, thousands of units away, and nothing runs off."""
    it = agent(batch_size=8, popart_rate=0.1)
    env = poles(8)
    learner = Learner(it, it.init(jax.random.key(0), jax.tree.map(lambda leaf: leaf[0], env.reset())))
    batch = stack(Actor(it, env, seed=0).unroll(learner.state.params, 1))
    batch = batch._replace(reward=batch.reward * 1e4, discount=batch.discount * 0.0)
    for _ in range(200):
        figures = learner.update(batch)
    value = jax.jit(it.evaluate)(learner.state.params, learner.state.own, batch).value
    assert_allclose(value[:-1].mean(), batch.reward.mean(), rtol=0.02)
    assert figures["value_loss"] < 1.0
    assert np.isfinite(figures["gradient_norm"])


def test_passes_over_a_batch_take_every_unroll_once():
    """With one unroll a minibatch and nothing to learn from but one of them, that one changes the network."""
    it = agent(batch_size=4, algorithm="ppo", epochs=1, minibatches=4)
    env = poles(4)
    state = it.init(jax.random.key(0), jax.tree.map(lambda leaf: leaf[0], env.reset()))
    batch = stack(Actor(it, env, seed=0).unroll(state.params, 1))
    for poisoned in range(4):
        reward = np.array(batch.reward)
        reward[0, poisoned] = np.nan
        after, parts = it.update(jax.tree.map(np.array, state), batch._replace(reward=reward))
        assert not bool(parts["finite"])
        assert int(after.step) == 0
    after, parts = it.update(state, batch)
    assert bool(parts["finite"])
    assert int(after.step) == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"discount": 1.5},
        {"batch_size": 0},
        {"learning_rate": -1.0},
        {"popart_rate": 2.0},
        {"minibatches": 3, "batch_size": 8},
    ],
)
def test_settings_without_meaning_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        AgentConfig(**wrong)
