"""Policies that outlive their job: parameters with what they were trained on, how well they do, and what they can take.

A policy is one file in the format of checkpoint.py, with a schema of its own: a header (`PolicyInfo`) and the network's
parameters, without optimiser. `train` writes one, a later `train` or job starts from it: as it is (zero-shot) at its
first episodes, better with every update. Called by workers/cli and workers/menger/learner.py.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from workers.agents.checkpoint import SCHEMA as CHECKPOINT_SCHEMA
from workers.agents.checkpoint import CheckpointError, fill, read_arrays, write_arrays

SCHEMA = 101  # of the file; a reader refuses others, and checkpoints, whose numbers are smaller
PARAMS = re.compile(r"^\.params(?=\[)")  # of a LearnerState in a checkpoint
Tree = TypeVar("Tree")


@dataclass(frozen=True, kw_only=True)
class PolicyInfo:
    """What a policy's file says of it."""

    algorithm: str
    network: dict[str, Any]  # settings that its parameters' shapes hang on, as fields of TrainConfig
    designs: list[str]  # names of those it was trained on
    updates: int  # of the learner that made it
    maxima: dict[str, int]  # the largest design it takes: `grid` cells a side, `nodes` of a graph (graph network only)
    metrics: dict[str, float] = field(default_factory=dict)  # as measured in training, such as episode_cost_mean


def of_job(folder: Path) -> Path:
    """Where a job that starts from a policy keeps its copy."""
    return folder / "policy.npz"


def from_checkpoint(checkpoint: Path, path: Path, info: PolicyInfo) -> None:
    """Write the policy of a learner's checkpoint. Raises CheckpointError, OSError."""
    arrays, _ = read_arrays(checkpoint, CHECKPOINT_SCHEMA)
    params = {PARAMS.sub("", name): array for name, array in arrays.items() if PARAMS.match(name)}
    if not params:
        raise CheckpointError(f"{checkpoint}: holds no parameters")
    write_arrays(path, params, {"schema": SCHEMA, **asdict(info)})


def _read(path: Path) -> tuple[dict[str, np.ndarray], PolicyInfo]:
    arrays, header = read_arrays(path, SCHEMA)
    wanted = {item.name for item in fields(PolicyInfo)}
    if missing := sorted(wanted - header.keys()):
        raise CheckpointError(f"{path}: its header lacks {', '.join(missing)}")
    return arrays, PolicyInfo(**{name: header[name] for name in wanted})


def load_info(path: Path) -> PolicyInfo:
    """Raises CheckpointError for a file that is truncated, of another version, or no policy."""
    return _read(path)[1]


def load_params(path: Path, like: Tree) -> Tree:
    """Parameters in the structure of `like`. Raises CheckpointError as `load_info` does, and if they do not fit."""
    return fill(path, _read(path)[0], like)
