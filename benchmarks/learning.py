"""How well and how fast the policy learns: training on a real design, and what each part costs.

    PLACEWRIGHT_BENCHMARKS=… python benchmarks/learning.py [placement|values|parts] [--seconds 600] [--seed 0]

`placement` trains with all roles as processes, exactly as `placewright train` does, compares with the random and the
greedy policy, and draws docs/images/learning_ariane133.png. `parts` measures CPU seconds of acting and updating.
`values` trains in one process, on-policy, with the value in plain units and in running ones (PopArt).
Without a word: all. Results go to benchmarks/results/learning.json, each part with its command, seed, commit and the
machine's load. CartPole: cartpole.py.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
RESULT = ROOT / "benchmarks" / "results" / "learning.json"
CURVE = ROOT / "docs" / "images" / "learning_ariane133.png"
DESIGN = "ariane133_ng45"


def design_folder() -> Path:
    return Path(os.environ["PLACEWRIGHT_BENCHMARKS"]) / "circuit_training" / DESIGN


def placement(seconds: float, seed: int) -> dict[str, Any]:
    """Training of one design by all roles, from process start to end."""
    from netlists.load import load_design
    from placement.env import MacroEnv, greedy_episode, random_episode

    folder = design_folder()
    env = MacroEnv(load_design([folder / "netlist.pb.txt.gz"], folder / "initial.plc"))
    greedy = greedy_episode(env)[1]["proxy_cost"]
    random = [random_episode(env, k)[1]["proxy_cost"] for k in range(64)]
    with tempfile.TemporaryDirectory() as out:
        words = ["train", str(folder), "--seconds", str(seconds), "--seed", str(seed), "--out", out, "--json"]
        subprocess.run([sys.executable, "-m", "workers.cli.main", *words], check=True, cwd=ROOT)
        curve = json.loads((Path(out) / "curve.json").read_text())
    draw(curve, float(np.mean(random)), greedy)
    learned = [point for point in curve if point.get("episode_cost_mean") is not None]
    second_half = [point for point in curve if point["time_s"] > seconds / 2]

    def mean(name: str) -> float:
        return float(np.mean([point[name] for point in second_half if point.get(name) is not None]))

    last = learned[-1]
    return {
        "design": DESIGN,
        "seconds": seconds,
        "first_episode_after_s": learned[0]["time_s"],
        "random_policy_mean_64": float(np.mean(random)),
        "greedy_policy": greedy,
        "first_64_episodes_mean": last["episode_cost_first"],
        "last_64_episodes_mean": last["episode_cost_mean"],
        "best_episode": last["episode_cost_best"],
        "episodes": last["episodes"],
        "learner_steps": int(last["policy_version"]) - 1,
        "second_half": {
            name: mean(name) for name in ("episodes_per_s", "steps_per_s", "learner_steps_per_s", "policy_lag")
        },
        "rss_mb": {name: role["rss_mb"] for name, role in last["roles"].items()},
        "curve": [
            {name: round(value, 5) for name, value in point.items() if isinstance(value, int | float)}
            for point in curve[:: max(1, len(curve) // 150)]
        ],
    }


def draw(curve: list[dict[str, Any]], random: float, greedy: float) -> None:
    """Cost over time, with the two policies that do not learn."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    points = [
        (p["time_s"], p["episode_cost_mean"], p["episode_cost_best"]) for p in curve if p.get("episode_cost_mean")
    ]
    time_s, mean, best = np.array(points).T
    figure, axes = pyplot.subplots(figsize=(7, 4), layout="constrained")
    axes.plot(time_s, mean, label="mean of the last 64 episodes")
    axes.plot(time_s, best, label="best episode so far", linewidth=1)
    axes.axhline(random, color="grey", linestyle=":", label="random policy, mean of 64")
    axes.axhline(greedy, color="grey", linestyle="--", label="greedy wirelength policy")
    axes.set(xlabel="seconds since start", ylabel="proxy cost", title=f"{DESIGN}: learning on 2 cores")
    axes.legend()
    axes.grid(alpha=0.3)
    CURVE.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(CURVE, dpi=110)


VALUE_SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {"popart_rate": 0.0},
    "popart 0.01": {"popart_rate": 0.01},
}
VALUE_UPDATES = 125


