"""A whole service in processes of its own: uploads, kills of everything, restarts. Nothing is lost, nothing is left.

The run is the fake one (it ends as told), the parsing is real.
"""

from __future__ import annotations

import gzip
import importlib.util
import io
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from netlists.samples import write_sample

_spec = importlib.util.spec_from_file_location("service_parts", Path(__file__).with_name("service_parts.py"))
parts = importlib.util.module_from_spec(_spec)
sys.modules["service_parts"] = parts
_spec.loader.exec_module(parts)

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


def started(folder: Path) -> Iterator[parts.Service]:
    environment = {
        "PLACEWRIGHT_RUN_COMMAND": parts.fake_run(folder),
        "PLACEWRIGHT_RUN_SLOTS": "2",
        "FAKE_MODE": "wait,wait,done",
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    service = parts.Service(folder, environment)
    service.start()
    yield service
    service.stop()
    parts.wait_for(lambda: not service.processes(), "no process is left", timeout_s=20)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[parts.Service]:
    """A service for one test, which may kill any part of it."""
    yield from started(tmp_path)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[parts.Service]:
    """A service for the tests that leave it as it is."""
    yield from started(tmp_path_factory.mktemp("shared"))


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("sample")
    write_sample(folder, "small", 1)
    return sorted(folder.iterdir())


def upload(client: httpx.Client, *named: tuple[str, bytes]) -> dict:
    answer = client.post("/designs", files=[("files", item) for item in named])
    assert answer.status_code == 202, answer.text
    path = f"/designs/{answer.json()['id']}"
    parts.wait_for(lambda: client.get(path).json()["state"] != "parsing", "the design is read")
    return client.get(path).json()


def upload_sample(client: httpx.Client, sample: list[Path]) -> dict:
    design = upload(client, *[(path.name, path.read_bytes()) for path in sample])
    assert design["state"] == "ready", design["error"]
    return design


def start_job(client: httpx.Client, service: parts.Service, design: dict) -> str:
    job_id = client.post("/jobs", json={"design_id": design["id"], "seconds": 60}).json()["id"]
    parts.wait_for(lambda: is_running(client, job_id), "the run and its child run")
    return job_id


def is_running(client: httpx.Client, job_id: str) -> bool:
    return client.get(f"/jobs/{job_id}").json()["state"] == "running" and len(parts.processes_of_job(job_id)) >= 2


def state(client: httpx.Client, job_id: str) -> str:
    return client.get(f"/jobs/{job_id}").json()["state"]


def bomb() -> bytes:
    """300 MB of spaces in about 300 kB."""
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb") as file:
        for _ in range(300):
            file.write(b" " * (1 << 20))
    return packed.getvalue()


def test_designs_good_and_bad(shared: parts.Service, sample: list[Path]) -> None:
    with shared.client() as client:
        design = upload_sample(client, sample)
        assert design["counts"]["hard_macros"] == 20
        assert design["canvas"]["width_um"] > 0
        assert design["start_costs"]["proxy_cost"] > 0
        layout = client.get(f"/designs/{design['id']}/layout").json()
        assert (
            len(layout["name"])
            == len(layout["x_um"])
            == sum(design["counts"][kind] for kind in ("hard_macros", "soft_macros", "ports", "cells"))
        )
        bad = {
            "bomb.pb.txt.gz": (bomb(), "bomb.pb.txt.gz"),
            "empty.pb.txt": (b"", "empty"),
            "junk.pb.txt": (os.urandom(5000), "junk.pb.txt"),
            "cut.pb.txt.gz": (gzip.compress(b"node { name: 'x' }" * 999)[:-20], "cut.pb.txt.gz"),
            "design.def": (b"VERSION 5.8 ;", "design.def"),
        }
        for name, (content, words) in bad.items():
            refused = upload(client, (name, content))
            assert refused["state"] == "failed"
            assert words in refused["error"]
            assert "file-00" not in refused["error"]  # our own names are nobody's business
            folder = shared.data / "designs" / refused["id"]
            parts.wait_for(lambda folder=folder: not folder.exists(), "nothing of the upload is left")
        assert list((shared.data / "uploads").iterdir()) == []
        assert client.get("/healthz").json()["status"] == "ok"


def test_reading_does_not_wait_for_a_run_and_cancel_leaves_no_process(
    shared: parts.Service, sample: list[Path]
) -> None:
    with shared.client() as client:
        design = upload_sample(client, sample)
        jobs = [start_job(client, shared, design) for _ in range(2)]  # all slots of the queue
        upload_sample(client, sample)
        for job_id in jobs:
            assert state(client, job_id) == "running"
            client.delete(f"/jobs/{job_id}")
        for job_id in jobs:
            parts.wait_for(lambda job_id=job_id: state(client, job_id) == "cancelled", "the job is cancelled")
            parts.wait_for(lambda job_id=job_id: not parts.processes_of_job(job_id), "its processes are gone")
            assert client.get(f"/jobs/{job_id}").json()["best_placement_id"]


def test_kill_of_the_run(shared: parts.Service, sample: list[Path]) -> None:
    with shared.client() as client:
        job_id = start_job(client, shared, upload_sample(client, sample))
        os.killpg(shared.store().job(job_id).pgid, signal.SIGKILL)
        parts.wait_for(lambda: client.get(f"/jobs/{job_id}").json()["attempt"] == 2, "the job is started again")
        parts.wait_for(lambda: is_running(client, job_id), "it runs")
        assert len(client.get(f"/jobs/{job_id}/placements").json()["items"]) == 2
        os.killpg(shared.store().job(job_id).pgid, signal.SIGKILL)
        parts.wait_for(lambda: state(client, job_id) == "done", "the third start ends it")


def test_kill_of_the_queue_process_leaves_the_run_alone(service: parts.Service, sample: list[Path]) -> None:
    with service.client() as client:
        job_id = start_job(client, service, upload_sample(client, sample))
        before = service.store().job(job_id)
        (queue,) = service.processes("--queues run")
        os.kill(queue, signal.SIGKILL)
        parts.wait_for(
            lambda: queue not in service.processes("--queues run") and service.processes("--queues run"), "new"
        )
        after = service.store().job(job_id)
        assert (after.owner, after.attempt, after.state) == (before.owner, 1, "running")
        client.delete(f"/jobs/{job_id}")  # nobody watches the run, yet it hears of this
        parts.wait_for(lambda: state(client, job_id) == "cancelled", "the job is cancelled")
        parts.wait_for(lambda: not parts.processes_of_job(job_id), "its processes are gone")


def test_kill_of_the_worker(service: parts.Service, sample: list[Path]) -> None:
    with service.client() as client:
        job_id = start_job(client, service, upload_sample(client, sample))
        (worker,) = service.processes("worker --queues io,run")
        os.kill(worker, signal.SIGKILL)
        parts.wait_for(
            lambda: (
                worker not in service.processes("worker --queues io,run")
                and service.processes("worker --queues io,run")
            ),
            "another worker",
        )
        parts.wait_for(lambda: is_running(client, job_id), "the job runs (still or again)")
        assert client.get(f"/jobs/{job_id}").json()["best_placement_id"]


def test_stop_then_kill_of_the_service_and_restarts(service: parts.Service, sample: list[Path]) -> None:
    with service.client() as client:
        job_id = start_job(client, service, upload_sample(client, sample))
        best = client.get(f"/jobs/{job_id}").json()["best_placement_id"]
    service.stop()
    assert service.processes() == []
    assert parts.processes_of_job(job_id) == []
    job = service.store().job(job_id)
    assert (job.state, job.attempt) == ("queued", 0)  # being stopped is no failed attempt
    service.start()
    with service.client() as client:
        parts.wait_for(lambda: is_running(client, job_id), "the job goes on")
    service.process.kill()
    service.process.wait()
    parts.wait_for(lambda: not service.processes(), "the worker has gone with its service")
    assert parts.processes_of_job(job_id) == []
    service.start()
    with service.client() as client:
        parts.wait_for(lambda: is_running(client, job_id), "the job goes on again")
        assert best in [item["id"] for item in client.get(f"/jobs/{job_id}/placements").json()["items"]]


def test_two_services_on_one_folder(shared: parts.Service) -> None:
    import subprocess

    done = subprocess.run(
        [sys.executable, "-m", "workers.cli.main", "serve", "--port", "0", "--data", str(shared.data)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert "another service" in done.stderr


def test_port_in_use_and_open_binding_are_refused(shared: parts.Service, tmp_path: Path) -> None:
    import subprocess

    def serve(*words: str) -> subprocess.CompletedProcess:
        command = [sys.executable, "-m", "workers.cli.main", "serve", "--data", str(tmp_path / "other"), *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    taken = serve("--port", shared.address.rpartition(":")[2])
    assert taken.returncode == 2
    assert "in use" in taken.stderr
    beyond = serve("--host", "0.0.0.0", "--port", "0")
    assert beyond.returncode == 2
    assert "PLACEWRIGHT_TOKEN" in beyond.stderr
