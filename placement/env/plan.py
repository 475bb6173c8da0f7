"""What an episode never changes: order of the macros, placing grid, free space and nets before the first step.

In: a design and a configuration. Out: `Plan`, a plain tuple of arrays that numba takes as it is, built once a design.
Letters as in `types.py`; M movable hard macros in placing order, E nets that touch one of them, Q pins on such nets.

Order: largest area first (they find room last), among equal areas the one with the heaviest nets, then file order.
Wirelength during an episode is that of the exact cost over what has a place already: ports, fixed macros, placed
macros, and soft macros at the design's start where it has one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netlists.errors import InfeasibleError
from netlists.model import ORIENTATION_MATRIX, ByteArray, Design, FloatArray, IntArray, NodeKind
from placement.cost.problem import Problem, problem_of
from placement.env.types import FEATURE_COUNT, EnvConfig, Feature, grid_side
from placement.legal.boxes import canvas_box_um, clearance_um, macro_boxes, obstacles_um
from placement.legal.feasible import check_feasible, union_area_um2
from placement.legal.free_space import free_space
from placement.legal.pack import pack_boxes
from placement.legal.space import space_of, turned_to_fit, with_clearance

SPARE_RECTANGLES = 32  # room for free rectangles, per macro or obstacle; scattered boxes leave 2 to 6 each


class Plan(NamedTuple):
    """Lengths float64 µm. Boxes are the padded ones of `placement.legal.space`, and the episode knows no others: sizes,
    canvas and free space include the clearance between boxes, and a macro's centre is its box's, `offset` from its own.
    """

    side: int  # of the padded grid
    columns: int  # of the placing grid, at most `side`
    rows: int
    cell_width: float
    cell_height: float
    node: IntArray  # (M,) into netlist nodes, in placing order
    width: FloatArray  # (M,)
    height: FloatArray  # (M,)
    free: FloatArray  # (capacity, 4) maximal free rectangles before the first macro
    free_count: int
    occupancy: NDArray[np.float32]  # (side, side) of fixed macros and blockages
    pin_start: IntArray  # (M+1,)
    pin_net: IntArray  # (Q,) into E
    pin_dx: FloatArray  # (Q,) from the box's centre, after orientation
    pin_dy: FloatArray  # (Q,)
    net_weight: FloatArray  # (E,) so that weight * HPWL is a share of the wirelength cost
    net_box: FloatArray  # (E, 4) x_low y_low x_high y_high of what has a place; +inf … -inf: nothing has
    static_maps: NDArray[np.float32]  # (3, side, side) ports, soft macros, canvas
    features: NDArray[np.float32]  # (M, F) what is known of each step beforehand; the rest is 0
    degree: FloatArray  # (M,) weight of each macro's nets
    orientation: ByteArray  # (N,) of all nodes during the episode
    offset: FloatArray  # (M, 2) from the macro's centre to its box's
    room_start: IntArray  # (M+1,) macro m's rooms are rooms[room_start[m]:room_start[m+1]]; none: anywhere
    rooms: FloatArray  # (R, 4) one must hold the box's centre
    snap: bool  # macros go against their neighbours, see kernels.py


def placing_order(design: Design, degree: FloatArray) -> IntArray:
    """Movable hard macros in placing order. degree (N,) weight of each node's nets."""
    boxes = macro_boxes(design, design.start)
    node = boxes.node[boxes.movable]
    area = (boxes.width_um * boxes.height_um)[boxes.movable]
    # equal but for noise is equal: 9 digits
    rounded = np.round(area / max(float(area.max(initial=0.0)), 1e-300), 9)
    return node[np.lexsort((node, -degree[node], -rounded))]


def _cover(box: FloatArray, columns: int, rows: int, cell_width: float, cell_height: float) -> FloatArray:
    """(rows, columns) share of each cell that a box covers."""
    x, y = np.arange(columns) * cell_width, np.arange(rows) * cell_height
    across = np.clip(np.minimum(box[2], x + cell_width) - np.maximum(box[0], x), 0, None) / cell_width
    up = np.clip(np.minimum(box[3], y + cell_height) - np.maximum(box[1], y), 0, None) / cell_height
    return np.outer(up, across)


