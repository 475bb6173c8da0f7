"""Checkpoints: bit for bit, the last three, and what is told about those that cannot be used."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from workers.agents import checkpoint
from workers.agents.agent import Agent, AgentConfig, LearnerState
from workers.agents.algorithms import make_agent
from workers.agents.checkpoint import CheckpointError
from workers.agents.networks import MlpNet
from workers.agents.recurrent_q import QConfig, Replayed
from workers.agents.types import RecurrentState, Unroll, VectorObservation

T, B, A, H = 6, 4, 3, 8


def make(name: str = "impala", width: int = 16, lstm_width: int = H, **settings) -> Agent:
    config = QConfig if name == "r2d2" else AgentConfig
    return make_agent(
        name,
        MlpNet(actions=A, width=width, lstm_width=lstm_width),
        config(unroll_length=T, batch_size=B, **settings),
        lstm_width,
    )


@pytest.fixture(scope="module")
def agent() -> Agent:
    return make()


def fresh(agent: Agent, seed: int = 0) -> LearnerState:
    return agent.init(jax.random.key(seed), VectorObservation(np.zeros(5, np.float32), np.ones(A, bool)))


def batch(number: int) -> Unroll:
    random = np.random.default_rng(number)
    return Unroll(
        observation=VectorObservation(
            random.normal(size=(T + 1, B, 5)).astype(np.float32), np.ones((T + 1, B, A), bool)
        ),
        first=random.random((T + 1, B)) < 0.1,
        action=random.integers(A, size=(T, B)).astype(np.int32),
        reward=random.normal(size=(T, B)).astype(np.float32),
        discount=np.full((T, B), 0.9, np.float32),
        behaviour_logp=np.full((T, B), -np.log(A), np.float32),
        initial_state=RecurrentState(*random.normal(size=(2, B, H)).astype(np.float32)),
        version=np.zeros(B, np.int32),
    )


def run(agent: Agent, state: LearnerState, numbers: range) -> LearnerState:
    for number in numbers:
        drawn = batch(number)
        replayed = Replayed(drawn, np.linspace(0.5, 1.0, B, dtype=np.float32))
        state, _ = agent.update(state, replayed if isinstance(agent.config, QConfig) else drawn)
    return state


@pytest.mark.parametrize(
    "agent",
    [
        make("impala", popart_rate=0.1),
        make("ppo", epochs=2, minibatches=2),  # draws the order of its minibatches
        make("r2d2", burn_in=2, target_every=3),  # has a target network
    ],
    ids=lambda agent: type(agent.config).__name__ + str(agent.config.epochs),
)
def test_ten_steps_are_five_a_restart_and_five(agent, tmp_path):
    straight = run(agent, fresh(agent), range(10))
    checkpoint.save(tmp_path, 5, run(agent, fresh(agent), range(5)))
    restored, meta = checkpoint.restore(checkpoint.checkpoints(tmp_path)[-1], fresh(agent, seed=99))
    assert meta["step"] == 5
    resumed = run(agent, restored, range(5, 10))
    jax.tree.map(np.testing.assert_array_equal, straight, resumed)
    assert int(resumed.step) == 10


def test_the_last_three_stay(agent, tmp_path):
    state = fresh(agent)
    for step in (1, 20, 300, 4000, 50000):
        checkpoint.save(tmp_path, step, state)
    assert [path.name for path in checkpoint.checkpoints(tmp_path)] == [
        "step-000000300.npz",
        "step-000004000.npz",
        "step-000050000.npz",
    ]
    assert list(tmp_path.glob(".*")) == []


def test_a_truncated_newest_is_passed_over(agent, tmp_path):
    checkpoint.save(tmp_path, 1, fresh(agent, 1))
    newest = checkpoint.save(tmp_path, 2, fresh(agent, 2))
    newest.write_bytes(newest.read_bytes()[:1000])
    found = checkpoint.restore_newest(tmp_path, fresh(agent))
    assert found is not None
    assert found[1]["step"] == 1
    jax.tree.map(np.testing.assert_array_equal, found[0].params, fresh(agent, 1).params)


def test_none_without_checkpoints(agent, tmp_path):
    assert checkpoint.restore_newest(tmp_path, fresh(agent)) is None


def test_a_file_of_another_network_is_refused_with_names(agent, tmp_path):
    path = checkpoint.save(tmp_path, 1, fresh(agent))
    wider = make(width=32)
    with pytest.raises(CheckpointError, match=r"step-000000001.npz: .*hidden_0.* the network needs float32\(.*32"):
        checkpoint.restore(path, fresh(wider))
    without = make(lstm_width=0)
    with pytest.raises(CheckpointError, match=r"lstm.* is unknown"):
        checkpoint.restore(path, fresh(without))


def test_another_schema_is_refused(agent, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "SCHEMA", 99)
    path = checkpoint.save(tmp_path, 1, fresh(agent))
    monkeypatch.undo()
    with pytest.raises(CheckpointError, match="schema is 99, this version reads 1"):
        checkpoint.restore(path, fresh(agent))


def test_a_failed_write_leaves_the_earlier_ones(agent, tmp_path, monkeypatch):
    checkpoint.save(tmp_path, 1, fresh(agent))

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint.os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        checkpoint.save(tmp_path, 2, fresh(agent))
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["step-000000001.npz"]
