"""PopArt: the critic learns returns in units of their own running mean and spread, whatever these become.

Returns grow many times over while a policy learns; a critic in fixed units then trails behind, and its loss drowns the
policy's. Here the network's value is n, the value meant is σ n + μ, and whenever μ and σ change the last layer is
changed so that σ n + μ stays (van Hasselt et al. 2016; with IMPALA: Hessel et al. 2018). Pure JAX.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from workers.agents.types import Params

LEAST_SPREAD, MOST_SPREAD = 1e-2, 1e6  # Hessel et al. use 1e-4; returns here are scaled to about 1 at the start


class ValueScale(NamedTuple):
    """Running moments of the value targets."""

    mean: jax.Array  # () float32, μ
    square: jax.Array  # () float32, mean of the squares

    @property
    def spread(self) -> jax.Array:
        """σ > 0."""
        variance = jnp.maximum(self.square - jnp.square(self.mean), 0.0)
        return jnp.clip(jnp.sqrt(variance), LEAST_SPREAD, MOST_SPREAD)

    def normalise(self, value: jax.Array) -> jax.Array:
        return (value - self.mean) / self.spread

    def unnormalise(self, value: jax.Array) -> jax.Array:
        return value * self.spread + self.mean


def unit_scale() -> ValueScale:
    """Mean 0, spread 1: values as they are."""
    return ValueScale(jnp.zeros((), jnp.float32), jnp.ones((), jnp.float32))


def track(scale: ValueScale, targets: jax.Array, rate: float) -> ValueScale:
    """The moments moved by `rate` towards those of `targets` (any shape, unnormalised)."""
    return ValueScale(
        scale.mean + rate * (jnp.mean(targets) - scale.mean),
        scale.square + rate * (jnp.mean(jnp.square(targets)) - scale.square),
    )


def preserve(head: Any, old: ValueScale, new: ValueScale) -> Any:
    """The linear layer {kernel, bias} whose unnormalised outputs under `new` are what they were under `old`."""
    return {
        "kernel": head["kernel"] * (old.spread / new.spread),
        "bias": (old.spread * head["bias"] + old.mean - new.mean) / new.spread,
    }


def preserve_values(params: Params, old: ValueScale, new: ValueScale) -> Params:
    """Parameters of one of networks.py, whose layer `value` is rewritten by `preserve`."""
    layers = dict(params["params"])
    layers["value"] = preserve(layers["value"], old, new)
    return {**params, "params": layers}
