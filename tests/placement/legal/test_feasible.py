"""Bounds: what can never fit is refused with its numbers; what fits is never refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netlists.errors import InfeasibleError
from placement.legal import check_feasible
from placement.legal.feasible import union_area_um2


@pytest.mark.parametrize(
    ("design", "words"),
    [
        ({"sizes": [(120, 10)]}, ["'m0'", "120 x 10", "100 x 100"]),
        ({"sizes": [(120, 10)], "height": 130}, ["'m0'", "quarter turn", "not allowed"]),
        ({"sizes": [(50, 50)] * 5}, ["12500", "10000", "125.0 %"]),
        ({"sizes": [(50.00001, 100)] * 2}, ["10000.002 µm²", "10000 µm²", "100.00002 %"]),
        ({"sizes": [(100.00002, 50)]}, ["100.00002 x 50", "canvas 100 x 100"]),
        ({"sizes": [(51, 51)] * 2}, ["2 macros", "no more than 1"]),
        ({"sizes": [(34, 60)] * 3}, ["3 macros", "wider than 33.3333", "taller than 50", "no more than 2"]),
        ({"sizes": [(90, 90)], "blockages": [(0, 0, 100, 30)]}, ["8100", "7000"]),
        (
            {"sizes": [(10, 10), (10, 10)], "centres": [(20, 20), (25, 20)], "fixed": [0, 1]},
            ["fixed", "'m0'", "'m1'", "5 x 10"],
        ),
        ({"sizes": [(10, 10)], "centres": [(3, 50)], "fixed": [0]}, ["fixed", "'m0'", "sticks out", "2 µm"]),
        (
            {"sizes": [(10, 10)], "centres": [(50, 50)], "fixed": [0], "blockages": [(53, 0, 60, 100)]},
            ["fixed", "'m0'", "blockage 0", "2 x 10"],
        ),
        ({"sizes": [(10, 10)], "centres": [(np.nan, 50)], "fixed": [0]}, ["'m0'", "fixed", "finite"]),
        ({"sizes": [(np.nan, 10)]}, ["'m0'", "width", "nan"]),
        ({"sizes": [(10, -1)]}, ["'m0'", "height", "-1"]),
        ({"sizes": [(10, 10)], "width": np.inf}, ["canvas", "inf"]),
        ({"sizes": [(1, 1)], "blockages": [(0, 0, 100, 100)]}, ["without any free area"]),
    ],
)
def test_refused_with_numbers(make_design, design: dict, words: list[str]) -> None:
    with pytest.raises(InfeasibleError) as error:
        check_feasible(make_design(**design))
    for word in words:
        assert word in str(error.value)


@pytest.mark.parametrize("sizes", [[(120, 10)], [(50, 50)] * 5, [(51, 51)] * 2])
def test_a_derived_canvas_is_named_as_such(make_design, sizes: list) -> None:
    given = make_design(sizes)
    with pytest.raises(InfeasibleError) as error:
        check_feasible(given)
    assert ".plc" not in str(error.value)
    with pytest.raises(InfeasibleError, match=r"this canvas is derived from the netlist, a \.plc file sets another"):
        check_feasible(replace(given, derived={"canvas": "100 x 100 µm: a rule"}))


@pytest.mark.parametrize(
    "design",
    [
        {"sizes": [(50, 50)] * 4},
        {"sizes": [(100, 50)] * 2},
        {"sizes": [(100, 100)]},
        {"sizes": [(100 / 3, 100 / 3)] * 9},
        {"sizes": [(50, 100), (10, 10)], "centres": [(25, 50), (0, 0)], "fixed": [0], "blockages": [(50, 0, 90, 100)]},
        {"sizes": [(10, 10)] * 3, "centres": [(5, 5), (15, 5), (25, 5)], "fixed": [0, 1, 2]},
        {"sizes": []},
    ],
)
def test_what_fits_is_not_refused(make_design, design: dict) -> None:
    check_feasible(make_design(**design))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(*[st.integers(-3, 12)] * 4), max_size=8))
def test_union_area_counts_cells(corners: list[tuple[int, int, int, int]]) -> None:
    rectangles = np.array([(min(a, c), min(b, d), max(a, c), max(b, d)) for a, b, c, d in corners], float).reshape(
        -1, 4
    )
    covered = {
        (x, y)
        for r in rectangles.astype(int)
        for x in range(max(r[0], 0), min(r[2], 10))
        for y in range(max(r[1], 0), min(r[3], 9))
    }
    assert union_area_um2(rectangles, np.array([0.0, 0.0, 10.0, 9.0])) == pytest.approx(len(covered))


@st.composite
def cut_canvas(draw: st.DrawFn) -> list[tuple[float, float]]:
    """Sizes of the pieces of a canvas cut by straight cuts: they fit by construction, with nothing left over."""
    pieces = [(100.0, 100.0)]
    for _ in range(draw(st.integers(0, 12))):
        w, h = pieces.pop(draw(st.integers(0, len(pieces) - 1)))
        share = draw(st.floats(0.1, 0.9))
        pieces += [(w * share, h), (w - w * share, h)] if draw(st.booleans()) else [(w, h * share), (w, h - h * share)]
    return pieces


@settings(max_examples=100, deadline=None)
@given(cut_canvas())
def test_a_cut_canvas_is_never_refused(make_design, pieces: list[tuple[float, float]]) -> None:
    check_feasible(make_design(pieces))
