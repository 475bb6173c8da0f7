"""Blocks of gradient steps on the smooth cost, for several seeds at once. Pure JAX: arrays in, arrays out.

One block is one compiled program for all designs of a bucket: its weights, temperatures and step sizes come as data.
Called by stages.py, which renews the shape of routes between blocks.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from placement.analytic import terms
from placement.analytic.arrays import Arrays
from placement.analytic.shape import Shape

# Adam (Kingma and Ba 2015); the second moment forgets sooner than usual because weights and temperatures change.
BETA_1, BETA_2, EPSILON = 0.9, 0.99, 1e-12


class Knobs(NamedTuple):
    """What changes from step to step; scalars, or (steps,) for a block."""

    rate: Array  # length of a step in cells
    gamma: Array  # cells, of the wirelength
    blur: Array  # cells, of the routes
    spread: Array  # cells, of small boxes
    heat: Array  # of the means of the largest
    wirelength: Array  # weights
    density: Array
    congestion: Array
    potential: Array
    overlap: Array
    margin: Array  # cells, that macros keep apart


class State(NamedTuple):
    """Centres and Adam's moments, (2, N) each (with a leading axis of seeds outside), and the number of steps made."""

    z: Array
    mean: Array
    square: Array
    steps: Array  # ()


def smooth_cost(a: Arrays, shape: Shape, k: Knobs, z: Array) -> Array:
    """The weighted sum of the terms for one seed."""
    term = terms.terminals(a, z)
    amount = terms.density_map(a, z, k.spread)
    hor, ver = terms.demand_maps(a, z, term, shape, k.blur)
    return (
        k.wirelength * terms.wirelength(a, term, k.gamma)
        + k.density * terms.density(a, amount, k.heat)
        + k.congestion * terms.congestion(a, hor, ver, k.heat)
        + k.potential * terms.potential_energy(a, amount)
        + k.overlap * terms.overlap(a, z, shape.pairs, k.margin)
    )


def _step(a: Arrays, free: Array, shape: Shape, state: State, k: Knobs) -> tuple[State, None]:
    grad = jax.grad(smooth_cost, argnums=3)(a, shape, k, state.z) * free
    grad = jnp.where(jnp.isfinite(grad), grad, 0)
    steps = state.steps + 1
    mean = BETA_1 * state.mean + (1 - BETA_1) * grad
    square = BETA_2 * state.square + (1 - BETA_2) * grad**2
    move = mean / (1 - BETA_1**steps) / (jnp.sqrt(square / (1 - BETA_2**steps)) + EPSILON)
    z = jnp.clip(state.z - k.rate * move * free, a.low, a.high)
    z = jnp.where(free > 0, z, state.z)
    return State(z, mean, square, steps), None


@jax.jit
def block(a: Arrays, free: Array, shape: Shape, state: State, knobs: Knobs) -> State:
    """Make len(knobs.rate) steps of every seed. `free` (N,) 1 = may move now; shape and state have a leading seed axis.

    An accelerator takes all seeds at once (vmap). A CPU takes one after another: there a batched scatter costs four
    times as much per seed as a single one (measured, docs/analytic.md).
    """

    def one(seed: tuple[Shape, State]) -> State:
        return jax.lax.scan(lambda s, k: _step(a, free, seed[0], s, k), seed[1], knobs)[0]

    return jax.lax.map(one, (shape, state)) if jax.default_backend() == "cpu" else jax.vmap(one)((shape, state))


def new_state(z: Array) -> State:
    """At rest at `z` (seeds, 2, N)."""
    return State(z, jnp.zeros_like(z), jnp.zeros_like(z), jnp.zeros(z.shape[0], z.dtype))
