"""What policy lag does to learning, with V-trace and without: CartPole-v1 with actors 0, 10 and 100 versions behind.

    python benchmarks/policy_lag.py [--updates 600] [--seeds 3]

The same network, batches and steps; the uncorrected loss is A2C's, which takes old data for its own. Writes
benchmarks/results/policy_lag.json and draws docs/images/policy_lag.png: mean return of the episodes that ended in the
last 25 updates, over the seeds, and the range of these.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
RESULT = ROOT / "benchmarks" / "results" / "policy_lag.json"
PICTURE = ROOT / "docs" / "images" / "policy_lag.png"
LAGS = (0, 10, 100)
ALGORITHMS = {"V-trace": "impala", "uncorrected": "a2c"}
EVERY = 25  # updates a point of the curve


def curve(algorithm: str, lag: int, updates: int, seed: int) -> list[float]:
    """Mean return in every EVERY updates."""
    from workers.agents.agent import AgentConfig
    from workers.agents.algorithms import make_agent
    from workers.agents.gym_tasks import GymVector
    from workers.agents.losses import LossConfig
    from workers.agents.networks import MlpNet
    from workers.menger.in_process import train

    config = AgentConfig(batch_size=16, learning_rate=2e-3, loss=LossConfig(entropy_weight=0.002))
    agent = make_agent(algorithm, MlpNet(actions=2), config, 0)
    env = GymVector("CartPole-v1", config.batch_size, 1000 * seed, reward_scale=0.1)
    ends: list[int] = []

    def count(infos: list[dict[str, Any]]) -> bool:
        ends.append(len(infos))
        return False

    _, infos = train(agent, env, updates=updates, seed=seed, lag=lag, should_stop=count)
    returns = [info["return"] for info in infos]
    bounds = [0, *ends[EVERY - 1 :: EVERY]]
    points: list[float] = []
    for begin, end in itertools.pairwise(bounds):
        # No episode may have ended in between once they are long; then the last one known counts.
        points.append(float(np.mean(returns[begin:end])) if end > begin else points[-1])
    return points


def draw(curves: dict[str, dict[str, list[list[float]]]]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, len(LAGS), figsize=(10, 3.3), sharey=True, layout="constrained")
    for axes, lag in zip(panels, LAGS, strict=True):
        for name in ALGORITHMS:
            points = np.array(curves[name][str(lag)])
            updates = EVERY * np.arange(1, points.shape[1] + 1)
            axes.plot(updates, points.mean(axis=0), label=name)
            axes.fill_between(updates, points.min(axis=0), points.max(axis=0), alpha=0.2)
        axes.set(title=f"actors {lag} versions behind", xlabel="updates")
        axes.grid(alpha=0.3)
    panels[0].set_ylabel("mean return (500 at most)")
    panels[0].legend()
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(PICTURE, dpi=110)


def main() -> None:
    from benchmarks._about import about

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--updates", type=int, default=600)
    parser.add_argument("--seeds", type=int, default=3)
    words = parser.parse_args()
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
    curves: dict[str, dict[str, list[list[float]]]] = {name: {} for name in ALGORITHMS}
    for lag in LAGS:
        for name, algorithm in ALGORITHMS.items():
            curves[name][str(lag)] = [curve(algorithm, lag, words.updates, seed) for seed in range(words.seeds)]
            last = [points[-1] for points in curves[name][str(lag)]]
            print(
                f"{name:12s} lag {lag:3d}: mean return at the end {np.mean(last):6.1f} {[round(x) for x in last]}",
                flush=True,
            )
    document = {
        **about(None),
        "updates_a_point": EVERY,
        "mean_returns": curves,
    }
    RESULT.write_text(json.dumps(document) + "\n")
    draw(curves)


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main()
