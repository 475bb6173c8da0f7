"""The judge against an obvious twin, and each rule by name."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netlists.model import Orientation
from placement.legal import TOLERANCE_UM, check
from placement.legal.overlaps import pairs_um


def slow_pairs(corners: list[tuple[float, float, float, float]]) -> dict[tuple[int, int], tuple[float, float]]:
    """Every pair of boxes that share more than the tolerance both ways."""
    found = {}
    for a in range(len(corners)):
        for b in range(a + 1, len(corners)):
            p, q = corners[a], corners[b]
            dx, dy = min(p[2], q[2]) - max(p[0], q[0]), min(p[3], q[3]) - max(p[1], q[1])
            if dx > TOLERANCE_UM and dy > TOLERANCE_UM:
                found[a, b] = (dx, dy)
    return found


box = st.tuples(st.integers(0, 20), st.integers(0, 20), st.integers(0, 8), st.integers(0, 8)).map(
    lambda v: (v[0] / 2, v[1] / 2, (v[0] + v[2]) / 2, (v[1] + v[3]) / 2)
)


@settings(max_examples=200, deadline=None)
@given(st.lists(box, max_size=25))
def test_pairs_equal_the_slow_twin(corners: list[tuple[float, float, float, float]]) -> None:
    pairs, extent, count = pairs_um(np.array(corners).reshape(-1, 4))
    expected = slow_pairs(corners)
    assert count == len(expected)
    assert {tuple(map(int, p)): tuple(e) for p, e in zip(pairs, extent, strict=True)} == expected


@pytest.mark.parametrize("scale", [1.0, 50.0])  # canvas of 100 µm and of 5 mm
@pytest.mark.parametrize(("gap", "legal"), [(0.0, True), (1e-10, True), (-1e-10, True), (-1e-6, False), (-1e-3, False)])
def test_tolerance(make_design, scale: float, gap: float, legal: bool) -> None:
    """Overlaps of 1e-6 µm are found; abutting boxes and their float noise are not overlaps."""
    w = 10.1 * scale
    x = 33.3 * scale
    design = make_design(
        [(w, w), (w, w)], width=100 * scale, height=100 * scale, centres=[(x, x), (x + w + gap, x + w / 3)]
    )
    report = check(design, design.start)
    assert report.legal is legal
    assert report.overlap_count == int(not legal)
    if not legal:
        assert report.overlap_um[0, 0] == pytest.approx(-gap, abs=1e-9)


def test_sticking_out_by_a_millionth_is_illegal(make_design) -> None:
    design = make_design([(10, 10), (10, 10)], centres=[(5 - 1e-6, 50), (95, 95)])
    report = check(design, design.start)
    assert report.outside.tolist() == [0]
    assert not report.legal
    assert "'m0'" in report.problems()[0]
    assert "canvas" in report.problems()[0]


def test_blockage_touching_is_legal_and_on_it_is_not(make_design) -> None:
    """Field report: a macro 10 x 10 that touches a blockage edge has no overlap."""
    touching = make_design([(10, 10)], centres=[(25, 25)], blockages=[(30, 0, 40, 100)])
    assert check(touching, touching.start).legal
    on = make_design([(10, 10)], centres=[(25.5, 25)], blockages=[(0, 0, 1, 1), (30, 0, 40, 100)])
    report = check(on, on.start)
    assert report.blocked.tolist() == [[0, 1]]
    assert report.blocked_um.tolist() == [[0.5, 10.0]]


def test_orientation_decides_the_box(make_design) -> None:
    design = make_design([(20, 4), (20, 4)], centres=[(10, 10), (10, 16)], orientation=[Orientation.N, Orientation.E])
    assert check(design, design.start).overlaps.tolist() == [[0, 1]]


def test_turning_out_of_its_class_is_illegal(make_design) -> None:
    design = make_design([(10, 10)], centres=[(50, 50)])
    flipped = design.start.moved(orientation=np.array([Orientation.FS], np.int8))
    turned = design.start.moved(orientation=np.array([Orientation.W], np.int8))
    assert check(design, flipped).legal
    assert check(design, turned).turned.tolist() == [0]


def test_fixed_nodes_and_ports_stay(make_design) -> None:
    design = make_design([(10, 10), (10, 10), (0, 0)], centres=[(20, 20), (50, 50), (0, 10)], fixed=[0], ports=[2])
    moved = design.start.moved(x_um=design.start.x_um + np.array([1e-6, 5.0, 0.5]))
    assert check(design, moved).moved_fixed.tolist() == [0, 2]
    flipped = design.start.moved(orientation=np.array([Orientation.FN, Orientation.FN, 0], np.int8))
    assert check(design, flipped).moved_fixed.tolist() == [0]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_positions_that_are_no_numbers(make_design, bad: float) -> None:
    design = make_design([(10, 10), (10, 10), (1, 1)], centres=[(20, 20), (50, 50), (9, 9)], soft=[2])
    report = check(design, design.start.moved(x_um=np.array([bad, 50.0, bad])))
    assert report.not_finite.tolist() == [0, 2]
    assert not report.legal
    assert report.overlap_count == 0


def test_soft_macros_outside_are_a_warning(make_design) -> None:
    design = make_design([(10, 10), (4, 4)], centres=[(50, 50), (1, 50)], soft=[1])
    report = check(design, design.start)
    assert report.legal
    assert report.soft_outside.tolist() == [1]
    assert "'m1'" in report.warnings()[0]


def test_boxes_without_area_never_overlap(make_design) -> None:
    design = make_design([(10, 10), (0, 5), (0, 0)], centres=[(50, 50)] * 3)
    assert check(design, design.start).legal


def test_problems_are_capped_and_the_rest_counted(make_design) -> None:
    design = make_design([(1, 1)] * 60)
    report = check(design, design.start)
    assert report.overlap_count == 60 * 59 // 2
    problems = report.problems()
    assert len(problems) == 21
    assert problems[-1] == f"and {60 * 59 // 2 - 20} more"


def test_all_macros_on_one_point_are_counted_but_not_all_kept(make_design) -> None:
    design = make_design([(1, 1)] * 1000)
    report = check(design, design.start)
    assert report.overlap_count == 1000 * 999 // 2
    assert len(report.overlaps) <= 100_000


def test_thousands_of_macros_are_judged_at_once(make_design) -> None:
    """A sweep, not all pairs in Python: 5,000 abutting macros in well under a second (a hang would be minutes)."""
    side = 71
    centres = [(i % side + 0.5, i // side + 0.5) for i in range(5000)]
    design = make_design([(1, 1)] * 5000, width=side, height=side, centres=centres)
    begin_s = time.monotonic()
    assert check(design, design.start).legal
    assert time.monotonic() - begin_s < 30


def test_a_placement_of_another_netlist_is_refused(make_design) -> None:
    with pytest.raises(ValueError, match="placement has 1 nodes, netlist 2"):
        check(make_design([(1, 1)] * 2), make_design([(1, 1)]).start)


def test_nothing_to_judge(make_design) -> None:
    design = make_design([])
    assert check(design, design.start).legal
    assert check(design, design.start).problems() == []
