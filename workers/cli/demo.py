"""`placewright demo`: the product's main job, for real, through the service's own door (REST).

Starts a service with the embedded default in OUT/data, uploads a generated sample, runs a job, shows its progress,
downloads the result and its picture into OUT, and goes on serving (unless --exit).
"""

from __future__ import annotations

import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import click
import httpx
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from netlists.errors import PlacewrightError
from workers.cli.options import Seconds

DEFAULT_PORT = 8000
START_TIMEOUT_S = 120
PARSE_TIMEOUT_S = 300
FINISH_TIMEOUT_S = 600  # beyond the job's own budget, for machines that are very busy
POLL_S = 0.5
FINAL = ("done", "failed", "cancelled")

console = Console(highlight=False)


@click.command(help="Serve, upload a generated sample, place it, show the result, keep serving.")
@click.option("--size", type=click.Choice(["small", "medium", "large"]), default="medium", show_default=True)
@click.option("--seconds", type=Seconds(1), default=60, show_default=True, help="The job's budget.")
@click.option("--method", default="auto", show_default=True)
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), default=0, show_default=True)
@click.option("--port", type=click.IntRange(0, 65535), help="[default: 8000, or any free one]")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=Path("demo-output"), show_default=True)
@click.option("--exit", "leave", is_flag=True, help="End when the result is there, serve no longer.")
def demo(size: str, seconds: float, method: str, seed: int, port: int | None, out: Path, leave: bool) -> None:
    from netlists.samples import Size, write_sample

    out.mkdir(parents=True, exist_ok=True)
    console.print(f"Writing the {size} sample …")
    write_sample(out / "sample", cast(Size, size), seed)
    token = secrets.token_urlsafe(24)
    with service(out / "data", _free_port() if port is None else port, token) as address:
        with httpx.Client(
            base_url=f"{address}/api/v1", headers={"Authorization": f"Bearer {token}"}, timeout=60
        ) as api:
            design = upload(api, sorted((out / "sample").iterdir()), f"{size} sample")
            job = run_job(api, {"design_id": design["id"], "method": method, "seconds": seconds, "seed": seed})
            download(api, job["best_placement_id"], out)
        show_result(job, out)
        page = f"{address}/jobs/{job['id']}#token={token}"
        if leave:
            return
        console.print("\nServing until Ctrl-C. The page of this job:")
        click.echo(page)
        signal.sigwait({signal.SIGINT, signal.SIGTERM})


def _free_port() -> int:
    with socket.socket() as probe:
        return DEFAULT_PORT if probe.connect_ex(("127.0.0.1", DEFAULT_PORT)) != 0 else 0


@contextmanager
def service(data: Path, port: int, token: str) -> Iterator[str]:
    """A service of its own on 127.0.0.1, stopped at the end. Gives its address, e.g. http://127.0.0.1:8000."""
    data.mkdir(parents=True, exist_ok=True)
    ready = data / "ready.json"
    ready.unlink(missing_ok=True)
    log = data / "service.log"
    words = [sys.executable, "-m", "workers.cli.main", "serve", "--port", str(port), "--data", str(data)]
    with log.open("ab") as output:
        process = subprocess.Popen(
            [*words, "--ready-file", str(ready)],
            env={**os.environ, "PLACEWRIGHT_TOKEN": token},
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C reaches this process first, which then stops the service in order
        )
    try:
        yield _address(process, ready, log)
    finally:
        process.terminate()
        try:
            process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()


def _address(process: subprocess.Popen[bytes], ready: Path, log: Path) -> str:
    import json

    end_s = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < end_s:
        if process.poll() is not None:
            raise PlacewrightError(f"the service ended at once (code {process.returncode}): {log.read_text()[-2000:]}")
        if ready.exists():
            return str(json.loads(ready.read_text())["address"])
        time.sleep(0.1)
    raise PlacewrightError(f"the service was not ready after {START_TIMEOUT_S} s; its log: {log}")


