"""Designs from LEF/DEF on their way through a job: clustered before it, written back to DEF and Tcl after it.

A job places a clustered design. A flat one from LEF/DEF is clustered once, when it is read, into the files that
everything after takes (`netlists/clustering/files.py`); its DEF is needed again for the export only.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from netlists.errors import InputError, MismatchError
from netlists.lefdef.export import export_def, export_tcl
from netlists.lefdef.load import kind_of
from netlists.lefdef.snap import snap
from netlists.model import Design, Placement

DEF_FILE, TCL_FILE = "placement.def.gz", "placement.tcl"


def clustered(design: Design, folder: Path) -> tuple[Design, list[Path]]:
    """A flat design from LEF/DEF as its clustered one, written to `folder`, and the files; others unchanged and
    none.
    """
    if design.database is None or not design.netlist.counts()["cells"]:
        return design, []
    from netlists.clustering import cluster
    from netlists.clustering.files import write_clustered

    result = cluster(design).design
    return result, write_clustered(folder, result)


def on_grid(design: Design, placement: Placement) -> Placement:
    """The placement with its macros on the manufacturing grid, for designs that have one. Raises InputError."""
    return placement if design.database is None else snap(design, placement)


def export_formats(design: Design, placement: Placement, sources: Sequence[Path], folder: Path) -> tuple[str, ...]:
    """Writes DEF and Tcl of a placement into `folder`, where its design came from a DEF, and returns the formats'
    names.

    Of several DEFs among `sources` it is the one that holds the macros. Both files are read back and must say the same.
    """
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
