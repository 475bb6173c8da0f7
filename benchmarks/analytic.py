"""What global placement by gradients reaches, and what the exact search adds to it.

    PLACEWRIGHT_BENCHMARKS=… python benchmarks/analytic.py [--designs ibm01,…] [--seeds 2] [--flow-seconds 60]

Per design: exact proxy cost of the legalised start; of global placement from the start and from scratch (best of
--seeds, after legalising and settling), with CPU seconds; and of the whole flow within --flow-seconds CPU seconds (0
leaves it out). Prints a table and writes each design's row, with its command, seed and commit, into
benchmarks/results/analytic.json; rows of other designs are kept.
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
RESULT = ROOT / "benchmarks" / "results" / "analytic.json"
IBM = tuple(f"ibm{number:02}" for number in (1, 2, 3, 4, 7, 8, 10, 11, 13))
DESIGNS = (*IBM, "ariane133_ng45", "ariane_ct")


def measure(folder: Path, seed: int, seeds: int, flow_s: float) -> dict[str, Any]:
    """All numbers of one design."""
    from netlists.load import load_design
    from placement.analytic import global_place, place_analytically
    from placement.cost import evaluate
    from placement.legal import check, legalise

    design = load_design([folder / "netlist.pb.txt.gz"], folder / "initial.plc")
    start = legalise(design, design.start)
    row: dict[str, Any] = {"design": folder.name, "start": evaluate(design, start).as_dict()}
    for name, from_start in (("from_start", True), ("from_scratch", False)):
        begin_s = time.process_time()
        found = global_place(design, seed=seed, seeds=seeds, from_start=from_start)
        assert all(check(design, candidate.placement).legal for candidate in found)
        row[name] = {
            **found[0].cost.as_dict(),
            "all_proxy_costs": [candidate.cost.proxy_cost for candidate in found],
            "cpu_s": time.process_time() - begin_s,
        }
    if flow_s > 0:
        result = place_analytically(design, start, seconds=flow_s, seed=seed, clock=time.process_time)
        assert check(design, result.placement).legal
        stages = [{"name": s.name, "cpu_s": s.seconds, "trials": s.trials, "gain": s.gain} for s in result.stages]
        row["flow"] = {**result.cost.as_dict(), "cpu_s": result.seconds, "stages": stages}
    return row


def main() -> None:
    from benchmarks._about import about

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--designs", default=",".join(DESIGNS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--flow-seconds", type=float, default=60.0)
    parser.add_argument("--out", type=Path, default=RESULT)
    options = parser.parse_args()
    benchmarks = Path(os.environ["PLACEWRIGHT_BENCHMARKS"]) / "circuit_training"

    head = about(options.seed)
    print(f"{'design':16}{'start':>9}{'from start':>12}{'s':>6}{'scratch':>9}{'s':>6}{'flow':>9}")
    for name in options.designs.split(","):
        row = head | measure(benchmarks / name, options.seed, options.seeds, options.flow_seconds)
        flow = f"{row['flow']['proxy_cost']:9.4f}" if "flow" in row else f"{'–':>9}"
        a, b = row["from_start"], row["from_scratch"]
        print(
            f"{name:16}{row['start']['proxy_cost']:9.4f}{a['proxy_cost']:12.4f}{a['cpu_s']:6.0f}"
            f"{b['proxy_cost']:9.4f}{b['cpu_s']:6.0f}{flow}",
            flush=True,
        )
        rows = json.loads(options.out.read_text())["designs"] if options.out.exists() else []
        rows = sorted([*(old for old in rows if old["design"] != name), row], key=lambda one: one["design"])
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps({"designs": rows}, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
