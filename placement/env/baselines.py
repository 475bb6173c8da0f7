"""Policies without learning, to compare with: uniformly random legal cells, and least growth of wirelength.

In: an environment. Out: the actions of one episode and the info of its last step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from placement.env.env import MacroEnv
from placement.env.types import Map, Observation

Policy = Callable[[Observation], int]


def random_policy(random: np.random.Generator) -> Policy:
    """Every allowed cell with the same probability."""
    return lambda observation: int(random.choice(np.flatnonzero(observation.mask)))


def greedy_policy(observation: Observation) -> int:
    """The allowed cell where wirelength grows least; the first of equals."""
    growth = observation.maps[Map.WIRE].ravel()
    return int(np.argmin(np.where(observation.mask, growth, np.inf)))


def run_episode(env: MacroEnv, policy: Policy) -> tuple[list[int], dict[str, Any]]:
    """One episode from reset to end."""
    observation, ended = env.reset(), False
    info: dict[str, Any] = {}
    actions: list[int] = []
    while not ended:
        actions.append(policy(observation))
        observation, _, ended, info = env.step(actions[-1])
    return actions, info


def random_episode(env: MacroEnv, seed: int) -> tuple[list[int], dict[str, Any]]:
    """One episode of `random_policy`."""
    return run_episode(env, random_policy(np.random.default_rng(seed)))


def greedy_episode(env: MacroEnv) -> tuple[list[int], dict[str, Any]]:
    """One episode of `greedy_policy`."""
    return run_episode(env, greedy_policy)
