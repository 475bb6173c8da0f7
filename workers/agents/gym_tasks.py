"""Gymnasium tasks as batched environments, so that the agents can be judged on known tasks.

Vector observations and discrete actions. Needs gymnasium, a development dependency.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from workers.agents.types import VectorObservation


class GymVector:
    """K environments of one task side by side; an ended episode starts again at once.

    Running out of the task's time limit counts as an end. `reward_scale` keeps returns where the loss weights fit.
    """

    def __init__(self, task: str, count: int, seed: int, reward_scale: float = 1.0) -> None:
        import gymnasium

        self.count = count
        self._envs = [gymnasium.make(task) for _ in range(count)]
        space: Any = self._envs[0].action_space
        self.actions = int(space.n)
        self._seed = seed
        self._reward_scale = np.float32(reward_scale)
        self._returns = np.zeros(count)

    def reset(self) -> VectorObservation:
        return self._observation([env.reset(seed=self._seed + k)[0] for k, env in enumerate(self._envs)])

    def step(
        self, actions: NDArray
    ) -> tuple[VectorObservation, NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """actions (K,). As placement.env.VectorEnv.step; an info holds `env` and the unscaled `return`."""
        seen, infos = [], []
        rewards, ended = np.zeros(self.count, np.float32), np.zeros(self.count, bool)
        for k, env in enumerate(self._envs):
            observation, reward, terminated, truncated, _ = env.step(int(actions[k]))
            rewards[k] = float(reward)
            self._returns[k] += float(reward)
            ended[k] = terminated or truncated
            if ended[k]:
                infos.append({"env": k, "return": float(self._returns[k])})
                self._returns[k] = 0.0
                observation = env.reset()[0]
            seen.append(observation)
        return self._observation(seen), rewards * self._reward_scale, ended, infos

    def _observation(self, seen: list[Any]) -> VectorObservation:
        return VectorObservation(np.stack(seen).astype(np.float32), np.ones((self.count, self.actions), bool))
