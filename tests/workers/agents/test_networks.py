"""Shapes, sizes and the properties that networks promise."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from netlists.model import Design
from netlists.samples import make_sample
from placement.env import EnvConfig, VectorEnv
from placement.env.graph import Graph, make_graph
from placement.env.types import FEATURE_COUNT, MAP_COUNT, Map
from workers.agents.agent import AgentConfig
from workers.agents.algorithms import make_agent
from workers.agents.graph_network import GraphEncoder, GraphPlacementNet, stack_graphs
from workers.agents.networks import (
    DeepNet,
    InstructionEncoder,
    MlpNet,
    PlacementNet,
    ResetLSTM,
    ShallowNet,
    initial_state,
    parameter_count,
)
from workers.agents.types import (
    GraphObservation,
    InstructedObservation,
    MapObservation,
    RecurrentState,
    VectorObservation,
    compact_with_graph,
)
from workers.menger.actor import Actor
from workers.menger.codec import stack


def observation(steps: int, batch: int, channels: int, side: int, features: int, actions: int) -> MapObservation:
    random = np.random.default_rng(0)
    maps = random.integers(0, 256, size=(steps, batch, channels, side, side), dtype=np.uint8)
    return MapObservation(
        maps, random.random((steps, batch, features), np.float32), np.ones((steps, batch, actions), bool)
    )


@pytest.mark.parametrize(("network", "published"), [(ShallowNet, 1.2e6), (DeepNet, 1.6e6)])
def test_impalas_networks_have_the_published_size_in_their_published_setting(network, published):
    """84x84 frames, 4 of them stacked, no further features, 18 actions (Atari)."""
    seen = observation(1, 1, 4, 84, 0, 18)
    params = jax.eval_shape(
        network(actions=18).init, jax.random.key(0), seen, initial_state(256, 1), jnp.ones((1, 1), bool)
    )
    count = parameter_count(params)
    print(f"{network.__name__}: {count:,} parameters, published {published:,.0f}")
    assert abs(count / published - 1) < 0.1


def test_deep_net_has_fifteen_convolutions():
    seen = observation(1, 1, 4, 84, 0, 18)
    params = jax.eval_shape(
        DeepNet(actions=18).init, jax.random.key(0), seen, initial_state(256, 1), jnp.ones((1, 1), bool)
    )["params"]
    channels = [layer["kernel"].shape[-1] for name, layer in params.items() if name.startswith("stack_")]
    assert sorted(channels) == [16] * 5 + [32] * 10


@pytest.mark.parametrize("vocabulary", [0, 10])
def test_deep_net_shapes(vocabulary):
    net = DeepNet(actions=5, lstm_width=8, vocabulary=vocabulary)
    seen = observation(3, 2, 1, 12, 2, 5)
    tokens = np.array([[[1, 2, 3, 0], [4, 0, 0, 0]]] * 3, np.int32)
    if vocabulary:
        seen = InstructedObservation(seen.maps, seen.features, tokens, seen.mask)
    state, first = initial_state(8, 2), jnp.zeros((3, 2), bool)
    params = jax.jit(net.init)(jax.random.key(0), seen, state, first)
    apply = jax.jit(net.apply)
    outputs = apply(params, seen, state, first)
    assert outputs.logits.shape == (3, 2, 5)
    assert outputs.value.shape == (3, 2)
    if vocabulary:  # another instruction, another policy, in its environment only
        other = apply(params, seen._replace(tokens=np.where(tokens == 2, 7, tokens)), state, first)
        difference = np.abs(np.asarray(other.logits - outputs.logits)).max(axis=(0, 2))
        assert difference[0] > 0
        assert difference[1] == 0


def test_instructions_are_read_to_their_last_word():
    net = InstructionEncoder(vocabulary=10)
    tokens = np.array([[[1, 2, 0, 0], [1, 2, 3, 0], [0, 0, 0, 0]]], np.int32)
    params = jax.jit(net.init)(jax.random.key(0), tokens)
    read = jax.jit(net.apply)(params, tokens)
    shorter = jax.jit(net.apply)(params, tokens[..., :2])
    assert read.shape == (1, 3, 64)
    assert_allclose(read[0, 0], shorter[0, 0], rtol=1e-5)  # padding changes nothing
    assert np.abs(read[0, 1] - read[0, 0]).max() > 1e-3
    assert_allclose(read[0, 2], 0.0)  # no instruction


def graph_observation(steps: int, batch: int, side: int) -> GraphObservation:
    seen = observation(steps, batch, MAP_COUNT, side, FEATURE_COUNT, side * side)
    numbers = np.arange(steps * batch, dtype=np.int32).reshape(steps, batch)
    return GraphObservation(seen.maps, seen.features, numbers % 7, numbers % 1, seen.mask)


@pytest.fixture(scope="module")
def designs() -> list[Design]:
    return [make_sample("small", seed) for seed in (0, 1)]


def test_graph_net_weights_fit_any_grid_and_graph(designs):
    net = GraphPlacementNet()
    graph = make_graph(designs[0])
    larger = Graph(*(np.concatenate([leaf] * 4) for leaf in graph))
    counts = set()
    for side, graphs in ((16, [graph]), (128, [graph, graph]), (32, [larger])):
        seen = graph_observation(1, 1, side)
        words = (seen, initial_state(64, 1), jnp.ones((1, 1), bool), stack_graphs(graphs))
        params = jax.eval_shape(net.init, jax.random.key(0), *words)
        outputs = jax.eval_shape(net.apply, params, *words)
        assert outputs.logits.shape == (1, 1, side * side)
        counts.add(parameter_count(params))
    assert len(counts) == 1
    with pytest.raises(ValueError, match="different buckets"):
        stack_graphs([graph, larger])


def test_graph_embedding_does_not_see_padding_and_sees_neighbours(designs):
    graph = make_graph(designs[0])
    net = GraphEncoder(width=8, rounds=1)
    params = jax.jit(net.init)(jax.random.key(0), graph)
    apply = jax.jit(net.apply)
    nodes = np.asarray(apply(params, graph))
    assert np.all(nodes[~graph.present] == 0)
    more = Graph(*(np.concatenate([leaf, np.zeros_like(leaf)]) for leaf in graph))
    assert_allclose(np.asarray(apply(params, more))[: len(nodes)], nodes, rtol=1e-5, atol=1e-6)
    changed = graph.node.copy()
    changed[0] += 1.0
    moved = np.abs(np.asarray(apply(params, graph._replace(node=changed))) - nodes).max(axis=1) > 0
    linked = np.unique(graph.link[(graph.link == 0).any(axis=1) & (graph.weight > 0)])
    assert moved[0]
    assert set(np.flatnonzero(moved)) <= {0, *linked}
    assert moved[linked].mean() > 0.5  # a relu may hide one
    heavier = graph._replace(weight=np.where((graph.link == 0).any(axis=1), graph.weight * 3, graph.weight))
    assert np.abs(np.asarray(apply(params, heavier)) - nodes).max() > 0


def test_a_second_design_of_a_bucket_compiles_nothing(designs):
    """Acting and learning with the graph network: same weights, another design, no new entry in jit's caches."""
    net = GraphPlacementNet(channels=4, width=8, lstm_width=8, graph_width=4)
    graphs = [stack_graphs([make_graph(design)]) for design in designs]
    config = EnvConfig(max_grid=16)
    envs = [VectorEnv(design, config, count=2) for design in designs]
    assert envs[0].macro_count != envs[1].macro_count or not np.array_equal(graphs[0].link, graphs[1].link)
    agent = make_agent("impala", net, AgentConfig(unroll_length=3, batch_size=2), 8, graphs[0])
    first = jax.tree.map(lambda leaf: leaf[0], compact_with_graph(envs[0].reset()))
    state = agent.init(jax.random.key(0), first)
    seen = []
    for env, graph in zip(envs, graphs, strict=True):
        agent.context = graph
        batch = stack(Actor(agent, env, seed=0, prepare=compact_with_graph).unroll(state.params, 1))
        state, parts = agent.update(state, batch)
        assert bool(parts["finite"])
        seen.append((agent.compiled_act._cache_size(), agent.compiled_update._cache_size()))
    assert seen == [(1, 1), (1, 1)]


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
