"""Macro placement as an episode: the plain environment, one at a time.

In: a design. `reset` starts, `step` places the next macro (order and grid: `plan.py`; what an action means:
`kernels.py`; the end and its reward: `episode.py`). Agents that step many use `VectorEnv`, gymnasium `gym_adapter`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from netlists.model import Design, IntArray, Placement
from placement.env.episode import Finisher, prepare
from placement.env.kernels import COMPLETE, DEAD_END, REFUSED, RUNNING, begin, new_states, observe, step_all
from placement.env.types import FEATURE_COUNT, MAP_COUNT, EnvConfig, Observation


class MacroEnv:
    """One environment. Episodes hold no chance: the actions decide everything."""

    def __init__(self, design: Design, config: EnvConfig | None = None) -> None:
        """Raises InfeasibleError if the design has no legal placement or nothing to place."""
        self.design, self.config = design, config or EnvConfig()
        self.plan = prepare(design, self.config)
        self.finisher = Finisher(design, self.plan, self.config)
        self.states = new_states(self.plan, 1)
        self._growth, self._status = np.zeros(1), np.full(1, COMPLETE)
        self._paid = 0.0

    @property
    def side(self) -> int:
        """Side of the placing grid; actions are in [0, side²)."""
        return self.plan.side

    @property
    def macro_count(self) -> int:
        """Steps of an episode."""
        return len(self.plan.node)

    @property
    def order(self) -> IntArray:
        """(M,) netlist nodes in the order they are placed."""
        return self.plan.node

    def reset(self, seed: int | None = None) -> Observation:
        """Start an episode. `seed` is taken for the interface's sake; nothing here is random."""
        begin(self.plan, self.states, 0)
        self._status[0] = RUNNING
        self._paid = 0.0
        return self.observe()

    def observe(self) -> Observation:
        """The current observation, in arrays of its own."""
        side = self.plan.side
        maps = np.empty((MAP_COUNT, side, side), np.float32)
        features = np.empty(FEATURE_COUNT, np.float32)
        mask = np.empty(side * side, np.bool_)
        observe(self.plan, self.states, 0, maps, features, mask)
        current = np.minimum(self.states.step[0], self.macro_count - 1).astype(np.int32)
        return Observation(maps, features, mask, current)

    def step(self, action: int) -> tuple[Observation, float, bool, dict[str, Any]]:
        """Place the current macro into a cell. Returns observation, reward, whether the episode ended, and info.

        Raises ValueError for an action that the mask forbids (the episode goes on as if it had not been given) and
        RuntimeError when no episode runs. info is empty but at the end: see `Outcome.info`.
        """
        if self._status[0] not in (RUNNING, REFUSED):
            raise RuntimeError("no episode runs; call reset first")
        step_all(self.plan, self.states, np.array([action], dtype=np.int64), self._growth, self._status)
        if self._status[0] == REFUSED:
            raise ValueError(f"action {action} is not allowed by the mask")
        reward = float(self.finisher.dense(self._growth[0]))
        self._paid += reward
        info: dict[str, Any] = {}
        ended = self._status[0] in (COMPLETE, DEAD_END)
        if ended:
            outcome = self.finisher.finish(self.states.centre[0], int(self.states.step[0]))
            reward += outcome.reward - self._paid
            info = {**outcome.info(), "return": outcome.reward, "steps": int(self.states.step[0])}
        return self.observe(), reward, bool(ended), info

    def decode(self, actions: Sequence[int]) -> Placement:
        """The whole placement that these actions, from the first on, lead to.

        Actions may end before the episode does: the rest is placed as after a dead end.
        """
        self.reset()
        for action in actions:
            step_all(self.plan, self.states, np.array([action], dtype=np.int64), self._growth, self._status)
            if self._status[0] == REFUSED:
                raise ValueError(f"action {action} at step {int(self.states.step[0])} is not allowed by the mask")
        self._status[0] = COMPLETE
        return self.finisher.finish(self.states.centre[0], int(self.states.step[0])).placement
