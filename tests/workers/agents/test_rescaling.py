"""Value rescaling: each other's inverse, the published formula, rlax's."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from workers.agents import rescaling

rescale, unscale = jax.jit(rescaling.rescale), jax.jit(rescaling.unscale)

VALUES = np.concatenate([[0.0], np.logspace(-4, 6, 41), -np.logspace(-4, 6, 41)])


def slow(x, epsilon=1e-3):
    x = np.asarray(x, np.float64)
    return np.sign(x) * (np.sqrt(np.abs(x) + 1) - 1) + epsilon * x


def slow_inverse(y, epsilon=1e-3):
    y = np.asarray(y, np.float64)
    root = (np.sqrt(1 + 4 * epsilon * (np.abs(y) + 1 + epsilon)) - 1) / (2 * epsilon)
    return np.sign(y) * (root**2 - 1)


@pytest.mark.parametrize("epsilon", [1e-3, 0.01, 0.1])
def test_equals_the_published_formulas(epsilon):
    assert_allclose(rescale(VALUES.astype(np.float32), epsilon), slow(VALUES, epsilon), rtol=1e-5)
    scaled = slow(VALUES, epsilon)
    # The twin itself loses digits near 0: squares of differences of nearly equal numbers.
    assert_allclose(unscale(scaled.astype(np.float32), epsilon), slow_inverse(scaled, epsilon), rtol=1e-5, atol=1e-10)


@given(st.floats(-1e6, 1e6))
@settings(max_examples=100, deadline=None)
def test_there_and_back(x):
    x = np.float32(x)
    assert_allclose(unscale(rescale(x)), x, rtol=1e-5, atol=1e-30)


def test_equals_rlax(rlax_module):
    transforms = rlax_module("transforms")
    values = VALUES.astype(np.float32)
    assert_allclose(rescale(values), transforms.signed_hyperbolic(values), rtol=1e-4, atol=1e-6)
    assert_allclose(
        unscale(values[np.abs(values) > 1]), transforms.signed_parabolic(values[np.abs(values) > 1]), rtol=1e-3
    )


def test_gradients_are_finite_at_zero():
    assert np.isfinite(jax.grad(rescale)(0.0))
    assert np.isfinite(jax.grad(unscale)(0.0))
