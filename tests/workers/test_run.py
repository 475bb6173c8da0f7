"""The run process, for real: started as the service starts it, on a generated design, with its own database."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
import sqlalchemy as sa

from backend.core.tables import EventRow
from backend.jobs.private import PrivateJob, create_private_job
from backend.schemas import JobState
from netlists.circuit_training.plc import read_plc
from netlists.load import load_design
from netlists.samples import write_sample
from placement.cost import evaluate
from placement.legal import check
from workers.start import legal_start

DEADLINE_S = 240
INTERRUPTED = 75


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("sample")
    write_sample(folder, "small", 1)
    return sorted(folder.iterdir())


@pytest.fixture
def make_job(tmp_path: Path, sample: list[Path]) -> Callable[..., PrivateJob]:
    def make(files: list[Path] | None = None, **spec: object) -> PrivateJob:
        values = {"name": "small", "method": "search", "seconds": 15, "seed": 0, "workers": 1, **spec}
        return create_private_job(tmp_path / "data", files or sample, **values)  # type: ignore[arg-type]

    return make


def start(job: PrivateJob, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "workers.run", "--job", job.job_id, *words],
        env=dict(job.environment()),
        start_new_session=True,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for(process: subprocess.Popen[str], condition: Callable[[], bool]) -> None:
    """Until the database says so; the run's end before that is a failure."""
    while not condition():
        try:
            code = process.wait(timeout=0.1)
        except subprocess.TimeoutExpired:
            continue
        assert condition(), f"the run ended with {code}: {process.stderr.read() if process.stderr else ''}"


def events_of(job: PrivateJob) -> list[EventRow]:
    query = sa.select(EventRow).where(EventRow.job_id == job.job_id)
    return job.store.database.read(lambda session: list(session.scalars(query)))


def session_processes(pgid: int) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            if os.getpgid(process.pid) == pgid and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except (ProcessLookupError, psutil.NoSuchProcess):
            continue
    return found


def test_a_search_job_ends_done_and_better_with_files_that_say_what_the_database_says(
    make_job: Callable[..., PrivateJob], sample: list[Path]
) -> None:
    job = make_job(seconds=600, trials=60_000)
    process = start(job)
    _, errors = process.communicate(timeout=DEADLINE_S)
    record = job.store.job(job.job_id)
    assert (process.returncode, record.state, record.cause) == (0, JobState.DONE, None), errors
    best, *others = job.store.placements(job.job_id)
    assert record.start_costs is not None
    assert best.costs["proxy_cost"] < record.start_costs["proxy_cost"]
    assert any(other.provenance["start"] == "legalised upload" for other in others)
    assert set(best.formats) == {"plc", "pb", "svg", "png", "json"}
    design = load_design(sample)
    for path in (best.folder / "placement.plc",):
        placement = read_plc(path, design.netlist).placement
        assert evaluate(design, placement).as_dict() == best.costs
        assert check(design, placement).legal
    with_netlist = load_design([best.folder / "placement.pb.txt.gz"], best.folder / "placement.plc")
    assert evaluate(with_netlist, with_netlist.start).as_dict() == best.costs
    assert session_processes(process.pid) == []


def test_a_jobs_constraints_hold_to_the_written_file(make_job: Callable[..., PrivateJob], sample: list[Path]) -> None:
    rules = {
        "version": 1,
        "macro_spacing_um": 2,
        "boundary_spacing_um": 3,
        "macros": [{"pattern": "*", "halo_um": 1.5}],
    }
    job = make_job(seconds=8, constraints=rules)
    _, errors = start(job).communicate(timeout=DEADLINE_S)
    record = job.store.job(job.job_id)
    assert (record.state, record.cause) == (JobState.DONE, None), errors
    best = job.store.placements(job.job_id)[0]
    assert set(best.formats) == {"plc", "pb", "svg", "png", "json", "constraints"}
    design = load_design(sample, constraints=best.folder / "constraints.json")
    placement = read_plc(best.folder / "placement.plc", design.netlist).placement
    assert check(design, placement).legal
    assert design.constraints is not None
    assert (design.constraints.macro_spacing_um, design.constraints.halo_um.max()) == (2, 1.5)


