"""The terms of the smooth cost: positions in, numbers out. Pure JAX; each tends to its exact twin of `placement.cost`.

`z` (2, N) are centres in cells, columns then rows. Temperatures, all falling during a placement: `gamma` of the
wirelength in cells; `blur` in (0, 1], the width in cells over which a terminal changes its cell; `spread` in cells,
below which no box is narrower; `heat`, in units of density or demand, of the mean of the largest.
Sources: weighted-average wirelength: Hsu, Chang and Balabanov 2011; electrostatic density: Lu et al. (ePlace) 2015;
mean of the largest as a minimum over one number: Rockafellar and Uryasev 2000. Routes: placement/cost/congestion.py.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from placement.analytic.arrays import Arrays
from placement.analytic.shape import Shape

_BISECTIONS = 24


def terminals(a: Arrays, z: Array) -> Array:
    """(2, T) positions of terminals."""
    return z[:, a.term_node] + a.term_offset


def wirelength(a: Arrays, term: Array, gamma: Array) -> Array:
    """Weighted-average wirelength cost. term (2, T)."""
    nets = a.net_cost.shape[1]
    at = term[:, a.conn_term]

    def longest(at: Array) -> Array:
        """(2, E) smooth maximum."""
        zero = jnp.full((2, nets), -1e9, at.dtype)
        top = jax.lax.stop_gradient(zero.at[:, a.conn_net].max(at))
        rise = jnp.exp((at - top[:, a.conn_net]) / gamma)
        sums = jnp.zeros((4, nets), at.dtype).at[:, a.conn_net].add(jnp.concatenate([rise, rise * at]))
        return sums[2:] / jnp.maximum(sums[:2], 1e-12)

    return jnp.sum((longest(at) + longest(-at)) * a.net_cost)


def largest(values: Array, count: Array, heat: Array) -> Array:
    """Smooth mean of the `count` largest of `values` (any shape; pads far below 0); from above as heat falls to 0.

    min over t of t + heat/count · Σ softplus((v - t)/heat): at the best t the logistic weights sum to `count`.
    """
    v = jax.lax.stop_gradient(values)

    def halve(_: int, bounds: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = bounds
        middle = (low + high) / 2
        above = jnp.sum(jax.nn.sigmoid((v - middle) / heat)) > count
        return jnp.where(above, middle, low), jnp.where(above, high, middle)

    reach = heat * 40
    low, high = jax.lax.fori_loop(0, _BISECTIONS, halve, (-reach, jnp.max(v) + reach))
    threshold = (low + high) / 2
    return threshold + heat / count * jnp.sum(jax.nn.softplus((values - threshold) / heat))


def covered(centre: Array, half: Array, count: int, spread: Array) -> Array:
    """(count, n) length that each box shares with each line of cells, no box narrower than `spread` (same total)."""
    wide = jnp.maximum(half, spread / 2)
    edge = jnp.arange(count, dtype=centre.dtype)[:, None]
    low, high = centre - wide, centre + wide
    length = jnp.clip(jnp.minimum(high, edge + 1) - jnp.maximum(low, edge), 0)
    return length * jnp.where(wide > 0, half / jnp.maximum(wide, 1e-9), 0)


def density_map(a: Arrays, z: Array, spread: Array) -> Array:
    """(R, C) share of each cell that hard and soft macros cover."""
    rows, columns = a.valid.shape
    return covered(z[1], a.half[1], rows, spread) @ covered(z[0], a.half[0], columns, spread).T


def density(a: Arrays, amount: Array, heat: Array) -> Array:
    """Density cost of a map (R, C)."""
    inside = jnp.where(a.valid > 0, amount, -1e6)
    few = jnp.sum(amount) / jnp.maximum(jnp.sum(amount > 0), 1)
    return 0.5 * jnp.where(a.density_top > 0, largest(inside, jnp.maximum(a.density_top, 1), heat), few)


def potential_energy(a: Arrays, amount: Array) -> Array:
    """Electrostatic energy of a density map (R, C) per cell: large while anything is crowded, also far inside."""
    modes = a.modes_y @ amount @ a.modes_x.T
    return 0.5 * jnp.sum(a.potential * modes**2) * a.overlap_scale


def _step(distance: Array, blur: Array) -> Array:
    """0 below, 1 above, a ramp of width `blur` between."""
    return jnp.clip(distance / blur + 0.5, 0, 1)


def _cell(at: Array, size: Array, blur: Array) -> tuple[Array, Array]:
    """The two cells a terminal may lie in, as the first one and the share of the second."""
    u = jnp.clip(at - 0.5, 0, size - 1)
    first = jnp.clip(jnp.floor(jax.lax.stop_gradient(u)), 0, jnp.maximum(size - 2, 0))
    return first.astype(jnp.int32), _step(u - first - 0.5, blur)


def _deposit(count: int, width: int, line: tuple, start: tuple, end: tuple, sign: Array) -> Array:
    """(count, width) changes of demand along each line: +sign at the start, -sign at the end, by the nearest cells."""
    index, amount = [], []
    for (cell, share), side in ((start, sign), (end, -sign)):
        for down in (0, 1):
            of_line = (line[1] if down else 1 - line[1]) * side
            at = (line[0] + down) * width + cell
            index += [at, at + 1]
            amount += [of_line * (1 - share), of_line * share]
    flat = jnp.zeros((count + 1) * width + 1, amount[0].dtype)
    flat = flat.at[jnp.concatenate(index)].add(jnp.concatenate(amount), mode="promise_in_bounds")
    return flat[: count * width].reshape(count, width)


def demand_maps(a: Arrays, z: Array, term: Array, shape: Shape, blur: Array) -> tuple[Array, Array]:
    """(R, C), (R, C) horizontal and vertical demand as shares of supply, smoothed, with the hard macros' blockage."""
    rows, columns = a.valid.shape
    col, row = _cell(term[0], a.size[0], blur), _cell(term[1], a.size[1], blur)

    def pick(cells: tuple[Array, Array], which: Array) -> tuple[Array, Array]:
        return cells[0][which], cells[1][which]

    def sums(size: int) -> Array:
        return jnp.triu(jnp.ones((size, size), z.dtype))

    t = shape.hor
    sign = shape.hor_weight * jnp.sign(term[0][t[2]] - term[0][t[1]])
    hor = _deposit(rows, columns, pick(row, t[0]), pick(col, t[1]), pick(col, t[2]), sign)
    hor = a.hor_reach @ (hor * a.hor_share[:, None]) @ sums(columns)
    t = shape.ver
    sign = shape.ver_weight * jnp.sign(term[1][t[2]] - term[1][t[1]])
    ver = _deposit(columns, rows, pick(col, t[0]), pick(row, t[1]), pick(row, t[2]), sign)
    ver = a.ver_reach @ (ver * a.ver_share[:, None]) @ sums(rows)

    centre, half = z[:, a.box_node], a.half[:, a.box_node]
    low, high = centre - half, centre + half
    hor_taken = (a.blocked[0] * a.box_hard) * covered(centre[1], half[1], rows, jnp.zeros((), z.dtype))
    ver_taken = (a.blocked[1] * a.box_hard) * covered(centre[0], half[0], columns, jnp.zeros((), z.dtype))
    hor = hor + hor_taken @ _lines(low[0], high[0], columns, blur).T
    ver = ver + ver_taken @ _lines(low[1], high[1], rows, blur).T
    return hor, ver.T


