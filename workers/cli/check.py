"""`placewright check NETLIST --plc RESULT`: judges a written placement file on its own, from nothing but files."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from netlists.errors import InputError
from workers.cli.options import NETLIST_HELP, constraints_option, json_option, load, netlist_argument, show


@click.command(
    help=f"Judge a written placement file: legal or not, and why. Exit code 0 legal, 1 illegal.\n\n{NETLIST_HELP}"
)
@netlist_argument
@click.option(
    "--plc",
    required=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The written placement to judge.",
)
@click.option(
    "--start",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The .plc placed from: fixed nodes must be where it has them.",
)
@constraints_option
@click.option("--then-stdin", is_flag=True, hidden=True, help="Get ready on --plc, judge the file that stdin names.")
@json_option
def check(
    netlist: tuple[Path, ...],
    plc: Path,
    start: Path | None,
    constraints: Path | None,
    then_stdin: bool,
    as_json: bool,
) -> None:
    from netlists.load import placement_of
    from placement.cost import evaluate as exact_cost
    from placement.legal import check as check_legality
    from placement.legal import strict_overlaps

    design = load(netlist, plc if start is None else start, constraints)
    if then_stdin:
        exact_cost(design, design.start)  # compiled code is loaded by its first use
        check_legality(design, design.start)
        strict_overlaps(design, design.start)
        plc = Path(sys.stdin.readline().rstrip("\n"))
        if not plc.is_file():
            raise InputError(f"no placement to judge: standard input named {str(plc)!r}")
    result = placement_of(design, plc)
    legality = check_legality(design, result)
    report = {
        "legal": legality.legal,
        "overlaps": len(legality.overlaps),
        "outside": len(legality.outside),
        # by rounding alone, for tools that compute in float32: no fault, and never in what Placewright writes
        "overlaps_in_float32": None if len(legality.not_finite) else strict_overlaps(design, result).total,
        "broken_rules": legality.rules.count,
        "problems": legality.problems(),
        **exact_cost(design, result).as_dict(),
    }
    show(report, as_json=as_json, title=f"{plc.name}: {'legal' if legality.legal else 'ILLEGAL'}")
    if not legality.legal:
        raise SystemExit(1)
