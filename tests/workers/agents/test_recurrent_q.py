"""Recurrent Q-learning: targets, acting, priorities, burn-in, and that it learns."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from workers.agents.algorithms import make_agent
from workers.agents.networks import MlpNet
from workers.agents.recurrent_q import QConfig, RecurrentQ, Replayed, double_q_targets, greedy_log_probs
from workers.agents.types import RecurrentState, Unroll, VectorObservation

T, B, A, H = 9, 3, 4, 8


def make(**settings) -> RecurrentQ:
    config = QConfig(unroll_length=T, batch_size=B, **settings)
    made = make_agent("r2d2", MlpNet(actions=A, width=16, lstm_width=H), config, H)
    assert isinstance(made, RecurrentQ)
    return made


def batch(seed: int = 0) -> Replayed:
    random = np.random.default_rng(seed)
    mask = random.random((T + 1, B, A)) < 0.7
    mask[..., 0] = True
    unroll = Unroll(
        observation=VectorObservation(random.normal(size=(T + 1, B, 5)).astype(np.float32), mask),
        first=random.random((T + 1, B)) < 0.1,
        action=np.argmax(random.random((T, B, A)) * mask[:-1], axis=-1).astype(np.int32),
        reward=random.normal(size=(T, B)).astype(np.float32),
        discount=np.where(random.random((T, B)) < 0.1, 0.0, 0.9).astype(np.float32),
        behaviour_logp=np.zeros((T, B), np.float32),
        initial_state=RecurrentState(*random.normal(size=(2, B, H)).astype(np.float32)),
        version=np.zeros(B, np.int32),
    )
    return Replayed(unroll, np.ones(B, np.float32))


@pytest.mark.parametrize("n", [1, 3, 20])
def test_targets_equal_rlax(rlax_module, n):
    random = np.random.default_rng(n)
    online, target = random.normal(0, 3, size=(2, T + 1, 1, A)).astype(np.float32)
    drawn = batch(n).unroll
    everything = np.ones((T + 1, 1, A), bool)
    config = QConfig(n_step=n)
    ours = double_q_targets(online, target, everything, drawn.reward[:, :1], drawn.discount[:, :1], config)
    bellman = rlax_module("nonlinear_bellman")
    error = bellman.transformed_n_step_q_learning(
        jnp.zeros((T, A)),
        jnp.zeros(T, jnp.int32),
        target[1:, 0],
        online[1:, 0].argmax(-1),
        drawn.reward[:, 0],
        drawn.discount[:, 0],
        n,
        tx_pair=bellman.SIGNED_HYPERBOLIC_PAIR,
    )
    assert_allclose(ours[:, 0], error, rtol=1e-3, atol=1e-4)  # rlax's inverse is good to 4 digits in float32


def test_targets_take_allowed_actions_only():
    online = np.zeros((2, 1, A), np.float32)
    online[1, 0] = [1.0, 9.0, 2.0, 0.0]
    target = np.arange(2 * A, dtype=np.float32).reshape(2, 1, A)
    mask = np.ones((2, 1, A), bool)
    mask[1, 0, 1] = False
    one, plain = np.ones((1, 1), np.float32), QConfig(rescale_values=False)
    assert_allclose(double_q_targets(online, target, mask, 0 * one, one, plain), [[6.0]])


def test_greedy_but_for_a_share():
    values = jnp.asarray([[1.0, 5.0, 9.0, 2.0]] * 2)
    mask = jnp.asarray([[True, True, False, True]] * 2)
    probability = np.exp(greedy_log_probs(values, mask, jnp.asarray([0.3, 0.0])))
    assert_allclose(probability, [[0.1, 0.8, 0.0, 0.1], [0.0, 1.0, 0.0, 0.0]], atol=1e-6)


def test_priorities_are_of_the_errors_after_burn_in():
    it = make(burn_in=4, n_step=2)
    data = batch()
    params = it.init(jax.random.key(0), jax.tree.map(lambda leaf: leaf[0, 0], data.unroll.observation)).params
    _, parts = jax.jit(it.loss)(params, params, data)
    outputs = jax.jit(it.network.apply)(params, data.unroll.observation, data.unroll.initial_state, data.unroll.first)
    online = outputs.logits[4:]
    mask, reward, discount = data.unroll.observation.mask[4:], data.unroll.reward[4:], data.unroll.discount[4:]
    aims = double_q_targets(online, online, mask, reward, discount, it.config)
    value = np.take_along_axis(np.asarray(online[:-1]), data.unroll.action[4:, :, None], -1)[..., 0]
    error = np.abs(aims - value)
    assert_allclose(parts["priority"], 0.9 * error.max(0) + 0.1 * error.mean(0), rtol=1e-4)
    assert_allclose(parts["loss"], 0.5 * np.square(error).mean(), rtol=1e-4)


def test_burn_in_brings_the_state_and_takes_no_gradient():
    it = make(burn_in=4)
    data = batch()
    params = it.init(jax.random.key(0), jax.tree.map(lambda leaf: leaf[0, 0], data.unroll.observation)).params

    @jax.jit
    def loss(features, weight):
        seen = data.unroll.observation._replace(features=features)
        return it.loss(params, params, Replayed(data.unroll._replace(observation=seen), weight))[0]

    one = jnp.ones(B)
    before = loss(data.unroll.observation.features, one)
    changed = np.array(data.unroll.observation.features)
    changed[3] += 1.0
    assert abs(loss(changed, one) - before) > 1e-6  # the state it leaves counts
    assert_allclose(loss(changed, jnp.zeros(B)), 0.0)
    # With no gradient through the burn-in, that of the parameters is the one with the state given as it stands.
    state = jax.jit(it.network.apply)(
        params,
        jax.tree.map(lambda leaf: leaf[:4], data.unroll.observation),
        data.unroll.initial_state,
        data.unroll.first[:4],
    ).state
    short = QConfig(unroll_length=T - 4, batch_size=B)
    direct = RecurrentQ(it.network, short, H)
    cut = jax.tree.map(lambda leaf: leaf[4:], tuple(data.unroll[:6]))
    rest = Replayed(Unroll._make((*cut, state, data.unroll.version)), one)
    with_burn_in = jax.jit(jax.grad(lambda p: it.loss(p, params, Replayed(data.unroll, one))[0]))(params)
    without = jax.jit(jax.grad(lambda p: direct.loss(p, params, rest)[0]))(params)
    jax.tree.map(lambda a, b: assert_allclose(a, b, rtol=1e-4, atol=1e-6), with_burn_in, without)


def test_the_target_network_is_renewed_every_so_often():
    it = make(target_every=3)
    data = batch()
    state = it.init(jax.random.key(0), jax.tree.map(lambda leaf: leaf[0, 0], data.unroll.observation))
    first = jax.tree.map(np.array, state.params)
    for number in range(1, 4):
        state, _ = it.update(state, data)
        same = jax.tree.leaves(jax.tree.map(lambda a, b: np.array_equal(a, b), state.own, first))
        assert all(same) == (number < 3)
    jax.tree.map(np.testing.assert_array_equal, state.own, state.params)


@pytest.mark.parametrize(
    "wrong", [{"burn_in": 20}, {"epsilon": 1.5}, {"n_step": 0}, {"epochs": 2}, {"popart_rate": 0.1}]
)
def test_settings_without_meaning_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        QConfig(**wrong)
