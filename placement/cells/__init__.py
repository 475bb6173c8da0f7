"""Standard cells between placed macros, roughly: `place_cells(flat design, placement)`."""

from placement.cells.engine import CellOptions, CellPlacement, place_cells

__all__ = ["CellOptions", "CellPlacement", "place_cells"]
