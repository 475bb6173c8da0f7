"""A placement as GDSII: boxes with labels, one cell, 1 nm a unit. Written by gdstk, imported when called.

Layers: 1 hard macros (datatype 1 where fixed), 2 soft macros, 3 cells, 4 ports (labels), 5 blockages, 10 canvas.
In: path, design, placement. Out: the file, equal for equal input.
"""

from __future__ import annotations

import datetime
import re
import tempfile
from pathlib import Path
from typing import Any

from netlists.files import atomic_bytes
from netlists.model import Design, NodeKind, Placement, oriented_size_um

HARD, SOFT, CELL, PORT, BLOCKAGE, CANVAS = 1, 2, 3, 4, 5, 10
UNIT_UM = 0.001
MAX_UM = 2_000_000.0  # coordinates are 32-bit numbers of UNIT_UM
_LAYER = {NodeKind.HARD_MACRO: HARD, NodeKind.SOFT_MACRO: SOFT, NodeKind.CELL: CELL}
_DATE = datetime.datetime(2000, 1, 1)  # equal input, equal bytes


def refusal(design: Design) -> str | None:
    """Why GDSII cannot hold this design; None where it can."""
    reach = max(design.canvas.width_um, design.canvas.height_um)
    return None if reach <= MAX_UM else f"a canvas of {reach:g} µm: GDSII in nm reaches to {MAX_UM:g} µm"


def write_gds(path: Path, design: Design, placement: Placement) -> None:
    """Writes the boxes at `placement`; hard and soft macros and ports have their names as labels."""
    import gdstk

    name = re.sub(r"[^A-Za-z0-9_?$]", "_", design.name) or "design"
    library = gdstk.Library(name, unit=1e-6, precision=1e-6 * UNIT_UM)
    _fill(library.new_cell(name), gdstk, design, placement)
    with tempfile.TemporaryDirectory() as folder, atomic_bytes(Path(path)) as file:
        whole = Path(folder) / "whole.gds"
        library.write_gds(str(whole), timestamp=_DATE)
        file.write(whole.read_bytes())


def _fill(cell: Any, gdstk: Any, design: Design, placement: Placement) -> None:
    netlist, canvas = design.netlist, design.canvas
    width, height = oriented_size_um(netlist.width_um, netlist.height_um, placement.orientation)
    cell.add(gdstk.rectangle((0, 0), (canvas.width_um, canvas.height_um), layer=CANVAS))
    for llx, lly, urx, ury in design.blockages_um.tolist():
        cell.add(gdstk.rectangle((llx, lly), (urx, ury), layer=BLOCKAGE))
    columns = (
        netlist.node_kind.tolist(), placement.x_um.tolist(), placement.y_um.tolist(),
        width.tolist(), height.tolist(), placement.fixed.tolist(), netlist.node_name,
    )  # fmt: skip
    for kind, x, y, w, h, fixed, text in zip(*columns, strict=True):
        layer = _LAYER.get(kind, PORT)
        if layer != PORT:
            corners = (x - w / 2, y - h / 2), (x + w / 2, y + h / 2)
            cell.add(gdstk.rectangle(*corners, layer=layer, datatype=int(fixed and layer == HARD)))
        if layer != CELL:
            cell.add(gdstk.Label(text, (x, y), layer=layer))
