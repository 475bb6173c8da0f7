"""What members of a portfolio gain by rounds and by exchanging results, at equal CPU seconds.

    PLACEWRIGHT_BENCHMARKS=… placewright bench portfolio [--designs ibm02 …] [--members 2] [--seconds 20] [--seed 0]

Each member makes one round of global placement (every second one from scratch); from these results every way of
searching begins. Members are taken one after another in one process, CPU seconds each, so other work on the machine
does not matter. Prints a table and writes benchmarks/results/portfolio.json after each design; other rows are kept.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
# placement.py beside this script would hide the package.
sys.path[:] = [str(ROOT), *(entry for entry in sys.path if Path(entry or ".").resolve() != ROOT / "benchmarks")]
RESULT = ROOT / "benchmarks" / "results" / "portfolio.json"
# name -> share of the seconds of each round, whether members exchange results before each
WAYS: dict[str, tuple[tuple[float, ...], bool]] = {
    "one search, each for itself": ((1.0,), False),
    "one search, from the better": ((1.0,), True),
    "a long and a short one, exchange": ((0.8, 0.2), True),
    "three, each for itself": ((1 / 3,) * 3, False),
    "three, exchange": ((1 / 3,) * 3, True),
}


def measure(folder: Path, members: int, seconds: float, seed: int) -> dict[str, Any]:
    """Costs of every member after every round, by way."""
    from netlists.load import load_design
    from placement.analytic import global_rounds
    from placement.analytic.flow import round_steps
    from placement.legal import legalise
    from placement.search import improve
    from placement.search.portfolio import heir

    design = load_design([folder / "netlist.pb.txt.gz"], folder / "initial.plc")
    start = legalise(design, design.start)
    improve(design, start, trials=10)  # compiles
    first = []
    for member in range(members):
        scratch = member % 2 == 1
        steps = round_steps(not scratch)
        first.append(global_rounds(design, start, steps=steps, seed=seed + 1009 * member, scratch_first=scratch))
    row: dict[str, Any] = {"design": folder.name, "global": [found.cost.proxy_cost for found in first], "ways": {}}
    for name, (shares, exchange) in WAYS.items():
        held, costs = [found.placement for found in first], [found.cost.proxy_cost for found in first]
        rounds = []
        for number, share in enumerate(shares):
            sources = [heir(member, costs) if exchange else member for member in range(members)]
            found = [
                improve(
                    design,
                    held[source],
                    seconds=seconds * share,
                    seed=seed + 1009 * member + 100_003 * number,
                    clock=time.process_time,
                )
                for member, source in enumerate(sources)
            ]
            held, costs = [one.placement for one in found], [one.cost.proxy_cost for one in found]
            rounds.append(costs)
        row["ways"][name] = rounds
    return row


def main() -> None:
    from benchmarks._about import about

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--designs", nargs="*", default=["ibm02", "ibm10", "ariane_ct"])
    parser.add_argument("--members", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=20.0, help="CPU seconds of search of each member")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    root = os.environ.get("PLACEWRIGHT_BENCHMARKS")
    if not root:
        raise SystemExit("PLACEWRIGHT_BENCHMARKS must name the folder of benchmark designs")
    head = about(options.seed)
    for name in options.designs:
        row = measure(Path(root) / "circuit_training" / name, options.members, options.seconds, options.seed) | head
        print(f"{name}: global {', '.join(f'{cost:.4f}' for cost in row['global'])}")
        for way, rounds in row["ways"].items():
            print(f"  {way:40}{min(rounds[-1]):9.4f}", flush=True)
        rows = json.loads(RESULT.read_text())["rows"] if RESULT.exists() else []
        rows = sorted([*(old for old in rows if old["design"] != name), row], key=lambda one: one["design"])
        RESULT.write_text(json.dumps({"rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
