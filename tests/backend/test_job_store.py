"""The store that runs work against: lease, events, leaderboard, candidates, roles; on SQLite and on PostgreSQL."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from backend.core.tables import EventRow, JobRow, MetricRow
from backend.jobs.records import UnknownJobError
from backend.jobs.store import CANDIDATES, LEADERBOARD, JobStore
from backend.schemas import JobState


def claim(store: JobStore, job_id: str, owner: str = "a") -> bool:
    return store.claim(job_id, owner, "host", 123)


def age_heartbeat(store: JobStore, job_id: str, seconds: float) -> None:
    then = datetime.now(UTC) - timedelta(seconds=seconds)
    store.database.write(
        lambda session: session.execute(sa.update(JobRow).where(JobRow.id == job_id).values(heartbeat_at=then))
    )


def events(store: JobStore, job_id: str) -> list[tuple[int, str, dict]]:
    rows = store.database.read(
        lambda session: list(
            session.scalars(sa.select(EventRow).where(EventRow.job_id == job_id).order_by(EventRow.id))
        )
    )
    return [(row.id, row.kind, row.data) for row in rows]


def add(store: JobStore, job_id: str, cost: float, costs: dict, legal: bool = True) -> tuple[str, Path]:
    folder = store.new_placement_folder(job_id)
    (folder / "placement.plc").write_text("x")
    placement_id = store.add_placement(job_id, folder, {**costs, "proxy_cost": cost}, legal, [], {"seed": 1}, ["plc"])
    return placement_id, folder


def test_claim_gives_the_lease_to_one_only(store: JobStore, make_job) -> None:
    job_id = make_job()
    with ThreadPoolExecutor(8) as pool:
        wins = list(pool.map(lambda owner: claim(store, job_id, str(owner)), range(8)))
    assert wins.count(True) == 1
    record = store.job(job_id)
    assert (record.state, record.attempt, record.owner) == (JobState.RUNNING, 1, str(wins.index(True)))
    assert [(kind, data["state"]) for _, kind, data in events(store, job_id)] == [("state", "running")]


def test_stale_lease_can_be_taken_and_the_old_owner_learns_it(store: JobStore, make_job) -> None:
    job_id = make_job()
    assert claim(store, job_id, "old")
    age_heartbeat(store, job_id, store.stale_after_s - 5)
    assert not claim(store, job_id, "new")
    age_heartbeat(store, job_id, store.stale_after_s + 5)
    assert claim(store, job_id, "new")
    assert store.job(job_id).attempt == 2
    beat = store.heartbeat(job_id, "old", progress=0.9, eta_s=1, stage="searching")
    assert beat.lost
    assert not store.finish(job_id, "old", JobState.DONE)
    assert store.job(job_id).state == JobState.RUNNING
    assert store.finish(job_id, "new", JobState.DONE)


def test_attempts_are_limited(store: JobStore, make_job) -> None:
    job_id = make_job(attempt=3)
    assert not claim(store, job_id)
    assert not store.job(job_id).attempts_left


def test_a_cancelled_or_finished_job_cannot_be_claimed(store: JobStore, make_job) -> None:
    assert not claim(store, make_job(state="cancelled"))
    assert not claim(store, make_job(state="done"))
    assert not claim(store, make_job(cancel_requested_at=datetime.now(UTC)))
    assert not claim(store, "no such job")


def test_heartbeat_moves_on_and_tells_of_a_cancel(store: JobStore, make_job) -> None:
    job_id = make_job()
    claim(store, job_id)
    beat = store.heartbeat(job_id, "a", progress=0.5, eta_s=30.0, stage="searching")
    assert (beat.cancel_requested, beat.lost) == (False, False)
    store.heartbeat(job_id, "a", progress=1.5, eta_s=0, stage="writing", state=JobState.FINISHING)
    assert store.job(job_id).state == JobState.FINISHING
    with pytest.raises(ValueError, match="finish"):
        store.heartbeat(job_id, "a", progress=1, eta_s=0, stage="", state=JobState.DONE)
    store.database.write(
        lambda session: session.execute(sa.update(JobRow).values(cancel_requested_at=datetime.now(UTC)))
    )
    assert store.heartbeat(job_id, "a", progress=1, eta_s=0, stage="writing").cancel_requested
    assert store.finish(job_id, "a", JobState.CANCELLED, "cancelled by the user")
    assert store.heartbeat(job_id, "a", progress=1, eta_s=0, stage="writing").lost
    states = [data["state"] for _, kind, data in events(store, job_id) if kind == "state"]
    assert states == ["running", "finishing", "cancelled"]


def test_event_ids_rise_without_gaps_from_many_threads(store: JobStore, make_job) -> None:
    job_id, other = make_job(), make_job()
    with ThreadPoolExecutor(8) as pool:
        ids = list(pool.map(lambda n: store.add_event(job_id, "log", {"message": str(n)}), range(60)))
    assert sorted(ids) == list(range(1, 61))
    assert store.add_event(other, "log", {"message": "x"}) == 1
    with pytest.raises(UnknownJobError):
        store.add_event("no such job", "log", {})


def test_an_event_is_visible_before_any_with_a_higher_id(store: JobStore, make_job) -> None:
    """A listener that asks for ids above the last one seen must never miss one that was committed late."""
    job_id = make_job()
    last, missed = 0, []
    with ThreadPoolExecutor(5) as pool:
        writers = [pool.submit(lambda: [store.add_event(job_id, "log", {}) for _ in range(30)]) for _ in range(4)]
        while last < 120:
            for event_id, _, _ in events(store, job_id)[last:]:
                if event_id != last + 1:
                    missed.append(event_id)
                last = event_id
            if all(writer.done() for writer in writers) and len(events(store, job_id)) == last:
                break
    assert (last, missed) == (120, [])


def test_numbers_that_json_does_not_know(store: JobStore, make_job) -> None:
    job_id = make_job()
    store.add_event(job_id, "log", {"values": [1.0, math.nan, {"x": math.inf}]})
    assert events(store, job_id)[0][2] == {"values": [1.0, None, {"x": None}]}
    store.add_metrics(job_id, 1.0, {"loss": math.nan, "episodes_per_s": 3.0})
    store.flush()
    assert store.database.read(lambda session: session.scalar(sa.select(MetricRow.values))) == {"episodes_per_s": 3.0}


def test_metrics_are_written_in_batches_and_never_lost(store: JobStore, make_job, monkeypatch) -> None:
    job_id = make_job()
    claim(store, job_id)
    writes = []
    original = store.database.write
    monkeypatch.setattr(store.database, "write", lambda work: (writes.append(1), original(work))[1])
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: store.add_metrics(job_id, n, {"loss": n}), range(200)))
    assert len(writes) <= 3
    store.heartbeat(job_id, "a", progress=0, eta_s=None, stage="x")
    times = store.database.read(lambda session: list(session.scalars(sa.select(MetricRow.time_s))))
    assert sorted(times) == list(range(200))


def test_leaderboard_keeps_the_best_and_removes_the_rest(store: JobStore, make_job, costs) -> None:
    job_id = make_job()
    order = [5, 3, 9, 1, 7, 2, 8, 6, 4, 10, 0.5]
    folders = {cost: add(store, job_id, cost, costs)[1] for cost in order}
    board = store.placements(job_id)
    assert [p.costs["proxy_cost"] for p in board] == sorted(order)[:LEADERBOARD]
    assert [p.rank for p in board] == list(range(1, LEADERBOARD + 1))
    assert {cost for cost, folder in folders.items() if folder.exists()} == set(sorted(order)[:LEADERBOARD])
    record = store.job(job_id)
    assert record.best_placement_id == board[0].id
    assert record.best_costs["proxy_cost"] == 0.5
    kinds = [kind for _, kind, _ in events(store, job_id)]
    assert kinds == ["placement"] * 10  # the one with cost 10 never entered


def test_an_illegal_placement_never_beats_a_legal_one(store: JobStore, make_job, costs) -> None:
    job_id = make_job()
    add(store, job_id, 0.1, costs, legal=False)
    assert store.job(job_id).best_placement_id is None
    best, folder = add(store, job_id, 5.0, costs)
    for cost in range(LEADERBOARD + 2):
        add(store, job_id, cost / 100, costs, legal=False)
    assert store.placements(job_id)[0].id == best == store.job(job_id).best_placement_id
    assert folder.exists()


def test_candidates_come_best_first_and_once(store: JobStore, make_job) -> None:
    job_id = make_job()
    for cost in range(CANDIDATES + 10):
        store.add_candidate(job_id, cost, bytes([cost]), {"version": cost})
    with ThreadPoolExecutor(4) as pool:
        taken = [c for batch in pool.map(lambda _: store.take_candidates(job_id, 10), range(10)) for c in batch]
    assert sorted(c.cost for c in taken) == list(range(CANDIDATES))
    assert all(c.layout == bytes([int(c.cost)]) and c.origin == {"version": c.cost} for c in taken)
    store.add_candidate(job_id, 3, b"b", {})
    store.add_candidate(job_id, 2, b"a", {})
    assert [c.cost for c in store.take_candidates(job_id, 1)] == [2]


def test_roles_are_found_told_to_stop_and_forgotten_by_the_next_attempt(store: JobStore, make_job) -> None:
    job_id = make_job()
    claim(store, job_id)
    actor = store.register_role(job_id, "actor", "main", 1, None, 10, "h")
    learner = store.register_role(job_id, "learner", "", 0, "127.0.0.1:5000", 11, "h")
    assert store.role_heartbeat(actor, "acting", {"steps": 5}, address="127.0.0.1:6000")
    assert [(r.role, r.address, r.state) for r in store.roles(job_id)] == [
        ("actor", "127.0.0.1:6000", "acting"),
        ("learner", "127.0.0.1:5000", "starting"),
    ]
    assert store.roles(job_id, "actor")[0].stats == {"steps": 5}
    assert store.roles(job_id, "actor")[0].heartbeat_age_s < 30
    store.stop_roles(job_id, "actor")
    assert not store.role_heartbeat(actor, "acting", {})
    assert store.role_heartbeat(learner, "learning", {})
    store.finish(job_id, "a", JobState.DONE)
    assert not store.role_heartbeat(learner, "learning", {})

    again = make_job()
    claim(store, again)
    role = store.register_role(again, "actor", "main", 0, None, 1, "h")
    age_heartbeat(store, again, store.stale_after_s + 5)
    claim(store, again, "b")
    assert not store.role_heartbeat(role, "acting", {})
    assert store.roles(again) == []


def test_record_names_the_files(store: JobStore, make_job, tmp_path: Path) -> None:
    record = store.job(make_job())
    folder = tmp_path / "designs" / record.design_id
    assert record.design_folder == folder
    assert record.design_files == (folder / "files" / "file-00.pb.txt",)
    assert record.folder == tmp_path / "jobs" / record.id
    with pytest.raises(UnknownJobError):
        store.job("no such job")


def test_start_costs(store: JobStore, make_job, costs) -> None:
    job_id = make_job()
    store.set_start_costs(job_id, {**costs, "overlaps": 3})
    assert store.job(job_id).start_costs == costs


def test_all_roles_of_a_job_seal_with_one_secret_that_no_other_job_has(store: JobStore, make_job) -> None:
    job, other = make_job(), make_job()
    with ThreadPoolExecutor(8) as pool:
        seen = set(pool.map(store.job_secret, [job] * 16))  # whoever asks first, all get the same
    (secret,) = seen
    assert len(secret) == 32
    assert store.job_secret(other) != secret
    assert repr(secret) not in repr(store.job(job))
    with pytest.raises(UnknownJobError):
        store.job_secret("none")
