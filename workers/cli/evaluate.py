"""`placewright evaluate NETLIST [--plc PLC]`: the exact cost of a placement, with counts and legality."""

from __future__ import annotations

from pathlib import Path

import click

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


@click.command(help=f"Cost and counts of a netlist at a placement.\n\n{NETLIST_HELP}")
@netlist_argument
@plc_option
@constraints_option
@reading_options
@json_option
def evaluate(
    netlist: tuple[Path, ...], plc: Path | None, constraints: Path | None, reading: Options, as_json: bool
) -> None:
    from netlists.load import placement_of
    from placement.cost import evaluate as exact_cost
    from placement.cost.hpwl import DEFINITIONS, hpwl
    from placement.legal import check

    design = load(netlist, plc, constraints, require_hard_macros=False, reading=reading)
    # The file's placement as it is; constraints may have pre-placed macros in the design's start.
    placement = design.start if plc is None else placement_of(design, plc)
    legality = check(design, placement)
    lengths = hpwl(design, placement)
    report = {
        **exact_cost(design, placement).as_dict(),
        **{name: getattr(lengths, name) for name in DEFINITIONS},
        "hpwl_definitions": DEFINITIONS,
        **design_report(design),
        "overlaps": len(legality.overlaps),
        "outside": len(legality.outside),
        **({} if design.constraints is None else {"broken_rules": legality.rules.count}),
    }
    show(report, as_json=as_json, title=f"{design.name}: exact cost")