def test_no_time_at_all_gives_the_legalised_start(make_job: Callable[..., PrivateJob]) -> None:
    job = make_job(seconds=0)
    process = start(job)
    process.communicate(timeout=DEADLINE_S)
    record = job.store.job(job.job_id)
    assert record.state == JobState.DONE
    assert [p.costs for p in job.store.placements(job.job_id)] == [record.start_costs]


def test_a_budget_that_is_over_before_the_run_begins_gives_the_legalised_start(
    make_job: Callable[..., PrivateJob],
) -> None:
    job = make_job(seconds=500)
    _, errors = start(job, "--begin-s", str(time.monotonic() - 600), "--read-back").communicate(timeout=DEADLINE_S)
    record = job.store.job(job.job_id)
    assert record.state == JobState.DONE, errors
    assert [p.costs for p in job.store.placements(job.job_id)] == [record.start_costs]
    (warning,) = job.store.placements(job.job_id)[0].provenance["warnings"]
    assert warning.startswith("only 0.0 s of the 500 s were left for the search: start-up and reading took 6")
    assert warning in [event.data.get("message") for event in events_of(job)]


def test_a_job_from_scratch_is_compared_to_the_packing(make_job: Callable[..., PrivateJob], sample: list[Path]) -> None:
    job = make_job(seconds=0, from_scratch=True)
    process = start(job)
    process.communicate(timeout=DEADLINE_S)
    record = job.store.job(job.job_id)
    expected = legal_start(load_design(sample).without_start())
    assert record.state == JobState.DONE
    assert record.start_costs is not None
    assert record.start_costs["proxy_cost"] == expected.cost
    assert job.store.placements(job.job_id)[0].provenance["start"] == "constructive packing"


def test_a_budget_of_work_gives_equal_files_whatever_happens_to_a_member(tmp_path: Path, sample: list[Path]) -> None:
    """Two jobs side by side, so that each disturbs the other; in one of them a member is killed at its work."""
    spec: dict[str, Any] = {"name": "small", "method": "search", "seconds": 600, "seed": 3, "workers": 2}
    calm, shaken = (create_private_job(tmp_path / name, sample, **spec, trials=600_000) for name in ("calm", "shaken"))
    processes = [start(calm), start(shaken)]
    wait_for(processes[1], lambda: len(shaken.store.roles(shaken.job_id, "optimiser")) == 2)
    os.kill(shaken.store.roles(shaken.job_id, "optimiser")[1].pid, signal.SIGKILL)
    for process in processes:
        _, errors = process.communicate(timeout=DEADLINE_S)
        assert process.returncode == 0, errors
    best = []
    for job in (calm, shaken):
        record = job.store.job(job.job_id)
        assert (record.state, record.cause) == (JobState.DONE, None)
        best.append(job.store.placements(job.job_id)[0])
        assert record.start_costs is not None
        assert best[-1].costs["proxy_cost"] < record.start_costs["proxy_cost"]
    for name in ("placement.plc", "placement.json", "placement.pb.txt.gz"):
        assert (best[0].folder / name).read_bytes() == (best[1].folder / name).read_bytes()
    said = [event.data.get("message", "") for event in events_of(shaken)]
    assert any("optimiser 1 ended with code -9; started again" in message for message in said)
    design = load_design(sample)
    given = evaluate(design, design.start).proxy_cost
    for entry in best:
        assert entry.provenance["trials"] == 600_000
        gained = sum(stage["gain"] for stage in entry.provenance["stages"])
        assert gained == pytest.approx(given - entry.costs["proxy_cost"], abs=1e-9)


