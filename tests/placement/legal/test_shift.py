"""Shifting: legal, order kept where nothing forces another, and nearer than jumping away when the canvas is full."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from netlists.errors import InfeasibleError
from placement.legal.legalise import displacement_um, place_nearest
from placement.legal.overlaps import outside_um, pairs_um
from placement.legal.pack import pack
from placement.legal.shift import shift_apart

CANVAS = np.array([0.0, 0.0, 100.0, 100.0])
NOTHING = np.zeros((0, 4))
NO_ROOMS = np.zeros((0, 4))


def shifted(size: np.ndarray, wish: np.ndarray, obstacles: np.ndarray = NOTHING) -> np.ndarray | None:
    centre, found = shift_apart(CANVAS, obstacles, size[:, 0].copy(), size[:, 1].copy(), wish, wish)
    return centre if found else None


def assert_apart(size: np.ndarray, centre: np.ndarray, obstacles: np.ndarray = NOTHING) -> None:
    corners = np.concatenate([centre - size / 2, centre + size / 2], axis=1)
    assert outside_um(corners, CANVAS).max() <= 1e-9
    assert pairs_um(np.concatenate([corners, obstacles]))[2] == 0


def test_two_share_the_way() -> None:
    """An overlap of 1 µm in x: half of it each."""
    centre = shifted(np.full((2, 2), 10.0), np.array([[40.0, 50.0], [49.0, 52.0]]))
    assert centre is not None
    np.testing.assert_allclose(centre, [[39.5, 50.0], [49.5, 52.0]])


def test_a_row_at_the_edge_moves_away_from_it() -> None:
    centre = shifted(np.full((3, 2), 10.0), np.array([[5.0, 50.0], [14.0, 50.0], [23.0, 50.0]]))
    assert centre is not None
    np.testing.assert_allclose(centre[:, 0], [5.0, 15.0, 25.0])


def test_a_row_too_long_for_the_canvas_uses_the_other_axis() -> None:
    size = np.full((11, 2), 10.0)
    wish = np.stack([np.linspace(5, 95, 11), 50 + np.arange(11) % 2], axis=1)
    centre = shifted(size, wish)
    assert centre is not None
    assert_apart(size, centre)


def test_heaps_are_refused() -> None:
    assert shifted(np.full((3, 2), 10.0), np.full((3, 2), 50.0)) is None


def test_more_than_fits_is_refused() -> None:
    wish = np.stack([np.repeat([16.0, 50.0, 84.0], 3), np.tile([16.0, 50.0, 84.0], 3)], axis=1)
    assert shifted(np.full((9, 2), 33.5), wish) is None


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), count=st.integers(2, 40), share=st.floats(0.3, 0.85), jitter=st.floats(0.01, 2))
def test_what_it_finds_is_apart(make_design, seed: int, count: int, share: float, jitter: float) -> None:
    """From packed places jittered, beside an obstacle."""
    random = np.random.default_rng(seed)
    size = random.uniform(1, 4, (count, 2))
    size *= np.sqrt(share * 1e4 / np.prod(size, axis=1).sum())
    size = np.minimum(size, 45)
    obstacle = np.array([[0.0, 0.0, 20.0, 10.0]])
    try:
        packed = pack(make_design(size, blockages=obstacle))
    except InfeasibleError:
        return
    centre = np.stack([packed.x_um, packed.y_um], axis=1)
    wish = np.clip(centre + random.normal(0, jitter, (count, 2)), size / 2, 100 - size / 2)
    found = shifted(size, wish, obstacle)
    if found is not None:
        assert_apart(size, found, obstacle)


def test_nearer_than_one_by_one_on_a_full_canvas() -> None:
    """81 of 11 x 11 µm (98 % of the canvas) from a jittered grid: one by one, the last find no place at all."""
    random = np.random.default_rng(1)
    grid = np.stack(np.meshgrid(np.arange(9), np.arange(9)), axis=-1).reshape(-1, 2) * 11.0 + 6.0
    size = np.full((81, 2), 11.0)
    wish = np.clip(grid + random.normal(0, 0.3, grid.shape), 5.5, 94.5)
    centre = shifted(size, wish)
    assert centre is not None
    assert_apart(size, centre)
    assert displacement_um(centre, wish) < 81 * 1.0
    order = np.lexsort((wish[:, 1], wish.sum(axis=1))).astype(np.int32)
    _, placed = place_nearest(
        CANVAS, NOTHING, size[:, 0].copy(), size[:, 1].copy(), wish, order, np.zeros(82, np.int32), NO_ROOMS
    )
    assert placed < 81
