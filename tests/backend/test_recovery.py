"""Back on their feet: what becomes of jobs and designs whose process, worker or message is gone; on both databases."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa

from backend.core.tables import DesignRow, EventRow, JobRow, WorkerRow
from backend.jobs import recovery
from backend.jobs.store import JobStore
from backend.schemas import DesignState, JobState


def change(store: JobStore, table: type, row_id: str, **values: object) -> None:
    store.database.write(lambda session: session.execute(sa.update(table).where(table.id == row_id).values(**values)))


def ago(seconds: float) -> datetime:
    return datetime.now(UTC) - timedelta(seconds=seconds)


def states(store: JobStore, job_id: str) -> list[str]:
    query = sa.select(EventRow).where(EventRow.job_id == job_id, EventRow.kind == "state").order_by(EventRow.id)
    return [row.data["state"] for row in store.database.read(lambda session: list(session.scalars(query)))]


def test_silent_leases(store: JobStore, make_job) -> None:
    fresh, silent, queued, done = make_job(), make_job(), make_job(), make_job(state="done")
    for job_id in (fresh, silent):
        store.claim(job_id, "a", "host", 77)
    change(store, JobRow, silent, heartbeat_at=ago(store.stale_after_s + 1))
    (lease,) = recovery.silent_leases(store, store.stale_after_s)
    assert (lease.job_id, lease.owner, lease.host, lease.pgid) == (silent, "a", "host", 77)
    assert queued != done


def test_release_puts_back_and_the_next_run_goes_on(store: JobStore, make_job, costs) -> None:
    job_id = make_job()
    store.claim(job_id, "a", "h", 1)
    folder = store.new_placement_folder(job_id)
    placement = store.add_placement(job_id, folder, costs, True, [], {}, ["plc"])
    assert (
        recovery.release(store, job_id, "a", "the run was killed (signal 9 SIGKILL; out of memory?)") == JobState.QUEUED
    )
    job = store.job(job_id)
    assert (job.state, job.attempt, job.owner, job.best_placement_id) == (JobState.QUEUED, 1, None, placement)
    assert store.claim(job_id, "b", "h", 2)
    assert store.job(job_id).attempt == 2
    assert states(store, job_id) == ["running", "queued", "running"]


def test_release_fails_a_job_after_its_last_attempt_and_keeps_its_best(store: JobStore, make_job, costs) -> None:
    job_id = make_job(attempt=store.attempt_limit - 1)
    store.claim(job_id, "a", "h", 1)
    folder = store.new_placement_folder(job_id)
    store.add_placement(job_id, folder, costs, True, [], {}, ["plc"])
    assert recovery.release(store, job_id, "a", "the run was killed") == JobState.FAILED
    assert store.job(job_id).best_costs == costs
    cause = store.database.read(lambda session: session.get(JobRow, job_id).cause)
    assert cause == "the run was killed (start 3 of 3)"


def test_a_run_that_dies_before_it_claims_is_not_started_for_ever(store: JobStore, make_job) -> None:
    job_id = make_job()
    outcomes = [recovery.release(store, job_id, None, "the run ended with code 1") for _ in range(4)]
    assert outcomes == [JobState.QUEUED, JobState.QUEUED, JobState.FAILED, JobState.FAILED]


def test_a_stopped_service_gives_the_attempt_back(store: JobStore, make_job) -> None:
    job_id = make_job()
    for _ in range(5):
        assert store.claim(job_id, "a", "h", 1)
        assert recovery.release(store, job_id, "a", "the service was stopped", count=False) == JobState.QUEUED
    assert store.job(job_id).attempt == 0


def test_release_leaves_a_lease_that_changed_hands(store: JobStore, make_job) -> None:
    job_id = make_job()
    store.claim(job_id, "new", "h", 1)
    assert recovery.release(store, job_id, "old", "gone") == JobState.RUNNING
    assert store.job(job_id).owner == "new"
    store.finish(job_id, "new", JobState.DONE)
    assert recovery.release(store, job_id, "new", "gone") == JobState.DONE


def test_release_of_a_job_to_be_cancelled_cancels_it(store: JobStore, make_job) -> None:
    job_id = make_job()
    store.claim(job_id, "a", "h", 1)
    change(store, JobRow, job_id, cancel_requested_at=ago(1))
    assert recovery.release(store, job_id, "a", "gone") == JobState.CANCELLED
    assert states(store, job_id)[-1] == "cancelled"


def test_release_twice_at_once_counts_once(store: JobStore, make_job) -> None:
    from concurrent.futures import ThreadPoolExecutor

    job_id = make_job()
    store.claim(job_id, "a", "h", 1)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: recovery.release(store, job_id, "a", "gone"), range(4)))
    assert store.job(job_id).attempt == 1
    assert states(store, job_id) == ["running", "queued"]


def test_overdue_cancels(store: JobStore, make_job) -> None:
    soon, late = make_job(), make_job()
    for job_id, seconds in ((soon, 1), (late, 100)):
        store.claim(job_id, "a", "h", 5)
        change(store, JobRow, job_id, cancel_requested_at=ago(seconds))
    assert [lease.job_id for lease in recovery.overdue_cancels(store, 30)] == [late]
    recovery.end_cancelled(store, late)
    assert store.job(late).state == JobState.CANCELLED
    recovery.end_cancelled(store, late)
    assert states(store, late).count("cancelled") == 1


def test_lost_messages_are_sent_again_ever_more_seldom(store: JobStore, make_job) -> None:
    job_id = make_job()
    assert recovery.lost_messages(store) == ([], [])
    waits = []
    for count in range(1, 10):
        patience = recovery.RESEND_AFTER_S * 2 ** min(count - 1, recovery.RESEND_DOUBLINGS - 1)
        change(store, JobRow, job_id, enqueued_at=ago(patience - 5))
        assert recovery.lost_messages(store) == ([], [])
        change(store, JobRow, job_id, enqueued_at=ago(patience + 5))
        assert recovery.lost_messages(store) == ([job_id], [])
        assert recovery.lost_messages(store) == ([], [])
        waits.append(patience)
    assert waits[0] == 60
    assert waits[-1] == 1920


def test_designs_without_a_reader(store: JobStore, make_job) -> None:
    design_id = store.job(make_job()).design_id
    change(store, DesignRow, design_id, state=DesignState.PARSING, enqueued_at=ago(61), parse_heartbeat_at=None)
    assert recovery.lost_messages(store) == ([], [design_id])
    assert design_id in recovery.waiting(store)[1]


@pytest.mark.parametrize(("sent", "again"), [(1, True), (recovery.PARSE_ATTEMPTS, False)])
def test_designs_whose_reader_died(store: JobStore, make_job, sent: int, again: bool) -> None:
    design_id = store.job(make_job()).design_id
    change(store, DesignRow, design_id, state=DesignState.PARSING, parse_heartbeat_at=ago(5), enqueued_count=sent)
    assert recovery.abandoned_designs(store) == []
    change(store, DesignRow, design_id, parse_heartbeat_at=ago(store.stale_after_s + 1))
    assert recovery.abandoned_designs(store) == ([design_id] if again else [])
    row = store.database.read(lambda session: session.get(DesignRow, design_id))
    assert row.state == (DesignState.PARSING if again else DesignState.FAILED)
    assert again or "memory" in row.error


def test_worker_heartbeats(store: JobStore) -> None:
    recovery.worker_heartbeat(store, "old", "h", 1, {"io": 1})
    change(store, WorkerRow, "old", heartbeat_at=ago(2 * 86400))
    recovery.worker_heartbeat(store, "new", "h", 2, {"io": 1, "run": 1})
    recovery.worker_heartbeat(store, "new", "h", 2, {"io": 1, "run": 1})
    rows = store.database.read(lambda session: list(session.scalars(sa.select(WorkerRow))))
    assert [(row.id, row.queues) for row in rows] == [("new", ["io", "run"])]
    recovery.worker_gone(store, "new")
    assert store.database.read(lambda session: session.scalar(sa.select(sa.func.count()).select_from(WorkerRow))) == 0
