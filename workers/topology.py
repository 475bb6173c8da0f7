"""How many processes of each role a job gets: its method and its `workers` in, numbers out."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass

LEARNING_METHODS = ("auto", "rl")


@dataclass(frozen=True, kw_only=True)
class Topology:
    """Processes of one job beside the run itself. `workers` of the job = actors + optimisers."""

    optimisers: int = 1
    actors: int = 0
    learners: int = 0
    replay_shards: int = 0
    caches: int = 0

    @property
    def learns(self) -> bool:
        return self.learners > 0


def learning_available() -> bool:
    """Whether this installation has the replay server (Linux on x86-64 only). Imports nothing."""
    return importlib.util.find_spec("reverb") is not None and importlib.util.find_spec("jax") is not None


def plan(method: str, workers: int, *, can_learn: bool) -> Topology:
    """Shares `workers` processes out. auto: half search (the larger half), half act; rl: all but one act."""
    if method not in LEARNING_METHODS or not can_learn:
        return Topology(optimisers=workers)
    actors = max(1, workers // 2 if method == "auto" else workers - 1)
    return Topology(optimisers=max(1, workers - actors), actors=actors, learners=1, replay_shards=1, caches=1)
