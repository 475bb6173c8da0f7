"""Policy files: what is kept, starting from one, and what is told about those that cannot be used."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from workers.agents import checkpoint, policies
from workers.agents.agent import AgentConfig
from workers.agents.algorithms import make_agent
from workers.agents.checkpoint import CheckpointError
from workers.agents.networks import MlpNet
from workers.agents.policies import PolicyInfo, load_info, load_params
from workers.agents.types import VectorObservation
from workers.menger.config import LearningSettingsError, train_config

INFO = PolicyInfo(
    algorithm="ppo",
    network={"network": "grid", "channels": 4, "width": 8, "lstm_width": 8},
    designs=["one", "two"],
    updates=7,
    maxima={"grid": 128},
    metrics={"episode_cost_mean": 0.7},
)


@pytest.fixture(scope="module")
def agent():
    return make_agent("ppo", MlpNet(actions=2, width=8), AgentConfig(), 0)


@pytest.fixture(scope="module")
def state(agent):
    return agent.init(jax.random.key(3), VectorObservation(np.zeros(4, np.float32), np.ones(2, bool)))


@pytest.fixture
def policy(tmp_path, state):
    path = tmp_path / "policy.npz"
    policies.from_checkpoint(checkpoint.save(tmp_path, 7, state), path, INFO)
    return path


def test_parameters_and_what_is_known_of_them_come_back(policy, state):
    assert load_info(policy) == INFO
    jax.tree.map(np.testing.assert_array_equal, load_params(policy, state.params), state.params)


def test_a_policy_holds_no_optimiser(policy, tmp_path):
    assert policy.stat().st_size < (tmp_path / "step-000000007.npz").stat().st_size / 2


def test_a_truncated_file_is_refused_by_name(policy):
    policy.write_bytes(policy.read_bytes()[:700])
    with pytest.raises(CheckpointError, match=r"policy\.npz: not a readable"):
        load_info(policy)


def test_files_of_other_versions_and_checkpoints_are_refused(policy, tmp_path, monkeypatch):
    with pytest.raises(CheckpointError, match=r"step-000000007\.npz: schema is 1, this version reads 101"):
        load_info(tmp_path / "step-000000007.npz")
    monkeypatch.setattr(policies, "SCHEMA", 102)
    with pytest.raises(CheckpointError, match=r"policy\.npz: schema is 101, this version reads 102"):
        load_info(policy)


def test_a_header_that_lacks_something_is_refused(policy, tmp_path):
    arrays, header = checkpoint.read_arrays(policy, policies.SCHEMA)
    del header["maxima"]
    checkpoint.write_arrays(tmp_path / "old.npz", arrays, header)
    with pytest.raises(CheckpointError, match=r"old\.npz: its header lacks maxima"):
        load_info(tmp_path / "old.npz")


def test_another_networks_parameters_are_refused_by_name(policy):
    wider = make_agent("ppo", MlpNet(actions=2, width=16), AgentConfig(), 0)
    like = wider.params_like(VectorObservation(np.zeros(4, np.float32), np.ones(2, bool)))
    with pytest.raises(CheckpointError, match=r"policy\.npz: .*hidden_0.* the network needs float32"):
        load_params(policy, like)


def test_a_job_that_starts_from_a_policy_has_its_network(policy):
    config = train_config('{"batch_size": 4}', seed=0, policy=policy)
    assert (config.channels, config.width, config.batch_size) == (4, 8, 4)
    assert train_config("{}", seed=0, policy=policy.with_name("none.npz")).channels == 16
    with pytest.raises(LearningSettingsError, match="network is 'tree', allowed are grid, graph"):
        train_config('{"network": "tree"}', seed=0)
