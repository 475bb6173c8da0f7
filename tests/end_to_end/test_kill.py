"""kill -9 of the run, of the worker and of the service, one after another, during one real job: nothing is lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from netlists.samples import write_sample

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(900)]

ROOT = Path(__file__).parents[2]
TOKEN = "a-token-for-this-test-only"
DEADLINE_S = 300
POLL_S = 0.2


class Service:
    """`placewright serve` on one data folder, to be killed and started again."""

    def __init__(self, folder: Path) -> None:
        self.data = folder / "data"
        self.ready = folder / "ready.json"
        self.environment = {**os.environ, "PLACEWRIGHT_TOKEN": TOKEN, "PYTHONPATH": str(ROOT)}
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> httpx.Client:
        self.ready.unlink(missing_ok=True)
        words = ["serve", "--port", "0", "--data", str(self.data), "--ready-file", str(self.ready)]
        self.process = subprocess.Popen([sys.executable, "-m", "workers.cli.main", *words], env=self.environment)
        until("the service answers", self.ready.exists)
        address = json.loads(self.ready.read_text())["address"]
        return httpx.Client(base_url=f"{address}/api/v1", headers={"Authorization": f"Bearer {TOKEN}"}, timeout=60)

    def all_processes(self) -> list[psutil.Process]:
        """Everything that works on this data folder, whoever started it."""
        found = []
        for process in psutil.process_iter():
            try:
                if process.environ().get("PLACEWRIGHT_DATA") == str(self.data) or str(self.data) in process.cmdline():
                    found.append(process)
            except (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
                continue
        return found

    def the_one(self, *words: str) -> psutil.Process:
        """The process whose command line holds these words."""
        return next(p for p in self.all_processes() if all(word in p.cmdline() for word in words))


def until(what: str, condition: Callable[[], Any]) -> Any:
    end_s = time.monotonic() + DEADLINE_S
    while time.monotonic() < end_s:
        if value := condition():
            return value
        time.sleep(POLL_S)
    raise AssertionError(f"{what}: not within {DEADLINE_S} s")


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    running = Service(tmp_path)
    yield running
    for process in running.all_processes():
        process.kill()


def test_three_kills_lose_neither_the_job_nor_its_best_placement(service: Service, tmp_path: Path) -> None:
    write_sample(tmp_path / "sample", "small", 5)
    api = service.start()
    parts = [("files", (p.name, p.read_bytes())) for p in sorted((tmp_path / "sample").iterdir())]
    design = api.post("/designs", files=parts).raise_for_status().json()["id"]
    until("parsed", lambda: api.get(f"/designs/{design}").json()["state"] == "ready")
    spec = {"design_id": design, "method": "search", "seconds": 150, "workers": 1}
    job = api.post("/jobs", json=spec).raise_for_status().json()["id"]

    def read() -> dict[str, Any]:
        answer: dict[str, Any] = api.get(f"/jobs/{job}").raise_for_status().json()
        return answer

    def better_than(cost: float) -> Callable[[], bool]:
        return lambda: (read()["best_costs"] or {"proxy_cost": 1e9})["proxy_cost"] < cost

    until("a start", lambda: read()["start_costs"] is not None)
    start = read()["start_costs"]["proxy_cost"]
    until("an improvement", better_than(start))

    bests = [read()["best_costs"]["proxy_cost"]]
    service.the_one("workers.run", job).kill()
    until("a second attempt", lambda: read()["attempt"] == 2 and read()["state"] == "running")
    bests.append(read()["best_costs"]["proxy_cost"])

    service.the_one("worker", "io,run").kill()
    until("the job goes on after its worker's end", lambda: read()["state"] == "running")
    bests.append(read()["best_costs"]["proxy_cost"])

    assert service.process is not None
    os.kill(service.process.pid, signal.SIGKILL)
    service.process.wait()
    api.close()
    api = service.start()
    bests.append(read()["best_costs"]["proxy_cost"])
    until("the end", lambda: read()["state"] in ("done", "failed", "cancelled"))
    ended = read()
    assert (ended["state"], ended["cause"]) == ("done", None)
    bests.append(ended["best_costs"]["proxy_cost"])
    assert bests == sorted(bests, reverse=True), "a best placement was lost on the way"
    placement = api.get(f"/placements/{ended['best_placement_id']}").json()
    assert placement["legal"]
    assert api.get(f"/placements/{placement['id']}/files/plc").status_code == 200
    assert service.process is not None
    service.process.terminate()
    assert service.process.wait(timeout=90) == 0
    until("no process is left", lambda: service.all_processes() == [])
