"""Rough global placement of standard cells between placed macros: a flat design in, places of its cells out.

SimPL (Kim, Lee, Markov, ICCAD 2010) on the bound-to-bound model: the quadratic placement is a lower bound on the
wirelength that ignores density, the same cells spread in order an upper bound; each cell is tied to where it was
spread to, more strongly every round, until the two meet. The best spread placement is put onto rows and sites. Macros
never move. Called by `workers/`; pure: no files, no database.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from netlists.model import Design, FloatArray, IntArray, Placement
from placement.cells.density import overflow
from placement.cells.problem import CellProblem, make_problem
from placement.cells.quadratic import solve
from placement.cells.room import Room, make_room
from placement.cells.rows import rows_of, snap_to_rows
from placement.cells.spread import spread
from placement.cells.wirelength import axis_length, springs
from placement.cost.hpwl import hpwl

FIRST_ROUNDS = 10  # without spreading: where nets alone take the cells; with fewer the start shows in the result
STRENGTH = 0.01  # of the anchors, times the round; others tried on ibm01 gave more wirelength
SHORTEST_ROWS = 0.25  # rows: springs are no stiffer than of this length
CLOSE = 0.005  # of the upper bound: a gap between the bounds at which the rounds end
BIN_CELLS = 5  # cells a bin, were they spread evenly over the canvas
COARSE_BINS, FINER = 8, 1.2  # bins along an axis at first, and their growth a round
ROOM_BINS = 256  # along an axis: the grid on which free area is known


@dataclass(frozen=True, kw_only=True)
class CellOptions:
    """What a user may choose. Equal input, options and rounds give equal places; `seconds` is a limit on top."""

    rounds: int = 100
    seconds: float = 3600.0
    density: float = 1.0  # of the free area that cells may fill; more where they need more
    seed: int = 0


@dataclass(frozen=True, eq=False, kw_only=True)
class CellPlacement:
    """The flat design's placement, cells on rows, and what it cost. Lengths: all nets, weighted (`hpwl_um`)."""

    placement: Placement
    hpwl_before_um: float
    hpwl_after_um: float
    overflow_before: float  # share of the cells' area without room in its bin
    overflow: float
    seconds: float
    rounds: int
    unplaced: int  # cells that no free part of a row can hold; they stay where the rounds left them
    warnings: tuple[str, ...]


def place_cells(
    design: Design,
    placement: Placement,
    options: CellOptions | None = None,
    *,
    should_stop: Callable[[], bool] = lambda: False,
    on_progress: Callable[[float], None] = lambda share: None,
) -> CellPlacement:
    """Places the movable cells of a flat `design`; macros and cells begin where `placement` has them.

    A stop or the limit of seconds ends it after the round in progress with the best so far, on rows. on_progress:
    the share of the rounds that is done. Raises InputError for designs without cells to place or room for them.
    """
    options = options or CellOptions()
    begin_s = time.monotonic()
    problem = make_problem(design, placement)
    room = make_room(design, placement, ROOM_BINS, ROOM_BINS)
    judge = make_room(design, placement, *_bins_of(problem, room))
    warnings = []
    need = float(problem.area_um2.sum()) / room.total_um2
    if need > 1:
        warnings.append(f"cells fill {need:.1%} of the room between macros: they overlap wherever they are")
    density = max(options.density, min(need * 1.02, 1.0) if need <= 1 else need)
    x, y = _begin(problem, room, placement, options.seed)
    before = overflow(x, y, problem.width_um, problem.height_um, judge)

    def ended() -> bool:
        return should_stop() or time.monotonic() - begin_s > options.seconds

    shortest_um = SHORTEST_ROWS * rows_of(design)[0].height_um
    x, y, rounds = _rounds(problem, room, (x, y), density, options.rounds, shortest_um, ended, on_progress)
    spread_out = placement.moved(
        x_um=_with(placement.x_um, problem.nodes, x), y_um=_with(placement.y_um, problem.nodes, y)
    )
    placed, unplaced = snap_to_rows(design, spread_out, problem)
    if unplaced:
        warnings.append(f"{unplaced:,} cells are wider than every free part of a row and are not on rows")
    on_progress(1.0)
    return CellPlacement(
        placement=placed,
        hpwl_before_um=hpwl(design, placement).hpwl_um,
        hpwl_after_um=hpwl(design, placed).hpwl_um,
        overflow_before=before,
        overflow=overflow(
            placed.x_um[problem.nodes], placed.y_um[problem.nodes], problem.width_um, problem.height_um, judge
        ),
        seconds=time.monotonic() - begin_s,
        rounds=rounds,
        unplaced=unplaced,
        warnings=tuple(warnings),
    )


