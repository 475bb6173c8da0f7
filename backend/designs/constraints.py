"""Are a job's constraints ones that its design can have, and can they be met? Asked before the job is stored, without
reading the netlist.

In: a design's row and the JSON object of a job. Names, sizes, blockages and the canvas come from the design's
`layout.json`, rules that the job's go on top of from its side files. The bounds of `check_feasible` are necessary: what
they refuse can never be placed. Whether what passes can be is the run's to say, which also knows rules of LEF and DEF.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from backend.core.errors import UnprocessableError
from backend.core.tables import DesignRow
from backend.schemas import LayoutRead
from netlists.constraints_json.file import is_constraints, looks_like_json, object_source, read_source, with_constraints
from netlists.errors import InfeasibleError, InputError
from netlists.model import Canvas, Design, Netlist, Orientation, Placement


def require_constraints(
    data: Path, row: DesignRow, constraints: Mapping[str, Any], *, from_scratch: bool = False
) -> None:
    """Raises UnprocessableError: `bad-constraints` that names the key, the value found and the values allowed, or
    `infeasible-constraints` with the numbers of the bound that is broken.
    """
    from placement.legal import check_feasible  # here: it loads the compiler's library, which few requests need

    folder = data / "designs" / row.id
    layout = LayoutRead.model_validate_json((folder / "layout.json").read_bytes())
    files = [folder / "files" / file["stored"] for file in row.files if ".json" in file["stored"]]
    sources = [read_source(path) for path in files if looks_like_json(path)]
    design = _bare_design(layout, has_start=row.facts.get("start_costs") is not None)
    try:
        ruled = with_constraints(design, [*filter(is_constraints, sources), object_source(constraints)])
        check_feasible(ruled.without_start() if from_scratch else ruled)
    except InfeasibleError as error:
        raise UnprocessableError(
            "infeasible-constraints", f"No placement can meet these constraints: {error}"
        ) from None
    except InputError as error:
        raise UnprocessableError("bad-constraints", str(error)) from None


def _bare_design(layout: LayoutRead, *, has_start: bool) -> Design:
    """The design without pins and nets: all that constraints speak of."""
    n = len(layout.name)
    netlist = Netlist(
        node_name=tuple(layout.name),
        node_kind=np.array(layout.kind, dtype=np.int8),
        node_index=np.arange(n, dtype=np.int32),
        width_um=np.array(layout.width_um),
        height_um=np.array(layout.height_um),
        port_side=np.full(n, -1, dtype=np.int8),
        pin_name=(),
        pin_node=np.zeros(0, np.int32),
        pin_dx_um=np.zeros(0),
        pin_dy_um=np.zeros(0),
        net_start=np.zeros(1, np.int32),
        net_pin=np.zeros(0, np.int32),
        net_weight=np.zeros(0),
    )
    start = Placement(
        x_um=np.array(layout.x_um),
        y_um=np.array(layout.y_um),
        orientation=np.array([Orientation[name] for name in layout.orientation], dtype=np.int8),
        fixed=np.array(layout.fixed, dtype=np.bool_),
    )
    box = layout.canvas
    canvas = Canvas(width_um=box.width_um, height_um=box.height_um, columns=box.columns, rows=box.rows)
    return Design(
        name="layout",
        netlist=netlist,
        canvas=canvas,
        start=start,
        blockages_um=np.array(layout.blockages_um).reshape(-1, 4),
        has_start=has_start,
    )
