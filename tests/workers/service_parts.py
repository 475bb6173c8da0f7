"""For the tests of tasks and services: a run that misbehaves on demand, a service in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from backend.core.config import load_settings
from backend.core.db import Database
from backend.jobs.store import JobStore
from workers.processes import JOB_VARIABLE

TOKEN = "token-of-the-tests-0123456789"
DEADLINE_S = 120

# Behaves as FAKE_MODE says; everything else (lease, heartbeats, end) as a run does.
FAKE_RUN = """
import os, signal, socket, subprocess, sys, threading
from backend.jobs.store import JobStore
from backend.schemas import JobState
from workers.processes import this_host

job_id = sys.argv[sys.argv.index("--job") + 1]
store = JobStore.from_url()
attempt = store.job(job_id).attempt
mode = os.environ["FAKE_MODE"].split(",")[min(attempt, os.environ["FAKE_MODE"].count(","))]
if mode == "crash early":
    sys.exit("cannot even start")
stopped = threading.Event()
signal.signal(signal.SIGTERM, signal.SIG_IGN if mode == "stubborn" else lambda *_: stopped.set())
owner = f"fake:{os.getpid()}"
if not store.claim(job_id, owner, this_host(), os.getpgid(0)):
    sys.exit(0)
folder = store.new_placement_folder(job_id)
(folder / "placement.plc").write_text("placed")
costs = dict.fromkeys(("wirelength", "wirelength_cost", "density_cost", "congestion_cost"), 1.0)
store.add_placement(job_id, folder, {**costs, "proxy_cost": 1.0 / (attempt + 1)}, True, [], {}, ["plc"])
if mode == "crash":
    print("the last words", file=sys.stderr)
    sys.exit(3)
if mode == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
if mode in ("wait", "stubborn"):
    code = "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(600)"
    subprocess.Popen([sys.executable, "-c", code] if mode == "stubborn" else ["sleep", "600"])
    while not stopped.wait(0.2):
        beat = store.heartbeat(job_id, owner, progress=0.5, eta_s=100, stage="placing")
        if beat.lost:
            sys.exit(0)
        if beat.cancel_requested and mode == "wait":
            store.finish(job_id, owner, JobState.CANCELLED, "cancelled by the user")
            sys.exit(0)
    sys.exit(75)
store.finish(job_id, owner, JobState.DONE)
"""


def fake_run(folder: Path) -> str:
    """Writes the fake run; returns the command for PLACEWRIGHT_RUN_COMMAND."""
    path = folder / "fake_run.py"
    path.write_text(FAKE_RUN)
    return f"{sys.executable} {path}"


def wait_for(condition: Callable[[], object], what: str, timeout_s: float = DEADLINE_S) -> None:
    """Until it is so; never that long when all is well."""
    pause = threading.Event()
    for _ in range(int(timeout_s / 0.05)):
        if condition():
            return
        pause.wait(0.05)
    raise AssertionError(f"still not so after {timeout_s:g} s: {what}")


def processes_of(**variables: str) -> list[int]:
    """Living processes whose environment has these values: whatever was started for a service or a job."""
    found = []
    wanted = [f"{name}={value}".encode() for name, value in variables.items()]
    for path in Path("/proc").iterdir():
        if not path.name.isdigit() or int(path.name) == os.getpid():
            continue
        try:
            environment = (path / "environ").read_bytes().split(b"\0")
            state = (path / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if state not in "ZX" and all(item in environment for item in wanted):
            found.append(int(path.name))
    return found


def processes_of_job(job_id: str) -> list[int]:
    return processes_of(**{JOB_VARIABLE: job_id})


@dataclass
class Service:
    """`placewright serve` with its worker, in processes of its own on a data folder of its own."""

    folder: Path
    environment: dict[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None
    address: str = ""

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def start(self) -> None:
        ready = self.folder / "ready.json"
        ready.unlink(missing_ok=True)
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("PLACEWRIGHT_")}
        settings = {
            "PLACEWRIGHT_TOKEN": TOKEN,
            "PLACEWRIGHT_HEARTBEAT_SECONDS": "1",
            "PLACEWRIGHT_SWEEP_SECONDS": "0.5",
            "PLACEWRIGHT_CANCEL_GRACE_SECONDS": "1",
        }
        with (self.folder / "service.log").open("ab") as log:
            self.process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "workers.cli.main", "serve", "--port", "0"),
                    *("--data", str(self.data), "--ready-file", str(ready)),
                ],
                env={**inherited, **settings, **self.environment},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        wait_for(lambda: ready.exists() or self.process.poll() is not None, "the service answers")
        assert self.process.poll() is None, (self.folder / "service.log").read_text()
        self.address = json.loads(ready.read_text())["address"]

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            assert self.process.wait(timeout=60) == 0

    def client(self) -> httpx.Client:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        return httpx.Client(base_url=f"{self.address}/api/v1", headers=headers, timeout=60)

    def store(self) -> JobStore:
        settings = load_settings({"data": self.data})
        return JobStore(Database(settings.database_url), settings.data, stale_after_s=3, attempt_limit=3)

    def processes(self, words: str = "") -> list[int]:
        """Living processes of this service whose command line has `words` in it."""
        found = []
        for pid in processes_of(PLACEWRIGHT_DATA=str(self.data)):
            try:
                command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
            if words in command:
                found.append(pid)
        return found
