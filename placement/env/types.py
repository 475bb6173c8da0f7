"""What an agent sees of macro placement and what it may set: observation, configuration, constants.

Letters: C maps, G = side*side cells of the placing grid, F features, K environments side by side. Cell (row, col) is
number row*side + col; row 0 lies at the bottom of the canvas, column 0 at its left. Agents need this module only.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netlists.model import BoolArray

GRID_BUCKETS = (16, 32, 64, 128)  # sides of the placing grid: few shapes, so that a network compiles for few


class Map(IntEnum):
    """Channels of Observation.maps, all in [0, 1]."""

    OCCUPANCY = 0  # share of the cell covered by placed macros, fixed macros and blockages
    LEGAL = 1  # 1 = the current macro may go here; the mask again
    WIRE = 2  # added wirelength with the current macro here, over this step's largest
    NEXT_WIRE = 3  # the same for the macro after it
    PORTS = 4  # ports in the cell, over the largest cell's number
    SOFT = 5  # area of the soft macros at the design's start, over the largest cell's
    CANVAS = 6  # 1 = the cell belongs to the canvas, 0 = padding


class Feature(IntEnum):
    """Entries of Observation.features, about [0, 1]."""

    WIDTH = 0  # current macro, share of the canvas' width
    HEIGHT = 1
    AREA = 2  # share of the canvas' area, times the number of macros to place, over 4
    DEGREE = 3  # weight of its nets over the largest of all macros to place
    PLACED_DEGREE = 4  # share of that weight on nets that already have a placed pin
    NEXT_WIDTH = 5
    NEXT_HEIGHT = 6
    NEXT_DEGREE = 7
    PROGRESS = 8  # macros placed over macros to place
    REMAINING_AREA = 9  # of the macros still to place, over the canvas' area
    UTILISATION = 10  # of all hard macros and blockages, over the canvas' area
    ASPECT = 11  # width / (width + height) of the canvas
    MACROS = 12  # log2(1 + macros to place) / 12
    NETS = 13  # log2(1 + nets) / 20
    LEGAL_SHARE = 14  # allowed cells over cells of the canvas
    SOFT_AREA = 15  # of the soft macros, over the canvas' area


MAP_COUNT = len(Map)  # C
FEATURE_COUNT = len(Feature)  # F


class Observation(NamedTuple):
    """One environment's; a VectorEnv's has K in front of every shape."""

    maps: NDArray[np.float32]  # (C, side, side) see Map
    features: NDArray[np.float32]  # (F,) see Feature
    mask: BoolArray  # (side*side,) True = allowed; never all False while an episode runs
    current: NDArray[np.int32]  # () which macro is to be placed, in placing order; after the last one, the last


@dataclass(frozen=True, kw_only=True)
class EnvConfig:
    """Settings of the environment. Checked at construction."""

    max_grid: int = 32  # cells; the placing grid is the smallest bucket that holds the cost grid, at most this one
    dense_reward: bool = False  # add the negative wirelength increment of every step (they sum to a part of the cost)
    final_flips: bool = False  # after the last macro, each takes the orientation with the least wirelength (flips.py)
    wirelength_weight: float = 1.0  # weights of the proxy cost in the final reward
    density_weight: float = 0.5
    congestion_weight: float = 0.5
    reward_scale: float = 1.0  # final reward = reward_scale * (reward_shift - proxy)
    reward_shift: float = 1.0  # proxy cost that is worth 0: real designs lie between 0.6 and 2
    infeasible_penalty: float = 2.0  # times the share of macros that found no legal place, taken off before scaling

    def __post_init__(self) -> None:
        if self.max_grid not in GRID_BUCKETS:
            raise ValueError(f"max_grid is {self.max_grid}, allowed are {GRID_BUCKETS}")
        if self.reward_scale <= 0:
            raise ValueError(f"reward_scale is {self.reward_scale}, must be above 0")


def grid_side(columns: int, rows: int, max_grid: int) -> int:
    """Side of the placing grid for a cost grid of columns x rows: smallest bucket that holds it, at most max_grid."""
    return next((side for side in GRID_BUCKETS if side >= max(columns, rows) or side == max_grid), max_grid)


__all__ = [
    "FEATURE_COUNT",
    "GRID_BUCKETS",
    "MAP_COUNT",
    "EnvConfig",
    "Feature",
    "Map",
    "Observation",
    "grid_side",
]
