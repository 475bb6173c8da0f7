"""The Celery tasks, thin: each takes ids, may be delivered twice, and leaves the work to a process of its own.

`parse_design` reads a design's files under limits of memory and time. `run_job` starts one run in a session of its own
and waits for it; the lease in the database, not the message, says who runs a job. `role` is one role of a run on
another host. When the worker is told to stop, running jobs are stopped and put back, to go on at the next start.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

from celery import shared_task
from celery.signals import worker_shutting_down

from backend.core.broker import PARSE_DESIGN, ROLE, RUN_JOB, RUN_QUEUE, Broker
from backend.core.config import Settings, get_settings
from backend.designs import service as designs
from backend.jobs import recovery
from backend.jobs.records import JobRecord, UnknownJobError
from backend.jobs.store import ACTIVE, JobStore
from backend.jobs.topology import RoleKey
from backend.schemas import JobState
from workers.menger.launch import log_name, role_command
from workers.processes import (
    JOB_VARIABLE,
    child_environment,
    ending,
    group_members,
    kill_group,
    signal_group,
    stop_group,
)

log = logging.getLogger(__name__)

POLL_S = 0.5  # between two looks at a run and its cancel flag
STOP_GRACE_S = 12.0  # a run that is stopped with its service writes its state within this
NICENESS = 5  # of all that computes: the service answers first where cores are few
LOG_TAIL_BYTES = 8192
CAUSE_LINES = 12

stopping = threading.Event()


@worker_shutting_down.connect
def _on_shutdown(**_: object) -> None:
    stopping.set()


@cache
def get_store() -> JobStore:
    return JobStore.from_url()


@cache
def get_broker() -> Broker:
    return Broker(get_settings())


@shared_task(name=PARSE_DESIGN)
def parse_design(design_id: str) -> None:
    """Read a design's files, in a process with limits; its state becomes ready or failed."""
    store, settings = get_store(), get_settings()
    if stopping.is_set() or not designs.start_parsing(store.database, design_id):
        return
    log_path = designs.design_folder(settings.data, design_id) / "parse.log"
    process = _spawn([sys.executable, "-m", "workers.parse", "--design", design_id], log_path, dies_with_worker=True)
    end_s = time.monotonic() + settings.parse_seconds
    next_beat_s = time.monotonic() + settings.heartbeat_seconds
    while process.poll() is None and time.monotonic() < end_s and not stopping.is_set():
        _wait(process, POLL_S)
        if time.monotonic() >= next_beat_s:
            next_beat_s += settings.heartbeat_seconds
            designs.parsing_heartbeat(store.database, design_id)
    code = process.poll()
    signal_group(process.pid, signal.SIGKILL)
    process.wait()
    if code is None and stopping.is_set():
        designs.pause_parsing(store.database, design_id)  # sent again when the service is back
        return
    # Changes nothing if the process has told its end itself.
    if code is None:
        error = f"The files were not read within {settings.parse_seconds:g} s"
    else:
        error = f"The process that read the files {ending(code)}. Its last words: {tail(log_path)}"
    designs.fail_parsing(store.database, settings.data, design_id, error)


def _spawn(
    command: list[str], log_path: Path, *, job_id: str = "", dies_with_worker: bool = False
) -> subprocess.Popen[bytes]:
    """A process in a session of its own, its output at the end of a log."""
    environment = {**get_settings().environment(), **({JOB_VARIABLE: job_id} if job_id else {})}
    with log_path.open("ab") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=child_environment(environment, dies_with_parent=dies_with_worker),
            start_new_session=True,
        )
    with contextlib.suppress(ProcessLookupError):
        os.setpriority(os.PRIO_PROCESS, process.pid, NICENESS)  # its children will have it from it
    return process


def _wait(process: subprocess.Popen[bytes], seconds: float) -> None:
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=seconds)


@shared_task(name=RUN_JOB)
def run_job(job_id: str) -> None:
    """Run a job to its end, unless someone does already."""
    store, settings = get_store(), get_settings()
    try:
        job = store.job(job_id)
    except UnknownJobError:
        return
    if stopping.is_set() or not _may_start(store, job):
        return
    RunWatch(store, settings, job, send_again=lambda: get_broker().send(RUN_JOB, job_id, queue=RUN_QUEUE)).run()


def _may_start(store: JobStore, job: JobRecord) -> bool:
    if job.state.is_final:
        return False
    if job.state in ACTIVE:
        # A live lease is someone else's; a stale one is the sweeper's, which ends what is left of it first.
        log.info("job %s is run by %s", job.id, job.owner)
        return False
    return True


