"""Legaliser: legal always, near where it can be, and what was legal stays as it was."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from netlists.errors import InfeasibleError
from netlists.model import NodeKind, Orientation
from placement.legal import check, legalise, pack
from placement.legal.legalise import displacement_um, draw_nearer, place_nearest, push_apart
from placement.legal.overlaps import outside_um, pairs_um

CANVAS = np.array([0.0, 0.0, 100.0, 100.0])
NOTHING = np.zeros((0, 4))
ANYWHERE = np.zeros(100, np.int32), np.zeros((0, 4))  # no rooms


def test_a_legal_start_stays_exactly(make_design) -> None:
    design = make_design([(10, 10), (10, 10), (5, 5)], centres=[(20, 20), (30, 20), (1, 1)], soft=[2])
    assert legalise(design, design.start) is design.start


def test_least_displacement_of_two(make_design) -> None:
    """Two macros sharing 1 µm in x: one moves by that much, or both together do."""
    design = make_design([(10, 10), (10, 10)], centres=[(40, 50), (49, 50)])
    result = legalise(design, design.start)
    moved = np.hypot(result.x_um - design.start.x_um, result.y_um - design.start.y_um).sum()
    assert check(design, result).legal
    assert moved == pytest.approx(1.0, abs=1e-3)


def test_pulled_inside(make_design) -> None:
    design = make_design([(10, 10), (8, 8)], centres=[(-3, 104), (200, 50)], soft=[1])
    result = legalise(design, design.start)
    assert check(design, result).legal
    assert (result.x_um[0], result.y_um[0]) == pytest.approx((5, 95), abs=1e-3)
    assert (result.x_um[1], result.y_um[1]) == (96.0, 50.0)


def test_fixed_ones_blockages_and_orientations_are_kept(make_design) -> None:
    design = make_design(
        [(20, 20), (20, 10), (20, 10)],
        centres=[(50, 50), (50, 50), (55, 50)],
        fixed=[0],
        orientation=[Orientation.FS, Orientation.FE, Orientation.FN],
        blockages=[(60, 30, 70, 70)],
    )
    wanted = design.start.moved(x_um=design.start.x_um + np.array([7.0, 0.0, 0.0]))
    result = legalise(design, wanted)
    assert check(design, result).legal
    assert result.x_um[0] == 50.0
    assert result.orientation.tolist() == [Orientation.FS, Orientation.FE, Orientation.FN]


def test_positions_that_are_no_numbers(make_design) -> None:
    design = make_design(
        [(10, 10)] * 3 + [(3, 3)], centres=[(np.nan, 5), (np.inf, -np.inf), (5, 5), (np.nan, 2)], soft=[3]
    )
    assert check(design, legalise(design, design.start)).legal


def test_exact_fit_from_anywhere(make_design) -> None:
    design = make_design([(50, 50)] * 4, centres=[(40, 40), (45, 50), (52, 60), (50, 50)])
    assert check(design, legalise(design, design.start)).legal
    two = make_design([(100, 50)] * 2, centres=[(50, 51), (50, 52)])
    result = legalise(two, two.start)
    assert sorted(result.y_um.tolist()) == pytest.approx([25, 75])
    assert result.y_um[0] < result.y_um[1]  # relative order kept


def test_infeasible_is_said(make_design) -> None:
    design = make_design([(50, 50)] * 5)
    with pytest.raises(InfeasibleError, match=r"125\.0 %"):
        legalise(design, design.start)


def test_every_macro_fixed(make_design) -> None:
    design = make_design([(10, 10)] * 2, centres=[(20, 20), (40, 40)], fixed=[0, 1])
    moved = design.start.moved(x_um=design.start.x_um + 3)
    assert np.array_equal(legalise(design, moved).x_um, design.start.x_um)


sizes = st.lists(st.tuples(st.floats(0.5, 30), st.floats(0.5, 30)), min_size=1, max_size=40)


@settings(max_examples=80, deadline=None)
@given(sizes, st.integers(0, 2**32 - 1), st.sampled_from([0.3, 0.6, 0.8]), st.booleans())
def test_legal_wherever_pack_succeeds(make_design, sizes: list, seed: int, share: float, hindered: bool) -> None:
    random = np.random.default_rng(seed)
    size = np.array(sizes)
    size *= np.sqrt(share * 1e4 / np.prod(size, axis=1).sum())
    assume(size.max() <= 100)
    blockages = [(20, 20, 35, 30), (80, 0, 90, 40)] if hindered else []
    orientation = random.choice([Orientation.N, Orientation.FS, Orientation.W], len(size))
    design = make_design(
        size, centres=random.normal(50, 25, (len(size), 2)), blockages=blockages, orientation=orientation
    )
    try:
        pack(design)
    except InfeasibleError:
        return
    result = legalise(design, design.start)
    assert check(design, result).legal, check(design, result).problems()
    assert np.array_equal(result.orientation, design.start.orientation)


def test_drawing_nearer_never_moves_further_or_breaks(make_design) -> None:
    random = np.random.default_rng(3)
    size = random.uniform(2, 9, (60, 2))
    design = make_design(size)
    packed = pack(design)
    centre, wish = np.stack([packed.x_um, packed.y_um], axis=1), random.uniform(10, 90, (60, 2))
    drawn = draw_nearer(CANVAS, NOTHING, size[:, 0].copy(), size[:, 1].copy(), wish, centre, 5, *ANYWHERE)
    assert displacement_um(drawn, wish) < displacement_um(centre, wish)
    assert check(design, packed.moved(x_um=drawn[:, 0], y_um=drawn[:, 1])).legal


def test_pushing_apart_ends_without_overlap_where_there_is_room() -> None:
    random = np.random.default_rng(0)
    size = random.uniform(3, 9, (50, 2))
    wish = random.normal(50, 5, (50, 2))
    obstacle = np.array([[45.0, 45.0, 50.0, 50.0]])
    pushed = push_apart(CANVAS, obstacle, size[:, 0].copy(), size[:, 1].copy(), wish, 5000, *ANYWHERE)
    corners = np.concatenate([pushed - size / 2, pushed + size / 2], axis=1)
    _, extent, _ = pairs_um(np.concatenate([corners, obstacle]))
    assert extent.min(axis=1).max(initial=0.0) < 1e-3
    assert outside_um(corners, CANVAS).max() < 1e-9


def test_pushing_two_apart_keeps_their_order() -> None:
    wish = np.array([[50.0, 50.0], [50.5, 49.0]])
    pushed = push_apart(CANVAS, NOTHING, np.full(2, 10.0), np.full(2, 10.0), wish, 400, *ANYWHERE)
    assert pushed[0, 1] - pushed[1, 1] == pytest.approx(10, abs=1e-6)
    assert pushed[:, 0].tolist() == [50.0, 50.5]


def test_place_nearest_says_how_many_fitted() -> None:
    side = np.full(3, 60.0)
    order = np.arange(3, dtype=np.int32)
    _, fitted = place_nearest(CANVAS, NOTHING, side, side, np.full((3, 2), 50.0), order, *ANYWHERE)
    assert fitted == 1


@pytest.mark.parametrize("name", ["ibm01", "ibm10", "ariane133_ng45", "ariane_ct"])
def test_real_starts(benchmarks, name: str) -> None:
    """Given starts and scattered ones of real designs come out legal; nets and ports are left alone."""
    from netlists.load import load_design

    folder = benchmarks / "circuit_training" / name
    for plc in ("initial.plc", "scattered.plc"):
        design = load_design([folder / "netlist.pb.txt.gz"], folder / plc)
        result = legalise(design, design.start)
        assert check(design, result).legal, check(design, result).problems()
        port = design.netlist.node_kind == NodeKind.PORT
        assert np.array_equal(result.x_um[port], design.start.x_um[port])
