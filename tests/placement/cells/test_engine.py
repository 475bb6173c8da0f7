"""Cells between macros: inside, on rows and sites, off macros, apart, shorter than before, and the same twice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from netlists.constraints import Constraints
from netlists.errors import InputError
from netlists.model import Design, NodeKind, Orientation, Placement, oriented_size_um
from placement.cells import CellOptions, place_cells
from placement.cells.rows import free_rows
from placement.cost.hpwl import hpwl

Chip = Callable[..., Design]


def boxes(design: Design, placement: Placement, nodes: np.ndarray) -> np.ndarray:
    """(n, 4) llx lly urx ury"""
    netlist = design.netlist
    width, height = oriented_size_um(netlist.width_um[nodes], netlist.height_um[nodes], placement.orientation[nodes])
    x, y = placement.x_um[nodes], placement.y_um[nodes]
    return np.stack([x - width / 2, y - height / 2, x + width / 2, y + height / 2], axis=1)


def assert_roughly_placed(design: Design, placement: Placement) -> None:
    cells = design.netlist.nodes_of(NodeKind.CELL)
    cells = cells[~design.start.fixed[cells]]
    of_cells = boxes(design, placement, cells)
    side = design.canvas.width_um
    assert of_cells[:, :2].min() >= -1e-9
    assert of_cells[:, 2:].max() <= side + 1e-9
    for macro in boxes(design, placement, design.netlist.nodes_of(NodeKind.HARD_MACRO)):
        overlap = np.minimum(of_cells[:, 2:], macro[2:]) - np.maximum(of_cells[:, :2], macro[:2])
        assert not np.any((overlap > 1e-9).all(axis=1))
    if design.rows:
        rows, sites = of_cells[:, 1] / 2.0, of_cells[:, 0] / 0.5
        assert rows == pytest.approx(np.round(rows), abs=1e-9)
        assert sites == pytest.approx(np.round(sites), abs=1e-9)
    others = np.setdiff1d(np.arange(design.netlist.node_count), cells)
    for name in ("x_um", "y_um", "orientation"):
        assert np.array_equal(getattr(placement, name)[others], getattr(design.start, name)[others])


def scattered(design: Design) -> float:
    """The wirelength of the same chip with its cells anywhere."""
    cells = design.netlist.nodes_of(NodeKind.CELL)
    x, y = design.start.x_um.copy(), design.start.y_um.copy()
    x[cells], y[cells] = np.random.default_rng(0).uniform(0, design.canvas.width_um, (2, len(cells)))
    return hpwl(design, design.start.moved(x_um=x, y_um=y)).hpwl_um


@pytest.mark.parametrize(
    "shape",
    [{}, {"filled": 0.95}, {"tall": 40}, {"rows": False}, {"cells": 3}, {"cells": 2000, "filled": 0.7}],
    ids=str,
)
def test_cells_are_inside_on_rows_off_macros_and_apart(chip: Chip, shape: dict) -> None:
    design = chip(**shape)
    result = place_cells(design, design.start)
    assert result.unplaced == 0
    assert_roughly_placed(design, result.placement)
    assert result.hpwl_before_um == hpwl(design, design.start).hpwl_um
    assert result.hpwl_after_um == hpwl(design, result.placement).hpwl_um
    if shape.get("cells", 400) > 3:
        assert result.hpwl_after_um < 0.5 * scattered(design)
        assert result.overflow < 0.3 < 0.8 < result.overflow_before


def test_the_same_input_seed_and_rounds_give_the_same_places(chip: Chip) -> None:
    design = chip()
    one, two = (place_cells(design, design.start, CellOptions(rounds=12, seed=5)).placement for _ in range(2))
    assert np.array_equal(one.x_um, two.x_um)
    assert np.array_equal(one.y_um, two.y_um)
    other = place_cells(design, design.start, CellOptions(rounds=12, seed=6)).placement
    assert not np.array_equal(one.x_um, other.x_um)


def test_locked_cells_stay_and_keep_their_place_free(chip: Chip) -> None:
    design = chip()
    cells = design.netlist.nodes_of(NodeKind.CELL)
    fixed, x, y = design.start.fixed.copy(), design.start.x_um.copy(), design.start.y_um.copy()
    locked = cells[:5]
    fixed[locked] = True
    x[locked] = np.arange(5) * 8.0 + 2.0 + design.netlist.width_um[locked] / 2
    y[locked] = 5.0
    start = replace(design.start.moved(x_um=x, y_um=y), fixed=fixed)
    held = replace(design, start=start)
    result = place_cells(held, start)
    assert_roughly_placed(held, result.placement)
    others = boxes(held, result.placement, cells[5:])
    for box in boxes(held, start, locked):
        overlap = np.minimum(others[:, 2:], box[2:]) - np.maximum(others[:, :2], box[:2])
        assert not np.any((overlap > 1e-9).all(axis=1))


def test_halos_and_blockages_are_free_of_cells(chip: Chip) -> None:
    design = chip(filled=0.4)
    n, side = design.netlist.node_count, design.canvas.width_um
    macros = design.netlist.nodes_of(NodeKind.HARD_MACRO)
    halo = np.zeros((n, 4))
    halo[macros] = [1.0, 2.0, 3.0, 4.0]
    rules = Constraints(
        halo_um=halo,
        orientations=np.full(n, 0xFF, dtype=np.uint8),
        boundary_spacing_um=np.zeros(n),
        region=np.full(n, -1, dtype=np.int32),
    )
    held = replace(design, constraints=rules, blockages_um=np.array([[0.0, 0.0, side, 3.0]]))
    placed = place_cells(held, held.start).placement
    of_cells = boxes(held, placed, held.netlist.nodes_of(NodeKind.CELL))
    assert of_cells[:, 1].min() >= 4.0 - 1e-9  # the row at 2 lies under the blockage in part
    for box in boxes(held, placed, macros) + np.array([-1.0, -2.0, 3.0, 4.0]):
        overlap = np.minimum(of_cells[:, 2:], box[2:]) - np.maximum(of_cells[:, :2], box[:2])
        assert not np.any((overlap > 1e-9).all(axis=1))


def test_cells_stand_as_their_rows_ask(chip: Chip) -> None:
    design = chip()
    placed = place_cells(design, design.start).placement
    cells = design.netlist.nodes_of(NodeKind.CELL)
    row = np.round((placed.y_um[cells] - 1.0) / 2.0).astype(int)
    assert {0, 1} == set(row % 2)
    assert np.array_equal(placed.orientation[cells], np.where(row % 2, Orientation.FS, Orientation.N))


def test_a_stop_or_an_ended_budget_still_gives_a_whole_placement(chip: Chip) -> None:
    design = chip()
    for options, stop in ((CellOptions(), True), (CellOptions(seconds=0.0), False)):
        told: list[float] = []
        result = place_cells(design, design.start, options, should_stop=lambda stop=stop: stop, on_progress=told.append)
        assert result.rounds == 1
        assert_roughly_placed(design, result.placement)
        assert told == sorted(told)
        assert told[-1] == 1.0


def test_too_many_cells_for_the_room_are_told(chip: Chip) -> None:
    design = chip(filled=0.5)
    side = design.canvas.width_um
    tight = replace(design, blockages_um=np.array([[0.0, 0.0, side, side / 4], [0.0, 0.75 * side, side, side]]))
    result = place_cells(tight, tight.start, CellOptions(rounds=30))
    assert any("of the room between macros" in warning for warning in result.warnings)
    assert_roughly_placed(tight, result.placement)


def test_designs_without_cells_or_room_are_refused(chip: Chip) -> None:
    design = chip(20)
    side = design.canvas.width_um
    full = replace(design, blockages_um=np.array([[0.0, 0.0, side, side]]))
    with pytest.raises(InputError, match="no room for cells"):
        place_cells(full, full.start)
    fixed = replace(design, start=replace(design.start, fixed=np.ones(design.netlist.node_count, dtype=np.bool_)))
    with pytest.raises(InputError, match="20 cells, all of them fixed"):
        place_cells(fixed, fixed.start)


def test_free_parts_of_rows(chip: Chip) -> None:
    design = chip(100)
    obstacles = np.array([[3.0, 1.0, 5.0, 2.0], [4.0, 0.0, 9.0, 4.0], [0.0, 6.0, 100.0, 7.0]])
    free = free_rows(design.rows[:4], obstacles, 2.0)
    width = design.rows[0].right_um
    parts = [
        list(zip(free.low_um[a:b].tolist(), free.high_um[a:b].tolist(), strict=True))
        for a, b in zip(free.start[:-1], free.start[1:], strict=True)
    ]
    assert parts == [[(0.0, 3.0), (9.0, width)], [(0.0, 4.0), (9.0, width)], [(0.0, width)], []]
    two_high = free_rows(design.rows[:4], obstacles, 4.0)
    assert np.diff(two_high.start).tolist() == [2, 2, 0, 0]
