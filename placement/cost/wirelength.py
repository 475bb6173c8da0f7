"""Wirelength term of the proxy cost: half-perimeter of nets from terminal positions.

Source: proxy cost rules, "Wirelength": sum(weight · HPWL) / ((W + H) · sum(weight)). Pure.
Called by the full evaluation (all nets) and the incremental one (nets of a moved node).
"""

from __future__ import annotations

from numpy.typing import NDArray

from placement.cost.problem import Problem
from placement.kernels import inlined


@inlined
def net_hpwl(p: Problem, net: int, term_x: NDArray, term_y: NDArray) -> float:
    """Half-perimeter (µm) of one net. term_x, term_y (T,) float64 µm."""
    first = p.net_term[p.net_start[net]]
    x_low = x_high = term_x[first]
    y_low = y_high = term_y[first]
    for k in range(p.net_start[net] + 1, p.net_start[net + 1]):
        term = p.net_term[k]
        x, y = term_x[term], term_y[term]
        x_low, x_high = min(x_low, x), max(x_high, x)
        y_low, y_high = min(y_low, y), max(y_high, y)
    return (x_high - x_low) + (y_high - y_low)