def _scaled(values: FloatArray) -> FloatArray:
    top = values.max(initial=0.0)
    return values / top if top > 0 else values


def _static_maps(design: Design, side: int, columns: int, rows: int) -> NDArray[np.float32]:
    """Ports, soft macros, canvas; see Map. A soft macro counts in its centre's cell."""
    netlist, start, canvas = design.netlist, design.start, design.canvas
    maps = np.zeros((3, side, side), dtype=np.float32)
    finite = np.isfinite(start.x_um) & np.isfinite(start.y_um)
    x, y = np.where(finite, start.x_um, 0.0), np.where(finite, start.y_um, 0.0)
    col = np.clip(x / canvas.width_um * columns, 0, columns - 1).astype(int)
    row = np.clip(y / canvas.height_um * rows, 0, rows - 1).astype(int)
    area = netlist.width_um * netlist.height_um
    soft = NodeKind.SOFT_MACRO if design.has_start else None
    for channel, kind, amount in ((0, NodeKind.PORT, np.ones_like(area)), (1, soft, area)):
        if kind is not None:
            of = finite & (netlist.node_kind == kind)
            grid = np.zeros((rows, columns))
            np.add.at(grid, (row[of], col[of]), amount[of])
            maps[channel, :rows, :columns] = _scaled(grid)
    maps[2, :rows, :columns] = 1.0
    return maps


class _Nets(NamedTuple):
    pin_start: IntArray
    pin_net: IntArray
    pin_dx: FloatArray
    pin_dy: FloatArray
    net_weight: FloatArray
    net_box: FloatArray


def _nets(design: Design, p: Problem, order: IntArray, orientation: ByteArray, offset: FloatArray) -> _Nets:
    """Nets that touch a macro to place: its pins on them, and the box of their pins that have a place already."""
    start, kind = design.start, design.netlist.node_kind
    term_node = np.repeat(np.arange(len(kind)), np.diff(p.node_term_start))
    net_of = np.repeat(np.arange(len(p.net_weight)), np.diff(p.net_start))
    node_of = term_node[p.net_term]
    turn = ORIENTATION_MATRIX[orientation[node_of]].astype(np.float64)
    dx, dy = p.term_dx[p.net_term], p.term_dy[p.net_term]
    dx, dy = turn[:, 0, 0] * dx + turn[:, 0, 1] * dy, turn[:, 1, 0] * dx + turn[:, 1, 1] * dy

    place = np.full(len(kind), -1)
    place[order] = np.arange(len(order))
    mine = place[node_of] >= 0
    used = np.unique(net_of[mine])
    new_net = np.full(len(p.net_weight), -1)
    new_net[used] = np.arange(len(used))
    by_macro = np.flatnonzero(mine)[np.argsort(place[node_of[mine]], kind="stable")]

    placed = ~mine & np.isfinite(start.x_um + start.y_um)[node_of] & (new_net[net_of] >= 0)
    if not design.has_start:
        placed &= (kind[node_of] == NodeKind.PORT) | start.fixed[node_of]
    at, e = np.flatnonzero(placed), new_net[net_of[placed]]
    x, y = start.x_um[node_of[at]] + dx[at], start.y_um[node_of[at]] + dy[at]
    box = np.tile(np.array([np.inf, np.inf, -np.inf, -np.inf]), (len(used), 1))
    for side, values, better in ((0, x, np.minimum), (1, y, np.minimum), (2, x, np.maximum), (3, y, np.maximum)):
        better.at(box[:, side], e, values)
    counts = np.bincount(place[node_of[mine]], minlength=len(order))
    return _Nets(
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int32),
        new_net[net_of[by_macro]].astype(np.int32),
        dx[by_macro] - offset[place[node_of[by_macro]], 0],
        dy[by_macro] - offset[place[node_of[by_macro]], 1],
        p.net_weight[used] * p.wirelength_scale,
        box,
    )


