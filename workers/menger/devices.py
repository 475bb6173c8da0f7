"""The devices of a learner: parameters on each of them, a batch spread over them by unrolls.

XLA makes the sums over devices out of the shardings alone, so the agents' update is the same code on one device, on
several, and on those of several processes (Scaling: jax.readthedocs.io, "Distributed arrays and automatic
parallelization"). Nothing here depends on the kind of device.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from workers.agents.types import Unroll
from workers.menger.roles import RoleError

AXIS = "unrolls"
OF_XLA = "xla_force_host_platform_device_count"


def make_host_devices(count: int) -> None:
    """Let a process that computes on its CPU do so as `count` devices. To be called before jax is first used."""
    if OF_XLA not in os.environ.get("XLA_FLAGS", ""):
        jax.config.update("jax_num_cpu_devices", count)


def of_all_processes(local_count: int) -> list[Any]:
    """The first so many devices of each process of a group."""
    by_process: dict[int, list[Any]] = {}
    for device in jax.devices():
        by_process.setdefault(device.process_index, []).append(device)
    return [device for index in sorted(by_process) for device in by_process[index][:local_count]]


def own_part(array: Any) -> np.ndarray:
    """(B, …) → those rows that are on this process's devices."""
    if not isinstance(array, jax.Array):
        return np.asarray(array)
    return np.concatenate([np.atleast_1d(np.asarray(shard.data)) for shard in array.addressable_shards])


def choose_devices(wanted: int | None, batch_size: int) -> list[Any]:
    """The first `wanted` devices of this process, or with None as many of all as divide a batch.

    Raises RoleError where there are fewer.
    """
    local = jax.local_devices()
    if wanted is None:
        wanted = max(count for count in range(1, len(local) + 1) if batch_size % count == 0)
    if wanted > len(local):
        raise RoleError(f"learner: {wanted} devices are asked for, {len(local)} ({local[0].platform}) are here")
    return list(local[:wanted])


class Devices:
    """State on every device, batches spread over all. `devices`: of this process, or of a group of processes."""

    def __init__(self, devices: Sequence[Any], batch_size: int) -> None:
        """Raises RoleError where `batch_size`, unrolls of all devices together, cannot be spread evenly."""
        self.count = len(devices)
        if batch_size % self.count:
            raise RoleError(f"batch_size is {batch_size}, must be a multiple of {self.count}, the learner's devices")
        mesh = Mesh(np.asarray(devices), (AXIS,))
        self.replicated = NamedSharding(mesh, PartitionSpec())
        self._over_time = NamedSharding(mesh, PartitionSpec(None, AXIS))  # leaves (T, B, …)
        self._by_unroll = NamedSharding(mesh, PartitionSpec(AXIS))  # leaves (B, …)

    def place_state(self, tree: Any) -> Any:
        """The same values on every device; equal values must be given by every process."""
        return jax.tree.map(lambda leaf: self._put(np.asarray(leaf), self.replicated), tree)

    def place_batch(self, batch: Unroll) -> Unroll:
        """This process's unrolls of a batch (all of them, where it is the only process) on its devices."""
        return self._spread(batch, self._put)

    def zeros_batch(self, batch: Unroll) -> Unroll:
        """Zeros in the shapes of a whole batch, on all devices."""
        return self._spread(batch, self._zeros)

    def _spread(self, batch: Unroll, put: Callable[[Any, NamedSharding], jax.Array]) -> Unroll:
        over_time = jax.tree.map(lambda leaf: put(leaf, self._over_time), tuple(batch[:6]))
        rest = jax.tree.map(lambda leaf: put(leaf, self._by_unroll), tuple(batch[6:]))
        return Unroll._make((*over_time, *rest))

    @staticmethod
    def _zeros(leaf: Any, sharding: NamedSharding) -> jax.Array:
        whole = np.zeros_like(leaf)
        return jax.make_array_from_callback(whole.shape, sharding, lambda part: whole[part])

    @staticmethod
    def _put(leaf: Any, sharding: NamedSharding) -> jax.Array:
        return jax.make_array_from_process_local_data(sharding, np.asarray(leaf))
