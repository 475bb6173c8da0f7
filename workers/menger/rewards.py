"""Rewards of a design in units that are the same for all designs: what a random policy gets is 0, its spread 1.

In: environments of one design. Out: `RewardScale`, measured by random episodes from a fixed seed (so every actor of a
job finds the same), and `ScaledEnv`, which applies it. Costs of random episodes spread by 0.006 on one design and by
0.043 around a far higher mean on another; without this the value starts tens of units from its target, every advantage
has one sign meanwhile, and the value can run away (docs/learning.md). Which policy is best does not change for episodes
of one design: returns are shifted and divided by constants, and the drift taken from the steps is given back at the end
(Ng et al. 1999, potential: steps taken).
Called by actor.py. Knows nothing of agents.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

MEASURED_EPISODES = 16  # the deviation of 16 draws is known to about a fifth; they take about as long as two unrolls
LEAST_SPREAD = 0.001  # of the mean return's size: a design whose random episodes are all alike divides by this


class BatchedEnv(Protocol):
    """K environments; an ended episode starts again at once. placement.env.VectorEnv is one."""

    count: int

    def reset(self) -> Any: ...

    def step(self, actions: Any) -> tuple[Any, Any, Any, list[dict[str, Any]]]: ...


class RewardScale(NamedTuple):
    """In the units of the environment's rewards."""

    mean: float  # return of a random episode
    spread: float  # its standard deviation, > 0
    drift: float  # mean reward of a step that ends no episode


def measure(env: BatchedEnv, episodes: int = MEASURED_EPISODES, seed: int = 0) -> RewardScale:
    """Play whole random episodes, alike many in each environment, at least `episodes` together. Resets `env` first."""
    random = np.random.default_rng(seed)
    wanted = -(-episodes // env.count)  # of each environment: counting the first to end would favour short ones
    done = np.zeros(env.count, np.int64)
    running = np.zeros(env.count)
    returns: list[float] = []
    steps: list[float] = []
    observation = env.reset()
    while np.any(done < wanted):
        action = np.argmax(random.random(observation.mask.shape) * observation.mask, axis=-1)
        observation, reward, ended, _ = env.step(action)
        running += reward
        counted = done < wanted
        steps.extend(reward[counted & ~ended])
        returns.extend(running[counted & ended])
        running[ended] = 0.0
        done += ended
    mean, spread = float(np.mean(returns)), float(np.std(returns))
    floor = LEAST_SPREAD * abs(mean) or 1.0
    return RewardScale(mean, max(spread, floor), float(np.mean(steps)) if steps else 0.0)


class ScaledEnv:
    """`env` with its returns as (return - mean) / spread, and without the drift of its steps on the way."""

    def __init__(self, env: BatchedEnv, scale: RewardScale) -> None:
        self.count = env.count
        self._env = env
        self._scale = scale
        self._steps = np.zeros(env.count, np.int64)  # of the running episodes

    def reset(self) -> Any:
        self._steps[:] = 0
        return self._env.reset()

    def step(self, actions: Any) -> tuple[Any, Any, Any, list[dict[str, Any]]]:
        """As the environment's; infos are passed on unchanged, with costs and returns in their own units."""
        observation, reward, ended, infos = self._env.step(actions)
        scale = self._scale
        at_the_end = scale.drift * self._steps - scale.mean
        shaped = np.where(ended, reward + at_the_end, reward - scale.drift) / scale.spread
        self._steps = np.where(ended, 0, self._steps + 1)
        return observation, shaped.astype(np.float32), ended, infos
