"""`placewright export NETLIST --plc RESULT --def SOURCE`: a placement back into the DEF that it came from, and as
Tcl. With --cells the standard cells of the flat design are placed, too, into its DEF or Bookshelf .pl.
"""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from netlists.options import Options
from workers.cli.options import Seconds, json_option, load, netlist_argument, reading_options, show

if TYPE_CHECKING:
    from netlists.lefdef.def_file import Status
    from netlists.model import Design, Placement
    from placement.cells import CellOptions
    from workers.cell_files import PlacedCells


@click.command(
    help="Write a placement of a clustered LEF/DEF design back: the source DEF with new macro places, and Tcl. With "
    "--cells: with its standard cells placed roughly, also into a Bookshelf .pl."
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
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The DEF that the design came from; not needed with --flat.",
)
@click.option(
    "--out", required=True, type=click.Path(dir_okay=False, path_type=Path), help="DEF (.gz packs) or .pl to write."
)
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
@click.option("--cells", is_flag=True, help="Place the standard cells roughly between the macros, and write them, too.")
@click.option(
    "--flat",
    "flat_files",
    multiple=True,
    type=click.Path(exists=True, path_type=Path),
    help="With --cells: a file or folder of the flat design, once for each; by default --def and --lef.",
)
@click.option("--cell-seconds", type=Seconds(), default=3600, show_default=True, help="Limit on placing the cells.")
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), default=0, show_default=True, help="Of placing the cells.")
@reading_options
@json_option
def export(
    netlist: tuple[Path, ...],
    plc: Path,
    source: Path | None,
    out: Path,
    tcl: Path | None,
    onto: str,
    lefs: tuple[Path, ...],
    status: str,
    cells: bool,
    flat_files: tuple[Path, ...],
    cell_seconds: float,
    seed: int,
    reading: Options,
    as_json: bool,
) -> None:
    from netlists.lefdef.def_file import Status
    from netlists.lefdef.def_reader import read_def
    from netlists.lefdef.def_writer import read_places
    from netlists.lefdef.export import export_def, export_tcl
    from netlists.lefdef.lattice import lattice
    from netlists.lefdef.lef import read_lef
    from netlists.lefdef.places import movable_macros
    from netlists.lefdef.snap import Lattice, snap
    from placement.cells import CellOptions
    from placement.cost import evaluate
    from placement.legal import check

    if flat_files and not cells:
        raise click.UsageError("--flat names the design whose cells --cells places")
    if source is None and not flat_files:
        raise click.UsageError("name the DEF that the design came from: --def FILE")
    if source is None and (tcl is not None or onto != "grid"):
        raise click.UsageError("--tcl and --snap need the DEF that the design came from: --def FILE")
    design = load(netlist, plc)
    where: Lattice | None = None
    notes: tuple[str, ...] = ()
    if onto != "grid" and source is not None:
        if not lefs:
            raise click.UsageError(f"--snap {onto} needs the LEF files: --lef FILE, once for each")
        file, library = read_def(source), read_lef(lefs)
        where, notes = lattice(design, design.start, file, library, rows=onto == "rows", tracks=onto == "tracks")
    placement = design.start if design.database is None else snap(design, design.start, where)
    placed: dict[str, Any] = {}
    if cells:
        files = flat_files or ((*lefs, source) if source is not None else ())
        options = CellOptions(seconds=cell_seconds, seed=seed)
        placed = {"cell_placement": _with_cells(out, design, placement, netlist, files, reading, Status[status.upper()],
                                                options).as_dict()}  # fmt: skip
        back = placement if design.database is None else read_places(out, design)
    else:
        assert source is not None
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
        **placed,
        "files": [str(path) for path in (out, tcl) if path is not None],
    }
    show(report, as_json=as_json, title=f"{out.name}: {'legal' if legality.legal else 'ILLEGAL'}")
    if not legality.legal:
        raise SystemExit(1)


def _with_cells(
    out: Path, design: Design, placement: Placement, netlist: tuple[Path, ...], files: tuple[Path, ...],
    reading: Options, status: Status, options: CellOptions,
) -> PlacedCells:  # fmt: skip
    """Places and writes the cells of the flat design in `files`, from which the clustered `design` was made."""
    from netlists.clustering.files import read_groups
    from netlists.load import input_files
    from workers.cell_files import flat_placement, write_with_cells

    flat = load(files, None, reading=reading)
    folder = netlist[0] if netlist[0].is_dir() else netlist[0].parent
    start = flat_placement(flat, design, placement, read_groups(folder, flat, design))
    return write_with_cells(out, flat, start, input_files(list(files)), options, status=status)
