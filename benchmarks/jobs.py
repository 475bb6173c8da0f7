"""What a job makes of every real design: the product's own command, 60 seconds, as a user would run it.

    PLACEWRIGHT_BENCHMARKS=… python benchmarks/jobs.py [--seconds 60] [--method auto] [--workers 2] [--designs ibm01 …]

Runs `placewright place` for each design of circuit_training/ from its `initial.plc`; wall-clock seconds, start-up of
all processes included. Prints a table, after each design writes
benchmarks/results/jobs_<method>_<seconds>s.json, where a design measured anew replaces its row.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def place(design: Path, method: str, seconds: float, workers: int, seed: int) -> dict[str, Any]:
    """The report of one job. Raises CalledProcessError if the command fails."""
    with tempfile.TemporaryDirectory() as out:
        words = [sys.executable, "-m", "workers.cli.main", "place", str(design), "--json", "--out", out]
        words += ["--method", method, "--seconds", str(seconds), "--workers", str(workers), "--seed", str(seed)]
        done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    report: dict[str, Any] = json.loads(done.stdout)
    kept = ("proxy_cost", "wirelength_cost", "density_cost", "congestion_cost", "start_proxy_cost", "seconds", "legal")
    provenance = {key: report["provenance"].get(key) for key in ("start", "policy_version", "member", "stages")}
    return {"design": design.name, **{key: report[key] for key in kept}, "provenance": provenance}


def main() -> None:
    from benchmarks._about import about

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--designs", nargs="*")
    parser.add_argument("--method", default="auto")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    words = parser.parse_args()
    folder = Path(os.environ.get("PLACEWRIGHT_BENCHMARKS", "")) / "circuit_training"
    if not folder.is_dir():
        raise SystemExit("PLACEWRIGHT_BENCHMARKS does not name the folder of benchmark designs")
    names = words.designs or sorted(path.name for path in folder.iterdir())
    path = ROOT / "benchmarks" / "results" / f"jobs_{words.method}_{words.seconds:g}s.json"
    rows = {row["design"]: row for row in json.loads(path.read_text())["rows"]} if path.exists() else {}
    head = about(words.seed) | {"workers": words.workers}
    print("| design | legalised start | result | change | best entry from | load |")
    print("|---|---|---|---|---|---|")
    for name in names:
        row = place(folder / name, words.method, words.seconds, words.workers, words.seed)
        row |= {**head, "load_average": os.getloadavg()[0]}
        rows[name] = row
        path.write_text(json.dumps({"rows": [rows[key] for key in sorted(rows)]}, indent=1) + "\n")
        change = row["proxy_cost"] / row["start_proxy_cost"] - 1
        origin = row["provenance"]["start"]
        print(
            f"| {name} | {row['start_proxy_cost']:.4f} | {row['proxy_cost']:.4f} | {change:+.1%} | {origin} "
            f"| {row['load_average']:.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main()
