"""Congestion term of the proxy cost: routes of nets and the supply that hard macros take, on `Lines` maps.

Two maps: horizontal demand, lines are rows; vertical demand, lines are columns. Values are shares of a cell's supply.
The rules, branch by branch, are those of the proxy cost's "Congestion". `amount` is signed: the incremental cost
takes a route back by adding it with the other sign.

Smoothing spreads a value evenly over the lines within `smoothing` of its own, so a route adds its value divided by
the number of those lines (`Problem.hor_share`, `ver_share`), and `lines.spread` then only adds lines up.
"""

from __future__ import annotations

from numpy.typing import NDArray

from placement.cost.geometry import cell_of, overlap
from placement.cost.lines import Lines, add_cell, add_segment
from placement.cost.problem import Problem
from placement.kernels import inlined

_PARTIAL_UM = 1e-5  # µm; a row covered to within this counts as covered (rule)


@inlined
def distinct_cells(
    p: Problem,
    net: int,
    term_row: NDArray,
    term_col: NDArray,
    stamp: NDArray,
    token: int,
    out_row: NDArray,
    out_col: NDArray,
) -> int:
    """Distinct cells of a net's terminals, the driver's first: written to out_row, out_col; returns how many.

    stamp (rows·columns,) int64 scratch: on return it holds `token` in exactly these cells; the token must be new.
    """
    count = 0
    for k in range(p.net_start[net], p.net_start[net + 1]):
        term = p.net_term[k]
        row, col = term_row[term], term_col[term]
        cell = row * p.columns + col
        if stamp[cell] != token:
            stamp[cell] = token
            out_row[count] = row
            out_col[count] = col
            count += 1
    return count


@inlined
def _hor(p: Problem, m: Lines, row: int, col_a: int, col_b: int, amount: float) -> None:
    if col_a != col_b:
        add_segment(m, row, min(col_a, col_b), max(col_a, col_b), amount * p.hor_share[row])


@inlined
def _ver(p: Problem, m: Lines, col: int, row_a: int, row_b: int, amount: float) -> None:
    if row_a != row_b:
        add_segment(m, col, min(row_a, row_b), max(row_a, row_b), amount * p.ver_share[col])


@inlined
def route_pair(p: Problem, rs: int, cs: int, rt: int, ct: int, amount: float, hor: Lines, ver: Lines) -> None:
    """Source to sink: along the source's row, then along the sink's column."""
    _hor(p, hor, rs, cs, ct, amount)
    _ver(p, ver, ct, rs, rt, amount)


@inlined
def _before(ra: int, ca: int, rb: int, cb: int) -> bool:
    return ra < rb or (ra == rb and ca < cb)


@inlined
def _route_three(p: Problem, row: NDArray, col: NDArray, amount: float, hor: Lines, ver: Lines) -> None:
    r1, c1, r2, c2, r3, c3 = row[0], col[0], row[1], col[1], row[2], col[2]
    if _before(c2, r2, c1, r1):
        r1, c1, r2, c2 = r2, c2, r1, c1
    if _before(c3, r3, c2, r2):
        r2, c2, r3, c3 = r3, c3, r2, c2
    if _before(c2, r2, c1, r1):
        r1, c1, r2, c2 = r2, c2, r1, c1
    if c1 < c2 < c3 and min(r1, r3) < r2 < max(r1, r3):
        _hor(p, hor, r1, c1, c2, amount)
        _hor(p, hor, r2, c2, c3, amount)
        _ver(p, ver, c2, r1, r2, amount)
        _ver(p, ver, c3, r2, r3, amount)
    elif c2 == c3 and c1 < c2 and r1 < min(r2, r3):
        _hor(p, hor, r1, c1, c2, amount)
        _ver(p, ver, c2, r1, max(r2, r3), amount)
    elif r2 == r3:
        _hor(p, hor, r1, c1, c2, amount)
        _hor(p, hor, r2, c2, c3, amount)
        _ver(p, ver, c2, r1, r2, amount)
    else:
        left, right = min(c1, c2, c3), max(c1, c2, c3)
        if _before(r2, c2, r1, c1):
            r1, c1, r2, c2 = r2, c2, r1, c1
        if _before(r3, c3, r2, c2):
            r2, c2, r3, c3 = r3, c3, r2, c2
        if _before(r2, c2, r1, c1):
            r1, c1, r2, c2 = r2, c2, r1, c1
        _hor(p, hor, r2, left, right, amount)
        _ver(p, ver, c1, r1, r2, amount)
        _ver(p, ver, c3, r2, r3, amount)


@inlined
def route_cells(p: Problem, row: NDArray, col: NDArray, count: int, amount: float, hor: Lines, ver: Lines) -> None:
    """Add the route over `count` distinct cells, the driver's first; row, col int arrays."""
    if count == 3:
        _route_three(p, row, col, amount, hor, ver)
    else:
        for i in range(1, count):
            route_pair(p, row[0], col[0], row[i], col[i], amount, hor, ver)


@inlined
def block_routes(
    p: Problem, x: float, y: float, half_width: float, half_height: float, sign: float, hor: Lines, ver: Lines
) -> None:
    """Add sign · the supply that a hard macro at (x, y) µm takes; unsmoothed."""
    left, right, bottom, top = x - half_width, x + half_width, y - half_height, y + half_height
    if right < 0.0 or top < 0.0 or left >= p.width or bottom >= p.height:
        return
    c0, c1 = cell_of(left, p.cell_width, p.columns), cell_of(right, p.cell_width, p.columns)
    r0, r1 = cell_of(bottom, p.cell_height, p.rows), cell_of(top, p.cell_height, p.rows)
    partial_rows = r1 > r0 and (
        abs(overlap(bottom, top, r0, p.cell_height) - p.cell_height) > _PARTIAL_UM
        or abs(overlap(bottom, top, r1, p.cell_height) - p.cell_height) > _PARTIAL_UM
    )
    partial_columns = c1 > c0 and (
        abs(overlap(left, right, c0, p.cell_width) - p.cell_width) > _PARTIAL_UM
        or abs(overlap(left, right, c1, p.cell_width) - p.cell_width) > _PARTIAL_UM
    )
    for row in range(r0, r1 + 1):
        height = overlap(bottom, top, row, p.cell_height)
        for col in range(c0, c1 + 1):
            width = overlap(left, right, col, p.cell_width)
            if height > 0.0 and width > 0.0:
                if not (partial_rows and row == r1):
                    add_cell(ver, col, row, sign * width * p.ver_blocked)
                if not (partial_columns and col == c1):
                    add_cell(hor, row, col, sign * height * p.hor_blocked)
