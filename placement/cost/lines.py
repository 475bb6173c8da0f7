"""A map of parallel grid lines that remembers which part of each line was written.

Horizontal demand, vertical demand (with rows and columns exchanged) and density are all such maps: a line is
contiguous in memory, so sums over it are vectorised, and a change that touches few cells is read back and cleared
without looking at the others.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from placement.kernels import inlined


class Lines(NamedTuple):
    """L lines of M cells. Cells outside [low[l], high[l]) of line l are 0, and so is every line outside `reach`."""

    value: NDArray[np.float64]  # (L, M)
    low: NDArray[np.int64]  # (L,) first cell written; M when none
    high: NDArray[np.int64]  # (L,) one past the last cell written; 0 when none
    reach: NDArray[np.int64]  # (2,) first line written, one past the last


def empty_lines(lines: int, cells: int) -> Lines:
    """All zero, nothing written."""
    return Lines(np.zeros((lines, cells)), np.full(lines, cells), np.zeros(lines, dtype=np.int64), np.array([lines, 0]))


@inlined
def touch(m: Lines, line: int, start: int, end: int) -> None:
    """Note that cells [start, end) of a line are about to be written."""
    m.low[line] = min(m.low[line], start)
    m.high[line] = max(m.high[line], end)
    m.reach[0] = min(m.reach[0], line)
    m.reach[1] = max(m.reach[1], line + 1)


@inlined
def add_segment(m: Lines, line: int, start: int, end: int, amount: float) -> None:
    """Add `amount` to cells [start, end) of a line."""
    if start < end:
        touch(m, line, start, end)
        cells = m.value[line, start:end]
        for i in range(end - start):
            cells[i] += amount


@inlined
def add_cell(m: Lines, line: int, cell: int, amount: float) -> None:
    """Add `amount` to one cell."""
    touch(m, line, cell, cell + 1)
    m.value[line, cell] += amount


@inlined
def clear(m: Lines) -> None:
    """Back to zero; costs only what was written."""
    for line in range(m.reach[0], m.reach[1]):
        if m.low[line] < m.high[line]:
            cells = m.value[line, m.low[line] : m.high[line]]
            for i in range(len(cells)):
                cells[i] = 0.0
        m.low[line] = m.value.shape[1]
        m.high[line] = 0
    m.reach[0] = m.value.shape[0]
    m.reach[1] = 0


@inlined
def spread(source: Lines, target: Lines, radius: int) -> None:
    """Add each line of `source`, as it is, to the lines within `radius` of it in `target`; then clear `source`."""
    for line in range(source.reach[0], source.reach[1]):
        start, end = source.low[line], source.high[line]
        if start >= end:
            continue
        cells = source.value[line, start:end]
        for other in range(max(line - radius, 0), min(line + radius + 1, source.value.shape[0])):
            touch(target, other, start, end)
            out = target.value[other, start:end]
            for i in range(end - start):
                out[i] += cells[i]
    clear(source)


@inlined
def add_map(base: NDArray, change: Lines) -> None:
    """base (L, M) += change."""
    for line in range(change.reach[0], change.reach[1]):
        start, end = change.low[line], change.high[line]
        if start < end:
            out, cells = base[line, start:end], change.value[line, start:end]
            for i in range(end - start):
                out[i] += cells[i]
