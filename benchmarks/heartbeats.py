"""How many heartbeats of roles a database bears: registered roles that all report at a fixed rate, from some processes.

    python benchmarks/heartbeats.py [--url postgresql+psycopg://…] [--roles 1000] [--per-s 1] [--seconds 20]

Without `--url` an SQLite file in a temporary folder. Each process has a few threads that send the heartbeats of its
share of the roles, evenly over the second, with the statistics of an actor. Afterwards the roles are read, all
and those that serve. Prints one line and writes benchmarks/results/heartbeats_KIND.json: the rate that was
reached, the latency, and the CPU seconds of the clients for a thousand heartbeats. Of PostgreSQL the tables must not
exist yet in the schema that the URL names (`?options=-csearch_path%3DNAME`).
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
THREADS = 4  # of one process
SERVING = 20  # roles with an address: shards, caches, learner
STATS = {
    "episodes": 100,
    "episodes_per_s": 3.1,
    "steps": 25600,
    "steps_per_s": 806.0,
    "model_version": 410,
    "model_age_s": 0.4,
    "model_source": "10.0.0.7:40123",
    "bytes_in": 61341696,
    "bytes_out": 93323264,
    "episode_cost_mean": 0.6779,
    "rss_mb": 496.0,
}


def cpu_s(usage: resource.struct_rusage) -> float:
    return usage.ru_utime + usage.ru_stime


def send(url: str, data: str, role_ids: list[str], per_s: float, seconds: float, answers: Any) -> None:
    """One process: heartbeats of these roles, each `per_s` times a second, for `seconds`."""
    from backend.core.db import Database
    from backend.jobs.store import JobStore

    store = JobStore(Database(url), Path(data), stale_after_s=60, attempt_limit=3)
    took: list[float] = []
    refused = 0
    store.roles("")  # connects
    begin, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF)

    def beat(mine: list[str], shift: float) -> None:
        nonlocal refused
        pause = 1 / (per_s * len(mine))
        number = 0
        while (due := begin + shift + number * pause) < begin + seconds:
            time.sleep(max(0.0, due - time.perf_counter()))
            sent = time.perf_counter()
            refused += not store.role_heartbeat(mine[number % len(mine)], "running", STATS)
            took.append(time.perf_counter() - sent)
            number += 1

    shares = [role_ids[k::THREADS] for k in range(THREADS)]
    threads = [threading.Thread(target=beat, args=(share, k / 100)) for k, share in enumerate(shares) if share]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    spent = resource.getrusage(resource.RUSAGE_SELF)
    answers.put((took, refused, time.perf_counter() - begin, cpu_s(spent) - cpu_s(before)))
    store.close()


def measure(url: str, folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    from backend.core.db import Database
    from backend.core.ids import new_id
    from backend.core.migrate import migrate
    from backend.core.tables import DesignRow, JobRow
    from backend.jobs.store import JobStore

    migrate(url)
    store = JobStore(Database(url), folder, stale_after_s=60, attempt_limit=3)
    job_id, design_id = new_id(), new_id()

    def add(session: Any) -> None:
        now = store.database.now(session)
        common = {"created_at": now, "enqueued_at": now, "enqueued_count": 1}
        session.add(DesignRow(id=design_id, name="d", state="ready", files=[], facts={}, **common))
        session.flush()
        counts = {"seconds": 60.0, "seed": 0, "workers": 1, "progress": 0.0, "attempt": 0, "last_event": 0}
        session.add(JobRow(id=job_id, design_id=design_id, method="rl", state="queued", **counts, **common))

    store.database.write(add)
    assert store.claim(job_id, "benchmark", "here", 1)
    ids = [
        store.register_role(job_id, "actor", "main", n, f"10.0.0.1:{n + 1}" if n < SERVING else None, n + 1, "here")
        for n in range(options.roles)
    ]
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    children = [
        context.Process(
            target=send, args=(url, str(folder), ids[k :: options.processes], options.per_s, options.seconds, answers)
        )
        for k in range(options.processes)
    ]
    for child in children:
        child.start()
    found = [answers.get() for _ in children]
    for child in children:
        child.join()
    begin = time.perf_counter()
    store.roles(job_id, serving=True)
    serving_ms = 1000 * (time.perf_counter() - begin)
    begin = time.perf_counter()
    assert len(store.roles(job_id)) == options.roles
    all_ms = 1000 * (time.perf_counter() - begin)
    store.close()
    took = sorted(latency for latencies, *_ in found for latency in latencies)
    return {
        "asked_per_s": options.roles * options.per_s,
        "reached_per_s": sum(len(latencies) / spent_s for latencies, _, spent_s, _ in found),
        "refused": sum(refused for _, refused, *_ in found),
        "p50_ms": 1000 * took[len(took) // 2],
        "p99_ms": 1000 * took[int(0.99 * (len(took) - 1))],
        "client_cpu_s_per_1000": 1000 * sum(cpu for *_, cpu in found) / len(took),
        "read_serving_ms": serving_ms,
        "read_all_ms": all_ms,
    }


def main() -> None:
    from benchmarks._about import about

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", default="")
    parser.add_argument("--roles", type=int, default=1000)
    parser.add_argument("--per-s", type=float, default=1.0)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=20)
    options = parser.parse_args()
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        url = options.url or f"sqlite:///{folder}/heartbeats.db"
        found = measure(url, Path(folder), options)
    kind = "postgresql" if options.url else "sqlite"
    document = about(None) | {
        "command": f"placewright bench heartbeats {'--url … ' if options.url else ''}--roles {options.roles} "
        f"--per-s {options.per_s:g} --processes {options.processes} --seconds {options.seconds:g}",
        "load_before": round(load, 1),
        "found": found,
    }
    (RESULTS / f"heartbeats_{kind}.json").write_text(json.dumps(document, indent=2) + "\n")
    print(json.dumps(document))


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main()