def upload(api: httpx.Client, files: list[Path], name: str) -> dict[str, Any]:
    """Upload files as one design and wait until they are read. Returns the design."""
    console.print("Uploading it …")
    parts = [("files", (path.name, path.open("rb"), "application/octet-stream")) for path in files]
    design = _ok(api.post("/designs", files=parts, data={"name": name}))
    end_s = time.monotonic() + PARSE_TIMEOUT_S
    while design["state"] == "parsing":
        if time.monotonic() > end_s:
            raise PlacewrightError(f"the sample was not read after {PARSE_TIMEOUT_S} s: is the worker running?")
        time.sleep(POLL_S)
        design = _ok(api.get(f"/designs/{design['id']}"))
    if design["state"] != "ready":
        raise PlacewrightError(f"the sample could not be read: {design['error']}")
    counts = design["counts"]
    console.print(
        f"Read: {counts['hard_macros']} hard macros, {counts['soft_macros']} soft macros, "
        f"{counts['ports']} ports, {counts['nets']} nets"
    )
    return design


def run_job(api: httpx.Client, spec: dict[str, Any]) -> dict[str, Any]:
    """Start a job and show its progress until it ends. Returns it; raises if it is not done."""
    job = _ok(api.post("/jobs", json=spec))
    columns = (
        TextColumn("{task.fields[state]:<10}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[cost]}"),
    )
    end_s = time.monotonic() + spec["seconds"] + FINISH_TIMEOUT_S
    with Progress(*columns, console=console) as bar:
        task = bar.add_task("job", total=1.0, state=job["state"], cost="")
        while job["state"] not in FINAL:
            if time.monotonic() > end_s:
                raise PlacewrightError(f"the job is still {job['state']} long after its budget")
            time.sleep(POLL_S)
            job = _ok(api.get(f"/jobs/{job['id']}"))
            best, start = job["best_costs"], job["start_costs"]
            cost = f"proxy cost {start['proxy_cost']:.4f} → {best['proxy_cost']:.4f}" if best and start else ""
            bar.update(task, completed=job["progress"], state=job["stage"] or job["state"], cost=cost)
    if job["state"] != "done":
        raise PlacewrightError(f"the job {job['state']}: {job['cause']}")
    return job


def download(api: httpx.Client, placement_id: str, out: Path) -> None:
    """The best placement in every format it comes in."""
    placement = _ok(api.get(f"/placements/{placement_id}"))
    for kind in placement["formats"]:
        name = "placement.pb.txt.gz" if kind == "pb" else f"placement.{kind}"
        with api.stream("GET", f"/placements/{placement_id}/files/{kind}") as response:
            response.raise_for_status()
            with (out / name).open("wb") as file:
                for chunk in response.iter_bytes():
                    file.write(chunk)


def show_result(job: dict[str, Any], out: Path) -> None:
    """Start against result, legality, and where the files are."""
    table = Table(title="Result: legal, checked from the written file", title_justify="left")
    for heading in ("cost", "legalised start", "result", "change"):
        table.add_column(heading, justify="left" if heading == "cost" else "right")
    for name in ("wirelength_cost", "density_cost", "congestion_cost", "proxy_cost"):
        start, best = job["start_costs"][name], job["best_costs"][name]
        table.add_row(
            name.replace("_", " "), f"{start:.4f}", f"{best:.4f}", f"{best - start:+.4f} ({best / start - 1:+.1%})"
        )
    console.print(table)
    console.print(f"Files: {', '.join(sorted(str(path) for path in out.glob('placement.*')))}")


def _ok(response: httpx.Response) -> dict[str, Any]:
    if response.is_error:
        problem = response.json() if "json" in response.headers.get("content-type", "") else {}
        raise PlacewrightError(
            f"the service answered {response.status_code}: {problem.get('detail', response.text[:500])}"
        )
    answer: dict[str, Any] = response.json()
    return answer
