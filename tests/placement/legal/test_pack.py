"""Constructive packing: succeeds on what reasonably can be packed, refuses with numbers what cannot."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netlists.errors import InfeasibleError
from netlists.model import Design, Orientation, Placement
from placement.legal import check, pack


def sizes_of_utilisation(seed: int, count: int, share: float, ratio: float = 8.0) -> list[tuple[float, float]]:
    """Random sizes, sides within a factor of `ratio`, that cover `share` of 100 x 100 together."""
    size = np.random.default_rng(seed).uniform(1, ratio, (count, 2))
    size *= np.sqrt(share * 1e4 / np.prod(size, axis=1).sum())
    return [tuple(s) for s in size]


def float32_overlaps(design: Design, placement: Placement) -> int:
    """Overlapping pairs and boxes outside when every edge is computed in float32, with no tolerance."""
    x, y = placement.x_um.astype(np.float32), placement.y_um.astype(np.float32)
    w, h = design.netlist.width_um.astype(np.float32), design.netlist.height_um.astype(np.float32)
    two = np.float32(2)
    low_x, high_x, low_y, high_y = x - w / two, x + w / two, y - h / two, y + h / two
    pairs = (
        (low_x[:, None] < high_x[None])
        & (low_x[None] < high_x[:, None])
        & (low_y[:, None] < high_y[None])
        & (low_y[None] < high_y[:, None])
    )
    W, H = np.float32(design.canvas.width_um), np.float32(design.canvas.height_um)
    outside = (low_x < 0) | (low_y < 0) | (high_x > W) | (high_y > H)
    return (int(pairs.sum()) - len(x)) // 2 + int(outside.sum())


@pytest.mark.parametrize(
    "design",
    [
        {"sizes": [(50, 50)] * 4},
        {"sizes": [(100, 50)] * 2},
        {"sizes": [(100, 100)]},
        {"sizes": [(100 / 3, 100 / 3)] * 9},
        {"sizes": [(100 / 7, 100 / 7)] * 49},
        {"sizes": [(60, 40), (40, 60), (60, 40), (40, 60), (20, 20)]},  # a pinwheel: no straight cut separates it
        {"sizes": [(70, 70), (30, 70), (100, 30)]},
        {"sizes": [(40, 100)], "centres": [(0, 0)], "blockages": [(0, 0, 30, 100), (70, 0, 100, 100)]},
        {"sizes": [(20, 20), (100, 40), (100, 40)], "centres": [(50, 50), (0, 0), (0, 0)], "fixed": [0]},
        {"sizes": [(4, 20)] * 3, "orientation": [Orientation.E] * 3},
        {"sizes": [(0, 0), (0, 7), (100, 100)]},
        {"sizes": [(30, 30)], "centres": [(50, 50)], "fixed": [0]},
        {"sizes": []},
    ],
)
def test_packs(make_design, design: dict) -> None:
    made = make_design(**design)
    packed = pack(made)
    assert check(made, packed).legal, check(made, packed).problems()
    held = made.start.fixed
    assert np.array_equal(packed.x_um[held], made.start.x_um[held])
    assert np.array_equal(packed.orientation, made.start.orientation)


@pytest.mark.parametrize("seed", range(100))
def test_seventy_small_macros_at_low_use(make_design, seed: int) -> None:
    """Field report: a tiny change of input must not turn success into failure."""
    design = make_design(sizes_of_utilisation(seed, 70, 0.015, ratio=4.0))
    packed = pack(design)
    assert check(design, packed).legal
    assert float32_overlaps(design, packed) == 0


@pytest.mark.parametrize("share", [0.6, 0.85])
def test_eight_hundred_macros(make_design, share: float) -> None:
    blockages = [(0.0, 0.0, 10.0, 10.0), (40.0, 40.0, 55.0, 55.0)] if share < 0.8 else []
    design = make_design(sizes_of_utilisation(1, 800, share), blockages=blockages)
    packed = pack(design)
    assert check(design, packed).legal
    assert float32_overlaps(design, packed) == 0


def test_needs_the_exact_search(make_design) -> None:
    """Fits in few ways, none of which a sorted order with a corner rule finds."""
    sizes = [(64, 42), (36, 58), (64, 39), (36, 42), (25, 19), (39, 19)]
    design = make_design(sizes)
    assert sum(w * h for w, h in sizes) == pytest.approx(1e4)
    assert check(design, pack(design)).legal


def test_failure_says_what_was_tried(make_design) -> None:
    """Three of 60 x 30 upright beside two fixed ones: area and counts allow it, geometry does not."""
    design = make_design(
        [(60, 45), (60, 45), (45, 60)],
        centres=[(50, 50)] * 3,
    )
    with pytest.raises(InfeasibleError) as error:
        pack(design)
    for word in ("3 movable macros", "8100", "100 x 100", "81.0 %", "exact search"):
        assert word in str(error.value)


def test_the_same_each_time(make_design) -> None:
    design = make_design(sizes_of_utilisation(5, 60, 0.8))
    assert np.array_equal(pack(design).x_um, pack(design).x_um)


@st.composite
def loosely_cut(draw: st.DrawFn) -> list[tuple[float, float]]:
    """A canvas cut into pieces, each then shrunk to 70 % in area: feasible by construction."""
    pieces = [(100.0, 100.0)]
    for _ in range(draw(st.integers(0, 25))):
        w, h = pieces.pop(int(np.argmax([a * b for a, b in pieces])))
        share = draw(st.floats(0.25, 0.75))
        pieces += [(w * share, h), (w - w * share, h)] if draw(st.booleans()) else [(w, h * share), (w, h - h * share)]
    return [(w * 0.84, h * 0.84) for w, h in pieces]


@settings(max_examples=60, deadline=None)
@given(loosely_cut())
def test_any_loosely_cut_canvas_is_packed(make_design, pieces: list[tuple[float, float]]) -> None:
    design = make_design(pieces)
    packed = pack(design)
    assert check(design, packed).legal
    assert float32_overlaps(design, packed) == 0
