"""`placewright convert IN… --to FORMAT --out PATH`: any design that is read here to any format that can carry it."""

from __future__ import annotations

from pathlib import Path

import click

from netlists.formats import FORMATS
from netlists.options import Options
from workers.cli.options import (
    NETLIST_HELP,
    constraints_option,
    design_report,
    json_option,
    load,
    netlist_argument,
    plc_option,
    reading_options,
    show,
)

_FORMATS = "\n\n".join(f"{name}: {entry.about}" for name, entry in FORMATS.items())


@click.command(
    help="Write a design in another format. What the format cannot carry is listed; a design that it cannot hold at all"
    f" is refused (exit code 2).\n\n{NETLIST_HELP}\n\nFormats:\n\n{_FORMATS}"
)
@netlist_argument
@plc_option
@constraints_option
@reading_options
@click.option("--to", "to", required=True, type=click.Choice(list(FORMATS)), help="Format to write.")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="File to write, or folder for bookshelf.")
@json_option
def convert(
    netlist: tuple[Path, ...],
    plc: Path | None,
    constraints: Path | None,
    reading: Options,
    to: str,
    out: Path,
    as_json: bool,
) -> None:
    from netlists.constraints_json.file import write_constraints
    from netlists.formats import write_design
    from netlists.load import input_files

    design = load(netlist, plc, constraints, require_hard_macros=False, reading=reading)
    out.parent.mkdir(parents=True, exist_ok=True)
    lost = write_design(to, out, design, design.start, input_files(list(netlist), plc))
    report = {"format": to, "path": str(out), **design_report(design), "not_carried": lost}
    side = out.with_name(f"{out.name.removesuffix('.gz').removesuffix(FORMATS[to].ending)}.constraints.json")
    if write_constraints(side, design):
        report["constraints"] = str(side)
    show(report, as_json=as_json, title=f"{design.name} as {FORMATS[to].about}")
