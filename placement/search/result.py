"""What a search hands back. No logic."""

from __future__ import annotations

from dataclasses import dataclass

from netlists.model import Placement
from placement.cost import CostReport


@dataclass(frozen=True)
class StageGain:
    """One stage of a search: what it took and what it gained."""

    name: str
    seconds: float  # on the search's clock
    trials: int
    gain: float  # proxy cost of the best placement before less that after; never negative


@dataclass(frozen=True, eq=False)
class SearchResult:
    """The best placement found. `cost` is the full evaluation's and never above `start_cost`."""

    placement: Placement
    cost: CostReport
    start_cost: CostReport
    stages: tuple[StageGain, ...]
    trials: int
    seconds: float  # on the search's clock
