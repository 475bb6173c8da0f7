"""K episodes of one design side by side, in one thread: what an actor steps.

In: actions (K,). Out: stacked observations, rewards, which episodes ended, and what they came to. An ended episode
starts again at once: the observation returned for it is the first of its next episode.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from netlists.model import BoolArray, Design, IntArray
from placement.env.episode import Finisher, prepare
from placement.env.kernels import DEAD_END, REFUSED, RUNNING, begin, new_states, observe_all, step_all
from placement.env.types import FEATURE_COUNT, MAP_COUNT, EnvConfig, Observation


class VectorEnv:
    """K environments that share the design's arrays. Episodes hold no chance: the actions decide everything."""

    def __init__(self, design: Design, config: EnvConfig | None = None, count: int = 1, seed: int = 0) -> None:
        """Raises InfeasibleError if the design has no legal placement or nothing to place. `seed` is kept for callers
        that seed every environment they make; nothing here is random."""
        if count < 1:
            raise ValueError(f"count is {count}, must be at least 1")
        self.design, self.config, self.count, self.seed = design, config or EnvConfig(), count, seed
        self.plan = prepare(design, self.config)
        self.finisher = Finisher(design, self.plan, self.config)
        self.states = new_states(self.plan, count)
        self._paid = np.zeros(count)  # dense reward given so far in each running episode
        self._growth, self._status = np.zeros(count), np.zeros(count, np.int64)
        self.episodes = 0
        self.infeasible_episodes = 0

    @property
    def side(self) -> int:
        """Side of the placing grid; actions are in [0, side²)."""
        return self.plan.side

    @property
    def macro_count(self) -> int:
        """Steps of an episode."""
        return len(self.plan.node)

    def reset(self) -> Observation:
        """Start all episodes anew."""
        self._paid[:] = 0.0
        for k in range(self.count):
            begin(self.plan, self.states, k)
        return self.observe()

    def observe(self) -> Observation:
        """The current observations, in arrays of their own: maps (K, C, side, side), features (K, F), mask (K, G),
        current (K,)."""
        side = self.plan.side
        maps = np.empty((self.count, MAP_COUNT, side, side), np.float32)
        features = np.empty((self.count, FEATURE_COUNT), np.float32)
        mask = np.empty((self.count, side * side), np.bool_)
        observe_all(self.plan, self.states, maps, features, mask)
        current = np.minimum(self.states.step, self.macro_count - 1).astype(np.int32)
        return Observation(maps, features, mask, current)

    def step(
        self, actions: IntArray | NDArray[np.int64]
    ) -> tuple[Observation, NDArray[np.float32], BoolArray, list[dict[str, Any]]]:
        """actions (K,) cells. Returns observation, rewards (K,) float32, ended (K,), and one dict an ended episode.

        A dict is `Outcome.info()` plus "env", the episode's index, "return", the sum of its rewards, and "steps".
        Raises ValueError for an action that its mask forbids; nothing about the other episodes is undone then.
        """
        actions = np.ascontiguousarray(actions, dtype=np.int64)
        if actions.shape != (self.count,):
            raise ValueError(f"actions have shape {actions.shape}, expected ({self.count},)")
        step_all(self.plan, self.states, actions, self._growth, self._status)
        if np.any(self._status == REFUSED):
            k = int(np.argmax(self._status == REFUSED))
            raise ValueError(f"action {actions[k]} of environment {k} is not allowed by its mask")
        rewards = np.asarray(self.finisher.dense(self._growth), dtype=np.float64)
        self._paid += rewards
        ended = self._status != RUNNING
        infos = [self._end(int(k), rewards) for k in np.flatnonzero(ended)]
        return self.observe(), rewards.astype(np.float32), ended, infos

    def _end(self, k: int, rewards: NDArray[np.float64]) -> dict[str, Any]:
        steps = int(self.states.step[k])
        outcome = self.finisher.finish(self.states.centre[k], steps)
        # The whole return is the final reward, with or without increments on the way.
        rewards[k] += outcome.reward - self._paid[k]
        self._paid[k] = 0.0
        self.episodes += 1
        self.infeasible_episodes += int(self._status[k] == DEAD_END)
        begin(self.plan, self.states, k)
        return {**outcome.info(), "env": k, "return": outcome.reward, "steps": steps}
