"""How full bins are of cells, by the exact overlap of boxes with bins; the area of the cells is conserved.

Kernels take M boxes by centre and size. Slow twin: tests/placement/cells/slow.py.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from netlists.model import FloatArray
from placement.cells.room import Room
from placement.kernels import kernel


@kernel
def _add_boxes(
    x: NDArray[np.float64], y: NDArray[np.float64], width: NDArray[np.float64], height: NDArray[np.float64],
    bin_width: float, bin_height: float, area: NDArray[np.float64],
) -> None:  # fmt: skip
    """Adds to area (rows, columns) what of each box lies in each bin. Parts beyond the grid count for no bin."""
    rows, columns = area.shape
    for cell in range(len(x)):
        x0, x1 = x[cell] - width[cell] / 2, x[cell] + width[cell] / 2
        y0, y1 = y[cell] - height[cell] / 2, y[cell] + height[cell] / 2
        for j in range(max(int(y0 / bin_height), 0), min(int(y1 / bin_height) + 1, rows)):
            tall = min(y1, (j + 1) * bin_height) - max(y0, j * bin_height)
            if tall <= 0:
                continue
            for i in range(max(int(x0 / bin_width), 0), min(int(x1 / bin_width) + 1, columns)):
                wide = min(x1, (i + 1) * bin_width) - max(x0, i * bin_width)
                if wide > 0:
                    area[j, i] += wide * tall


def used_area_um2(
    x_um: FloatArray, y_um: FloatArray, width_um: FloatArray, height_um: FloatArray, room: Room
) -> FloatArray:
    """(rows, columns) µm² of cells in each bin of the room's grid."""
    rows, columns = room.free_um2.shape
    area = np.zeros((rows, columns))
    _add_boxes(x_um, y_um, width_um, height_um, room.width_um / columns, room.height_um / rows, area)
    return area


def overflow(x_um: FloatArray, y_um: FloatArray, width_um: FloatArray, height_um: FloatArray, room: Room) -> float:
    """Share of the cells' area that is beyond the free area of its bin: 0 = every bin has room for what is in it."""
    used = used_area_um2(x_um, y_um, width_um, height_um, room)
    return float(np.maximum(used - room.free_um2, 0.0).sum() / (width_um * height_um).sum())
