"""The parts of a run without a process: topology, figures, written results, roles on queues."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from backend.jobs.records import RoleRecord
from backend.jobs.topology import RoleKey, learning_keys, one_cell, role_keys
from netlists.load import load_design
from netlists.model import Design, NodeKind, Placement
from netlists.samples import make_sample, write_sample
from placement.cost import evaluate
from placement.legal import legalise
from workers.metrics import role_metrics, search_progress
from workers.results import IllegalResultError, add_netlist, check_independently, write_result
from workers.role_set import BothRoles, QueuedRoles, waiting
from workers.topology import plan
from workers.watchdog import RollingRestart, Watchdog


@pytest.fixture(scope="module")
def design() -> Design:
    return make_sample("small", 2)


@pytest.fixture(scope="module")
def start(design: Design) -> Placement:
    return legalise(design, design.start)


def overlapping(design: Design, placement: Placement) -> Placement:
    """The second hard macro on top of the first."""
    first, second = design.netlist.nodes_of(NodeKind.HARD_MACRO)[:2]
    x_um, y_um = placement.x_um.copy(), placement.y_um.copy()
    x_um[second], y_um[second] = x_um[first], y_um[first]
    return placement.moved(x_um=x_um, y_um=y_um)


# --- topology and figures


def test_without_the_learning_stack_all_workers_search() -> None:
    class Job:
        workers = 3
        topology = one_cell(2)

    assert plan(Job, can_learn=False) == [RoleKey("optimiser", "", index) for index in range(3)]  # type: ignore[arg-type]
    assert plan(Job, can_learn=True) == role_keys(one_cell(2))  # type: ignore[arg-type]


def role_record(
    role: str, index: int = 0, *, state: str = "running", age_s: float = 0.0, stopping: bool = False, **stats: Any
) -> RoleRecord:
    return RoleRecord(
        id=f"{role}{index}",
        role=role,
        cell="main" if role in ("actor", "cache", "replay") else "",
        index=index,
        address=None,
        pid=1,
        host="here",
        state=state,
        stats=stats,
        heartbeat_age_s=age_s,
        version="0",
        stop_requested=stopping,
    )


def test_rates_add_up_and_costs_are_averaged() -> None:
    roles = [
        role_record("actor", 0, episodes_per_s=2.0, episode_cost_mean=0.8),
        role_record("actor", 1, episodes_per_s=3.0, episode_cost_mean=0.6),
        role_record("actor", 2),
        role_record("learner", learner_steps_per_s=4.0, loss=1.5, policy_lag=2.0, policy_version=9),
    ]
    values = role_metrics(roles)
    assert values == {
        "episodes_per_s": 5.0,
        "episode_cost_mean": pytest.approx(0.7),
        "learner_steps_per_s": 4.0,
        "loss": 1.5,
        "policy_lag": 2.0,
        "policy_version": 9.0,
    }


def test_progress_of_a_budget_of_work_is_the_mean_over_members() -> None:
    roles = [role_record("optimiser", 0, progress=0.5), role_record("optimiser", 1)]
    assert search_progress(roles) == 0.25
    assert search_progress([]) == 0.0


# --- results


def test_a_result_is_what_its_file_says(design: Design, start: Placement, tmp_path: Path) -> None:
    written = write_result(design, start, tmp_path)
    assert written.costs == evaluate(design, written.placement)
    assert {path.name for path in written.folder.iterdir()} == {f"placement.{e}" for e in ("plc", "json", "svg", "png")}
    add_netlist(design, written.placement, written.folder)
    again = load_design([written.folder / "placement.pb.txt.gz"], written.folder / "placement.plc")
    assert evaluate(again, again.start) == written.costs


def test_an_illegal_candidate_leaves_nothing(design: Design, start: Placement, tmp_path: Path) -> None:
    with pytest.raises(IllegalResultError, match="overlap"):
        write_result(design, overlapping(design, start), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_independent_check_judges_files_only(design: Design, start: Placement, tmp_path: Path) -> None:
    write_sample(tmp_path / "sample", "small", 2)
    files = sorted((tmp_path / "sample").iterdir())
    written = write_result(design, start, tmp_path / "results")
    plc = written.folder / "placement.plc"
    assert check_independently(files, plc, None)["proxy_cost"] == written.costs.proxy_cost
    spoiled = tmp_path / "spoiled.plc"
    macro = int(design.netlist.node_index[design.netlist.nodes_of(NodeKind.HARD_MACRO)[0]])
    spoiled.write_text(re.sub(rf"(?m)^{macro} \S+ \S+", f"{macro} -50 -50", plc.read_text()))
    with pytest.raises(IllegalResultError, match="sticks out"):
        check_independently(files, spoiled, None)
    with pytest.raises(IllegalResultError, match="ended with code 2"):
        check_independently(files, files[-1], None)  # a netlist is no .plc


# --- roles on queues


class FakeStore:
    """The calls of JobStore that queued roles make."""

    def __init__(self) -> None:
        self.records: list[RoleRecord] = []
        self.shares = {"learner": 1, "actor.main": 2, "replay.main": 1, "cache.main": 1}
        self.stopped: list[str] = []

    def roles(self, job_id: str, role: str | None = None) -> list[RoleRecord]:
        return [record for record in self.records if role in (None, record.role)]

    def queue_shares(self, job_id: str) -> dict[str, int]:
        return self.shares

    def stop_role(self, role_id: str) -> None:
        self.stopped.append(role_id)

    def end_role(self, job_id: str, key: RoleKey, state: str, pid: int | None = None) -> None:
        self.stopped.append(str(key))

    def stop_roles(self, job_id: str, role: str | None = None) -> None:
        self.records = [replace(record, state="stopped") for record in self.records]


class Queued:
    """Roles on queues with a clock that the test moves."""

    def __init__(self) -> None:
        self.store, self.sent, self.now_s = FakeStore(), list[str](), 100.0
        wanted = learning_keys(one_cell(2))
        send = lambda key: self.sent.append(str(key)) is None
        self.roles = QueuedRoles(self.store, "job", wanted, send, stale_after_s=6, clock=lambda: self.now_s)  # type: ignore[arg-type]

    def look(self, later_s: float = 1.0) -> list[str]:
        """The next look; what has gone, with the cause."""
        self.now_s += later_s
        return [f"{gone.key}: {gone.last_stderr_lines[0]}" for gone in self.roles.poll()]


@pytest.fixture
def queued() -> Queued:
    return Queued()


ALL = ["replay main 0", "learner 0", "cache main 0", "actor main 0", "actor main 1"]


def test_each_role_is_asked_for_once_and_those_not_taken_are_named(queued: Queued) -> None:
    queued.roles.start()
    assert queued.sent == ALL
    queued.store.records = [role_record("replay"), role_record("actor", 1)]
    assert queued.look() == []
    assert queued.sent == ALL
    assert waiting(BothRoles(queued.roles, queued.roles)) == [
        "actor.main: 1 of 2",
        "cache.main: 0 of 1",
        "learner: 0 of 1",
    ]
    for _ in range(15):  # messages may be lost
        queued.look(2)
    assert queued.sent[5:] == ["learner 0", "cache main 0", "actor main 0"]


def test_a_role_that_falls_silent_or_fails_is_gone_once(queued: Queued) -> None:
    queued.store.records = [role_record("learner"), role_record("actor", 0)]
    assert queued.look() == []
    queued.store.records = [role_record("learner", age_s=10), role_record("actor", 0, state="failed: no cache")]
    assert sorted(queued.look()) == ["actor main 0: failed: no cache", "learner 0: no heartbeat for 10 s"]
    assert queued.store.stopped == ["learner 0"]  # should it come back, it is told to stop
    assert queued.look() == []
    queued.roles.stop(1.0)


def test_a_role_that_was_told_to_stop_is_not_missed_but_replaced(queued: Queued) -> None:
    queued.store.records = [role_record("actor", 0)]
    queued.look()
    queued.sent.clear()
    queued.roles.stop_one(RoleKey("actor", "main", 0))
    assert queued.store.stopped == ["actor0"]
    queued.store.records = [role_record("actor", 0, stopping=True)]
    assert queued.look() == []
    assert "actor main 0" not in queued.sent
    queued.store.records = [role_record("actor", 0, stopping=True, state="stopped")]
    assert queued.look() == []
    assert "actor main 0" in queued.sent


def test_scaling_down_stops_writers_before_servers(queued: Queued) -> None:
    queued.store.records = [role_record(key.role, key.index) for key in queued.roles.wanted]
    queued.look()
    queued.roles.set_wanted([RoleKey("learner", "", 0), RoleKey("actor", "main", 0)])
    queued.look()
    assert queued.store.stopped == ["actor1"]
    queued.store.records = [record for record in queued.store.records if record.id != "actor1"]
    queued.look()
    assert queued.store.stopped == ["actor1", "cache0"]


def test_the_runs_own_searches_are_no_surplus_of_the_queues(queued: Queued) -> None:
    queued.store.records = [role_record(key.role, key.index) for key in queued.roles.wanted]
    queued.store.records.append(role_record("optimiser"))
    queued.look()
    queued.look()
    assert queued.store.stopped == []


def test_another_job_gets_its_share(queued: Queued) -> None:
    queued.store.records = [role_record(key.role, key.index) for key in queued.roles.wanted]
    queued.look()
    queued.store.shares["actor.main"] = 1
    queued.look()
    assert queued.store.stopped == ["actor1"]


def test_silence_means_nothing_just_after_the_database_was_away(queued: Queued) -> None:
    queued.store.records = [role_record(key.role, key.index) for key in queued.roles.wanted]
    queued.look()
    queued.sent.clear()
    queued.store.records = [replace(record, heartbeat_age_s=60.0) for record in queued.store.records]
    assert queued.look(60) == []
    assert queued.look() == []
    queued.store.records = [replace(record, heartbeat_age_s=0.5) for record in queued.store.records]
    for _ in range(10):
        assert queued.look() == []
    assert (queued.sent, queued.store.stopped) == ([], [])


# --- what the run tells of its roles


def test_no_steps_are_told_with_what_is_waited_for() -> None:
    now_s = [0.0]
    watchdog = Watchdog(30, clock=lambda: now_s[0])
    acting = [role_record("actor", steps=5), role_record("learner", state="waiting for unrolls, 12 s")]
    assert watchdog.look(acting, []) == []
    now_s[0] = 29
    assert watchdog.look(acting, []) == []
    now_s[0] = 31
    told = watchdog.look(acting, ["cache.main: 0 of 1"])
    assert told == ["no steps for 31 s: waiting for cache.main: 0 of 1; learner 0: waiting for unrolls, 12 s"]
    now_s[0] = 59
    assert watchdog.look(acting, []) == []
    now_s[0] = 63
    assert len(watchdog.look(acting, [])) == 1
    now_s[0] = 70
    assert watchdog.look(acting, []) == []
    moved = [role_record("actor", steps=6)]
    assert watchdog.look(moved, []) == []
    now_s[0] = 90
    assert watchdog.look(moved, []) == []


def test_refused_unrolls_and_full_disks_are_told_once() -> None:
    watchdog = Watchdog()
    said = [
        watchdog.look([role_record("learner", rejected_unrolls=count, last_rejection="from actor east 3: NaN")], [])
        for count in (0, 1, 1, 2, 3, 4)
    ]
    assert [len(messages) for messages in said] == [0, 1, 0, 1, 0, 1]
    assert said[1] == ["learner 0 has refused 1 unrolls, the last from actor east 3: NaN"]
    full = [role_record("learner", checkpoint_error="No space left on device")]
    assert "No space left" in watchdog.look(full, [])[0]
    assert watchdog.look(full, []) == []
    assert "written again" in watchdog.look([role_record("learner")], [])[0]


def test_a_rolling_restart_ends_one_at_a_time() -> None:
    rolling = RollingRestart()
    alive = lambda record: not record.ended
    first, second = (replace(role_record("actor", index), restart_requested=True) for index in range(2))
    assert rolling.next([first, second], alive) is first
    first = replace(first, restart_requested=False, stop_requested=True)
    assert rolling.next([first, second], alive) is None
    again = replace(role_record("actor", 0, state="starting"), id="again")
    assert rolling.next([first, again, second], alive) is None
    again = replace(again, state="running")
    assert rolling.next([first, again, second], alive) is second
    assert rolling.next([again, replace(second, state="stopped", stop_requested=True)], alive) is None
