"""The learner: unrolls from all shards → batches on the device → V-trace steps → published versions, checkpoints.

`Learner` is the loop body without processes (tests and benchmarks use it so); `pipeline.py` makes its batches ahead;
`run_learner` is the role. Version of a model = updates done + 1.
"""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import Any

import jax
import numpy as np

from netlists.model import Design
from workers.agents import checkpoint, policies
from workers.agents.agent import Agent, LearnerState, Parts
from workers.agents.types import Params, Unroll
from workers.menger.codec import UnrollCodec, flatten_params, stack
from workers.menger.config import Task, TrainConfig
from workers.menger.devices import Devices, choose_devices, make_host_devices, of_all_processes, own_part
from workers.menger.group import Group, gather
from workers.menger.model_cache import PULSE_S, ModelServer
from workers.menger.pipeline import Pipeline
from workers.menger.protocol import Model, ModelSink
from workers.menger.replay import ShardedReader
from workers.menger.roles import Life, RoleError
from workers.menger.stats import RateMeter, RecentMean

log = logging.getLogger("placewright.learner")

NO_DATA_S = 300.0  # without one unroll: then something is wrong that waiting does not mend
SKIPS_IN_A_ROW = 20  # updates that were not finite; one bad batch is survived, a broken policy is not
READ_S = 0.5


class Learner:
    """Applies batches, or gradients that workers made of them, to a state. One thread."""

    def __init__(self, agent: Agent, state: LearnerState, devices: Devices | None = None) -> None:
        """With `devices`, the state is put on all of them, and batches must come from their `place_batch`."""
        self.agent = agent
        self.state: LearnerState = devices.place_state(state) if devices else state
        self._devices = devices
        self._context = devices.place_state(agent.context) if devices else agent.context
        self.skips_in_a_row = 0
        self.priorities: np.ndarray | None = None  # (B,) of the last batch, where the agent learns from replay
        self._update: Any = agent.update_on(devices.replicated) if devices else agent.compiled_update

    @property
    def device_count(self) -> int:
        return self._devices.count if self._devices else 1

    @property
    def version(self) -> int:
        return int(self.state.step) + 1

    def compile(self, codec: UnrollCodec) -> None:
        """Compile the update before the first batch is there."""
        zeros = jax.tree.map(lambda spec: np.zeros(spec.shape, spec.dtype), codec.like)
        batch = stack([zeros] * self.agent.config.batch_size)
        if self._devices:
            batch = self._devices.zeros_batch(batch)
        self._update = self._update.lower(self.state, batch, self._context).compile()

    def update(self, batch: Any) -> dict[str, float]:
        """One step. Returns its figures, among them `policy_lag`, the mean age of the batch in versions.

        Raises RoleError after SKIPS_IN_A_ROW steps whose loss or gradient was not finite; the state then is the last
        good one.
        """
        acted_by = (batch if isinstance(batch, Unroll) else batch.unroll).version
        lag = self.version - float(np.mean(own_part(acted_by)))
        self.state, parts = self._update(self.state, batch, self._context)
        return self._figures(parts, lag)

    def apply(self, gradient: Params, parts: Parts, version: int) -> dict[str, float]:
        """As `update`, with a gradient that a worker made with the weights of `version`."""
        lag = float(self.version - version)
        self.state, parts = self.agent.apply(self.state, gradient, parts)
        return self._figures(parts, lag)

    def _figures(self, parts: Parts, lag: float) -> dict[str, float]:
        parts = dict(parts)
        if (priority := parts.pop("priority", None)) is not None:
            self.priorities = np.asarray(priority)
        figures = {name: float(value) for name, value in parts.items()}
        self.skips_in_a_row = 0 if figures.pop("finite") else self.skips_in_a_row + 1
        if self.skips_in_a_row >= SKIPS_IN_A_ROW:
            raise RoleError(
                f"learner: loss or gradient not finite {self.skips_in_a_row} times in a row at version {self.version}; "
                "the weights before are kept"
            )
        return {**figures, "policy_lag": lag}

    def model(self) -> Model:
        return Model(self.version, flatten_params(self.state.params))


class Publisher:
    """Puts the newest version into a sink, at most every `every_s`."""

    def __init__(self, sink: ModelSink, every_s: float) -> None:
        self._sink = sink
        self._every_s = every_s
        self._last_s = -float("inf")

    def publish(self, learner: Learner, now_s: float) -> None:
        if now_s - self._last_s >= self._every_s:
            self._sink.publish(learner.model())
            self._last_s = now_s


