"""The actor: steps K environments with a local policy and makes unrolls of T steps of them.

`Actor` is the loop body without processes: environments, agent and transport come in (tests and benchmarks use it
so). `run_actor` is the role: design → environments, models from a cache, unrolls to the replay shards, the best
episodes' placements to the database.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from sqlalchemy.exc import OperationalError

from netlists.model import Design
from placement.env import VectorEnv
from placement.layout import pack_layout
from workers.agents.agent import Acted, Agent, environment_seeds
from workers.agents.types import Params, Unroll
from workers.menger.codec import unflatten_params, unstack
from workers.menger.config import Task, TrainConfig
from workers.menger.model_cache import FallbackSource, Relay
from workers.menger.protocol import Model, ReplayWriter
from workers.menger.replay import ShardedWriter
from workers.menger.rewards import BatchedEnv, ScaledEnv, measure
from workers.menger.roles import FIND_S, Life, RoleError
from workers.menger.stats import RateMeter, RecentMean

log = logging.getLogger("placewright.actor")

RECENT_EPISODES = 64
WRITE_WAIT_S = 0.5  # between two looks at the stop flag while a shard is full
READ_S = 10.0  # for a model source to answer


class Actor:
    """Acts in `env` and cuts what happens into unrolls. One thread."""

    def __init__(
        self,
        agent: Agent,
        env: BatchedEnv,
        *,
        seed: int,
        prepare: Callable[[Any], Any] = lambda observation: observation,
        on_episode: Callable[[dict[str, Any], int], None] = lambda info, version: None,
        act: Callable[..., Acted] | None = None,
    ) -> None:
        """`prepare` makes the network's observation of the environment's; `on_episode` gets info and model version.

        `act` is where inference runs: in this thread (`agent.act`) unless given, see inference.py.
        """
        self._agent = agent
        self._act = act or agent.act
        self._env = env
        self._seed = environment_seeds(seed, env.count)
        self._prepare = prepare
        self._on_episode = on_episode
        self._state = agent.initial_state(env.count)
        self._first = np.ones(env.count, bool)
        self._observation = prepare(env.reset())
        self._steps = 0

    def unroll(self, params: Params, version: int) -> list[Unroll]:
        """The next T steps of every environment, K unrolls."""
        config = self._agent.config
        begin_state = jax.tree.map(np.asarray, self._state)
        observations, firsts, actions, rewards, discounts, logps = [], [], [], [], [], []
        for _ in range(config.unroll_length):
            acted = self._act(params, self._observation, self._state, self._first, self._seed, np.uint32(self._steps))
            observations.append(self._observation)
            firsts.append(self._first)
            action = np.asarray(acted.action)
            following, reward, ended, infos = self._env.step(action)
            for info in infos:
                self._on_episode(info, version)
            actions.append(action)
            logps.append(np.asarray(acted.logp))
            rewards.append(np.asarray(reward, np.float32))
            discounts.append(np.where(ended, 0.0, config.discount).astype(np.float32))
            self._state, self._first = acted.state, np.asarray(ended, bool)
            self._observation = self._prepare(following)
            self._steps += 1
        observations.append(self._observation)
        firsts.append(self._first)
        whole = Unroll(
            observation=jax.tree.map(lambda *leaves: np.stack(leaves), *observations),
            first=np.stack(firsts),
            action=np.stack(actions),
            reward=np.stack(rewards),
            discount=np.stack(discounts),
            behaviour_logp=np.stack(logps),
            initial_state=begin_state,
            version=np.int32(version),
        )
        return [unstack(whole, k) for k in range(self._env.count)]


class Candidates:
    """Which episodes' placements are worth handing on: the few best so far, and not too often."""

    def __init__(
        self, send: Callable[[dict[str, Any], int], None], config: TrainConfig, clock: Callable[[], float]
    ) -> None:
        self._send = send
        self._config = config
        self._clock = clock
        self._sent: list[float] = []
        self._best: tuple[dict[str, Any], int] | None = None
        self._last_s = -float("inf")

    def offer(self, info: dict[str, Any], version: int) -> None:
        if self._best is None or info["proxy_cost"] < self._best[0]["proxy_cost"]:
            self._best = (info, version)

    def hand_on(self) -> None:
        """Send the best one offered since the last time, if it is among the best sent so far."""
        if self._best is None or self._clock() - self._last_s < self._config.candidate_every_s:
            return
        info, version = self._best
        cost = float(info["proxy_cost"])
        if len(self._sent) < self._config.candidates_kept or cost < self._sent[-1]:
            self._send(info, version)
            self._sent = sorted([*self._sent, cost])[: self._config.candidates_kept]
        self._best, self._last_s = None, self._clock()