class RunWatch:
    """Starts one run and stays with it: cancels it, stops it with the worker, records an end it did not record."""

    def __init__(
        self, store: JobStore, settings: Settings, job: JobRecord, *, send_again: Callable[[], object]
    ) -> None:
        self.store = store
        self.settings = settings
        self.job_id = job.id
        self.folder = job.folder
        self.send_again = send_again

    def run(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        log_path = self.folder / "run.log"
        log_start = log_path.stat().st_size if log_path.exists() else 0
        command = shlex.split(self.settings.run_command) or [sys.executable, "-m", "workers.run"]
        process = _spawn([*command, "--job", self.job_id], log_path, job_id=self.job_id)
        log.info("job %s: run started, process group %d", self.job_id, process.pid)
        stopped = self._watch(process)
        if group_members(process.pid, self.job_id):
            log.warning("job %s: its run left processes behind, killing them", self.job_id)
            kill_group(process.pid, self.job_id)
        self._record(process, stopped, tail(log_path, log_start))

    def _watch(self, process: subprocess.Popen[bytes]) -> bool:
        """Wait for the end. True: this worker ended it because the worker itself was told to stop."""
        kill_s: float | None = None  # when a cancel turns into signals
        while process.poll() is None:
            _wait(process, POLL_S)
            if stopping.is_set():
                self._stop(process, STOP_GRACE_S)
                return True
            if kill_s is None and self._cancel_requested():
                kill_s = time.monotonic() + self.settings.cancel_grace_seconds
            if kill_s is not None and time.monotonic() > kill_s:
                self._stop(process, self.settings.cancel_grace_seconds)
        return False

    def _cancel_requested(self) -> bool:
        try:
            return self.store.job(self.job_id).cancel_requested
        except UnknownJobError:
            return True  # removed
        except Exception as error:  # the database is away: the run goes on without it, and so does its watch
            log.warning("job %s: %s", self.job_id, error)
            return False

    def _stop(self, process: subprocess.Popen[bytes], grace_s: float) -> None:
        signal_group(process.pid, signal.SIGTERM)
        try:
            process.wait(timeout=grace_s)
        except subprocess.TimeoutExpired:
            signal_group(process.pid, signal.SIGKILL)
            process.wait()

    def _record(self, process: subprocess.Popen[bytes], stopped: bool, words: str) -> None:
        """A run records its own end. Where it could not, the job goes back into the queue or fails with a cause."""
        try:
            job = self.store.job(self.job_id)
        except UnknownJobError:
            return
        if job.state.is_final or (job.state in ACTIVE and job.pgid != process.pid):
            return  # as it should be; or another run has the lease
        if stopped:
            recovery.release(self.store, self.job_id, job.owner, "the service was stopped", count=False)
            return  # sent again when the service is back
        cause = f"the run {ending(process.returncode)}"
        state = recovery.release(self.store, self.job_id, job.owner, f"{cause}: {words}" if words else cause)
        log.warning("job %s: %s; now %s", self.job_id, cause, state)
        if state == JobState.QUEUED:
            self.send_again()


@shared_task(name=ROLE)
def role(job_id: str, role: str, cell: str, index: int) -> None:
    """One role of a running job on this host, as long as the job runs."""
    store, settings = get_store(), get_settings()
    key = RoleKey(role, cell, index)
    try:
        job = store.job(job_id)
        known = [record for record in store.roles(job_id, role) if record.key == key and not record.ended]
    except UnknownJobError:
        return
    if stopping.is_set() or job.state not in ACTIVE:
        return  # a late message: the job is over
    if any(record.heartbeat_age_s <= settings.role_stale_seconds for record in known):
        return  # asked for twice: another worker was quicker
    folder = job.folder / "roles"
    folder.mkdir(parents=True, exist_ok=True)
    process = _spawn(role_command(key, job_id), folder / log_name(key), job_id=job_id, dies_with_worker=True)
    while process.poll() is None:
        _wait(process, POLL_S)
        if stopping.is_set():
            stop_group(process.pid, job_id, grace_s=STOP_GRACE_S)
    signal_group(process.pid, signal.SIGKILL)
    words = ending(process.returncode)
    log.info("job %s: %s %s", job_id, key, words)
    try:  # one that was killed could not tell it itself
        store.end_role(job_id, key, f"failed: {words}" if process.returncode else "stopped", process.pid)
    except Exception as error:
        log.warning("job %s: end of %s not recorded: %s", job_id, key, error)


def tail(path: Path, start: int = 0) -> str:
    """The last words of a log after byte `start`, for a cause that people read."""
    try:
        with path.open("rb") as file:
            file.seek(max(start, path.stat().st_size - LOG_TAIL_BYTES))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return ""
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    return "\n".join(lines[-CAUSE_LINES:])[-1500:]
