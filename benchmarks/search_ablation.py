"""What each idea of the search gains: the same number of trials without it.

    PLACEWRIGHT_BENCHMARKS=… python benchmarks/search_ablation.py [--designs ibm01 …] [--trials 600000] [--seeds 0 1 2]
        [--starts legal global] [--only NAME …]

Trials, not seconds, so that a run can be repeated exactly and other work on the machine does not matter. Starts: each
design's `initial.plc`, legalised; and what global placement makes of it in `--global-seconds` CPU seconds, which is how
jobs run. Such starts are kept in `--cache`, a folder outside the repository. Prints proxy costs, mean ± standard
deviation over the seeds, and writes benchmarks/results/search_ablation.json.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from statistics import mean, stdev
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
# Run as a script, a file of this folder would hide the package that is measured.
sys.path[:] = [str(ROOT), *(entry for entry in sys.path if Path(entry or ".").resolve() != ROOT / "benchmarks")]
RESULT = ROOT / "benchmarks" / "results" / "search_ablation.json"


def variants() -> dict[str, Any]:
    """Name -> stages."""
    from placement.search import loop
    from placement.search.improve import STAGES

    def mix(**shares: float) -> tuple[Any, ...]:
        """With these shares of some kinds of move; what they lose goes to steps."""
        new = list(STAGES[0].mix)
        for kind, share in shares.items():
            index = getattr(loop, kind)
            new[loop.STEP] += new[index] - share
            new[index] = share
        return tuple(replace(stage, mix=tuple(new)) for stage in STAGES)

    def cooling(**fields: Any) -> tuple[Any, ...]:
        return (replace(STAGES[0], **fields), *STAGES[1:])

    first, last = STAGES[0].temperature
    return {
        "as it is": STAGES,
        "no moves to nets": mix(TO_NET=0.0),
        "no moves anywhere": mix(ANYWHERE=0.0),
        "no swaps": mix(SWAP=0.0),
        "swaps 15 %": mix(SWAP=0.15),
        "no flips (but the last pass)": mix(FLIP=0.0),
        "no moves to the median": mix(MEDIAN=0.0),
        "no moves off routes": mix(OFF_ROUTE=0.0),
        "from 1e-4, not measured": cooling(temperature=(1e-4, 1e-7), measured=False),
        "from 3e-5, not measured": cooling(temperature=(3e-5, 1e-7), measured=False),
        "start three times cooler": cooling(temperature=(first / 3, last)),
        "start three times hotter": cooling(temperature=(first * 3, last)),
        "no temperature: descent": cooling(temperature=(0.0, 0.0)),
        "longest step fixed at 0.3": cooling(reach=(0.3, 0.3)),
        "two cycles": (
            replace(STAGES[0], until=0.5),
            replace(STAGES[0], until=STAGES[0].until),
            *STAGES[1:],
        ),
    }


def global_start(design: Any, legal: Any, seconds: float, file: Path) -> Any:
    """The best of the rounds of global placement that `place_analytically` makes, remembered in a file."""
    import numpy as np

    from placement.analytic import global_place
    from placement.cost import evaluate

    if not file.exists():
        best, begin, number = legal, time.process_time(), 0
        while (left := begin + seconds - time.process_time()) > 0:
            found = global_place(
                design,
                seed=number,
                seeds=1,
                seconds=left,
                from_start=number % 2 == 0,
                start=best if number % 2 == 0 else legal,
                clock=time.process_time,
            )
            best = min((best, found[0].placement), key=lambda one: evaluate(design, one).proxy_cost)
            number += 1
        file.parent.mkdir(parents=True, exist_ok=True)
        np.savez(file, x=best.x_um, y=best.y_um, orientation=best.orientation)
    kept = np.load(file)
    return design.start.moved(x_um=kept["x"], y_um=kept["y"], orientation=kept["orientation"])


def main() -> None:
    from benchmarks._about import about

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--designs", nargs="*", default=["ibm01", "ibm10", "ariane133_ng45", "ariane_ct"])
    parser.add_argument("--trials", type=int, default=600_000)
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2])
    parser.add_argument("--starts", nargs="*", choices=("legal", "global"), default=["legal", "global"])
    parser.add_argument("--global-seconds", type=float, default=21.0)
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "placewright-starts")
    parser.add_argument("--only", nargs="*", help="names of rows")
    parser.add_argument("--out", type=Path, default=RESULT)
    options = parser.parse_args()
    benchmarks = os.environ.get("PLACEWRIGHT_BENCHMARKS")
    if not benchmarks:
        sys.exit("PLACEWRIGHT_BENCHMARKS does not name the folder of benchmark designs")

    from netlists.load import load_design
    from placement.cost import evaluate
    from placement.legal import legalise
    from placement.search.driver import search

    cases: dict[str, tuple[Any, Any]] = {}
    for name in options.designs:
        folder = Path(benchmarks) / "circuit_training" / name
        design = load_design([folder / "netlist.pb.txt.gz"], folder / "initial.plc")
        legal = legalise(design, design.start)
        if "legal" in options.starts:
            cases[f"{name} legal"] = design, legal
        if "global" in options.starts:
            file = options.cache / f"{name}-{options.global_seconds:g}s.npz"
            cases[f"{name} global"] = design, global_start(design, legal, options.global_seconds, file)

    print(f"{'':30}" + "".join(f"{name:>23}" for name in cases))
    starts = {name: evaluate(design, start).proxy_cost for name, (design, start) in cases.items()}
    print(f"{'start':30}" + "".join(f"{cost:23.4f}" for cost in starts.values()), flush=True)
    rows: dict[str, dict[str, Any]] = {}
    for row, stages in variants().items():
        if options.only and row not in options.only:
            continue
        rows[row] = {}
        print(f"{row:30}", end="", flush=True)
        for name, (design, start) in cases.items():
            begin = time.process_time()
            costs = [
                search(
                    design,
                    start,
                    stages,
                    seconds=None,
                    trials=options.trials,
                    seed=seed,
                    should_stop=None,
                    on_better=None,
                ).cost.proxy_cost
                for seed in options.seeds
            ]
            spread = stdev(costs) if len(costs) > 1 else 0.0
            cpu_s = (time.process_time() - begin) / len(costs)
            rows[row][name] = {"mean": mean(costs), "spread": spread, "costs": costs, "cpu_s": cpu_s}
            print(f"{mean(costs):14.4f} ± {spread:.4f}", end="", flush=True)
        print(flush=True)
    options.out.write_text(
        json.dumps(
            {
                **about(None),
                "seeds": options.seeds,
                "trials": options.trials,
                "start": starts,
                "proxy_cost": rows,
            },
            indent=1,
        )
        + "\n"
    )


if __name__ == "__main__":
    main()
