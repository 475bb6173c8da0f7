"""The actor-critics' losses: their values by hand, masks, clipping, padding, and the direction of their gradients."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from workers.agents.losses import (
    Evaluated,
    LossConfig,
    actor_critic_loss,
    clipped_policy_loss,
    entropy,
    gae_targets,
    huber,
    masked_log_probs,
    normalised,
    vtrace_targets,
    weighted_mean,
)
from workers.agents.types import RecurrentState, Unroll, VectorObservation


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


def unroll_of(data, behaviour_logp) -> Unroll:
    steps, count = data["action"].shape
    return Unroll(
        observation=VectorObservation(np.zeros((steps + 1, count, 1), np.float32), data["mask"]),
        first=np.zeros((steps + 1, count), bool),
        action=jnp.asarray(data["action"]),
        reward=jnp.asarray(data["reward"]),
        discount=jnp.asarray(data["discount"]),
        behaviour_logp=jnp.asarray(behaviour_logp),
        initial_state=RecurrentState(np.zeros((count, 0)), np.zeros((count, 0))),
        version=np.zeros(count, np.int32),
    )


def loss_of(
    data,
    logits=None,
    value=None,
    behaviour_logp=None,
    config=None,
    targets_of=vtrace_targets,
    clipped=False,
    weight=None,
):
    """IMPALA's unless told otherwise; on-policy unless `behaviour_logp` is given."""
    config = config or LossConfig()
    log_probs = masked_log_probs(jnp.asarray(data["logits"] if logits is None else logits), data["mask"])
    logp = jnp.take_along_axis(log_probs, data["action"][..., None], -1)[..., 0]
    batch = unroll_of(data, jax.lax.stop_gradient(logp) if behaviour_logp is None else behaviour_logp)
    seen = Evaluated(log_probs, jnp.asarray(data["value"] if value is None else value))
    targets = jax.lax.stop_gradient(targets_of(seen, batch, config))
    return actor_critic_loss(seen, targets, batch, config, clipped=clipped, weight=weight)


def float64_parts(data):
    """Log probability of the actions, returns to the unroll's end, and mean entropy."""
    exp = np.where(data["mask"], np.exp(data["logits"].astype(np.float64)), 0.0)
    probs = exp / exp.sum(-1, keepdims=True)
    logp = np.log(np.take_along_axis(probs, data["action"][..., None], -1))[..., 0]
    returns = np.zeros_like(data["value"], np.float64)
    returns[-1] = data["value"][-1]
    for t in reversed(range(len(data["reward"]))):
        returns[t] = data["reward"][t] + data["discount"][t] * returns[t + 1]
    surprise = -np.sum(np.where(probs > 0, probs * np.log(np.maximum(probs, 1e-300)), 0), -1).mean()
    return logp, returns[:-1], surprise


@pytest.mark.parametrize("targets_of", [vtrace_targets, gae_targets], ids=["impala", "a2c"])
def test_on_policy_loss_is_the_one_by_hand(targets_of):
    data = batch()
    logp, returns, surprise = float64_parts(data)
    advantage = returns - data["value"][:-1]
    expected = -(advantage * logp).mean() + 0.5 * 0.5 * (advantage**2).mean() - 0.01 * surprise
    loss, parts = loss_of(data, targets_of=targets_of)
    assert_allclose(loss, expected, rtol=1e-5)
    assert_allclose(parts["entropy"], surprise, rtol=1e-5)
    assert_allclose(parts["rho_mean"], 1.0, rtol=1e-6)


def behaviour_of(data, spread=0.5):
    """Log probabilities of an older policy: the new ones, disturbed."""
    return (float64_parts(data)[0] + np.random.default_rng(9).normal(0, spread, data["action"].shape)).astype(
        np.float32
    )


