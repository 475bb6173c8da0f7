"""Settings of training on a placement task, and what is made of a design by them. Frozen; checked at construction.

All roles of a job build the same `Task` from the job's design, so shapes need not travel.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from netlists.errors import PlacewrightError
from netlists.model import Canvas, Design
from placement.env.types import FEATURE_COUNT, GRID_BUCKETS, MAP_COUNT, EnvConfig, grid_side
from workers.agents.types import GraphObservation, MapObservation, compact, compact_with_graph

if TYPE_CHECKING:
    from workers.agents.agent import Agent
    from workers.menger.codec import UnrollCodec


class LearningSettingsError(PlacewrightError):
    """Settings of learning that have no meaning."""


# Those of workers/agents/algorithms.py that learn from data some versions old, as the roles bring it.
ALGORITHMS = ("impala", "ppo")
COMPUTE_DTYPES = ("float32", "bfloat16")
NETWORKS = ("grid", "graph")  # agents/networks.py PlacementNet, agents/graph_network.py
MIB = 1 << 20


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """Numbers were chosen by the trials in docs/learning.md (2 cores, ariane133_ng45) unless a source is given."""

    algorithm: str = "impala"
    seed: int = 0
    # environment: at most 32x32 cells, so that a step costs little more than its bookkeeping. The unit of rewards does
    # not matter: rewards.py brings them to that of random episodes.
    # A dead end costs as much as 0.1 of proxy cost: more would drown everything else in the value loss.
    env: EnvConfig = field(default_factory=lambda: EnvConfig(max_grid=32, dense_reward=True, infeasible_penalty=0.1))
    environments: int = 8  # of one actor; inference is batched over them
    # agent
    unroll_length: int = 32
    batch_size: int = 8
    discount: float = 1.0  # episodes end by themselves; Circuit Training's choice too
    learning_rate: float = 2e-3
    entropy_weight: float = 0.003
    epochs: int = 3  # of PPO: passes over a batch,
    minibatches: int = 2  # and updates of a pass
    popart_rate: float = 0.0  # of the running moments of value targets; 0: values in plain units
    huber_at: float = 1.0  # a spread of random returns: one surprising episode does not drown the rest of a batch
    network: str = "grid"
    channels: int = 16
    width: int = 128
    lstm_width: int = 64
    # What the network's layers compute in, at the learner alone: actors act on CPUs.
    # Parameters, optimiser and losses are float32.
    compute_dtype: str = "float32"
    # transport
    queue_bytes: int = 64 * MIB  # of one replay shard, before compression
    queue_batches: int = 2  # a longer queue only makes the data older
    prefetch_bytes: int = 64 * MIB  # of batches that lie ready on the learner's device; 0: made when asked for
    # pace, seconds
    publish_every_s: float = 0.25
    refresh_every_s: float = 0.1
    checkpoint_every_s: float = 10.0  # also how long caches wait, after a crash, for a version newer than theirs
    # candidates of one actor
    candidate_every_s: float = 2.0
    candidates_kept: int = 4

    def __post_init__(self) -> None:
        if self.algorithm not in ALGORITHMS:
            raise ValueError(f"algorithm is {self.algorithm!r}, allowed are {', '.join(ALGORITHMS)}")
        if self.network not in NETWORKS:
            raise ValueError(f"network is {self.network!r}, allowed are {', '.join(NETWORKS)}")
        if self.compute_dtype not in COMPUTE_DTYPES:
            raise ValueError(f"compute_dtype is {self.compute_dtype!r}, allowed are {', '.join(COMPUTE_DTYPES)}")
        if not self.huber_at > 0:
            raise ValueError(f"huber_at is {self.huber_at}, must be above 0")
        for name in ("environments", "unroll_length", "batch_size", "queue_bytes", "queue_batches"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}, must be at least 1")
        if self.prefetch_bytes < 0:
            raise ValueError(f"prefetch_bytes is {self.prefetch_bytes}, must be at least 0")


@dataclass(frozen=True, kw_only=True)
class Task:
    """A placement task as the learner must know it: its grid, and with that all shapes."""

    side: int
    config: TrainConfig

    @classmethod
    def of(cls, canvas: Canvas, config: TrainConfig) -> Task:
        return cls(side=grid_side(canvas.columns, canvas.rows, config.env.max_grid), config=config)

    def observation(self) -> MapObservation | GraphObservation:
        """One observation of zeros, all actions allowed."""
        maps = np.zeros((MAP_COUNT, self.side, self.side), np.uint8)
        features, mask = np.zeros(FEATURE_COUNT, np.float32), np.ones(self.side * self.side, bool)
        if self.config.network == "graph":
            return GraphObservation(maps, features, np.int32(0), np.int32(0), mask)
        return MapObservation(maps, features, mask)

    @property
    def prepare(self) -> Callable[[Any], MapObservation | GraphObservation]:
        """Makes the network's observation of the environment's."""
        return compact_with_graph if self.config.network == "graph" else compact

    def agent(self, design: Design, compute_dtype: str = "float32") -> Agent:
        """Raises GraphTooLargeError for a design beyond the graph network's maximum."""
        from workers.agents.agent import AgentConfig
        from workers.agents.algorithms import make_agent
        from workers.agents.losses import LossConfig
        from workers.agents.networks import PlacementNet

        config = self.config
        layers: dict[str, Any] = {
            "channels": config.channels,
            "width": config.width,
            "lstm_width": config.lstm_width,
            "dtype": np.dtype(compute_dtype),
        }
        network: Any
        context = None
        if config.network == "graph":
            import jax

            from placement.env.graph import make_graph
            from workers.agents.graph_network import GraphPlacementNet, stack_graphs

            network = GraphPlacementNet(**layers)
            context = jax.device_put(stack_graphs([make_graph(design)]))
        else:
            network = PlacementNet(**layers)
        several = config.algorithm == "ppo"
        return make_agent(
            config.algorithm,
            network,
            AgentConfig(
                discount=config.discount,
                unroll_length=config.unroll_length,
                batch_size=config.batch_size,
                learning_rate=config.learning_rate,
                epochs=config.epochs if several else 1,
                minibatches=config.minibatches if several else 1,
                popart_rate=config.popart_rate,
                loss=LossConfig(entropy_weight=config.entropy_weight, huber_at=config.huber_at),
            ),
            config.lstm_width,
            context,
        )

    def network_settings(self) -> dict[str, Any]:
        """What the shapes of the parameters hang on, as fields of TrainConfig."""
        return {name: getattr(self.config, name) for name in ("network", "channels", "width", "lstm_width")}

    def maxima(self) -> dict[str, int]:
        """The largest design that its parameters serve."""
        from placement.env.graph import NODE_BUCKETS

        graph = {"nodes": NODE_BUCKETS[-1]} if self.config.network == "graph" else {}
        return {"grid": GRID_BUCKETS[-1], **graph}

    def codec(self) -> UnrollCodec:
        from workers.menger.codec import UnrollCodec

        return UnrollCodec(self.observation(), self.config.unroll_length, self.config.lstm_width)

    def unroll_bytes(self) -> int:
        """Size of one unroll before compression; the codec's `bytes`, without loading jax."""
        steps = self.config.unroll_length
        observation = sum(np.asarray(leaf).nbytes for leaf in self.observation())
        return (steps + 1) * (observation + 1) + 16 * steps + 8 * self.config.lstm_width + 4

    def queue_items(self) -> int:
        """Unrolls that one shard may hold: two batches, less if they exceed the bytes, never less than a batch."""
        config = self.config
        fit = config.queue_bytes // self.unroll_bytes()
        return max(config.batch_size, min(config.queue_batches * config.batch_size, fit))


def train_config(text: str, *, seed: int, policy: Path | None = None) -> TrainConfig:
    """TrainConfig of a JSON object with some of its plain fields. Raises LearningSettingsError naming what is wrong.

    policy: a file (policies.py) to start from, whose network is then the default; raises CheckpointError.
    """
    try:
        given = json.loads(text)
    except ValueError as error:
        raise LearningSettingsError(f"settings of learning are no JSON: {error}") from error
    if not isinstance(given, dict):
        raise LearningSettingsError(f"settings of learning are {type(given).__name__}, must be an object")
    if policy is not None and policy.exists():
        from workers.agents.policies import load_info

        given = {**load_info(policy).network, **given}
    allowed = {item.name for item in fields(TrainConfig)} - {"env", "seed"}
    if unknown := sorted(given.keys() - allowed):
        raise LearningSettingsError(f"unknown setting {unknown[0]!r}, allowed are {', '.join(sorted(allowed))}")
    try:
        return TrainConfig(seed=seed, **given)
    except (TypeError, ValueError) as error:
        raise LearningSettingsError(str(error)) from error
