"""Macro placement as an episode: one hard macro a step, the exact proxy cost at the end."""

from placement.env.types import FEATURE_COUNT, GRID_BUCKETS, MAP_COUNT, EnvConfig, Feature, Map, Observation, grid_side

__all__ = ["FEATURE_COUNT", "GRID_BUCKETS", "MAP_COUNT", "EnvConfig", "Feature", "Map", "Observation", "grid_side"]
