"""Every few seconds, what has come to a stop is set going again: one `sweep` after another, in each worker.

Dead runs go back into the queue (a bounded number of times), processes they left on this host are ended, cancels that
were not heeded are carried out, messages that were lost are sent again. All decisions are the database's
(`backend.jobs.recovery`), so any number of workers may sweep.
"""

from __future__ import annotations

import logging
import shutil
import threading
import time

from backend.core.broker import IO_QUEUE, PARSE_DESIGN, RUN_JOB, RUN_QUEUE, Broker
from backend.core.config import Settings
from backend.core.ids import ID_PATTERN
from backend.designs.service import uploads_folder
from backend.jobs import recovery
from backend.jobs.store import JobStore
from backend.schemas import JobState
from workers.processes import group_members, stop_group, this_host
from workers.sight import Sight

log = logging.getLogger(__name__)

# A run of this host whose processes are all gone needs no further heartbeats to be missed; this long its own watcher,
# which knows the exit code, has the first word.
DEAD_RUN_S = 4.0
KILL_GRACE_S = 5.0
# A run ends its roles before it records its end, then writes some more netlists, then ends itself. What lives this long
# after that is left over; it is looked for once, within the time that a worker may be away.
LEFT_BEHIND_S, LEFT_BEHIND_FOR_S = 60.0, 3600.0
OLD_UPLOAD_S = 86400.0  # an upload that still comes in after a day does not


class Sweeper:
    """Keeps one service's jobs moving; `run` in a thread, or `sweep` once."""

    def __init__(self, store: JobStore, broker: Broker, settings: Settings) -> None:
        self.store = store
        self.broker = broker
        self.settings = settings
        self.host = this_host()
        self._sight = Sight(settings.stale_after_seconds)
        self._clean: set[str] = set()  # jobs lately ended that were looked at

    def run(self, stop: threading.Event) -> None:
        """Sweep until told to stop. A fault is logged and the next round tries again."""
        while not stop.wait(self.settings.sweep_seconds):
            try:
                self.sweep()
            except Exception:
                log.exception("sweep failed")

    def sweep(self) -> None:
        self._dead_runs()
        self._unheeded_cancels()
        self._left_behind()
        for design_id in recovery.abandoned_designs(self.store):
            self.broker.send(PARSE_DESIGN, design_id, queue=IO_QUEUE)
        self.send(*recovery.lost_messages(self.store))
        self._old_uploads()

    def resume(self) -> None:
        """When a service with a broker of its own comes up: send everything that waits, once."""
        self.send(*recovery.waiting(self.store))

    def send(self, jobs: list[str], designs: list[str]) -> None:
        for design_id in designs:
            self.broker.send(PARSE_DESIGN, design_id, queue=IO_QUEUE)
        for job_id in jobs:
            self.broker.send(RUN_JOB, job_id, queue=RUN_QUEUE)

    def _dead_runs(self) -> None:
        clear = self._sight.clear()  # just after the database was away all runs seem dead
        stale = {lease.job_id for lease in recovery.silent_leases(self.store, self.settings.stale_after_seconds)}
        for lease in recovery.silent_leases(self.store, min(DEAD_RUN_S, self.settings.stale_after_seconds)):
            here = lease.host == self.host and lease.pgid is not None
            if not (clear and lease.job_id in stale) and not (
                here and not group_members(lease.pgid or 0, lease.job_id)
            ):
                continue
            if here and lease.pgid is not None:
                stop_group(lease.pgid, lease.job_id, grace_s=KILL_GRACE_S)
            state = recovery.release(self.store, lease.job_id, lease.owner, "the run has died or stopped answering")
            log.warning("job %s: its run on %s is gone; now %s", lease.job_id, lease.host, state)
            if state == JobState.QUEUED:
                self.broker.send(RUN_JOB, lease.job_id, queue=RUN_QUEUE)

    def _unheeded_cancels(self) -> None:
        """Runs without a watcher (their worker was killed) that do not heed a cancel."""
        for lease in recovery.overdue_cancels(self.store, 3 * self.settings.cancel_grace_seconds):
            if lease.host != self.host or lease.pgid is None:
                continue
            stop_group(lease.pgid, lease.job_id, grace_s=KILL_GRACE_S)
            recovery.end_cancelled(self.store, lease.job_id)

    def _left_behind(self) -> None:
        """Processes of jobs that are over: a run without a watcher may have ended and left some."""
        ended = recovery.lately_ended(self.store, LEFT_BEHIND_S, LEFT_BEHIND_FOR_S)
        for lease in ended:
            if lease.host == self.host and lease.pgid is not None and lease.job_id not in self._clean:
                stop_group(lease.pgid, lease.job_id, grace_s=KILL_GRACE_S)
        self._clean = {lease.job_id for lease in ended}

    def _old_uploads(self) -> None:
        folder = uploads_folder(self.settings.data)
        if not folder.is_dir():
            return
        for path in folder.iterdir():
            if ID_PATTERN.fullmatch(path.name) and time.time() - path.stat().st_mtime > OLD_UPLOAD_S:
                shutil.rmtree(path, ignore_errors=True)
