"""The environment's inner loop: place a macro, then see the canvas again. K episodes side by side, one thread.

In: a `Plan` and the `States` of K episodes (struct of arrays). Written: states and observation arrays. An action is a
cell; the macro's centre goes to the legal point nearest to the cell's middle *within the cell*, found exactly from the
maximal free rectangles, and the mask holds exactly the cells that have such a point. So an allowed action is always
legal, and an empty mask means that no legal place exists anywhere on the canvas. On designs where macros fit only
tightly (`Plan.snap`) the macro goes against a neighbour instead, where one is that near, so that no gap is left.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netlists.model import BoolArray, FloatArray
from placement.env.plan import Plan
from placement.env.types import Feature, Map
from placement.kernels import allocating
from placement.legal.free_space import FIT_UM, occupy, shared_range

RUNNING, COMPLETE, DEAD_END, REFUSED = 0, 1, 2, 3  # status of an episode after a step

# numba sees module constants, not enums' members
_OCCUPANCY, _LEGAL, _WIRE, _NEXT_WIRE, _PORTS = (
    int(m) for m in (Map.OCCUPANCY, Map.LEGAL, Map.WIRE, Map.NEXT_WIRE, Map.PORTS)
)
_STATIC_MAPS = len(Map) - _PORTS
_PLACED_DEGREE, _LEGAL_SHARE = int(Feature.PLACED_DEGREE), int(Feature.LEGAL_SHARE)


class States(NamedTuple):
    """K episodes. `step` macros of each have a centre."""

    step: NDArray[np.int64]  # (K,)
    centre: FloatArray  # (K, M, 2) µm
    free: FloatArray  # (K, capacity, 4) maximal free rectangles
    free_count: NDArray[np.int64]  # (K,)
    occupancy: NDArray[np.float32]  # (K, side, side)
    net_box: FloatArray  # (K, E, 4)
    mask: BoolArray  # (K, side*side) of the macro to place now


def new_states(plan: Plan, count: int) -> States:
    """Arrays for `count` episodes; `begin` makes them valid."""
    macros, nets = len(plan.node), len(plan.net_weight)
    return States(
        step=np.zeros(count, np.int64),
        centre=np.zeros((count, macros, 2)),
        free=np.zeros((count, *plan.free.shape)),
        free_count=np.zeros(count, np.int64),
        occupancy=np.zeros((count, plan.side, plan.side), np.float32),
        net_box=np.zeros((count, nets, 4)),
        mask=np.zeros((count, plan.side * plan.side), np.bool_),
    )


@allocating
def _cells(low: float, high: float, size: float, count: int) -> tuple[int, int]:
    """First and last cell that hold a centre from [low, high]."""
    first = min(max(int(low / size), 0), count - 1)
    return first, min(max(int(high / size), first), count - 1)


@allocating
def _in_cell(low: float, high: float, cell: int, first: int, last: int, middle: float, snap: bool) -> float:
    """A centre from [low, high] in a cell: nearest to its middle; with `snap`, an end if the cell holds one."""
    if snap and cell == first:
        return low
    if snap and cell == last:
        return high
    return min(max(middle, low), high)


@allocating
def begin(plan: Plan, s: States, k: int) -> None:
    """Episode k from the start: nothing placed."""
    s.step[k] = 0
    s.free_count[k] = plan.free_count
    s.free[k, : plan.free_count] = plan.free[: plan.free_count]
    s.occupancy[k] = plan.occupancy
    s.net_box[k] = plan.net_box
    legal_cells(plan, s, k)


@allocating
def _mark(plan: Plan, mask: BoolArray, low_x: float, high_x: float, low_y: float, high_y: float) -> None:
    """Set the cells that hold a centre of this rectangle."""
    c0, c1 = _cells(low_x, high_x, plan.cell_width, plan.columns)
    r0, r1 = _cells(low_y, high_y, plan.cell_height, plan.rows)
    for row in range(r0, r1 + 1):
        mask[row * plan.side + c0 : row * plan.side + c1 + 1] = True


@allocating
def legal_cells(plan: Plan, s: States, k: int) -> int:
    """Write the mask of episode k's current macro; returns the number of allowed cells."""
    m = s.step[k]
    mask = s.mask[k]
    mask[:] = False
    if m >= len(plan.node):
        return 0
    w, h = plan.width[m], plan.height[m]
    first_room, end_room = plan.room_start[m], plan.room_start[m + 1]
    for i in range(s.free_count[k]):
        r = s.free[k, i]
        room_x, room_y = r[2] - r[0] - w, r[3] - r[1] - h
        if room_x < -FIT_UM or room_y < -FIT_UM:
            continue
        low_x, low_y = r[0] + w / 2, r[1] + h / 2
        high_x, high_y = low_x + max(room_x, 0.0), low_y + max(room_y, 0.0)
        if first_room == end_room:
            _mark(plan, mask, low_x, high_x, low_y, high_y)
        for q in range(first_room, end_room):
            x0, x1 = shared_range(low_x, high_x, plan.rooms[q, 0], plan.rooms[q, 2])
            y0, y1 = shared_range(low_y, high_y, plan.rooms[q, 1], plan.rooms[q, 3])
            if x0 <= x1 and y0 <= y1:
                _mark(plan, mask, x0, x1, y0, y1)
    count = 0
    for allowed in mask:
        count += allowed
    return count


