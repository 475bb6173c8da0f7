"""The whole loop in one process, without transport: act, update, act, … For tests, benchmarks and known tasks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from workers.agents.impala import Agent
from workers.menger.actor import Actor
from workers.menger.codec import stack
from workers.menger.learner import Learner
from workers.menger.rewards import BatchedEnv


def train(
    agent: Agent,
    env: BatchedEnv,
    *,
    updates: int,
    seed: int = 0,
    prepare: Callable[[Any], Any] = lambda observation: observation,
    should_stop: Callable[[list[dict[str, Any]]], bool] = lambda infos: False,
) -> tuple[Learner, list[dict[str, Any]]]:
    """On-policy training with as many unrolls a batch as `env` has environments.

    Returns the learner and the infos of all episodes in the order they ended; `should_stop` sees these.
    """
    infos: list[dict[str, Any]] = []
    first = jax.tree.map(lambda leaf: leaf[0], prepare(env.reset()))
    learner = Learner(agent, agent.init(jax.random.key(seed), first))
    actor = Actor(agent, env, seed=seed, prepare=prepare, on_episode=lambda info, _: infos.append(info))
    for _ in range(updates):
        learner.update(stack(actor.unroll(learner.state.params, learner.version)))
        if should_stop(infos):
            break
    return learner, infos
