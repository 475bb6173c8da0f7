"""`placewright bench NAME`: runs one of the scripts in benchmarks/ (they print a table and write a JSON)."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import click

FOLDER = Path(__file__).parents[2] / "benchmarks"


@click.command(
    help="Run one of the benchmarks; further words go to it (NAME --help lists them).",
    context_settings={"ignore_unknown_options": True, "help_option_names": []},
)
@click.argument("name")
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def bench(name: str, words: tuple[str, ...]) -> None:
    known = sorted(path.stem for path in FOLDER.glob("*.py") if not path.stem.startswith("_"))
    if name not in known:
        raise click.UsageError(f"no benchmark {name!r}; there are: {', '.join(known) or 'none in this installation'}")
    sys.argv = [f"placewright bench {name}", *words]
    runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
