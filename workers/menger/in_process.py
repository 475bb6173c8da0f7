"""The whole loop in one process, without transport: act, update, act, … For tests, benchmarks and known tasks.

One function for each way in which data comes to a learner (`Algorithm.data`): `train` (unrolls, by the newest policy
or one some versions old), `train_from_gradients`, `train_from_replay`, `train_centrally` (one inference for several
actors). All return the learner and the infos of all episodes in the order they ended, and stop when
`should_stop(infos)` says so.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from workers.agents.agent import Agent
from workers.agents.prioritised import PrioritisedReplay
from workers.agents.recurrent_q import Replayed
from workers.agents.types import Unroll
from workers.menger.actor import Actor
from workers.menger.codec import stack
from workers.menger.inference import CentralInference
from workers.menger.learner import Learner
from workers.menger.rewards import BatchedEnv

Infos = list[dict[str, Any]]
Prepare = Callable[[Any], Any]
Trained = tuple[Learner, Infos]


def _as_it_is(observation: Any) -> Any:
    return observation


def _never(infos: Infos) -> bool:
    return False


def _start(agent: Agent, env: BatchedEnv, seed: int, prepare: Prepare) -> Learner:
    first = jax.tree.map(lambda leaf: leaf[0], prepare(env.reset()))
    return Learner(agent, agent.init(jax.random.key(seed), first))


def train(
    agent: Agent,
    env: BatchedEnv,
    *,
    updates: int,
    seed: int = 0,
    lag: int = 0,
    prepare: Prepare = _as_it_is,
    should_stop: Callable[[Infos], bool] = _never,
    on_update: Callable[[dict[str, float]], None] = lambda figures: None,
) -> Trained:
    """One batch of as many unrolls as `env` has environments, one update, and so on.

    lag: the actor's weights are this many versions old, as with a learner far ahead of its actors.
    """
    infos: Infos = []
    learner = _start(agent, env, seed, prepare)
    actor = Actor(agent, env, seed=seed, prepare=prepare, on_episode=lambda info, _: infos.append(info))
    held: deque[tuple[int, Any]] = deque(maxlen=lag + 1)
    for _ in range(updates):
        # The update uses its input up, so weights that are kept are copied.
        params = learner.state.params
        held.append((learner.version, jax.tree.map(np.asarray, params) if lag else params))
        version, acting = held[0]
        on_update(learner.update(stack(actor.unroll(acting, version))))
        if should_stop(infos):
            break
    return learner, infos


def train_from_gradients(
    agent: Agent,
    envs: Sequence[BatchedEnv],
    *,
    updates: int,
    seed: int = 0,
    prepare: Prepare = _as_it_is,
    should_stop: Callable[[Infos], bool] = _never,
) -> Trained:
    """Asynchronous workers (A3C) in turn: each acts and makes a gradient with weights that are as many versions old as
    there are other workers, the learner applies it, and the worker takes the newest weights. Deterministic."""
    infos: Infos = []
    learner = _start(agent, envs[0], seed, prepare)
    on_episode = lambda info, _: infos.append(info)
    actors = [
        Actor(agent, env, seed=seed * 1009 + k, prepare=prepare, on_episode=on_episode) for k, env in enumerate(envs)
    ]
    copied = lambda: jax.tree.map(np.array, learner.state)
    held = [(learner.version, copied())] * len(actors)
    for number in range(updates):
        worker = number % len(actors)
        version, state = held[worker]
        gradient, parts = agent.gradient(state, stack(actors[worker].unroll(state.params, version)))
        learner.apply(gradient, parts, version)
        held[worker] = learner.version, copied()
        if should_stop(infos):
            break
    return learner, infos


def train_from_replay(
    agent: Agent,
    env: BatchedEnv,
    *,
    updates: int,
    capacity: int,
    updates_per_unroll: int = 1,
    seed: int = 0,
    prepare: Prepare = _as_it_is,
    should_stop: Callable[[Infos], bool] = _never,
) -> Trained:
    """Unrolls go into a prioritised replay of `capacity`; `updates_per_unroll` batches are drawn for every K of them,
    from the moment on that the replay holds a batch."""
    infos: Infos = []
    learner = _start(agent, env, seed, prepare)
    actor = Actor(agent, env, seed=seed, prepare=prepare, on_episode=lambda info, _: infos.append(info))
    replay = PrioritisedReplay(capacity, seed)
    count = agent.config.batch_size
    done = 0
    while done < updates:
        replay.add(actor.unroll(learner.state.params, learner.version))
        if len(replay) < count:
            continue
        for _ in range(updates_per_unroll):
            drawn = replay.draw(count)
            learner.update(Replayed(stack(drawn.items), drawn.weight))
            if learner.priorities is not None:
                replay.update(drawn.places, learner.priorities)
            done += 1
        if should_stop(infos):
            break
    return learner, infos


def train_centrally(
    agent: Agent,
    envs: Sequence[BatchedEnv],
    *,
    updates: int,
    seed: int = 0,
    prepare: Prepare = _as_it_is,
    should_stop: Callable[[Infos], bool] = _never,
) -> Trained:
    """One actor a thread for each of `envs`, one inference for all (SEED), a batch of the unrolls of all."""
    infos: Infos = []
    learner = _start(agent, envs[0], seed, prepare)
    inference = CentralInference(agent, jax.tree.map(np.asarray, learner.state.params), clients=len(envs))
    actors = [
        Actor(
            agent,
            env,
            seed=seed * 1009 + k,
            prepare=prepare,
            on_episode=lambda info, _: infos.append(info),
            act=inference.act,
        )
        for k, env in enumerate(envs)
    ]
    try:
        for _ in range(updates):
            learner.update(stack(_together(actors, learner.version)))
            inference.set_params(jax.tree.map(np.asarray, learner.state.params))
            if should_stop(infos):
                break
    finally:
        inference.stop()
    return learner, infos


def _together(actors: Sequence[Actor], version: int) -> list[Unroll]:
    """One round of unrolls of all actors, each in a thread."""
    found: list[list[Unroll]] = [[] for _ in actors]

    def act(k: int) -> None:
        found[k] = actors[k].unroll({}, version)

    threads = [threading.Thread(target=act, args=(k,), name=f"actor-{k}") for k in range(len(actors))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    missing = [k for k, unrolls in enumerate(found) if not unrolls]
    if missing:
        raise RuntimeError(f"actors {missing} made no unroll; their threads' errors are on stderr")
    return [unroll for unrolls in found for unroll in unrolls]
