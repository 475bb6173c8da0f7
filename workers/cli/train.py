"""`placewright train NETLIST`: trains a policy on one design without the service, through the very roles of a job.

Makes a private job in OUT, starts replay shards, learner, caches and actors, and leaves there: `policy.npz` (what
`--policy` takes, see workers/agents/policies.py), `checkpoint.npz` (the learner's whole state), `curve.json` (what the
roles reported, a point every two seconds) and the roles' logs.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from netlists.errors import PlacewrightError
from workers.cli.options import (
    NETLIST_HELP,
    Seconds,
    compiled_programs,
    constraints_option,
    json_option,
    load,
    netlist_argument,
    plc_option,
    show,
    topology_option,
)
from workers.menger.config import ALGORITHMS

if TYPE_CHECKING:
    from backend.jobs.private import PrivateJob
    from backend.jobs.records import RoleRecord
    from backend.jobs.topology import RoleKey
    from backend.schemas import TopologySpec
    from workers.menger.launch import RoleSet

POINT_S = 2.0
STOP_S = 10.0
MAX_RESTARTS = 3


@click.command(help=f"Train a placement policy on a netlist.\n\n{NETLIST_HELP}")
@netlist_argument
@plc_option
@constraints_option
@click.option("--algorithm", type=click.Choice(ALGORITHMS), default="impala", show_default=True)
@click.option("--actors", type=click.IntRange(1, 64), default=1, show_default=True)
@click.option("--replay-shards", type=click.IntRange(1, 16), default=1, show_default=True)
@click.option("--caches", type=click.IntRange(0, 16), default=1, show_default=True, help="0: actors ask the learner.")
@topology_option
@click.option("--seconds", type=Seconds(1), default=600, show_default=True, help="From start to end.")
@click.option("--learner-steps", type=click.IntRange(min=1), help="Stop earlier, after so many updates.")
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), default=0, show_default=True)
@click.option(
    "--policy",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Start from this trained policy (policy.npz of an earlier training).",
)
@click.option("--learning", default="{}", help="Settings of learning, as JSON (fields of TrainConfig).")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=Path("training"), show_default=True)
@json_option
def train(
    netlist: tuple[Path, ...],
    plc: Path | None,
    constraints: Path | None,
    algorithm: str,
    actors: int,
    replay_shards: int,
    caches: int,
    topology: TopologySpec | None,
    seconds: float,
    learner_steps: int | None,
    seed: int,
    policy: Path | None,
    learning: str,
    out: Path,
    as_json: bool,
) -> None:
    from backend.jobs.private import create_private_job
    from backend.jobs.topology import learning_keys, one_cell
    from netlists.constraints_json.file import plain_constraints
    from netlists.load import input_files
    from placement.legal import check_feasible
    from workers.agents import policies
    from workers.menger.config import Task, train_config
    from workers.menger.launch import RoleSet
    from workers.topology import learning_available

    design = load(netlist, plc, constraints)  # bad input is told at once, before anything is written
    check_feasible(design)
    learning = _with_algorithm(learning, algorithm)
    settings = train_config(learning, seed=seed, policy=policy)
    if settings.network == "graph":
        from placement.env.graph import make_graph

        make_graph(design)  # too large a design is told at once, too
    if not learning_available():
        raise PlacewrightError("training needs dm-reverb (Linux on x86-64)")
    if topology is None:
        topology = one_cell(actors, replay_shards=replay_shards, caches=caches)
    out.mkdir(parents=True, exist_ok=True)
    private = out / ".run"
    shutil.rmtree(private, ignore_errors=True)
    job = create_private_job(
        private,
        input_files(list(netlist), plc),
        name=design.name,
        method="rl",
        seconds=seconds,
        seed=seed,
        workers=actors,
        constraints=plain_constraints(constraints),
        topology=topology,
    )
    folder = job.store.job(job.job_id).folder
    if policy is not None:
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy2(policy, policies.of_job(folder))
    learning_options = ("--learning", learning)
    roles = RoleSet(
        job_id=job.job_id,
        data_dir=job.settings.data,
        database_url=job.settings.database_url,
        wanted=learning_keys(topology),
        log_dir=out / "logs",
        environment=compiled_programs(),
        options={name: learning_options for name in ("actor", "learner", "replay", "cache")},
    )
    curve = _watch(job, roles, seconds, learner_steps, quiet=as_json)
    (out / "curve.json").write_text(json.dumps(curve))
    checkpoints = sorted((folder / "checkpoint").glob("step-*.npz"))
    job.store.close()
    if not checkpoints:
        raise PlacewrightError(f"the learner left no checkpoint; logs: {out / 'logs'}")
    shutil.copy2(checkpoints[-1], out / "checkpoint.npz")
    task = Task.of(design.canvas, settings)
    before = policies.load_info(policy).designs if policy is not None else []
    info = policies.PolicyInfo(
        algorithm=settings.algorithm,
        network=task.network_settings(),
        designs=[*before, *([design.name] if design.name not in before else [])],
        updates=int(checkpoints[-1].stem.removeprefix("step-")),
        maxima=task.maxima(),
        metrics=_metrics(curve[-1]) if curve else {},
    )
    policies.from_checkpoint(checkpoints[-1], out / "policy.npz", info)
    shutil.rmtree(private, ignore_errors=True)
    report = {
        "design": design.name,
        "algorithm": settings.algorithm,
        "seconds": curve[-1]["time_s"] if curve else 0.0,
        **(_metrics(curve[-1]) if curve else {}),
        "policy": str(out / "policy.npz"),
        "curve": str(out / "curve.json"),
    }
    show(report, as_json=as_json, title=f"{design.name}: trained")


def _with_algorithm(learning: str, algorithm: str) -> str:
    """The settings with the command line's algorithm, unless they name one; what is no object is refused later."""
    try:
        given = json.loads(learning)
    except ValueError:
        return learning
    return json.dumps({"algorithm": algorithm, **given}) if isinstance(given, dict) else learning


