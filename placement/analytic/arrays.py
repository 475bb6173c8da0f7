"""A design as padded float32 arrays for the smooth cost, in units of grid cells.

In: `Design`, the orientations to keep. Out: `Arrays`, whose shapes depend on the design's *bucket* only, so that a
second design of the same bucket compiles nothing. Letters (padded): N nodes, T terminals, E nets, K net-terminal
connections, S route segments of each direction, B boxes that must not overlap, P pairs of them, R rows, C columns.

x counts columns, y counts rows, from the lower left corner. Pad nodes have no size, sit at 0 and never move; pad
terminals belong to them, pad nets and segments have weight 0. Imports numpy alone.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netlists.model import ORIENTATION_MATRIX, ByteArray, Design, NodeKind, oriented_size_um
from placement.cost.problem import Problem, problem_of
from placement.legal.boxes import macro_boxes, rules_of
from placement.legal.space import space_of

PAIRS_PER_BOX = 16  # neighbours of a macro that the overlap term can look at
# Smallest buckets: all tiny designs share one compiled program.
_LEAST_NODES, _LEAST_CONNECTIONS, _LEAST_BOXES, _LEAST_LINES = 256, 1024, 64, 16

Float = NDArray[np.float32]
Int = NDArray[np.int32]
# Fields of what travels between host and device: numpy arrays here, jax.Array inside compiled functions.
FloatField = Any
IntField = Any


class Arrays(NamedTuple):
    """Everything that stays the same during one global placement. float32 and int32."""

    free: FloatField  # (N,) 1 = may move
    half: FloatField  # (2, N) half width and half height of hard and soft macros, else 0
    low: FloatField  # (2, N) bounds of the centre: in the canvas, and in the box around where constraints allow it
    high: FloatField  # (2, N)
    term_node: IntField  # (T,)
    term_offset: FloatField  # (2, T) after orientation
    conn_term: IntField  # (K,)
    conn_net: IntField  # (K,) never falling
    net_cost: FloatField  # (2, E) wirelength cost per cell of width, per cell of height
    box_node: IntField  # (B,) hard macros and blockages (a blockage is a node that never moves)
    box_half: FloatField  # (2, B) half width and half height of boxes padded by halo or spacing
    box_offset: FloatField  # (2, B) from a node's centre to its padded box's
    box_hard: FloatField  # (B,) 1 = hard macro: takes routing supply
    hor_share: FloatField  # (R,) of supply that one route takes in a cell
    ver_share: FloatField  # (C,)
    hor_reach: FloatField  # (R, R) 1 where a row's routes are spread to
    ver_reach: FloatField  # (C, C)
    blocked: FloatField  # (2,) share of supply, H and V, that a hard macro takes in a cell it covers
    valid: FloatField  # (R, C) 1 inside the grid
    size: FloatField  # (2,) columns, rows
    density_top: FloatField  # () cells that the density cost averages; 0 = those not empty
    congestion_top: FloatField  # () values that the congestion cost averages
    potential: FloatField  # (R, C) electrostatic potential of each cosine mode per density of that mode
    modes_x: FloatField  # (C, C) cosine transform over columns, (mode, column)
    modes_y: FloatField  # (R, R)
    overlap_scale: FloatField  # () 1 / (number of cells)


def bucket(count: int, least: int) -> int:
    """The smallest of least, 3/2 least, 2 least, 3 least, 4 least … that is not below `count`; least: a power of 2."""
    size = least
    while size < count:
        size = size * 3 // 2 if size & (size - 1) == 0 else size // 3 * 4
    return size


def _pad(values: NDArray, length: int, fill: float = 0) -> NDArray:
    shape = (*values.shape[:-1], length)
    out = np.full(shape, fill, dtype=values.dtype)
    out[..., : values.shape[-1]] = values
    return out


def _square(values: NDArray, size: int) -> NDArray:
    out = np.zeros((size, size))
    out[: len(values), : len(values)] = values
    return out


def _reach(count: int, radius: int) -> NDArray:
    line = np.arange(count)
    return (np.abs(line[:, None] - line[None, :]) <= radius).astype(np.float64)


def _cosines(count: int) -> NDArray:
    """Orthonormal cosine transform (DCT-II): (mode, cell)."""
    cell, mode = np.arange(count), np.arange(count)[:, None]
    return np.cos(np.pi * mode * (cell + 0.5) / count) * np.where(mode == 0, 1.0, 2.0**0.5) / count**0.5


def segment_slots(p: Problem) -> int:
    """Room for the route segments of one direction: the nets need at most one less than each has terminals."""
    return bucket(int((np.diff(p.net_start) - 1).sum()), _LEAST_CONNECTIONS)


def make_arrays(design: Design, orientation: ByteArray) -> Arrays:
    """Flatten `design` with these orientations (N,). float32, int32."""
    p, netlist, canvas = problem_of(design), design.netlist, design.canvas
    n, blockages = netlist.node_count, design.blockages_um
    cell = np.array([canvas.cell_width_um, canvas.cell_height_um])
    width, height = oriented_size_um(netlist.width_um, netlist.height_um, orientation)
    area = np.isin(netlist.node_kind, (NodeKind.HARD_MACRO, NodeKind.SOFT_MACRO))
    half = np.where(area, np.stack([width, height]), 0.0) / 2 / cell[:, None]
    size = np.array([canvas.columns, canvas.rows], dtype=np.float64)
    low = np.minimum(half, size[:, None] / 2)
    high = size[:, None] - low
    nodes = bucket(n + len(blockages) + 1, _LEAST_NODES)
    free = (~design.start.fixed & area).astype(np.float32)

    terms = len(p.term_dx)
    term_node = np.repeat(np.arange(n), np.diff(p.node_term_start)).astype(np.int32)
    matrix = ORIENTATION_MATRIX[orientation[term_node]].astype(np.float64)
    offset = np.einsum("tij,tj->it", matrix, np.stack([p.term_dx, p.term_dy], axis=1)) / cell[:, None]
    nets = len(p.net_weight)
    t_pad, e_pad = bucket(terms + 1, _LEAST_NODES), bucket(nets + 1, _LEAST_NODES)
    k_pad = bucket(len(p.net_term), _LEAST_CONNECTIONS)
    conn_net = np.repeat(np.arange(nets), np.diff(p.net_start)).astype(np.int32)

    hard = np.flatnonzero(p.is_hard).astype(np.int32)
    box_node = np.concatenate([hard, n + np.arange(len(blockages), dtype=np.int32)])
    b_pad = bucket(len(box_node) + 1, _LEAST_BOXES)
    padded_half, box_offset = half[:, hard].copy(), np.zeros((2, len(hard)))
    if rules_of(design) is not None:
        # What keeps a macro off others, in the canvas and in its region, is the same for the legaliser.
        boxes, space = macro_boxes(design, design.start.moved(orientation=orientation)), space_of(design, orientation)
        padded = boxes.padded_corners_um()
        padded_half = (padded[:, 2:] - padded[:, :2]).T / 2 / cell[:, None]
        box_offset = (boxes.margin_um[:, 2:] - boxes.margin_um[:, :2]).T / 2 / cell[:, None]
        bounds = space.bounds_um().T / np.tile(cell, 2)[:, None]
        middle = (bounds[:2] + bounds[2:]) / 2
        low[:, space.node] = np.minimum(bounds[:2], middle)
        high[:, space.node] = np.maximum(bounds[2:], middle)
    half_blockage = (blockages[:, 2:] - blockages[:, :2]).T / 2 / cell[:, None]
    rows, columns = bucket(p.rows, _LEAST_LINES), bucket(p.columns, _LEAST_LINES)
    valid = np.zeros((rows, columns), dtype=np.float32)
    valid[: p.rows, : p.columns] = 1
    wave_x = np.pi * np.arange(p.columns) / p.columns
    wave_y = np.pi * np.arange(p.rows) / p.rows
    square = wave_y[:, None] ** 2 + wave_x[None, :] ** 2
    square[0, 0] = np.inf
    potential = np.zeros((rows, columns))
    potential[: p.rows, : p.columns] = 1.0 / square
    return Arrays(
        free=_pad(free, nodes),
        half=_pad(np.concatenate([half, half_blockage], axis=1), nodes).astype(np.float32),
        low=_pad(low, nodes).astype(np.float32),
        high=_pad(high, nodes).astype(np.float32),
        term_node=_pad(term_node, t_pad, nodes - 1),
        term_offset=_pad(offset, t_pad).astype(np.float32),
        conn_term=_pad(p.net_term, k_pad, t_pad - 1),
        conn_net=_pad(conn_net, k_pad, e_pad - 1),
        net_cost=_pad(p.net_weight * p.wirelength_scale * cell[:, None], e_pad).astype(np.float32),
        box_node=_pad(box_node, b_pad, nodes - 1),
        box_half=_pad(np.concatenate([padded_half, half_blockage], axis=1), b_pad).astype(np.float32),
        box_offset=_pad(np.concatenate([box_offset, np.zeros_like(half_blockage)], axis=1), b_pad).astype(np.float32),
        box_hard=_pad(np.concatenate([np.ones(len(hard)), np.zeros(len(blockages))]), b_pad).astype(np.float32),
        hor_share=_pad(p.hor_share, rows).astype(np.float32),
        ver_share=_pad(p.ver_share, columns).astype(np.float32),
        hor_reach=_square(_reach(p.rows, p.smoothing), rows).astype(np.float32),
        ver_reach=_square(_reach(p.columns, p.smoothing), columns).astype(np.float32),
        blocked=np.array([p.hor_blocked * p.cell_height, p.ver_blocked * p.cell_width], dtype=np.float32),
        valid=valid,
        size=size.astype(np.float32),
        density_top=np.float32(p.density_top) * np.ones((), np.float32),
        congestion_top=np.float32(p.congestion_top) * np.ones((), np.float32),
        potential=potential.astype(np.float32),
        modes_x=_square(_cosines(p.columns), columns).astype(np.float32),
        modes_y=_square(_cosines(p.rows), rows).astype(np.float32),
        overlap_scale=np.ones((), np.float32) / np.float32(p.rows * p.columns),
    )


def blockage_centres(design: Design) -> NDArray[np.float64]:
    """(2, blockages) in cells: where the nodes that stand for blockages are."""
    cell = np.array([design.canvas.cell_width_um, design.canvas.cell_height_um])
    return (design.blockages_um[:, :2] + design.blockages_um[:, 2:]).T / 2 / cell[:, None]
