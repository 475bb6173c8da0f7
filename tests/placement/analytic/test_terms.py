"""The smooth terms: their gradients against differences, and what they tend to, in float64."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import enable_x64

from netlists.model import Design
from placement.analytic import terms
from placement.analytic.arrays import Arrays
from placement.analytic.engine import Engine
from placement.analytic.shape import Shape
from placement.cost import cost_maps, evaluate

SHAPES = [(0, 9, 7, 0), (1, 9, 7, 2), (2, 16, 5, 1), (3, 24, 21, 2), (4, 1, 1, 0), (5, 1, 12, 1), (6, 3, 3, 1)]


@pytest.fixture(autouse=True)
def _float64() -> Iterator[None]:
    with enable_x64():
        yield


@partial(jax.jit, static_argnums=0)  # compiled once per term and bucket
def value(name: str, a: Arrays, shape: Shape, z: jax.Array, t: jax.Array) -> jax.Array:
    amount = terms.density_map(a, z, t)
    if name == "wirelength":
        return terms.wirelength(a, terms.terminals(a, z), t)
    if name == "density":
        return terms.density(a, amount, 0.1 * t)
    if name == "potential":
        return terms.potential_energy(a, amount)
    if name == "overlap":
        return terms.overlap(a, z, shape.pairs, t)
    return terms.congestion(a, *terms.demand_maps(a, z, terms.terminals(a, z), shape, t), 0.1 * t)


@jax.jit
def maps(a: Arrays, shape: Shape, z: jax.Array, t: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    return *terms.demand_maps(a, z, terms.terminals(a, z), shape, t), terms.density_map(a, z, t)


class Case:
    """A design at its start, everything in float64."""

    def __init__(self, design: Design) -> None:
        self.design = design
        self.engine = Engine(design, design.start.orientation)
        z = self.engine.positions(design.start)
        self.placement = self.engine.placement(z, design.start, self.engine.free)
        self.shape = self._double(self.engine.shape(z))
        self.arrays = self._double(self.engine.host)
        self.z = jnp.asarray(z, jnp.float64)

    @staticmethod
    def _double(arrays: Any) -> Any:
        return jax.tree.map(lambda v: jnp.asarray(v, jnp.float64 if v.dtype == np.float32 else v.dtype), arrays)

    def value(self, name: str, z: jax.Array, t: float) -> jax.Array:
        """A term at z, all its temperatures `t`."""
        return value(name, self.arrays, self.shape, z, jnp.float64(t))


@pytest.mark.parametrize("name", ["wirelength", "density", "congestion", "potential", "overlap"])
@pytest.mark.parametrize(("seed", "columns", "rows", "smoothing"), SHAPES[1:3])
def test_gradients_equal_differences(
    make_design: Callable[..., Design], name: str, seed: int, columns: int, rows: int, smoothing: int
) -> None:
    case = Case(make_design(seed, columns=columns, rows=rows, smoothing=smoothing))

    def function(z: jax.Array) -> jax.Array:
        return case.value(name, z, 0.7)

    gradient = np.asarray(jax.grad(function)(case.z)) * np.asarray(case.arrays.free)
    assert np.abs(gradient).max() > 0
    step = 1e-6
    rng = np.random.default_rng(seed)
    for _ in range(8):
        direction = rng.normal(size=case.z.shape) * np.asarray(case.arrays.free)
        difference = (function(case.z + step * direction) - function(case.z - step * direction)) / (2 * step)
        # 1e-4: a box or terminal that lies within a step of a kink shows only part of it
        assert float(np.sum(gradient * direction)) == pytest.approx(float(difference), rel=1e-4, abs=1e-7)


@pytest.mark.parametrize(("seed", "columns", "rows", "smoothing"), SHAPES)
def test_terms_tend_to_the_exact_costs(
    make_design: Callable[..., Design], seed: int, columns: int, rows: int, smoothing: int
) -> None:
    case = Case(make_design(seed, columns=columns, rows=rows, smoothing=smoothing))
    exact = evaluate(case.design, case.placement)
    for name, want in (
        ("wirelength", exact.wirelength_cost),
        ("density", exact.density_cost),
        ("congestion", exact.congestion_cost),
    ):
        off = [abs(float(case.value(name, case.z, t)) - want) / want for t in (1.0, 0.1, 1e-3, 1e-5)]
        assert off[-1] < 2e-5, name  # positions are float32
        assert off[-1] <= off[0] + 2e-5, name


@pytest.mark.parametrize(("seed", "columns", "rows", "smoothing"), SHAPES)
def test_cold_demand_maps_are_the_exact_maps(
    make_design: Callable[..., Design], seed: int, columns: int, rows: int, smoothing: int
) -> None:
    case = Case(make_design(seed, nets=120, columns=columns, rows=rows, smoothing=smoothing))
    exact = cost_maps(case.design, case.placement)
    hor, ver, density = maps(case.arrays, case.shape, case.z, jnp.float64(1e-7))
    np.testing.assert_allclose(hor[:rows, :columns], exact.horizontal, atol=1e-4)
    np.testing.assert_allclose(ver[:rows, :columns], exact.vertical, atol=1e-4)
    np.testing.assert_allclose(density[:rows, :columns], exact.density, atol=1e-4)


def test_routes_through_three_cells_take_every_form(make_design: Callable[..., Design]) -> None:
    """The maps above would also agree if no net of three cells came up: count the segments of L and T routes."""
    forms = set()
    for seed in range(12):
        shape: Shape = Case(make_design(seed, nets=120)).engine.shape(
            Engine(make_design(seed, nets=120), make_design(seed).start.orientation).centred(seed)
        )
        used = np.flatnonzero(shape.hor_weight)
        forms |= {(int(shape.hor[0, i] == shape.hor[1, i]), int(shape.ver_weight[i] > 0)) for i in used}
    assert {(0, 1), (1, 1), (1, 0)} <= forms  # a row that is neither end's · along the end's row · no column beside


@pytest.mark.parametrize("count", [1.0, 3.0, 20.0, 64.0])
def test_largest_tends_to_the_mean_of_the_largest_from_above(count: float) -> None:
    values = jnp.asarray(np.random.default_rng(1).uniform(0, 3, 64))
    want = float(jnp.sort(values)[::-1][: int(count)].mean())
    hot, warm, cold = (float(terms.largest(values, jnp.float64(count), jnp.float64(t))) for t in (0.3, 0.05, 1e-5))
    assert cold == pytest.approx(want, abs=1e-4)
    assert hot >= warm - 1e-9 >= cold - 2e-9  # equal where all values count
    weights = jax.grad(lambda v: terms.largest(v, jnp.float64(count), jnp.float64(0.05)))(values)
    assert float(weights.sum()) == pytest.approx(1.0, abs=1e-3)


def test_potential_pushes_a_heap_apart(make_design: Callable[..., Design]) -> None:
    case = Case(make_design(3, columns=24, rows=21))
    size = np.asarray(case.arrays.size)[:, None]
    heap = jnp.asarray(size / 2 + np.random.default_rng(0).normal(0, 0.5, case.z.shape))
    gradient = np.asarray(jax.grad(lambda z: case.value("potential", z, 1.0))(heap))
    free = np.asarray(case.arrays.free) > 0
    outward = np.asarray(heap - size / 2)[:, free]
    assert float(np.sum(-gradient[:, free] * outward)) > 0
