"""V-trace against its definition in float64, rlax's implementation, and what it must be on-policy."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from workers.agents import vtrace as module

vtrace = jax.jit(module.vtrace)  # and few lengths below, so that examples cost next to nothing
STEPS = st.sampled_from([1, 2, 12, 30])


def reference(value, reward, discount, log_rho, clip_rho=1.0, clip_c=1.0, lambda_=1.0):
    """v_s = V(x_s) + Σ_{t≥s} (Π_{s≤i<t} γ_i c_i) δ_t, term by term in float64."""
    value, reward, discount, ratio = (np.asarray(a, np.float64) for a in (value, reward, discount, np.exp(log_rho)))
    steps = len(reward)
    rho, c = np.minimum(clip_rho, ratio), lambda_ * np.minimum(clip_c, ratio)
    delta = rho * (reward + discount * value[1:] - value[:-1])
    target = value[:-1].copy()
    for s in range(steps):
        for t in range(s, steps):
            target[s] += np.prod(discount[s:t] * c[s:t], axis=0) * delta[t]
    following = np.concatenate([target[1:], value[-1:]])
    return target, np.minimum(1.0, ratio) * (reward + discount * following - value[:-1])


def data(seed: int, steps: int, batch: int, lag: float = 0.5) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    ends = random.random((steps, batch)) < 0.15
    return {
        "value": random.normal(size=(steps + 1, batch)).astype(np.float32),
        "reward": random.normal(size=(steps, batch)).astype(np.float32),
        "discount": np.where(ends, 0.0, 0.97).astype(np.float32),
        "log_rho": (lag * random.normal(size=(steps, batch))).astype(np.float32),
    }


@given(st.integers(0, 2**31), STEPS, st.floats(0.3, 3.0), st.floats(0.3, 3.0), st.floats(0.0, 1.0))
@settings(max_examples=30, deadline=None)
def test_equals_the_definition(seed, steps, clip_rho, clip_c, lambda_):
    arrays = data(seed, steps, 3)
    got = vtrace(**arrays, clip_rho=clip_rho, clip_c=clip_c, lambda_=lambda_)
    target, advantage = reference(**arrays, clip_rho=clip_rho, clip_c=clip_c, lambda_=lambda_)
    assert_allclose(got.target, target, rtol=2e-5, atol=2e-5)
    assert_allclose(got.advantage, advantage, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("lambda_", [1.0, 0.9, 0.0])
def test_equals_rlax(rlax_module, seed, lambda_):
    arrays = data(seed, 25, 1)
    theirs = rlax_module("vtrace").vtrace_td_error_and_advantage(
        arrays["value"][:-1, 0],
        arrays["value"][1:, 0],
        arrays["reward"][:, 0],
        arrays["discount"][:, 0],
        np.exp(arrays["log_rho"][:, 0]),
        lambda_,
    )
    ours = vtrace(**arrays, lambda_=lambda_)
    assert_allclose(ours.target[:, 0] - arrays["value"][:-1, 0], theirs.errors, rtol=1e-5, atol=1e-5)
    if lambda_ == 1.0:  # rlax mixes v and q by λ in its advantage; the paper's, and ours, is r + γ v' - V
        assert_allclose(ours.advantage[:, 0], theirs.pg_advantage, rtol=1e-5, atol=1e-5)


@given(st.integers(0, 2**31), STEPS)
@settings(max_examples=20, deadline=None)
def test_on_policy_targets_are_n_step_returns(seed, steps):
    arrays = data(seed, steps, 2, lag=0.0)
    returns = np.zeros((steps + 1, 2))
    returns[-1] = arrays["value"][-1]
    for t in reversed(range(steps)):
        returns[t] = arrays["reward"][t] + arrays["discount"][t] * returns[t + 1]
    assert_allclose(vtrace(**arrays).target, returns[:-1], rtol=1e-5, atol=1e-5)


def test_nothing_after_an_episode_end_counts():
    arrays = data(3, 20, 2)
    arrays["discount"][9] = 0.0
    changed = {name: array.copy() for name, array in arrays.items()}
    changed["reward"][10:] += 5.0
    changed["value"][10:] -= 3.0
    before, after = vtrace(**arrays), vtrace(**changed)
    assert_allclose(before.target[:10], after.target[:10])
    assert_allclose(before.advantage[:10], after.advantage[:10])
    assert not np.allclose(before.target[10:], after.target[10:])


def test_no_gradient_flows_through():
    arrays = data(1, 10, 2)

    def total(value):
        got = vtrace(**{**arrays, "value": value})
        return got.target.sum() + got.advantage.sum()

    assert_allclose(jax.grad(total)(arrays["value"]), 0.0)


def test_shapes_are_checked():
    arrays = data(1, 10, 2)
    with pytest.raises(ValueError, match="value"):
        module.vtrace(**{**arrays, "value": arrays["value"][:-1]})
