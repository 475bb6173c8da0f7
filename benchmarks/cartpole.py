"""Every algorithm on CartPole-v1, until the mean return of the last 100 episodes is 475 (solved), in one process.

    python benchmarks/cartpole.py [NAME …] [--seed 0] [--cpu-seconds 150]

One thread. Names: impala, ppo, a2c, a3c, r2d2, and central (impala with one inference for two actors). Writes
benchmarks/results/cartpole.json: steps, episodes and CPU seconds of each, with command, seed, commit and load.
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

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
RESULT = ROOT / "benchmarks" / "results" / "cartpole.json"
SOLVED = 475.0  # CartPole-v1's own threshold
NAMES = ("impala", "ppo", "a2c", "a3c", "r2d2", "central")
MOST_UPDATES = 10**6  # the CPU seconds end a run before


def run(name: str, seed: int, cpu_seconds: float) -> dict[str, Any]:
    """One algorithm from scratch."""
    from workers.agents.agent import AgentConfig
    from workers.agents.algorithms import make_agent
    from workers.agents.gym_tasks import GymVector
    from workers.agents.losses import LossConfig
    from workers.agents.networks import MlpNet
    from workers.agents.recurrent_q import QConfig
    from workers.menger import in_process

    begin_s = time.process_time()
    config: AgentConfig
    lstm_width, loss = 0, LossConfig(entropy_weight=0.002)
    poles: Callable[..., GymVector] = lambda count, at=0: GymVector("CartPole-v1", count, seed + at, reward_scale=0.1)
    if name == "ppo":
        loss = LossConfig(entropy_weight=0.002, lambda_=0.95, normalise_advantage=True)
        config = AgentConfig(batch_size=16, unroll_length=32, learning_rate=1e-3, epochs=4, minibatches=4, loss=loss)
    elif name == "r2d2":
        lstm_width = 32
        config = QConfig(
            batch_size=32,
            unroll_length=24,
            burn_in=8,
            learning_rate=1e-3,
            discount=0.99,
            target_every=200,
            max_gradient_norm=10.0,
            epsilon=0.03,  # every environment counts in the mean, the curious ones too
        )
    else:
        config = AgentConfig(batch_size=8 if name == "a3c" else 16, learning_rate=2e-3, loss=loss)
    agent = make_agent(
        "impala" if name == "central" else name, MlpNet(actions=2, lstm_width=lstm_width), config, lstm_width
    )

    def mean(infos: list[dict[str, Any]]) -> float:
        return float(np.mean([info["return"] for info in infos[-100:]])) if len(infos) >= 100 else 0.0

    words: dict[str, Any] = {
        "updates": MOST_UPDATES,
        "seed": seed,
        "should_stop": lambda infos: mean(infos) >= SOLVED or time.process_time() - begin_s > cpu_seconds,
    }
    if name == "a3c":
        learner, infos = in_process.train_from_gradients(agent, [poles(8, 1000 * k) for k in range(2)], **words)
    elif name == "r2d2":
        learner, infos = in_process.train_from_replay(agent, poles(8), capacity=4000, updates_per_unroll=4, **words)
    elif name == "central":
        learner, infos = in_process.train_centrally(agent, [poles(8, 1000 * k) for k in range(2)], **words)
    else:
        learner, infos = in_process.train(agent, poles(config.batch_size), **words)
    return {
        "solved": mean(infos) >= SOLVED,
        "mean_return_last_100": mean(infos),
        "episodes": len(infos),
        "environment_steps": int(sum(info["return"] for info in infos)),  # a step's reward is 1
        "updates": int(learner.state.step),
        "cpu_s": round(time.process_time() - begin_s, 1),
    }


def main() -> None:
    from benchmarks._about import about

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cpu-seconds", type=float, default=150.0, help="of each, at most")
    words = parser.parse_args()
    if unknown := set(words.names) - set(NAMES):
        parser.error(f"unknown {', '.join(sorted(unknown))}; allowed are {', '.join(NAMES)}")
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
    results = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    for name in words.names or NAMES:
        load = os.getloadavg()[0]
        found = run(name, words.seed, words.cpu_seconds)
        print(name, found, flush=True)
        results[name] = {
            **found,
            **about(words.seed),
            "load_before": round(load, 1),
        }
        RESULT.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main()
