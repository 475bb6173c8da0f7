"""A design and a placement in, Bookshelf files out; reading them back gives the same places exactly.

`write_pl` writes the one file that a placer hands on, `write_bookshelf` the whole set. Numbers are the shortest
decimals that read back as the same float64, without exponents. What Bookshelf cannot carry is listed by `losses`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import numpy as np

from netlists.bookshelf.coordinates import file_corner
from netlists.bookshelf.lines import some
from netlists.bookshelf.made_up import made_up_rows, net_names, usable
from netlists.bookshelf.reader import KEYWORD, ORIENTATION, PLACE, SIZE
from netlists.circuit_training.writer import number
from netlists.files import atomic_text
from netlists.model import (
    ORIENTATION_MATRIX,
    Design,
    FloatArray,
    NodeKind,
    Orientation,
    PinDirection,
    Placement,
    Row,
    oriented_size_um,
)

_LETTER = {PinDirection.UNKNOWN: "B", PinDirection.INPUT: "I", PinDirection.OUTPUT: "O", PinDirection.INOUT: "B"}


def write_pl(path: Path, design: Design, placement: Placement, *, fix_macros: bool = False) -> None:
    """Writes the `.pl`: every node in the netlist's order. `fix_macros`: hard macros are /FIXED for the next tool."""
    with atomic_text(Path(path)) as file:
        file.write("UCLA pl 1.0\n\n")
        for line in _places(design, placement, fix_macros):
            file.write(line)


def write_bookshelf(
    folder: Path, design: Design, placement: Placement, stem: str, *, fix_macros: bool = False, packed: bool = False
) -> list[Path]:
    """Writes stem.nodes, .nets, .wts, .pl, .scl (gzipped where `packed`) and last .aux into `folder`. Their paths."""
    gz = ".gz" if packed else ""
    parts = {
        "nodes": _nodes(design),
        "nets": _nets(design),
        "wts": _weights(design),
        "pl": _places(design, placement, fix_macros),
        "scl": _rows(design),
    }
    paths = []
    for kind, lines in parts.items():
        path = Path(folder) / f"{stem}.{kind}{gz}"
        with atomic_text(path) as file:
            file.write(f"UCLA {kind} 1.0\n\n")
            file.writelines(lines)
        paths.append(path)
    aux = Path(folder) / f"{stem}.aux"
    with atomic_text(aux) as file:
        file.write(f"RowBasedPlacement : {' '.join(f'{stem}.{kind}' for kind in parts)}\n")
    return [*paths, aux]


def _extra(design: Design, node: int) -> dict[str, str]:
    netlist = design.netlist
    return {key: value for key, _, value in netlist.extra_attributes.get(int(netlist.node_index[node]), ())}


def _sizes(design: Design) -> tuple[FloatArray, FloatArray, list[dict[str, str]]]:
    """Width and height of every node as the files have them (ports too), and what the files said of it beyond."""
    netlist = design.netlist
    width, height = netlist.width_um.copy(), netlist.height_um.copy()
    extra = [_extra(design, node) for node in range(netlist.node_count)]
    for node in np.flatnonzero(netlist.node_kind == NodeKind.PORT):
        if SIZE in extra[node]:
            width[node], height[node] = map(float, extra[node][SIZE].split())
    return width, height, extra


def _nodes(design: Design) -> Iterator[str]:
    netlist = design.netlist
    width, height, extra = _sizes(design)
    port = netlist.node_kind == NodeKind.PORT
    keyword = [said.get(KEYWORD, "terminal_NI" if port[node] else "") for node, said in enumerate(extra)]
    yield f"NumNodes : {netlist.node_count}\n"
    yield f"NumTerminals : {sum(map(bool, keyword))}\n\n"
    for name, w, h, word in zip(netlist.node_name, width.tolist(), height.tolist(), keyword, strict=True):
        yield f"{name} {number(w)} {number(h)} {word}".rstrip() + "\n"


def _places(design: Design, placement: Placement, fix_macros: bool) -> Iterator[str]:
    netlist = design.netlist
    width, height, extra = _sizes(design)
    orientation = placement.orientation.copy()
    port, hard = netlist.node_kind == NodeKind.PORT, netlist.node_kind == NodeKind.HARD_MACRO
    for node in np.flatnonzero(port):
        orientation[node] = Orientation[extra[node].get(ORIENTATION, "N")]
    size = oriented_size_um(width, height, orientation)
    x = file_corner(placement.x_um, size[0], design.origin_um[0]).tolist()
    y = file_corner(placement.y_um, size[1], design.origin_um[1]).tolist()
    for node, name in enumerate(netlist.node_name):
        status = extra[node].get(PLACE)
        if status is None:
            status = "/FIXED_NI" if port[node] else "/FIXED" if placement.fixed[node] else ""
        if fix_macros and hard[node]:
            status = status or "/FIXED"
        line = f"{name} {number(x[node])} {number(y[node])} : {Orientation(orientation[node]).name} {status}"
        yield line.rstrip() + "\n"


def _nets(design: Design) -> Iterator[str]:
    netlist = design.netlist
    names = net_names(netlist)
    node, start = netlist.pin_node, netlist.net_start
    dx, dy = _pin_offsets(design)
    yield f"NumNets : {netlist.net_count}\n"
    yield f"NumPins : {len(netlist.net_pin)}\n\n"
    for net, name in enumerate(names):
        pins = netlist.net_pin[start[net] : start[net + 1]]
        yield f"NetDegree : {len(pins)} {name}".rstrip() + "\n"
        for pin, letter in _directed(design, pins):
            yield f"  {netlist.node_name[node[pin]]} {letter} : {number(dx[pin])} {number(dy[pin])}\n"


