"""Which processes a job is to have, as data: topologies in, role keys, queues and shares out. Pure functions.

A topology is asked for with the job, or derived from its `workers`; what `PATCH …/topology` makes of it is kept beside.
Fair shares are max-min: slots go round one by one to the jobs that still want some, the oldest first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from backend.schemas import LEARNING_METHODS, CellPatch, CellSpec, RoleName, TopologySpec

MAIN = "main"  # the cell of a job that names none
SERVING_ORDER = ("replay", "learner", "cache", "actor", "optimiser")  # of starting; those before serve those after
STOP_ORDER = ("optimiser", "actor", "learner", "cache", "replay")  # writers before readers before servers


class RoleKey(NamedTuple):
    """Which of a job's processes: `cell` is "" for those that belong to none."""

    role: str
    cell: str
    index: int  # type: ignore[assignment]  # hides a method of tuples that nobody asks of a key

    def __str__(self) -> str:
        return " ".join(str(part) for part in self if part != "")

    @property
    def queue(self) -> str:
        """The role queue on which it waits for a worker."""
        return f"{self.role}.{self.cell}" if self.cell else self.role


def one_cell(actors: int, *, optimisers: int = 1, replay_shards: int = 1, caches: int = 1) -> TopologySpec:
    """The topology of one cell and one learner."""
    cell = CellSpec(name=MAIN, actors=actors, caches=caches, replay_shards=replay_shards)
    return TopologySpec.model_validate({"cells": [cell], "optimisers": optimisers, "start_smaller": True})


def default_topology(method: str, workers: int) -> TopologySpec | None:
    """Shares `workers` processes out. auto: half search (the larger half), half act; rl: all but one act.

    None where the method does not learn: all of them search.
    """
    if method not in LEARNING_METHODS:
        return None
    actors = max(1, workers // 2 if method == "auto" else workers - 1)
    return one_cell(actors, optimisers=max(1, workers - actors))


def desired_topology(
    method: str, workers: int, asked: Mapping[str, Any] | None, scaled: Mapping[str, Any] | None
) -> TopologySpec | None:
    """What a stored job is to have now."""
    stored = scaled or asked
    return TopologySpec.model_validate(stored) if stored else default_topology(method, workers)


def role_keys(topology: TopologySpec) -> list[RoleKey]:
    """All processes of a topology, in order of starting."""
    counts = {"learner": topology.learners, "optimiser": topology.optimisers}
    keys = [RoleKey(role, "", index) for role, count in counts.items() for index in range(count)]
    for cell in topology.cells:
        counts = {"replay": cell.replay_shards, "cache": cell.caches, "actor": cell.actors}
        keys += [RoleKey(role, cell.name, index) for role, count in counts.items() for index in range(count)]
    return in_order(keys)


def learning_keys(topology: TopologySpec) -> list[RoleKey]:
    """Those that learn: what workers of role queues can take."""
    return [key for key in role_keys(topology) if key.role != RoleName.OPTIMISER]


def in_order(keys: Iterable[RoleKey]) -> list[RoleKey]:
    """Servers before those they serve; the first of every cell before the second of any."""
    return sorted(keys, key=lambda key: (SERVING_ORDER.index(key.role), key.index, key.cell))


def scaled(topology: TopologySpec, patches: Sequence[CellPatch]) -> TopologySpec:
    """The topology with some cells' numbers changed. Raises pydantic's ValidationError where nothing would be left."""
    cells = {cell.name: cell.model_dump() for cell in topology.cells}
    for patch in patches:
        empty = {"name": patch.name, "actors": 0, "caches": 0, "replay_shards": 0}
        cells[patch.name] = cells.get(patch.name, empty) | patch.model_dump(exclude_none=True)
    return TopologySpec.model_validate({**topology.model_dump(), "cells": list(cells.values())})


def queue_counts(keys: Iterable[RoleKey]) -> dict[str, int]:
    """How many of the processes wait on each queue."""
    return dict(Counter(key.queue for key in keys))


def fair_shares(slots: int, wants: Mapping[str, int]) -> dict[str, int]:
    """What each of several jobs may have of so many slots; wants in order of age, the oldest first."""
    shares = dict.fromkeys(wants, 0)
    while slots and (hungry := [job for job, wanted in wants.items() if shares[job] < wanted]):
        each = max(1, slots // len(hungry))
        for job in hungry:
            given = min(each, slots, wants[job] - shares[job])
            shares[job] += given
            slots -= given
    return shares


def shortages(wanted: Mapping[str, int], present: Mapping[str, int]) -> list[str]:
    """What is missing on each queue, in words."""
    return [
        f"{queue}: {present.get(queue, 0)} of {count}"
        for queue, count in sorted(wanted.items())
        if present.get(queue, 0) < count
    ]