def test_a_cancelled_job_keeps_its_best_and_leaves_no_process(make_job: Callable[..., PrivateJob]) -> None:
    job = make_job(seconds=600, workers=2)
    process = start(job)
    wait_for(process, lambda: len(job.store.placements(job.job_id)) >= 2)
    job.store.request_cancel(job.job_id)
    process.communicate(timeout=DEADLINE_S)
    record = job.store.job(job.job_id)
    assert (record.state, record.cause) == (JobState.CANCELLED, "cancelled by the user")
    assert job.store.placements(job.job_id)[0].legal
    assert session_processes(process.pid) == []


def test_a_killed_run_loses_nothing_and_goes_on(make_job: Callable[..., PrivateJob]) -> None:
    job = make_job(seconds=60, workers=2)
    first = start(job)
    wait_for(first, lambda: len(job.store.placements(job.job_id)) >= 2)
    before = job.store.placements(job.job_id)[0].costs["proxy_cost"]
    os.kill(first.pid, signal.SIGKILL)
    first.communicate()
    psutil.wait_procs(session_processes(first.pid), timeout=30)  # the roles die with their run
    assert session_processes(first.pid) == []
    assert job.store.job(job.job_id).state == JobState.RUNNING

    eager = job.store.__class__(job.store.database, job.store.data, stale_after_s=0, attempt_limit=3)
    assert eager.job(job.job_id).attempt == 1
    # The sweeper's part: forget the dead owner, so that the next attempt need not wait for the lease to grow old.
    from backend.core.tables import JobRow

    def forget(session: object) -> None:
        row = session.get(JobRow, job.job_id)  # type: ignore[attr-defined]
        row.owner, row.state = None, JobState.QUEUED

    job.store.database.write(forget)
    second = start(job)
    second.communicate(timeout=DEADLINE_S)
    record = job.store.job(job.job_id)
    assert (record.state, record.attempt) == (JobState.DONE, 2)
    assert job.store.placements(job.job_id)[0].costs["proxy_cost"] <= before
    assert len([p for p in job.store.placements(job.job_id) if p.provenance.get("lineage") == "start"]) == 1


def test_an_interrupted_run_asks_to_be_started_again(make_job: Callable[..., PrivateJob]) -> None:
    job = make_job(seconds=600)
    process = start(job)
    wait_for(process, lambda: len(job.store.placements(job.job_id)) >= 1)
    process.terminate()
    process.communicate(timeout=DEADLINE_S)
    assert process.returncode == INTERRUPTED
    assert not job.store.job(job.job_id).state.is_final


def test_an_infeasible_design_fails_with_the_numbers(make_job: Callable[..., PrivateJob], tmp_path: Path) -> None:
    netlist = tmp_path / "wide.pb.txt"
    netlist.write_text(
        """
node { name: "wide" attr { key: "type" value { placeholder: "MACRO" } } attr { key: "width" value { f: 120 } }
  attr { key: "height" value { f: 10 } } attr { key: "x" value { f: 50 } } attr { key: "y" value { f: 50 } }
  attr { key: "orientation" value { placeholder: "N" } } }
"""
    )
    plc = tmp_path / "wide.plc"
    plc.write_text("# Columns : 10  Rows : 10\n# Width : 100.0  Height : 100.0\n0 50 50 N 0\n")
    job = make_job(files=[netlist, plc])
    process = start(job)
    process.communicate(timeout=DEADLINE_S)
    record = job.store.job(job.job_id)
    assert process.returncode == 0
    assert record.state == JobState.FAILED
    assert record.cause is not None
    assert "wide" in record.cause
    assert "120" in record.cause
    assert "100" in record.cause


def test_a_second_delivery_returns_at_once(make_job: Callable[..., PrivateJob]) -> None:
    job = make_job(seconds=600)
    first = start(job)
    wait_for(first, lambda: job.store.job(job.job_id).owner is not None)
    second = start(job)
    second.communicate(timeout=DEADLINE_S)
    assert second.returncode == 0
    assert first.poll() is None
    job.store.request_cancel(job.job_id)
    first.communicate(timeout=DEADLINE_S)
    assert job.store.job(job.job_id).attempt == 1
