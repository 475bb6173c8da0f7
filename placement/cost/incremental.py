"""The proxy cost under moves: try, commit, undo, at the price of the moved nodes' own nets and cells.

In: a Problem and a State at some placement; proposals for one or more nodes. Out: the exact cost of the proposal.
Kernels `propose`, `trial`, `accept`, `withdraw` are for compiled search loops; `IncrementalCost` wraps them.
Equal to `placement.cost.evaluate` to 1e-9 after any number of commits (property tests); rounding is kept from adding
up by `rebuild`, which loops call now and then.

A trial writes only its own scratch (proposed terminals, changes of maps), never what a reader of the state sees.
Knows nothing of legality.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netlists.model import Design, Placement
from placement.cost import topk
from placement.cost.congestion import block_routes, distinct_cells, route_cells, route_pair
from placement.cost.density import add_box, mean_of_nonzero
from placement.cost.geometry import half_size, place_terminals
from placement.cost.lines import Lines, add_map, clear, empty_lines, spread
from placement.cost.problem import Problem, problem_of
from placement.cost.proxy import DEFAULT_WEIGHTS, CostReport, Scratch, Weights, fill, new_scratch
from placement.cost.topk import Level, new_level, set_level, top_sum
from placement.cost.wirelength import net_hpwl
from placement.kernels import inlined, kernel

WIRELENGTH, COST, NEW_WIRELENGTH, NEW_COST = 0, 1, 2, 3  # indices of State.total
MOVED, NETS, TOKEN, REROUTE = 0, 1, 2, 3  # indices of State.counter


class State(NamedTuple):
    """A placement with everything its cost is made of, and the scratch of one trial. N nodes, T terminals, E nets."""

    x: NDArray[np.float64]  # (N,) µm
    y: NDArray[np.float64]
    orientation: NDArray[np.int8]
    term_x: NDArray[np.float64]  # (T,) µm
    term_y: NDArray[np.float64]
    term_row: NDArray[np.int32]
    term_col: NDArray[np.int32]
    hpwl: NDArray[np.float64]  # (E,) µm
    density: NDArray[np.float64]  # (rows, columns)
    hor: NDArray[np.float64]  # (rows, columns)
    ver: NDArray[np.float64]  # (columns, rows)
    density_level: Level
    congestion_level: Level
    weight: NDArray[np.float64]  # (3,) wirelength, density, congestion
    total: NDArray[np.float64]  # (4,)
    # of the trial
    counter: NDArray[np.int64]  # (4,)
    moved: NDArray[np.int64]  # (N,) nodes proposed, first counter[MOVED]
    to_x: NDArray[np.float64]  # (N,) their new places
    to_y: NDArray[np.float64]
    to_orientation: NDArray[np.int8]
    new_term_x: NDArray[np.float64]  # (T,) equal to term_x … but for proposed nodes
    new_term_y: NDArray[np.float64]
    new_term_row: NDArray[np.int32]
    new_term_col: NDArray[np.int32]
    net_seen: NDArray[np.int64]  # (E,) token of the last trial that looked
    net_list: NDArray[np.int32]  # (E,) nets of this trial, first counter[NETS]
    net_new: NDArray[np.float64]  # (E,) their new half-perimeters
    old_stamp: NDArray[np.int64]  # (rows·columns,)
    new_stamp: NDArray[np.int64]
    old_row: NDArray[np.int32]  # cells of one net
    old_col: NDArray[np.int32]
    new_row: NDArray[np.int32]
    new_col: NDArray[np.int32]
    raw_hor: Lines
    raw_ver: Lines
    d_hor: Lines
    d_ver: Lines
    d_density: Lines


@inlined
def propose(p: Problem, s: State, node: int, x: float, y: float, orientation: int) -> None:
    """Add a node's new place (µm, centre) to the trial; each node once a trial."""
    i = s.counter[MOVED]
    s.moved[i], s.to_x[i], s.to_y[i], s.to_orientation[i] = node, x, y, orientation
    s.counter[MOVED] = i + 1
    place_terminals(p, node, x, y, orientation, s.new_term_x, s.new_term_y, s.new_term_row, s.new_term_col)
    for term in range(p.node_term_start[node], p.node_term_start[node + 1]):
        if s.new_term_row[term] != s.term_row[term] or s.new_term_col[term] != s.term_col[term]:
            s.counter[REROUTE] = 1


@inlined
def _forget(s: State) -> None:
    s.counter[MOVED] = s.counter[NETS] = s.counter[REROUTE] = 0
    clear(s.d_hor)
    clear(s.d_ver)
    clear(s.d_density)


