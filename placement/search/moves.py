"""Where moves of one node would put it. Nothing is tried here and no state is written.

`step_target`: somewhere near. `to_net_target`: in line with one of its nets. `median_target`: where its nets are
shortest. `off_route_target`: so that a route leaves a congested row or column.
In: the cost's State, the Board. Out: `Target`. Random numbers come from the board's generator. Called by `loop`, which
checks legality and asks for the exact cost.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from placement.cost.incremental import State
from placement.cost.problem import Problem
from placement.cost.topk import T
from placement.kernels import inlined
from placement.search.board import MEDIAN_NETS, Board, below, uniform

Target = tuple[int, float, float]  # node, centre x and y in µm; node -1: nothing found
NOTHING: Target = (-1, 0.0, 0.0)

_LARGE_NET = 64  # terminals; nets of more are not looked through for the median
_HOT = 0.9  # of the lowest value that counts as congested: just below is the next in line
_ATTEMPTS = 6  # nets looked at for a congested cell
_LINES_TRIED = 4  # rows or columns to choose the least congested of


@inlined
def random_net(p: Problem, b: Board, node: int) -> int:
    """One of the node's nets; -1 when it has none."""
    first = p.node_net_start[node]
    nets = p.node_net_start[node + 1] - first
    return p.node_net[first + below(b, nets)] if nets > 0 else -1


@inlined
def random_terminal(p: Problem, b: Board, net: int) -> int:
    """One of the net's terminals."""
    first = p.net_start[net]
    return p.net_term[first + below(b, p.net_start[net + 1] - first)]


@inlined
def on_one_axis(s: State, b: Board, node: int, x: float, y: float, share: float) -> Target:
    """(x, y) for the node, but with this chance in x only, and with this chance in y only."""
    which = uniform(b)
    if which < share:
        x = s.x[node]
    elif which < 2.0 * share:
        y = s.y[node]
    return node, x, y


@inlined
def step_target(p: Problem, s: State, b: Board, node: int, reach: float) -> Target:
    """A step of random length, up to `reach` of the canvas, short ones as often as long ones of each magnitude."""
    length = reach * 0.01 ** uniform(b)
    x = s.x[node] + (2.0 * uniform(b) - 1.0) * length * p.width
    y = s.y[node] + (2.0 * uniform(b) - 1.0) * length * p.height
    return on_one_axis(s, b, node, x, y, 0.25)


@inlined
def to_net_target(p: Problem, s: State, b: Board, node: int) -> Target:
    """To the row, the column or the cell of a terminal of one of the node's nets."""
    net = random_net(p, b, node)
    if net < 0:
        return NOTHING
    term = random_terminal(p, b, net)
    own = p.net_term[p.net_start[net]]
    for k in range(p.net_start[net], p.net_start[net + 1]):
        t = p.net_term[k]
        if b.term_node[t] == node:
            own = t
    x = s.x[node] + s.term_x[term] - s.term_x[own] + (uniform(b) - 0.5) * p.cell_width
    y = s.y[node] + s.term_y[term] - s.term_y[own] + (uniform(b) - 0.5) * p.cell_height
    return on_one_axis(s, b, node, x, y, 0.4)


@inlined
def insert_sorted(values: NDArray, count: int, value: float) -> None:
    """Insert into values[:count], which is sorted; the array is longer."""
    i = count
    while i > 0 and values[i - 1] > value:
        values[i] = values[i - 1]
        i -= 1
    values[i] = value


@inlined
def net_bounds(p: Problem, s: State, b: Board, net: int, node: int) -> tuple[float, float, float, float]:
    """Left, right, bottom, top (µm) of a net's terminals on other nodes, as seen from the node's own terminal: centres
    between which the node does not lengthen the net. Left is inf when there are none."""
    left = bottom = np.inf
    right = top = -np.inf
    dx = dy = 0.0
    for k in range(p.net_start[net], p.net_start[net + 1]):
        term = p.net_term[k]
        x, y = s.term_x[term], s.term_y[term]
        if b.term_node[term] == node:
            dx, dy = x - s.x[node], y - s.y[node]
        else:
            left, right = min(left, x), max(right, x)
            bottom, top = min(bottom, y), max(top, y)
    return left - dx, right - dx, bottom - dy, top - dy


