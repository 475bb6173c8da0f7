"""The proxy cost of a placement, computed from scratch in float64.

In: Design and Placement. Out: `CostReport`, or the maps behind it for pictures and features.
Source: proxy cost rules (wirelength + 0.5 density + 0.5 congestion). The cost that is shown or stored comes from here.
Called by everything that judges a result; the incremental cost must agree with it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netlists.model import Design, Placement
from placement.cost.congestion import block_routes, distinct_cells, route_cells
from placement.cost.density import add_box, mean_of_nonzero
from placement.cost.geometry import half_size, place_terminals
from placement.cost.lines import Lines, empty_lines, spread
from placement.cost.problem import Problem, problem_of
from placement.cost.wirelength import net_hpwl
from placement.kernels import kernel


class Weights(NamedTuple):
    """Weights of the three costs in the proxy cost; Circuit Training's defaults."""

    wirelength: float = 1.0
    density: float = 0.5
    congestion: float = 0.5


DEFAULT_WEIGHTS = Weights()


@dataclass(frozen=True)
class CostReport:
    """Wirelength is the sum of weight x HPWL in µm; the costs have no unit."""

    wirelength: float
    wirelength_cost: float
    density_cost: float
    congestion_cost: float
    proxy_cost: float

    def as_dict(self) -> dict[str, float]:
        return asdict(self)


@dataclass(frozen=True, eq=False)
class CostMaps:
    """(rows, columns) float64 each: density, and routing demand as a share of supply, smoothed, macros included."""

    density: NDArray[np.float64]
    horizontal: NDArray[np.float64]
    vertical: NDArray[np.float64]


class Scratch(NamedTuple):
    """Arrays that one evaluation writes; T terminals."""

    term_x: NDArray[np.float64]  # (T,) µm
    term_y: NDArray[np.float64]
    term_row: NDArray[np.int32]  # (T,)
    term_col: NDArray[np.int32]
    net_row: NDArray[np.int32]  # cells of one net
    net_col: NDArray[np.int32]
    stamp: NDArray[np.int64]  # (rows·columns,)
    raw_hor: Lines  # (rows, columns)
    raw_ver: Lines  # (columns, rows)
    hor: Lines
    ver: Lines
    density: Lines


def new_scratch(p: Problem) -> Scratch:
    """Zeroed arrays of the problem's sizes."""
    terms = len(p.term_dx)
    degree = int(np.diff(p.net_start).max(initial=1))
    return Scratch(
        np.zeros(terms),
        np.zeros(terms),
        np.zeros(terms, dtype=np.int32),
        np.zeros(terms, dtype=np.int32),
        np.zeros(degree, dtype=np.int32),
        np.zeros(degree, dtype=np.int32),
        np.full(p.rows * p.columns, -1, dtype=np.int64),
        empty_lines(p.rows, p.columns),
        empty_lines(p.columns, p.rows),
        empty_lines(p.rows, p.columns),
        empty_lines(p.columns, p.rows),
        empty_lines(p.rows, p.columns),
    )


@kernel
def fill(p: Problem, x: NDArray, y: NDArray, orientation: NDArray, s: Scratch) -> float:
    """Everything but the top-k means, into fresh scratch. Returns the sum of weight x HPWL (µm)."""
    for node in range(len(x)):
        place_terminals(p, node, x[node], y[node], orientation[node], s.term_x, s.term_y, s.term_row, s.term_col)
    wirelength = 0.0
    for net in range(len(p.net_weight)):
        wirelength += p.net_weight[net] * net_hpwl(p, net, s.term_x, s.term_y)
        count = distinct_cells(p, net, s.term_row, s.term_col, s.stamp, net, s.net_row, s.net_col)
        if count > 1:
            route_cells(p, s.net_row, s.net_col, count, p.net_routes[net], s.raw_hor, s.raw_ver)
    spread(s.raw_hor, s.hor, p.smoothing)
    spread(s.raw_ver, s.ver, p.smoothing)
    for node in range(len(x)):
        if p.has_area[node]:
            half_width, half_height = half_size(p, node, orientation[node])
            add_box(p, x[node], y[node], half_width, half_height, 1.0, s.density)
            if p.is_hard[node]:
                block_routes(p, x[node], y[node], half_width, half_height, 1.0, s.hor, s.ver)
    return wirelength


def top_mean(values: NDArray[np.float64], count: int) -> float:
    """Mean of the `count` largest values."""
    return float(np.partition(values, len(values) - count)[len(values) - count :].sum()) / count


def density_cost(p: Problem, density: NDArray[np.float64]) -> float:
    """Half the mean density of the densest tenth of the cells (rule). density (rows, columns)."""
    if p.density_top == 0:
        return 0.5 * float(mean_of_nonzero(density))
    return 0.5 * top_mean(density.ravel(), p.density_top)


def congestion_cost(p: Problem, hor: NDArray[np.float64], ver: NDArray[np.float64]) -> float:
    """Mean of the most congested 5 % of the values of both maps, in any order of cells."""
    return top_mean(np.concatenate([hor.ravel(), ver.ravel()]), p.congestion_top)


def _arrays(placement: Placement) -> tuple[NDArray, NDArray, NDArray]:
    # Copies: kernels are compiled for writable arrays, a placement's are read-only.
    return placement.x_um.copy(), placement.y_um.copy(), placement.orientation.copy()


def evaluate(design: Design, placement: Placement, weights: Weights = DEFAULT_WEIGHTS) -> CostReport:
    """The exact proxy cost of a placement, from scratch. Weights default to 1, 0.5, 0.5."""
    p = problem_of(design)
    s = new_scratch(p)
    wirelength = float(fill(p, *_arrays(placement), s))
    wirelength_cost = wirelength * p.wirelength_scale
    density = density_cost(p, s.density.value)
    congestion = congestion_cost(p, s.hor.value, s.ver.value)
    proxy = weights.wirelength * wirelength_cost + weights.density * density + weights.congestion * congestion
    return CostReport(wirelength, wirelength_cost, density, congestion, proxy)


def cost_maps(design: Design, placement: Placement) -> CostMaps:
    """The maps whose largest values make the density and congestion costs."""
    p = problem_of(design)
    s = new_scratch(p)
    fill(p, *_arrays(placement), s)
    return CostMaps(s.density.value, s.hor.value, np.ascontiguousarray(s.ver.value.T))
