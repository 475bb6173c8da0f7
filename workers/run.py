"""One job, from its uploaded files to its last checked placement: `python -m workers.run --job ID`.

Started by the Celery task `workers.tasks.run_job` (or by `placewright place`) in a session of its own. Takes the
job's lease, reads and legalises, starts the roles, then does nothing but watch: improvements become leaderboard
entries (workers/leaderboard.py), dead roles are started again, figures become metrics. Stages, each named in the job:

    reading → legalising → placing → finishing → done | failed | cancelled

A budget of time counts from the start of this process to the recorded end, or from `--begin-s` where a command began it
earlier; `--read-back` leaves time for that command to read the result once more.

Exit codes: 0 the job's end is recorded (or someone else has it), 75 interrupted: to be started again.
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy.exc import OperationalError

from backend.core import logs
from backend.core.config import get_settings
from backend.jobs.records import JobRecord
from backend.jobs.store import JobStore
from backend.jobs.topology import RoleKey, learning_keys
from backend.schemas import LEARNING_METHODS, EventKind, JobState, RoleName, TopologySpec
from netlists.errors import InputError
from netlists.model import Design
from placement.legal import check_feasible
from workers.exchange import EXCHANGE, Exchange, clear_terms, first_begin, put_terms
from workers.leaderboard import Leaderboard
from workers.metrics import role_metrics, search_progress
from workers.processes import PARENT_VARIABLE, die_with_parent, process_start_s, this_host
from workers.results import IllegalResultError
from workers.role_set import Roles, make_role_set, waiting
from workers.start import job_design, legal_start
from workers.topology import learning_available, plan
from workers.watchdog import RollingRestart, Watchdog

log = logging.getLogger("placewright.run")

INTERRUPTED = 75  # EX_TEMPFAIL of sysexits.h: nothing wrong, start me again
HEARTBEAT_S = 1.0
TICK_S = 0.25
METRICS_S = 1.0
METRIC_POINTS = 1500  # of a long job: enough for any chart
STOP_ROLES_S = 10.0
# The end of a budget of time is kept for what comes after the search, as measured on the start: at most this share of
# it, so a very short budget on a large design is exceeded instead.
RESERVE_SHARE = 0.5
NETLIST_WRITINGS = 1.5  # writing a netlist takes as long as so many results; what DEF, Tcl and .pl take is measured
LAST_RESULTS_S = 0.5  # for roles to end and hand in what they have
LAST_LEARNING_S = 3.0  # the same for the roles of learning, which end one kind after the other
READ_BACK_S = 0.3  # for a command to notice the end and to end itself, beside reading the result
LITTLE_SEARCH = 0.25  # of the budget: with less for the search, the user is told what took the rest
JUDGE_READY = 1.5  # times what this process took to start and to read, the judge is called before the search ends
LATER_S = 30.0  # after the job's end, for netlists of entries that are not its best
WRITING_SHARE = 0.2  # of the time, at most, goes into writing improvements: the cores are the search's
TELL_WAITING_S = 20.0  # between two events that tell of roles that no worker has taken
MAX_RESTARTS = 5  # of one role process; a role that dies at once each time is a fault to be told, not hidden
LIVED_S = 120.0  # after which earlier deaths of a role are forgotten
DATABASE_AWAY_S = 120.0  # a run goes on without its database for this long


class StoppedError(Exception):
    """The run must end now: cancelled, interrupted, or the lease is another's."""


