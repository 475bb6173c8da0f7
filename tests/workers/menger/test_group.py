"""Several learner processes as one: the same parameters to 1e-5, one stop for all, and a killed member."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from backend.jobs.private import create_private_job
from backend.jobs.topology import RoleKey, learning_keys
from backend.schemas import TopologySpec
from netlists.load import input_files
from netlists.samples import write_sample
from workers.agents.checkpoint import checkpoints
from workers.menger.group import Group
from workers.menger.launch import RoleSet
from workers.menger.roles import RoleError

# Member `index` of `count` reads its share of three batches of eight unrolls; stops are asked for by the last member.
MEMBER = """
import sys
import jax, numpy as np
sys.path.insert(0, "tests/workers/menger")
from conftest import random_unrolls
from netlists.samples import make_sample
from placement.env import EnvConfig
from workers.menger.codec import stack
from workers.menger.config import Task, TrainConfig
from workers.menger.devices import Devices, choose_devices, of_all_processes
from workers.menger.group import Group, connect
from workers.menger.learner import Learner

coordinator, index, count, out = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
group = connect(coordinator, index, count, "127.0.0.1") if count > 1 else Group()
design = make_sample("small", seed=0)
config = TrainConfig(algorithm="ppo", env=EnvConfig(max_grid=16), batch_size=8, unroll_length=4, channels=4, width=16,
                     lstm_width=8)
task = Task.of(design.canvas, config)
codec, agent = task.codec(), task.agent(design)
share = group.share(8)
devices = Devices(of_all_processes(len(choose_devices(None, share))), 8)
learner = Learner(agent, agent.init(jax.random.key(0), task.observation()), devices)
learner.compile(codec)
begin = np.concatenate([np.asarray(leaf).ravel() for leaf in jax.tree.leaves(learner.state.params)])
assert group.agree(ready=index == 0, stop=False) == (count == 1, False)  # all must be ready
updates = 0
while not group.agree(ready=True, stop=index == count - 1 and updates == 3).stop:  # one asks, all stop
    unrolls = random_unrolls(codec, 8, updates, version=updates)[index * share : (index + 1) * share]
    figures = learner.update(devices.place_batch(stack(unrolls)))
    updates += 1
end = learner.model().weights
np.savez(out, begin=begin, end=end, updates=updates, lag=figures["policy_lag"], devices=devices.count)
group.check_same("their number", 7)
try:
    group.check_same("their index", index)
    assert count == 1
except Exception as error:
    assert "the job's learners differ in their index: 0, 1" in str(error)
"""


def run_members(count: int, folder: Path) -> list[dict[str, np.ndarray]]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        coordinator = f"127.0.0.1:{probe.getsockname()[1]}"
    outs = [folder / f"{index}-of-{count}.npz" for index in range(count)]
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
    members = [
        subprocess.Popen(
            [sys.executable, "-c", MEMBER, coordinator, str(index), str(count), str(out)],
            env=environment,
            stderr=subprocess.PIPE,
            text=True,
        )
        for index, out in enumerate(outs)
    ]
    for member in members:
        _, words = member.communicate(timeout=400)
        assert member.returncode == 0, words
    return [dict(np.load(out)) for out in outs]


@pytest.mark.slow
def test_two_processes_learn_what_one_learns(tmp_path):
    (alone,) = run_members(1, tmp_path)
    first, second = run_members(2, tmp_path)
    assert [int(found["devices"]) for found in (alone, first, second)] == [1, 2, 2]
    assert [int(found["updates"]) for found in (alone, first, second)] == [3, 3, 3]
    assert float(alone["lag"]) == float(first["lag"]) == 1
    np.testing.assert_array_equal(first["end"], second["end"])
    np.testing.assert_allclose(first["end"], alone["end"], rtol=0, atol=1e-5)
    assert np.abs(alone["end"] - alone["begin"]).max() > 1e-3  # they did learn


def test_a_batch_that_members_cannot_share_is_refused_with_the_numbers():
    with pytest.raises(RoleError, match="batch_size is 8, must be a multiple of 3, the job's learners"):
        Group(0, 3).share(8)


TINY = {
    "batch_size": 2,
    "unroll_length": 8,
    "environments": 2,
    "channels": 4,
    "width": 16,
    "lstm_width": 8,
    "checkpoint_every_s": 0.5,
}
PATIENCE_S = 240.0


@pytest.mark.slow
def test_a_killed_member_makes_the_group_go_on_from_the_newest_checkpoint(tmp_path):
    """As the run does it: what ends by itself is recorded and started again."""
    topology = TopologySpec.model_validate({"cells": [{"name": "main"}], "learners": 2})
    files = input_files(list(write_sample(tmp_path / "sample", "small")))
    job = create_private_job(
        tmp_path / "data", files, name="small", method="rl", seconds=3600, seed=0, workers=1, topology=topology
    )
    store = job.store
    assert store.claim(job.job_id, "test", "here", os.getpgid(0))
    words = ("--learning", json.dumps(TINY))
    roles = RoleSet(
        job_id=job.job_id,
        data_dir=job.settings.data,
        database_url=job.settings.database_url,
        wanted=learning_keys(topology),
        log_dir=tmp_path / "logs",
        options={name: words for name in ("actor", "learner", "replay", "cache")},
    )
    folder = store.job(job.job_id).folder / "checkpoint"
    ended: list[tuple[RoleKey, int]] = []

    def versions() -> list[int]:
        """Of the two learners that run now; 0 = no update yet."""
        pids = roles.pids()
        records = {r.index: r for r in store.roles(job.job_id, "learner") if r.pid == pids.get(r.key)}
        return [int(records[k].stats.get("policy_version") or 0) if k in records else 0 for k in (0, 1)]

    def until(what: str, condition) -> None:
        end_s = time.monotonic() + PATIENCE_S
        while not condition():
            for gone in roles.poll():
                ended.append((gone.key, gone.code))
                store.end_role(job.job_id, gone.key, f"failed: code {gone.code}")
                roles.restart(gone.key)
            told = [(str(r.key), r.state) for r in store.roles(job.job_id)]
            assert time.monotonic() < end_s, f"no {what} within {PATIENCE_S} s: {told}, ended {ended}"
            time.sleep(0.1)

    roles.start()
    try:
        until("updates of both", lambda: min(versions()) > 3)
        until("a checkpoint", lambda: bool(checkpoints(folder)))
        assert ended == []
        serving = [r.index for r in store.roles(job.job_id, "learner", serving=True)]
        assert serving == [0]  # models come from the first alone
        step = int(checkpoints(folder)[-1].stem.removeprefix("step-"))
        os.kill(roles.pids()[RoleKey("learner", "", 1)], signal.SIGKILL)
        until("the end of both", lambda: len({key for key, _ in ended}) == 2)
        assert ended[0] == (RoleKey("learner", "", 1), -signal.SIGKILL)
        assert {key.role for key, _ in ended} == {"learner"}
        until("updates beyond the checkpoint", lambda: min(versions()) > step + 1)
        begin_s = time.monotonic()
        roles.stop(60)
        assert time.monotonic() - begin_s < 50  # none had to be killed
        last = {r.index: r.state for r in store.roles(job.job_id, "learner") if not r.state.startswith("failed")}
        assert last == {0: "stopped", 1: "stopped"}
    finally:
        roles.stop(20)
        for log in sorted((tmp_path / "logs").glob("learner*")):
            print(log.name, log.read_text(errors="replace")[-3000:])
        store.close()
