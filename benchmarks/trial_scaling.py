"""Does the cost of an exact trial grow with the netlist? The large sample at 1, 4 and 16 times its size.

    python benchmarks/trial_scaling.py [--times 1 4 16] [--trials 20000] [--seed 0]

Same pins a macro, same grid (50 x 50). A trial is a random step of up to 0.3 of the canvas of a random macro, dropped
again. Hard and soft macros are timed apart; the hard ones also with only 100 of them moving, so that all they reach
stays in the cache, and with the search for what they would overlap, which ends most trials.
CPU µs, best of 5 means. Prints the table of docs/placement-engine.md, writes benchmarks/results/trial_scaling.json.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
# Run as a script, this file would hide packages that it measures.
sys.path[:] = [str(ROOT), *(entry for entry in sys.path if Path(entry or ".").resolve() != ROOT / "benchmarks")]
GRID = 50
FEW = 100  # macros whose pins, nets and what these reach stay in the processor's cache


def microseconds(p: Any, state: Any, board: Any, trials: int) -> float:
    from placement.search.loop import time_trials

    time_trials(p, state, board, 200)
    times = []
    for _ in range(5):
        begin = time.process_time()
        time_trials(p, state, board, trials)
        times.append((time.process_time() - begin) / trials)
    return 1e6 * min(times)


def measure(factor: int, trials: int, seed: int) -> dict[str, Any]:
    from netlists.samples import SIZES, make_sample
    from placement.cost.incremental import new_state
    from placement.cost.problem import problem_of
    from placement.search.board import new_board

    size = SIZES["large"]
    size = replace(size, macros=factor * size.macros, clusters=factor * size.clusters, ports=factor * size.ports)
    design = make_sample(size, seed)
    design = replace(design, canvas=replace(design.canvas, columns=GRID, rows=GRID))
    p = problem_of(design)
    state = new_state(p, design.start)
    board = new_board(design, p, state, seed)
    hard, soft = board.movable_hard, np.setdiff1d(board.movable, board.movable_hard)
    anywhere = np.full_like(board.slot, -1)  # no node is looked at as a hard macro: no search for overlaps
    few = np.random.default_rng(seed).permutation(hard)[:FEW]
    degree = np.diff(p.node_net_start)
    return {
        "times": factor,
        "nodes": len(p.has_area),
        "nets": len(p.net_weight),
        "hard_macros": len(hard),
        "nets_of_a_hard_macro": float(degree[hard].mean()),
        "nets_of_a_soft_macro": float(degree[soft].mean()),
        "hard_us": microseconds(p, state, board._replace(movable=hard, slot=anywhere), trials),
        "soft_us": microseconds(p, state, board._replace(movable=soft, slot=anywhere), trials),
        "few_hard_us": microseconds(p, state, board._replace(movable=few, slot=anywhere), trials),
        "hard_with_overlaps_us": microseconds(p, state, board._replace(movable=hard), trials),
    }


def main() -> None:
    from benchmarks._about import about

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", nargs="*", type=int, default=[1, 4, 16])
    parser.add_argument("--trials", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results" / "trial_scaling.json")
    options = parser.parse_args()
    print(
        "| sample | nodes | nets | nets of a hard / soft macro | hard | one of 100 hard | soft | overlaps of a hard |"
    )
    print("|---|---|---|---|---|---|---|---|")
    rows = []
    for factor in options.times:
        row = measure(factor, options.trials, options.seed)
        rows.append(row)
        times = (f"{row[name]:.1f}" for name in ("hard_us", "few_hard_us", "soft_us", "hard_with_overlaps_us"))
        print(
            f"| {factor} x large | {row['nodes']:,} | {row['nets']:,} | {row['nets_of_a_hard_macro']:.1f} /"
            f" {row['nets_of_a_soft_macro']:.1f} | {' | '.join(times)} |",
            flush=True,
        )
    found = about(options.seed) | {"rows": rows}
    options.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
