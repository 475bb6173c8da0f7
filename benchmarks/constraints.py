"""What constraints cost: legaliser, packing, judge and search with and without them.

    python benchmarks/constraints.py [--designs ibm01 ibm10] [--trials 200000] [--seed 0]

Lengths are shares of the canvas' shorter side. "halos": 0.2 % around every macro; "four sides": left 0.4 %, others
0.1 %, turning with the macro; "spacing": macros 0.4 % apart and 0.4 % off the boundary; "regions": every fifth macro in
the left 60 % or, by turns, the lower 60 % of the canvas; "all": the last three. Times are CPU seconds of one call,
compiled before. Needs the folder of benchmark designs (PLACEWRIGHT_BENCHMARKS). Prints a table and writes
benchmarks/results/constraints.json.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
# Run as a script, this file would hide packages that it measures.
sys.path[:] = [str(ROOT), *(entry for entry in sys.path if Path(entry or ".").resolve() != ROOT / "benchmarks")]


def rule_sets(design: Any) -> dict[str, dict[str, Any] | None]:
    """Constraints by name, as the objects of side files; None: without."""
    from netlists.model import NodeKind

    canvas = design.canvas
    w, h = canvas.width_um, canvas.height_um
    unit = 0.001 * min(w, h)
    hard = [design.netlist.node_name[node] for node in design.netlist.nodes_of(NodeKind.HARD_MACRO)]
    sides = [{"pattern": "*", "halo_um": [4 * unit, unit, unit, unit]}]
    regions = {"left": [[0, 0, 0.6 * w, h]], "low": [[0, 0, w, 0.6 * h]]}
    held = [{"name": name, "region": ("left", "low")[i % 2]} for i, name in enumerate(hard[::5])]
    spaced = {"macro_spacing_um": 4 * unit, "boundary_spacing_um": 4 * unit}
    return {
        "none": None,
        "halos": {"version": 1, "macros": [{"pattern": "*", "halo_um": 2 * unit}]},
        "four sides": {"version": 1, "macros": sides},
        "spacing": {"version": 1, **spaced},
        "regions": {"version": 1, "regions": regions, "macros": held},
        "all": {"version": 1, **spaced, "regions": regions, "macros": [*sides, *held]},
    }


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    begin = time.process_time()
    result = call()
    return result, time.process_time() - begin


def measure(design: Any, trials: int, seed: int) -> dict[str, Any]:
    from placement.legal import check, legalise, pack
    from placement.search import improve

    _, pack_s = timed(lambda: pack(design))
    legal, legalise_s = timed(lambda: legalise(design, design.start))
    report, check_s = timed(lambda: check(design, legal))
    found, search_s = timed(lambda: improve(design, legal, trials=trials, seed=seed))
    assert report.legal
    assert check(design, found.placement).legal
    return {
        "pack_s": pack_s,
        "legalise_s": legalise_s,
        "check_s": check_s,
        "trials_per_s": found.trials / search_s,
        "start_cost": found.start_cost.proxy_cost,
        "cost": found.cost.proxy_cost,
    }


def main() -> None:
    from benchmarks._about import about
    from netlists.load import load_design

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--designs", nargs="*", default=["ibm01", "ibm10"])
    parser.add_argument("--trials", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results" / "constraints.json")
    options = parser.parse_args()
    folder = Path(os.environ["PLACEWRIGHT_BENCHMARKS"]) / "circuit_training"
    print("| design | constraints | `pack` | `legalise` | `check` | trials a second | legalised | after the search |")
    print("|---|---|---|---|---|---|---|---|")
    rows = []
    for name in options.designs:
        files = [folder / name / "netlist.pb.txt.gz"]
        plain = load_design(files, folder / name / "initial.plc")
        measure(plain, 1000, 0)  # compiles, or reads the cache
        for title, rules in rule_sets(plain).items():
            design = load_design(files, folder / name / "initial.plc", constraints=rules)
            row = measure(design, options.trials, options.seed)
            rows.append({"design": name, "constraints": title, **row})
            print(
                f"| {name} | {title} | {row['pack_s']:.2f} s | {row['legalise_s']:.2f} s |"
                f" {1e3 * row['check_s']:.0f} ms | {row['trials_per_s']:,.0f} | {row['start_cost']:.4f} |"
                f" {row['cost']:.4f} |",
                flush=True,
            )
    found = about(options.seed) | {"rows": rows}
    options.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
