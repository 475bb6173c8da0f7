"""What a Bookshelf set needs and a design of another format does not have: rows of sites, names of nets."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from netlists.model import Design, Netlist, NodeKind, Row

_SITES_PER_HEIGHT = 8  # sites of cells are about this much narrower than a row is high


def made_up_rows(design: Design) -> tuple[Row, ...]:
    """Rows that cover the canvas exactly, as high as the highest cell or, without cells, half the lowest macro."""
    netlist, canvas = design.netlist, design.canvas
    cells, macros = netlist.nodes_of(NodeKind.CELL), netlist.nodes_of(NodeKind.HARD_MACRO, NodeKind.SOFT_MACRO)
    wanted = canvas.height_um
    if len(macros):
        wanted = float(netlist.height_um[macros].min()) / 2
    if len(cells):
        wanted = float(netlist.height_um[cells].max())
    count = _parts(canvas.height_um, min(wanted, canvas.height_um), more=not len(cells))
    height = canvas.height_um / count
    sites = _parts(canvas.width_um, min(height / _SITES_PER_HEIGHT, canvas.width_um), more=True)
    width = canvas.width_um / sites
    bottoms = [row * height for row in range(count - 1)] + [canvas.height_um - height]
    return tuple(
        Row(x_um=0.0, y_um=y, height_um=height, site_width_um=width, step_um=width, sites=sites) for y in bottoms
    )


def _parts(length: float, wanted: float, *, more: bool) -> int:
    """How many parts of about `wanted` (at most, where `more`) a length has, so that float sums meet its end."""
    count = min(math.ceil(length / wanted) if more else max(int(length / wanted), 1), 10_000)
    for parts in range(count, count + 1000) if more else range(count, 0, -1):
        part = length / parts
        if (parts - 1) * part + part == length and (length - part) + part == length:
            return parts
    return 1


def net_names(netlist: Netlist) -> list[str]:
    """Names of the nets as files can have them: the netlist's own, else the driver pin's, else net0, net1, …

    Unique except for ''; nets without a name keep none where no weight needs it.
    """
    weighed = (netlist.net_weight != 1).tolist()
    own = netlist.net_name or tuple(netlist.pin_name[pin] if pin >= 0 else "" for pin in _drivers(netlist).tolist())
    used = {name for name in own if usable(name)}
    taken: set[str] = set()
    names = []
    for net, name in enumerate(own):
        if not usable(name) or name in taken:
            name = ""
            if weighed[net] or not netlist.net_name:
                name = next(text for text in _candidates(net) if text not in used)
                used.add(name)
        taken.add(name)
        names.append(name)
    return names


def _drivers(netlist: Netlist) -> np.ndarray:
    """(E,) driver pin of each net, -1 for a net without pins."""
    start = netlist.net_start
    padded = np.append(netlist.net_pin, -1)
    return np.where(np.diff(start) > 0, padded[np.minimum(start[:-1], len(netlist.net_pin))], -1)


def usable(name: str) -> bool:
    """Whether a Bookshelf file can hold the name: it ends at a blank, and a # begins a comment."""
    return bool(name) and name == "".join(name.split()) and "#" not in name and name != ":"


def _candidates(net: int) -> Iterator[str]:
    yield f"net{net}"
    number = 0
    while True:
        number += 1
        yield f"net{net}_{number}"
