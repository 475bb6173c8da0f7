"""A real run over two cells: every role killed with -9, scaled, restarted one by one, cancelled. One job for all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import psutil
import pytest
import sqlalchemy as sa

from backend.core.config import load_settings
from backend.core.tables import EventRow
from backend.jobs import topology_service
from backend.jobs.private import PrivateJob, create_private_job
from backend.jobs.records import RoleRecord
from backend.jobs.topology import RoleKey
from backend.schemas import CellPatch, JobState, TopologyPatch, TopologySpec
from netlists.samples import write_sample

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

PATIENCE_S = 400.0  # interpreters that compile, on a machine that may be busy
CELLS = {"cells": [{"name": "east"}, {"name": "west", "caches": 0, "replay_shards": 0}]}
STALE_S = 6.0


class Running:
    """A run and what its database says of it."""

    def __init__(self, job: PrivateJob) -> None:
        self.job = job
        self.process = subprocess.Popen(
            [sys.executable, "-m", "workers.run", "--job", job.job_id],
            env=dict(job.environment()),
            start_new_session=True,
        )

    def living(self) -> dict[RoleKey, RoleRecord]:
        records = self.job.store.roles(self.job.job_id)
        return {r.key: r for r in records if not r.ended and r.heartbeat_age_s < STALE_S and not r.stop_requested}

    def at_work(self, *keys: RoleKey) -> bool:
        living = self.living()
        return all(key in living and living[key].state != "starting" for key in keys)

    def version(self) -> int:
        learner = self.living().get(LEARNER)
        return int(learner.stats.get("policy_version") or 0) if learner else 0

    def until(self, what: str, condition: Callable[[], Any]) -> None:
        end_s = time.monotonic() + PATIENCE_S
        while not condition():
            assert self.process.poll() is None, f"the run ended with {self.process.returncode}"
            states = {str(key): record.state for key, record in self.living().items()}
            assert time.monotonic() < end_s, f"no {what}: {states}; {self.messages()[-5:]}"
            time.sleep(0.2)

    def learns(self) -> None:
        """Updates from now on, whichever process makes them."""
        self.until("learner", lambda: self.version() > 0)
        before = self.version()
        self.until("further updates", lambda: self.version() > before + 1)

    def kill(self, key: RoleKey) -> None:
        """kill -9; it is named in an event and there again."""
        before = self.living()[key]
        count = len(self.named(key))
        os.kill(before.pid, signal.SIGKILL)
        self.until(f"event of {key}", lambda: len(self.named(key)) > count)
        self.until(f"new {key}", lambda: self.at_work(key) and self.living()[key].id != before.id)

    def named(self, key: RoleKey) -> list[str]:
        return [m for m in self.messages() if m.startswith(f"{key} ended with code -9; started again")]

    def messages(self) -> list[str]:
        query = sa.select(EventRow.data).where(EventRow.job_id == self.job.job_id).order_by(EventRow.id)
        rows = self.job.store.database.read(lambda session: list(session.scalars(query)))
        return [data["message"] for data in rows if "message" in data]

    def scale(self, **cell: Any) -> None:
        patch = TopologyPatch(cells=[CellPatch(**cell)])
        settings = load_settings({"data": self.job.settings.data})
        topology_service.scale(self.job.store.database, self.job.store, settings, self.job.job_id, patch)


LEARNER = RoleKey("learner", "", 0)
SHARD, CACHE = RoleKey("replay", "east", 0), RoleKey("cache", "east", 0)
EAST, WEST = RoleKey("actor", "east", 0), RoleKey("actor", "west", 0)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("topology")
    write_sample(folder / "sample", "small", 1)
    job = create_private_job(
        folder / "data",
        sorted((folder / "sample").iterdir()),
        name="small",
        method="rl",
        seconds=7200,
        seed=0,
        workers=1,
        topology=TopologySpec.model_validate(CELLS),
    )
    running = Running(job)
    yield running
    if running.process.poll() is None:
        os.killpg(running.process.pid, signal.SIGKILL)
    job.store.close()


def test_both_cells_act_and_read_models_nearby(run: Running) -> None:
    run.until("roles", lambda: run.at_work(LEARNER, SHARD, CACHE, EAST, WEST))
    run.learns()
    run.until("steps of both", lambda: all(run.living()[key].stats.get("steps", 0) > 0 for key in (EAST, WEST)))
    cache = run.living()[CACHE].address
    for key in (EAST, WEST):  # west has no cache of its own: it reads from the other cell's
        run.until(f"{key} reads from the cache", lambda key=key: run.living()[key].stats["model_source"] == cache)


@pytest.mark.parametrize("key", [CACHE, SHARD, WEST, LEARNER], ids=str)
def test_each_role_killed_is_named_replaced_and_learning_goes_on(run: Running, key: RoleKey) -> None:
    run.kill(key)
    run.learns()


def test_cells_are_scaled_up_and_down(run: Running) -> None:
    new = RoleKey("actor", "north", 0)
    told = len(run.messages())
    run.scale(name="north", actors=1)
    run.scale(name="west", actors=0)
    run.until("an actor in the new cell", lambda: run.at_work(new))
    run.until("none in the old one", lambda: WEST not in run.living())
    run.learns()
    assert not any("actor west 0 ended" in message for message in run.messages()[told:])


def test_a_rolling_restart_loses_no_progress(run: Running) -> None:
    run.learns()
    before, version = run.living(), run.version()
    assert run.job.store.restart_roles(run.job.job_id, None, None, None) == len(before)
    run.until("all replaced", lambda: all(run.living().get(key, old).id != old.id for key, old in before.items()))
    run.until("updates beyond those before", lambda: run.version() > version)
    said = [message for message in run.messages() if message.startswith("restarting ")]
    assert len(said) == len(before)


def test_cancel_leaves_no_process(run: Running) -> None:
    family = psutil.Process(run.process.pid).children(recursive=True)
    run.job.store.request_cancel(run.job.job_id)
    assert run.process.wait(timeout=PATIENCE_S) == 0
    assert run.job.store.job(run.job.job_id).state == JobState.CANCELLED
    _, left = psutil.wait_procs(family, timeout=20)
    assert left == []
