"""A policy that sees the netlist: message passing over macros, clusters and ports; a head that upsamples to the grid.

The graph does not change during an episode, so its embedding is made once a call, for every design at hand, and steps
pick from it: the macro to place, the mean of the macros placed before it, the mean of all. Where things stand is in the
observation's maps. Graphs and grids are padded to buckets (placement/env/graph.py, types.py): one set of weights serves
every design, and a second one of the same buckets compiles nothing. Pure; who draws or learns applies the mask.
Source of the idea: Mirhoseini et al. 2021, "A graph placement methodology" (edge-based graph network, deconvolutions).
"""

from __future__ import annotations

import functools

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np

from placement.env.graph import Graph
from placement.env.types import Map
from workers.agents.networks import COARSE, Dtype, Outputs, ResetLSTM, channels_last, places, value_head
from workers.agents.types import GraphObservation, RecurrentState


def stack_graphs(graphs: list[Graph]) -> Graph:
    """Graphs of one bucket, G of them, as the network takes them: leaves (G, …). Raises ValueError for several."""
    shapes = sorted({graph.node.shape for graph in graphs})
    if len(shapes) != 1:
        raise ValueError(f"graphs of different buckets: {shapes}")
    return Graph(*(np.stack(leaves) for leaves in zip(*graphs, strict=True)))


class GraphEncoder(nn.Module):
    """Node embeddings of one design: Graph → (V, width); 0 for padding."""

    width: int = 32
    rounds: int = 3
    dtype: Dtype = jnp.float32

    @nn.compact
    def __call__(self, graph: Graph) -> jax.Array:
        dense = functools.partial(nn.Dense, dtype=self.dtype)
        present = graph.present[:, None].astype(jnp.float32)
        node = nn.relu(dense(self.width, name="node")(graph.node)) * present
        ends, others = graph.link.T
        weight = graph.weight[:, None]
        total = jnp.zeros((len(node), 1)).at[ends].add(weight).at[others].add(weight)
        for number in range(self.rounds):
            # The same in both directions: a link has none.
            link = dense(self.width, name=f"link_{number}")
            forth, back = (
                nn.relu(link(jnp.concatenate([node[a], node[b], weight], axis=-1))) * weight
                for a, b in ((others, ends), (ends, others))
            )
            heard = jnp.zeros_like(node).at[ends].add(forth).at[others].add(back) / jnp.maximum(total, 1e-6)
            change = dense(self.width, name=f"round_{number}")(jnp.concatenate([node, heard], axis=-1))
            node = (node + nn.relu(change)) * present
        return node


class UpsamplingHead(nn.Module):
    """(N, K) and maps (N, S, S, C) → scores (N, S, S): from 8x8 places, doubled until the grid's side is reached.

    Every doubling has the same weights, so that they fit any side: a transposed convolution of 2x2, and what the maps
    say at that size.
    """

    channels: int = 16
    dtype: Dtype = jnp.float32

    @nn.compact
    def __call__(self, core: jax.Array, maps: jax.Array) -> jax.Array:
        dense = functools.partial(nn.Dense, dtype=self.dtype)
        count, side = maps.shape[:2]
        grid = nn.relu(dense(COARSE * COARSE * self.channels, name="places")(core))
        grid = grid.reshape(count, COARSE, COARSE, self.channels)
        double, look = dense(4 * self.channels, name="double"), dense(self.channels, name="look")
        size = COARSE
        while size < side:
            wide = double(grid).reshape(count, size, size, 2, 2, self.channels)
            size *= 2
            grid = jnp.moveaxis(wide, 3, 2).reshape(count, size, size, self.channels)
            block = side // size
            grid = nn.relu(grid + look(nn.avg_pool(maps, (block, block), (block, block))))
        weight = dense(self.channels, name="weight", kernel_init=nn.initializers.normal(0.01))(core)
        return jnp.sum(grid * weight[:, None, None], axis=-1)


class GraphPlacementNet(nn.Module):
    """Placement policy over maps and graph. Grid sides 16, 32, 64 and 128; graphs (G, …), see `stack_graphs`."""

    channels: int = 16
    width: int = 128
    lstm_width: int = 64
    graph_width: int = 32
    dtype: Dtype = jnp.float32

    @nn.compact
    def __call__(
        self, observation: GraphObservation, state: RecurrentState, first: jax.Array, graphs: Graph
    ) -> Outputs:
        dense = functools.partial(nn.Dense, dtype=self.dtype)
        steps, batch = first.shape
        maps = channels_last(observation.maps)
        maps = jnp.concatenate([maps, places(maps[..., Map.CANVAS])], axis=-1)
        block = maps.shape[1] // COARSE
        coarse = nn.avg_pool(maps, (block, block), (block, block))

        encoder = nn.vmap(GraphEncoder, variable_axes={"params": None}, split_rngs={"params": False})
        nodes = encoder(self.graph_width, dtype=self.dtype, name="graph")(graphs)  # (G, V, width)
        step = jnp.asarray(observation.current)
        design = jnp.asarray(observation.design)
        before = jnp.cumsum(nodes, axis=1) - nodes  # of the macros placed so far; nodes begin with these in order
        whole = jnp.sum(nodes, axis=1) / jnp.maximum(jnp.sum(graphs.present, axis=1), 1)[:, None]
        of_graph = jnp.concatenate(
            [nodes[design, step], before[design, step] / jnp.maximum(step, 1)[..., None], whole[design]], axis=-1
        )

        known = jnp.concatenate([observation.features, of_graph], axis=-1)
        core = nn.relu(dense(self.width, name="hidden")(coarse.reshape(steps, batch, -1)))
        core, state = ResetLSTM(self.lstm_width, self.dtype, name="lstm")(
            jnp.concatenate([core, known], axis=-1), state, first
        )
        core = jnp.concatenate([core, known], axis=-1)
        value = value_head(nn.relu(dense(self.width, name="value_hidden")(core)), self.dtype)
        scores = UpsamplingHead(self.channels, self.dtype, name="policy")(core.reshape(steps * batch, -1), maps)
        return Outputs(scores.reshape(steps, batch, -1).astype(jnp.float32), value, state)
