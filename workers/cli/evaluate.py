"""`placewright evaluate NETLIST [--plc PLC]`: the exact cost of a placement, with counts and legality."""

from __future__ import annotations

from pathlib import Path

import click

from workers.cli.options import NETLIST_HELP, design_report, json_option, load, netlist_argument, plc_option, show


@click.command(help=f"Cost and counts of a netlist at a placement.\n\n{NETLIST_HELP}")
@netlist_argument
@plc_option
@json_option
def evaluate(netlist: tuple[Path, ...], plc: Path | None, as_json: bool) -> None:
    from placement.cost import evaluate as exact_cost
    from placement.legal import check

    design = load(netlist, plc, require_hard_macros=False)
    legality = check(design, design.start)
    report = {
        **exact_cost(design, design.start).as_dict(),
        **design_report(design),
        "overlaps": len(legality.overlaps),
        "outside": len(legality.outside),
    }
    show(report, as_json=as_json, title=f"{design.name}: exact cost")
