"""What the search makes of real designs, and how fast the costs are.

    PLACEWRIGHT_BENCHMARKS=… python benchmarks/placement.py [--designs ibm01 …] [--seconds 60] [--seed 0] [--method …]

From each design's `initial.plc`, legalised; one thread each; budgets and times are CPU seconds of this process, so that
other work on the machine does not matter. Full evaluation and trial (a random step of a random macro, exact, dropped
again) are measured apart, at the start. Prints a table and writes benchmarks/results/placement_<seconds>s.json.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
# Run as a script, this file would hide the package that it measures.
sys.path[:] = [str(ROOT), *(entry for entry in sys.path if Path(entry or ".").resolve() != ROOT / "benchmarks")]
DESIGNS = (
    "ibm01", "ibm02", "ibm03", "ibm04", "ibm07", "ibm08", "ibm10", "ibm11", "ibm13", "ariane133_ng45", "ariane_ct",
)  # fmt: skip
# CPU seconds 60, one thread, from the same starts: a public optimiser of the exact cost (benchmark folder's README).
YARDSTICK = dict(
    zip(DESIGNS, (0.856, 1.051, 1.006, 1.059, 1.065, 1.096, 1.153, 0.966, 1.049, 0.6452, 0.878), strict=True)
)


def evaluation_ms(design: Any, placement: Any) -> float:
    """Best of 20 full evaluations, in ms."""
    from placement.cost import evaluate

    times = []
    for _ in range(20):
        begin = time.process_time()
        evaluate(design, placement)
        times.append(time.process_time() - begin)
    return 1e3 * min(times)


def trial_us(design: Any, placement: Any, trials: int = 20_000) -> float:
    """CPU time of one exact trial that is dropped, in µs: best of 3 means."""
    from placement.cost.incremental import new_state
    from placement.cost.problem import problem_of
    from placement.search.board import new_board
    from placement.search.loop import time_trials

    p = problem_of(design)
    s = new_state(p, placement)
    board = new_board(design, p, s, 0)
    time_trials(p, s, board, 10)
    times = []
    for _ in range(3):
        begin = time.process_time()
        time_trials(p, s, board, trials)
        times.append((time.process_time() - begin) / trials)
    return 1e6 * min(times)


def measure(folder: Path, seconds: float, seed: int, method: str) -> dict[str, Any]:
    """One row of the table."""
    from netlists.load import load_design
    from placement.cost import evaluate
    from placement.legal import check, legalise
    from placement.search import anneal, improve

    design = load_design([folder / "netlist.pb.txt.gz"], folder / "initial.plc")
    begin = time.process_time()
    start = legalise(design, design.start)
    legalise_s = time.process_time() - begin
    search = {"improve": improve, "anneal": anneal}[method]
    search(design, start, trials=10)  # compiles
    result = search(design, start, seconds=seconds, seed=seed, clock=time.process_time)
    assert check(design, result.placement).legal
    return {
        "design": folder.name,
        "initial": evaluate(design, design.start).proxy_cost,
        "legalised": result.start_cost.proxy_cost,
        "legalise_s": legalise_s,
        "result": result.cost.as_dict(),
        "seconds": result.seconds,
        "trials": result.trials,
        "stages": [{"name": s.name, "seconds": s.seconds, "trials": s.trials, "gain": s.gain} for s in result.stages],
        "evaluation_ms": evaluation_ms(design, start),
        "trial_us": trial_us(design, start),
        "yardstick_60s": YARDSTICK.get(folder.name),
    }


def commit() -> str:
    return subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--designs", nargs="*", default=DESIGNS)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--method", choices=("improve", "anneal"), default="improve")
    parser.add_argument("--jobs", type=int, default=1, help="designs measured at the same time")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    folder = os.environ.get("PLACEWRIGHT_BENCHMARKS")
    if not folder:
        sys.exit("PLACEWRIGHT_BENCHMARKS does not name the folder of benchmark designs")
    out = options.out or ROOT / "benchmarks" / "results" / f"placement_{options.seconds:g}s.json"
    head = f"{'design':16}{'initial':>9}{'legal':>9}{'result':>9}{'wirel.':>9}{'density':>9}{'congest.':>9}"
    print(f"{head}{'yardst.':>9}{'trials/s':>10}{'eval ms':>9}{'trial µs':>9}")
    rows: list[dict[str, Any]] = []
    folders = [Path(folder) / "circuit_training" / name for name in options.designs]
    pool = ProcessPoolExecutor(options.jobs)
    for row in pool.map(partial(measure, seconds=options.seconds, seed=options.seed, method=options.method), folders):
        name = row["design"]
        rows.append(row)
        costs = "".join(
            f"{row['result'][k]:9.4f}" for k in ("proxy_cost", "wirelength_cost", "density_cost", "congestion_cost")
        )
        print(
            f"{name:16}{row['initial']:9.4f}{row['legalised']:9.4f}{costs}{row['yardstick_60s'] or np.nan:9.4f}"
            f"{row['trials'] / max(row['seconds'], 1e-9):10.0f}{row['evaluation_ms']:9.2f}{row['trial_us']:9.1f}",
            flush=True,
        )
    ibm = [row["result"]["proxy_cost"] for row in rows if row["design"].startswith("ibm")]
    if ibm:
        print(f"mean of {len(ibm)} ibm designs: {mean(ibm):.4f}")
    out.write_text(
        json.dumps(
            {
                "command": " ".join(["python", "benchmarks/placement.py", *sys.argv[1:]]),
                "commit": commit(),
                "seed": options.seed,
                "method": options.method,
                "machine": platform.processor() or platform.machine(),
                "python": platform.python_version(),
                "mean_ibm": mean(ibm) if ibm else None,
                "rows": rows,
            },
            indent=1,
        )
        + "\n"
    )


if __name__ == "__main__":
    main()
