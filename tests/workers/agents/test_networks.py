"""Shapes, sizes and the properties that networks promise."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from placement.env.types import FEATURE_COUNT, MAP_COUNT, Map
from workers.agents.networks import (
    MlpNet,
    PlacementNet,
    ResetLSTM,
    ShallowNet,
    initial_state,
    parameter_count,
)
from workers.agents.types import MapObservation, RecurrentState, VectorObservation


def observation(steps: int, batch: int, channels: int, side: int, features: int, actions: int) -> MapObservation:
    random = np.random.default_rng(0)
    maps = random.integers(0, 256, size=(steps, batch, channels, side, side), dtype=np.uint8)
    return MapObservation(
        maps, random.random((steps, batch, features), np.float32), np.ones((steps, batch, actions), bool)
    )


def test_shallow_net_has_the_published_size_in_its_published_setting():
    """84x84 frames, 4 of them stacked, no further features, 18 actions (Atari): about 1.2 M parameters."""
    net = ShallowNet(actions=18)
    seen = observation(1, 1, 4, 84, 0, 18)
    params = jax.eval_shape(net.init, jax.random.key(0), seen, initial_state(256, 1), jnp.ones((1, 1), bool))
    assert abs(parameter_count(params) / 1.2e6 - 1) < 0.1


@pytest.mark.parametrize("side", [16, 32])
def test_placement_net_shapes(side):
    net = PlacementNet(lstm_width=16)
    seen = observation(3, 2, MAP_COUNT, side, FEATURE_COUNT, side * side)
    params = jax.jit(net.init)(jax.random.key(0), seen, initial_state(16, 2), jnp.ones((3, 2), bool))
    outputs = jax.jit(net.apply)(params, seen, initial_state(16, 2), jnp.ones((3, 2), bool))
    assert outputs.logits.shape == (3, 2, side * side)
    assert outputs.value.shape == (3, 2)
    assert outputs.state.hidden.shape == outputs.state.cell.shape == (2, 16)
    assert np.std(outputs.logits) < 0.5  # starts near the uniform policy


def test_placement_net_weights_fit_any_side():
    net = PlacementNet()
    counts = set()
    for side in (16, 32, 64):
        seen = observation(1, 1, MAP_COUNT, side, FEATURE_COUNT, side * side)
        params = jax.eval_shape(net.init, jax.random.key(0), seen, initial_state(64, 1), jnp.ones((1, 1), bool))
        counts.add(parameter_count(params))
    assert len(counts) == 1


def test_placement_net_scores_follow_the_maps():
    """A change of one cell's own map changes the scores of its surroundings; all cells look alike to the network."""
    net = PlacementNet()
    seen = observation(1, 1, MAP_COUNT, 16, FEATURE_COUNT, 256)
    params = jax.jit(net.init)(jax.random.key(1), seen, initial_state(64, 1), jnp.ones((1, 1), bool))
    changed = seen.maps.copy()
    changed[0, 0, Map.WIRE, 3, 5] ^= 255

    def scores(maps):
        outputs = jax.jit(net.apply)(params, seen._replace(maps=maps), initial_state(64, 1), jnp.ones((1, 1), bool))
        return np.asarray(outputs.logits).reshape(16, 16)

    difference = np.abs(scores(changed) - scores(seen.maps))
    assert difference[3, 5] == difference.max() > 0


@pytest.mark.parametrize("lstm_width", [0, 8])
def test_mlp_net_shapes(lstm_width):
    net = MlpNet(actions=2, lstm_width=lstm_width)
    seen = VectorObservation(np.zeros((5, 3, 4), np.float32), np.ones((5, 3, 2), bool))
    state = initial_state(lstm_width, 3)
    params = jax.jit(net.init)(jax.random.key(0), seen, state, jnp.zeros((5, 3), bool))
    outputs = jax.jit(net.apply)(params, seen, state, jnp.zeros((5, 3), bool))
    assert outputs.logits.shape == (5, 3, 2)
    assert outputs.state.hidden.shape == (3, lstm_width)


def test_lstm_forgets_at_episode_starts_and_only_there():
    net = ResetLSTM(8)
    random = np.random.default_rng(0)
    inputs = jnp.asarray(random.normal(size=(6, 2, 3)), jnp.float32)
    first = jnp.zeros((6, 2), bool).at[3, 1].set(True)
    old = RecurrentState(jnp.ones((2, 8)), jnp.ones((2, 8)))
    params = jax.jit(net.init)(jax.random.key(0), inputs, old, first)
    outputs, _ = jax.jit(net.apply)(params, inputs, old, first)
    fresh, _ = jax.jit(net.apply)(params, inputs[3:], initial_state(8, 2), jnp.zeros((3, 2), bool))
    assert_allclose(outputs[3:, 1], fresh[:, 1], rtol=1e-5)
    assert not np.allclose(outputs[3:, 0], fresh[:, 0])


def test_lstm_in_two_halves_is_the_whole():
    net = ResetLSTM(8)
    inputs = jnp.asarray(np.random.default_rng(0).normal(size=(6, 2, 3)), jnp.float32)
    first = jnp.zeros((6, 2), bool).at[0].set(True)
    params = jax.jit(net.init)(jax.random.key(0), inputs, initial_state(8, 2), first)
    whole, end = jax.jit(net.apply)(params, inputs, initial_state(8, 2), first)
    one, state = jax.jit(net.apply)(params, inputs[:3], initial_state(8, 2), first[:3])
    two, last = jax.jit(net.apply)(params, inputs[3:], state, first[3:])
    assert_allclose(whole, jnp.concatenate([one, two]), rtol=1e-5, atol=1e-6)
    assert_allclose(end.cell, last.cell, rtol=1e-5, atol=1e-6)
