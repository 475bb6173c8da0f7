"""Cells of a flat design after its macros are placed: roughly placed between them, written, and measured in the file.

In: the flat design, and a placement of the clustered design that was made of it. Out: its DEF with the cells PLACED, or
its Bookshelf `.pl`, and what the file says of the wirelength. Called by the command line and by runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from netlists.bookshelf.export import export_pl
from netlists.bookshelf.files import find_bookshelf
from netlists.bookshelf.files import kind_of as bookshelf_kind
from netlists.clustering.files import read_groups
from netlists.errors import InputError, MismatchError
from netlists.lefdef.def_file import Status
from netlists.lefdef.export import export_def
from netlists.lefdef.load import kind_of
from netlists.lefdef.places import on_grid
from netlists.model import Design, IntArray, NodeKind, Placement
from placement.cells import CellOptions, place_cells
from placement.cost.hpwl import hpwl
from workers.layout_files import DEF_FILE, PL_FILE

LEAST_CELL_SECONDS = 60.0  # that placing cells may take at most, however small the budget for macros is


@dataclass(frozen=True, kw_only=True)
class PlacedCells:
    """What placing the cells gave. Lengths are those of the flat design, weighted; after: of the file, read back."""

    hpwl_before_um: float
    hpwl_after_um: float
    overflow: float
    seconds: float
    warnings: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        return {
            "hpwl_before_um": self.hpwl_before_um,
            "hpwl_after_um": self.hpwl_after_um,
            "overflow": self.overflow,
            "seconds": round(self.seconds, 2),
            **({"warnings": list(self.warnings)} if self.warnings else {}),
        }


def cells_refusal(flat: Design, sources: Sequence[Path]) -> str | None:
    """Why no file can be written with the cells of this design placed; None where one can."""
    counts = flat.netlist.counts()
    if not counts["cells"]:
        return "it has no standard cells; cells are placed in flat designs"
    if counts["soft_macros"]:
        return f"it has {counts['soft_macros']:,} soft macros, in which its cells are clustered already"
    if (flat.start.fixed | (flat.netlist.node_kind != NodeKind.CELL)).all():
        return f"all of its {counts['cells']:,} cells are fixed"
    shelf = {path: kind for path in sources if (kind := bookshelf_kind(path))}
    if shelf:
        return None if find_bookshelf(shelf).pl is not None else "there is no .pl among its files to write places into"
    if flat.database is None or not any(kind_of(path) == "def" for path in sources):
        return "places of cells are written into a DEF or a Bookshelf .pl, and neither is among its files"
    return None


def flat_placement(flat: Design, clustered: Design, placement: Placement, groups: IntArray | None) -> Placement:
    """The flat design's placement: macros where `placement` of `clustered` has them, cells at their soft macros.

    groups: node of `clustered` that each flat node is in; without it cells stay where the flat design has them. Raises
    MismatchError where a movable macro of the flat design is not in the clustered one.
    """
    node_of = {name: node for node, name in enumerate(clustered.netlist.node_name)}
    x, y, orientation = flat.start.x_um.copy(), flat.start.y_um.copy(), flat.start.orientation.copy()
    hard = flat.netlist.nodes_of(NodeKind.HARD_MACRO)
    names = [flat.netlist.node_name[node] for node in hard]
    if missing := [name for name in names if name not in node_of]:
        raise MismatchError(
            f"design '{clustered.name}' lacks {len(missing):,} macros of '{flat.name}', first '{missing[0]}'"
        )
    at = np.array([node_of[name] for name in names], dtype=np.int64)
    x[hard], y[hard], orientation[hard] = placement.x_um[at], placement.y_um[at], placement.orientation[at]
    if groups is not None:
        cells = flat.netlist.nodes_of(NodeKind.CELL)
        cells = cells[~flat.start.fixed[cells]]
        x[cells], y[cells] = placement.x_um[groups[cells]], placement.y_um[groups[cells]]
    return flat.start.moved(x_um=x, y_um=y, orientation=orientation)


def place_cells_of_result(
    folder: Path,
    flat: Design,
    clustered: Design,
    placement: Placement,
    groups_folder: Path,
    sources: Sequence[Path],
    *,
    seconds: float,
    seed: int,
    should_stop: Callable[[], bool] = lambda: False,
    on_progress: Callable[[float], None] = lambda share: None,
) -> PlacedCells:
    """The flat design's cells between the macros of a result, into that result's DEF or `.pl` in `folder`.

    groups_folder: holds the clustered files · seconds: the budget that the macros had. Raises as `write_with_cells`.
    """
    return write_with_cells(
        folder / (DEF_FILE if flat.database is not None else PL_FILE),
        flat,
        flat_placement(flat, clustered, placement, read_groups(groups_folder, flat, clustered)),
        sources,
        CellOptions(seconds=max(seconds, LEAST_CELL_SECONDS), seed=seed),
        should_stop=should_stop,
        on_progress=on_progress,
    )


def write_with_cells(
    path: Path,
    flat: Design,
    start: Placement,
    sources: Sequence[Path],
    options: CellOptions | None = None,
    *,
    status: Status = Status.FIXED,
    should_stop: Callable[[], bool] = lambda: False,
    on_progress: Callable[[float], None] = lambda share: None,
) -> PlacedCells:
    """Places the cells of `flat` from `start`, whose macros stay, and writes its DEF or `.pl` to `path`.

    sources: the flat design's files; of several DEFs the one that holds the components · status: of macros in a DEF.
    Raises InputError (also by `cells_refusal`), OSError.
    """
    if why := cells_refusal(flat, sources):
        raise InputError(f"the cells of '{flat.name}' cannot be placed: {why}")
    result = place_cells(flat, start, options, should_stop=should_stop, on_progress=on_progress)
    shelf = {source: kind for source in sources if (kind := bookshelf_kind(source))}
    if shelf:
        back = export_pl(path, find_bookshelf(shelf), flat, result.placement, cells=True)
    else:
        back = _write_def(path, flat, result.placement, sources, status)
    return PlacedCells(
        hpwl_before_um=result.hpwl_before_um,
        hpwl_after_um=hpwl(flat, back).hpwl_um,
        overflow=result.overflow,
        seconds=result.seconds,
        warnings=result.warnings,
    )


def _write_def(path: Path, flat: Design, placement: Placement, sources: Sequence[Path], status: Status) -> Placement:
    cells = flat.netlist.nodes_of(NodeKind.CELL)
    cells = cells[~flat.start.fixed[cells]]
    placement = on_grid(flat, placement, cells)
    reasons = []
    for source in sources:
        if kind_of(source) == "def":
            try:
                return export_def(path, source, flat, placement, status=status, cells=cells)
            except MismatchError as error:
                reasons.append(str(error))
    raise InputError("; ".join(reasons))
