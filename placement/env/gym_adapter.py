"""The environment as a gymnasium one, for agents and tools that speak gymnasium. Imports gymnasium: not for actors.

Observation: Dict of `maps` and `features` (Box) and `mask` (MultiBinary). An action that the mask forbids is replaced
by the nearest allowed cell and counted in info["masked"], because gymnasium's agents may know nothing of masks.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from netlists.model import Design
from placement.env.env import MacroEnv
from placement.env.types import FEATURE_COUNT, MAP_COUNT, EnvConfig, Observation

FEATURE_LIMIT = 8.0  # features lie about in [0, 1]; a macro of very uneven designs may reach a few times that


class GymMacroEnv(gymnasium.Env):
    """`MacroEnv` behind gymnasium's interface."""

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012  gymnasium's own declaration

    def __init__(self, design: Design, config: EnvConfig | None = None) -> None:
        self.env = MacroEnv(design, config)
        side = self.env.side
        spaces = gymnasium.spaces
        self.action_space = spaces.Discrete(side * side)
        self.observation_space = spaces.Dict(
            {
                "maps": spaces.Box(0.0, 1.0, (MAP_COUNT, side, side), np.float32),
                "features": spaces.Box(0.0, FEATURE_LIMIT, (FEATURE_COUNT,), np.float32),
                "mask": spaces.MultiBinary(side * side),
            }
        )
        self._mask = np.zeros(side * side, np.bool_)
        self._masked = 0

    def _seen(self, observation: Observation) -> dict[str, Any]:
        self._mask = observation.mask
        return {"maps": observation.maps, "features": observation.features, "mask": observation.mask.astype(np.int8)}

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Start an episode."""
        super().reset(seed=seed)
        self._masked = 0
        return self._seen(self.env.reset(seed)), {}

    def nearest_allowed(self, action: int) -> int:
        """The allowed cell nearest to `action`, itself if allowed."""
        side = self.env.side
        allowed = np.flatnonzero(self._mask)
        distance = (allowed // side - action // side) ** 2 + (allowed % side - action % side) ** 2
        return int(allowed[np.argmin(distance)])

    def step(self, action: Any) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Place the current macro."""
        chosen = self.nearest_allowed(int(action))
        self._masked += chosen != int(action)
        observation, reward, ended, info = self.env.step(chosen)
        return self._seen(observation), reward, ended, False, {**info, "masked": self._masked}
