"""Maximal free rectangles against all rectangles of the coordinate grid; nearest centre against all candidates."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placement.legal.free_space import BOTTOM_LEFT, choose_corner, free_space, nearest_centre

SIDE = 12
CANVAS = np.array([0.0, 0.0, SIDE, SIDE])

boxes = st.lists(
    st.tuples(st.integers(-1, SIDE - 1), st.integers(-1, SIDE - 1), st.integers(1, 6), st.integers(1, 6)).map(
        lambda v: (v[0], v[1], v[0] + v[2], v[1] + v[3])
    ),
    max_size=7,
)


def meets(a: tuple, b: tuple) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def holds(a: tuple, b: tuple) -> bool:
    return a[0] <= b[0] and a[1] <= b[1] and a[2] >= b[2] and a[3] >= b[3]


def slow_free(obstacles: list[tuple]) -> set[tuple]:
    """Every empty rectangle with edges on obstacle or canvas edges that lies in no other empty one."""
    xs = sorted({0, SIDE} | {min(max(v, 0), SIDE) for o in obstacles for v in (o[0], o[2])})
    ys = sorted({0, SIDE} | {min(max(v, 0), SIDE) for o in obstacles for v in (o[1], o[3])})
    empty = [
        (x0, y0, x1, y1)
        for (x0, x1), (y0, y1) in itertools.product(itertools.combinations(xs, 2), itertools.combinations(ys, 2))
        if not any(meets((x0, y0, x1, y1), o) for o in obstacles)
    ]
    return {r for r in empty if not any(q != r and holds(q, r) for q in empty)}


def found(obstacles: list[tuple]) -> tuple[np.ndarray, int]:
    return free_space(CANVAS, np.array(obstacles, float).reshape(-1, 4))


@settings(max_examples=150, deadline=None)
@given(boxes)
def test_all_maximal_rectangles_and_no_others(obstacles: list[tuple]) -> None:
    free, count = found(obstacles)
    assert len({tuple(r) for r in free[:count]}) == count
    assert {tuple(map(int, r)) for r in free[:count]} == slow_free(obstacles)


@settings(max_examples=150, deadline=None)
@given(boxes, st.integers(1, 5), st.integers(1, 5), st.integers(-2, SIDE + 2), st.integers(-2, SIDE + 2))
def test_nearest_centre_is_the_nearest(obstacles: list[tuple], w: int, h: int, x: int, y: int) -> None:
    free, count = found(obstacles)
    cx, cy, squared = nearest_centre(free, count, float(w), float(h), float(x), float(y))
    # the nearest legal centre lies at the wish or where an edge of the box meets an edge, in x and in y
    xs = {float(x), w / 2, SIDE - w / 2} | {v for o in obstacles for v in (o[0] - w / 2, o[2] + w / 2)}
    ys = {float(y), h / 2, SIDE - h / 2} | {v for o in obstacles for v in (o[1] - h / 2, o[3] + h / 2)}

    def legal(a: float, b: float) -> bool:
        box = (a - w / 2, b - h / 2, a + w / 2, b + h / 2)
        return holds(tuple(CANVAS), box) and not any(meets(box, o) for o in obstacles)

    distances = [(a - x) ** 2 + (b - y) ** 2 for a in xs for b in ys if legal(a, b)]
    if not distances:
        assert squared == np.inf
        return
    assert squared == pytest.approx(min(distances))
    assert legal(cx, cy)


@settings(max_examples=100, deadline=None)
@given(boxes, st.integers(1, 6), st.integers(1, 6))
def test_a_corner_is_found_exactly_where_the_box_fits(obstacles: list[tuple], w: int, h: int) -> None:
    free, count = found(obstacles)
    fits = any(r[2] - r[0] >= w and r[3] - r[1] >= h for r in slow_free(obstacles))
    assert (choose_corner(free, count, float(w), float(h), BOTTOM_LEFT) >= 0) is fits


def test_a_box_without_area_takes_nothing() -> None:
    free, count = free_space(CANVAS, np.array([[3.0, 0.0, 3.0, 12.0]]))
    assert free[:count].tolist() == [CANVAS.tolist()]
