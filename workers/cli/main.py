"""`placewright …`: the group of commands. Exit code 0 = success, 1 = a result that failed its check, 2 = bad input.

Each command lives in a module of its own and is imported when it is called, so that `evaluate` never pays for
importing a web framework and the service never for importing the learning stack.
"""

from __future__ import annotations

import importlib
import sys
from importlib.metadata import version

import click

from netlists.errors import PlacewrightError
from workers.processes import process_start_s

COMMANDS = {
    "evaluate": ("workers.cli.evaluate", "Cost and counts of a netlist at a placement."),
    "check": ("workers.cli.check", "Judge a written placement file: legal or not, and why."),
    "convert": ("workers.cli.convert", "Write a design in another format."),
    "place": ("workers.cli.place", "Place the macros of a netlist and write the result."),
    "cluster": ("workers.cli.cluster", "Standard cells of a flat design into soft macros."),
    "export": ("workers.cli.export", "Write a placement back into its DEF, and as Tcl."),
    "train": ("workers.cli.train", "Train a placement policy on one or more netlists."),
    "sample": ("workers.cli.sample", "Write a generated sample design."),
    "serve": ("workers.cli.serve", "Serve the browser application and the REST API."),
    "worker": ("workers.cli.serve", "Work on the jobs of a service."),
    "token": ("workers.cli.serve", "Make a new access token for a service."),
    "role": ("workers.cli.role", "One role of a running job (started by the run itself)."),
    "demo": ("workers.cli.demo", "Serve, place a sample through the service, show the result."),
    "bench": ("workers.cli.bench", "Run one of the benchmarks."),
    "warm-up": ("workers.cli.warm_up", "Compile all kernels into the cache."),
}


class LazyGroup(click.Group):
    """Lists every command, imports one."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(COMMANDS[cmd_name][0])
        command: click.Command = getattr(module, cmd_name.replace("-", "_"))
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, help_text) for name, (_, help_text) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(version("placewright"), prog_name="placewright")
def cli() -> None:
    """Places the macros of a chip."""


def main() -> None:
    """Entry point: turns errors meant for the user into one message on stderr and exit code 2."""
    try:
        # Time budgets begin with the process, where the command is all that it does.
        cli(prog_name="placewright", obj=process_start_s())
    except PlacewrightError as error:
        click.echo(f"placewright: {error}", err=True)
        sys.exit(2)
    except OSError as error:
        if error.filename is None:  # not about a file that the user named
            raise
        path = error.filename if error.filename2 is None else error.filename2
        click.echo(f"placewright: {path}: {error.strerror}", err=True)
        sys.exit(2)


if __name__ == "__main__":
    main()
