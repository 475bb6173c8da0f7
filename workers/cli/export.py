"""`placewright export NETLIST --plc RESULT --def SOURCE`: a placement back into the DEF that it came from, and as
Tcl.
"""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import click

from workers.cli.options import json_option, load, netlist_argument, show


@click.command(
    help="Write a placement of a clustered LEF/DEF design back: the source DEF with new macro places, and Tcl."
)
@netlist_argument
@click.option(
    "--plc",
    required=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The placement to write (its header says where the canvas lies in the DEF).",
)
@click.option(
    "--def",
    "source",
    required=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The DEF that the design came from.",
)
@click.option("--out", required=True, type=click.Path(dir_okay=False, path_type=Path), help="DEF to write (.gz packs).")
@click.option("--tcl", type=click.Path(dir_okay=False, path_type=Path), help="OpenROAD Tcl to write.")
@click.option("--status", type=click.Choice(["fixed", "placed"]), default="fixed", show_default=True)
@json_option
def export(
    netlist: tuple[Path, ...], plc: Path, source: Path, out: Path, tcl: Path | None, status: str, as_json: bool
) -> None:
    from netlists.lefdef.def_file import Status
    from netlists.lefdef.export import export_def, export_tcl
    from netlists.lefdef.places import movable_macros
    from netlists.lefdef.snap import snap
    from placement.cost import evaluate
    from placement.legal import check

    design = load(netlist, plc)
    placement = snap(design, design.start)
    back = export_def(out, source, design, placement, status=Status[status.upper()])
    if tcl is not None:
        export_tcl(tcl, design, placement, version("placewright"))
    legality = check(design, back)
    report = {
        "macros": len(movable_macros(design)),
        "legal": legality.legal,
        "problems": legality.problems(),
        **evaluate(design, back).as_dict(),
        "files": [str(path) for path in (out, tcl) if path is not None],
    }
    show(report, as_json=as_json, title=f"{out.name}: {'legal' if legality.legal else 'ILLEGAL'}")
    if not legality.legal:
        raise SystemExit(1)
