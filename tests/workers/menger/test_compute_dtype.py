"""bfloat16 as what layers compute in: parameters, state and outputs stay float32, and learning goes the same way."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from netlists.samples import make_sample
from placement.env import EnvConfig
from workers.agents.networks import DeepNet, MlpNet, ShallowNet, initial_state
from workers.agents.types import InstructedObservation, MapObservation, VectorObservation
from workers.menger.codec import stack
from workers.menger.config import Task, TrainConfig

DTYPES = ("float32", "bfloat16")
TINY = {"batch_size": 4, "unroll_length": 8, "environments": 4, "channels": 8, "width": 32, "lstm_width": 16}


@pytest.mark.parametrize(("network", "algorithm"), [("grid", "impala"), ("graph", "ppo")])
def test_the_loss_of_a_fixed_batch_falls_alike_in_both(network, algorithm, make_unrolls):
    """Thirty updates on one batch whose returns are all 1: the value must find that out."""
    design = make_sample("small", seed=0)
    config = TrainConfig(env=EnvConfig(max_grid=16), network=network, algorithm=algorithm, **TINY)
    task = Task.of(design.canvas, config)
    batch = stack(make_unrolls(task.codec(), 4))
    batch = batch._replace(reward=np.ones_like(batch.reward), discount=np.zeros_like(batch.discount))
    if network == "graph":
        few = jax.tree.map(np.zeros_like, (batch.observation.current, batch.observation.design))
        batch = batch._replace(observation=batch.observation._replace(current=few[0], design=few[1]))
    losses = {}
    for dtype in DTYPES:
        agent = task.agent(design, dtype)
        state = agent.init(jax.random.key(0), task.observation())
        losses[dtype] = []
        for _ in range(30):
            state, parts = agent.update(state, batch)
            losses[dtype].append(float(parts["value_loss"]))
        for leaf in jax.tree.leaves((state.params, state.optimiser)):
            assert leaf.dtype in (jnp.float32, jnp.int32)
        assert all(part.dtype == jnp.float32 for name, part in parts.items() if name != "finite")
    for dtype in DTYPES:
        assert losses[dtype][-1] < 0.2 * losses[dtype][0]
    np.testing.assert_allclose(losses["bfloat16"][0], losses["float32"][0], rtol=0.03)
    assert losses["bfloat16"][0] != losses["float32"][0]  # it does compute in less than float32


@pytest.mark.parametrize("net", [ShallowNet, DeepNet, MlpNet])
def test_outputs_and_state_are_float32_and_layers_are_not(net):
    random = np.random.default_rng(0)
    mask, features = np.ones((3, 2, 5), bool), random.random((3, 2, 4), np.float32)
    if net is MlpNet:
        seen = VectorObservation(features, mask)
        made = net(actions=5, lstm_width=8, dtype=jnp.bfloat16)
    else:
        maps = MapObservation(random.integers(0, 256, (3, 2, 1, 36, 36), np.uint8), features, mask)
        seen = InstructedObservation(maps.maps, features, np.ones((3, 2, 4), np.int32), mask)
        made = net(actions=5, lstm_width=8, vocabulary=7, dtype=jnp.bfloat16)
    state, first = initial_state(8, 2), jnp.zeros((3, 2), bool)
    params = made.init(jax.random.key(0), seen, state, first)
    outputs = made.apply(params, seen, state, first)
    assert {leaf.dtype for leaf in jax.tree.leaves((params, outputs))} == {jnp.dtype("float32")}
    assert "bf16" in jax.jit(made.apply).lower(params, seen, state, first).as_text()


def test_another_dtype_is_refused():
    with pytest.raises(ValueError, match="compute_dtype is 'float16', allowed are float32, bfloat16"):
        TrainConfig(compute_dtype="float16")
