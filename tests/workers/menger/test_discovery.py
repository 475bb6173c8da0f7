"""Who asks whom: addresses by cell, caches that chain, shards of other cells as a last resort; clocks; versions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from backend.core.config import get_settings
from backend.jobs.private import PrivateJob, create_private_job
from backend.jobs.records import RoleRefusedError
from backend.jobs.topology import RoleKey
from workers.menger.roles import Life
from workers.sight import Sight


@pytest.fixture
def job(tmp_path: Path) -> Iterator[PrivateJob]:
    (tmp_path / "netlist.pb.txt").write_text("")
    files = [tmp_path / "netlist.pb.txt"]
    job = create_private_job(
        tmp_path / "data", files, name="x", method="rl", seconds=60, seed=0, workers=1, topology=None
    )
    assert job.store.claim(job.job_id, "test", "here", 1)
    yield job
    job.store.close()


@pytest.fixture
def live(job: PrivateJob, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Life]]:
    """Roles of the job, each as if in a process of its own; a port says that it serves."""
    monkeypatch.setenv("PLACEWRIGHT_ROLE_HOST", "127.0.0.1")
    monkeypatch.setenv("PLACEWRIGHT_ROLE_HEARTBEAT_SECONDS", "30")  # the tests say when
    get_settings.cache_clear()
    lives = []

    def begin(role: str, cell: str, index: int, port: int | None = None) -> Life:
        life = Life(job.store, job.job_id, RoleKey(role, cell, index))
        life.state = "running"
        if port is not None:
            life.serve_at(port)
        lives.append(life)
        return life

    yield begin
    for life in lives:
        life.end("stopped")
    get_settings.cache_clear()


def ports(addresses: list[str]) -> list[int]:
    return [int(address.rpartition(":")[2]) for address in addresses]


def test_models_come_from_the_own_cell_first(live: Callable[..., Life]) -> None:
    live("learner", "", 0, 1)
    for number, (cell, index) in enumerate((("east", 0), ("east", 1), ("west", 0))):
        live("cache", cell, index, 10 + number)
    assert ports(live("actor", "east", 0).model_sources()) == [10, 11, 12, 1]
    assert ports(live("actor", "east", 1).model_sources()) == [11, 10, 12, 1]
    assert ports(live("actor", "west", 0).model_sources()) == [12, 10, 11, 1]
    assert ports(live("actor", "north", 0).model_sources())[-1] == 1


def test_caches_chain_within_their_cell(live: Callable[..., Life]) -> None:
    live("learner", "", 0, 1)
    live("cache", "east", 0, 10)
    live("cache", "east", 1, 11)
    assert ports(live("cache", "east", 2).model_sources()) == [10, 11, 1]
    assert ports(live("cache", "east", 0).model_sources()) == [1]
    assert ports(live("cache", "west", 1).model_sources()) == [1]


def test_unrolls_go_to_another_cell_only_while_the_own_has_no_shard(live: Callable[..., Life], job: PrivateJob) -> None:
    live("replay", "east", 0, 20)
    west = live("replay", "west", 0, 30)
    actor = live("actor", "west", 0)
    assert ports(actor.replay_shards()) == [30]
    assert sorted(ports(live("learner", "", 0).addresses("replay"))) == [20, 30]
    west.end("stopped")
    actor._refresh()
    assert ports(actor.replay_shards()) == [20]
    live("replay", "west", 0, 31)
    actor._refresh()
    assert ports(actor.replay_shards()) == [31]


def test_a_role_of_another_version_is_refused_with_an_event(job: PrivateJob) -> None:
    with pytest.raises(RoleRefusedError, match=r"actor east 3 on far is of version 0\.0\.9, the job runs"):
        job.store.register_role(job.job_id, "actor", "east", 3, None, 1, "far", version="0.0.9")
    assert job.store.roles(job.job_id) == []


def test_ages_are_those_of_the_databases_clock(live: Callable[..., Life], monkeypatch: pytest.MonkeyPatch) -> None:
    """A host whose clock is an hour off is as alive as any: only the monotonic clock of a process is ever read."""
    import time

    live("learner", "", 0, 1)
    monkeypatch.setattr(time, "time", lambda: 1.0)
    assert ports(live("cache", "east", 0).model_sources()) == [1]


def test_seeds_of_two_cells_differ(live: Callable[..., Life]) -> None:
    ordinals = [live("actor", cell, index).ordinal for cell in ("east", "west") for index in range(2)]
    assert len(set(ordinals)) == 4


def test_after_a_gap_silence_means_nothing_for_a_while() -> None:
    now_s = [0.0]
    sight = Sight(6, clock=lambda: now_s[0])
    seen = []
    for second in (1, 2, 60, 61, 63, 65, 67):
        now_s[0] = second
        seen.append(sight.clear())
    assert seen == [True, True, False, False, False, False, True]
