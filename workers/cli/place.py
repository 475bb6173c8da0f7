"""`placewright place NETLIST`: one job on this machine, without a service, through the run that a service starts."""

from __future__ import annotations

import contextlib
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from netlists.errors import InputError, PlacewrightError
from netlists.files import atomic_bytes
from netlists.options import Options
from workers.cli.options import (
    NETLIST_HELP,
    Seconds,
    compiled_programs,
    constraints_option,
    design_report,
    json_option,
    load,
    netlist_argument,
    plc_option,
    reading_options,
    show,
    show_stages,
    topology_option,
)
from workers.processes import child_environment

if TYPE_CHECKING:
    from backend.schemas import TopologySpec
    from netlists.model import Design, Placement

METHODS = ("auto", "rl", "search", "analytic", "anneal")
POLL_S = 0.1
INTERRUPTED = 130  # of a shell for what Ctrl-C ends: 128 + SIGINT


@click.command(help=f"Place the macros of a netlist and write the result.\n\n{NETLIST_HELP}")
@netlist_argument
@plc_option
@constraints_option
@reading_options
@click.option("--method", type=click.Choice(METHODS), default="auto", show_default=True)
@click.option(
    "--seconds",
    type=Seconds(),
    help="Budget of the whole command, 60 by default. Beside --trials a limit, a week by default.",
)
@click.option(
    "--trials",
    type=click.IntRange(0, 10**12),
    help="Budget of work in place of time, of all workers together; equal input, seed, workers and trials give equal "
    "files. Not with the methods that learn.",
)
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), default=0, show_default=True)
@click.option(
    "--workers", type=click.IntRange(1, 64), default=2, show_default=True, help="Processes that search or act."
)
@topology_option
@click.option("--from-scratch", is_flag=True, help="Ignore the given positions of everything that may move.")
@click.option(
    "--policy",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Of methods auto and rl: start learning from this policy (policy.npz of `train`).",
)
@click.option(
    "--cells",
    is_flag=True,
    help="Then place the standard cells of a flat design roughly between the macros, into its DEF or .pl: on top of "
    "the budget, for at most as long again or a minute (docs/cells.md).",
)
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), default=Path("placewright-out"), show_default=True
)
@json_option
def place(
    netlist: tuple[Path, ...],
    plc: Path | None,
    constraints: Path | None,
    reading: Options,
    method: str,
    seconds: float | None,
    trials: int | None,
    seed: int,
    workers: int,
    topology: TopologySpec | None,
    policy: Path | None,
    from_scratch: bool,
    cells: bool,
    out: Path,
    as_json: bool,
) -> None:
    from backend.jobs.private import create_private_job
    from backend.schemas import LEARNING_METHODS, MAX_SECONDS, trials_refusal
    from netlists.circuit_training.plc import read_plc
    from netlists.constraints_json.file import plain_constraints
    from netlists.load import input_files
    from placement.cost import evaluate
    from placement.legal import check, check_feasible
    from workers.layout_files import clustered

    began: float | None = click.get_current_context().obj
    begin_s = time.monotonic() if began is None else began
    if trials is not None and (refusal := trials_refusal(method)):
        raise click.UsageError(refusal)
    if topology is not None and method not in LEARNING_METHODS:
        raise click.UsageError(
            f"--topology is for methods that learn, auto and rl; nothing of this job does ({method})"
        )
    if seconds is None:
        seconds = 60.0 if trials is None else float(MAX_SECONDS)
    # Bad input is told at once, before anything is written.
    flat = design = load(netlist, plc, constraints, reading=reading)
    check_feasible(design)
    sources = input_files(list(netlist), plc)
    if cells:
        _require_cells(flat, sources)
    if policy is not None:
        _check_policy(policy, method)
    out.mkdir(parents=True, exist_ok=True)
    design, made = clustered(design, out / "clustered", reading=reading)
    private = out / ".run"
    if private.exists():
        shutil.rmtree(private)
    job = create_private_job(
        private,
        sources,
        name=design.name,
        method=method,
        seconds=seconds,
        seed=seed,
        workers=workers,
        constraints=plain_constraints(constraints),
        trials=trials,
        from_scratch=from_scratch,
        topology=topology,
        clustered=made,
    )
    if policy is not None:
        from workers.agents import policies

        folder = job.store.job(job.job_id).folder
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy2(policy, policies.of_job(folder))
    log = private / "run.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "workers.run", "--job", job.job_id, "--begin-s", repr(begin_s), "--read-back"],
            env=child_environment({**job.environment(), **compiled_programs()}),
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # both end it like Ctrl-C
        try:
            evaluate(design, design.start)  # compiled code is loaded by its first use: not at the end, if it can be
            check(design, design.start)
            _watch(job, process, quiet=as_json)
        except KeyboardInterrupt:
            click.echo("stopping; the best placement so far is kept", err=True)
            job.store.request_cancel(job.job_id)
            process.wait()
    took_s = time.monotonic() - begin_s
    record = job.store.job(job.job_id)
    if record.state == "failed":
        raise InputError(record.cause or "the run failed")
    placements = job.store.placements(job.job_id)
    if not placements:
        raise PlacewrightError(f"the run ended ({record.state}) before it had a placement; its log: {log}")
    best = placements[0]
    files = [_copied(path, out / path.name) for path in sorted(best.folder.iterdir())]
    result = read_plc(out / "placement.plc", design.netlist).placement
    legality = check(design, result)
    provenance = dict(best.provenance)
    stages = provenance.pop("stages", [])
    warnings = provenance.pop("warnings", [])
    report: dict[str, Any] = {
        **evaluate(design, result).as_dict(),
        **design_report(design),
        "overlaps": len(legality.overlaps),
        "outside": len(legality.outside),
        "legal": legality.legal,
        "start_proxy_cost": record.start_costs["proxy_cost"] if record.start_costs else None,
        "method": method,
        "seconds": round(took_s, 2),
        "state": str(record.state),
        "provenance": provenance if not as_json else best.provenance,
        "files": [str(path) for path in files],
    }
    if warnings:
        report["warnings"] = [*report.get("warnings", ()), *warnings]
    if trials is not None:
        report["trials"] = trials
    if cells and record.state == "done":
        report["cell_placement"] = _place_cells(out, flat, design, result, sources, seconds, seed, quiet=as_json)
    if as_json:
        report["stages"] = stages
    job.store.close()
    shutil.rmtree(private, ignore_errors=True)
    show(report, as_json=as_json, title=f"{design.name}: placed")
    if not as_json:
        show_stages(stages)
    if record.state != "done":
        raise SystemExit(INTERRUPTED)


