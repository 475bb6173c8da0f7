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
@click.option(
    "--snap",
    "onto",
    type=click.Choice(["grid", "rows", "tracks"]),
    default="grid",
    show_default=True,
    help="Corners on the manufacturing grid alone, on rows too, or pins on tracks too (both need --lef).",
)
@click.option("--lef", "lefs", multiple=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--status", type=click.Choice(["fixed", "placed"]), default="fixed", show_default=True)
@json_option
def export(
    netlist: tuple[Path, ...],
    plc: Path,
    source: Path,
    out: Path,
    tcl: Path | None,
    onto: str,
    lefs: tuple[Path, ...],
    status: str,
    as_json: bool,
) -> None:
    from netlists.lefdef.def_file import Status
    from netlists.lefdef.def_reader import read_def
    from netlists.lefdef.export import export_def, export_tcl
    from netlists.lefdef.lattice import lattice
    from netlists.lefdef.lef import read_lef
    from netlists.lefdef.places import movable_macros
    from netlists.lefdef.snap import Lattice, snap
    from placement.cost import evaluate
    from placement.legal import check

    design = load(netlist, plc)
    where: Lattice | None = None
    notes: tuple[str, ...] = ()
    if onto != "grid":
        if not lefs:
            raise click.UsageError(f"--snap {onto} needs the LEF files: --lef FILE, once for each")
        file, library = read_def(source), read_lef(lefs)
        where, notes = lattice(design, design.start, file, library, rows=onto == "rows", tracks=onto == "tracks")
    placement = snap(design, design.start, where)
    back = export_def(out, source, design, placement, status=Status[status.upper()])
    if tcl is not None:
        export_tcl(tcl, design, placement, version("placewright"), source=source)
    legality = check(design, back)
    report = {
        "macros": len(movable_macros(design)),
        "legal": legality.legal,
        "problems": legality.problems(),
        "notes": list(notes),
        **evaluate(design, back).as_dict(),
        "files": [str(path) for path in (out, tcl) if path is not None],
    }
    show(report, as_json=as_json, title=f"{out.name}: {'legal' if legality.legal else 'ILLEGAL'}")
    if not legality.legal:
        raise SystemExit(1)