def _lines(low: Array, high: Array, count: int, blur: Array) -> Array:
    """(count, n) 1 for the lines of cells that a box touches, without the last one where it spans several (rule)."""
    edge = jnp.arange(count, dtype=low.dtype)[:, None]
    return _step(edge + 1 - low, blur) - _step(edge + 1 - jnp.maximum(high, low + 1), blur)


def congestion(a: Arrays, hor: Array, ver: Array, heat: Array) -> Array:
    """Congestion cost of two maps (R, C)."""
    inside = jnp.where(a.valid > 0, jnp.stack([hor, ver]), -1e6)
    return largest(inside, a.congestion_top, heat)


def overlap(a: Arrays, z: Array, pairs: Array, margin: Array) -> Array:
    """Area that the pairs of padded boxes share, as a share of the grid, boxes `margin` cells wider."""
    centre, half = z[:, a.box_node] + a.box_offset, a.box_half
    apart = jnp.abs(centre[:, pairs[0]] - centre[:, pairs[1]])
    shared = jnp.clip(half[:, pairs[0]] + half[:, pairs[1]] + margin - apart, 0)
    both = (a.box_half[0] > 0).astype(z.dtype)
    return jnp.sum(shared[0] * shared[1] * both[pairs[0]] * both[pairs[1]]) * a.overlap_scale
