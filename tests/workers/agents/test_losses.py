"""The IMPALA loss: its value by hand, masks, and the direction of its gradient."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
from numpy.testing import assert_allclose

from workers.agents.losses import LossConfig, entropy, huber, impala_loss, masked_log_probs


def batch(seed=0, steps=6, count=3, actions=5):
    random = np.random.default_rng(seed)
    mask = random.random((steps, count, actions)) < 0.7
    action = random.integers(actions, size=(steps, count)).astype(np.int32)
    np.put_along_axis(mask, action[..., None], True, axis=-1)
    return {
        "logits": random.normal(size=(steps, count, actions)).astype(np.float32),
        "mask": mask,
        "value": random.normal(size=(steps + 1, count)).astype(np.float32),
        "action": action,
        "reward": random.normal(size=(steps, count)).astype(np.float32),
        "discount": np.where(random.random((steps, count)) < 0.2, 0.0, 0.9).astype(np.float32),
    }


def loss_of(data, logits=None, value=None, behaviour_logp=None, config=None):
    log_probs = masked_log_probs(jnp.asarray(data["logits"] if logits is None else logits), data["mask"])
    logp = jnp.take_along_axis(log_probs, data["action"][..., None], -1)[..., 0]
    return impala_loss(
        log_probs=log_probs,
        value=jnp.asarray(data["value"] if value is None else value),
        action=jnp.asarray(data["action"]),
        reward=jnp.asarray(data["reward"]),
        discount=jnp.asarray(data["discount"]),
        behaviour_logp=jax.lax.stop_gradient(logp) if behaviour_logp is None else behaviour_logp,
        config=config or LossConfig(),
    )


def test_on_policy_loss_is_the_one_by_hand():
    data = batch()
    exp = np.where(data["mask"], np.exp(data["logits"].astype(np.float64)), 0.0)
    probs = exp / exp.sum(-1, keepdims=True)
    logp = np.log(np.take_along_axis(probs, data["action"][..., None], -1))[..., 0]
    returns = np.zeros_like(data["value"], np.float64)
    returns[-1] = data["value"][-1]
    for t in reversed(range(len(data["reward"]))):
        returns[t] = data["reward"][t] + data["discount"][t] * returns[t + 1]
    advantage = returns[:-1] - data["value"][:-1]
    surprise = -np.sum(np.where(probs > 0, probs * np.log(np.maximum(probs, 1e-300)), 0), -1).mean()
    expected = -(advantage * logp).mean() + 0.5 * 0.5 * (advantage**2).mean() - 0.01 * surprise
    loss, parts = loss_of(data)
    assert_allclose(loss, expected, rtol=1e-5)
    assert_allclose(parts["entropy"], surprise, rtol=1e-5)
    assert_allclose(parts["rho_mean"], 1.0, rtol=1e-6)


def test_masked_actions_have_no_probability_and_no_gradient():
    data = batch(1)
    log_probs = masked_log_probs(jnp.asarray(data["logits"]), data["mask"])
    assert np.all(np.exp(log_probs)[~data["mask"]] == 0.0)
    assert_allclose(np.exp(log_probs).sum(-1), 1.0, rtol=1e-6)
    gradient = jax.grad(lambda logits: loss_of(data, logits=logits)[0])(jnp.asarray(data["logits"]))
    assert np.all(np.isfinite(gradient))
    assert np.all(np.asarray(gradient)[~data["mask"]] == 0.0)
    assert np.any(np.asarray(gradient)[data["mask"]] != 0.0)


def test_a_single_allowed_action_has_no_entropy():
    log_probs = masked_log_probs(jnp.zeros((1, 4)), jnp.asarray([[False, True, False, False]]))
    assert_allclose(entropy(log_probs), 0.0, atol=1e-6)


def test_a_good_action_becomes_likelier():
    data = batch(2)
    data["reward"][:] = 0.0
    data["value"][:] = 0.0
    data["discount"][:] = 0.0
    data["reward"][2, 1] = 1.0
    data["mask"][:] = True
    gradient = jax.grad(lambda logits: loss_of(data, logits=logits, config=LossConfig(entropy_weight=0.0))[0])(
        jnp.asarray(data["logits"])
    )
    assert gradient[2, 1, data["action"][2, 1]] < 0
    assert_allclose(np.delete(np.asarray(gradient).reshape(-1, 5), 2 * 3 + 1, axis=0), 0.0)


def test_the_critic_is_drawn_to_the_target():
    data = batch(3)
    gradient = jax.grad(lambda value: loss_of(data, value=value)[1]["value_loss"])(jnp.asarray(data["value"]))
    assert_allclose(gradient[-1], 0.0)  # the bootstrap value is no prediction of this unroll
    assert np.any(np.asarray(gradient[:-1]) != 0.0)


def test_huber_is_the_square_inside_and_a_line_outside():
    error = jnp.asarray([-3.0, -1.0, -0.5, 0.0, 0.5, 1.0, 3.0])
    assert_allclose(huber(error, 1.0), [2.5, 0.5, 0.125, 0.0, 0.125, 0.5, 2.5], rtol=1e-6)
    assert_allclose(huber(error, math.inf), 0.5 * np.square(error), rtol=1e-6)
    for at in (1.0, math.inf):
        gradient = jax.grad(lambda e, at=at: huber(e, at).sum())(error)
        assert_allclose(gradient, np.clip(error, -at, at), rtol=1e-6)


def test_a_surprise_draws_the_critic_no_further_than_the_bound():
    data = batch(4)
    data["reward"][-1, 0] = -1e4
    config = LossConfig(huber_at=1.0)
    gradient = jax.grad(lambda value: loss_of(data, value=value, config=config)[1]["value_loss"])(
        jnp.asarray(data["value"])
    )
    assert np.abs(gradient).max() <= 1.0 / data["reward"].size + 1e-7
    assert float(np.abs(gradient[:-1, 0]).min()) > 0.0
