"""Several learner processes that train as one: a group of `jax.distributed`, found through the database.

The learner of index 0 opens the coordinator and tells its address among its figures; the others wait for that and join.
Each takes its share of a batch, and the compiler sums gradients over all devices (devices.py). Before each update they
agree: all have data, or they wait; one is to stop, and all stop after the same update. When a member is lost, the
others end as failed; the run starts them all again, and they go on from the newest checkpoint.
"""

from __future__ import annotations

import logging
import socket
import threading
import time
from typing import NamedTuple

import jax
import numpy as np
from jax.experimental import multihost_utils
from sqlalchemy.exc import OperationalError

from backend.core.config import get_settings
from workers.menger.roles import FIND_S, Life, RoleError, leave, own_binding, own_host
from workers.sight import Sight

log = logging.getLogger("placewright.group")

COORDINATOR = "coordinator"  # figure of the learner 0
JOIN_S = 120  # for all members to come, once the coordinator is there
LOOK_S = 1.0


class Agreed(NamedTuple):
    """What all members of a group know before an update."""

    ready: bool  # all have a batch
    stop: bool  # at least one is to stop


class Group:
    """The learners that train together; this process is the member `index` of `count`."""

    def __init__(self, index: int = 0, count: int = 1) -> None:
        self.index = index
        self.count = count
        self._closed = threading.Event()

    @property
    def leads(self) -> bool:
        """Whether this member publishes models and writes checkpoints."""
        return self.index == 0

    def share(self, batch_size: int) -> int:
        """Unrolls of a batch that each member reads. Raises RoleError."""
        if batch_size % self.count:
            raise RoleError(f"batch_size is {batch_size}, must be a multiple of {self.count}, the job's learners")
        return batch_size // self.count

    def agree(self, *, ready: bool, stop: bool) -> Agreed:
        """Waits for all members."""
        if self.count == 1:
            return Agreed(ready, stop)
        told = multihost_utils.process_allgather(np.array([ready, stop], np.int32))  # (members, 2)
        return Agreed(bool(told[:, 0].all()), bool(told[:, 1].any()))

    def check_same(self, what: str, value: int) -> None:
        """Raises RoleError, in all members, where they do not have the same."""
        if self.count > 1:
            told = multihost_utils.process_allgather(np.array([value], np.int32)).ravel()
            if len(set(told.tolist())) > 1:
                raise RoleError(f"the job's learners differ in {what}: {', '.join(map(str, told.tolist()))}")

    def watch(self, life: Life) -> None:
        """End this process as failed when a member is lost: it may hang in a sum that never comes."""
        if self.count > 1:
            members = multihost_utils.process_allgather(np.frombuffer(bytes.fromhex(life.role_id), np.uint8))
            ids = [row.astype(np.uint8).tobytes().hex() for row in members]
            threading.Thread(target=self._watch, args=(life, ids), name="group", daemon=True).start()

    def close(self) -> None:
        """After the last update, by all members: from here on each may end. Waits for all."""
        self._closed.set()
        if self.count > 1:
            jax.distributed.shutdown()  # else those whose coordinator ends first would be aborted

    def _watch(self, life: Life, ids: list[str]) -> None:
        stale_s = get_settings().role_stale_seconds
        sight = Sight(stale_s)
        while not self._closed.wait(LOOK_S):
            try:
                records = {record.id: record for record in life.store.roles(life.job_id, life.role)}
            except OperationalError as error:
                log.warning("database away, the group is not looked at: %s", error.orig)
                continue
            if not sight.clear():
                continue
            for index, role_id in enumerate(ids):
                record = records.get(role_id)
                gone = record is None or record.ended or record.heartbeat_age_s > stale_s
                if gone and not self._closed.is_set():
                    words = f"learner {index} of the group is lost; all begin again from the newest checkpoint"
                    log.error("%s", words)
                    life.end(f"failed: {words}")
                    leave(1)


def connect(coordinator: str, index: int, count: int, bind: str | None = None) -> Group:
    """Join `count` processes that know the same address; returns when all are there. To be called before jax is used.

    `bind`: address at which the first one's coordinator listens; None = all. Raises RoleError.
    """
    port = coordinator.rpartition(":")[2]
    try:
        jax.distributed.initialize(
            coordinator,
            count,
            index,
            cluster_detection_method="deactivate",
            initialization_timeout=JOIN_S,
            coordinator_bind_address=f"{bind or '0.0.0.0'}:{port}",
        )
    except RuntimeError as error:
        raise RoleError(f"learner {index} of {count}: no group at {coordinator} within {JOIN_S} s ({error})") from error
    return Group(index, count)


def gather(life: Life, count: int) -> Group:
    """Find the other learners of the job and join them; alone where there are no others. Raises RoleError."""
    if count == 1:
        return Group()
    binding = own_binding()
    if life.index == 0:
        with socket.socket() as probe:
            probe.bind((binding.address if binding else "", 0))
            port = probe.getsockname()[1]
        coordinator = f"{own_host()}:{port}"
        life.tell({COORDINATOR: coordinator}, f"waiting for {count - 1} more learners")
    else:
        coordinator = _find(life)
        if life.should_stop():
            return Group()
        life.tell({}, f"joining {coordinator}")
    joined = threading.Event()
    threading.Thread(target=_leave_if_stopped, args=(life, joined), name="joining", daemon=True).start()
    group = connect(coordinator, life.index, count, binding.address if binding else None)
    joined.set()
    return group


def _leave_if_stopped(life: Life, joined: threading.Event) -> None:
    """Joining cannot be broken off: told to stop meanwhile, the process ends."""
    while not joined.wait(LOOK_S):
        if life.should_stop():
            life.end("stopped")
            leave(0)


def _find(life: Life) -> str:
    """Where the first learner's coordinator listens; it says so only while the group gathers. "" if told to stop."""
    stale_s = get_settings().role_stale_seconds
    end_s = time.monotonic() + FIND_S
    life.tell({}, "waiting for learner 0")
    while not life.stopped.wait(0.2):
        try:
            records = life.store.roles(life.job_id, life.role)
        except OperationalError as error:
            log.warning("database away, learner 0 is not found: %s", error.orig)
            records = []
        alive = [r for r in records if r.index == 0 and not r.ended and r.heartbeat_age_s <= stale_s]
        for record in sorted(alive, key=lambda r: r.heartbeat_age_s):
            if found := record.stats.get(COORDINATOR):
                return str(found)
        if time.monotonic() > end_s:
            raise RoleError(f"learner {life.index}: learner 0 told no address within {FIND_S:g} s")
    return ""
