"""Policies with a value: observations (T, B, …), recurrent state (B, H), episode starts (T, B) in; logits, values out.

`ShallowNet` and `DeepNet` are IMPALA's (Espeholt et al. 2018, figure 3): about 1.2 M and 1.6 M parameters on 84x84
frames; with a `vocabulary` they read an instruction as well. `graph_network.py` has the one that sees the netlist.
`PlacementNet` scores every cell of the placing grid by convolutions, so that what is learned in one place holds in all.
`MlpNet` serves small known tasks. Time and batch are folded for all but the LSTM, which alone runs step by step.
`dtype` is what layers compute in; parameters, recurrent state and outputs are float32 whatever it is.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp

from placement.env.types import Map
from workers.agents.types import InstructedObservation, MapObservation, RecurrentState, VectorObservation

COARSE = 8  # side of PlacementNet's coarse grid
Dtype = Any  # jnp.float32 or jnp.bfloat16


class Outputs(NamedTuple):
    logits: jax.Array  # (T, B, A), not masked
    value: jax.Array  # (T, B)
    state: RecurrentState  # (B, H) after step T-1


class ResetLSTM(nn.Module):
    """LSTM over time that forgets at episode starts: (T, B, V), state, (T, B) bool → (T, B, H), state.

    The cell adds up over a whole episode, so state and output stay float32.
    """

    width: int
    dtype: Dtype = jnp.float32

    @nn.compact
    def __call__(self, inputs: jax.Array, state: RecurrentState, first: jax.Array) -> tuple[jax.Array, RecurrentState]:
        gates = nn.Dense(4 * self.width, dtype=self.dtype, name="input")(inputs)  # all steps at once
        recurrent = self.param("recurrent", nn.initializers.orthogonal(), (self.width, 4 * self.width))

        def step(
            carry: tuple[jax.Array, jax.Array], at: tuple[jax.Array, jax.Array]
        ) -> tuple[tuple[jax.Array, jax.Array], jax.Array]:
            gates_t, first_t = at
            keep = 1.0 - first_t[:, None].astype(jnp.float32)
            hidden, cell = carry[0] * keep, carry[1] * keep
            gates_t = gates_t + hidden.astype(self.dtype) @ recurrent.astype(self.dtype)
            i, g, f, o = jnp.split(gates_t.astype(jnp.float32), 4, axis=-1)
            cell = jax.nn.sigmoid(f + 1.0) * cell + jax.nn.sigmoid(i) * jnp.tanh(g)  # +1: remember at the start
            hidden = jax.nn.sigmoid(o) * jnp.tanh(cell)
            return (hidden, cell), hidden

        (hidden, cell), outputs = jax.lax.scan(step, (state.hidden, state.cell), (gates, first))
        return outputs, RecurrentState(hidden, cell)


def initial_state(width: int, count: int) -> RecurrentState:
    """State before the first episode, (count, width) zeros."""
    return RecurrentState(jnp.zeros((count, width), jnp.float32), jnp.zeros((count, width), jnp.float32))


def value_head(core: jax.Array, dtype: Dtype = jnp.float32) -> jax.Array:
    value: jax.Array = nn.Dense(1, dtype=dtype, name="value", kernel_init=nn.initializers.orthogonal(0.1))(core)
    return value[..., 0].astype(jnp.float32)


def policy_head(actions: int, core: jax.Array, dtype: Dtype) -> jax.Array:
    layer = nn.Dense(actions, dtype=dtype, name="policy", kernel_init=nn.initializers.orthogonal(0.01))
    logits: jax.Array = layer(core)
    return logits.astype(jnp.float32)


class MlpNet(nn.Module):
    """Two layers and an optional LSTM (lstm_width 0: none; the state then passes through)."""

    actions: int
    width: int = 64
    lstm_width: int = 0
    dtype: Dtype = jnp.float32

    @nn.compact
    def __call__(self, observation: VectorObservation, state: RecurrentState, first: jax.Array) -> Outputs:
        core = observation.features
        for number in range(2):
            core = jnp.tanh(nn.Dense(self.width, dtype=self.dtype, name=f"hidden_{number}")(core))
        if self.lstm_width:
            core, state = ResetLSTM(self.lstm_width, self.dtype, name="lstm")(core, state, first)
        return Outputs(policy_head(self.actions, core, self.dtype), value_head(core, self.dtype), state)


class InstructionEncoder(nn.Module):
    """Words → one vector: an embedding and a small LSTM, whose state after the last word is taken.

    tokens (T, B, L) int32, 0 = no word, behind the last one only → (T, B, width); zeros where there is none.
    """

    vocabulary: int  # tokens are in [0, vocabulary)
    embedding: int = 20
    width: int = 64
    dtype: Dtype = jnp.float32

    @nn.compact
    def __call__(self, tokens: jax.Array) -> jax.Array:
        steps, batch, length = tokens.shape
        folded = jnp.asarray(tokens).reshape(steps * batch, length)
        words = nn.Embed(self.vocabulary, self.embedding, dtype=self.dtype, name="embedding")(folded)
        count = jnp.sum(folded > 0, axis=-1)
        reader = nn.RNN(nn.OptimizedLSTMCell(self.width, dtype=self.dtype, name="lstm"), return_carry=True)
        (_, hidden), _ = reader(words, seq_lengths=jnp.maximum(count, 1))
        return (hidden * (count > 0)[:, None]).astype(jnp.float32).reshape(steps, batch, self.width)


def _recurrent_head(
    core: jax.Array,
    observation: MapObservation | InstructedObservation,
    state: RecurrentState,
    first: jax.Array,
    net: ShallowNet | DeepNet,
) -> Outputs:
    """What both of IMPALA's networks end in: frames' vector, features and instruction → LSTM → policy and value."""
    read = [core, observation.features]
    if net.vocabulary:
        assert isinstance(observation, InstructedObservation)
        read.append(InstructionEncoder(net.vocabulary, dtype=net.dtype, name="instruction")(observation.tokens))
    core, state = ResetLSTM(net.lstm_width, net.dtype, name="lstm")(jnp.concatenate(read, axis=-1), state, first)
    return Outputs(policy_head(net.actions, core, net.dtype), value_head(core, net.dtype), state)


class ShallowNet(nn.Module):
    """IMPALA's shallow network. maps (T, B, C, 84, 84) uint8 in the published setting; any size from 36x36 works."""

    actions: int
    lstm_width: int = 256
    vocabulary: int = 0  # 0: no instruction
    dtype: Dtype = jnp.float32

    @nn.compact
    def __call__(
        self, observation: MapObservation | InstructedObservation, state: RecurrentState, first: jax.Array
    ) -> Outputs:
        frames = channels_last(observation.maps)
        frames = nn.relu(nn.Conv(16, (8, 8), (4, 4), padding="VALID", dtype=self.dtype, name="conv_0")(frames))
        frames = nn.relu(nn.Conv(32, (4, 4), (2, 2), padding="VALID", dtype=self.dtype, name="conv_1")(frames))
        core = nn.relu(nn.Dense(256, dtype=self.dtype, name="hidden")(frames.reshape(*first.shape, -1)))
        return _recurrent_head(core, observation, state, first, self)


