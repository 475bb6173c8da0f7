"""`placewright role NAME --job ID`: one role of a running job. Started by the run, by `train`, or by a role queue.

Each branch imports what its role needs and nothing more: an optimiser or a cache never loads the learning stack.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from workers.menger.launch import may_accelerate, role_environment

if TYPE_CHECKING:
    from backend.jobs.store import JobStore
    from workers.menger.roles import Life

# Of `auto`: the search is what betters a job of a minute or two, so learning takes what the search leaves.
LEARNING_NICE = 5
ROLES = ("learner", "actor", "cache", "replay", "optimiser")


@click.command(help="One role of a running job (started by the run itself).")
@click.argument("name", type=click.Choice(ROLES))
@click.option("--job", "job_id", required=True, help="Id of the job.")
@click.option("--cell", default="", help="Cell of an actor, cache or replay shard.")
@click.option(
    "--index", type=click.IntRange(min=0), default=0, show_default=True, help="Which of the role's processes."
)
@click.option("--members", type=click.IntRange(min=1), default=1, help="Of an optimiser: how many the job has.")
@click.option("--learning", default="{}", help="Settings of learning, as JSON (fields of TrainConfig).")
def role(name: str, job_id: str, cell: str, index: int, members: int, learning: str) -> None:
    # A role that came over a queue has its worker's environment; the libraries read theirs at import, which is below.
    own = role_environment(
        name, data_dir=Path(os.environ.get("PLACEWRIGHT_DATA", "data")), accelerator=may_accelerate()
    )
    for variable, value in own.items():
        os.environ.setdefault(variable, value)

    from backend.jobs.topology import RoleKey
    from workers.menger.roles import leave, live, prepare_process

    key = RoleKey(name, cell, index)
    prepare_process(job_id, key)
    from backend.core.config import get_settings
    from backend.jobs.records import UnknownJobError
    from backend.jobs.store import JobStore

    settings = get_settings()
    store = JobStore.from_url(settings.database_url, settings.data)
    try:
        store.job(job_id)
    except UnknownJobError:
        raise click.UsageError(f"no job {job_id} in {settings.data}") from None
    leave(live(store, job_id, key, lambda life: _body(life, store, learning, members)))


def _body(life: Life, store: JobStore, learning: str, members: int) -> None:
    from workers.start import job_design

    job = store.job(life.job_id)
    design = job_design(job)
    if life.role == "optimiser":
        from workers.optimiser import run_optimiser

        life.state = "running"
        run_optimiser(
            store,
            job,
            design,
            index=life.index,
            members=members,
            should_stop=life.should_stop,
            tell=lambda values: life.stats.update(values),
        )
        return
    if job.method == "auto":
        os.nice(LEARNING_NICE)
    from workers.agents.policies import of_job
    from workers.menger.config import Task, train_config

    config = train_config(learning, seed=job.seed, policy=of_job(job.folder))
    if life.role == "actor":
        from workers.menger.actor import run_actor

        run_actor(life, design, config)
    elif life.role == "learner":
        from workers.menger.learner import run_learner

        devices = job.topology.devices if job.topology else None
        learners = job.topology.learners if job.topology else 1
        run_learner(life, design, config, job.folder / "checkpoint", devices, learners)
    elif life.role == "replay":
        from workers.menger.servers import run_replay

        run_replay(life, Task.of(design.canvas, config))
    else:
        from workers.menger.servers import run_cache

        run_cache(life, config)