def _metrics(point: dict[str, Any]) -> dict[str, float]:
    """The figures of a point of the curve."""
    return {name: value for name, value in point.items() if name != "time_s" and isinstance(value, int | float)}


def _watch(
    job: PrivateJob, roles: RoleSet, seconds: float, learner_steps: int | None, *, quiet: bool
) -> list[dict[str, Any]]:
    """Run the roles until the time or the steps are over. Returns what they reported, a point every POINT_S."""
    owner = f"train:{os.getpid()}"
    store, job_id = job.store, job.job_id
    if not store.claim(job_id, owner, socket.gethostname(), os.getpgid(0)):
        raise PlacewrightError("the private job could not be claimed")
    curve: list[dict[str, Any]] = []
    restarts: dict[RoleKey, int] = {}
    begin_s = time.monotonic()
    roles.start()
    try:
        while (elapsed_s := time.monotonic() - begin_s) < seconds:
            time.sleep(min(POINT_S, seconds - elapsed_s))
            for gone in roles.poll():
                key = gone.key
                restarts[key] = restarts.get(key, 0) + 1
                words = "\n".join(gone.last_stderr_lines[-5:])
                if restarts[key] > MAX_RESTARTS:
                    raise PlacewrightError(f"{key} ended with code {gone.code}; last words:\n{words}")
                click.echo(f"{key} ended with code {gone.code}; started again. {words}", err=True)
                store.end_role(job_id, key, f"failed: code {gone.code}")
                roles.restart(key)
            store.heartbeat(job_id, owner, progress=elapsed_s / seconds, eta_s=seconds - elapsed_s, stage="training")
            point = _point(store.roles(job_id), time.monotonic() - begin_s)
            curve.append(point)
            if not quiet:
                click.echo(_line(point), err=True)
            if learner_steps is not None and point.get("policy_version", 0) > learner_steps:
                break
    except KeyboardInterrupt:
        click.echo("stopping; the newest checkpoint is kept", err=True)
    finally:
        roles.stop(STOP_S)
        store.finish(job_id, owner, "done")  # type: ignore[arg-type]
    return curve


def _point(records: Sequence[RoleRecord], time_s: float) -> dict[str, Any]:
    from workers.metrics import role_metrics

    point: dict[str, Any] = {"time_s": round(time_s, 2), **role_metrics(records)}
    actors = [record.stats for record in records if record.role == "actor" and "episodes" in record.stats]
    point["episodes"] = sum(stats["episodes"] for stats in actors)
    first = [stats["episode_cost_first"] for stats in actors if "episode_cost_first" in stats]
    if first:
        point["episode_cost_first"] = sum(first) / len(first)
        point["episode_cost_best"] = min(stats["episode_cost_best"] for stats in actors if "episode_cost_best" in stats)
    point["roles"] = {
        str(record.key): {"state": record.state, "rss_mb": record.stats.get("rss_mb")} for record in records
    }
    return point


def _line(point: dict[str, Any]) -> str:
    names = ("episodes", "episode_cost_mean", "steps_per_s", "learner_steps_per_s", "policy_lag", "loss")
    shown = [f"{name} {point[name]:.4g}" for name in names if point.get(name) is not None]
    states = sorted({f"{name}: {role['state']}" for name, role in point["roles"].items() if role["state"] != "running"})
    return f"{point['time_s']:7.1f} s  " + "  ".join(shown + states)
