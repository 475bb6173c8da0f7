"""What several commands share: how a netlist is named, how a report is printed."""

from __future__ import annotations

import functools
import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from netlists.constraints_json.file import constraint_counts
from netlists.load import load_design
from netlists.model import Design
from netlists.options import Options

NETLIST_HELP = (
    "NETLIST is a netlist.pb.txt, one of several parts of it, the .aux or the files of a Bookshelf design (.gz too),"
    " or a folder holding them."
)

netlist_argument = click.argument("netlist", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
plc_option = click.option(
    "--plc", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Placement to take (.plc, .gz too)."
)
constraints_option = click.option(
    "--constraints",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Constraints (JSON, docs/constraints.md); those among the netlist's files come first.",
)


class Finite(click.FloatRange):
    """A number in a range; "nan" and "inf", which no range refuses, are no numbers here."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value!r} is not in the range {self._describe_range()}.", param, ctx)
        return number


class Seconds(Finite):
    """A budget in seconds, at most a week (as the service's)."""

    name = "seconds"

    def __init__(self, least: float = 0) -> None:
        super().__init__(min=least, max=7 * 86400)


class Topology(click.ParamType):
    """A topology as JSON, given itself or as a file (docs/cluster.md)."""

    name = "file or JSON"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from pydantic import ValidationError

        from backend.schemas import TopologySpec

        if isinstance(value, TopologySpec):
            return value
        source, text = "the JSON given", str(value)
        if not text.lstrip().startswith("{"):
            source = text
            try:
                text = Path(text).read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                self.fail(f"{source}: {getattr(error, 'strerror', None) or error}", param, ctx)
        try:
            return TopologySpec.model_validate_json(text)
        except ValidationError as error:
            words = [
                f"{'.'.join(str(part) for part in item['loc']) or 'topology'}: "
                f"{item['msg'].removeprefix('Value error, ')} (is {item['input']!r:.80})"
                for item in error.errors()
            ]
            self.fail(f"{source}: {'; '.join(words)}", param, ctx)


topology_option = click.option(
    "--topology",
    type=Topology(),
    help="Of methods that learn: cells with their actors, caches and replay shards, as JSON or a file of it "
    "(docs/cluster.md), in place of the numbers that other options give.",
)
_READING = (
    click.option("--lock-placed", is_flag=True, help="Of LEF/DEF: what is PLACED stays where it is, as FIXED does."),
    click.option(
        "--missing-cells-as-points",
        is_flag=True,
        help="Of LEF/DEF: cell types that no LEF defines are points without size, not an error.",
    ),
    click.option(
        "--macros-on-soft-blockages",
        is_flag=True,
        help="Of LEF/DEF: SOFT and PARTIAL placement blockages do not keep macros out.",
    ),
    click.option(
        "--macro-height",
        type=Finite(min=0, max=1e9),
        help="Of Bookshelf: movable nodes higher than this (in the files' units) are macros; a row by default.",
    ),
)


def reading_options(command: Callable[..., None]) -> Callable[..., None]:
    """The flags of reading, handed to the command as one `reading: netlists.options.Options`."""

    @functools.wraps(command)
    def wrapped(**words: Any) -> None:
        reading = Options(**{field.name: words.pop(field.name) for field in fields(Options)})
        command(reading=reading, **words)

    for option in reversed(_READING):
        wrapped = option(wrapped)
    return wrapped


json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")


def load(
    netlist: tuple[Path, ...],
    plc: Path | None,
    constraints: Path | None = None,
    *,
    require_hard_macros: bool = True,
    reading: Options | None = None,
) -> Design:
    """The design that a command's arguments name. Raises InputError."""
    return load_design(
        list(netlist),
        plc,
        require_hard_macros=require_hard_macros,
        constraints=constraints,
        options=reading,
    )


def design_report(design: Design) -> dict[str, Any]:
    """Counts as every report shows them, plus what was derived and what the user should know."""
    counts = design.netlist.counts()
    report: dict[str, Any] = {name: counts[name] for name in ("hard_macros", "soft_macros", "ports", "cells", "nets")}
    if design.constraints is not None:
        report["constraints"] = {name: value for name, value in constraint_counts(design).items() if value}
    if design.derived:
        report["derived"] = dict(design.derived)
    if design.warnings:
        report["warnings"] = list(design.warnings)
    return report


def show(report: Mapping[str, Any], *, as_json: bool, title: str) -> None:
    """Print a report as one JSON object, or as a table for people."""
    if as_json:
        click.echo(json.dumps(report))
        return
    console = Console(highlight=False)
    table = Table(title=title, show_header=False, title_justify="left")
    for name, value in report.items():
        if isinstance(value, Mapping):
            value = "\n".join(f"{key}: {item}" for key, item in value.items())
        elif isinstance(value, list):
            value = "\n".join(str(item) for item in value) or "none"
        elif isinstance(value, float):
            value = f"{value:.6g}"
        table.add_row(name.replace("_", " "), str(value))
    console.print(table)


def show_stages(stages: Sequence[Mapping[str, Any]]) -> None:
    """Print what each stage of a result took and gained; gains add up to what the cost fell by."""
    table = Table(title="what each stage gained", title_justify="left")
    for name in ("round", "stage", "s", "trials", "gain"):
        table.add_column(name, justify="left" if name == "stage" else "right")
    for each in stages:
        name = str(each["name"])
        if "taken_from" in each:
            name += f" (from member {each['taken_from']})"
        row = (str(each.get("round", "")), name, f"{each['seconds']:.1f}", f"{each['trials']:,}", f"{each['gain']:.6f}")
        table.add_row(*row)
    table.add_row("", "all", f"{sum(e['seconds'] for e in stages):.1f}", f"{sum(e['trials'] for e in stages):,}",
                  f"{sum(e['gain'] for e in stages):.6f}", style="bold")  # fmt: skip
    Console(highlight=False).print(table)


def compiled_programs() -> dict[str, str]:
    """Where jax keeps compiled programs between commands, whose jobs' own folders do not stay: a variable to set."""
    if "JAX_COMPILATION_CACHE_DIR" in os.environ:
        return {}
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return {"JAX_COMPILATION_CACHE_DIR": str(home / "placewright" / "jax")}