@inlined
def withdraw(p: Problem, s: State) -> None:
    """Drop the trial."""
    for i in range(s.counter[MOVED]):
        for term in range(p.node_term_start[s.moved[i]], p.node_term_start[s.moved[i] + 1]):
            s.new_term_x[term], s.new_term_y[term] = s.term_x[term], s.term_y[term]
            s.new_term_row[term], s.new_term_col[term] = s.term_row[term], s.term_col[term]
    _forget(s)


@inlined
def _reroute(p: Problem, s: State, net: int) -> None:
    """Take a net's route back and add its new one, where they differ."""
    changed = False
    for k in range(p.net_start[net], p.net_start[net + 1]):
        term = p.net_term[k]
        if s.new_term_row[term] != s.term_row[term] or s.new_term_col[term] != s.term_col[term]:
            changed = True
            break
    if not changed:
        return
    s.counter[TOKEN] += 1
    token, routes = s.counter[TOKEN], p.net_routes[net]
    n_old = distinct_cells(p, net, s.term_row, s.term_col, s.old_stamp, token, s.old_row, s.old_col)
    n_new = distinct_cells(p, net, s.new_term_row, s.new_term_col, s.new_stamp, token, s.new_row, s.new_col)
    row, col = s.old_row[0], s.old_col[0]
    if n_old > 3 and n_new > 3 and row == s.new_row[0] and col == s.new_col[0]:
        for i in range(1, n_old):
            if s.new_stamp[s.old_row[i] * p.columns + s.old_col[i]] != token:
                route_pair(p, row, col, s.old_row[i], s.old_col[i], -routes, s.raw_hor, s.raw_ver)
        for i in range(1, n_new):
            if s.old_stamp[s.new_row[i] * p.columns + s.new_col[i]] != token:
                route_pair(p, row, col, s.new_row[i], s.new_col[i], routes, s.raw_hor, s.raw_ver)
    else:
        route_cells(p, s.old_row, s.old_col, n_old, -routes, s.raw_hor, s.raw_ver)
        route_cells(p, s.new_row, s.new_col, n_new, routes, s.raw_hor, s.raw_ver)


@inlined
def _trial_nets(p: Problem, s: State) -> float:
    """Nets of the proposed nodes: routes into the raw maps; returns the change of wirelength (µm)."""
    change = 0.0
    s.counter[TOKEN] += 1
    trial, nets = s.counter[TOKEN], 0
    for i in range(s.counter[MOVED]):
        node = s.moved[i]
        for j in range(p.node_net_start[node], p.node_net_start[node + 1]):
            net = p.node_net[j]
            if s.net_seen[net] == trial:
                continue
            s.net_seen[net] = trial
            hpwl = net_hpwl(p, net, s.new_term_x, s.new_term_y)
            change += p.net_weight[net] * (hpwl - s.hpwl[net])
            s.net_list[nets], s.net_new[nets] = net, hpwl
            nets += 1
            if s.counter[REROUTE]:
                _reroute(p, s, net)
    s.counter[NETS] = nets
    return change


@inlined
def _trial_boxes(p: Problem, s: State) -> None:
    """Boxes of the proposed nodes: area into the density change, taken supply into the congestion changes."""
    for i in range(s.counter[MOVED]):
        node = s.moved[i]
        if not p.has_area[node]:
            continue
        x, y, to_x, to_y = s.x[node], s.y[node], s.to_x[i], s.to_y[i]
        w0, h0 = half_size(p, node, s.orientation[node])
        w1, h1 = half_size(p, node, s.to_orientation[i])
        if x == to_x and y == to_y and w0 == w1 and h0 == h1:
            continue
        add_box(p, x, y, w0, h0, -1.0, s.d_density)
        add_box(p, to_x, to_y, w1, h1, 1.0, s.d_density)
        if p.is_hard[node]:
            block_routes(p, x, y, w0, h0, -1.0, s.d_hor, s.d_ver)
            block_routes(p, to_x, to_y, w1, h1, 1.0, s.d_hor, s.d_ver)


@inlined
def _few_cells_density(p: Problem, s: State) -> float:
    """Mean of the non-zero cells of the proposal, from all boxes: with under ten cells nothing is gained by changes."""
    clear(s.d_density)
    for node in range(len(s.x)):
        if p.has_area[node]:
            x, y, o = s.x[node], s.y[node], s.orientation[node]
            for i in range(s.counter[MOVED]):
                if s.moved[i] == node:
                    x, y, o = s.to_x[i], s.to_y[i], s.to_orientation[i]
            half_width, half_height = half_size(p, node, o)
            add_box(p, x, y, half_width, half_height, 1.0, s.d_density)
    return 0.5 * mean_of_nonzero(s.d_density.value)


