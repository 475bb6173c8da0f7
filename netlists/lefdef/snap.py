"""Macros onto the manufacturing grid (or onto rows or tracks), in integers, so that nothing overlaps afterwards.

A placement in, a placement out whose movable macros have their lower left corners on their lattice, within the canvas,
and keep left and right of, above and below each other as they were. Raises InputError where that cannot be; never
returns an overlap. Which lattice: `lattice.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from netlists.errors import InputError
from netlists.lefdef.def_file import LongArray
from netlists.lefdef.places import TOLERANCE_DBU, centres_um, corners_dbu, database_of, movable_macros, sizes_dbu
from netlists.model import (
    BoolArray,
    Design,
    FloatArray,
    IntArray,
    NodeKind,
    Placement,
    oriented_halo_um,
    oriented_size_um,
)


@dataclass(frozen=True, eq=False)
class Lattice:
    """Where lower left corners may be: phase + k · step for whole k, per movable macro. (M,) dbu."""

    step_x: LongArray
    phase_x: LongArray
    step_y: LongArray
    phase_y: LongArray

    @staticmethod
    def of_grid(grid: int, count: int) -> Lattice:
        step, phase = np.full(count, grid, dtype=np.int64), np.zeros(count, dtype=np.int64)
        return Lattice(step, phase, step, phase)


def snap(design: Design, placement: Placement, lattice: Lattice | None = None) -> Placement:
    """The placement with its movable hard macros on the lattice (default: the manufacturing grid), each as near as may
    be.

    Raises InputError where macros overlap before, or cannot be on the lattice without overlap.
    """
    database = database_of(design)
    moving = movable_macros(design)
    if not len(moving):
        return placement
    lattice = lattice or Lattice.of_grid(database.grid, len(moving))
    exact, obstacles = _obstacles(design, placement)
    x, y = corners_dbu(design, placement, moving)
    width, height = sizes_dbu(design, moving, placement.orientation)
    boxes = np.concatenate([np.stack([x, y, x + width, y + height], axis=1), exact])
    before_x, before_y = _order(design, moving, boxes)
    margin = _margins(design, placement, moving, len(boxes))
    all_x, all_y = np.concatenate([x, obstacles[:, 0]]), np.concatenate([y, obstacles[:, 1]])
    all_w = np.concatenate([np.ceil(width - TOLERANCE_DBU), obstacles[:, 2] - obstacles[:, 0]])
    all_h = np.concatenate([np.ceil(height - TOLERANCE_DBU), obstacles[:, 3] - obstacles[:, 1]])
    canvas_x = (database.origin_x, database.origin_x + round(design.canvas.width_um * database.units_per_um))
    canvas_y = (database.origin_y, database.origin_y + round(design.canvas.height_um * database.units_per_um))
    new_x = _settle(
        all_x, all_w, before_x, _room(boxes, margin, 0), len(moving), lattice.step_x, lattice.phase_x, canvas_x
    )
    new_y = _settle(
        all_y, all_h, before_y, _room(boxes, margin, 1), len(moving), lattice.step_y, lattice.phase_y, canvas_y
    )
    _check(design, moving, new_x, new_y, all_w, all_h, canvas_x, canvas_y)
    netlist = design.netlist
    oriented = oriented_size_um(netlist.width_um[moving], netlist.height_um[moving], placement.orientation[moving])
    x_um, y_um = placement.x_um.copy(), placement.y_um.copy()
    count = len(moving)
    x_um[moving], y_um[moving] = centres_um(
        new_x[:count].astype(np.int64), new_y[:count].astype(np.int64), oriented[0], oriented[1], database
    )
    return placement.moved(x_um=x_um, y_um=y_um)


def _obstacles(design: Design, placement: Placement) -> tuple[FloatArray, FloatArray]:
    """(F, 4) boxes (dbu) that movable macros keep clear of, fixed hard macros and blockages: exact, and rounded
    outward.
    """
    database = database_of(design)
    hard = design.netlist.nodes_of(NodeKind.HARD_MACRO)
    fixed = hard[design.start.fixed[hard]]
    x, y = corners_dbu(design, placement, fixed)
    width, height = sizes_dbu(design, fixed, placement.orientation)
    origin = np.array([database.origin_x, database.origin_y] * 2, dtype=np.float64)
    blocked = design.blockages_um * database.units_per_um + origin
    exact = np.concatenate([np.stack([x, y, x + width, y + height], axis=1), blocked])
    outward = np.concatenate([np.floor(exact[:, :2] + TOLERANCE_DBU), np.ceil(exact[:, 2:] - TOLERANCE_DBU)], axis=1)
    return exact, outward


def _order(design: Design, moving: IntArray, boxes: FloatArray) -> tuple[BoolArray, BoolArray]:
    """(T, T) each: [i, j] = box i ends before box j begins, along x or y; a pair along the axis with the wider gap."""
    x, y, right, top = boxes.T
    gap_x, gap_y = x[None, :] - right[:, None], y[None, :] - top[:, None]  # of j behind i
    wide_x, wide_y = np.maximum(gap_x, gap_x.T), np.maximum(gap_y, gap_y.T)
    apart = np.maximum(wide_x, wide_y) >= -2 * TOLERANCE_DBU
    count = len(moving)
    clash = ~apart
    clash[count:, count:] = False  # fixed things among themselves are as they are
    np.fill_diagonal(clash, False)
    if clash.any():
        first, second = (int(at) for at in np.argwhere(clash)[0])
        raise InputError(
            f"{_name(design, moving, first)} and {_name(design, moving, second)} overlap before they are put on the"
            " grid"
        )
    along_x = wide_x >= wide_y
    np.fill_diagonal(gap_x, -np.inf)
    np.fill_diagonal(gap_y, -np.inf)
    return along_x & (gap_x > gap_x.T), ~along_x & (gap_y > gap_y.T)


def _margins(design: Design, placement: Placement, moving: IntArray, count: int) -> FloatArray:
    """(T, 4) left bottom right top (dbu): what rules may ask of free space around each movable macro; others 0."""
    margin, rules = np.zeros((count, 4)), design.constraints
    if rules is not None:
        halo = oriented_halo_um(rules.halo_um[moving], placement.orientation[moving]) + rules.macro_spacing_um / 2
        margin[: len(moving)] = halo * database_of(design).units_per_um
    return margin


def _room(boxes: FloatArray, margin: FloatArray, axis: int) -> FloatArray:
    """(T, T) free space to keep between box i and box j behind it: what rules may ask, but never more than there is."""
    gap = boxes[None, :, axis] - boxes[:, None, axis + 2]
    return np.ceil(np.clip(np.minimum(gap, margin[:, None, axis + 2] + margin[None, :, axis]), 0, None) - TOLERANCE_DBU)


def _settle(
    at: FloatArray,
    size: FloatArray,
    before: BoolArray,
    room: FloatArray,
    count: int,
    step: LongArray,
    phase: LongArray,
    canvas: tuple[int, int],
) -> FloatArray:
    """New places along one axis: the nearest of the lattice, pushed up to keep the order, then down to stay inside."""
    new = at.copy()
    new[:count] = np.round((at[:count] - phase) / step) * step + phase
    rank = np.argsort(at[:count], kind="stable")
    for macro in rank:
        lowest = max(canvas[0], float(np.max((new + size + room[:, macro])[before[:, macro]], initial=-np.inf)))
        if new[macro] < lowest:
            new[macro] = np.ceil((lowest - phase[macro]) / step[macro]) * step[macro] + phase[macro]
    for macro in rank[::-1]:
        highest = min(canvas[1], float(np.min((new - room[macro])[before[macro]], initial=np.inf))) - size[macro]
        if new[macro] > highest:
            new[macro] = np.floor((highest - phase[macro]) / step[macro]) * step[macro] + phase[macro]
    return new


def _check(
    design: Design, moving: IntArray, x: FloatArray, y: FloatArray, width: FloatArray, height: FloatArray,
    canvas_x: tuple[int, int], canvas_y: tuple[int, int],
) -> None:  # fmt: skip
    """Exact, in integers: every movable macro within the canvas and clear of everything else."""
    count = len(moving)
    outside = (x < canvas_x[0]) | (x + width > canvas_x[1]) | (y < canvas_y[0]) | (y + height > canvas_y[1])
    if outside[:count].any():
        first = int(np.flatnonzero(outside[:count])[0])
        raise InputError(
            f"{_name(design, moving, first)} cannot be on the grid within the canvas and clear of its neighbours"
        )
    overlap_x = np.minimum(x + width, (x + width)[:, None]) > np.maximum(x, x[:, None])
    overlap_y = np.minimum(y + height, (y + height)[:, None]) > np.maximum(y, y[:, None])
    overlap = overlap_x & overlap_y
    overlap[count:, count:] = False
    np.fill_diagonal(overlap, False)
    if overlap.any():
        first, second = (int(at) for at in np.argwhere(overlap)[0])
        raise InputError(
            f"{_name(design, moving, first)} and {_name(design, moving, second)} cannot both be on the grid without"
            " overlap"
        )


def _name(design: Design, moving: IntArray, number: int) -> str:
    if number < len(moving):
        return f"macro '{design.netlist.node_name[moving[number]]}'"
    return "a fixed macro or blockage"
