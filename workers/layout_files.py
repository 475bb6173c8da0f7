"""Flat designs on their way through a job: clustered before it, written back to the files they came from after it.

A job places a clustered design. A flat one is clustered once, when it is read, into the files that everything after
takes (`netlists/clustering/files.py`); its own files are needed again for the export only: DEF and Tcl, or `.pl`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import numpy as np

from netlists.bookshelf.export import export_pl
from netlists.bookshelf.files import BookshelfFiles, find_bookshelf
from netlists.bookshelf.files import kind_of as bookshelf_kind
from netlists.errors import InputError, MismatchError
from netlists.formats import can_carry
from netlists.lefdef.export import export_def, export_tcl
from netlists.lefdef.load import kind_of
from netlists.lefdef.snap import snap
from netlists.load import load_design
from netlists.model import Design, NodeKind, Placement
from netlists.options import Options

DEF_FILE, TCL_FILE, PL_FILE = "placement.def.gz", "placement.tcl", "placement.pl"


def clustered(design: Design, folder: Path, *, reading: Options | None = None) -> tuple[Design, list[Path]]:
    """A flat design as its clustered one, as the files written to `folder` have it, and the files.

    Others unchanged, and none: those without cells, or with soft macros already.
    `reading`: how the design was read; if not as files are read by themselves, it is always written, as only the files
    written say so. Raises InputError.
    """
    counts = design.netlist.counts()
    asked = reading is not None and reading != Options()
    written = asked and (design.database is not None or design.findings.macro_height is not None)
    if not written and (not counts["cells"] or counts["soft_macros"]):
        return design, []
    from netlists.clustering import cluster
    from netlists.clustering.files import write_clustered

    clustering = cluster(design)
    result = clustering.design
    why = can_carry("pb", result)
    if why and written:
        raise InputError(f"the design cannot be read as asked, as no netlist file can hold it: {why}")
    if why:
        return replace(design, warnings=(*design.warnings, f"the cells are not clustered: {why}")), []
    files = write_clustered(folder, result, clustering.node_of)
    derived = dict(result.derived)
    port = result.netlist.node_kind[result.netlist.pin_node] == NodeKind.PORT
    if off := int(np.count_nonzero(port & ((result.netlist.pin_dx_um != 0) | (result.netlist.pin_dy_um != 0)))):
        derived["pins of ports"] = f"{off:,} pins off their ports' centres are taken at the centres"
    read = load_design(files, name=design.name)
    return replace(read, derived=derived, warnings=result.warnings), files


def on_grid(design: Design, placement: Placement) -> Placement:
    """The placement with its macros on the manufacturing grid, for designs that have one. Raises InputError."""
    return placement if design.database is None else snap(design, placement)


def export_formats(design: Design, placement: Placement, sources: Sequence[Path], folder: Path) -> tuple[str, ...]:
    """Writes a placement into `folder` as the formats of its design's own files, and returns their names.

    DEF and Tcl, or Bookshelf's `.pl`; none for other designs. All are read back and must say the same.
    Of several DEFs among `sources` it is the one that holds the macros. Raises InputError.
    """
    shelf = {path: kind for path in sources if (kind := bookshelf_kind(path))}
    if shelf:
        return _export_pl(design, placement, find_bookshelf(shelf), folder)
    defs = [path for path in sources if kind_of(path) == "def"] if design.database is not None else []
    if not defs:
        return ()
    reasons = []
    for source in defs:
        try:
            export_def(folder / DEF_FILE, source, design, placement)
        except MismatchError as error:
            reasons.append(str(error))
            continue
        export_tcl(folder / TCL_FILE, design, placement, version("placewright"), source=source)
        return ("def", "tcl")
    raise InputError("; ".join(reasons))


def _export_pl(design: Design, placement: Placement, files: BookshelfFiles, folder: Path) -> tuple[str, ...]:
    from placement.legal import check

    if files.pl is None:
        return ()
    legality = check(design, export_pl(folder / PL_FILE, files, design, placement))
    if not legality.legal:
        raise InputError(f"{PL_FILE}: {'; '.join(legality.problems())}")
    return ("pl",)