@inlined
def _trial_density(p: Problem, s: State) -> float:
    if p.density_top == 0:
        return _few_cells_density(p, s)
    return 0.5 * top_sum(p.density_top, s.density_level, ((s.density, s.d_density),), np.inf) / p.density_top


@kernel
def trial(p: Problem, s: State, limit: float) -> float:
    """Proxy cost of the proposals made since the last accept or withdraw; or a lower bound of it above `limit`."""
    wirelength = s.total[WIRELENGTH] + _trial_nets(p, s)
    spread(s.raw_hor, s.d_hor, p.smoothing)
    spread(s.raw_ver, s.d_ver, p.smoothing)
    _trial_boxes(p, s)
    cost = s.weight[0] * wirelength * p.wirelength_scale + s.weight[1] * _trial_density(p, s)
    if cost > limit:
        return cost
    scale = s.weight[2] / p.congestion_top
    sum_limit = (limit - cost) / scale if scale > 0.0 else np.inf
    cost += scale * top_sum(p.congestion_top, s.congestion_level, ((s.hor, s.d_hor), (s.ver, s.d_ver)), sum_limit)
    s.total[NEW_WIRELENGTH], s.total[NEW_COST] = wirelength, cost
    return cost


@kernel
def accept(p: Problem, s: State) -> None:
    """Make the trial the state. Only after a `trial` that did not stop at its limit."""
    for i in range(s.counter[MOVED]):
        node = s.moved[i]
        s.x[node], s.y[node], s.orientation[node] = s.to_x[i], s.to_y[i], s.to_orientation[i]
        for term in range(p.node_term_start[node], p.node_term_start[node + 1]):
            s.term_x[term], s.term_y[term] = s.new_term_x[term], s.new_term_y[term]
            s.term_row[term], s.term_col[term] = s.new_term_row[term], s.new_term_col[term]
    for i in range(s.counter[NETS]):
        s.hpwl[s.net_list[i]] = s.net_new[i]
    topk.accept(s.congestion_level, ((s.hor, s.d_hor), (s.ver, s.d_ver)))
    if p.density_top == 0:
        s.density[:, :] = 0.0
        add_map(s.density, s.d_density)
    else:
        topk.accept(s.density_level, ((s.density, s.d_density),))
    s.total[WIRELENGTH], s.total[COST] = s.total[NEW_WIRELENGTH], s.total[NEW_COST]
    _forget(s)


@kernel
def _fill_hpwl(p: Problem, s: State) -> None:
    for net in range(len(p.net_weight)):
        s.hpwl[net] = net_hpwl(p, net, s.term_x, s.term_y)


def new_state(p: Problem, placement: Placement, weights: Weights = DEFAULT_WEIGHTS) -> State:
    """A state at a placement."""
    n, e, cells = len(p.has_area), len(p.net_weight), p.rows * p.columns
    s, other = new_scratch(p), new_scratch(p)
    state = State(
        x=placement.x_um.copy(),
        y=placement.y_um.copy(),
        orientation=placement.orientation.copy(),
        term_x=s.term_x,
        term_y=s.term_y,
        term_row=s.term_row,
        term_col=s.term_col,
        hpwl=np.zeros(e),
        density=np.zeros((p.rows, p.columns)),
        hor=np.zeros((p.rows, p.columns)),
        ver=np.zeros((p.columns, p.rows)),
        density_level=new_level(cells),
        congestion_level=new_level(2 * cells),
        weight=np.array(weights, dtype=np.float64),
        total=np.zeros(4),
        counter=np.zeros(4, dtype=np.int64),
        moved=np.zeros(n, dtype=np.int64),
        to_x=np.zeros(n),
        to_y=np.zeros(n),
        to_orientation=np.zeros(n, dtype=np.int8),
        new_term_x=other.term_x,
        new_term_y=other.term_y,
        new_term_row=other.term_row,
        new_term_col=other.term_col,
        net_seen=np.zeros(e, dtype=np.int64),
        net_list=np.zeros(e, dtype=np.int32),
        net_new=np.zeros(e),
        old_stamp=s.stamp,
        new_stamp=other.stamp,
        old_row=s.net_row,
        old_col=s.net_col,
        new_row=other.net_row,
        new_col=other.net_col,
        raw_hor=s.raw_hor,
        raw_ver=s.raw_ver,
        d_hor=other.hor,
        d_ver=other.ver,
        d_density=other.density,
    )
    rebuild(p, state)
    return state


