"""Macro placement as an episode: one hard macro a step, the exact proxy cost at the end."""

from placement.env.baselines import greedy_episode, random_episode
from placement.env.env import MacroEnv
from placement.env.types import FEATURE_COUNT, GRID_BUCKETS, MAP_COUNT, EnvConfig, Feature, Map, Observation, grid_side
from placement.env.vector import VectorEnv

__all__ = [
    "FEATURE_COUNT",
    "GRID_BUCKETS",
    "MAP_COUNT",
    "EnvConfig",
    "Feature",
    "MacroEnv",
    "Map",
    "Observation",
    "VectorEnv",
    "greedy_episode",
    "grid_side",
    "random_episode",
]
