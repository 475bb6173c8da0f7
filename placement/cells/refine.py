"""Which of the rows near by a cell takes: the one with the shortest nets, all else being where it is.

The nearest row alone lengthens nets by a good part of a row each, as neighbours round apart. Kernels take M cells.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from netlists.model import IntArray
from placement.kernels import kernel

MOST_PINS = 64  # nets of more pins do not tell rows apart and are left out


def pins_of_cells(pin_cell: IntArray, cells: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """start (cells+1,), pins: cell c has the pins pins[start[c]:start[c+1]], in order."""
    order = np.argsort(pin_cell, kind="stable").astype(np.int64)
    start = np.searchsorted(pin_cell[order], np.arange(cells + 1)).astype(np.int64)
    return start, order


@kernel
def choose_rows(
    x: NDArray[np.float64], y: NDArray[np.float64], aim_x: NDArray[np.float64], aim_y: NDArray[np.float64],
    member: NDArray[np.int64], width: NDArray[np.float64], height: NDArray[np.float64], reach: float,
    row_y: NDArray[np.float64], row_x: NDArray[np.float64], step: NDArray[np.float64], start: NDArray[np.int64],
    low: NDArray[np.float64], high: NDArray[np.float64],
    net_start: NDArray[np.int32], net_weight: NDArray[np.float64], net_of_pin: NDArray[np.int32],
    pin_cell: NDArray[np.int32], pin_x: NDArray[np.float64], pin_y: NDArray[np.float64],
    cell_start: NDArray[np.int64], cell_pin: NDArray[np.int64], row_of: NDArray[np.int64],
) -> int:  # fmt: skip
    """Moves the cells of `member` (centres x, y (M,) in place) to the best site within `reach` of their aims.

    aim_x, aim_y (M,) where the cells were before any row · row_of (M,) is kept up. Returns how many moved.
    """
    moved = 0
    for cell in member:
        if row_of[cell] < 0:
            continue
        left, bottom = aim_x[cell] - width[cell] / 2, aim_y[cell] - height[cell] / 2
        best, best_x, best_y, best_row = np.inf, x[cell], y[cell], row_of[cell]
        first = np.searchsorted(row_y, bottom - reach)
        for row in range(first, len(row_y)):
            if row_y[row] > bottom + reach:
                break
            for part in range(start[row], start[row + 1]):
                least = np.ceil((low[part] - row_x[row]) / step[row] - 1e-6)
                most = np.floor((high[part] - width[cell] - row_x[row]) / step[row] + 1e-6)
                if most < least:
                    continue
                site = min(max(np.round((left - row_x[row]) / step[row]), least), most)
                at_x = row_x[row] + site * step[row]
                if abs(at_x - left) > reach:
                    continue
                at_x, at_y = at_x + width[cell] / 2, row_y[row] + height[cell] / 2
                length = 0.0
                for own in range(cell_start[cell], cell_start[cell + 1]):
                    net = net_of_pin[cell_pin[own]]
                    begin, end = net_start[net], net_start[net + 1]
                    if end - begin > MOST_PINS:
                        continue
                    x0, x1, y0, y1 = np.inf, -np.inf, np.inf, -np.inf
                    for pin in range(begin, end):
                        of = pin_cell[pin]
                        px, py = pin_x[pin], pin_y[pin]
                        if of == cell:
                            px, py = px + at_x, py + at_y
                        elif of >= 0:
                            px, py = px + x[of], py + y[of]
                        x0, x1, y0, y1 = min(x0, px), max(x1, px), min(y0, py), max(y1, py)
                    length += net_weight[net] * (x1 - x0 + y1 - y0)
                if length < best:
                    best, best_x, best_y, best_row = length, at_x, at_y, row
        if best_x != x[cell] or best_y != y[cell]:
            moved += 1
            x[cell], y[cell], row_of[cell] = best_x, best_y, best_row
    return moved
