"""Values that no file gave: canvas, grid, routing supplies, positions. Each by one stated rule, told in words.

In: a netlist and the positions its files hold. Out: values, and for each the sentence that `Design.derived` shows.
Called by `netlists.load`. The rules are stated once more in docs/formats.md "What is derived".
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np

from netlists.model import BoolArray, FloatArray, Netlist, NodeKind, Side, oriented_size_um
from netlists.parsed import ParsedNetlist

UTILISATION = 0.6  # of the canvas by macros and cells, where nothing else tells its size; real designs have 0.5 to 0.7
MAX_UTILISATION = 0.95  # a bounding box fuller than this is no canvas…
MIN_UTILISATION = 0.0001  # …nor is one emptier than this
NEIGHBOUR_ROUNDS = 20  # of averaging: what hangs on a few placed macros has moved near them by then
MIN_COLUMNS, MAX_COLUMNS = 10, 50  # usual range of Circuit Training's published grids (24 x 21 to 45 x 41)
_FP_BBOX = re.compile(
    r"#\s*FP bbox:\s*\{?\s*([-\d.eE+]+)\s+([-\d.eE+]+)\s*\}?\s*\{?\s*([-\d.eE+]+)\s+([-\d.eE+]+)\s*\}?"
)


def canvas_size(parsed: ParsedNetlist) -> tuple[float, float, str]:
    """Width and height (µm) and the rule: floorplan comment, else box of ports and macros, else total area."""
    if box := _floorplan_comment(parsed.comments):
        return *box, "from the comment '# FP bbox' of the netlist"
    netlist = parsed.netlist
    area = placed_area(netlist)
    if box := _box_of_positions(parsed):
        width, height = box
        if MIN_UTILISATION * width * height <= area <= MAX_UTILISATION * width * height:
            return width, height, "bounding box, from the origin, of the positions of ports and macros in the netlist"
    largest = max(float(netlist.width_um.max(initial=0)), float(netlist.height_um.max(initial=0)))
    side = max(math.sqrt(area / UTILISATION), 1.25 * largest, 0.001)  # never 0, even for ports alone
    rule = f"square, so that macros and cells ({area:g} µm²) fill {UTILISATION:.0%} of it"
    if (roomy := _side_with_room(parsed, side)) > side:
        side, rule = roomy, f"{rule}, widened until the hard macros fit in rows"
    right, top = _reach_of_macros(parsed)
    if max(right, top) > side and area >= MIN_UTILISATION * max(side, right) * max(side, top):
        return max(side, right), max(side, top), f"{rule}, widened to hold the positions of the macros in the netlist"
    return side, side, rule


def _side_with_room(parsed: ParsedNetlist, side: float) -> float:
    """The least of side · 1.02^k whose square holds the hard macros, tallest first, row upon row."""
    netlist = parsed.netlist
    hard = netlist.nodes_of(NodeKind.HARD_MACRO)
    width, height = oriented_size_um(netlist.width_um[hard], netlist.height_um[hard], parsed.orientation[hard])
    order = np.argsort(-height, kind="stable")
    while True:
        bottom = top = right = 0.0
        for macro in order:
            if right + width[macro] > side:
                bottom, right = top, 0.0
            top = max(top, bottom + height[macro])
            right += width[macro]
        if top <= side:
            return side
        side *= 1.02


def placed_area(netlist: Netlist) -> float:
    """Area of hard macros, soft macros and cells, µm²."""
    return float(np.sum(netlist.width_um * netlist.height_um))


def _floorplan_comment(comments: Sequence[str]) -> tuple[float, float] | None:
    for comment in comments:
        if found := _FP_BBOX.match(comment):
            try:
                llx, lly, urx, ury = (float(text) for text in found.groups())
            except ValueError:
                continue
            if llx == 0 and lly == 0 and 0 < urx < math.inf and 0 < ury < math.inf:
                return urx, ury
    return None


def _reach_of_macros(parsed: ParsedNetlist) -> tuple[float, float]:
    """Rightmost and topmost edge of the macros, where all have a position; else 0, 0."""
    netlist = parsed.netlist
    macros = netlist.nodes_of(NodeKind.HARD_MACRO, NodeKind.SOFT_MACRO)
    width, height = oriented_size_um(netlist.width_um, netlist.height_um, parsed.orientation)
    right, top = (parsed.x_um + width / 2)[macros], (parsed.y_um + height / 2)[macros]
    if not len(macros) or not (np.isfinite(right).all() and np.isfinite(top).all()):
        return 0.0, 0.0
    return float(right.max()), float(top.max())


def _box_of_positions(parsed: ParsedNetlist) -> tuple[float, float] | None:
    """Upper right corner of everything that has a position; None unless ports have theirs, on two edges or more."""
    netlist, x, y = parsed.netlist, parsed.x_um, parsed.y_um
    known = np.isfinite(x) & np.isfinite(y)
    port = (netlist.node_kind == NodeKind.PORT) & known
    if not port.any():
        return None
    hard = (netlist.node_kind == NodeKind.HARD_MACRO) & known
    size = oriented_size_um(netlist.width_um, netlist.height_um, parsed.orientation)
    width = float(max(x[port].max(), (x + size[0] / 2)[hard].max(initial=0)))
    height = float(max(y[port].max(), (y + size[1] / 2)[hard].max(initial=0)))
    lowest = min(float(x[port | hard].min()), float(y[port | hard].min()))
    if width <= 0 or height <= 0 or lowest < -0.05 * max(width, height):
        return None
    margin = 0.02 * max(width, height)
    on_right, on_top = x[port] >= width - margin, y[port] >= height - margin
    on_edge = on_right | on_top | (x[port] <= margin) | (y[port] <= margin)
    return (width, height) if on_edge.mean() > 0.5 and (on_right.any() or on_top.any()) else None


def grid(netlist: Netlist, width_um: float, height_um: float) -> tuple[int, int, str]:
    """Columns and rows and the rule.

    Of the grids with 10 to 50 columns and nearly square cells, the one where the macros, each rounded up to whole
    cells, waste least; a grid of c cells costs as much as c/5000 of waste, so that fine grids need a reason.
    """
    hard = netlist.node_kind == NodeKind.HARD_MACRO
    widths, heights = netlist.width_um[hard], netlist.height_um[hard]
    area = float(np.sum(widths * heights))
    best = (math.inf, MIN_COLUMNS, MIN_COLUMNS)
    for columns in range(MIN_COLUMNS, MAX_COLUMNS + 1):
        rows = min(max(round(columns * height_um / width_um), MIN_COLUMNS), MAX_COLUMNS)
        waste = 0.0
        if area:
            cell_width, cell_height = width_um / columns, height_um / rows
            cells = np.ceil(widths / cell_width - 1e-9) * np.ceil(heights / cell_height - 1e-9)
            waste = float(np.sum(cells)) * cell_width * cell_height / area - 1
        best = min(best, (waste + columns * rows / 5000, columns, rows))
    rule = f"least waste when macros are rounded up to whole cells, {MIN_COLUMNS} to {MAX_COLUMNS} columns and rows"
    return best[1], best[2], rule


def start_positions(
    parsed: ParsedNetlist, width_um: float, height_um: float
) -> tuple[FloatArray, FloatArray, bool, str]:
    """x, y (N,) µm, whether they are a real start, and the rule for those made up ('' when none is).

    A real start gives a position to every macro, or at least to a hard macro that may move; macros and cells without
    one then begin where what they connect to lies. Without a start, they wait at the canvas's centre.
    Ports without a position are spread evenly along their side (BOTTOM where none is given).
    """
    netlist = parsed.netlist
    x, y = parsed.x_um.copy(), parsed.y_um.copy()
    unknown = ~(np.isfinite(x) & np.isfinite(y))
    rules = []
    ports = (netlist.node_kind == NodeKind.PORT) & unknown
    if ports.any():
        _spread_ports(netlist, ports, x, y, width_um, height_um)
        rules.append(f"{np.count_nonzero(ports):,} ports without a position spread evenly along their side")
    macros = np.isin(netlist.node_kind, (NodeKind.HARD_MACRO, NodeKind.SOFT_MACRO))
    waiting = unknown & ~ports
    x[waiting], y[waiting] = width_um / 2, height_um / 2
    hints = (netlist.node_kind == NodeKind.HARD_MACRO) & ~unknown
    if parsed.fixed is not None:
        hints &= ~parsed.fixed
    if hints.any() and (macros & unknown).any():
        _between_neighbours(netlist, waiting, x, y)
        rules.append(f"{np.count_nonzero(waiting):,} macros and cells without a position begin amid what they connect")
    elif waiting.any():
        rules.append(f"{np.count_nonzero(waiting):,} macros and cells without a position put at the canvas's centre")
    has_start = bool(macros.any() and (hints.any() or not (macros & unknown).any()))
    return x, y, has_start, "; ".join(rules)


def _between_neighbours(netlist: Netlist, moving: BoolArray, x: FloatArray, y: FloatArray) -> None:
    """Put `moving` (N,) at the mean of their nets' means, a net of fewer pins counting for more; in place, µm."""
    node = netlist.pin_node[netlist.net_pin]
    net = np.repeat(np.arange(len(netlist.net_start) - 1), np.diff(netlist.net_start))
    pins = np.bincount(net, minlength=len(netlist.net_start) - 1)
    weight = 1 / np.maximum(pins - 1, 1)[net]
    total = np.bincount(node, weight, minlength=netlist.node_count)
    moving = moving & (total > 0)
    for _ in range(NEIGHBOUR_ROUNDS):
        for at in (x, y):
            mean = np.bincount(net, at[node], minlength=len(pins)) / np.maximum(pins, 1)
            at[moving] = np.bincount(node, weight * mean[net], minlength=netlist.node_count)[moving] / total[moving]


def _spread_ports(
    netlist: Netlist, ports: BoolArray, x: FloatArray, y: FloatArray, width_um: float, height_um: float
) -> None:
    for side in (Side.LEFT, Side.RIGHT, Side.BOTTOM, Side.TOP, Side.NONE):
        which = np.flatnonzero(ports & (netlist.port_side == side))
        share = (np.arange(len(which)) + 0.5) / max(len(which), 1)
        if side in (Side.LEFT, Side.RIGHT):
            x[which], y[which] = (0.0 if side == Side.LEFT else width_um), share * height_um
        else:
            x[which], y[which] = share * width_um, (height_um if side == Side.TOP else 0.0)