class Run:
    """The life of one run process. All database writes of the job's state are in this class."""

    def __init__(
        self, store: JobStore, job_id: str, *, budget_begin_s: float | None = None, read_back: bool = False
    ) -> None:
        """budget_begin_s: on the monotonic clock, the start of this process by default. read_back: whoever started
        this run reads its result once more within the budget, and wants nothing that is written after its end.
        """
        self.store = store
        self.job_id = job_id
        self.read_back = read_back
        self.owner = f"{this_host()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
        self.stage = "starting"
        self.state = JobState.RUNNING
        self.progress = 0.0
        self.eta_s: float | None = None
        self.cancelled = threading.Event()
        self.lost = threading.Event()
        self.interrupted = threading.Event()
        self.ended = threading.Event()
        self.process_s = process_start_s()
        self.budget_begin_s = self.process_s if budget_begin_s is None else budget_begin_s
        self.reading_s = 0.0  # that this process has taken to start and to read the design
        self.board: Leaderboard | None = None
        self.roles: Roles | None = None
        self.topology: TopologySpec | None = None  # what the job is to have now
        self.watchdog = Watchdog()
        self.rolling = RollingRestart()
        self.tell_waiting_s = 0.0
        self.told_waiting = ""
        self.optimisers: list[RoleKey] = []
        self.stop_s = STOP_ROLES_S  # for roles to end: with a budget of time a part of it
        self.searching: set[int] = set()  # members of the portfolio whose rounds are not over

    # --- life ---------------------------------------------------------------------------------------------------

    def execute(self) -> int:
        """Runs the job to its end. Returns the process's exit code."""
        if not self.store.claim(self.job_id, self.owner, this_host(), os.getpgid(0)):
            log.info("job %s is held by another run or is over", self.job_id)
            return 0
        heart = threading.Thread(target=self._beat, name="heartbeat", daemon=True)
        heart.start()
        code = 0
        try:
            self._work(self.store.job(self.job_id))
            self._finish(JobState.DONE, None)
            if not self.read_back:
                self._write_later()
        except StoppedError:
            if self.cancelled.is_set():
                if self.board is not None:
                    self.board.write_netlists(only_best=True)
                self._finish(JobState.CANCELLED, "cancelled by the user")
            elif not self.lost.is_set():
                code = INTERRUPTED
        except InputError as error:
            self._finish(JobState.FAILED, str(error))
        except IllegalResultError as error:
            self._finish(JobState.FAILED, f"the written result did not pass the check: {error}")
        except OSError as error:
            log.exception("run failed")
            self._finish(JobState.FAILED, f"{self.stage}: {error.strerror or error} ({error.filename or 'no file'})")
        except Exception as error:
            log.exception("run failed")
            self._finish(JobState.FAILED, f"{self.stage}: {type(error).__name__}: {error} (see the run's log)")
        finally:
            self._stop_roles()
            if self.board is not None:
                self.board.close()
            self.ended.set()
            heart.join(timeout=2 * HEARTBEAT_S)
            self.store.close()
        return code

    def _finish(self, state: JobState, cause: str | None) -> None:
        self._stop_roles()
        self._patiently(lambda: self.store.finish(self.job_id, self.owner, state, cause))
        log.info("ended %s after %.2f s: %s", state, time.monotonic() - self.process_s, cause or "as asked")

    def _beat(self) -> None:
        while not self.ended.wait(HEARTBEAT_S):
            self._tell_and_hear()

    def _tell_and_hear(self) -> None:
        """One heartbeat: says how far this run is, hears of a cancel, another topology, a lost lease."""
        try:
            answer = self.store.heartbeat(
                self.job_id,
                self.owner,
                progress=self.progress,
                eta_s=self.eta_s,
                stage=self.stage,
                state=self.state,
            )
        except OperationalError as error:
            log.warning("database away, heartbeat not written: %s", error.orig)
            return
        if answer.cancel_requested:
            self.cancelled.set()
        self.topology = answer.topology or self.topology
        if answer.lost and not self.ended.is_set():
            self.lost.set()

    def should_stop(self) -> bool:
        return self.cancelled.is_set() or self.lost.is_set() or self.interrupted.is_set()

    def _check_stop(self) -> None:
        if self.should_stop():
            raise StoppedError

    def _patiently(self, call: Callable[[], Any]) -> Any:
        """A write that must not be lost: tried again while the database is away, for DATABASE_AWAY_S."""
        end_s = time.monotonic() + DATABASE_AWAY_S
        while True:
            try:
                return call()
            except OperationalError as error:
                if time.monotonic() > end_s:
                    raise
                log.warning("database away, trying again: %s", error.orig)
                self.ended.wait(1.0)

    # --- stages -------------------------------------------------------------------------------------------------

    def _work(self, job: JobRecord) -> None:
        self.job = job
        # A later attempt goes on with the time that is left; time in which no run was at work does not count.
        self.progress = job.progress
        self.begin_s = self.budget_begin_s - (job.progress * job.seconds if job.trials is None else 0.0)
        self._enter("reading")
        self.topology = job.topology
        members = self._start_roles() if job.seconds > 0 and job.trials != 0 else 0
        design = job_design(job)
        self.reading_s = time.monotonic() - self.process_s
        check_feasible(design)
        self._check_stop()
        self._await_workers()
        self._enter("legalising")
        board = self.board = self._start(design)
        self._check_stop()
        self.ready_s = time.monotonic()
        self._enter("placing")
        if members and self._left_s() > self._reserve_s(board):
            self._place(board, members)
        self._stop_roles()
        self._tell_and_hear()  # searches that a cancel ended may have heard of it first
        self._check_stop()
        self._tell_little_search(board)
        self.state = JobState.FINISHING
        self._enter("finishing")
        board.judge()
        if job.place_cells:
            self._enter("placing cells")
            self._place_cells(board)

    def _enter(self, stage: str) -> None:
        self.stage = stage
        log.info("stage: %s", stage)
        self._event(EventKind.LOG, level="info", message=f"stage: {stage}", role="run")

    def _event(self, kind: EventKind, **data: Any) -> None:
        try:
            self.store.add_event(self.job_id, kind, data)
        except OperationalError as error:
            log.warning("event not stored: %s (%s)", data, error.orig)

    def _warn(self, board: Leaderboard, message: str) -> None:
        """In the provenance of the results, and among the job's events."""
        board.warn(message)
        self._event(EventKind.LOG, level="warning", message=message, role="run")

    def _left_s(self) -> float:
        return self.begin_s + self.job.seconds - time.monotonic()

    def _reserve_s(self, board: Leaderboard) -> float:
        """What the end will take: roles stop, the best is written, then judged while its netlist is written."""
        if self.job.trials is not None:
            return 0.0
        read_back_s = board.writing_s + READ_BACK_S if self.read_back else 0.0
        netlist_s = max(board.netlist_s, NETLIST_WRITINGS * board.writing_s)
        needed_s = self.stop_s + board.writing_s + netlist_s + read_back_s
        return min(needed_s, RESERVE_SHARE * self.job.seconds)

    def _tell_little_search(self, board: Leaderboard) -> None:
        """Warn when start-up and the end have left next to nothing of a budget of time for the search."""
        seconds = self.job.seconds
        if self.job.trials is not None or seconds == 0:
            return
        reserve_s = self._reserve_s(board)
        until_s = self.begin_s + seconds - reserve_s
        began_s = first_begin(self.job.folder / EXCHANGE)
        search_s = 0.0 if began_s is None else max(until_s - began_s, 0.0)
        if search_s < LITTLE_SEARCH * seconds:
            ready_s = (self.ready_s if began_s is None else began_s) - self.begin_s
            message = (
                f"only {search_s:.1f} s of the {seconds:g} s were left for the search: start-up and reading took "
                f"{ready_s:.1f} s, writing and checking the result needs {reserve_s:.1f} s. A larger budget, or a "
                "machine with less other work, gives more"
            )
            self._warn(board, message)

    def _start(self, design: Design) -> Leaderboard:
        """The leaderboard with the legal start; after a restart with the entries that are there."""
        board = Leaderboard(
            self.store,
            self.job,
            design,
            begin_s=self.begin_s,
            patiently=self._patiently,
            tell=lambda message: self._event(EventKind.LOG, level="error", role="run", message=message),
        )
        if board.entries:
            message = f"attempt {self.job.attempt}: going on from the best so far, {board.best_cost:.4f}"
            self._event(EventKind.LOG, level="warning", role="run", message=message)
            return board
        start = legal_start(design)
        Exchange(self.job.folder / EXCHANGE, design).put(None, start)
        board.start(start)
        return board

    def _start_roles(self) -> int:
        """Start all processes; they get ready while this one reads. Optimisers wait for their terms; their number."""
        can_learn = learning_available()
        if self.job.method in LEARNING_METHODS and not can_learn:
            message = "learning needs dm-reverb (Linux on x86-64); this job searches only"
            if self.job.method == "rl":
                raise InputError(f"method rl: {message.split(';')[0]}")
            self._event(EventKind.LOG, level="warning", message=message, role="run")
            self.topology = None
        wanted = plan(self.job, can_learn=can_learn)
        self.optimisers = [key for key in wanted if key.role == RoleName.OPTIMISER]
        if self.job.trials is None:
            self.stop_s = LAST_LEARNING_S if len(wanted) > len(self.optimisers) else LAST_RESULTS_S
        clear_terms(self.job.folder / EXCHANGE)
        words = ("--members", str(len(self.optimisers)))
        self.roles = make_role_set(self.store, self.job, wanted, options={"optimiser": words})
        self.roles.start()
        return len(self.optimisers)

    def _await_workers(self) -> None:
        """Unless the job may start smaller: until workers have taken all its roles. The time does not count."""
        if self.roles is None or self.topology is None or self.topology.start_smaller:
            return
        begin_s = time.monotonic()
        restarts: dict[RoleKey, tuple[int, float]] = {}
        while True:
            self._check_stop()
            try:
                self._mind_roles(restarts)
            except OperationalError as error:
                log.warning("database away: %s", error.orig)
            missing = waiting(self.roles)
            if not missing:
                break
            self.stage = f"waiting for workers: {', '.join(missing)}"
            self._tell_waiting(missing)
            self.interrupted.wait(TICK_S)
        self.begin_s += time.monotonic() - begin_s

    def _place(self, board: Leaderboard, members: int) -> None:
        until_s = self.begin_s + self.job.seconds - self._reserve_s(board)
        # A later attempt goes on with the rounds that are left.
        begin_s = time.monotonic() if self.job.progress == 0 else self.begin_s
        put_terms(self.job.folder / EXCHANGE, begin_s, until_s)
        try:
            if self.job.uploaded_files != self.job.design_files and board.netlist_s == 0:
                board.write_netlists(only_best=True)  # the start's: says what DEF, Tcl and .pl will take
            self._watch(board, members)
        finally:  # also when cancelled or interrupted: what the searches have found by now is kept
            self._stop_roles()
            if not self.lost.is_set():
                timed = self.job.trials is None
                late_s = until_s + self.stop_s if timed else float("inf")
                self._patiently(lambda: board.take(1000, only_better_after_s=late_s))
        self._add_metrics()
        if not board.improved:
            message = "no search process found anything better" + (
                " in time: the machine is busy, or the budget is too short" if self.job.trials is None else ""
            )
            self._warn(board, message)

    def _place_cells(self, board: Leaderboard) -> None:
        """What comes after the macros; where it cannot be done the macros' result stands, with a warning."""

        def tell(share: float) -> None:
            self.eta_s = None if share == 0 else (time.monotonic() - begin_s) * (1 - share) / share

        begin_s = time.monotonic()
        try:
            board.place_cells(should_stop=self.should_stop, on_progress=tell)
        except InputError as error:
            self._warn(board, f"the cells are not placed: {error}")
        self._check_stop()

    def _watch(self, board: Leaderboard, members: int) -> None:
        """Until the budget is used up: improvements into the leaderboard, dead roles replaced, figures stored."""
        restarts: dict[RoleKey, tuple[int, float]] = {}
        self.tell_waiting_s = time.monotonic() + TELL_WAITING_S
        next_metrics_s = next_result_s = 0.0
        self.searching = set(range(members))
        # Its members end by themselves at the reserve's begin.
        while self._left_s() > self._reserve_s(board) - self.stop_s and self.searching:
            self._check_stop()
            try:
                self._tell_progress()
                begin_s = time.monotonic()
                if begin_s >= next_result_s and board.take(1):
                    took_s = time.monotonic() - begin_s
                    next_result_s = time.monotonic() + took_s * (1 / WRITING_SHARE - 1)
                self.interrupted.wait(TICK_S)
                self._mind_roles(restarts)
                if self._left_s() < self._reserve_s(board) + JUDGE_READY * self.reading_s:
                    board.call_judge()
                self._tell_waiting(waiting(self.roles) if self.roles else [])
                if time.monotonic() >= next_metrics_s:
                    whole_s = self.job.seconds if self.job.trials is None else time.monotonic() - self.begin_s
                    next_metrics_s = time.monotonic() + max(METRICS_S, whole_s / METRIC_POINTS)
                    self._add_metrics()
                    self._mind_reports()
            except OperationalError as error:
                log.warning("database away: %s", error.orig)
                self.interrupted.wait(1.0)

    def _tell_progress(self) -> None:
        """By the time, or by what the members of the portfolio say of their work."""
        if self.job.trials is None:
            self.eta_s = max(self._left_s(), 0.0)
            progress = 1 - self.eta_s / self.job.seconds
        else:
            progress = search_progress(self.store.roles(self.job_id, "optimiser"))
            elapsed_s = time.monotonic() - self.begin_s
            self.eta_s = elapsed_s * (1 - progress) / progress if progress > 0 else None
        self.progress = max(self.progress, min(0.99, progress))

    def _mind_roles(self, restarts: dict[RoleKey, tuple[int, float]]) -> None:
        """What has ended is started again; what the job is to have now is started and stopped."""
        assert self.roles is not None
        for gone in self.roles.poll():
            count, last_s = restarts.get(gone.key, (0, 0.0))
            count = 1 if time.monotonic() - last_s > LIVED_S else count + 1
            restarts[gone.key] = count, time.monotonic()
            last = "\n".join(gone.last_stderr_lines[-5:])
            if gone.code == 0 and gone.key.role == RoleName.OPTIMISER:
                self.searching.discard(gone.key.index)  # its rounds are over
                continue
            message = f"{gone.key} ended with code {gone.code}"
            if count > MAX_RESTARTS:
                raise RuntimeError(f"{message} {count} times; its last words: {last}")
            self._event(
                EventKind.LOG,
                level="warning",
                role=gone.key.role,
                message=f"{message}; started again. Last words: {last}",
            )
            self.store.end_role(self.job_id, gone.key, f"failed: code {gone.code}")
            self.roles.restart(gone.key)
        if self.topology is not None:
            self.roles.set_wanted([*learning_keys(self.topology), *self.optimisers])

    def _mind_reports(self) -> None:
        """Tell what the roles' reports say to people; carry a rolling restart on."""
        assert self.roles is not None
        records = self.store.roles(self.job_id)
        if self.topology is not None:
            for message in self.watchdog.look(records, waiting(self.roles)):
                self._event(EventKind.LOG, level="warning", role="run", message=message)
        stale_after_s = get_settings().role_stale_seconds
        following = self.rolling.next(records, lambda r: not r.ended and r.heartbeat_age_s <= stale_after_s)
        if following is not None:
            self._event(EventKind.LOG, level="info", role=following.role, message=f"restarting {following.key}")
            self.store.end_role(self.job_id, following.key, following.state, following.pid)
            self.roles.stop_one(following.key)

    def _tell_waiting(self, missing: Sequence[str]) -> None:
        if not missing or time.monotonic() < self.tell_waiting_s:
            return
        self.tell_waiting_s = time.monotonic() + TELL_WAITING_S
        message = f"waiting for workers, {', '.join(missing)} (placewright worker --queues …)"
        if message != self.told_waiting:
            self._event(EventKind.LOG, level="warning", message=message, role="run")
        self.told_waiting = message

    def _stop_roles(self) -> None:
        roles, self.roles = self.roles, None
        if roles is not None:
            roles.stop(STOP_ROLES_S if self.should_stop() else self.stop_s)

    def _add_metrics(self) -> None:
        values = role_metrics(self.store.roles(self.job_id))
        if values:
            self.store.add_metrics(self.job_id, time.monotonic() - self.begin_s, values)

    def _write_later(self) -> None:
        """Netlists of the other entries. The job is over: nobody waits for them, and a fault here is not the job's."""
        assert self.board is not None
        end_s = time.monotonic() + LATER_S
        try:
            self.board.write_netlists(until=lambda: time.monotonic() > end_s or self.should_stop())
        except Exception:
            log.exception("netlists of other entries than the best")


def main() -> int:
    parser = argparse.ArgumentParser(description="Run one job (started by the service).")
    parser.add_argument("--job", required=True)
    parser.add_argument("--begin-s", type=float, help="when the budget of time began, on this host's monotonic clock")
    parser.add_argument("--read-back", action="store_true", help="whoever waits for the end reads the result once more")
    words = parser.parse_args()
    if PARENT_VARIABLE in os.environ:  # started by a command line that stays: ends with it
        die_with_parent()
    logs.configure(job=words.job, role="run")
    settings = get_settings()
    store = JobStore.from_url(settings.database_url, settings.data)
    run = Run(store, words.job, budget_begin_s=words.begin_s, read_back=words.read_back)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: run.interrupted.set())
    return run.execute()


if __name__ == "__main__":
    raise SystemExit(main())