def run_learner(
    life: Life,
    design: Design,
    config: TrainConfig,
    folder: Path,
    device_count: int | None = None,
    learners: int = 1,
) -> None:
    """The role's body. `folder` holds the job's checkpoints; the newest is gone on from, else, where there is one, the
    policy that the job was given (policies.py). `device_count`: None = all that this machine has. `learners`: how many
    processes train together (group.py), this one among them."""
    if device_count is not None:
        make_host_devices(device_count)
    group = gather(life, learners)
    if life.should_stop():
        return
    share = group.share(config.batch_size)
    local = choose_devices(device_count, share)
    group.check_same("the number of their devices", len(local))
    devices = Devices(of_all_processes(len(local)) if group.count > 1 else local, config.batch_size)
    group.watch(life)
    task = Task.of(design.canvas, config)
    agent = task.agent(design, config.compute_dtype)
    codec = task.codec()
    state = agent.init(jax.random.key(config.seed), task.observation())
    restored = checkpoint.restore_newest(folder, state)
    if restored is not None:
        state, meta = restored
        log.info("going on from step %s of %s", meta["step"], folder)
    elif (given := policies.of_job(folder.parent)).exists():
        state = state._replace(params=policies.load_params(given, state.params))
        log.info("starting from the policy %s", given)
    group.check_same("the update that they go on from", int(state.step))
    learner = Learner(agent, state, devices)
    outlet = Outlet(life, learner, config, folder) if group.leads else None
    life.state = "compiling"
    learner.compile(codec)
    reader = ShardedReader(codec, lambda: life.addresses("replay"), max_held=2 * share, seal=life.seal)
    life.wait_for("replay")
    pipeline = Pipeline(reader, share, ahead_bytes=config.prefetch_bytes, place=devices.place_batch)
    try:
        _train(life, learner, config, group, pipeline, reader, outlet)
    except Exception:
        if outlet and group.count == 1:
            outlet.checkpoint()  # the state is the last good one; a group's may be half of an update
        raise
    else:
        if outlet:
            outlet.checkpoint()
    finally:
        pipeline.close()
        reader.close()
        if outlet:
            outlet.stop()


class Outlet:
    """What leaves the learner, of a group the first one: published models and checkpoints."""

    def __init__(self, life: Life, learner: Learner, config: TrainConfig, folder: Path) -> None:
        self._learner = learner
        self._folder = folder
        self._every_s = config.checkpoint_every_s
        self._last_s = time.monotonic()
        self._models = ModelServer(pulse_s=PULSE_S, seal=life.seal, binding=life.binding)
        self._publisher = Publisher(self._models, config.publish_every_s)
        self._publisher.publish(learner, self._last_s)
        self.failed = ""  # why the last checkpoint was not written
        life.serve_at(self._models.port)

    def updated(self, now_s: float) -> None:
        """After an update: publish, and checkpoint when it is time to."""
        self._publisher.publish(self._learner, now_s)
        if now_s - self._last_s > self._every_s:
            self.checkpoint()
            self._last_s = now_s

    def checkpoint(self) -> None:
        self.failed = _checkpoint(self._learner, self._folder)

    def figures(self) -> dict[str, Any]:
        return {"bytes_out": self._models.bytes_out(), "checkpoint_error": self.failed}

    def stop(self) -> None:
        self._models.stop()


def _train(
    life: Life,
    learner: Learner,
    config: TrainConfig,
    group: Group,
    pipeline: Pipeline,
    reader: ShardedReader,
    outlet: Outlet | None,
) -> None:
    steps, busy = RateMeter(), RateMeter()
    recent: dict[str, RecentMean] = {}
    last_data_s = time.monotonic()

    def tell() -> None:
        life.stats = {
            **{name: mean.mean() for name, mean in recent.items()},
            "policy_version": learner.version,
            "devices": learner.device_count,
            "learner_steps_per_s": steps.per_s(),
            "transitions_per_s": steps.per_s() * config.batch_size * config.unroll_length,
            "busy": busy.per_s(),  # share of the time spent in updates
            "data_wait_share": pipeline.wait_share(),
            "bytes_in": pipeline.bytes_in,
            "rejected_unrolls": reader.rejected,
            "last_rejection": reader.last_rejection,
            "skipped_updates": int(learner.state.skipped),
            **(outlet.figures() if outlet else {}),
        }

    batch: Any = None
    while True:
        if batch is None:
            batch = pipeline.next(READ_S)
        agreed = group.agree(ready=batch is not None, stop=life.should_stop())
        if agreed.stop:
            group.close()
            return
        now_s = time.monotonic()
        if not agreed.ready:
            waited_s = now_s - last_data_s
            life.state = f"waiting for unrolls, {waited_s:.0f} s"
            tell()
            if waited_s > NO_DATA_S:
                shards = len(life.addresses("replay"))
                raise RoleError(f"learner: no batch within {NO_DATA_S:g} s; {shards} replay shards are known")
            continue
        life.state = "running"
        for name, value in learner.update(batch).items():
            recent.setdefault(name, RecentMean(50)).add(value)
        batch = None
        last_data_s = time.monotonic()
        steps.add(1)
        busy.add(last_data_s - now_s)
        if outlet:
            outlet.updated(last_data_s)
        tell()


def _checkpoint(learner: Learner, folder: Path) -> str:
    """Write one; a full disk is told, not died of. Returns what went wrong."""
    try:
        checkpoint.save(folder, int(learner.state.step), learner.state)
    except OSError as error:
        log.error("checkpoint not written: %s", error)
        return str(error)
    return ""
