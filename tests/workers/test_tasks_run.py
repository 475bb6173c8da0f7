"""`run_job`: every way in which a run can end, and what the job becomes. The run is a fake that ends as told."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import sqlalchemy as sa

from backend.core.config import get_settings
from backend.core.migrate import migrate
from backend.core.tables import DesignRow, EventRow, JobRow
from backend.jobs import recovery
from backend.jobs.store import JobStore
from backend.schemas import JobState
from workers import tasks
from workers.processes import ending, group_members, stop_group, this_host
from workers.sweeper import Sweeper

_spec = importlib.util.spec_from_file_location("service_parts", Path(__file__).with_name("service_parts.py"))
parts = importlib.util.module_from_spec(_spec)
sys.modules["service_parts"] = parts
_spec.loader.exec_module(parts)


class Messages:
    """In place of the broker: what was sent."""

    def __init__(self) -> None:
        self.sent: list[tuple] = []

    def send(self, task: str, *args: object, queue: str) -> bool:
        self.sent.append((task, *args))
        return True


@pytest.fixture
def messages(monkeypatch: pytest.MonkeyPatch) -> Messages:
    messages = Messages()
    monkeypatch.setattr(tasks, "get_broker", lambda: messages)
    return messages


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, messages: Messages) -> Iterator[JobStore]:
    for name in [name for name in os.environ if name.startswith("PLACEWRIGHT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PLACEWRIGHT_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("PLACEWRIGHT_RUN_COMMAND", parts.fake_run(tmp_path))
    monkeypatch.setenv("PLACEWRIGHT_CANCEL_GRACE_SECONDS", "0.5")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    get_settings.cache_clear()
    migrate(get_settings().database_url)
    store = JobStore.from_url()
    monkeypatch.setattr(tasks, "get_store", lambda: store)
    tasks.stopping.clear()
    yield store
    tasks.stopping.clear()
    store.close()
    get_settings.cache_clear()


@pytest.fixture
def make_job(store: JobStore) -> Callable[[], str]:
    def make() -> str:
        now = datetime.now(UTC)
        number = len(list(store.database.read(lambda session: list(session.scalars(sa.select(JobRow.id))))))
        job_id, design_id = f"{number:032x}", f"{number + 1000:032x}"
        queued = {"enqueued_at": now, "enqueued_count": 1, "created_at": now}
        common = {"seconds": 5.0, "seed": 0, "workers": 1, "progress": 0.0, "attempt": 0, "last_event": 0}

        def work(session) -> None:
            session.add(DesignRow(id=design_id, name="d", state="ready", files=[], facts={}, **queued))
            session.flush()
            session.add(JobRow(id=job_id, design_id=design_id, method="search", state="queued", **common, **queued))

        store.database.write(work)
        return job_id

    return make


def cause(store: JobStore, job_id: str) -> str:
    return store.database.read(lambda session: session.get(JobRow, job_id).cause)


def running(store: JobStore, job_id: str) -> bool:
    return store.job(job_id).state == JobState.RUNNING and len(parts.processes_of_job(job_id)) >= 2


def test_a_run_that_ends_well(store, make_job, messages, monkeypatch) -> None:
    monkeypatch.setenv("FAKE_MODE", "done")
    job_id = make_job()
    tasks.run_job(job_id)
    assert store.job(job_id).state == JobState.DONE
    assert messages.sent == []


def test_a_second_delivery_returns_at_once(store, make_job, messages, monkeypatch) -> None:
    monkeypatch.setenv("FAKE_MODE", "crash")
    job_id = make_job()
    assert store.claim(job_id, "someone", "elsewhere", 1)
    tasks.run_job(job_id)
    store.finish(job_id, "someone", JobState.DONE)
    tasks.run_job(job_id)
    tasks.run_job("f" * 32)
    assert store.job(job_id).attempt == 1
    assert not (store.data / "jobs" / job_id).exists()


def test_two_deliveries_at_once_give_one_run(store, make_job, messages, monkeypatch) -> None:
    monkeypatch.setenv("FAKE_MODE", "done")
    job_id = make_job()
    threads = [threading.Thread(target=tasks.run_job, args=(job_id,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(parts.DEADLINE_S)
    job = store.job(job_id)
    assert (job.state, job.attempt) == (JobState.DONE, 1)


def test_a_crash_is_tried_again_from_the_best_placement(store, make_job, messages, monkeypatch) -> None:
    monkeypatch.setenv("FAKE_MODE", "crash,done")
    job_id = make_job()
    tasks.run_job(job_id)
    assert store.job(job_id).state == JobState.QUEUED
    assert len(store.placements(job_id)) == 1
    assert messages.sent == [(tasks.RUN_JOB, job_id)]
    tasks.run_job(job_id)
    assert (store.job(job_id).state, store.job(job_id).attempt) == (JobState.DONE, 2)


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("crash", "the run ended with code 3: the last words"),
        ("killed", "the run was killed (signal 9 SIGKILL; out of memory?)"),
        ("crash early", "the run ended with code 1: cannot even start"),
    ],
)
def test_attempts_end_with_a_cause(store, make_job, messages, monkeypatch, mode: str, words: str) -> None:
    monkeypatch.setenv("FAKE_MODE", mode)
    job_id = make_job()
    for _ in range(3):
        tasks.run_job(job_id)
    assert store.job(job_id).state == JobState.FAILED
    assert words in cause(store, job_id)
    assert len(messages.sent) == 2
    if mode != "crash early":
        assert store.job(job_id).best_placement_id


def test_cancel_is_heeded_by_the_run(store, make_job, messages, monkeypatch) -> None:
    monkeypatch.setenv("FAKE_MODE", "wait")
    job_id = make_job()
    task = threading.Thread(target=tasks.run_job, args=(job_id,))
    task.start()
    parts.wait_for(lambda: running(store, job_id), "the run and its child run")
    _cancel(store, job_id)
    task.join(parts.DEADLINE_S)
    assert store.job(job_id).state == JobState.CANCELLED
    assert parts.processes_of_job(job_id) == []


def test_cancel_of_a_run_that_does_not_listen(store, make_job, messages, monkeypatch) -> None:
    monkeypatch.setenv("FAKE_MODE", "stubborn")
    job_id = make_job()
    task = threading.Thread(target=tasks.run_job, args=(job_id,))
    task.start()
    parts.wait_for(lambda: running(store, job_id), "the run and its child run")
    _cancel(store, job_id)
    task.join(parts.DEADLINE_S)
    assert store.job(job_id).state == JobState.CANCELLED
    assert store.job(job_id).best_placement_id
    assert parts.processes_of_job(job_id) == []


def test_a_stopped_worker_puts_its_job_back(store, make_job, messages, monkeypatch) -> None:
    monkeypatch.setenv("FAKE_MODE", "wait")
    job_id = make_job()
    task = threading.Thread(target=tasks.run_job, args=(job_id,))
    task.start()
    parts.wait_for(lambda: running(store, job_id), "the run and its child run")
    tasks.stopping.set()
    task.join(parts.DEADLINE_S)
    job = store.job(job_id)
    assert (job.state, job.attempt, job.owner) == (JobState.QUEUED, 0, None)
    assert parts.processes_of_job(job_id) == []
    tasks.run_job(job_id)  # a stopping worker begins nothing new
    assert store.job(job_id).state == JobState.QUEUED


def test_the_sweeper_requeues_a_run_without_a_watcher(store, make_job, messages, monkeypatch) -> None:
    """Worker and run were both killed: nobody is left to tell."""
    monkeypatch.setenv("FAKE_MODE", "wait")
    monkeypatch.setattr("workers.sweeper.DEAD_RUN_S", 0.5)
    job_id = make_job()
    process = _orphan(store, job_id)
    sweeper = Sweeper(store, messages, get_settings())
    sweeper.sweep()
    assert store.job(job_id).state == JobState.RUNNING  # it lives: adopted, not touched
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()

    def swept() -> bool:
        sweeper.sweep()
        return store.job(job_id).state == JobState.QUEUED

    parts.wait_for(swept, "the sweeper has put the job back", timeout_s=20)
    assert messages.sent == [(tasks.RUN_JOB, job_id)]


def test_the_sweeper_ends_what_hangs(store, make_job, messages, monkeypatch) -> None:
    """The run is stopped (SIGSTOP): it lives, but no heartbeat comes."""
    monkeypatch.setenv("FAKE_MODE", "stubborn")
    monkeypatch.setattr("workers.sweeper.KILL_GRACE_S", 0.2)
    job_id = make_job()
    process = _orphan(store, job_id)
    os.killpg(process.pid, signal.SIGSTOP)
    then = datetime(2026, 1, 1, tzinfo=UTC)
    store.database.write(lambda session: session.execute(sa.update(JobRow).values(heartbeat_at=then)))
    Sweeper(store, messages, get_settings()).sweep()
    process.wait(timeout=10)
    assert store.job(job_id).state == JobState.QUEUED
    assert parts.processes_of_job(job_id) == []


def test_the_sweeper_carries_out_a_cancel_nobody_heeds(store, make_job, messages, monkeypatch) -> None:
    monkeypatch.setenv("FAKE_MODE", "stubborn")
    monkeypatch.setattr("workers.sweeper.KILL_GRACE_S", 0.2)
    job_id = make_job()
    process = _orphan(store, job_id)
    then = datetime(2026, 1, 1, tzinfo=UTC)
    store.database.write(lambda session: session.execute(sa.update(JobRow).values(cancel_requested_at=then)))
    Sweeper(store, messages, get_settings()).sweep()
    process.wait(timeout=10)
    assert store.job(job_id).state == JobState.CANCELLED
    assert parts.processes_of_job(job_id) == []


def test_the_sweeper_ends_what_an_ended_run_left(store, make_job, messages, monkeypatch) -> None:
    monkeypatch.setenv("FAKE_MODE", "wait")
    monkeypatch.setattr("workers.sweeper.LEFT_BEHIND_S", 0.0)
    job_id = make_job()
    process = _orphan(store, job_id)
    _cancel(store, job_id)
    process.wait(timeout=60)
    assert len(parts.processes_of_job(job_id)) == 1  # the child that the fake run does not mind
    Sweeper(store, messages, get_settings()).sweep()
    assert parts.processes_of_job(job_id) == []


def test_a_foreign_group_with_the_same_number_is_not_touched(store, make_job, messages) -> None:
    job_id = make_job()
    other = subprocess.Popen(["sleep", "600"], start_new_session=True)
    try:
        store.claim(job_id, "gone", this_host(), other.pid)
        then = datetime(2026, 1, 1, tzinfo=UTC)
        store.database.write(lambda session: session.execute(sa.update(JobRow).values(heartbeat_at=then)))
        Sweeper(store, messages, get_settings()).sweep()
        assert store.job(job_id).state == JobState.QUEUED
        assert other.poll() is None
        assert group_members(other.pid) == [other.pid]
    finally:
        assert stop_group(other.pid, None, grace_s=5)
        other.wait()


def test_old_uploads_are_removed(store, messages) -> None:
    folder = store.data / "uploads"
    old, new = folder / ("a" * 32), folder / ("b" * 32)
    for path in (old, new):
        path.mkdir(parents=True)
    os.utime(old, (1, 1))
    Sweeper(store, messages, get_settings()).sweep()
    assert [path.name for path in folder.iterdir()] == [new.name]


def test_a_restarted_worker_sends_what_waits(store, make_job, messages) -> None:
    job_id = make_job()
    Sweeper(store, messages, get_settings()).resume()
    assert messages.sent == [(tasks.RUN_JOB, job_id)]


def test_a_role_ends_with_its_job(store, make_job, messages) -> None:
    job_id = make_job()
    tasks.role(job_id, "actor", "main", 0)  # the job does not run: a late message
    assert not (store.data / "jobs" / job_id / "roles").exists()


def test_endings_in_words() -> None:
    assert ending(0) == "ended with code 0"
    assert ending(-9) == "was killed (signal 9 SIGKILL; out of memory?)"
    assert ending(-15) == "was killed (signal 15 SIGTERM)"


def test_only_the_words_of_this_attempt_are_its_cause(tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    log.write_text("first attempt\n")
    start = log.stat().st_size
    assert tasks.tail(log, start) == ""
    with log.open("a") as file:
        file.writelines(f"line {n}\n" for n in range(100))
    assert tasks.tail(log, start).splitlines() == [f"line {n}" for n in range(88, 100)]


def test_workers_never_import_the_learning_stack() -> None:
    code = (
        "import workers.celery_main, workers.celery_app, workers.tasks, workers.worker, workers.cli.serve, sys;"
        "print([m for m in ('jax', 'jaxlib', 'flax', 'optax', 'reverb', 'tensorflow', 'numba') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def _cancel(store: JobStore, job_id: str) -> None:
    now = datetime.now(UTC)
    query = sa.update(JobRow).where(JobRow.id == job_id).values(cancel_requested_at=now)
    store.database.write(lambda session: session.execute(query))


def _orphan(store: JobStore, job_id: str) -> subprocess.Popen:
    """A run whose worker is gone."""
    (store.data / "jobs" / job_id).mkdir(parents=True)
    command = get_settings().run_command.split()
    process = tasks._spawn([*command, "--job", job_id], store.data / "jobs" / job_id / "run.log", job_id=job_id)
    parts.wait_for(lambda: running(store, job_id), "the run and its child run")
    return process


def test_events_tell_the_story(store, make_job, messages, monkeypatch) -> None:
    monkeypatch.setenv("FAKE_MODE", "killed,done")
    job_id = make_job()
    tasks.run_job(job_id)
    tasks.run_job(job_id)
    query = sa.select(EventRow).where(EventRow.job_id == job_id).order_by(EventRow.id)
    rows = store.database.read(lambda session: list(session.scalars(query)))
    told = [(row.kind, row.data.get("state")) for row in rows if row.kind != "placement"]
    assert told == [("state", "running"), ("log", None), ("state", "queued"), ("state", "running"), ("state", "done")]
    assert recovery.CANCELLED == "cancelled by the user"
