"""PopArt: what is kept when the units change, the moments, rlax's."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from workers.agents.popart import LEAST_SPREAD, ValueScale, preserve, preserve_values, track, unit_scale


def scale(mean: float, spread: float) -> ValueScale:
    return ValueScale(jnp.float32(mean), jnp.float32(mean**2 + spread**2))


@given(st.integers(0, 2**31), st.floats(-50, 50), st.floats(0.1, 50), st.floats(-50, 50), st.floats(0.1, 50))
@settings(max_examples=40, deadline=None)
def test_values_stay_when_their_units_change(seed, mean, spread, new_mean, new_spread):
    random = np.random.default_rng(seed)
    core, head = random.normal(size=(7, 5)), {"kernel": random.normal(size=(5, 1)), "bias": random.normal(size=1)}
    old, new = scale(mean, spread), scale(new_mean, new_spread)
    after = preserve(head, old, new)
    before_values = old.unnormalise(core @ head["kernel"] + head["bias"])
    assert_allclose(
        new.unnormalise(core @ after["kernel"] + after["bias"]), before_values, rtol=1e-3, atol=1e-3 * new_spread
    )


def test_only_the_value_layer_is_rewritten():
    params = {
        "params": {"value": {"kernel": jnp.ones((2, 1)), "bias": jnp.zeros(1)}, "policy": {"kernel": jnp.ones(3)}}
    }
    after = preserve_values(params, unit_scale(), scale(1.0, 2.0))
    assert_allclose(after["params"]["policy"]["kernel"], 1.0)
    assert_allclose(after["params"]["value"]["kernel"], 0.5)
    assert_allclose(after["params"]["value"]["bias"], -0.5)


def test_moments_approach_those_of_the_targets():
    targets = np.random.default_rng(0).normal(30.0, 4.0, size=1000).astype(np.float32)
    now = unit_scale()
    for _ in range(400):
        now = track(now, targets, 0.05)
    assert_allclose(now.mean, targets.mean(), rtol=1e-4)
    assert_allclose(now.spread, targets.std(), rtol=1e-2)
    assert_allclose(now.normalise(now.unnormalise(jnp.float32(3.0))), 3.0, rtol=1e-5)


def test_equal_targets_have_a_least_spread():
    now = unit_scale()
    for _ in range(400):
        now = track(now, jnp.full(10, 2.0), 0.1)
    assert_allclose(now.spread, LEAST_SPREAD)


def test_equals_rlax(rlax_module):
    theirs = rlax_module("pop_art")
    random = np.random.default_rng(3)
    targets = random.normal(5.0, 3.0, size=(16, 1)).astype(np.float32)
    head = {"kernel": random.normal(size=(4, 1)).astype(np.float32), "bias": np.float32([0.3])}
    # theirs adds the updates of all targets up, ours takes their mean
    initial, update = theirs.popart(num_outputs=1, step_size=0.1 / 16, scale_lb=LEAST_SPREAD, scale_ub=1e6)
    state = initial()
    params = {"w": head["kernel"], "b": head["bias"]}
    now = unit_scale()
    for _ in range(3):
        params, state = update(params, state, targets, np.zeros_like(targets, int))
        after = track(now, targets, 0.1)
        head = preserve(head, now, after)
        now = after
    assert_allclose(now.mean, state.shift[0], rtol=1e-5)
    assert_allclose(now.spread, state.scale[0], rtol=1e-5)
    assert_allclose(head["kernel"], params["w"], rtol=1e-4)
    assert_allclose(head["bias"], params["b"], rtol=1e-4)
