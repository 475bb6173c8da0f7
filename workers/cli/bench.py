"""`placewright bench NAME`: runs one of the scripts in benchmarks/ (they print a table and write a JSON)."""

from __future__ import annotations

import ast
import runpy
import sys
from pathlib import Path

import click

FOLDER = Path(__file__).parents[2] / "benchmarks"


def known_benchmarks() -> dict[str, Path]:
    """Scripts by name, in order."""
    return {path.stem: path for path in sorted(FOLDER.glob("*.py")) if not path.stem.startswith("_")}


class BenchCommand(click.Command):
    """Its help lists what there is, each with the first line of its own description."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = []
        for name, path in known_benchmarks().items():
            words = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
            rows.append((name, words.partition("\n")[0]))
        with formatter.section("Benchmarks"):
            formatter.write_dl(rows or [("none", "in this installation")])


@click.command(
    cls=BenchCommand,
    help="Run one of the benchmarks; words after its NAME go to it (NAME --help lists them).",
    # Options end at NAME: a --help before it is this command's, one behind it the benchmark's.
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("name")
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def bench(name: str, words: tuple[str, ...]) -> None:
    known = known_benchmarks()
    if name not in known:
        raise click.UsageError(f"no benchmark {name!r}; there are: {', '.join(known) or 'none in this installation'}")
    sys.argv = [f"placewright bench {name}", *words]
    runpy.run_path(str(known[name]), run_name="__main__")
