"""Onto the grid without overlaps: by examples, and for random legal placements."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netlists.constraints import Constraints
from netlists.errors import InputError
from netlists.lefdef.places import corners_dbu, movable_macros
from netlists.lefdef.snap import snap
from netlists.model import Canvas, Database, Design, Netlist, NodeKind, Orientation, Placement


def design_of(
    boxes: list[tuple[float, float, float, float]], canvas: tuple[float, float], *, units: int = 1000, grid: int = 5,
    fixed: tuple[int, ...] = (), blockages: list[list[float]] | None = None, origin: tuple[int, int] = (0, 0),
) -> Design:  # fmt: skip
    """Macros of (llx, lly, width, height) µm."""
    n = len(boxes)
    llx, lly, width, height = (np.array(column, dtype=np.float64) for column in zip(*boxes, strict=True))
    netlist = Netlist(
        node_name=tuple(f"m{i}" for i in range(n)), node_kind=np.full(n, NodeKind.HARD_MACRO), node_index=np.arange(n),
        width_um=width, height_um=height, port_side=np.full(n, -1), pin_name=(), pin_node=np.zeros(0),
       
        pin_dx_um=np.zeros(0), pin_dy_um=np.zeros(0), net_start=np.zeros(1), net_pin=np.zeros(0),
        net_weight=np.zeros(0),
    )  # fmt: skip
    is_fixed = np.isin(np.arange(n), fixed)
    start = Placement(x_um=llx + width / 2, y_um=lly + height / 2, orientation=np.zeros(n), fixed=is_fixed)
    return Design(
        name="d", netlist=netlist, canvas=Canvas(width_um=canvas[0], height_um=canvas[1], columns=10, rows=10),
        start=start, blockages_um=np.array(blockages or [], dtype=np.float64).reshape(-1, 4),
        database=Database(units_per_um=units, origin_x=origin[0], origin_y=origin[1], grid=grid),
    )  # fmt: skip


def corners(design: Design, placement: Placement) -> tuple[list[float], list[float]]:
    x, y = corners_dbu(design, placement, movable_macros(design))
    assert np.abs(x - np.round(x)).max() < 1e-6
    return np.round(x).tolist(), np.round(y).tolist()


def test_nearest_grid_point() -> None:
    design = design_of([(12.3437, 3.001, 10, 4)], (100, 100))
    assert corners(design, snap(design, design.start)) == ([12345], [3000])


def test_inward_at_the_edge_of_a_canvas_off_the_grid() -> None:
    design = design_of([(90.003, 96.003, 10, 4)], (100.003, 100.003))
    assert corners(design, snap(design, design.start)) == ([90000], [96000])


def test_canvas_that_starts_off_the_grid() -> None:
    design = design_of([(0, 0, 10, 4)], (100, 100), origin=(5133, 5041))
    assert corners(design, snap(design, design.start)) == ([5135], [5045])


def test_abutting_macros_do_not_overlap_after_rounding() -> None:
    design = design_of([(12.3437, 0, 10.0021, 4), (22.3458, 0, 10, 4), (32.3458, 0, 10, 4)], (100, 100))
    x, _ = corners(design, snap(design, design.start))
    assert x[1] - x[0] >= 10002.1
    assert x[2] - x[1] >= 10000
    assert all(value % 5 == 0 for value in x)


def test_fixed_macros_and_blockages_stay_clear() -> None:
    design = design_of([(10.0013, 0, 10, 4), (0.0013, 0, 10, 4)], (50, 50), fixed=(0,), blockages=[[0, 4.0012, 20, 6]])
    snapped = snap(design, design.start)
    assert corners(design, snapped) == ([0], [0])
    assert snapped.x_um[0] == design.start.x_um[0]
    with pytest.raises(InputError, match="grid"):
        snap(design_of([(0, 0, 10.003, 4), (10.003, 0, 10, 4)], (20.003, 4)), design.start)


def test_overlap_before_is_refused() -> None:
    design = design_of([(0, 0, 10, 4), (9, 1, 10, 4)], (50, 50))
    with pytest.raises(InputError, match="'m0' and macro 'm1' overlap before"):
        snap(design, design.start)


def test_halos_keep_their_room() -> None:
    design = design_of([(0.0013, 0, 10, 4), (11.0024, 0, 10, 4)], (50, 50))
    rules = Constraints(
        halo_um=np.full((2, 4), 0.5), orientations=np.zeros(2), boundary_spacing_um=np.zeros(2), region=np.full(2, -1)
    )
    x, _ = corners(design, snap(replace(design, constraints=rules), design.start))
    assert x[1] - x[0] >= 11000


def test_turned_macros_use_their_oriented_box() -> None:
    design = design_of([(3, 0, 10, 4), (13, 0, 10, 4)], (50, 50))
    start = design.start.moved(orientation=np.array([Orientation.E, Orientation.N]), x_um=np.array([8.0017, 18.0]))
    x, y = corners(design, snap(design, start.moved(y_um=np.array([5.0, 2.0]))))
    assert (x, y) == ([6000, 13000], [0, 0])


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_legal_in_legal_and_on_the_grid_out(data: st.DataObject) -> None:
    """Rows of abutting macros with sizes off the grid, and slack enough at the end of each row."""
    rows = data.draw(st.integers(1, 3))
    boxes, bottom = [], 0.0
    shift = data.draw(st.floats(0, 0.004))
    for _ in range(rows):
        left, height = shift, data.draw(st.floats(1, 5))
        for width in data.draw(st.lists(st.floats(1, 5), min_size=1, max_size=6)):
            boxes.append((left, bottom, width, height))
            left += width
        bottom += height
    design = design_of(boxes, (40, 20), grid=data.draw(st.sampled_from([1, 5, 10])))
    snapped = snap(design, design.start)
    x, y = corners(design, snapped)
    grid = design.database.grid if design.database else 1
    assert all(value % grid == 0 for value in x + y)
    for i, j in itertools.combinations(range(len(boxes)), 2):
        w, h = [boxes[i][2] * 1000, boxes[j][2] * 1000], [boxes[i][3] * 1000, boxes[j][3] * 1000]
        apart_x = x[i] + w[0] <= x[j] + 0.01 or x[j] + w[1] <= x[i] + 0.01
        apart_y = y[i] + h[0] <= y[j] + 0.01 or y[j] + h[1] <= y[i] + 0.01
        assert apart_x or apart_y
    assert np.array_equal(snap(design, snapped).x_um, snapped.x_um)  # at rest
