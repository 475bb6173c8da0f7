"""How long standard cells take to become soft macros, in how much memory, and what the clusters cost.

    PLACEWRIGHT_BENCHMARKS=… placewright bench clustering [--designs ariane_ct ibm01 …] [--seed 0]

The LEF/DEF design and the flat Bookshelf designs of the benchmarks, each in a process of its own: read, clustered, the
clusters written, all files read back. Prints a table, writes benchmarks/results/clustering.json.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:] = [str(ROOT), *(entry for entry in sys.path if Path(entry or ".").resolve() != ROOT / "benchmarks")]
RESULT = ROOT / "benchmarks" / "results" / "clustering.json"
DESIGNS = {"ariane_ct": "lefdef/ariane_ct", "ariane133_ng45": "flat_protobuf/ariane133_ng45.pb.txt.gz"} | {
    f"ibm{number:02}": f"bookshelf/ibm{number:02}" for number in (1, 2, 3, 4, 7, 8, 10, 11, 13)
}


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(source: Path) -> dict[str, Any]:
    """CPU seconds of reading, clustering and writing, and of reading the clusters again, with the peaks of memory."""
    from netlists.clustering import cluster
    from netlists.clustering.files import write_clustered
    from netlists.load import load_design
    from placement.cost import evaluate

    def took_s() -> float:
        nonlocal begin_s
        before_s, begin_s = begin_s, time.process_time()
        return round(begin_s - before_s, 2)

    begin_s = time.process_time()
    flat = load_design([source])
    row: dict[str, Any] = {"cells": flat.netlist.counts()["cells"], "nets": flat.netlist.counts()["nets"]}
    row |= {"read_cpu_s": took_s(), "read_peak_mb": round(peak_mb())}
    clustered = cluster(flat).design
    row |= {"cluster_cpu_s": took_s(), "cluster_peak_mb": round(peak_mb())}
    row |= {
        "soft_macros": clustered.netlist.counts()["soft_macros"],
        "clustered_nets": clustered.netlist.counts()["nets"],
    }
    with tempfile.TemporaryDirectory() as folder:
        files = write_clustered(Path(folder), clustered)
        row["write_cpu_s"] = took_s()
        back = load_design(files)
        row["read_back_cpu_s"] = took_s()
    if back.has_start:
        costs = evaluate(back, back.start)
        row["start"] = {name: round(value, 4) for name, value in costs.as_dict().items() if name.endswith("_cost")}
    return row


def main() -> None:
    from benchmarks._about import about

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--designs", nargs="*", choices=list(DESIGNS), default=list(DESIGNS), metavar="DESIGN")
    parser.add_argument("--seed", type=int, default=0, help="clustering is deterministic: only noted")
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)  # the process of one design
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.one)))
        return
    root = os.environ.get("PLACEWRIGHT_BENCHMARKS")
    if not root:
        raise SystemExit("PLACEWRIGHT_BENCHMARKS must name the folder of benchmark designs")
    rows = json.loads(RESULT.read_text())["rows"] if RESULT.exists() else {}
    print(f"{'design':16}{'cells':>9}{'nets':>9}{'soft':>6}{'read s':>8}{'cluster s':>11}{'write s':>9}{'peak MB':>9}")
    for name in options.designs:
        words = [sys.executable, __file__, "--one", str(Path(root) / DESIGNS[name])]
        row = json.loads(subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout)
        print(
            f"{name:16}{row['cells']:9,}{row['nets']:9,}{row['soft_macros']:6,}{row['read_cpu_s']:8.1f}"
            f"{row['cluster_cpu_s']:11.1f}{row['write_cpu_s']:9.1f}{row['cluster_peak_mb']:9,}",
            flush=True,
        )
        rows[name] = row | about(options.seed)
        RESULT.write_text(json.dumps({"rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
