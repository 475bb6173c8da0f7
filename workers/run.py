"""One job, from its uploaded files to its last checked placement: `python -m workers.run --job ID`.

Started by the Celery task `workers.tasks.run_job` (or by `placewright place`) in a session of its own. Takes the
job's lease, reads and legalises, starts the roles, then does nothing but watch: improvements become leaderboard
entries (workers/results.py), dead roles are started again, figures become metrics. Stages, each named in the job:

    reading → legalising → placing → finishing → done | failed | cancelled

Exit codes: 0 the job's end is recorded (or someone else has it), 75 interrupted: to be started again.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import signal
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from sqlalchemy.exc import OperationalError

from backend.core.config import get_settings
from backend.jobs.records import Candidate, JobRecord
from backend.jobs.store import JobStore
from backend.schemas import EventKind, JobState
from netlists.circuit_training.plc import read_plc
from netlists.circuit_training.writer import write_plc
from netlists.errors import InputError
from netlists.load import load_design
from netlists.model import Design, Placement
from placement.layout import unpack_layout
from placement.legal import check_feasible, legalise
from workers.metrics import role_metrics
from workers.processes import PARENT_VARIABLE, die_with_parent, this_host
from workers.results import (
    IllegalResultError,
    WrittenPlacement,
    add_netlist,
    check_independently,
    formats_of,
    write_result,
)
from workers.role_set import Roles, make_role_set, waiting_queues
from workers.topology import LEARNING_METHODS, learning_available, plan

log = logging.getLogger("placewright.run")

INTERRUPTED = 75  # EX_TEMPFAIL of sysexits.h: nothing wrong, start me again
HEARTBEAT_S = 1.0
TICK_S = 0.25
METRICS_S = 1.0
METRIC_POINTS = 1500  # of a long job: enough for any chart
STOP_ROLES_S = 10.0
LAST_RESULTS_S = 0.5  # optimisers end so much earlier, to hand in what they have
WRITING_SHARE = 0.2  # of the time, at most, goes into writing improvements: the cores are the search's
TELL_WAITING_S = 20.0  # a role that no worker has taken by then is told of
MAX_RESTARTS = 5  # of one role process; a role that dies at once each time is a fault to be told, not hidden
DATABASE_AWAY_S = 120.0  # a run goes on without its database for this long


class StoppedError(Exception):
    """The run must end now: cancelled, interrupted, or the lease is another's."""


