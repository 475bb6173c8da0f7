"""Wirelength, springs, density, room and spreading against slow twins and laws of conservation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from netlists.model import Design, Row
from placement.cells.density import overflow, used_area_um2
from placement.cells.problem import CellProblem, make_problem
from placement.cells.quadratic import solve
from placement.cells.room import Room, make_room
from placement.cells.spread import LEAF_CELLS, box_room, spread
from placement.cells.wirelength import axis_length, springs
from placement.cost.hpwl import hpwl

Chip = Callable[..., Design]


def slow_length(problem: CellProblem, x: np.ndarray, y: np.ndarray) -> float:
    total = 0.0
    for net, weight in enumerate(problem.net_weight):
        xs, ys = [], []
        for pin in range(problem.net_start[net], problem.net_start[net + 1]):
            cell = problem.pin_cell[pin]
            xs.append(problem.pin_x_um[pin] + (x[cell] if cell >= 0 else 0.0))
            ys.append(problem.pin_y_um[pin] + (y[cell] if cell >= 0 else 0.0))
        total += weight * (max(xs) - min(xs) + max(ys) - min(ys))
    return total


def somewhere(design: Design, problem: CellProblem, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x, y = rng.uniform(0, design.canvas.width_um, (2, len(problem.nodes)))
    return x, y


def test_lengths_are_those_of_the_slow_twin_and_of_the_exact_wirelength(chip: Chip) -> None:
    design = chip(80)
    problem = make_problem(design, design.start)
    x, y = somewhere(design, problem, 3)
    nets = problem.net_start, problem.net_weight, problem.pin_cell
    fast = axis_length(*nets, problem.pin_x_um, x) + axis_length(*nets, problem.pin_y_um, y)
    assert fast == pytest.approx(slow_length(problem, x, y), rel=1e-12)
    all_x, all_y = design.start.x_um.copy(), design.start.y_um.copy()
    all_x[problem.nodes], all_y[problem.nodes] = x, y
    # every net of the chip has a cell
    assert fast == pytest.approx(hpwl(design, design.start.moved(x_um=all_x, y_um=all_y)).hpwl_um, rel=1e-12)


def energy(problem: CellProblem, pin_at: np.ndarray, at: np.ndarray, shortest: float) -> float:
    """Sum of weight · length² over the springs of the bound-to-bound model at `at`, net by net."""
    total = 0.0
    for net, weight in enumerate(problem.net_weight):
        pins = range(problem.net_start[net], problem.net_start[net + 1])
        value = [pin_at[p] + (at[problem.pin_cell[p]] if problem.pin_cell[p] >= 0 else 0.0) for p in pins]
        low, high = int(np.argmin(value)), len(value) - 1 - int(np.argmax(value[::-1]))
        for i in range(len(value)):
            for bound in {low, high} - {i}:
                if i in (low, high) and bound == low:
                    continue
                length = abs(value[i] - value[bound])
                total += weight / (len(value) - 1) / max(length, shortest) * length**2
    return total


def test_springs_have_the_energy_of_the_wirelength(chip: Chip) -> None:
    """x'Ax - 2b'x + c is weight · length² of all springs, which is the wirelength where none is too short."""
    design = chip(60)
    problem = make_problem(design, design.start)
    at, _ = somewhere(design, problem, 4)
    shortest = 1e-9
    tied = springs(problem.net_start, problem.net_weight, problem.pin_cell, problem.pin_x_um, at, shortest)
    length = axis_length(problem.net_start, problem.net_weight, problem.pin_cell, problem.pin_x_um, at)
    assert energy(problem, problem.pin_x_um, at, shortest) == pytest.approx(length, rel=1e-9)

    def quadratic(v: np.ndarray) -> float:
        between = 2 * float(np.sum(tied.weight * v[tied.first] * v[tied.second]))
        return float(v @ (tied.diagonal * v)) - between - 2 * float(tied.right @ v)

    # The constant c is unknown: differences of the energy of the very same springs, by small moves of one cell.
    for cell in range(0, 60, 7):
        moved = at.copy()
        moved[cell] += 1e-6
        slope = (quadratic(moved) - quadratic(at)) / 1e-6
        after = axis_length(problem.net_start, problem.net_weight, problem.pin_cell, problem.pin_x_um, moved)
        # at the point of linearisation the energy's slope is twice a subgradient of the length
        assert slope / 2 == pytest.approx((after - length) / 1e-6, abs=1e-3)


def test_least_energy_solves_the_dense_system(chip: Chip) -> None:
    design = chip(50)
    problem = make_problem(design, design.start)
    at, anchor = somewhere(design, problem, 5)
    tied = springs(problem.net_start, problem.net_weight, problem.pin_cell, problem.pin_x_um, at, 0.1)
    weight = np.full(50, 0.05)
    dense = np.diag(tied.diagonal + weight)
    np.subtract.at(dense, (tied.first, tied.second), tied.weight)
    np.subtract.at(dense, (tied.second, tied.first), tied.weight)
    assert np.linalg.eigvalsh(dense).min() > 0
    exact = np.linalg.solve(dense, tied.right + weight * anchor)
    assert solve(tied, anchor, weight, at) == pytest.approx(exact, abs=1e-3 * design.canvas.width_um)


def test_density_conserves_area_and_agrees_with_the_slow_twin(chip: Chip) -> None:
    design = chip(120, tall=10)
    problem = make_problem(design, design.start)
    room = make_room(design, design.start, 7, 5)
    x, y = somewhere(design, problem, 6)
    x = np.clip(x, problem.width_um / 2, room.width_um - problem.width_um / 2)
    y = np.clip(y, problem.height_um / 2, room.height_um - problem.height_um / 2)
    used = used_area_um2(x, y, problem.width_um, problem.height_um, room)
    assert used.sum() == pytest.approx(problem.area_um2.sum(), rel=1e-12)
    slow = np.zeros((5, 7))
    for j in range(5):
        for i in range(7):
            left, bottom = i * room.width_um / 7, j * room.height_um / 5
            wide = np.minimum(x + problem.width_um / 2, left + room.width_um / 7) - np.maximum(
                x - problem.width_um / 2, left
            )
            tall = np.minimum(y + problem.height_um / 2, bottom + room.height_um / 5) - np.maximum(
                y - problem.height_um / 2, bottom
            )
            slow[j, i] = np.sum(np.maximum(wide, 0) * np.maximum(tall, 0))
    assert used == pytest.approx(slow, rel=1e-9, abs=1e-9)
    assert overflow(x, y, problem.width_um, problem.height_um, room) == pytest.approx(
        np.maximum(slow - room.free_um2, 0).sum() / problem.area_um2.sum()
    )


def test_room_is_rows_less_the_union_of_macros_halos_and_blockages(chip: Chip) -> None:
    design = chip(100)
    side = design.canvas.width_um
    # one blockage half on the first macro, a second one over the first; a row less at the top
    blocked = np.array([[0.0, side / 4, side / 4, side / 2], [0.0, side / 4, side / 8, side / 2]])
    held = replace(design, blockages_um=blocked, rows=design.rows[:-1])
    room = make_room(held, held.start, 8, 8)
    row = side * design.rows[0].height_um
    # the macro covers x from side / 8, y from side / 4; blockages outside of it: side/8 wide, side/4 high
    assert room.total_um2 == pytest.approx(side * side * 0.75 - row - side / 8 * side / 4)
    assert room.free_um2[3, 1] == 0  # within the macro
    assert room.free_um2[0, 0] == pytest.approx((side / 8) ** 2)
    fine = make_room(held, held.start, 64, 64)
    assert fine.total_um2 == pytest.approx(room.total_um2)
    at = (0.03 * side, 0.1 * side, 0.77 * side, 0.9 * side)
    exact = make_room(held, held.start, 100, 100).free_um2[10:90, 3:77].sum()
    assert box_room(fine.integral_um2, side / 64, side / 64, *at) == pytest.approx(exact, rel=2e-3)


def test_many_edges_are_put_on_a_grid_and_hardly_change_the_room(chip: Chip, monkeypatch: pytest.MonkeyPatch) -> None:
    from placement.cells import room as module

    design = chip(100)
    exact = make_room(design, design.start, 8, 8)
    monkeypatch.setattr(module, "MOST_EDGES", 12)
    assert make_room(design, design.start, 8, 8).total_um2 == pytest.approx(exact.total_um2, rel=0.15)
    monkeypatch.setattr(module, "MOST_EXACT", 0)  # every obstacle counts in the bin of its centre
    assert make_room(design, design.start, 1, 1).total_um2 == pytest.approx(exact.total_um2, rel=0.15)


def open_room(side: float, bins: int) -> Room:
    free = np.full((bins, bins), (side / bins) ** 2)
    integral = np.zeros((bins + 1, bins + 1))
    integral[1:, 1:] = free.cumsum(axis=0).cumsum(axis=1)
    return Room(width_um=side, height_um=side, free_um2=free, integral_um2=integral)


def test_spreading_keeps_the_order_and_fits_the_cells() -> None:
    rng = np.random.default_rng(8)
    x, y = rng.normal(50, 3, (2, 400))
    area = np.full(400, 20.0)  # 8000 µm² on 10000
    new_x, new_y = spread(x, y, area, open_room(100.0, 50), density=1.0, columns=10, rows=10)
    used = np.histogram2d(new_y, new_x, bins=5, range=[[0, 100], [0, 100]])[0] * 20.0
    assert used.max() <= 1.3 * 400  # a cell's whole area counts where its centre is
    assert np.corrcoef(x, new_x)[0, 1] > 0.9
    assert np.corrcoef(y, new_y)[0, 1] > 0.9


def test_cells_that_have_room_stay() -> None:
    x, y = (np.arange(400) % 20) * 5 + 2.5, (np.arange(400) // 20) * 5 + 2.5
    crowd = np.arange(400) < 20
    x[crowd], y[crowd] = 5.0, 5.0
    new_x, new_y = spread(x, y, np.full(400, 20.0), open_room(100.0, 50), density=1.0, columns=10, rows=10)
    far = x > 60
    assert np.array_equal(new_x[far], x[far])
    assert np.array_equal(new_y[far], y[far])
    assert len(np.unique(np.stack([new_x, new_y])[:, crowd], axis=1).T) >= 20 // LEAF_CELLS


def test_rows_need_not_cover_the_canvas(chip: Chip) -> None:
    design = chip(50)
    row = design.rows[3]
    only = replace(design, rows=(Row(x_um=1.0, y_um=row.y_um, height_um=2.0, site_width_um=0.5, step_um=0.5, sites=6),))
    assert row.y_um + 2.0 <= design.canvas.height_um / 4  # below the macros
    assert make_room(only, only.start, 9, 9).total_um2 == pytest.approx(6.0)
