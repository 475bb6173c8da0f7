"""What a picture of a placement shows, in µm, for both kinds of picture: boxes, marks, ticks, colours, captions.

In: a design and a placement. Out: a `Scene`. Knows nothing of SVG or pixels; y points up.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from netlists.model import ORIENTATION_MATRIX, Design, FloatArray, NodeKind, Orientation, Placement, oriented_size_um

# Muted hues that stay apart for most colour-blind readers (Okabe-Ito's order, toned down); one a group of macros.
GROUP_COLOURS = ("#4c78a8", "#e0a458", "#6aa88a", "#c27ba0", "#8d7cc3", "#b5704f", "#5fa8b8", "#a3a04d")
SOFT_COLOUR = "#9db4cc"
CELL_COLOUR = "#b9c6d3"
FRAME_COLOUR = "#2b3640"
CANVAS_COLOUR = "#fbfbf9"
PORT_COLOUR = "#7a2f2f"
BLOCKAGE_COLOUR = "#8a8a8a"
INK = "#1d2730"
MARK_SHARE = 0.015  # of the canvas: longest short leg of an orientation mark


@dataclass(frozen=True, eq=False, kw_only=True)
class Scene:
    """Everything to draw. Boxes are (n, 4) llx lly urx ury; all µm, y up."""

    canvas: tuple[float, float]  # width, height
    view: tuple[float, float, float, float]  # llx lly urx ury: the canvas, and macros beyond it up to a quarter of it
    hard: FloatArray
    hard_nodes: tuple[int, ...]  # node of each hard box
    hard_colour: tuple[str, ...]
    hard_fixed: tuple[bool, ...]
    marks: FloatArray  # (n, 3, 2) triangle in the corner that is the lower left one in orientation N; long leg along x
    titles: tuple[str, ...]  # of the hard boxes
    soft: FloatArray
    soft_titles: tuple[str, ...]
    cells: FloatArray
    ports: FloatArray  # (n, 2, 2) from the edge outwards
    port_titles: tuple[str, ...]
    blockages: FloatArray
    caption: str


def make_scene(design: Design, placement: Placement) -> Scene:
    netlist, canvas = design.netlist, design.canvas
    width, height = oriented_size_um(netlist.width_um, netlist.height_um, placement.orientation)
    half = np.stack([width, height], axis=1) / 2
    centre = np.stack([placement.x_um, placement.y_um], axis=1)
    box = np.concatenate([centre - half, centre + half], axis=1)
    hard, soft, ports, cells = (netlist.nodes_of(kind) for kind in NodeKind)
    order = soft[np.argsort(-(width * height)[soft], kind="stable")]  # small ones on top
    return Scene(
        canvas=(canvas.width_um, canvas.height_um),
        view=_view(box[hard], canvas.width_um, canvas.height_um),
        hard=box[hard],
        hard_nodes=tuple(int(node) for node in hard),
        hard_colour=_colours([netlist.node_name[node] for node in hard]),
        hard_fixed=tuple(bool(placement.fixed[node]) for node in hard),
        marks=_marks(design, placement, hard),
        titles=tuple(_title(design, placement, int(node)) for node in hard),
        soft=box[order],
        soft_titles=tuple(netlist.node_name[node] for node in order),
        cells=box[cells],
        ports=_ticks(centre[ports], canvas.width_um, canvas.height_um),
        port_titles=tuple(netlist.node_name[node] for node in ports),
        blockages=design.blockages_um,
        caption=_caption(design, len(hard), len(soft), len(cells), len(ports)),
    )


def _view(hard: FloatArray, width: float, height: float) -> tuple[float, float, float, float]:
    low = np.maximum(np.minimum(hard[:, :2].min(axis=0, initial=0.0), 0.0), (-width / 4, -height / 4))
    high = np.minimum(hard[:, 2:].max(axis=0, initial=0.0), (1.25 * width, 1.25 * height))
    high = np.maximum(high, (width, height))
    return float(low[0]), float(low[1]), float(high[0]), float(high[1])


def _marks(design: Design, placement: Placement, hard: np.ndarray) -> FloatArray:
    netlist = design.netlist
    w, h = netlist.width_um[hard], netlist.height_um[hard]
    largest = MARK_SHARE * max(design.canvas.width_um, design.canvas.height_um)
    leg = np.minimum(0.25 * np.minimum(w, h), largest)
    corner = np.stack([-w / 2, -h / 2], axis=1)
    along_x = corner + np.stack([1.6 * leg, 0 * leg], axis=1)
    along_y = corner + np.stack([0 * leg, leg], axis=1)
    triangle = np.stack([corner, along_x, along_y], axis=1)  # (n, 3, 2), orientation N, from the centre
    matrix = ORIENTATION_MATRIX[placement.orientation[hard]].astype(np.float64)
    centre = np.stack([placement.x_um[hard], placement.y_um[hard]], axis=1)
    return centre[:, None, :] + np.einsum("nij,nkj->nki", matrix, triangle)


def _ticks(port: FloatArray, width: float, height: float) -> FloatArray:
    """A short line outwards from each port, at the edge it is nearest to."""
    x, y = port[:, 0], port[:, 1]
    length = 0.012 * max(width, height)
    nearest = np.argmin(np.stack([np.abs(x), np.abs(width - x), np.abs(y), np.abs(height - y)]), axis=0)
    outwards = np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, -1.0], [0.0, 1.0]])[nearest]
    return np.stack([port, port + length * outwards], axis=1)


def _colours(names: list[str]) -> tuple[str, ...]:
    """One colour a part of the hierarchy: the shallowest depth of names that tells two parts or more apart."""
    paths = [re.split(r"[/.]", re.sub(r"\[\d+\]", "", name))[:-1] for name in names]
    depth = next((d for d in range(1, 12) if len({tuple(path[:d]) for path in paths}) > 1), 1)
    groups = {group: index for index, group in enumerate(sorted({tuple(path[:depth]) for path in paths}))}
    return tuple(GROUP_COLOURS[groups[tuple(path[:depth])] % len(GROUP_COLOURS)] for path in paths)


def _title(design: Design, placement: Placement, node: int) -> str:
    netlist = design.netlist
    fixed = ", fixed" if placement.fixed[node] else ""
    orientation = Orientation(placement.orientation[node]).name
    return (
        f"{netlist.node_name[node]} · {netlist.width_um[node]:.5g} x {netlist.height_um[node]:.5g} µm"
        f" · ({placement.x_um[node]:.6g}, {placement.y_um[node]:.6g}) {orientation}{fixed}"
    )


def _caption(design: Design, hard: int, soft: int, cells: int, ports: int) -> str:
    parts = [(hard, "macros"), (soft, "soft macros"), (cells, "cells"), (ports, "ports")]
    counts = " · ".join(f"{count:,} {what}" for count, what in parts if count)
    return f"{design.canvas.width_um:.6g} x {design.canvas.height_um:.6g} µm · {counts}"


def scale_bar_um(width_um: float) -> float:
    """A round length (1, 2 or 5 times a power of ten) of about a sixth of the width."""
    wanted = width_um / 6
    power = 10.0 ** np.floor(np.log10(wanted))
    return float(power * max(step for step in (1, 2, 5) if step * power <= wanted))