class Run:
    """The life of one run process. All database writes of the job's state are in this class."""

    def __init__(self, store: JobStore, job_id: str) -> None:
        self.store = store
        self.job_id = job_id
        self.owner = f"{this_host()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
        self.stage = "starting"
        self.state = JobState.RUNNING
        self.progress = 0.0
        self.eta_s: float | None = None
        self.cancelled = threading.Event()
        self.lost = threading.Event()
        self.interrupted = threading.Event()
        self.ended = threading.Event()
        self.best_cost = float("inf")
        self.improved = False
        self.entries: dict[str, tuple[str, float]] = {}  # lineage -> leaderboard entry, its cost
        self.design: Design | None = None
        self.roles: Roles | None = None

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
        except StoppedError:
            if self.cancelled.is_set():
                self._write_netlists(only_best=True)
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
            self.ended.set()
            heart.join(timeout=2 * HEARTBEAT_S)
            self.store.close()
        return code

    def _finish(self, state: JobState, cause: str | None) -> None:
        self._stop_roles()
        self._patiently(lambda: self.store.finish(self.job_id, self.owner, state, cause))

    def _beat(self) -> None:
        while not self.ended.wait(HEARTBEAT_S):
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
                continue
            if answer.cancel_requested:
                self.cancelled.set()
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
        self.begin_s = time.monotonic() - job.progress * job.seconds
        self._enter("reading")
        design = self.design = load_design(list(job.design_files), name=job.design_name, constraints=job.constraints)
        check_feasible(design)
        self._check_stop()
        self._enter("legalising")
        design = self._start(design)
        self._check_stop()
        self._enter("placing")
        if self._left_s() > 0:
            self._place(design)
        self._check_stop()
        self.state = JobState.FINISHING
        self._enter("finishing")
        self._finish_placements(design)

    def _enter(self, stage: str) -> None:
        self.stage = stage
        log.info("stage: %s", stage)
        self._event(EventKind.LOG, level="info", message=f"stage: {stage}", role="run")

    def _event(self, kind: EventKind, **data: Any) -> None:
        try:
            self.store.add_event(self.job_id, kind, data)
        except OperationalError as error:
            log.warning("event not stored: %s (%s)", data, error.orig)

    def _left_s(self) -> float:
        return self.begin_s + self.job.seconds - time.monotonic()

    def _start(self, design: Design) -> Design:
        """The legal start, as the first leaderboard entry; after a restart the entries that are there."""
        known = self.store.placements(self.job_id)
        if known:
            self.best_cost = known[0].costs["proxy_cost"]
            for record in known:
                lineage = str(record.provenance.get("lineage", ""))
                self.entries[lineage] = (record.id, record.costs["proxy_cost"])
            self._event(
                EventKind.LOG,
                level="warning",
                role="run",
                message=f"attempt {self.job.attempt}: going on from the best so far, {self.best_cost:.4f}",
            )
            return design
        written = write_result(design, legalise(design, design.start), self.job.folder / "placements")
        self._patiently(lambda: self.store.set_start_costs(self.job_id, written.costs.as_dict()))
        self._enter_result(written, {"start": "legalised upload", "lineage": "start"})
        return design

    def _place(self, design: Design) -> None:
        can_learn = learning_available()
        if self.job.method in LEARNING_METHODS and not can_learn:
            message = "learning needs dm-reverb (Linux on x86-64); this job searches only"
            if self.job.method == "rl":
                raise InputError(f"method rl: {message.split(';')[0]}")
            self._event(EventKind.LOG, level="warning", message=message, role="run")
        topology = plan(self.job.method, self.job.workers, can_learn=can_learn)
        # Deadlines are on this host's monotonic clock, which its processes share.
        until_s = self.begin_s + self.job.seconds - LAST_RESULTS_S
        self.roles = make_role_set(self.store, self.job, topology, options={"optimiser": ("--until-s", str(until_s))})
        self.roles.start()
        try:
            self._watch(design)
        finally:  # also when cancelled or interrupted: what the searches have found by now is kept
            self._stop_roles()
            if not self.lost.is_set():
                self._patiently(lambda: self._take_results(design, limit=1000))
        self._add_metrics()
        if not self.improved:
            message = "no search process found anything better in time: the machine is busy, or the budget is too short"
            self._event(EventKind.LOG, level="warning", message=message, role="run")

    def _watch(self, design: Design) -> None:
        """Until the time is over: improvements into the leaderboard, dead roles replaced, figures stored."""
        restarts: dict[tuple[str, int], int] = {}
        tell_waiting_s = time.monotonic() + TELL_WAITING_S
        metrics_s = max(METRICS_S, self.job.seconds / METRIC_POINTS)
        next_metrics_s = next_result_s = 0.0
        while (left_s := self._left_s()) > 0:
            self._check_stop()
            self.progress = max(self.progress, min(0.99, 1 - left_s / self.job.seconds))
            self.eta_s = left_s
            try:
                begin_s = time.monotonic()
                if begin_s >= next_result_s and self._take_results(design, limit=1):
                    took_s = time.monotonic() - begin_s
                    next_result_s = time.monotonic() + took_s * (1 / WRITING_SHARE - 1)
                self.interrupted.wait(TICK_S)
                self._mind_roles(restarts)
                if time.monotonic() >= tell_waiting_s:
                    tell_waiting_s = float("inf")
                    self._tell_waiting()
                if time.monotonic() >= next_metrics_s:
                    next_metrics_s = time.monotonic() + metrics_s
                    self._add_metrics()
            except OperationalError as error:
                log.warning("database away: %s", error.orig)
                self.interrupted.wait(1.0)

    def _mind_roles(self, restarts: dict[tuple[str, int], int]) -> None:
        assert self.roles is not None
        for gone in self.roles.poll():
            key = (gone.role, gone.index)
            restarts[key] = restarts.get(key, 0) + 1
            last = "\n".join(gone.last_stderr_lines[-5:])
            if gone.code == 0 and gone.role == "optimiser":
                continue  # its rounds are over
            message = f"{gone.role} {gone.index} ended with code {gone.code}"
            if restarts[key] > MAX_RESTARTS:
                raise RuntimeError(f"{message} {restarts[key]} times; its last words: {last}")
            self._event(
                EventKind.LOG, level="warning", role=gone.role, message=f"{message}; started again. Last words: {last}"
            )
            self.roles.restart(gone.role, gone.index)

    def _tell_waiting(self) -> None:
        assert self.roles is not None
        if queues := waiting_queues(self.roles):
            message = f"no worker has taken what waits on: {', '.join(queues)} (placewright worker --queues …)"
            self._event(EventKind.LOG, level="warning", message=message, role="run")

    def _stop_roles(self) -> None:
        roles, self.roles = self.roles, None
        if roles is not None:
            roles.stop(STOP_ROLES_S)

    # --- results ------------------------------------------------------------------------------------------------

    def _take_results(self, design: Design, limit: int) -> int:
        """Turn waiting improvements into leaderboard entries. Returns how many were looked at."""
        candidates = self.store.take_candidates(self.job_id, limit, kind="improved")
        self.improved |= bool(candidates)
        for candidate in candidates:
            known = self.entries.get(str(candidate.origin.get("lineage", "")))
            if known is not None and candidate.cost >= known[1]:
                if candidate.cost == known[1] and not candidate.origin.get("running"):
                    self.store.set_provenance(known[0], self._provenance(candidate.origin))  # now with its stages
                continue
            try:
                written = write_result(design, self._placed(design, candidate), self.job.folder / "placements")
            except IllegalResultError as error:
                log.error("an illegal candidate was left out: %s", error)
                self._event(
                    EventKind.LOG, level="error", role="run", message=f"an illegal candidate was left out: {error}"
                )
                continue
            self._enter_result(written, candidate.origin)
        return len(candidates)

    def _placed(self, design: Design, candidate: Candidate) -> Placement:
        x_um, y_um, orientation = unpack_layout(candidate.layout, design.netlist.node_count)
        return design.start.moved(x_um=x_um, y_um=y_um, orientation=orientation)

    def _enter_result(self, written: WrittenPlacement, origin: Mapping[str, Any]) -> None:
        lineage = str(origin.get("lineage", ""))
        replaces = self.entries.get(lineage, (None, 0.0))[0]
        provenance = self._provenance(origin)
        folder = self.store.new_placement_folder(self.job_id)
        folder.rmdir()
        written.folder.rename(folder)
        costs = written.costs.as_dict()
        entry = self._patiently(
            lambda: self.store.add_placement(
                self.job_id, folder, costs, True, written.problems, provenance, written.formats, replaces=replaces
            )
        )
        self.entries[lineage] = (entry, written.costs.proxy_cost)
        if written.costs.proxy_cost < self.best_cost:
            self.best_cost = written.costs.proxy_cost
            self._cost_point(costs)

    def _provenance(self, origin: Mapping[str, Any]) -> dict[str, Any]:
        """Where a result comes from, with what the job adds to it."""
        return {
            **{key: value for key, value in origin.items() if key != "running"},
            "method": self.job.method,
            "seed": self.job.seed,
            "workers": self.job.workers,
            "seconds": round(time.monotonic() - self.begin_s, 2),
        }

    def _cost_point(self, costs: Mapping[str, float]) -> None:
        names = ("proxy_cost", "wirelength_cost", "density_cost", "congestion_cost")
        values = {f"best_{name}": costs[name] for name in names}
        self.store.add_metrics(self.job_id, time.monotonic() - self.begin_s, values)

    def _add_metrics(self) -> None:
        values = role_metrics(self.store.roles(self.job_id))
        if values:
            self.store.add_metrics(self.job_id, time.monotonic() - self.begin_s, values)

    def _finish_placements(self, design: Design) -> None:
        """The best file is judged once more, by a process that sees only files; then the netlists are written."""
        records = self.store.placements(self.job_id)
        start_plc = self.job.folder / "start.plc"
        write_plc(start_plc, design, design.start, None)
        best = records[0]
        constraints = None
        if self.job.constraints is not None:
            constraints = self.job.folder / "constraints.json"
            constraints.write_text(json.dumps(self.job.constraints), encoding="utf-8")
        plc = best.folder / "placement.plc"
        report = check_independently(self.job.design_files, plc, start_plc, constraints)
        if report["proxy_cost"] != best.costs["proxy_cost"]:
            raise IllegalResultError(f"its cost is {report['proxy_cost']}, {best.costs['proxy_cost']} was shown")
        self._write_netlists()

    def _write_netlists(self, *, only_best: bool = False) -> None:
        """The format `pb` of the leaderboard's entries, or of its best."""
        if self.design is None:
            return  # stopped before it was read
        for record in self.store.placements(self.job_id)[: 1 if only_best else None]:
            placement = read_plc(record.folder / "placement.plc", self.design.netlist).placement
            add_netlist(self.design, placement, record.folder)
            self._patiently(partial(self.store.set_formats, record.id, (*formats_of(record.folder), "pb")))


def main() -> int:
    parser = argparse.ArgumentParser(description="Run one job (started by the service).")
    parser.add_argument("--job", required=True)
    words = parser.parse_args()
    if PARENT_VARIABLE in os.environ:  # started by a command line that stays: ends with it
        die_with_parent()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s")
    settings = get_settings()
    run = Run(JobStore.from_url(settings.database_url, settings.data), words.job)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: run.interrupted.set())
    return run.execute()


if __name__ == "__main__":
    raise SystemExit(main())