def _with(values: FloatArray, nodes: IntArray, new: FloatArray) -> FloatArray:
    result = values.copy()
    result[nodes] = new
    return result


def _bins_of(problem: CellProblem, room: Room) -> tuple[int, int]:
    """Columns and rows of the finest grid of bins: square ones, `BIN_CELLS` cells each on average."""
    side = np.sqrt(room.width_um * room.height_um * BIN_CELLS / len(problem.nodes))
    return (
        int(np.clip(room.width_um / side, 2, ROOM_BINS)),
        int(np.clip(room.height_um / side, 2, ROOM_BINS)),
    )


def _begin(problem: CellProblem, room: Room, placement: Placement, seed: int) -> tuple[FloatArray, FloatArray]:
    """Where the cells are, within the canvas, shaken by a cell's size so that none share a spot."""
    random = np.random.default_rng(seed)
    shake = random.uniform(-0.5, 0.5, (2, len(problem.nodes)))
    x = placement.x_um[problem.nodes] + shake[0] * problem.width_um
    y = placement.y_um[problem.nodes] + shake[1] * problem.height_um
    return np.clip(x, 0.0, room.width_um), np.clip(y, 0.0, room.height_um)


def _rounds(
    problem: CellProblem, room: Room, at: tuple[FloatArray, FloatArray], density: float, rounds: int,
    shortest_um: float, ended: Callable[[], bool], on_progress: Callable[[float], None],
) -> tuple[FloatArray, FloatArray, int]:  # fmt: skip
    """The best spread places (M,), (M,) and after how many rounds it ended."""
    columns, rows = _bins_of(problem, room)
    # 1e-6 of a spring of the canvas' length: holds cells that no net ties to anything fixed
    loose = np.full(len(at[0]), 1e-6 / max(room.width_um, room.height_um))
    for _ in range(FIRST_ROUNDS):
        if ended():
            break
        at = (
            _pulled(problem, 0, at[0], at[0], loose, shortest_um),
            _pulled(problem, 1, at[1], at[1], loose, shortest_um),
        )
    best, best_length = at, np.inf
    for number in range(1, rounds + 1):
        bins = COARSE_BINS * FINER ** min(number, 100)
        away = spread(*at, problem.area_um2, room, density=density,
                      columns=int(min(columns, bins)), rows=int(min(rows, bins)))  # fmt: skip
        upper = _length(problem, away)
        fine = bins >= max(columns, rows)  # on coarser bins cells are not spread yet, and shorter is no better
        if not fine or upper < best_length:
            best, best_length = away, upper if fine else np.inf
        on_progress(number / (rounds + 1))
        if number == rounds or ended() or (fine and upper - _length(problem, at) < CLOSE * upper):
            break
        weight = [STRENGTH * number / np.maximum(np.abs(at[axis] - away[axis]), shortest_um) for axis in (0, 1)]
        at = (
            _pulled(problem, 0, at[0], away[0], weight[0], shortest_um),
            _pulled(problem, 1, at[1], away[1], weight[1], shortest_um),
        )
    return *best, number


def _length(problem: CellProblem, at: tuple[FloatArray, FloatArray]) -> float:
    """Weighted half-perimeters (µm) of the problem's nets with cells at these places."""
    nets = problem.net_start, problem.net_weight, problem.pin_cell
    return axis_length(*nets, problem.pin_x_um, at[0]) + axis_length(*nets, problem.pin_y_um, at[1])


def _pulled(
    problem: CellProblem, axis: int, at: FloatArray, anchor: FloatArray, weight: FloatArray, shortest_um: float
) -> FloatArray:
    """(M,) where nets and anchors take the cells along an axis (0 = x), springs being those at `at`."""
    pin = problem.pin_y_um if axis else problem.pin_x_um
    tied = springs(problem.net_start, problem.net_weight, problem.pin_cell, pin, at, shortest_um)
    return solve(tied, anchor, weight, at)
