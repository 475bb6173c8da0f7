"""How hot to begin annealing, measured from where it begins.

In: a state, a board, the moves to come. Out: a temperature in units of cost. Called by driver.py.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from placement.cost.incremental import COST, State
from placement.cost.problem import Problem
from placement.search.board import Board
from placement.search.loop import sample_changes

_SAMPLES = 2000  # trials; some 10 ms
_NODE_SHARE = (
    0.03  # of the cost per movable node: good starts of real designs want this order (docs/placement-engine.md)
)
_RANGE = 100.0  # how far a measured temperature may be from that


def balance_temperature(changes: NDArray[np.float64], low: float, high: float) -> float:
    """The temperature in [low, high] at which annealing that may make these changes neither gains nor loses.

    changes (n,): of cost, one a trial. The expected change of a trial at temperature T is the mean of
    d · min(1, exp(−d / T)), which rises with T: below the balance the search descends, above it the start is lost.
    """
    rises, falls = np.maximum(changes, 0.0), np.minimum(changes, 0.0).sum()
    for _ in range(30):
        middle = np.sqrt(low * high)
        if float((rises * np.exp(-rises / middle)).sum() + falls) < 0.0:
            low = middle
        else:
            high = middle
    return float(np.sqrt(low * high))


def start_temperature(p: Problem, s: State, b: Board, mix: NDArray[np.float64], reach: float) -> float:
    """The geometric mean of two temperatures: that in balance with the state, and a share of the cost per node.

    The first is high for a poor start and low for a good one, which a hot search would only lose; the second keeps it
    from being carried away by either. mix: cumulative shares of the moves; reach: longest step, share of the canvas.
    """
    usual = _NODE_SHARE * float(s.total[COST]) / max(len(b.movable), 1)
    if usual <= 0.0:
        return 0.0
    changes = np.zeros(_SAMPLES)
    found = int(sample_changes(p, s, b, mix, reach, changes))
    if found == 0:
        return usual
    return float(np.sqrt(usual * balance_temperature(changes[:found], usual / _RANGE, usual * _RANGE)))
