"""Policies with a value: observations (T, B, …), recurrent state (B, H), episode starts (T, B) in; logits, values out.

`ShallowNet` is IMPALA's shallow network (Espeholt et al. 2018, figure 3 left): about 1.2 M parameters on 84x84 frames.
`PlacementNet` scores every cell of the placing grid by convolutions, so that what is learned in one place holds in all.
`MlpNet` serves small known tasks. Time and batch are folded for all but the LSTM, which alone runs step by step.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp

from workers.agents.types import MapObservation, RecurrentState, VectorObservation


class Outputs(NamedTuple):
    logits: jax.Array  # (T, B, A), not masked
    value: jax.Array  # (T, B)
    state: RecurrentState  # (B, H) after step T-1


class ResetLSTM(nn.Module):
    """LSTM over time that forgets at episode starts: (T, B, V), state, (T, B) bool → (T, B, H), state."""

    width: int

    @nn.compact
    def __call__(self, inputs: jax.Array, state: RecurrentState, first: jax.Array) -> tuple[jax.Array, RecurrentState]:
        gates = nn.Dense(4 * self.width, name="input")(inputs)  # all steps at once
        recurrent = self.param("recurrent", nn.initializers.orthogonal(), (self.width, 4 * self.width))

        def step(
            carry: tuple[jax.Array, jax.Array], at: tuple[jax.Array, jax.Array]
        ) -> tuple[tuple[jax.Array, jax.Array], jax.Array]:
            gates_t, first_t = at
            keep = 1.0 - first_t[:, None].astype(gates_t.dtype)
            hidden, cell = carry[0] * keep, carry[1] * keep
            i, g, f, o = jnp.split(gates_t + hidden @ recurrent, 4, axis=-1)
            cell = jax.nn.sigmoid(f + 1.0) * cell + jax.nn.sigmoid(i) * jnp.tanh(g)  # +1: remember at the start
            hidden = jax.nn.sigmoid(o) * jnp.tanh(cell)
            return (hidden, cell), hidden

        (hidden, cell), outputs = jax.lax.scan(step, (state.hidden, state.cell), (gates, first))
        return outputs, RecurrentState(hidden, cell)


def initial_state(width: int, count: int) -> RecurrentState:
    """State before the first episode, (count, width) zeros."""
    return RecurrentState(jnp.zeros((count, width), jnp.float32), jnp.zeros((count, width), jnp.float32))


def _value_head(core: jax.Array) -> jax.Array:
    return nn.Dense(1, name="value", kernel_init=nn.initializers.orthogonal(0.1))(core)[..., 0]


class MlpNet(nn.Module):
    """Two layers and an optional LSTM (lstm_width 0: none; the state then passes through)."""

    actions: int
    width: int = 64
    lstm_width: int = 0

    @nn.compact
    def __call__(self, observation: VectorObservation, state: RecurrentState, first: jax.Array) -> Outputs:
        core = observation.features
        for number in range(2):
            core = jnp.tanh(nn.Dense(self.width, name=f"hidden_{number}")(core))
        if self.lstm_width:
            core, state = ResetLSTM(self.lstm_width, name="lstm")(core, state, first)
        logits = nn.Dense(self.actions, name="policy", kernel_init=nn.initializers.orthogonal(0.01))(core)
        return Outputs(logits, _value_head(core), state)


class ShallowNet(nn.Module):
    """IMPALA's shallow network. maps (T, B, C, 84, 84) uint8 in the published setting; any size from 36x36 works."""

    actions: int
    lstm_width: int = 256

    @nn.compact
    def __call__(self, observation: MapObservation, state: RecurrentState, first: jax.Array) -> Outputs:
        steps, batch = first.shape
        frames = _channels_last(observation.maps)
        frames = nn.relu(nn.Conv(16, (8, 8), (4, 4), padding="VALID", name="conv_0")(frames))
        frames = nn.relu(nn.Conv(32, (4, 4), (2, 2), padding="VALID", name="conv_1")(frames))
        core = nn.relu(nn.Dense(256, name="hidden")(frames.reshape(steps, batch, -1)))
        core = jnp.concatenate([core, observation.features], axis=-1)
        core, state = ResetLSTM(self.lstm_width, name="lstm")(core, state, first)
        logits = nn.Dense(self.actions, name="policy", kernel_init=nn.initializers.orthogonal(0.01))(core)
        return Outputs(logits, _value_head(core), state)


class PlacementNet(nn.Module):
    """A score for each cell of the placing grid, and a value. Works on any side divisible by 4; no weight depends on it
    but the one layer that reads the shrunken maps.

    Two convolutions keep the grid; two more shrink it for the fully connected layer and the LSTM, whose output
    (macro at hand, what is placed) shifts the channels of the full grid before the cell scores are read off.
    """

    channels: int = 16
    width: int = 128
    lstm_width: int = 64

    @nn.compact
    def __call__(self, observation: MapObservation, state: RecurrentState, first: jax.Array) -> Outputs:
        steps, batch = first.shape
        maps = _channels_last(observation.maps)
        features = observation.features
        grid = nn.relu(nn.Conv(self.channels, (3, 3), name="conv_0")(maps))
        small = nn.relu(nn.Conv(2 * self.channels, (3, 3), (2, 2), name="shrink_0")(grid))
        small = nn.relu(nn.Conv(2 * self.channels, (3, 3), (2, 2), name="shrink_1")(small))
        core = nn.relu(nn.Dense(self.width, name="hidden")(small.reshape(steps, batch, -1)))
        core = jnp.concatenate([core, features], axis=-1)
        core, state = ResetLSTM(self.lstm_width, name="lstm")(core, state, first)
        core = jnp.concatenate([core, features], axis=-1)
        shift = nn.Dense(self.channels, name="shift")(core).reshape(steps * batch, 1, 1, self.channels)
        gain = nn.Dense(self.channels, name="gain", kernel_init=nn.initializers.zeros)(core)
        gain = gain.reshape(steps * batch, 1, 1, self.channels)
        grid = nn.Conv(self.channels, (3, 3), name="conv_1")(grid) * (1.0 + gain) + shift
        joined = jnp.concatenate([nn.relu(grid), maps], axis=-1)
        cells = nn.Conv(1, (1, 1), name="cells", kernel_init=nn.initializers.normal(0.01))(joined)
        return Outputs(cells.reshape(steps, batch, -1), _value_head(core), state)


def _channels_last(maps: jax.Array) -> jax.Array:
    """(T, B, C, S, S) uint8 → (T*B, S, S, C) float32 in [0, 1]."""
    folded = maps.reshape(-1, *maps.shape[2:])
    return jnp.moveaxis(folded, 1, -1).astype(jnp.float32) / 255.0


def parameter_count(params: Any) -> int:
    return sum(leaf.size for leaf in jax.tree.leaves(params))
