"""What each idea of the search gains: the same number of trials without it.

    PLACEWRIGHT_BENCHMARKS=… python benchmarks/search_ablation.py [--designs ibm01 …] [--trials 1000000] [--seeds 0 1]

Trials, not seconds, so that a run can be repeated exactly and other work on the machine does not matter. From each
design's `initial.plc`, legalised. Prints a table of proxy costs (mean over the seeds) and writes
benchmarks/results/search_ablation.json.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
# Run as a script, a file of this folder would hide the package that is measured.
sys.path[:] = [str(ROOT), *(entry for entry in sys.path if Path(entry or ".").resolve() != ROOT / "benchmarks")]
RESULT = ROOT / "benchmarks" / "results" / "search_ablation.json"


def variants() -> dict[str, Any]:
    """Name -> stages. Kinds of move: step, to net, anywhere, swap, flip."""
    from placement.search.improve import STAGES

    def mix(*shares: float) -> tuple[Any, ...]:
        return tuple(replace(stage, mix=shares) for stage in STAGES)

    step, to_net, anywhere, swap, flip = STAGES[0].mix
    cooling = STAGES[0]
    return {
        "as it is": STAGES,
        "no moves to nets": mix(step + to_net, 0, anywhere, swap, flip),
        "no moves anywhere": mix(step + anywhere, to_net, 0, swap, flip),
        "no swaps": mix(step + swap, to_net, anywhere, 0, flip),
        "no flips (but the last pass)": mix(step + flip, to_net, anywhere, swap, 0),
        "no temperature: descent": tuple(replace(stage, temperature=(0.0, 0.0)) for stage in STAGES),
        "start ten times cooler": (replace(cooling, temperature=(1e-5, 1e-7)), *STAGES[1:]),
        "start three times hotter": (replace(cooling, temperature=(3e-4, 1e-7)), *STAGES[1:]),
        "end ten times hotter": (replace(cooling, temperature=(1e-4, 1e-6)), *STAGES[1:]),
        "longest step fixed at 0.3": (replace(cooling, reach=(0.3, 0.3)), *STAGES[1:]),
        "longest step from 0.1": (replace(cooling, reach=(0.1, 0.03)), *STAGES[1:]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--designs", nargs="*", default=["ibm01", "ibm07", "ariane133_ng45"])
    parser.add_argument("--trials", type=int, default=1_000_000)
    parser.add_argument("--seeds", type=int, nargs="*", default=[0])
    options = parser.parse_args()
    benchmarks = os.environ.get("PLACEWRIGHT_BENCHMARKS")
    if not benchmarks:
        sys.exit("PLACEWRIGHT_BENCHMARKS does not name the folder of benchmark designs")

    from netlists.load import load_design
    from placement.legal import legalise
    from placement.search.driver import search

    folders = [Path(benchmarks) / "circuit_training" / name for name in options.designs]
    designs = [load_design([folder / "netlist.pb.txt.gz"], folder / "initial.plc") for folder in folders]
    starts = [legalise(design, design.start) for design in designs]
    print(f"{'':32}" + "".join(f"{name:>16}" for name in options.designs))
    rows: dict[str, list[float]] = {}
    for name, stages in variants().items():
        rows[name] = [
            mean(
                search(
                    design, start, stages, seconds=None, trials=options.trials, seed=seed, should_stop=None,
                    on_better=None,
                ).cost.proxy_cost
                for seed in options.seeds
            )
            for design, start in zip(designs, starts, strict=True)
        ]  # fmt: skip
        print(f"{name:32}" + "".join(f"{cost:16.4f}" for cost in rows[name]), flush=True)
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    RESULT.write_text(
        json.dumps(
            {
                "command": " ".join(["python", "benchmarks/search_ablation.py", *sys.argv[1:]]),
                "commit": commit.stdout.strip(),
                "seeds": options.seeds,
                "trials": options.trials,
                "designs": options.designs,
                "proxy_cost": rows,
            },
            indent=1,
        )
        + "\n"
    )


if __name__ == "__main__":
    main()