@allocating
def _centre_of(
    plan: Plan, col: int, row: int, low_x: float, high_x: float, low_y: float, high_y: float
) -> tuple[float, float, float]:
    """The centre in a rectangle and a cell nearest to the cell's middle, and its squared distance; inf: none."""
    x, y = (col + 0.5) * plan.cell_width, (row + 0.5) * plan.cell_height
    c0, c1 = _cells(low_x, high_x, plan.cell_width, plan.columns)
    r0, r1 = _cells(low_y, high_y, plan.cell_height, plan.rows)
    if col < c0 or col > c1 or row < r0 or row > r1:
        return x, y, np.inf
    cx = _in_cell(low_x, high_x, col, c0, c1, x, plan.snap)
    cy = _in_cell(low_y, high_y, row, r0, r1, y, plan.snap)
    return cx, cy, (cx - x) ** 2 + (cy - y) ** 2


@allocating
def centre_in_cell(plan: Plan, s: States, k: int, cell: int) -> tuple[float, float, bool]:
    """The legal centre nearest to the cell's centre within the cell, for episode k's current macro; False: none."""
    m = s.step[k]
    row, col = cell // plan.side, cell % plan.side
    w, h = plan.width[m], plan.height[m]
    best, best_x, best_y = np.inf, (col + 0.5) * plan.cell_width, (row + 0.5) * plan.cell_height
    first_room, end_room = plan.room_start[m], plan.room_start[m + 1]
    for i in range(s.free_count[k]):
        r = s.free[k, i]
        room_x, room_y = r[2] - r[0] - w, r[3] - r[1] - h
        if room_x < -FIT_UM or room_y < -FIT_UM:
            continue
        low_x, low_y = r[0] + w / 2, r[1] + h / 2
        high_x, high_y = low_x + max(room_x, 0.0), low_y + max(room_y, 0.0)
        for q in range(first_room, max(end_room, first_room + 1)):
            x0, x1, y0, y1 = low_x, high_x, low_y, high_y
            if first_room < end_room:
                x0, x1 = shared_range(low_x, high_x, plan.rooms[q, 0], plan.rooms[q, 2])
                y0, y1 = shared_range(low_y, high_y, plan.rooms[q, 1], plan.rooms[q, 3])
                if x0 > x1 or y0 > y1:
                    continue
            cx, cy, distance = _centre_of(plan, col, row, x0, x1, y0, y1)
            if distance < best:
                best, best_x, best_y = distance, cx, cy
    return best_x, best_y, best < np.inf


@allocating
def put(plan: Plan, s: States, k: int, x: float, y: float) -> float:
    """Put episode k's current macro at (x, y); returns by how much the wirelength cost grows over what has a place."""
    m = s.step[k]
    s.centre[k, m, 0], s.centre[k, m, 1] = x, y
    llx, lly, urx, ury = (
        x - plan.width[m] / 2,
        y - plan.height[m] / 2,
        x + plan.width[m] / 2,
        y + plan.height[m] / 2,
    )
    # Should the rectangles ever outgrow their room, the last are dropped: less is allowed then, never too much.
    free, count = occupy(s.free[k], s.free_count[k], llx, lly, urx, ury)
    count = min(count, s.free.shape[1])
    if len(free) != s.free.shape[1]:
        s.free[k, :count] = free[:count]
    s.free_count[k] = count

    c0, c1 = _cells(llx, urx, plan.cell_width, plan.columns)
    r0, r1 = _cells(lly, ury, plan.cell_height, plan.rows)
    for row in range(r0, r1 + 1):
        up = min(ury, (row + 1) * plan.cell_height) - max(lly, row * plan.cell_height)
        for col in range(c0, c1 + 1):
            across = min(urx, (col + 1) * plan.cell_width) - max(llx, col * plan.cell_width)
            share = max(up, 0.0) * max(across, 0.0) / (plan.cell_width * plan.cell_height)
            s.occupancy[k, row, col] = min(s.occupancy[k, row, col] + share, 1.0)

    grown = 0.0
    for q in range(plan.pin_start[m], plan.pin_start[m + 1]):
        e = plan.pin_net[q]
        box = s.net_box[k, e]
        px, py = x + plan.pin_dx[q], y + plan.pin_dy[q]
        if box[0] > box[2]:
            box[0], box[1], box[2], box[3] = px, py, px, py
            continue
        grown += plan.net_weight[e] * (
            max(box[0] - px, 0.0) + max(px - box[2], 0.0) + max(box[1] - py, 0.0) + max(py - box[3], 0.0)
        )
        box[0], box[1] = min(box[0], px), min(box[1], py)
        box[2], box[3] = max(box[2], px), max(box[3], py)
    s.step[k] = m + 1
    return grown