class DeepNet(nn.Module):
    """IMPALA's deep network: 15 convolutions in stacks of 16, 32, 32 channels, each a convolution, a pooling by 2 and
    two residual blocks of two. maps (T, B, C, S, S) uint8, S from 8; 84 in the published setting."""

    actions: int
    lstm_width: int = 256
    vocabulary: int = 0  # 0: no instruction
    dtype: Dtype = jnp.float32

    @nn.compact
    def __call__(
        self, observation: MapObservation | InstructedObservation, state: RecurrentState, first: jax.Array
    ) -> Outputs:
        frames = channels_last(observation.maps)
        for stack, channels in enumerate((16, 32, 32)):

            def conv(name: str, inputs: jax.Array, stack: int = stack, channels: int = channels) -> jax.Array:
                made: jax.Array = nn.Conv(channels, (3, 3), dtype=self.dtype, name=f"stack_{stack}_{name}")(inputs)
                return made

            frames = nn.max_pool(conv("conv", frames), (3, 3), (2, 2), padding="SAME")
            for block in range(2):
                inner = conv(f"block_{block}_0", nn.relu(frames))
                frames = frames + conv(f"block_{block}_1", nn.relu(inner))
        core = nn.relu(nn.Dense(256, dtype=self.dtype, name="hidden")(nn.relu(frames).reshape(*first.shape, -1)))
        return _recurrent_head(core, observation, state, first, self)


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
    dtype: Dtype = jnp.float32

    @nn.compact
    def __call__(self, observation: MapObservation, state: RecurrentState, first: jax.Array) -> Outputs:
        dense = functools.partial(nn.Dense, dtype=self.dtype)
        steps, batch = first.shape
        side = observation.maps.shape[-1]
        maps = channels_last(observation.maps)
        features = observation.features
        block = side // COARSE
        coarse = nn.avg_pool(maps, (block, block), (block, block))  # (T*B, 8, 8, C)

        core = nn.relu(dense(self.width, name="hidden")(coarse.reshape(steps, batch, -1)))
        core = jnp.concatenate([core, features], axis=-1)
        core, state = ResetLSTM(self.lstm_width, self.dtype, name="lstm")(core, state, first)
        core = jnp.concatenate([core, features], axis=-1)
        value = value_head(nn.relu(dense(self.width, name="value_hidden")(core)), self.dtype)
        core = core.reshape(steps * batch, -1)

        cells = dense(self.channels, name="cells_0")(jnp.concatenate([maps, places(maps[..., Map.CANVAS])], axis=-1))
        cells = _add_coarse(cells, dense(self.channels, use_bias=False, name="surroundings")(coarse))
        cells = nn.relu(cells + dense(self.channels, name="shift")(core)[:, None, None])
        weight = dense(self.channels, name="weight", kernel_init=nn.initializers.normal(0.01))(core)
        scores = jnp.sum(cells * weight[:, None, None], axis=-1, keepdims=True)
        own = dense(COARSE * COARSE, name="coarse_scores", kernel_init=nn.initializers.normal(0.01))(core)
        scores = _add_coarse(scores, own.reshape(-1, COARSE, COARSE, 1))
        return Outputs(scores.reshape(steps, batch, -1).astype(jnp.float32), value, state)