class Inbox:
    """The newest model that a relay's thread delivered, for the actor's thread to take."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._model: Model | None = None
        self.arrived = threading.Event()

    def put(self, model: Model) -> None:
        with self._lock:
            self._model = model
        self.arrived.set()

    def take(self) -> Model | None:
        with self._lock:
            model, self._model = self._model, None
            return model


class ActorFigures:
    """What an actor reports. Names: backend.schemas.MetricPoint."""

    def __init__(self) -> None:
        self.episodes = 0
        self.infeasible = 0
        self.steps = 0
        self.best_cost = float("inf")
        self.first_costs: list[float] = []
        self._recent = RecentMean(RECENT_EPISODES)
        self._episode_rate = RateMeter(30.0)
        self._step_rate = RateMeter()

    def add_episode(self, info: dict[str, Any]) -> None:
        cost = float(info["proxy_cost"])
        self.episodes += 1
        self.infeasible += int(info["infeasible"] > 0)
        self.best_cost = min(self.best_cost, cost)
        if len(self.first_costs) < RECENT_EPISODES:
            self.first_costs.append(cost)
        self._recent.add(cost)
        self._episode_rate.add(1)

    def add_steps(self, count: int) -> None:
        self.steps += count
        self._step_rate.add(count)

    def as_dict(self, version: int) -> dict[str, Any]:
        figures: dict[str, Any] = {
            "episodes": self.episodes,
            "episodes_per_s": self._episode_rate.per_s(),
            "steps": self.steps,
            "steps_per_s": self._step_rate.per_s(),
            "model_version": version,
            "infeasible_episodes": self.infeasible,
        }
        if self.episodes:
            figures |= {
                "episode_cost_mean": self._recent.mean(),
                "episode_cost_first": sum(self.first_costs) / len(self.first_costs),
                "episode_cost_best": self.best_cost,
            }
        return figures


def run_actor(life: Life, design: Design, config: TrainConfig) -> None:
    """The role's body. Returns when told to stop; raises RoleError when the parts it needs do not appear."""
    task = Task.of(design.canvas, config)
    agent = task.agent(design)
    plain = VectorEnv(design, config.env, count=config.environments, seed=config.seed + life.ordinal)
    env = ScaledEnv(plain, measure(plain))
    like = agent.params_like(task.observation())
    figures = ActorFigures()

    def send(info: dict[str, Any], version: int) -> None:
        layout = pack_layout(info["x_um"], info["y_um"], info["orientation"])
        origin = {
            "policy_version": version,
            "algorithm": config.algorithm,
            "actor": life.index,
            "cell": life.cell,
            "episode": figures.episodes,
        }
        try:
            life.store.add_candidate(life.job_id, float(info["proxy_cost"]), layout, origin)
        except OperationalError as error:
            log.warning("database away, a candidate is lost: %s", error.orig)

    candidates = Candidates(send, config, time.monotonic)

    def on_episode(info: dict[str, Any], version: int) -> None:
        figures.add_episode(info)
        candidates.offer(info, version)

    actor = Actor(
        agent, env, seed=config.seed * 1009 + life.ordinal * 7919 + 1, prepare=task.prepare, on_episode=on_episode
    )
    writer = ShardedWriter(task.codec(), life.replay_shards, start_at=life.index, seal=life.seal)
    inbox = Inbox()
    source = FallbackSource(life.model_sources, seal=life.seal)
    relay = Relay(source, inbox.put, config.refresh_every_s, READ_S).start()
    try:
        _wait_for_model(life, inbox, relay)
        life.wait_for("replay")
        params: Params = {}
        version = 0
        while not life.should_stop():
            model = inbox.take()
            if model is not None:
                params, version = unflatten_params(model.weights, like), model.version
                params = jax.tree.map(jax.numpy.asarray, params)
            unrolls = actor.unroll(params, version)
            figures.add_steps(config.unroll_length * env.count)
            candidates.hand_on()
            transport = {"model_source": source.current, "lost_unrolls": writer.lost_unrolls, **relay.figures()}
            transport["refused_models"] = source.refused
            transport["bytes_out"] = figures.steps // config.unroll_length * task.unroll_bytes()
            life.stats = {**figures.as_dict(version), **transport}
            _write(life, writer, unrolls)
    finally:
        relay.stop()


def _wait_for_model(life: Life, inbox: Inbox, relay: Relay) -> None:
    end_s = time.monotonic() + FIND_S
    life.state = "waiting for the first model"
    while not life.should_stop() and not inbox.arrived.wait(0.2):
        if time.monotonic() > end_s:
            raise RoleError(f"{life.key}: no model within {FIND_S:g} s ({relay.away or 'sources are empty'})")
    life.state = "running"


def _write(life: Life, writer: ReplayWriter, unrolls: list[Unroll]) -> None:
    """Store the unrolls, waiting as long as it takes: a full shard is the learner's pace, a lost one is replaced."""
    stored = writer.write(unrolls, WRITE_WAIT_S)
    while not stored and not life.should_stop():
        life.state = "waiting for a place in a replay shard"
        stored = writer.flush(WRITE_WAIT_S)
    if stored:
        life.state = "running"