@allocating
def wire_map(plan: Plan, net_box: FloatArray, m: int, along_x: FloatArray, along_y: FloatArray, out: NDArray) -> float:
    """Growth of wirelength with macro m in each cell, scaled to [0, 1] over the canvas, into out (side, side).

    net_box (E, 4) of one episode. The growth of a net's half-perimeter is a term in x plus one in y, so a column's and
    a row's sum give a cell's value. Scratch: along_x, along_y (side,). Returns the weight of m's nets with a box.
    """
    along_x[:] = 0.0
    along_y[:] = 0.0
    placed = 0.0
    for q in range(plan.pin_start[m], plan.pin_start[m + 1]):
        box = net_box[plan.pin_net[q]]
        if box[0] > box[2]:
            continue
        weight = plan.net_weight[plan.pin_net[q]]
        placed += weight
        for col in range(plan.columns):
            px = (col + 0.5) * plan.cell_width + plan.pin_dx[q]
            along_x[col] += weight * max(max(box[0] - px, px - box[2]), 0.0)
        for row in range(plan.rows):
            py = (row + 0.5) * plan.cell_height + plan.pin_dy[q]
            along_y[row] += weight * max(max(box[1] - py, py - box[3]), 0.0)
    low = along_x[: plan.columns].min() + along_y[: plan.rows].min()
    span = along_x[: plan.columns].max() + along_y[: plan.rows].max() - low
    scale = 1.0 / span if span > 0.0 else 0.0
    for row in range(plan.rows):
        for col in range(plan.columns):
            out[row, col] = (along_x[col] + along_y[row] - low) * scale
    return placed


@allocating
def observe(plan: Plan, s: States, k: int, maps: NDArray, features: NDArray, mask: BoolArray) -> None:
    """Write episode k's observation: maps (C, side, side) and features (F,) float32, mask (side*side,)."""
    m = s.step[k]
    maps[_OCCUPANCY] = s.occupancy[k]
    maps[_PORTS : _PORTS + _STATIC_MAPS] = plan.static_maps
    maps[_LEGAL : _NEXT_WIRE + 1] = 0.0
    mask[:] = s.mask[k]
    if m >= len(plan.node):
        features[:] = 0.0
        return
    allowed = 0
    for cell in range(plan.side * plan.side):
        if mask[cell]:
            maps[_LEGAL, cell // plan.side, cell % plan.side] = 1.0
            allowed += 1
    along_x, along_y = np.empty(plan.side), np.empty(plan.side)
    placed = wire_map(plan, s.net_box[k], m, along_x, along_y, maps[_WIRE])
    if m + 1 < len(plan.node):
        wire_map(plan, s.net_box[k], m + 1, along_x, along_y, maps[_NEXT_WIRE])
    features[:] = plan.features[m]
    weight = 0.0
    for q in range(plan.pin_start[m], plan.pin_start[m + 1]):
        weight += plan.net_weight[plan.pin_net[q]]
    features[_PLACED_DEGREE] = placed / weight if weight > 0.0 else 0.0
    features[_LEGAL_SHARE] = allowed / (plan.columns * plan.rows)


@allocating
def step_all(plan: Plan, s: States, actions: NDArray[np.int64], growth: FloatArray, status: NDArray) -> None:
    """One step of every episode. actions (K,) int64 cells. Writes growth (K,) of the wirelength cost and status (K,).

    REFUSED: the action is not in the mask; that episode is left as it was.
    """
    for k in range(len(actions)):
        growth[k] = 0.0
        status[k] = REFUSED
        if not (0 <= actions[k] < plan.side * plan.side) or not s.mask[k, actions[k]]:
            continue
        x, y, found = centre_in_cell(plan, s, k, actions[k])
        if not found:
            continue
        growth[k] = put(plan, s, k, x, y)
        allowed = legal_cells(plan, s, k)
        if s.step[k] == len(plan.node):
            status[k] = COMPLETE
        else:
            status[k] = RUNNING if allowed else DEAD_END


@allocating
def observe_all(plan: Plan, s: States, maps: NDArray, features: NDArray, mask: BoolArray) -> None:
    """Observations of every episode, stacked."""
    for k in range(len(s.step)):
        observe(plan, s, k, maps[k], features[k], mask[k])


@allocating
def random_episode_ends_dead(plan: Plan, s: States, seed: int) -> bool:
    """Whether an episode of random allowed actions, in slot 0, runs into a dead end. No observations are made."""
    np.random.seed(seed)
    actions, growth, status = np.zeros(1, np.int64), np.zeros(1), np.zeros(1, np.int64)
    begin(plan, s, 0)
    while status[0] == RUNNING:
        allowed = np.flatnonzero(s.mask[0])
        actions[0] = allowed[np.random.randint(len(allowed))]
        step_all(plan, s, actions, growth, status)
    return status[0] != COMPLETE