def values(seed: int) -> dict[str, Any]:
    """On-policy training in one process, 8 environments, with each of VALUE_SETTINGS."""
    from netlists.load import load_design
    from placement.env import VectorEnv
    from workers.menger.config import Task, TrainConfig
    from workers.menger.in_process import train
    from workers.menger.rewards import ScaledEnv, measure

    folder = design_folder()
    design = load_design([folder / "netlist.pb.txt.gz"], folder / "initial.plc")
    found: dict[str, Any] = {"design": DESIGN, "updates": VALUE_UPDATES}
    for name, settings in VALUE_SETTINGS.items():
        config = TrainConfig(seed=seed, **settings)
        task = Task.of(design.canvas, config)
        plain = VectorEnv(design, config.env, count=config.batch_size)
        rows: list[dict[str, float]] = []
        begin_s = time.process_time()
        _, infos = train(
            task.agent(design),
            ScaledEnv(plain, measure(plain)),
            updates=VALUE_UPDATES,
            seed=seed,
            prepare=task.prepare,
            on_update=rows.append,
        )
        costs = [info["proxy_cost"] for info in infos]
        # Half a squared error (linear beyond 1 spread), brought back to the units of the returns.
        loss = np.array([row["value_loss"] * row.get("value_spread", 1.0) ** 2 for row in rows])
        found[name] = {
            "first_32_episodes": float(np.mean(costs[:32])),
            "best_mean_of_32": float(np.convolve(costs, np.full(32, 1 / 32), "valid").min()),
            "last_32_episodes": float(np.mean(costs[-32:])),
            "value_loss_mean_of_25_updates": [round(float(x), 3) for x in loss.reshape(-1, 25).mean(axis=1)],
            "value_loss_largest": float(loss.max()),
            "loss_as_minimised_largest": max(row["value_loss"] for row in rows),
            "value_spread_at_the_end": rows[-1].get("value_spread", 1.0),
            "entropy_at_the_end": rows[-1]["entropy"],
            "cpu_s": round(time.process_time() - begin_s, 1),
        }
    return found


def parts() -> dict[str, Any]:
    """CPU milliseconds of one transition in each part, on one thread, after compilation."""
    import jax

    from netlists.load import load_design
    from placement.env import VectorEnv
    from workers.agents.networks import parameter_count
    from workers.agents.types import compact
    from workers.menger.actor import Actor
    from workers.menger.codec import stack
    from workers.menger.config import Task, TrainConfig
    from workers.menger.learner import Learner

    folder = design_folder()
    design = load_design([folder / "netlist.pb.txt.gz"], folder / "initial.plc")
    figures: dict[str, Any] = {"unit": "CPU ms a transition"}
    for count in (1, 8, 32):
        config = TrainConfig(environments=count)
        task = Task.of(design.canvas, config)
        agent = task.agent(design)
        env = VectorEnv(design, config.env, count=count)
        learner = Learner(agent, agent.init(jax.random.key(0), task.observation()))
        actor = Actor(agent, env, seed=0, prepare=compact)
        actor.unroll(learner.state.params, 1)
        begin_s, rounds = time.process_time(), max(2, 16 // count)
        for _ in range(rounds):
            unrolls = actor.unroll(learner.state.params, 1)
        figures[f"acting, {count} environments"] = (
            1000 * (time.process_time() - begin_s) / (rounds * count * config.unroll_length)
        )
        if count == 8:
            batch = stack(unrolls)
            learner.update(batch)
            begin_s = time.process_time()
            for _ in range(10):
                learner.update(batch)
            transitions = 10 * config.batch_size * config.unroll_length
            figures["update, batch of 8 unrolls of 32"] = 1000 * (time.process_time() - begin_s) / transitions
            figures["parameters"] = parameter_count(learner.state.params)
            figures["unroll_bytes"] = task.unroll_bytes()
    return figures


def main() -> None:
    from benchmarks._about import about

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("what", nargs="?", choices=("placement", "values", "parts"))
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=0)
    words = parser.parse_args()
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
    results = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    runs = {
        "placement": lambda: placement(words.seconds, words.seed),
        "values": lambda: values(words.seed),
        "parts": parts,
    }
    for name, run in runs.items():
        if words.what not in (None, name):
            continue
        load = os.getloadavg()[0]
        found = run()
        for key, value in found.items():
            if key != "curve":
                print(f"{name:10s} {key:34s} {value}")
        results[name] = {
            **found,
            **about(words.seed),
            "load_before": round(load, 1),
        }
        RESULT.parent.mkdir(parents=True, exist_ok=True)
        RESULT.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main()
