"""Unrolls and weights as flat lists of arrays and back, and the check of what others sent.

The receiver knows the task, so only arrays travel; `UnrollCodec` holds their shapes and refuses everything else.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from workers.agents.types import Params, RecurrentState, Unroll

LOGP_SLACK = 1e-3  # a log probability may exceed 0 by rounding


class BadUnrollError(ValueError):
    """An unroll that must not be learned from; the message says why."""


def flatten_params(params: Params) -> NDArray[np.float32]:
    """All parameters in the order of the tree, one after the other."""
    return np.concatenate([np.asarray(leaf, np.float32).ravel() for leaf in jax.tree.leaves(params)])


def unflatten_params(weights: NDArray[np.float32], like: Params) -> Params:
    """Raises ValueError if the number of weights is not that of `like`."""
    leaves, structure = jax.tree.flatten(like)
    wanted = sum(leaf.size for leaf in leaves)
    if weights.size != wanted:
        raise ValueError(f"a model of {weights.size} weights, the network has {wanted}")
    split = np.split(weights, np.cumsum([leaf.size for leaf in leaves])[:-1])
    params: Params = jax.tree.unflatten(
        structure, [part.reshape(leaf.shape) for part, leaf in zip(split, leaves, strict=True)]
    )
    return params


class UnrollCodec:
    """Unrolls of one task: shapes from one observation, T and the LSTM's width."""

    def __init__(self, observation: Any, unroll_length: int, lstm_width: int) -> None:
        steps = unroll_length

        def leaf_spec(leaf: Any, rows: int) -> jax.ShapeDtypeStruct:
            array = np.asarray(leaf)
            return jax.ShapeDtypeStruct((rows, *array.shape), array.dtype)

        def spec(shape: tuple[int, ...], dtype: Any) -> jax.ShapeDtypeStruct:
            return jax.ShapeDtypeStruct(shape, np.dtype(dtype))

        self.like: Any = Unroll(
            observation=jax.tree.map(lambda leaf: leaf_spec(leaf, steps + 1), observation),
            first=spec((steps + 1,), bool),
            action=spec((steps,), np.int32),
            reward=spec((steps,), np.float32),
            discount=spec((steps,), np.float32),
            behaviour_logp=spec((steps,), np.float32),
            initial_state=RecurrentState(spec((lstm_width,), np.float32), spec((lstm_width,), np.float32)),
            version=spec((), np.int32),
        )
        self._specs, self._structure = jax.tree.flatten(self.like)

    @property
    def bytes(self) -> int:
        """Size of one unroll before compression."""
        return sum(int(np.prod(spec.shape)) * spec.dtype.itemsize for spec in self._specs)

    def encode(self, unroll: Unroll) -> list[NDArray]:
        return [np.asarray(leaf, order="C") for leaf in jax.tree.leaves(unroll)]

    def decode(self, arrays: list[NDArray]) -> Unroll:
        """Raises BadUnrollError unless the arrays are an unroll of this task, finite and consistent."""
        if len(arrays) != len(self._specs):
            raise BadUnrollError(f"{len(arrays)} arrays, expected {len(self._specs)}")
        for array, spec in zip(arrays, self._specs, strict=True):
            if array.shape != spec.shape or array.dtype != spec.dtype:
                raise BadUnrollError(f"an array of {array.dtype}{array.shape}, expected {spec.dtype}{spec.shape}")
            if array.dtype.kind == "f" and not np.isfinite(array).all():
                raise BadUnrollError("values that are not finite")
        unroll: Unroll = jax.tree.unflatten(self._structure, arrays)
        mask = unroll.observation.mask[:-1]
        if not ((unroll.action >= 0) & (unroll.action < mask.shape[-1])).all():
            raise BadUnrollError(f"actions outside [0, {mask.shape[-1]})")
        if not np.take_along_axis(mask, unroll.action[:, None], axis=-1).all():
            raise BadUnrollError("an action that its mask forbids")
        if not ((unroll.discount >= 0) & (unroll.discount <= 1)).all():
            raise BadUnrollError("discounts outside [0, 1]")
        if (unroll.behaviour_logp > LOGP_SLACK).any():
            raise BadUnrollError("log probabilities above 0")
        return unroll


def stack(unrolls: list[Unroll]) -> Unroll:
    """B unrolls → one batch: time first, then batch; initial state and version (B, …)."""
    batch: Unroll = jax.tree.map(lambda *leaves: np.stack(leaves), *unrolls)  # batch first
    turned: Unroll = jax.tree.map(lambda leaf: np.moveaxis(leaf, 0, 1) if np.ndim(leaf) > 1 else leaf, batch)
    return turned._replace(initial_state=batch.initial_state)


def unstack(batch: Unroll, k: int) -> Unroll:
    """The k-th unroll of a batch whose version is that of all."""
    over_time: Any = jax.tree.map(lambda leaf: leaf[:, k], tuple(batch[:6]))  # all fields but the last two
    state: RecurrentState = jax.tree.map(lambda leaf: leaf[k], batch.initial_state)
    return Unroll._make((*over_time, state, batch.version))