def _pin_offsets(design: Design) -> tuple[FloatArray, FloatArray]:
    """Offsets in orientation N; those of turned ports are turned back."""
    netlist = design.netlist
    offset = np.stack([netlist.pin_dx_um, netlist.pin_dy_um], axis=1)
    for node in np.flatnonzero(netlist.node_kind == NodeKind.PORT):
        turned = Orientation[_extra(design, node).get(ORIENTATION, "N")]
        if turned != Orientation.N:
            of_node = netlist.pin_node == node
            offset[of_node] = offset[of_node] @ ORIENTATION_MATRIX[turned].astype(np.float64)
    return offset[:, 0], offset[:, 1]


def _directed(design: Design, pins: np.ndarray) -> Sequence[tuple[int, str]]:
    """Pins of a net with their letters, in an order by which a reader finds the same driver."""
    if not len(pins):
        return []
    driver, directions = int(pins[0]), design.netlist.pin_direction
    if not len(directions):
        return [(driver, "O"), *((pin, "I") for pin in pins[1:].tolist())]
    for order in (sorted(pins.tolist()), pins.tolist()):
        outputs = [pin for pin in order if directions[pin] == PinDirection.OUTPUT]
        if (outputs or order)[0] == driver:
            return [(pin, _LETTER[PinDirection(directions[pin])]) for pin in order]
    return [(driver, "O"), *((pin, "I") for pin in pins[1:].tolist())]


def _weights(design: Design) -> Iterator[str]:
    netlist = design.netlist
    names = net_names(netlist)
    for net in np.flatnonzero(netlist.net_weight != 1):
        yield f"{names[net]} {number(netlist.net_weight[net])}\n"


def _rows(design: Design) -> Iterator[str]:
    rows = design.rows or made_up_rows(design)
    groups = [list(group) for _, group in groupby(rows, lambda row: replace(row, x_um=0.0, sites=0))]
    y = file_corner(np.array([row.y_um for row in rows]), np.zeros(len(rows)), design.origin_um[1]).tolist()
    x = file_corner(np.array([row.x_um for row in rows]), np.zeros(len(rows)), design.origin_um[0]).tolist()
    yield f"NumRows : {len(groups)}\n\n"
    done = 0
    for group in groups:
        yield _core_row(group, x[done : done + len(group)], y[done])
        done += len(group)


def _core_row(group: Sequence[Row], x: Sequence[float], y: float) -> str:
    row = group[0]
    symmetry = f"  Sitesymmetry : {row.symmetry}\n" if row.symmetry else ""
    subrows = "".join(
        f"  SubrowOrigin : {number(left)} NumSites : {part.sites}\n" for left, part in zip(x, group, strict=True)
    )
    return (
        f"CoreRow Horizontal\n  Coordinate : {number(y)}\n  Height : {number(row.height_um)}\n"
        f"  Sitewidth : {number(row.site_width_um)}\n  Sitespacing : {number(row.step_um)}\n"
        f"  Siteorient : {row.orientation.name}\n{symmetry}{subrows}End\n"
    )


def refusal(design: Design) -> str | None:
    """Why no Bookshelf file can hold this design at all; None where one can."""
    bad = [name for name in design.netlist.node_name if not usable(name)]
    return f"names with blanks or '#', which Bookshelf cannot hold: {some(bad)}" if bad else None


def _blocking_terminals(design: Design) -> int:
    """How many blockages are terminals' parts on the core, which the terminals stand for in the files."""
    netlist, start = design.netlist, design.start
    width, height, extra = _sizes(design)
    boxes = set(map(tuple, design.blockages_um.tolist()))
    canvas = (design.canvas.width_um, design.canvas.height_um)
    found = 0
    for node in np.flatnonzero(netlist.node_kind == NodeKind.PORT):
        half = np.array([width[node], height[node]]) / 2
        centre = np.array([start.x_um[node], start.y_um[node]])
        low, high = np.maximum(centre - half, 0), np.minimum(centre + half, canvas)
        found += extra[node].get(KEYWORD) == "terminal" and (*low.tolist(), *high.tolist()) in boxes
    return found


def losses(design: Design) -> list[str]:
    """What Bookshelf cannot carry of this design, in words; empty where nothing is lost."""
    netlist, lost = design.netlist, []
    counts = netlist.counts()
    if counts["soft_macros"]:
        lost.append(f"that {counts['soft_macros']:,} macros are soft: they read back as hard macros")
    row = design.rows[0].height_um if design.rows else made_up_rows(design)[0].height_um
    macros = np.isin(netlist.node_kind, (NodeKind.HARD_MACRO, NodeKind.SOFT_MACRO))
    if flat := int(np.count_nonzero(macros & (netlist.height_um <= row))):
        lost.append(f"that {flat:,} nodes no higher than a row are macros: they read back as cells")
    if high := int(np.count_nonzero((netlist.node_kind == NodeKind.CELL) & (netlist.height_um > row))):
        lost.append(f"that {high:,} nodes higher than a row are cells: they read back as macros")
    if not design.rows:
        lost.append(f"rows: the design has none, so rows of {row:g} µm are made up that cover the canvas")
    if blockages := len(design.blockages_um) - _blocking_terminals(design):
        lost.append(f"{blockages:,} blockages")
    unconnected = len(netlist.pin_name) - len(np.unique(netlist.net_pin))
    if unconnected:
        lost.append(f"{unconnected:,} pins without a net")
    lost.append("grid and routing supplies of the canvas; sides of ports; names of pins")
    return lost
