"""Polygons against counting unit squares."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlists.lefdef.polygon import Rect, rectangles

L_SHAPE = [(0, 0), (0, 100), (50, 100), (50, 50), (100, 50), (100, 0)]


def test_rest_of_an_l() -> None:
    assert rectangles(L_SHAPE, inside=False) == [(50, 50, 100, 100)]
    assert rectangles(L_SHAPE[::-1], inside=True) == [(0, 0, 100, 50), (0, 50, 50, 100)]


@pytest.mark.parametrize(
    ("corners", "reason"),
    [
        ([(0, 0), (0, 10), (10, 5)], "at least 4"),
        ([(0, 0), (0, 10), (10, 5), (10, 0)], "slanted"),
        ([(0, 0), (10, 0), (10, 10), (5, 10), (5, -5), (0, -5)], "crosses itself"),
        ([(0, 0), (10, 0), (10, 10), (0, 10), (0, 5), (10, 5), (10, 2), (0, 2)], "itself|on each other"),
    ],
)
def test_refusals(corners: list[tuple[int, int]], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        rectangles(corners, inside=True)


@given(st.lists(st.tuples(st.integers(1, 6), st.integers(1, 9)), min_size=1, max_size=8))
def test_both_halves_fill_the_box(steps: list[tuple[int, int]]) -> None:
    """Skylines: columns of given width and height, from y = 0."""
    corners, x = [(0, 0)], 0
    for width, height in steps:
        corners += [(x, height), (x + width, height)]
        x += width
    corners.append((x, 0))
    top = max(height for _, height in steps)
    expected = np.zeros((x, top), dtype=int)
    x = 0
    for width, height in steps:
        expected[x : x + width, :height] = 1
        x += width
    assert np.array_equal(painted(rectangles(corners, inside=True), expected.shape), expected)
    assert np.array_equal(painted(rectangles(corners, inside=False), expected.shape), 1 - expected)


def painted(rects: list[Rect], shape: tuple[int, ...]) -> np.ndarray:
    squares = np.zeros(shape, dtype=int)
    for llx, lly, urx, ury in rects:
        squares[llx:urx, lly:ury] += 1
    return squares
