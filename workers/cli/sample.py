"""`placewright sample small|medium|large`: writes a generated design to try things on."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import click

from workers.cli.options import json_option, show


@click.command(help="Write a generated sample design (netlist.pb.txt.gz and initial.plc) into a folder.")
@click.argument("size", type=click.Choice(["small", "medium", "large"]))
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), default=0, show_default=True)
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), help="Folder to write to [default: sample-SIZE]"
)
@json_option
def sample(size: str, seed: int, out: Path | None, as_json: bool) -> None:
    from netlists.load import load_design
    from netlists.samples import Size, write_sample

    folder = out or Path(f"sample-{size}")
    write_sample(folder, cast(Size, size), seed)
    report = {"folder": str(folder), **load_design([folder]).netlist.counts()}
    show(report, as_json=as_json, title=f"{size} sample, seed {seed}")
