"""Overlaps that only rounding makes: found in both float types, taken away where there is room."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netlists.circuit_training.plc import read_plc
from netlists.circuit_training.writer import write_plc
from netlists.constraints import Constraints
from netlists.load import load_design
from netlists.model import Design, NodeKind, Placement
from placement.legal import check, legalise, pack, separate, strict_overlaps
from placement.legal.boxes import clearance_um
from placement.legal.pack import pack_boxes
from placement.legal.space import space_of

MakeDesign = Callable[..., Design]
BOTH = (np.float64, np.float32)


def slow_overlaps(design: Design, placement: Placement, dtype: type) -> int:
    """The twin of `strict_overlaps`: scalars of the type, pair by pair."""
    n, W, H = design.netlist, dtype(design.canvas.width_um), dtype(design.canvas.height_um)
    boxes = []
    for node in np.flatnonzero(n.node_kind == NodeKind.HARD_MACRO):
        w, h = dtype(n.width_um[node]), dtype(n.height_um[node])
        if placement.orientation[node] >= 4:
            w, h = h, w
        x, y = dtype(placement.x_um[node]), dtype(placement.y_um[node])
        boxes.append((x - w / dtype(2), y - h / dtype(2), x + w / dtype(2), y + h / dtype(2)))

    def meet(a: tuple, b: tuple) -> bool:
        return min(a[2], b[2]) > max(a[0], b[0]) and min(a[3], b[3]) > max(a[1], b[1])

    blockages = [tuple(dtype(v) for v in box) for box in design.blockages_um]
    return (
        sum(meet(a, b) for a, b in itertools.combinations(boxes, 2))
        + sum(meet(a, b) for a in boxes for b in blockages)
        + sum(a[0] < 0 or a[1] < 0 or a[2] > W or a[3] > H for a in boxes)
    )


def edge_to_edge(design: Design) -> Placement:
    """Packed without any clearance."""
    space = space_of(design, design.start.orientation)
    centre = pack_boxes(space, 0.0)
    assert centre is not None
    x, y = design.start.x_um.copy(), design.start.y_um.copy()
    x[space.node], y[space.node] = (centre - space.offset_um).T
    return design.start.moved(x_um=x, y_um=y)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), count=st.integers(1, 40), share=st.floats(0.1, 0.8), side=st.floats(0.5, 5000))
def test_abutting_macros_are_set_apart(
    make_design: MakeDesign, seed: int, count: int, share: float, side: float
) -> None:
    random = np.random.default_rng(seed)
    size = random.uniform(1, 4, (count, 2))
    size *= np.sqrt(share * side**2 / np.prod(size, axis=1).sum())
    size = np.minimum(size, 0.45 * side)  # not to fit exactly beside the hole
    hole = side * np.array([[0.4, 0.3, 0.6, 0.5]])
    design = make_design(size, width=side, height=side, blockages=hole if share < 0.5 else [])
    try:
        tight = edge_to_edge(design)
    except AssertionError:
        return
    apart = separate(design, tight)
    assert check(design, apart).legal
    for dtype in BOTH:
        assert strict_overlaps(design, tight, dtype).total == slow_overlaps(design, tight, dtype)
        assert strict_overlaps(design, apart, dtype).total == slow_overlaps(design, apart, dtype) == 0
    moved = np.hypot(apart.x_um - tight.x_um, apart.y_um - tight.y_um)
    assert moved.max() <= 2 * (count + 3) * clearance_um(design)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), count=st.integers(2, 30), share=st.floats(0.1, 0.5))
def test_constraints_are_kept(make_design: MakeDesign, seed: int, count: int, share: float) -> None:
    """Halos of some, a region of others, a blockage: what abuts without halos is set apart, and no rule is broken."""
    random = np.random.default_rng(seed)
    size = random.uniform(1, 4, (count, 2))
    size *= np.sqrt(share * 1e4 / np.prod(size, axis=1).sum())
    size = np.minimum(size, 40)
    design = make_design(size, blockages=[(80, 70, 95, 90)], orientation=random.integers(0, 8, count))
    halo = random.uniform(0, 2, (count, 4)) * (random.random((count, 1)) < 0.4)
    region = np.where(random.random(count) < 0.3, 0, -1)
    rules = Constraints(
        halo_um=halo,
        orientations=np.zeros(count, np.uint8),
        boundary_spacing_um=0.5 * (random.random(count) < 0.2),
        region=region,
        region_names=("r",),
        regions_um=(np.array([[10.0, 5.0, 70.0, 90.0], [0.0, 20.0, 70.0, 60.0]]),),
    )
    design = replace(design, constraints=rules)
    try:
        tight = edge_to_edge(design)
    except AssertionError:
        return
    assert check(design, tight).legal
    apart = separate(design, tight)
    assert check(design, apart).problems() == []
    for dtype in BOTH:
        assert strict_overlaps(design, apart, dtype).total == 0


def test_nothing_to_do_gives_the_same_object(make_design: MakeDesign) -> None:
    design = make_design([(10, 10)] * 3, centres=[(5, 5), (15, 5), (95, 95)])
    assert separate(design, design.start) is design.start


def test_only_movable_ones_move(make_design: MakeDesign) -> None:
    """A movable one between two fixed ones that abut a third: what is fixed stays, overlap of the fixed stays too."""
    third = 100 / 3
    design = make_design(
        [(0.1, 10)] * 4,
        width=third,
        centres=[(0.05, 5), (0.05 + 0.1, 5), (0.05 + 2 * 0.1 - 1e-12, 5), (0.05 + 0.1 + 0.2 - 2e-12, 5)],
        fixed=[0, 1],
    )
    assert check(design, design.start).legal
    assert strict_overlaps(design, design.start, np.float64).total > 0
    apart = separate(design, design.start)
    assert np.array_equal(apart.x_um[:2], design.start.x_um[:2])
    assert {tuple(pair) for dtype in BOTH for pair in strict_overlaps(design, apart, dtype).pairs} <= {(0, 1)}


@pytest.mark.parametrize(
    ("sizes", "width", "height"),
    [
        ([(100 / 3, 100 / 3)] * 9, 100.0, 100.0),
        ([(100 / 7, 100 / 7)] * 49, 100.0, 100.0),
        ([(0.1, 1.0)] * 10, 1.0, 1.0),
        ([(60, 40), (40, 60), (60, 40), (40, 60), (20, 20)], 100.0, 100.0),
        ([(23.17 / 8, 19.3 / 8)] * 64, 23.17, 19.3),
    ],
)
def test_where_macros_just_fit_nothing_gets_worse(
    make_design: MakeDesign, sizes: list, width: float, height: float
) -> None:
    design = make_design(sizes, width=width, height=height)
    tight = edge_to_edge(design)
    apart = separate(design, tight)
    assert check(design, apart).legal
    before, after = ([strict_overlaps(design, p, dtype).total for dtype in BOTH] for p in (tight, apart))
    assert after <= before
    assert after[0] <= 2 * len(sizes) ** 0.5  # float64: at most one link a row and one a column


def test_one_full_row_costs_the_others_nothing(make_design: MakeDesign) -> None:
    """The row that just fits keeps what rounding leaves it; those above it get their clearance."""
    sizes = [(0.1, 0.3)] * 10 + [(0.1, 0.3)] * 5
    centres = [(0.05 + 0.1 * i, 0.15) for i in range(10)] + [(0.05 + 0.1 * i, 0.45) for i in range(5)]
    design = make_design(sizes, width=1.0, height=1.0, centres=centres)
    apart = separate(design, design.start)
    for dtype in BOTH:
        pairs = strict_overlaps(design, apart, dtype).pairs
        assert not np.any(pairs >= 10)
    upper = np.sort(apart.x_um[10:])
    assert np.all(np.diff(upper) - 0.1 >= 0.99 * clearance_um(design))


@pytest.mark.parametrize("name", ["ibm01", "ibm10", "ariane133_ng45", "ariane_ct"])
def test_written_results_of_real_designs(benchmarks, tmp_path, name: str) -> None:
    """Read back from the `.plc`, legalised and packed placements overlap in neither type."""
    folder = benchmarks / "circuit_training" / name
    design = load_design([folder / "netlist.pb.txt.gz"], folder / "initial.plc")
    for made in (legalise(design, design.start), pack(design)):
        write_plc(tmp_path / "made.plc", design, made)
        read = read_plc(tmp_path / "made.plc", design.netlist).placement
        assert np.array_equal(read.x_um, made.x_um)
        for dtype in BOTH:
            assert strict_overlaps(design, read, dtype).total == slow_overlaps(design, read, dtype) == 0
