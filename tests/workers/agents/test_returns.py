"""Returns and advantages against their definitions in float64, rlax's, and each other."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from workers.agents import returns
from workers.agents import vtrace as corrected_returns

# Compiled, and of few lengths, so that examples cost next to nothing.
gae, vtrace = jax.jit(returns.gae), jax.jit(corrected_returns.vtrace)
n_step_returns = jax.jit(returns.n_step_returns, static_argnames="n")
SEEDS, STEPS = st.integers(0, 2**31), st.sampled_from([1, 2, 12])


def data(seed: int, steps: int, batch: int = 3) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    ends = random.random((steps, batch)) < 0.15
    return {
        "value": random.normal(size=(steps + 1, batch)).astype(np.float32),
        "reward": random.normal(size=(steps, batch)).astype(np.float32),
        "discount": np.where(ends, 0.0, 0.97).astype(np.float32),
    }


def slow_gae(value, reward, discount, lambda_):
    """A_t = Σ_{k≥t} (Π_{t≤i<k} γ_i λ) δ_k, term by term in float64."""
    value, reward, discount = (np.asarray(a, np.float64) for a in (value, reward, discount))
    delta = reward + discount * value[1:] - value[:-1]
    return np.stack(
        [
            sum(np.prod(discount[t:k] * lambda_, axis=0) * delta[k] for k in range(t, len(reward)))
            for t in range(len(reward))
        ]
    )


def slow_n_step(value, reward, discount, n):
    value, reward, discount = (np.asarray(a, np.float64) for a in (value, reward, discount))
    steps = len(reward)
    found = []
    for t in range(steps):
        end = min(t + n, steps)
        earned = sum(np.prod(discount[t:k], axis=0) * reward[k] for k in range(t, end))
        found.append(earned + np.prod(discount[t:end], axis=0) * value[end])
    return np.stack(found)


@given(SEEDS, STEPS, st.floats(0.0, 1.0))
@settings(max_examples=30, deadline=None)
def test_gae_equals_the_definition(seed, steps, lambda_):
    arrays = data(seed, steps)
    assert_allclose(gae(**arrays, lambda_=lambda_), slow_gae(**arrays, lambda_=lambda_), rtol=1e-5, atol=1e-5)


@given(SEEDS, STEPS, st.sampled_from([1, 2, 5, 12, 30]))
@settings(max_examples=30, deadline=None)
def test_n_step_returns_equal_the_definition(seed, steps, n):
    arrays = data(seed, steps)
    assert_allclose(n_step_returns(**arrays, n=n), slow_n_step(**arrays, n=n), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("lambda_", [0.0, 0.7, 1.0])
def test_gae_equals_rlax(rlax_module, lambda_):
    arrays = data(1, 25, 1)
    one = {name: array[:, 0] for name, array in arrays.items()}
    theirs = rlax_module("multistep").truncated_generalized_advantage_estimation(
        one["reward"], one["discount"], lambda_, one["value"]
    )
    assert_allclose(gae(**arrays, lambda_=lambda_)[:, 0], theirs, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("n", [1, 3, 25])
def test_n_step_returns_equal_rlax(rlax_module, n):
    arrays = data(2, 25, 1)
    one = {name: array[:, 0] for name, array in arrays.items()}
    theirs = rlax_module("multistep").n_step_bootstrapped_returns(one["reward"], one["discount"], one["value"][1:], n)
    assert_allclose(n_step_returns(**arrays, n=n)[:, 0], theirs, rtol=1e-5, atol=1e-5)


@given(SEEDS, STEPS)
@settings(max_examples=20, deadline=None)
def test_on_policy_vtrace_gae_and_n_step_returns_agree(seed, steps):
    arrays = data(seed, steps)
    corrected = vtrace(**arrays, log_rho=np.zeros_like(arrays["reward"]))
    whole = n_step_returns(**arrays, n=steps)
    assert_allclose(corrected.target, whole, rtol=1e-5, atol=1e-5)
    assert_allclose(gae(**arrays, lambda_=1.0), whole - arrays["value"][:-1], rtol=1e-5, atol=1e-5)
    assert_allclose(corrected.advantage, gae(**arrays, lambda_=1.0), rtol=1e-5, atol=1e-5)


@given(SEEDS, st.sampled_from([4, 12]))
@settings(max_examples=20, deadline=None)
def test_nothing_behind_an_episode_end_counts(seed, steps):
    arrays = data(seed, steps)
    end = steps // 2
    arrays["discount"][end] = 0.0
    changed = {name: array.copy() for name, array in arrays.items()}
    changed["reward"][end + 1 :] += 5.0
    changed["value"][end + 1 :] -= 3.0
    assert_allclose(gae(**arrays, lambda_=0.9)[: end + 1], gae(**changed, lambda_=0.9)[: end + 1])
    assert_allclose(n_step_returns(**arrays, n=3)[: end + 1], n_step_returns(**changed, n=3)[: end + 1])


def test_shapes_and_n_are_checked():
    arrays = data(1, 5)
    with pytest.raises(ValueError, match="value"):
        returns.gae(arrays["value"][:-1], arrays["reward"], arrays["discount"], 1.0)
    with pytest.raises(ValueError, match="n is 0"):
        returns.n_step_returns(**arrays, n=0)
