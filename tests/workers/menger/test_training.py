"""All roles as processes on a small design with SQLite: they learn, find candidates, and survive kill -9."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from backend.jobs.private import PrivateJob, create_private_job
from backend.jobs.topology import RoleKey, learning_keys, one_cell
from netlists.load import input_files, load_design
from netlists.samples import write_sample
from placement.layout import unpack_layout
from workers.agents.checkpoint import checkpoints
from workers.menger.launch import RoleSet
from workers.menger.reverb_native import UNROLL_TABLE, ItemWriter
from workers.menger.roles import in_turn

TINY = {
    "batch_size": 2,
    "unroll_length": 8,
    "environments": 2,
    "channels": 4,
    "width": 16,
    "lstm_width": 8,
    "checkpoint_every_s": 0.5,
    "candidate_every_s": 0.2,
}
PATIENCE_S = 240.0  # four interpreters that compile, on a machine that may be busy


@pytest.fixture(scope="module")
def sample(tmp_path_factory) -> list[Path]:
    return list(write_sample(tmp_path_factory.mktemp("sample"), "small"))


@pytest.fixture(scope="module")
def job(tmp_path_factory, sample) -> Iterator[PrivateJob]:
    job = create_private_job(
        tmp_path_factory.mktemp("data"),
        input_files(sample),
        name="small",
        method="rl",
        seconds=3600,
        seed=0,
        workers=1,
    )
    assert job.store.claim(job.job_id, "test", "here", os.getpgid(0))
    yield job
    job.store.close()


@pytest.fixture(scope="module")
def roles(job, tmp_path_factory) -> Iterator[RoleSet]:
    words = ("--learning", json.dumps(TINY))
    roles = RoleSet(
        job_id=job.job_id,
        data_dir=job.settings.data,
        database_url=job.settings.database_url,
        wanted=learning_keys(one_cell(1)),
        log_dir=tmp_path_factory.mktemp("logs"),
        options={name: words for name in ("actor", "learner", "replay", "cache")},
    )
    roles.start()
    yield roles
    roles.stop(20)


def key_of(role: str) -> RoleKey:
    return RoleKey(role, "" if role == "learner" else "main", 0)


class Watch:
    """What the roles report, and waiting for it with a deadline that says what was waited for."""

    def __init__(self, job: PrivateJob, roles: RoleSet) -> None:
        self.job, self.roles = job, roles

    def stats(self, role: str) -> dict[str, Any]:
        """Figures of the process that runs now."""
        pid = self.roles.pids().get(key_of(role))
        found = [r for r in self.job.store.roles(self.job.job_id, role) if r.pid == pid]
        return found[0].stats if found else {}

    def until(self, what: str, condition: Callable[[], bool], *, all_alive: bool = True) -> None:
        end_s = time.monotonic() + PATIENCE_S
        while not condition():
            if all_alive:
                assert self.roles.poll() == []
            states = [(r.role, r.pid, r.state, r.stats) for r in self.job.store.roles(self.job.job_id)]
            assert time.monotonic() < end_s, f"no {what} within {PATIENCE_S} s: {states}"
            time.sleep(0.1)

    def learned(self, beyond: int = 0) -> Callable[[], bool]:
        return lambda: self.stats("learner").get("policy_version", 0) > beyond

    def kill(self, role: str) -> None:
        """kill -9, noticed by the next polls; then started again."""
        os.kill(self.roles.pids()[key_of(role)], signal.SIGKILL)
        exits: list[Any] = []
        self.until(f"exit of the {role}", lambda: bool(exits.extend(self.roles.poll()) or exits), all_alive=False)
        assert [(gone.key, gone.code) for gone in exits] == [(key_of(role), -signal.SIGKILL)]
        self.roles.restart(key_of(role))


@pytest.fixture(scope="module")
def watch(job, roles) -> Watch:
    return Watch(job, roles)


@pytest.mark.slow
def test_roles_learn_and_find_candidates(watch, sample):
    watch.until("ten updates", watch.learned(10))
    watch.until("an episode", lambda: watch.stats("actor").get("episodes", 0) > 0)
    watch.until("a model of a later version at the actor", lambda: watch.stats("actor").get("model_version", 0) > 1)
    store, job_id = watch.job.store, watch.job.job_id
    taken: list[Any] = []
    watch.until("a candidate", lambda: bool(taken.extend(store.take_candidates(job_id, 1)) or taken))
    design = load_design(sample)
    x_um, _, _ = unpack_layout(taken[0].layout, design.netlist.node_count)
    assert len(x_um) == design.netlist.node_count
    assert taken[0].origin["policy_version"] >= 1
    assert taken[0].cost == pytest.approx(0.8, abs=0.4)
    learner = watch.stats("learner")
    assert learner["learner_steps_per_s"] > 0
    assert 0 <= learner["data_wait_share"] <= 1
    assert learner["bytes_in"] > 0
    assert learner["bytes_out"] > 0
    assert learner["rejected_unrolls"] == learner["skipped_updates"] == 0
    assert watch.stats("actor")["episode_cost_mean"] > 0


@pytest.mark.slow
def test_a_killed_learner_goes_on_from_its_checkpoint(watch):
    folder = watch.job.store.job(watch.job.job_id).folder / "checkpoint"
    watch.until("a checkpoint", lambda: bool(checkpoints(folder)))
    watch.kill("learner")
    step = int(checkpoints(folder)[-1].stem.removeprefix("step-"))
    assert step > 0
    watch.until("updates beyond the checkpoint", watch.learned(step + 1))


@pytest.mark.slow
def test_a_killed_replay_shard_and_actor_are_replaced(watch):
    watch.kill("replay")
    before = watch.stats("learner")["policy_version"]
    watch.until("updates through the new shard", watch.learned(before + 20))
    watch.kill("actor")
    watch.until("episodes of the new actor", lambda: watch.stats("actor").get("episodes", 0) > 0)
    before = watch.stats("learner")["policy_version"]
    watch.until("updates from the new actor", watch.learned(before + 5))


@pytest.mark.slow
def test_an_unroll_without_the_seal_of_the_job_is_refused_and_counted(watch):
    pid = watch.roles.pids()[key_of("replay")]
    (shard,) = [r.address for r in watch.job.store.roles(watch.job.job_id, "replay") if r.pid == pid]
    writer = ItemWriter(shard)
    writer.write(UNROLL_TABLE, [np.zeros(3, np.float32)])
    watch.until("a place in the shard", lambda: writer.flush(1))
    watch.until("the refusal", lambda: watch.stats("learner").get("rejected_unrolls") == 1)
    assert "an item of 'unrolls' is not sealed" in watch.stats("learner")["last_rejection"]
    before = watch.stats("learner")["policy_version"]
    watch.until("updates after it", watch.learned(before + 5))


@pytest.mark.slow
def test_stopping_leaves_no_process(watch):
    pids = list(watch.roles.pids().values())
    assert len(pids) == 4
    watch.roles.stop(20)
    assert not any(psutil.pid_exists(pid) for pid in pids)
    assert watch.roles.pids() == {}
    states = {r.role: r.state for r in watch.job.store.roles(watch.job.job_id) if r.pid in pids}
    assert set(states) == {"actor", "learner", "replay", "cache"}
    assert set(states.values()) == {"stopped"}, states  # all in time, none killed


def test_readers_begin_at_different_caches():
    assert [in_turn(["a", "b", "c"], index)[0] for index in range(4)] == ["a", "b", "c", "a"]
    assert in_turn([], 3) == []