@pytest.mark.parametrize("seed", range(5))
def test_ppo_loss_is_the_one_by_hand(seed):
    data = batch(seed)
    old = behaviour_of(data)
    logp, returns, surprise = float64_parts(data)
    advantage = returns - data["value"][:-1]
    ratio = np.exp(logp - old.astype(np.float64))
    policy = -np.minimum(ratio * advantage, np.clip(ratio, 0.8, 1.2) * advantage).mean()
    expected = policy + 0.5 * 0.5 * (advantage**2).mean() - 0.01 * surprise
    loss, parts = loss_of(data, behaviour_logp=old, targets_of=gae_targets, clipped=True)
    assert_allclose(loss, expected, rtol=1e-5)
    assert_allclose(parts["policy_loss"], policy, rtol=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_ppo_policy_loss_equals_rlax(rlax_module, seed):
    random = np.random.default_rng(seed)
    logp, old, advantage = random.normal(0, 0.4, size=(3, 50)).astype(np.float32)
    ours = jnp.mean(clipped_policy_loss(logp, old, advantage, LossConfig()))
    theirs = rlax_module("policy_gradients").clipped_surrogate_pg_loss(jnp.exp(logp - old), advantage, 0.2)
    assert_allclose(ours, theirs, rtol=1e-5)


@pytest.mark.parametrize(
    ("ratio", "advantage", "loss", "slope"),
    [
        (1.0, 2.0, -2.0, -2.0),
        (1.5, 2.0, -2.4, 0.0),  # better, but far enough already
        (0.5, 2.0, -1.0, -1.0),  # worse than it was: drawn back without limit
        (0.5, -2.0, 1.6, 0.0),  # less likely, as it should be, and far enough
        (1.5, -2.0, 3.0, 3.0),
    ],
)
def test_ppo_clips_where_the_step_has_gone_far_enough(ratio, advantage, loss, slope):
    """slope: of the loss with log π(a), which is ratio times that with the ratio."""
    of = lambda logp: clipped_policy_loss(logp, jnp.zeros(()), jnp.float32(advantage), LossConfig(clip_ratio=0.2))
    got, gradient = jax.value_and_grad(of)(jnp.log(jnp.float32(ratio)))
    assert_allclose(got, loss, rtol=1e-5)
    assert_allclose(gradient, slope, rtol=1e-5, atol=1e-6)


def test_ppo_on_policy_has_the_policy_gradient():
    data = batch(5)
    gradient = lambda clipped: jax.grad(
        lambda logits: loss_of(
            data,
            logits=logits,
            behaviour_logp=float64_parts(data)[0].astype(np.float32),
            targets_of=gae_targets,
            clipped=clipped,
        )[1]["policy_loss"]
    )(jnp.asarray(data["logits"]))
    assert_allclose(gradient(True), gradient(False), rtol=1e-4, atol=1e-7)


@given(st.integers(0, 2**31), st.sampled_from([1, 5]))
@settings(max_examples=10, deadline=None)
@pytest.mark.parametrize(("targets_of", "clipped"), [(vtrace_targets, False), (gae_targets, True)])
def test_padding_behind_an_end_counts_for_nothing(targets_of, clipped, seed, padding):
    """An unroll of which the last steps are padding has the loss of the unroll cut there, and no gradient in them."""
    data = batch(seed, steps=8)
    end = 8 - padding
    data["discount"][end - 1] = 0.0
    old = behaviour_of(data)
    weight = np.zeros((8, 3), np.float32)
    weight[:end] = 1.0
    cut = {name: array[: end + (name == "value")] for name, array in data.items()}
    config = LossConfig(normalise_advantage=clipped)
    words = {"targets_of": targets_of, "clipped": clipped, "config": config}
    wanted, _ = loss_of(cut, behaviour_logp=old[:end], **words)
    data["reward"][end:] = 1e3
    data["value"][end:] = -1e3
    loss, gradient = jax.value_and_grad(
        lambda logits: loss_of(data, logits=logits, behaviour_logp=old, weight=weight, **words)[0]
    )(jnp.asarray(data["logits"]))
    assert_allclose(loss, wanted, rtol=1e-4, atol=1e-5)
    assert np.all(np.asarray(gradient)[end:] == 0.0)


def test_weighted_mean_and_normalised_advantage():
    values, weight = jnp.asarray([1.0, 3.0, jnp.nan]), jnp.asarray([1.0, 1.0, 0.0])
    assert_allclose(weighted_mean(values, weight), 2.0)
    assert_allclose(weighted_mean(values, jnp.zeros(3)), 0.0)
    spread = normalised(jnp.asarray([1.0, 5.0, 9.0]), None)
    assert_allclose([jnp.mean(spread), jnp.std(spread)], [0.0, 1.0], atol=1e-6)
    assert_allclose(normalised(jnp.full(4, 3.0), None), 0.0)  # all alike: nothing to prefer


@pytest.mark.parametrize("wrong", [{"lambda_": 1.5}, {"clip_ratio": 0.0}, {"huber_at": 0.0}])
def test_settings_without_meaning_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        LossConfig(**wrong)


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
