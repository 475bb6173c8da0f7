"""How far and how fast the legaliser moves macros: 50, 200 and 800 of them, at 40, 60 and 80 % utilisation.

    python benchmarks/legalise.py [--macros 50 200 800] [--shares 0.4 0.6 0.8] [--seed 0]

Generated designs (netlists.samples), the canvas scaled so that hard macros take the share. Starts: "random", all macros
anywhere; "global", global placement by gradients from scratch, before anything is legalised. Times are CPU seconds of
one call, compiled before. Displacement is the mean straight distance, as a share of the canvas' longer side. Prints
the table of docs/legality.md and writes benchmarks/results/legalise.json.
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
STEPS = 200  # of the main stage of global placement


def make(macros: int, share: float, seed: int) -> Any:
    """A sample of so many hard macros that cover `share` of its canvas."""
    from netlists.model import NodeKind
    from netlists.samples import SIZES, make_sample

    size = replace(SIZES["large"], macros=macros, clusters=max(20, macros), ports=64)
    design = make_sample(size, seed)
    n = design.netlist
    hard = n.node_kind == NodeKind.HARD_MACRO
    area = float((n.width_um * n.height_um)[hard].sum())
    scale = (area / share / (design.canvas.width_um * design.canvas.height_um)) ** 0.5
    canvas = replace(design.canvas, width_um=scale * design.canvas.width_um, height_um=scale * design.canvas.height_um)
    start = design.start.moved(x_um=scale * design.start.x_um, y_um=scale * design.start.y_um)
    return replace(design, canvas=canvas, start=start)


def random_start(design: Any, seed: int) -> Any:
    random, canvas, start = np.random.default_rng(seed), design.canvas, design.start
    x, y = (random.uniform(0, length, len(start.x_um)) for length in (canvas.width_um, canvas.height_um))
    return start.moved(x_um=np.where(start.fixed, start.x_um, x), y_um=np.where(start.fixed, start.y_um, y))


def global_start(design: Any, seed: int) -> Any:
    from placement.analytic.engine import Engine
    from placement.analytic.schedule import PLACE, SPREAD

    engine = Engine(design, design.start.orientation)
    z = np.stack([engine.centred(seed)])
    for stage in (SPREAD, PLACE):
        z = engine.run(stage, z, engine.free, steps=round(STEPS * stage.steps / PLACE.steps))
    return engine.placement(z[0], design.start, engine.free)


def measure(design: Any, start: Any) -> dict[str, Any]:
    from netlists.model import NodeKind
    from placement.legal import check, legalise, strict_overlaps

    hard = design.netlist.node_kind == NodeKind.HARD_MACRO
    before = check(design, start)
    begin = time.process_time()
    legal = legalise(design, start)
    seconds = time.process_time() - begin
    assert check(design, legal).legal
    moved = np.hypot(legal.x_um - start.x_um, legal.y_um - start.y_um)[hard]
    longer = max(design.canvas.width_um, design.canvas.height_um)
    return {
        "overlaps_before": before.overlap_count,
        "seconds": seconds,
        "mean_displacement": float(moved.mean()) / longer,
        "largest_displacement": float(moved.max()) / longer,
        "strict_overlaps": [strict_overlaps(design, legal, kind).total for kind in (np.float64, np.float32)],
    }


def main() -> None:
    from benchmarks._about import about
    from placement.legal import legalise, pack

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--macros", nargs="*", type=int, default=[50, 200, 800])
    parser.add_argument("--shares", nargs="*", type=float, default=[0.4, 0.6, 0.8])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results" / "legalise.json")
    options = parser.parse_args()
    warm = make(20, 0.6, 0)
    legalise(warm, random_start(warm, 0))
    print("| macros | utilisation | start | overlaps before | moved by, mean | at most | CPU s | `pack` alone, CPU s |")
    print("|---|---|---|---|---|---|---|---|")
    rows = []
    for macros in options.macros:
        for share in options.shares:
            design = make(macros, share, options.seed)
            begin = time.process_time()
            pack(design)
            pack_s = time.process_time() - begin
            for name, start in (
                ("random", random_start(design, options.seed)),
                ("global", global_start(design, options.seed)),
            ):
                row = measure(design, start)
                rows.append({"macros": macros, "utilisation": share, "start": name, "pack_s": pack_s, **row})
                print(
                    f"| {macros} | {100 * share:.0f} % | {name} | {row['overlaps_before']} |"
                    f" {100 * row['mean_displacement']:.2f} % | {100 * row['largest_displacement']:.1f} % |"
                    f" {row['seconds']:.2f} | {pack_s:.2f} |",
                    flush=True,
                )
    found = about(options.seed) | {"rows": rows}
    options.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