@inlined
def median_interval(p: Problem, s: State, b: Board, node: int) -> int:
    """Sort the bounds of up to MEDIAN_NETS nets of a node into b.bounds (x, then y); returns how many, an even number.

    The middle two are the ends of the interval where these nets are shortest (Goto 1981). Of a node with more nets a
    random run of them counts; nets of more than 64 terminals do not.
    """
    first, nets = p.node_net_start[node], p.node_net_start[node + 1] - p.node_net_start[node]
    skip = below(b, nets) if nets > MEDIAN_NETS else 0
    count = 0
    for j in range(min(nets, MEDIAN_NETS)):
        net = p.node_net[first + (j + skip) % nets]
        if p.net_start[net + 1] - p.net_start[net] > _LARGE_NET:
            continue
        left, right, bottom, top = net_bounds(p, s, b, net, node)
        if left < np.inf:
            insert_sorted(b.bounds[0], count, left)
            insert_sorted(b.bounds[0], count + 1, right)
            insert_sorted(b.bounds[1], count, bottom)
            insert_sorted(b.bounds[1], count + 1, top)
            count += 2
    return count


@inlined
def median_target(p: Problem, s: State, b: Board, node: int) -> Target:
    """All or some of the way to the node's optimal interval, a cell more or less, often in x or in y only."""
    count = median_interval(p, s, b, node)
    if count == 0:
        return NOTHING
    middle = count // 2
    x = b.bounds[0, middle - 1] + uniform(b) * (b.bounds[0, middle] - b.bounds[0, middle - 1])
    y = b.bounds[1, middle - 1] + uniform(b) * (b.bounds[1, middle] - b.bounds[1, middle - 1])
    x += (2.0 * uniform(b) - 1.0) * p.cell_width
    y += (2.0 * uniform(b) - 1.0) * p.cell_height
    way = 1.0 if uniform(b) < 0.5 else uniform(b)
    x, y = s.x[node] + way * (x - s.x[node]), s.y[node] + way * (y - s.y[node])
    return on_one_axis(s, b, node, x, y, 0.25)


@inlined
def coolest_line(b: Board, values: NDArray, line: int, start: int, end: int, reach: int, hot: float) -> int:
    """Of some other lines up to `reach` away, near ones more often, that of the least sum above `hot` in cells
    [start, end).

    values (L, M). -1 when all that were drawn lie outside the grid.
    """
    best, least = -1, np.inf
    for _ in range(_LINES_TRIED):
        far = int(reach ** uniform(b))
        other = line + far if uniform(b) < 0.5 else line - far
        if 0 <= other < values.shape[0]:
            total = 0.0
            for cell in range(start, end):
                total += max(values[other, cell] - hot, 0.0)
            if total < least:
                best, least = other, total
    return best


@inlined
def off_route_target(p: Problem, s: State, b: Board, reach: float) -> Target:
    """A node moved by whole rows or columns, so that a route of one of its nets leaves a congested one.

    A random cell of the route from a random net's driver to a random sink; if it is congested, its row is the driver's
    or its column the sink's (the cost's rule for all nets but those of three cells), and that end moves. reach: share
    of the rows or columns, the farthest.
    """
    hot = _HOT * s.congestion_level.at[T]
    rows, columns = max(int(reach * p.rows), 2), max(int(reach * p.columns), 2)
    for _ in range(_ATTEMPTS):
        net = random_net(p, b, b.movable[below(b, len(b.movable))])
        if net < 0:
            continue
        driver, sink = p.net_term[p.net_start[net]], random_terminal(p, b, net)
        row, col = s.term_row[driver], s.term_col[sink]
        across, along = abs(s.term_col[driver] - col), abs(s.term_row[sink] - row)
        if across + along == 0:
            continue
        cell = below(b, across + along)
        if cell < across:
            left, node = min(s.term_col[driver], col), b.term_node[driver]
            if b.may_move[node] and s.hor[row, left + cell] > hot:
                to = coolest_line(b, s.hor, row, left, left + across, rows, hot)
                if to >= 0:
                    return node, s.x[node], s.y[node] + (to - row) * p.cell_height
        else:
            bottom, node = min(s.term_row[sink], row), b.term_node[sink]
            if b.may_move[node] and s.ver[col, bottom + cell - across] > hot:
                to = coolest_line(b, s.ver, col, bottom, bottom + along, columns, hot)
                if to >= 0:
                    return node, s.x[node] + (to - col) * p.cell_width, s.y[node]
    return NOTHING
