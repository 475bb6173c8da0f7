"""The learner alone: transitions/s and its share of time without data, with and without prefetch, on 1 and 2 devices.

    python -m benchmarks.menger.learner [--seconds 6] [--devices 1 2] [--seed 0]

Default settings of learning on a sample design. Unrolls are random but pass the same checks as those of actors; there
are always some, so the waiting is that for decoding, stacking and the way onto the device. Devices are made of the CPU,
each with one thread, in a process of its own for each number of them; compiling does not count.
Writes benchmarks/results/menger_learner.json.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import time
from typing import Any

import numpy as np

from benchmarks.menger.report import header, load, write
from workers.menger.launch import XLA_ONE_THREAD

POOL = 32  # different unrolls, given out in turn


def measure(devices: int, seconds: float, seed: int) -> list[dict[str, Any]]:
    """One row for each setting of prefetch, in this process."""
    import jax

    from netlists.samples import make_sample
    from workers.menger.config import MIB, Task, TrainConfig
    from workers.menger.devices import Devices, choose_devices, make_host_devices
    from workers.menger.learner import Learner
    from workers.menger.pipeline import Pipeline

    make_host_devices(devices)
    config = TrainConfig(seed=seed)
    design = make_sample("small", seed)
    task = Task.of(design.canvas, config)
    codec, agent = task.codec(), task.agent(design)
    spread = Devices(choose_devices(devices, config.batch_size), config.batch_size)
    learner = Learner(agent, agent.init(jax.random.key(seed), task.observation()), spread)
    learner.compile(codec)
    pool = [codec.encode(unroll) for unroll in random_unrolls(codec, np.random.default_rng(seed))]

    class Reader:
        def __init__(self) -> None:
            self.items = itertools.cycle(pool)

        def read(self, timeout_s: float) -> Any:
            return codec.decode(next(self.items))

    rows = []
    for ahead_bytes in (64 * MIB, 0):
        pipeline = Pipeline(Reader(), config.batch_size, ahead_bytes=ahead_bytes, place=spread.place_batch)
        learner.update(pipeline.next(60))
        updates, waited_s, begin_s = 0, 0.0, time.monotonic()
        while time.monotonic() < begin_s + seconds:
            before_s = time.monotonic()
            batch = pipeline.next(60)
            waited_s += time.monotonic() - before_s
            learner.update(batch)
            updates += 1
        took_s = time.monotonic() - begin_s
        pipeline.close()
        rows.append(
            {
                "devices": devices,
                "prefetch": ahead_bytes > 0,
                "updates": updates,
                "seconds": round(took_s, 2),
                "transitions_per_s": round(updates * config.batch_size * config.unroll_length / took_s, 1),
                "data_wait_share": round(waited_s / took_s, 4),
                "wait_ms_per_batch": round(1e3 * waited_s / updates, 2),
            }
        )
    return rows


def random_unrolls(codec: Any, random: np.random.Generator) -> list[Any]:
    """POOL unrolls that the codec takes: noise seen, every action allowed, no episode ends."""
    import jax

    steps, actions = codec.like.action.shape[0], codec.like.observation.mask.shape[-1]

    def noise(spec: Any) -> Any:
        if spec.dtype == np.uint8:
            return random.integers(0, 256, spec.shape).astype(np.uint8)
        return random.random(spec.shape).astype(spec.dtype)

    return [
        (made := jax.tree.map(noise, codec.like))._replace(
            observation=made.observation._replace(mask=np.ones((steps + 1, actions), bool)),
            first=np.zeros(steps + 1, bool),
            action=random.integers(actions, size=steps).astype(np.int32),
            discount=np.ones(steps, np.float32),
            behaviour_logp=np.full(steps, -np.log(actions), np.float32),
            version=np.int32(1),
        )
        for _ in range(POOL)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=6.0, help="of each measurement")
    parser.add_argument("--devices", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    words = parser.parse_args()
    if words.child:
        print(json.dumps(measure(words.devices[0], words.seconds, words.seed)))
        return
    before = load()
    rows: list[dict[str, Any]] = []
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": XLA_ONE_THREAD}
    for devices in words.devices:
        options = ["--child", "--devices", devices, "--seconds", words.seconds, "--seed", words.seed]
        command = [sys.executable, "-m", "benchmarks.menger.learner", *map(str, options)]
        done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
        rows += json.loads(done.stdout.splitlines()[-1])
    for row in rows:
        print(row, flush=True)
    write("learner", header(words.seed, before) | {"rows": rows})


if __name__ == "__main__":
    main()
