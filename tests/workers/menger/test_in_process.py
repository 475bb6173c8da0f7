"""Ways in which data comes to a learner in one process, and where inference runs."""

from __future__ import annotations

import threading

import jax
import numpy as np
import pytest
from numpy.testing import assert_allclose

from workers.agents.agent import AgentConfig
from workers.agents.algorithms import make_agent
from workers.agents.gym_tasks import GymVector
from workers.agents.losses import LossConfig
from workers.agents.networks import MlpNet
from workers.agents.recurrent_q import QConfig
from workers.menger.actor import Actor
from workers.menger.in_process import train, train_centrally, train_from_gradients, train_from_replay
from workers.menger.inference import CentralInference


def poles(count: int, seed: int = 0) -> GymVector:
    return GymVector("CartPole-v1", count, seed, reward_scale=0.1)


def agent(name: str, batch_size: int, lstm_width: int = 0, **settings):
    kind = QConfig if name == "r2d2" else AgentConfig
    config = kind(batch_size=batch_size, **settings)
    return make_agent(name, MlpNet(actions=2, lstm_width=lstm_width), config, lstm_width)


def improvement(infos) -> float:
    returns = [info["return"] for info in infos]
    return float(np.mean(returns[-40:]) - np.mean(returns[:40]))


def test_gradients_of_workers_learn():
    loss = LossConfig(entropy_weight=0.002)
    it = agent("a3c", 8, learning_rate=2e-3, loss=loss)
    learner, infos = train_from_gradients(it, [poles(8, 10), poles(8, 20)], updates=200)
    assert learner.version == 201
    assert improvement(infos) > 40


def test_replay_learns():
    it = agent("r2d2", 16, 16, unroll_length=16, burn_in=4, learning_rate=2e-3, discount=0.97, target_every=50)
    learner, infos = train_from_replay(it, poles(8), updates=600, capacity=1000, updates_per_unroll=2)
    assert int(learner.state.skipped) == 0
    assert improvement(infos) > 20


def test_lag_is_that_of_the_versions_that_acted():
    lags = []
    train(agent("impala", 2), poles(2), updates=6, lag=3, on_update=lambda figures: lags.append(figures["policy_lag"]))
    assert lags == [0, 1, 2, 3, 3, 3]


@pytest.mark.parametrize("lstm_width", [0, 8])
def test_central_inference_draws_what_local_inference_draws(lstm_width):
    it = agent("impala", 6, lstm_width)
    params = it.init(jax.random.key(0), jax.tree.map(lambda leaf: leaf[0], poles(1).reset())).params
    counts = (2, 1, 3)
    local = [Actor(it, poles(n, n), seed=n).unroll(params, 1) for n in counts]
    central = CentralInference(it, params, clients=3, max_wait_s=30.0)
    actors = [Actor(it, poles(n, n), seed=n, act=central.act) for n in counts]
    found: list = [None] * 3
    threads = [
        threading.Thread(target=lambda k=k: found.__setitem__(k, actors[k].unroll({}, 1)), daemon=True)
        for k in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    central.stop()
    assert central.calls == it.config.unroll_length  # one a step for all three
    for mine, theirs in zip(found, local, strict=True):
        for one, other in zip(mine, theirs, strict=True):
            assert np.array_equal(one.action, other.action)
            assert_allclose(one.behaviour_logp, other.behaviour_logp, rtol=1e-4, atol=1e-5)
            assert_allclose(one.initial_state.hidden, other.initial_state.hidden, rtol=1e-4, atol=1e-5)


def test_central_inference_does_not_wait_for_ever_and_tells_of_faults():
    it = agent("impala", 2)
    params = it.init(jax.random.key(0), jax.tree.map(lambda leaf: leaf[0], poles(1).reset())).params
    central = CentralInference(it, params, clients=5, max_wait_s=0.01)
    assert len(Actor(it, poles(2), seed=0, act=central.act).unroll({}, 1)) == 2  # four others never ask
    central.set_params({})
    with pytest.raises(Exception, match="params"):
        Actor(it, poles(2), seed=0, act=central.act).unroll({}, 1)
    central.stop()
    with pytest.raises(RuntimeError, match="has stopped"):
        Actor(it, poles(2), seed=0, act=central.act).unroll({}, 1)


def test_central_training_is_local_training():
    """Two actors of four environments and one inference: the learner sees the same kind of batches and learns."""
    learner, infos = train_centrally(agent("a2c", 8, learning_rate=2e-3), [poles(4, 1), poles(4, 2)], updates=30)
    assert learner.version == 31
    assert len(infos) > 50
