"""Checkpoints of a learner: a folder and a pytree of arrays in, `step-<n>.npz` files out, and back.

Plain host arrays under their path in the tree, so a file from any device opens on any other. Written to a temporary
name, flushed, renamed: a crash leaves the file before. The newest KEEP stay. Restores into a freshly built tree, whose
structure, shapes and dtypes the file must match.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from pathlib import Path
from typing import Any, TypeVar

import jax
import numpy as np

from netlists.errors import PlacewrightError

SCHEMA = 1  # of the file; a reader refuses others
KEEP = 3
Tree = TypeVar("Tree")


class CheckpointError(PlacewrightError):
    """A checkpoint cannot be used; the message names the file and what is wrong with it."""


def _named(tree: Any) -> dict[str, np.ndarray]:
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return {jax.tree_util.keystr(path): np.asarray(leaf) for path, leaf in leaves}


def save(folder: Path, step: int, tree: Any, meta: dict[str, Any] | None = None) -> Path:
    """Write one checkpoint and drop old ones. Raises OSError (disk full) with the earlier files intact."""
    folder.mkdir(parents=True, exist_ok=True)
    buffer = io.BytesIO()
    header = json.dumps({"schema": SCHEMA, "step": step, **(meta or {})})
    np.savez(buffer, __meta__=np.frombuffer(header.encode(), np.uint8), **_named(tree))
    path = folder / f"step-{step:09d}.npz"
    temporary = folder / f".{path.name}.{os.getpid()}.tmp"
    try:
        with temporary.open("wb") as file:
            file.write(buffer.getvalue())
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    directory = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
    for old in checkpoints(folder)[:-KEEP]:
        old.unlink(missing_ok=True)
    return path


def checkpoints(folder: Path) -> list[Path]:
    """The folder's checkpoints, oldest first."""
    return sorted(folder.glob("step-*.npz"))


def restore(path: Path, like: Tree) -> tuple[Tree, dict[str, Any]]:
    """Fill a tree like `like` from a file. Returns it with the file's header. Raises CheckpointError."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile) as error:
        raise CheckpointError(f"{path}: not a readable checkpoint ({error})") from error
    try:
        meta: dict[str, Any] = json.loads(arrays.pop("__meta__").tobytes())
    except (KeyError, ValueError) as error:
        raise CheckpointError(f"{path}: has no header") from error
    if meta.get("schema") != SCHEMA:
        raise CheckpointError(f"{path}: schema is {meta.get('schema')}, this version reads {SCHEMA}")
    wanted = _named(like)
    for name in sorted(wanted.keys() | arrays.keys()):
        have, want = arrays.get(name), wanted.get(name)
        if have is None or want is None:
            raise CheckpointError(f"{path}: {name} is {'missing' if have is None else 'unknown'}")
        if have.shape != want.shape or have.dtype != want.dtype:
            raise CheckpointError(
                f"{path}: {name} is {have.dtype}{have.shape}, the network needs {want.dtype}{want.shape}"
            )
    structure = jax.tree.structure(like)
    tree: Tree = jax.tree.unflatten(structure, [jax.numpy.asarray(arrays[name]) for name in wanted])
    return tree, meta


def restore_newest(folder: Path, like: Tree) -> tuple[Tree, dict[str, Any]] | None:
    """The newest checkpoint that can be read, or None. An unreadable newer one is passed over, older ones are tried."""
    problem: CheckpointError | None = None
    for path in reversed(checkpoints(folder)):
        try:
            return restore(path, like)
        except CheckpointError as error:
            problem = problem or error
    if problem is not None:
        raise problem
    return None
