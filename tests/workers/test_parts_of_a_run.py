"""The parts of a run without a process: topology, figures, written results, roles on queues."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from backend.jobs.records import RoleRecord
from netlists.load import load_design
from netlists.model import Design, NodeKind, Placement
from netlists.samples import make_sample, write_sample
from placement.cost import evaluate
from placement.legal import legalise
from workers.metrics import role_metrics, search_progress
from workers.results import IllegalResultError, add_netlist, check_independently, write_result
from workers.role_set import QUEUES, BothRoles, QueuedRoles, waiting_queues
from workers.topology import Topology, plan


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


@pytest.mark.parametrize(
    ("method", "workers", "optimisers", "actors"),
    [
        ("auto", 1, 1, 1),
        ("auto", 2, 1, 1),
        ("auto", 5, 3, 2),
        ("rl", 4, 1, 3),
        ("search", 3, 3, 0),
        ("anneal", 1, 1, 0),
    ],
)
def test_workers_are_shared_out(method: str, workers: int, optimisers: int, actors: int) -> None:
    topology = plan(method, workers, can_learn=True)
    assert (topology.optimisers, topology.actors, topology.learns) == (optimisers, actors, actors > 0)


def test_without_the_learning_stack_all_workers_search() -> None:
    assert plan("auto", 4, can_learn=False) == Topology(optimisers=4)


def role_record(role: str, index: int = 0, *, state: str = "running", age_s: float = 0.0, **stats: Any) -> RoleRecord:
    return RoleRecord(
        id=f"{role}{index}",
        role=role,
        cell=0,
        index=index,
        address=None,
        pid=1,
        host="here",
        state=state,
        stats=stats,
        heartbeat_age_s=age_s,
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
    """The two calls of JobStore that queued roles make."""

    def __init__(self) -> None:
        self.records: list[RoleRecord] = []
        self.stopped = False

    def roles(self, job_id: str, role: str | None = None) -> list[RoleRecord]:
        return self.records

    def stop_roles(self, job_id: str, role: str | None = None) -> None:
        self.stopped = True
        self.records = [replace(record, state="stopped") for record in self.records]


def queued(store: FakeStore, sent: list[tuple[str, int]]) -> QueuedRoles:
    def send(role: str, index: int) -> bool:
        sent.append((role, index))
        return True

    topology = Topology(optimisers=0, actors=2, learners=1, replay_shards=1, caches=1)
    return QueuedRoles(store, "job", topology, send, stale_after_s=3)  # type: ignore[arg-type]


def test_each_role_is_asked_for_once_and_those_not_taken_are_named() -> None:
    store, sent = FakeStore(), list[tuple[str, int]]()
    roles = queued(store, sent)
    roles.start()
    assert sorted(sent) == [("actor", 0), ("actor", 1), ("cache", 0), ("learner", 0), ("replay", 0)]
    store.records = [role_record("replay"), role_record("actor", 1)]
    both = BothRoles(roles, roles)
    assert sorted(waiting_queues(both)) == sorted([QUEUES["learner"], QUEUES["cache"], QUEUES["actor"]])


def test_a_role_that_falls_silent_or_fails_is_gone_once() -> None:
    store = FakeStore()
    roles = queued(store, [])
    store.records = [role_record("learner"), role_record("actor", 0)]
    assert roles.poll() == []
    store.records = [role_record("learner", age_s=10), role_record("actor", 0, state="failed: no cache")]
    gone = {(g.role, g.index): g.last_stderr_lines[0] for g in roles.poll()}
    assert gone == {("learner", 0): "no heartbeat for 10 s", ("actor", 0): "failed: no cache"}
    assert roles.poll() == []
    roles.stop(1.0)
    assert store.stopped