def _require_cells(flat: Design, sources: list[Path]) -> None:
    from workers.cell_files import cells_refusal

    if why := cells_refusal(flat, sources):
        raise click.UsageError(f"--cells: {why}")


def _place_cells(
    out: Path, flat: Design, design: Design, result: Placement, sources: list[Path], seconds: float, seed: int, *,
    quiet: bool,
) -> dict[str, Any]:  # fmt: skip
    """Writes the flat design's file anew with its cells placed; what a report says of it."""
    from workers.cell_files import place_cells_of_result

    with _bar(quiet=quiet) as bar:
        task = bar.add_task("job", total=1.0, stage="cells", cost="")
        placed = place_cells_of_result(
            out,
            flat,
            design,
            result,
            out / "clustered",
            sources,
            seconds=seconds,
            seed=seed,
            on_progress=lambda share: bar.update(task, completed=share),
        )
    return placed.as_dict()


def _check_policy(policy: Path, method: str) -> None:
    """Refuse a policy that nobody would use, or that this version cannot read."""
    from backend.schemas import LEARNING_METHODS
    from workers.agents.policies import load_info
    from workers.topology import learning_available

    if method not in LEARNING_METHODS or not learning_available():
        raise PlacewrightError(
            f"--policy is for methods that learn, auto and rl; nothing of this job would use it ({method})"
        )
    load_info(policy)


def _copied(source: Path, target: Path) -> Path:
    """A file that is whole from the moment it has its name."""
    with source.open("rb") as incoming, atomic_bytes(target) as outgoing:
        shutil.copyfileobj(incoming, outgoing)
    return target


def _bar(*, quiet: bool) -> Progress:
    columns = (
        TextColumn("{task.fields[stage]:<12}"),
        BarColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[cost]}"),
    )
    return Progress(*columns, console=Console(stderr=True, highlight=False), disable=quiet)


def _watch(job: Any, process: subprocess.Popen[bytes], *, quiet: bool) -> None:
    """Show progress until the run process ends."""
    with _bar(quiet=quiet) as bar:
        task = bar.add_task("job", total=1.0, stage="starting", cost="")
        while process.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=POLL_S)
            state = job.store.job(job.job_id)
            start, best = state.start_costs, state.best_costs
            cost = f"proxy cost {start['proxy_cost']:.4f} → {best['proxy_cost']:.4f}" if start and best else ""
            bar.update(task, completed=state.progress, stage=state.stage or str(state.state), cost=cost)
            if state.state.is_final:  # what it writes now is for a leaderboard that nobody will see
                process.terminate()
