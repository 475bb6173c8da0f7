"""Checkpoints of a learner: a folder and a pytree of arrays in, `step-<n>.npz` files out, and back.

`write_arrays`, `read_arrays` and `fill` are the file format itself, which policies.py shares. Plain host arrays under
their path in the tree, so a file from any device opens on any other. Written to a temporary name, flushed, renamed: a
crash leaves the file before. The newest KEEP stay. Restores into a freshly built tree, whose structure, shapes and
dtypes the file must match.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from netlists.errors import PlacewrightError

SCHEMA = 1  # of the file; a reader refuses others
KEEP = 3
Tree = TypeVar("Tree")


class CheckpointError(PlacewrightError):
    """A checkpoint cannot be used; the message names the file and what is wrong with it."""


def _named(tree: Any) -> dict[str, Any]:
    """Leaves (arrays, or their shapes) by their path in the tree."""
    import jax  # here, so that a header can be read by processes without it

    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return {jax.tree_util.keystr(path): leaf for path, leaf in leaves}


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray], header: Mapping[str, Any]) -> None:
    """Write a file whole or not at all. Raises OSError (disk full) with what was there before intact."""
    buffer = io.BytesIO()
    np.savez(buffer, __meta__=np.frombuffer(json.dumps(header).encode(), np.uint8), **arrays)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.parent / f".{path.name}.{os.getpid()}.tmp"
    try:
        with temporary.open("wb") as file:
            file.write(buffer.getvalue())
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def read_arrays(path: Path, schema: int) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Arrays by name, and the header. Raises CheckpointError for a file that is not whole or of another `schema`."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
    except (OSError, ValueError, EOFError, KeyError, TypeError, AttributeError, zipfile.BadZipFile) as error:
        raise CheckpointError(f"{path}: not a readable checkpoint ({error})") from error
    try:
        header: dict[str, Any] = json.loads(arrays.pop("__meta__").tobytes())
    except (KeyError, ValueError) as error:
        raise CheckpointError(f"{path}: has no header") from error
    if header.get("schema") != schema:
        raise CheckpointError(f"{path}: schema is {header.get('schema')}, this version reads {schema}")
    return arrays, header


def fill(path: Path, arrays: Mapping[str, np.ndarray], like: Tree) -> Tree:
    """A tree like `like` of a file's arrays. Raises CheckpointError naming `path` and the array that does not fit."""
    import jax

    wanted = _named(like)
    for name in sorted(wanted.keys() | arrays.keys()):
        have, want = arrays.get(name), wanted.get(name)
        if have is None or want is None:
            raise CheckpointError(f"{path}: {name} is {'missing' if have is None else 'unknown'}")
        if have.shape != want.shape or have.dtype != want.dtype:
            raise CheckpointError(
                f"{path}: {name} is {have.dtype}{have.shape}, the network needs {want.dtype}{want.shape}"
            )
    tree: Tree = jax.tree.unflatten(jax.tree.structure(like), [jax.numpy.asarray(arrays[name]) for name in wanted])
    return tree


def save(folder: Path, step: int, tree: Any, meta: dict[str, Any] | None = None) -> Path:
    """Write one checkpoint and drop old ones. Raises OSError (disk full) with the earlier files intact."""
    path = folder / f"step-{step:09d}.npz"
    write_arrays(
        path,
        {name: np.asarray(leaf) for name, leaf in _named(tree).items()},
        {"schema": SCHEMA, "step": step, **(meta or {})},
    )
    for old in checkpoints(folder)[:-KEEP]:
        old.unlink(missing_ok=True)
    return path


def checkpoints(folder: Path) -> list[Path]:
    """The folder's checkpoints, oldest first."""
    return sorted(folder.glob("step-*.npz"))


def restore(path: Path, like: Tree) -> tuple[Tree, dict[str, Any]]:
    """Fill a tree like `like` from a file. Returns it with the file's header. Raises CheckpointError."""
    arrays, header = read_arrays(path, SCHEMA)
    return fill(path, arrays, like), header


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
