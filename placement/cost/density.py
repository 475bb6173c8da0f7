"""Density term of the proxy cost: area of macros in each grid cell, as a share of the cell.

Source: proxy cost rules, "Density": overlaps count twice, parts outside the canvas are dropped. Lines are rows.
"""

from __future__ import annotations

from numpy.typing import NDArray

from placement.cost.geometry import cell_of, overlap
from placement.cost.lines import Lines, touch
from placement.cost.problem import Problem
from placement.kernels import inlined


@inlined
def add_box(p: Problem, x: float, y: float, half_width: float, half_height: float, sign: float, density: Lines) -> None:
    """Add sign · the box at (x, y) µm to the density map."""
    left, right, bottom, top = x - half_width, x + half_width, y - half_height, y + half_height
    if right <= 0.0 or top <= 0.0 or left >= p.width or bottom >= p.height:
        return
    c0, c1 = cell_of(left, p.cell_width, p.columns), cell_of(right, p.cell_width, p.columns)
    r0, r1 = cell_of(bottom, p.cell_height, p.rows), cell_of(top, p.cell_height, p.rows)
    share = sign / (p.cell_width * p.cell_height)
    for row in range(r0, r1 + 1):
        height = overlap(bottom, top, row, p.cell_height) * share
        if height != 0.0:
            touch(density, row, c0, c1 + 1)
            for col in range(c0, c1 + 1):
                density.value[row, col] += height * overlap(left, right, col, p.cell_width)


@inlined
def mean_of_nonzero(density: NDArray) -> float:
    """Mean of the cells that hold anything; 0 when none does. The rule for grids of fewer than 10 cells."""
    total, count = 0.0, 0
    for row in range(density.shape[0]):
        for col in range(density.shape[1]):
            if density[row, col] > 0.0:
                total += density[row, col]
                count += 1
    return total / count if count else 0.0
