"""How the service bears load: start, memory, a large upload, many polling clients, event latency.

    python benchmarks/service.py [--upload-mb 500] [--clients 200] [--seconds 20] [--seed 0]

Starts a service of its own with the embedded default on a free port of 127.0.0.1, in a temporary folder, and talks to
nothing else. The polling clients are one process with plain sockets (keep-alive, one status poll a second each), so
that little of the two cores goes to them; a real job runs meanwhile. Bounded: each part ends by count or time.
Prints tables, writes benchmarks/results/service.json and docs/benchmarks-service.md. Linux only (/proc).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULT = ROOT / "benchmarks" / "results" / "service.json"
PAGE = ROOT / "docs" / "benchmarks-service.md"
TOKEN = "benchmark-token-0123456789abcdef"
MB = 1_000_000
TARGETS = {
    "api_rss_mb": 200,
    "upload_growth_mb": 100,
    "poll_p99_ms": 50,
    "event_latency_max_s": 1,
}


@dataclass(frozen=True)
class Running:
    address: str
    data: Path
    pid: int
    start_s: float


@contextmanager
def service(folder: Path) -> Iterator[Running]:
    """A service with its worker, until the block ends."""
    ready = folder / "ready.json"
    ready.unlink(missing_ok=True)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PLACEWRIGHT_")}
    command = [sys.executable, "-m", "workers.cli.main", "serve", "--port", "0", "--data", str(folder / "data")]
    begin = time.perf_counter()
    process = subprocess.Popen(
        [*command, "--ready-file", str(ready)],
        cwd=ROOT,
        env={**environment, "PLACEWRIGHT_TOKEN": TOKEN},
        stdout=subprocess.DEVNULL,
        stderr=(folder / "service.log").open("ab"),
        start_new_session=True,
    )
    try:
        while not ready.exists():
            if process.poll() is not None:
                raise SystemExit((folder / "service.log").read_text())
            time.sleep(0.01)
        address = json.loads(ready.read_text())["address"]
        get(address, "/healthz")
        yield Running(address, folder / "data", process.pid, time.perf_counter() - begin)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)


def client(address: str) -> Any:
    import httpx

    return httpx.Client(base_url=f"{address}/api/v1", headers={"Authorization": f"Bearer {TOKEN}"}, timeout=300)


def get(address: str, path: str) -> Any:
    with client(address) as api:
        return api.get(path).raise_for_status().json()


def rss_mb(pid: int) -> float:
    """Resident memory of a process."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) * 1024 / MB
    return 0.0


def processes(data: Path) -> dict[str, int]:
    """The service's processes by what they do."""
    found: dict[str, int] = {}
    kinds = {"serve": "API", "worker --queues": "worker (supervisor, sweeper)", "--queues io": "queue io"}
    kinds |= {"--queues run": "queue run"}
    for path in Path("/proc").iterdir():
        if path.name.isdigit():
            try:
                if f"PLACEWRIGHT_DATA={data}".encode() not in (path / "environ").read_bytes():
                    words = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                    if str(data) not in words or "serve" not in words:
                        continue
                words = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
            for text, kind in kinds.items():
                if text in words and kind not in found.values():
                    found[kind] = int(path.name)
    return found


def wait_for_worker(address: str) -> None:
    for _ in range(600):
        if get(address, "/healthz")["worker"] == "ok":
            return
        time.sleep(0.1)
    raise SystemExit("no worker after a minute")