def rebuild(p: Problem, s: State) -> None:
    """Recompute everything from the state's positions: removes what rounding has added up. Drops a trial."""
    withdraw(p, s)
    s.old_stamp[:] = s.new_stamp[:] = -1
    hor, ver, density = (empty_lines(*a.shape) for a in (s.hor, s.ver, s.density))
    scratch = Scratch(
        s.term_x,
        s.term_y,
        s.term_row,
        s.term_col,
        s.old_row,
        s.old_col,
        s.old_stamp,
        s.raw_hor,
        s.raw_ver,
        hor,
        ver,
        density,
    )
    s.total[WIRELENGTH] = fill(p, s.x, s.y, s.orientation, scratch)
    s.counter[TOKEN] += len(p.net_weight) + 1  # stamps hold net numbers now
    _fill_hpwl(p, s)
    s.hor[:], s.ver[:], s.density[:] = hor.value, ver.value, density.value
    s.new_term_x[:], s.new_term_y[:] = s.term_x, s.term_y
    s.new_term_row[:], s.new_term_col[:] = s.term_row, s.term_col
    if p.density_top:
        set_level(s.density_level, p.density_top, (s.density,))
    set_level(s.congestion_level, p.congestion_top, (s.hor, s.ver))
    s.total[COST] = trial(p, s, np.inf)
    withdraw(p, s)


class IncrementalCost:
    """Exact proxy cost of a placement that changes node by node.

    `try_*` return the cost that a change would give and leave everything as it is; `commit` makes the last one tried
    the state; `undo` takes commits back, newest first.
    """

    def __init__(self, design: Design, placement: Placement, weights: Weights = DEFAULT_WEIGHTS) -> None:
        self._problem = problem_of(design)
        self._placement = placement
        self.state = new_state(self._problem, placement, weights)
        self._journal: list[list[tuple[int, float, float, int]]] = []

    @property
    def cost(self) -> float:
        """Proxy cost of the state."""
        return float(self.state.total[COST])

    @property
    def placement(self) -> Placement:
        s = self.state
        return self._placement.moved(x_um=s.x, y_um=s.y, orientation=s.orientation)

    def report(self) -> CostReport:
        """All parts of the cost of the state."""
        p, s = self._problem, self.state
        wirelength = float(s.total[WIRELENGTH])
        density = 0.5 * (topk.mean(s.density_level, p.density_top) if p.density_top else mean_of_nonzero(s.density))
        congestion = topk.mean(s.congestion_level, p.congestion_top)
        return CostReport(wirelength, wirelength * p.wirelength_scale, density, congestion, self.cost)

    def _orientation(self, node: int) -> int:
        if not 0 <= node < len(self.state.x):
            raise ValueError(f"node {node}: not in [0, {len(self.state.x)})")
        return int(self.state.orientation[node])

    def try_nodes(self, changes: list[tuple[int, float, float, int]]) -> float:
        """Cost with several nodes at new places: (node, x µm, y µm, orientation) each, a node once."""
        if len({node for node, *_ in changes}) != len(changes):
            raise ValueError("a node appears twice in one trial")
        p, s = self._problem, self.state
        withdraw(p, s)
        for node, x, y, orientation in changes:
            self._orientation(node)
            if not (0 <= orientation < 8 and np.isfinite(x) and np.isfinite(y)):
                raise ValueError(f"node {node} at ({x}, {y}) µm, orientation {orientation}: not a place")
            propose(p, s, node, float(x), float(y), orientation)
        return float(trial(p, s, np.inf))

    def try_move(self, node: int, x_um: float, y_um: float) -> float:
        """Cost with the node's centre at (x, y) µm."""
        return self.try_nodes([(node, x_um, y_um, self._orientation(node))])

    def try_swap(self, a: int, b: int) -> float:
        """Cost with the centres of two nodes exchanged."""
        s = self.state
        return self.try_nodes([(a, s.x[b], s.y[b], int(s.orientation[a])), (b, s.x[a], s.y[a], int(s.orientation[b]))])

    def try_orientation(self, node: int, orientation: int) -> float:
        """Cost with the node turned or flipped about its centre."""
        s = self.state
        return self.try_nodes([(node, s.x[node], s.y[node], int(orientation))])

    def commit(self) -> None:
        """Make the last change tried the state."""
        s = self.state
        moved = s.moved[: s.counter[MOVED]].tolist()
        if not moved:
            raise RuntimeError("nothing has been tried since the last commit or undo")
        self._journal.append([(n, float(s.x[n]), float(s.y[n]), int(s.orientation[n])) for n in moved])
        accept(self._problem, s)

    def undo(self, commits: int = 1) -> None:
        """Take back the newest commits."""
        for _ in range(commits):
            self.try_nodes(self._journal.pop())
            accept(self._problem, self.state)
