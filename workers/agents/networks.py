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

from placement.env.types import Map
from workers.agents.types import MapObservation, RecurrentState, VectorObservation

COARSE = 8  # side of PlacementNet's coarse grid


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
    """A score for each cell of the placing grid, and a value. Any side divisible by 8.

    What speaks for a cell stands in its maps, in those of its surroundings (means of 1/8 of the side) and in where it
    lies on the canvas, so one small layer serves all cells (a 1x1 convolution: on a CPU a tenth of the time of 3x3
    ones). What is placed and which macro is at hand goes through a fully connected layer and the LSTM; their output
    shifts the cells' channels, weights them, and adds a score of 8x8 places of its own.
    """

    channels: int = 16
    width: int = 128
    lstm_width: int = 64

    @nn.compact
    def __call__(self, observation: MapObservation, state: RecurrentState, first: jax.Array) -> Outputs:
        steps, batch = first.shape
        side = observation.maps.shape[-1]
        maps = _channels_last(observation.maps)
        features = observation.features
        block = side // COARSE
        coarse = nn.avg_pool(maps, (block, block), (block, block))  # (T*B, 8, 8, C)

        core = nn.relu(nn.Dense(self.width, name="hidden")(coarse.reshape(steps, batch, -1)))
        core = jnp.concatenate([core, features], axis=-1)
        core, state = ResetLSTM(self.lstm_width, name="lstm")(core, state, first)
        core = jnp.concatenate([core, features], axis=-1)
        value = _value_head(nn.relu(nn.Dense(self.width, name="value_hidden")(core)))
        core = core.reshape(steps * batch, -1)

        cells = nn.Dense(self.channels, name="cells_0")(
            jnp.concatenate([maps, _places(maps[..., Map.CANVAS])], axis=-1)
        )
        cells = _add_coarse(cells, nn.Dense(self.channels, use_bias=False, name="surroundings")(coarse))
        cells = nn.relu(cells + nn.Dense(self.channels, name="shift")(core)[:, None, None])
        weight = nn.Dense(self.channels, name="weight", kernel_init=nn.initializers.normal(0.01))(core)
        scores = jnp.sum(cells * weight[:, None, None], axis=-1, keepdims=True)
        own = nn.Dense(COARSE * COARSE, name="coarse_scores", kernel_init=nn.initializers.normal(0.01))(core)
        scores = _add_coarse(scores, own.reshape(-1, COARSE, COARSE, 1))
        return Outputs(scores.reshape(steps, batch, -1), value, state)


def _add_coarse(cells: jax.Array, coarse: jax.Array) -> jax.Array:
    """(N, S, S, C) plus (N, 8, 8, C), each entry of which belongs to a block of cells."""
    number, side, _, channels = cells.shape
    block = side // COARSE
    blocks = cells.reshape(number, COARSE, block, COARSE, block, channels)
    return (blocks + coarse[:, :, None, :, None]).reshape(cells.shape)


def _places(canvas: jax.Array) -> jax.Array:
    """Where each cell lies: (N, S, S) map of the canvas → (N, S, S, 3): x, y and distance to the edge, 0 to 1."""
    side = canvas.shape[-1]
    columns = jnp.maximum(1.0, canvas.max(axis=1).sum(axis=-1))[:, None, None]
    rows = jnp.maximum(1.0, canvas.max(axis=2).sum(axis=-1))[:, None, None]
    centre = jnp.arange(side) + 0.5
    x = jnp.broadcast_to(centre[None, None, :] / columns, canvas.shape)
    y = jnp.broadcast_to(centre[None, :, None] / rows, canvas.shape)
    edge = 2.0 * jnp.minimum(jnp.minimum(x, 1.0 - x), jnp.minimum(y, 1.0 - y))
    return jnp.stack([x, y, edge], axis=-1) * canvas[..., None]


def _channels_last(maps: jax.Array) -> jax.Array:
    """(T, B, C, S, S) uint8 → (T*B, S, S, C) float32 in [0, 1]."""
    folded = maps.reshape(-1, *maps.shape[2:])
    return jnp.moveaxis(folded, 1, -1).astype(jnp.float32) / 255.0


def parameter_count(params: Any) -> int:
    return sum(leaf.size for leaf in jax.tree.leaves(params))