def measure_upload(running: Running, megabytes: int) -> dict[str, float]:
    """Stream a file of this size up; how far does the API's memory rise above what it was?"""
    before = rss_mb(running.pid)
    highest, done = before, threading.Event()

    def watch() -> None:
        nonlocal highest
        while not done.wait(0.02):
            highest = max(highest, rss_mb(running.pid))

    line = b"this is no netlist, so that reading it ends at its first line\n"
    block = (line * (1 + MB // len(line)))[:MB]

    def body() -> Iterator[bytes]:
        yield b'--b\r\nContent-Disposition: form-data; name="files"; filename="large.pb.txt"\r\n\r\n'
        for _ in range(megabytes):
            yield block
        yield b"\r\n--b--\r\n"

    watcher = threading.Thread(target=watch)
    watcher.start()
    begin = time.perf_counter()
    with client(running.address) as api:
        answer = api.post("/designs", content=body(), headers={"Content-Type": "multipart/form-data; boundary=b"})
    took_s = time.perf_counter() - begin
    done.set()
    watcher.join()
    assert answer.status_code == 202, answer.text
    assert answer.json()["files"][0]["bytes"] == megabytes * MB
    return {
        "megabytes": megabytes,
        "seconds": took_s,
        "mb_per_s": megabytes / took_s,
        "api_rss_before_mb": before,
        "api_rss_highest_mb": highest,
        "growth_mb": highest - before,
    }


def start_job(running: Running, folder: Path, seconds: float, seed: int) -> str:
    """A search job on a small sample, running."""
    from netlists.samples import write_sample

    write_sample(folder / "sample", "small", seed)
    with client(running.address) as api:
        files = [("files", (path.name, path.read_bytes())) for path in sorted((folder / "sample").iterdir())]
        design = api.post("/designs", files=files).raise_for_status().json()
        while design["state"] == "parsing":
            time.sleep(0.2)
            design = api.get(f"/designs/{design['id']}").json()
        spec = {"design_id": design["id"], "method": "search", "seconds": seconds, "workers": 1, "seed": seed}
        job = api.post("/jobs", json=spec).raise_for_status().json()
        while job["state"] == "queued" or job["stage"] != "placing":
            time.sleep(0.2)
            job = api.get(f"/jobs/{job['id']}").json()
            if job["state"] in ("failed", "done"):
                raise SystemExit(f"the job is {job['state']}: {job['cause']}")
        return str(job["id"])


async def poll(address: str, path: str, clients: int, seconds: float, seed: int) -> list[float]:
    """Seconds that each poll took: `clients` connections, one poll a second each, spread evenly."""
    host, port = address.removeprefix("http://").split(":")
    request = f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode()
    took: list[float] = []
    rng = random.Random(seed)

    async def one() -> None:
        reader, writer = await asyncio.open_connection(host, int(port))
        await asyncio.sleep(rng.random())
        end = time.perf_counter() + seconds
        while (begin := time.perf_counter()) < end:
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            if not head.startswith(b"HTTP/1.1 200"):
                raise SystemExit(head.decode())
            length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length"))
            await reader.readexactly(int(length.split(b":")[1]))
            took.append(time.perf_counter() - begin)
            await asyncio.sleep(max(0.0, begin + 1 - time.perf_counter()))
        writer.close()

    await asyncio.gather(*(one() for _ in range(clients)))
    return took


def measure_events(running: Running, job_id: str, count: int, seed: int) -> list[float]:
    """Seconds from the moment an event is committed to its arrival at a listener."""
    from backend.core.config import load_settings
    from backend.core.db import Database
    from backend.jobs.store import JobStore

    settings = load_settings({"data": running.data})
    store = JobStore(Database(settings.database_url), settings.data, stale_after_s=60, attempt_limit=3)
    rng, sent, arrived = random.Random(seed), {}, {}

    def listen() -> None:
        with client(running.address) as api, api.stream("GET", f"/jobs/{job_id}/events") as answer:
            for line in answer.iter_lines():
                if line.startswith("data: ") and '"benchmark ' in line:
                    message = json.loads(line.removeprefix("data: "))["data"]["message"]
                    arrived[message] = time.perf_counter()
                    if len(arrived) == count:
                        return

    listener = threading.Thread(target=listen)
    listener.start()
    time.sleep(1)
    for number in range(count):
        time.sleep(rng.uniform(0.05, 0.4))
        store.add_event(job_id, "log", {"level": "info", "message": f"benchmark {number}", "role": "benchmark"})
        sent[f"benchmark {number}"] = time.perf_counter()
    listener.join(timeout=30)
    store.close()
    return [arrived[message] - sent[message] for message in sent]


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def measure(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    starts = []
    for number in range(options.starts):
        fresh = folder / f"start-{number}"
        fresh.mkdir()
        with service(fresh) as running:
            starts.append(running.start_s)
    with service(folder) as running:
        wait_for_worker(running.address)
        time.sleep(3)
        memory = {kind: rss_mb(pid) for kind, pid in sorted(processes(running.data).items())}
        upload = measure_upload(running, options.upload_mb)
        print(f"upload: {upload}", flush=True)
        job_id = start_job(running, folder, options.seconds + 60, options.seed)
        load_before = os.getloadavg()[0]
        took = asyncio.run(
            poll(running.address, f"/api/v1/jobs/{job_id}", options.clients, options.seconds, options.seed)
        )
        latency = measure_events(running, job_id, options.events, options.seed)
        with client(running.address) as api:
            state = api.get(f"/jobs/{job_id}").json()["state"]
            api.delete(f"/jobs/{job_id}")
        assert state == "running", f"the job was {state} before the measurements ended"
    return {
        "start_s": starts,
        "memory_mb": memory,
        "upload": upload,
        "polls": {
            "clients": options.clients,
            "count": len(took),
            "per_s": len(took) / options.seconds,
            "p50_ms": 1000 * percentile(took, 0.5),
            "p95_ms": 1000 * percentile(took, 0.95),
            "p99_ms": 1000 * percentile(took, 0.99),
            "max_ms": 1000 * max(took),
            "load_before": load_before,
        },
        "events": {
            "count": len(latency),
            "p50_s": percentile(latency, 0.5),
            "p99_s": percentile(latency, 0.99),
            "max_s": max(latency),
        },
    }


def page(about: dict[str, Any]) -> str:
    """The table for the docs."""
    found = about["found"]
    memory, upload, polls, events = (found[name] for name in ("memory_mb", "upload", "polls", "events"))

    def verdict(value: float, limit: float) -> str:
        return f"≤ {limit:g}" if value <= limit else f"≤ {limit:g}: **missed**"

    rows = [
        ("from start to first answer, s", f"{min(found['start_s']):.2f} (best of {len(found['start_s'])})", ""),
        *[
            (f"memory idle, {kind}, MB", f"{value:.0f}", verdict(value, TARGETS["api_rss_mb"]) if kind == "API" else "")
            for kind, value in memory.items()
        ],
        (
            f"upload of {upload['megabytes']} MB: growth of the API's memory, MB",
            f"{upload['growth_mb']:.0f}",
            verdict(upload["growth_mb"], TARGETS["upload_growth_mb"]),
        ),
        (f"upload of {upload['megabytes']} MB: MB/s", f"{upload['mb_per_s']:.0f}", ""),
        (
            f"{polls['clients']} clients poll once a second: p50 / p95 / p99, ms",
            f"{polls['p50_ms']:.1f} / {polls['p95_ms']:.1f} / {polls['p99_ms']:.1f}",
            verdict(polls["p99_ms"], TARGETS["poll_p99_ms"]),
        ),
        (
            "event stream: committed to received, p50 / max, s",
            f"{events['p50_s']:.2f} / {events['max_s']:.2f}",
            verdict(events["max_s"], TARGETS["event_latency_max_s"]),
        ),
    ]
    lines = [
        "# Benchmarks: service",
        "",
        f"`{about['command']}` · commit {about['commit']} · {about['machine']}",
        "",
        "| | measured | target |",
        "|---|---|---|",
        *[f"| {name} | {value} | {target} |" for name, value, target in rows],
        "",
        f"A search job ran on the same cores during the polls and events; load average before them: "
        f"{polls['load_before']:.1f} (above the number of cores, other work was waiting, too).",
        "Memory is resident set size; the processes share part of it.",
        *([about["note"]] if about["note"] else []),
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    from benchmarks._about import about

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--upload-mb", type=int, default=500)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--events", type=int, default=40)
    parser.add_argument("--starts", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--note", default="", help="A sentence on the circumstances, for the page")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = measure(options, Path(folder).resolve())
    document = about(options.seed) | {"note": options.note, "found": found}
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps(document, indent=2) + "\n")
    PAGE.write_text(page(document))
    print(PAGE.read_text())


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main()