def _features(design: Design, width: FloatArray, height: FloatArray, degree: FloatArray) -> NDArray[np.float32]:
    """(M, F): all entries that do not depend on where macros were put."""
    canvas, netlist = design.canvas, design.netlist
    macros, area = len(width), canvas.width_um * canvas.height_um
    size, weight = width * height, _scaled(degree)
    everything = union_area_um2(obstacles_um(design), canvas_box_um(design)) + size.sum()
    soft = netlist.node_kind == NodeKind.SOFT_MACRO
    f = np.zeros((macros, FEATURE_COUNT), dtype=np.float32)
    f[:, Feature.WIDTH], f[:, Feature.HEIGHT] = width / canvas.width_um, height / canvas.height_um
    f[:, Feature.AREA] = size / area * macros / 4
    f[:, Feature.DEGREE] = weight
    f[:-1, Feature.NEXT_WIDTH], f[:-1, Feature.NEXT_HEIGHT] = f[1:, Feature.WIDTH], f[1:, Feature.HEIGHT]
    f[:-1, Feature.NEXT_DEGREE] = f[1:, Feature.DEGREE]
    f[:, Feature.PROGRESS] = np.arange(macros) / max(macros, 1)
    f[:, Feature.REMAINING_AREA] = np.cumsum(size[::-1])[::-1] / area
    f[:, Feature.UTILISATION] = everything / area
    f[:, Feature.ASPECT] = canvas.width_um / (canvas.width_um + canvas.height_um)
    f[:, Feature.MACROS] = np.log2(1 + macros) / 12
    f[:, Feature.NETS] = np.log2(1 + netlist.net_count) / 20
    f[:, Feature.SOFT_AREA] = float((netlist.width_um * netlist.height_um)[soft].sum()) / area
    return f


def make_plan(design: Design, config: EnvConfig) -> Plan:
    """Build the arrays of an episode. Raises InfeasibleError as `check_feasible` does, and for a design in which every
    macro is fixed or none is: there is nothing to decide."""
    check_feasible(design)
    p = problem_of(design)
    node_of = np.repeat(np.arange(design.netlist.node_count), np.diff(p.node_net_start))
    degree = np.zeros(design.netlist.node_count)
    np.add.at(degree, node_of, p.net_weight[p.node_net])
    order = placing_order(design, degree)
    if not len(order):
        raise InfeasibleError(f"{design.name!r} has no movable hard macro: there is nothing to place")

    canvas, obstacles = design.canvas, obstacles_um(design)
    orientation = turned_to_fit(design, design.start).orientation
    space = space_of(design, orientation)
    space = space.in_order(np.searchsorted(space.node, order))
    clearance = clearance_um(design)
    if pack_boxes(space, clearance) is None:
        clearance = 0.0  # macros that only just fit
    clear = with_clearance(space, clearance)
    free, count = free_space(clear.canvas_um, clear.obstacles_um)
    spare = np.zeros((max(len(free), SPARE_RECTANGLES * (len(order) + len(obstacles) + 8)), 4))
    spare[:count] = free[:count]

    side = grid_side(canvas.columns, canvas.rows, config.max_grid)
    columns, rows = min(canvas.columns, side), min(canvas.rows, side)
    cell_width, cell_height = canvas.width_um / columns, canvas.height_um / rows
    occupancy = np.zeros((side, side), dtype=np.float32)
    for obstacle in obstacles:
        occupancy[:rows, :columns] += _cover(obstacle, columns, rows, cell_width, cell_height).astype(np.float32)
    nets = _nets(design, p, order, orientation, space.offset_um)
    return Plan(
        side=side,
        columns=columns,
        rows=rows,
        cell_width=cell_width,
        cell_height=cell_height,
        node=order,
        width=clear.width_um,
        height=clear.height_um,
        free=spare,
        free_count=int(count),
        occupancy=np.minimum(occupancy, 1.0),
        static_maps=_static_maps(design, side, columns, rows),
        features=_features(design, space.width_um, space.height_um, degree[order]),
        degree=degree[order],
        orientation=orientation,
        offset=space.offset_um,
        room_start=clear.room_start,
        rooms=clear.rooms_um,
        snap=False,
        **nets._asdict(),
    )
