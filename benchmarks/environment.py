"""How fast the placement environment is, without any network.

    PLACEWRIGHT_BENCHMARKS=… python benchmarks/environment.py [--count 8] [--episodes 16] [--seed 0]

Random legal actions on real designs, one thread. CPU seconds: steps with their observations; the end of an episode
(soft macros, exact cost, reward) apart; both together. Choosing the random actions is not counted. Prints a table and
writes benchmarks/results/environment.json.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
RESULT = ROOT / "benchmarks" / "results" / "environment.json"
DESIGNS = ("ariane133_ng45", "ariane_ct", "ibm01", "ibm10")


def measure(folder: Path, count: int, episodes: int, seed: int) -> dict[str, Any]:
    """Steps `count` environments until `episodes` have ended."""
    from netlists.load import load_design
    from placement.cost import evaluate
    from placement.env import VectorEnv
    from placement.legal import check

    design = load_design([folder / "netlist.pb.txt.gz"], folder / "initial.plc")
    vector = VectorEnv(design, count=count, seed=seed)
    random = np.random.default_rng(seed)

    def actions(mask: np.ndarray) -> np.ndarray:
        return np.where(mask, random.random(mask.shape), -1.0).argmax(axis=1)

    vector.step(actions(vector.reset().mask))  # compiles
    vector.finisher.finish(vector.states.centre[0], vector.macro_count)
    finish, finish_s = vector.finisher.finish, 0.0

    def timed_finish(*arguments: Any) -> Any:
        nonlocal finish_s
        begin = time.process_time()
        outcome = finish(*arguments)
        finish_s += time.process_time() - begin
        return outcome

    vector.finisher.finish = timed_finish  # type: ignore[method-assign]
    observation, steps, all_s = vector.reset(), 0, 0.0
    infos: list[dict[str, Any]] = []
    while len(infos) < episodes:
        chosen = actions(observation.mask)
        begin = time.process_time()
        observation, _, _, ended = vector.step(chosen)
        all_s += time.process_time() - begin
        steps += count
        infos += ended
    last = design.start.moved(x_um=infos[-1]["x_um"], y_um=infos[-1]["y_um"], orientation=infos[-1]["orientation"])
    begin = time.process_time()
    for _ in range(10):
        vector.finisher.soft.place(last)
    soft_s = (time.process_time() - begin) / 10
    begin = time.process_time()
    for _ in range(10):
        evaluate(design, last)
    cost_s = (time.process_time() - begin) / 10
    return {
        "macros": vector.macro_count,
        "side": vector.side,
        "steps_per_cpu_s": steps / (all_s - finish_s),
        "steps_per_cpu_s_with_ends": steps / all_s,
        "end_ms": 1e3 * finish_s / len(infos),
        "soft_ms": 1e3 * soft_s,
        "cost_ms": 1e3 * cost_s,
        "mean_random_proxy_cost": float(np.mean([info["proxy_cost"] for info in infos])),
        "dead_end_share": sum(info["infeasible"] > 0 for info in infos) / len(infos),
        "all_legal": check(design, last).legal,
    }


def main() -> None:
    from benchmarks._about import about

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=8, help="environments side by side")
    parser.add_argument("--episodes", type=int, default=16)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    root = os.environ.get("PLACEWRIGHT_BENCHMARKS")
    if not root:
        sys.exit("PLACEWRIGHT_BENCHMARKS must name the folder of benchmark designs")
    rows = {
        name: measure(Path(root) / "circuit_training" / name, options.count, options.episodes, options.seed)
        for name in DESIGNS
    }
    columns = ("steps_per_cpu_s", "steps_per_cpu_s_with_ends", "end_ms", "soft_ms", "cost_ms", "mean_random_proxy_cost")
    print(f"{'design':16}" + "".join(f"{c:>27}" for c in ("macros", *columns, "dead_end_share")))
    for name, row in rows.items():
        values = "".join(f"{row[c]:27,.2f}" for c in columns)
        print(f"{name:16}{row['macros']:27}{values}{row['dead_end_share']:27.0%}")
    RESULT.parent.mkdir(exist_ok=True)
    document = about(options.seed) | {"designs": rows}
    RESULT.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main()
