"""The proxy cost once more, slowly and from the written rules alone, and a maker of small odd designs to compare on."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest

from netlists.model import Canvas, Design, Netlist, NodeKind, Placement, Side

# Pin (dx, dy) in orientation N -> in orientation o, by the table of DEF orientations.
TURN: list[Callable[[float, float], tuple[float, float]]] = [
    lambda x, y: (x, y),  # N
    lambda x, y: (-x, y),  # FN: mirrored left to right
    lambda x, y: (-x, -y),  # S: half a turn
    lambda x, y: (x, -y),  # FS: mirrored top to bottom
    lambda x, y: (y, -x),  # E: three quarters of a turn, counterclockwise
    lambda x, y: (-y, -x),  # FE
    lambda x, y: (-y, x),  # W: a quarter turn, counterclockwise
    lambda x, y: (y, x),  # FW
]


def _shared(a_low: float, a_high: float, b_low: float, b_high: float) -> float:
    return max(0.0, min(a_high, b_high) - max(a_low, b_low))


def _density(design: Design, boxes: list[tuple[bool, float, float, float, float]]) -> float:
    c = design.canvas
    gw, gh = c.width_um / c.columns, c.height_um / c.rows
    cells = [
        sum(
            _shared(x0, x1, col * gw, (col + 1) * gw) * _shared(y0, y1, row * gh, (row + 1) * gh)
            for _, x0, y0, x1, y1 in boxes
        )
        / (gw * gh)
        for row in range(c.rows)
        for col in range(c.columns)
    ]
    if len(cells) < 10:
        filled = [v for v in cells if v > 0]
        return 0.5 * sum(filled) / len(filled) if filled else 0.0
    k = math.floor(0.1 * len(cells))
    return 0.5 * sum(sorted(cells, reverse=True)[:k]) / k


def _route(cells: list[tuple[int, int]], add_h: Callable, add_v: Callable) -> None:
    """cells: distinct (row, col), source first. add_h(row, col, col), add_v(col, row, row) take half-open ranges."""
    if len(cells) == 3:
        (c1, r1), (c2, r2), (c3, r3) = sorted((c, r) for r, c in cells)
        if c1 < c2 < c3 and min(r1, r3) < r2 < max(r1, r3):
            add_h(r1, c1, c2)
            add_h(r2, c2, c3)
            add_v(c2, min(r1, r2), max(r1, r2))
            add_v(c3, min(r2, r3), max(r2, r3))
        elif c2 == c3 and c1 < c2 and r1 < min(r2, r3):
            add_h(r1, c1, c2)
            add_v(c2, r1, max(r2, r3))
        elif r2 == r3:
            add_h(r1, c1, c2)
            add_h(r2, c2, c3)
            add_v(c2, min(r1, r2), max(r1, r2))
        else:
            (ra, ca), (rb, cb), (rc, cc) = sorted(cells)
            add_h(rb, min(ca, cb, cc), max(ca, cb, cc))
            add_v(ca, min(ra, rb), max(ra, rb))
            add_v(cc, min(rb, rc), max(rb, rc))
        return
    rs, cs = cells[0]
    for rt, ct in cells[1:]:
        add_h(rs, min(cs, ct), max(cs, ct))
        add_v(ct, min(rs, rt), max(rs, rt))


def slow_cost_of(design: Design, placement: Placement) -> dict[str, float]:
    n, c = design.netlist, design.canvas
    gw, gh = c.width_um / c.columns, c.height_um / c.rows

    def cell(x: float, y: float) -> tuple[int, int]:
        return min(max(math.floor(y / gh), 0), c.rows - 1), min(max(math.floor(x / gw), 0), c.columns - 1)

    def pin(q: int) -> tuple[float, float]:
        node = n.pin_node[q]
        dx, dy = TURN[placement.orientation[node]](float(n.pin_dx_um[q]), float(n.pin_dy_um[q]))
        return float(placement.x_um[node]) + dx, float(placement.y_um[node]) + dy

    h = np.zeros((c.rows, c.columns))
    v = np.zeros((c.rows, c.columns))
    wirelength = total_weight = 0.0
    for e, (start, end) in enumerate(pairwise(n.net_start.tolist())):
        weight = float(n.net_weight[e])
        points = [pin(q) for q in n.net_pin[start:end]]
        total_weight += weight if end - start > 1 else 0  # a net of one pin adds nothing to any cost
        xs, ys = [x for x, _ in points], [y for _, y in points]
        wirelength += weight * (max(xs) - min(xs) + max(ys) - min(ys))

        def add_h(row: int, low: int, high: int, amount: float = max(weight, 1.0)) -> None:
            h[row, low:high] += amount

        def add_v(col: int, low: int, high: int, amount: float = max(weight, 1.0)) -> None:
            v[low:high, col] += amount

        _route(list(dict.fromkeys(cell(x, y) for x, y in points)), add_h, add_v)
    h /= gh * c.hor_routes_per_um
    v /= gw * c.ver_routes_per_um
    smooth_h, smooth_v = np.zeros_like(h), np.zeros_like(v)
    for row in range(c.rows):
        for col in range(c.columns):
            reach = [q for q in range(col - c.smoothing, col + c.smoothing + 1) if 0 <= q < c.columns]
            for q in reach:
                smooth_v[row, q] += v[row, col] / len(reach)
            reach = [q for q in range(row - c.smoothing, row + c.smoothing + 1) if 0 <= q < c.rows]
            for q in reach:
                smooth_h[q, col] += h[row, col] / len(reach)

    boxes = []
    for node in range(n.node_count):
        if n.node_kind[node] not in (NodeKind.HARD_MACRO, NodeKind.SOFT_MACRO):
            continue
        w, t = float(n.width_um[node]), float(n.height_um[node])
        if placement.orientation[node] >= 4:
            w, t = t, w
        x, y = float(placement.x_um[node]), float(placement.y_um[node])
        boxes.append((n.node_kind[node] == NodeKind.HARD_MACRO, x - 0.5 * w, y - 0.5 * t, x + 0.5 * w, y + 0.5 * t))
    for hard, left, bottom, right, top in boxes:
        if not hard or right < 0 or top < 0 or left >= c.width_um or bottom >= c.height_um:
            continue
        (row0, col0), (row1, col1) = cell(left, bottom), cell(right, top)
        height = {row: _shared(bottom, top, row * gh, (row + 1) * gh) for row in range(row0, row1 + 1)}
        width = {col: _shared(left, right, col * gw, (col + 1) * gw) for col in range(col0, col1 + 1)}
        cut_top = row1 > row0 and any(abs(height[row] - gh) > 1e-5 for row in (row0, row1))
        cut_right = col1 > col0 and any(abs(width[col] - gw) > 1e-5 for col in (col0, col1))
        for row in height:
            for col in width:
                if height[row] > 0 and width[col] > 0:
                    if not (cut_top and row == row1):
                        smooth_v[row, col] += width[col] * c.ver_macro_routes_per_um / (gw * c.ver_routes_per_um)
                    if not (cut_right and col == col1):
                        smooth_h[row, col] += height[row] * c.hor_macro_routes_per_um / (gh * c.hor_routes_per_um)

    values = sorted([*smooth_h.ravel().tolist(), *smooth_v.ravel().tolist()], reverse=True)
    k = math.floor(0.05 * len(values))
    congestion = sum(values[:k]) / k if k else values[0]
    density = _density(design, boxes)
    wirelength_cost = wirelength / ((c.width_um + c.height_um) * total_weight) if total_weight else 0.0
    return {
        "wirelength": wirelength,
        "wirelength_cost": wirelength_cost,
        "density_cost": density,
        "congestion_cost": congestion,
        "proxy_cost": wirelength_cost + 0.5 * density + 0.5 * congestion,
    }


def make_design(seed: int, columns: int, rows: int, smoothing: int, macros: int = 5, nets: int = 8) -> Design:
    """A small random design with the odd things in it that real files have; nothing about it is legal."""
    rng = np.random.default_rng(seed)
    width, height = float(rng.uniform(5, 40)), float(rng.uniform(5, 40))
    kinds = [
        *rng.choice([NodeKind.HARD_MACRO, NodeKind.SOFT_MACRO], macros),
        NodeKind.PORT,
        NodeKind.PORT,
        NodeKind.CELL,
    ]
    n = len(kinds)
    kind = np.array(kinds)
    has_area = kind <= NodeKind.SOFT_MACRO
    w = np.where(has_area, rng.uniform(0.1, 0.5 * width, n), 0.0)
    h = np.where(has_area, rng.uniform(0.1, 0.5 * height, n), 0.0)
    w[kind == NodeKind.CELL] = h[kind == NodeKind.CELL] = 0.7  # has a size, takes no area
    zero = (kind == NodeKind.SOFT_MACRO) & (rng.random(n) < 0.3)
    w[zero] = h[zero] = 0.0
    if rng.random() < 0.3:  # whole cells, so that edges meet grid lines
        w, h = np.round(w / width * columns) * width / columns, np.round(h / height * rows) * height / rows
    x, y = (
        rng.uniform(-0.1, 1.1, n) * width,
        rng.uniform(-0.1, 1.1, n) * height,
    )  # some stick out, some ports are outside
    pin_node, dx, dy = [], [], []
    for node in range(n):
        for _ in range(rng.integers(1, 4) if kind[node] == NodeKind.HARD_MACRO else 1):
            pin_node.append(node)
            on = kind[node] == NodeKind.HARD_MACRO
            dx.append(float(rng.uniform(-0.5, 0.5) * w[node]) if on else 0.0)
            dy.append(float(rng.uniform(-0.5, 0.5) * h[node]) if on else 0.0)
    pins, start, net_pin = len(pin_node), [0], []
    for _ in range(nets):
        shape = rng.integers(4)
        if shape == 0:  # a net of one pin
            members = [int(rng.integers(pins))]
        elif shape == 1:  # all pins on one node, some twice
            node = pin_node[int(rng.integers(pins))]
            members = [q for q in range(pins) if pin_node[q] == node] * 2
        else:
            members = rng.choice(pins, rng.integers(2, min(pins, 7) + 1), replace=False).tolist()
        net_pin += members
        start.append(len(net_pin))
    netlist = Netlist(
        node_name=tuple(f"n{i}" for i in range(n)),
        node_kind=kind,
        node_index=np.arange(n),
        width_um=w,
        height_um=h,
        port_side=np.where(kind == NodeKind.PORT, Side.LEFT, Side.NONE),
        pin_name=tuple(f"q{i}" for i in range(pins)),
        pin_node=np.array(pin_node),
        pin_dx_um=np.array(dx),
        pin_dy_um=np.array(dy),
        net_start=np.array(start),
        net_pin=np.array(net_pin, dtype=np.int32),
        net_weight=rng.choice([0.25, 1.0, 1.0, 3.0, 12.0], nets),
    )
    canvas = Canvas(
        width_um=width, height_um=height, columns=columns, rows=rows, smoothing=smoothing,
        hor_routes_per_um=float(rng.uniform(2, 20)), ver_routes_per_um=float(rng.uniform(2, 20)),
        hor_macro_routes_per_um=float(rng.uniform(1, 10)), ver_macro_routes_per_um=float(rng.uniform(1, 10)),
    )  # fmt: skip
    orientation = np.where(kind == NodeKind.HARD_MACRO, rng.integers(0, 8, n), 0)
    placement = Placement(x_um=x, y_um=y, orientation=orientation, fixed=np.zeros(n, dtype=bool))
    return Design(name=f"odd{seed}", netlist=netlist, canvas=canvas, start=placement)


@pytest.fixture(scope="session")
def slow_cost() -> Callable[[Design, Placement], dict[str, float]]:
    """The twin: costs by the rules, in plain Python."""
    return slow_cost_of


@pytest.fixture(scope="session")
def odd_design() -> Callable[..., Design]:
    """`make_design`: seed, columns, rows, smoothing, and how many macros and nets."""
    return make_design
