"""Value rescaling of R2D2: large returns are learned as about their square roots. Pure JAX.

h(x) = sign(x) (√(|x| + 1) - 1) + ε x. Source: Pohlen et al. 2018, "Observe and Look Further", proposition A.2.
The inverse is written without differences of nearly equal numbers, which cost float32 three of its digits.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

EPSILON = 1e-3  # the source's: keeps the inverse Lipschitz


def rescale(x: jax.Array, epsilon: float = EPSILON) -> jax.Array:
    """h(x); any shape."""
    size = jnp.abs(x)
    return jnp.sign(x) * size / (jnp.sqrt(size + 1.0) + 1.0) + epsilon * x


def unscale(y: jax.Array, epsilon: float = EPSILON) -> jax.Array:
    """x with h(x) = y; any shape. epsilon above 0."""
    size = jnp.abs(y)
    root = jnp.sqrt(1.0 + 4.0 * epsilon * (size + 1.0 + epsilon))
    above_one = size * (2.0 - 4.0 * epsilon / (root + 1.0 + 2.0 * epsilon)) / (root + 1.0)  # √(|x| + 1) - 1
    return jnp.sign(y) * above_one * (above_one + 2.0)