def _add_coarse(cells: jax.Array, coarse: jax.Array) -> jax.Array:
    """(N, S, S, C) plus (N, 8, 8, C), each entry of which belongs to a block of cells."""
    number, side, _, channels = cells.shape
    block = side // COARSE
    blocks = cells.reshape(number, COARSE, block, COARSE, block, channels)
    return (blocks + coarse[:, :, None, :, None]).reshape(cells.shape)


def places(canvas: jax.Array) -> jax.Array:
    """Where each cell lies: (N, S, S) map of the canvas → (N, S, S, 3): x, y and distance to the edge, 0 to 1."""
    side = canvas.shape[-1]
    columns = jnp.maximum(1.0, canvas.max(axis=1).sum(axis=-1))[:, None, None]
    rows = jnp.maximum(1.0, canvas.max(axis=2).sum(axis=-1))[:, None, None]
    centre = jnp.arange(side) + 0.5
    x = jnp.broadcast_to(centre[None, None, :] / columns, canvas.shape)
    y = jnp.broadcast_to(centre[None, :, None] / rows, canvas.shape)
    edge = 2.0 * jnp.minimum(jnp.minimum(x, 1.0 - x), jnp.minimum(y, 1.0 - y))
    return jnp.stack([x, y, edge], axis=-1) * canvas[..., None]


def channels_last(maps: jax.Array) -> jax.Array:
    """(T, B, C, S, S) uint8 → (T*B, S, S, C) float32 in [0, 1]."""
    folded = maps.reshape(-1, *maps.shape[2:])
    return jnp.moveaxis(folded, 1, -1).astype(jnp.float32) / 255.0


def parameter_count(params: Any) -> int:
    return sum(leaf.size for leaf in jax.tree.leaves(params))
