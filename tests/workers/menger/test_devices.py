"""A learner on eight devices does what it does on one, to 1e-5; what cannot be spread is refused with the numbers."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import jax
import pytest

from workers.menger.devices import Devices, choose_devices
from workers.menger.roles import RoleError

# In a process of its own: the number of devices is fixed when jax starts. Three updates of random unrolls.
EIGHT = """
import json, sys
import jax, numpy as np
sys.path.insert(0, "tests/workers/menger")
from conftest import random_unrolls
from netlists.samples import make_sample
from placement.env import EnvConfig
from workers.menger.codec import stack
from workers.menger.config import Task, TrainConfig
from workers.menger.devices import Devices, choose_devices
from workers.menger.learner import Learner

algorithm, network = sys.argv[1:]
design = make_sample("small", seed=0)
config = TrainConfig(algorithm=algorithm, network=network, env=EnvConfig(max_grid=16), batch_size=16, unroll_length=4,
                     channels=4, width=16, lstm_width=8, popart_rate=0.01)
task = Task.of(design.canvas, config)
codec = task.codec()
ends, told = {}, {}
for count in (1, 8):
    devices = Devices(choose_devices(count, 16), 16)
    agent = task.agent(design)
    learner = Learner(agent, agent.init(jax.random.key(0), task.observation()), devices)
    learner.compile(codec)
    for seed in range(3):
        unrolls = random_unrolls(codec, 16, seed)
        if network == "graph":
            unrolls = [u._replace(observation=u.observation._replace(
                current=np.zeros_like(u.observation.current), design=np.zeros_like(u.observation.design)))
                for u in unrolls]
        batch = devices.place_batch(stack(unrolls))
        figures = learner.update(batch)
    ends[count], told[count] = jax.tree.leaves((learner.state.params, learner.state.own)), figures
    leaf = jax.tree.leaves(learner.state.params)[0]
    shards = {count: [s.data.shape for s in batch.reward.addressable_shards], "state": len(leaf.sharding.device_set)}
begin = jax.tree.leaves(agent.init(jax.random.key(0), task.observation()).params)
gap = lambda one, other: max(float(np.abs(np.asarray(a) - np.asarray(b)).max()) for a, b in zip(one, other))
print(json.dumps({"gap": gap(ends[1], ends[8]), "moved": gap(begin, ends[8]), "shards": shards,
                  "loss": [told[1]["loss"], told[8]["loss"]]}))
"""


@pytest.mark.slow
@pytest.mark.parametrize(("algorithm", "network"), [("impala", "grid"), ("ppo", "graph")])
def test_eight_devices_learn_what_one_learns(algorithm, network):
    environment = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=8", "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-c", EIGHT, algorithm, network]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout.splitlines()[-1])
    assert found["gap"] < 1e-5
    assert found["moved"] > 1e-3  # they did learn
    assert found["shards"] == {"8": [[4, 2]] * 8, "state": 8}
    assert found["loss"][0] == pytest.approx(found["loss"][1], abs=1e-5)


def test_a_batch_that_cannot_be_spread_is_refused_with_the_numbers():
    one = jax.local_devices()[0]
    with pytest.raises(RoleError, match="batch_size is 8, must be a multiple of 3, the learner's devices"):
        Devices([one] * 3, 8)


def test_more_devices_than_there_are_are_refused_and_by_default_those_that_divide_a_batch_are_taken(monkeypatch):
    monkeypatch.setattr(jax, "local_devices", lambda: [jax.devices()[0]] * 6)
    with pytest.raises(RoleError, match=r"8 devices are asked for, 6 \(cpu\) are here"):
        choose_devices(8, 8)
    assert [len(choose_devices(wanted, 8)) for wanted in (None, 1, 6)] == [4, 1, 6]
