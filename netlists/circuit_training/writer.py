"""A design and a placement in, `.plc` and `netlist.pb.txt` out; reading them back gives the same arrays exactly.

Numbers are written as the shortest decimals that read back as the same float64, never with an exponent (other Circuit
Training tools split lines with patterns that know none). Files appear under their name only when complete; equal input
gives equal bytes (no dates). Attributes that no array holds come from `Netlist.extra_attributes`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from netlists.circuit_training.plc import MAP_LINE, header_counts
from netlists.errors import InputError
from netlists.files import atomic_text
from netlists.model import Design, Netlist, NodeKind, Orientation, Placement, Side, pin_positions_um

_COSTS = {  # cost name -> header line
    "wirelength": "Wirelength",
    "wirelength_cost": "Wirelength cost",
    "congestion_cost": "Congestion cost",
    "density_cost": "Density cost",
}
# Header lines that are written anew, or that told of the placement read and would be wrong now.
_OWN_LINE = re.compile(
    r"^#\s*(?:$|Placement file for|This file\s*:|Date\s*:|Columns\s*:|Width\s*:|Wirelength|Congestion cost|Density cost"
    r"|Proxy cost|Fake net cost|90% Congestion metric|Routes per micron|Routes used by macros|Smoothing factor"
    r"|Overlap threshold|Database units per micron|Database origin|Start\s*:|Counts of node types|node_index x y"
    r"|(?:HARD_MACRO|SOFT_MACRO|MACRO|PORT|STDCELL)(?:_PIN)?s\s*:)",
    re.I,
)
_BLOCKAGE = re.compile(r"^#\s*Blockages?\s*:", re.I)


def number(value: float) -> str:
    """Shortest decimal without exponent that reads back as the same float64: 5.0 -> '5', 1e-07 -> '0.0000001'."""
    text = repr(float(value))
    if "e" in text:
        text = np.format_float_positional(value, trim="-")
    return text.removesuffix(".0")


def write_plc(path: Path, design: Design, placement: Placement, costs: Mapping[str, float] | None = None) -> None:
    """Writes the `.plc` of a placement. `costs`: names as in `CostReport.as_dict()`; None leaves the cost lines out."""
    with atomic_text(Path(path)) as file:
        for line in _plc_header(Path(path).name, design, placement, costs or {}):
            file.write(line.rstrip() + "\n")
        netlist = design.netlist
        names = [orientation.name for orientation in Orientation]
        for node in range(netlist.node_count):
            orientation = "-" if netlist.node_kind[node] == NodeKind.PORT else names[placement.orientation[node]]
            file.write(
                f"{netlist.node_index[node]} {number(placement.x_um[node])} {number(placement.y_um[node])}"
                f" {orientation} {int(placement.fixed[node])}\n"
            )


def _plc_header(name: str, design: Design, placement: Placement, costs: Mapping[str, float]) -> Iterator[str]:
    canvas = design.canvas
    yield "# Placement file for Circuit Training"
    yield f"# This file : {name}"
    yield f"# Columns : {canvas.columns}  Rows : {canvas.rows}"
    yield f"# Width : {number(canvas.width_um)}  Height : {number(canvas.height_um)}"
    for key, label in _COSTS.items():
        if key in costs:
            yield f"# {label} : {number(costs[key])}"
    yield f"# Routes per micron, hor : {number(canvas.hor_routes_per_um)}  ver : {number(canvas.ver_routes_per_um)}"
    yield (
        f"# Routes used by macros, hor : {number(canvas.hor_macro_routes_per_um)}"
        f"  ver : {number(canvas.ver_macro_routes_per_um)}"
    )
    yield f"# Smoothing factor : {canvas.smoothing}"
    yield f"# Overlap threshold : {number(canvas.overlap_threshold)}"
    if (database := design.database) is not None:
        yield f"# Database units per micron : {database.units_per_um}  Grid : {database.grid}"
        yield f"# Database origin : {database.origin_x} {database.origin_y}"
    if not design.has_start and placement is design.start:
        yield "# Start : made up"
    kept = [line for line in design.plc_header if not _OWN_LINE.match(line) and not MAP_LINE.match(line)]
    if not any(re.match(r"#\s*Block\s*:", line) for line in kept):
        yield f"# Block : {re.sub(r'[^A-Za-z0-9_.-]+', '_', design.name) or 'unset_block'}"
    yield from (line for line in kept if not _BLOCKAGE.match(line))
    for box in design.blockages_um:
        yield f"# Blockage : {' '.join(number(value) for value in box)} 1.0"
    yield "#"
    yield "# Counts of node types:"
    for key, count in header_counts(design.netlist).items():
        yield f"# {key:<15} : {count:9}"
    yield "#"
    yield "# node_index x y orientation fixed"


def write_netlist(path: Path, design: Design, placement: Placement) -> None:
    """Writes the netlist with its nodes at `placement`, node by node. Orientation goes on hard macros only.

    Raises InputError for a design that the format cannot hold (`refusal`).
    """
    if why := refusal(design):
        raise InputError(f"{Path(path).name}: {why}")
    with atomic_text(Path(path)) as file:
        canvas = design.canvas
        file.write(f"# FP bbox: {{0.0 0.0}} {{{number(canvas.width_um)} {number(canvas.height_um)}}}\n")
        for node in _NetlistText(design.netlist, placement).nodes():
            file.write(node)


def refusal(design: Design) -> str | None:
    """Why no `netlist.pb.txt` can hold this design: there a cell or port drives one net. None where one can."""
    netlist = design.netlist
    driver = netlist.pin_node[netlist.net_pin[netlist.net_start[:-1][np.diff(netlist.net_start) > 1]]]
    driver = driver[np.isin(netlist.node_kind[driver], (NodeKind.PORT, NodeKind.CELL))]
    nodes, nets = np.unique(driver, return_counts=True)
    several = nodes[nets > 1]
    if not len(several):
        return None
    shown = ", ".join(f"'{netlist.node_name[node]}'" for node in several[:5])
    return f"{len(several):,} cells or ports drive several nets, of which the format knows one a node: {shown}"


def losses(design: Design) -> list[str]:
    """What a `netlist.pb.txt` does not carry of this design, in words."""
    netlist, lost = design.netlist, []
    alone = np.isin(netlist.node_kind[netlist.pin_node], (NodeKind.PORT, NodeKind.CELL))
    if offsets := int(np.count_nonzero(alone & ((netlist.pin_dx_um != 0) | (netlist.pin_dy_um != 0)))):
        lost.append(f"offsets of {offsets:,} pins of cells and ports: there they are their own pin at the centre")
    if short := int(np.count_nonzero(np.diff(netlist.net_start) < 2)):
        lost.append(f"{short:,} nets of a single pin")
    cells = netlist.node_kind == NodeKind.CELL
    if turned := int(np.count_nonzero(cells & (design.start.orientation != Orientation.N))):
        lost.append(f"orientations of {turned:,} cells")
    if netlist.net_name:
        lost.append("names of nets")
    if len(design.blockages_um):
        lost.append(f"{len(design.blockages_um):,} blockages (a .plc has them)")
    if design.rows:
        lost.append(f"{len(design.rows):,} rows of sites")
    if design.origin_um != (0.0, 0.0):
        lost.append("the canvas's place in the files read: it begins at (0, 0)")
    lost.append("grid and routing supplies, and what is fixed (a .plc has them)")
    return lost


def quoted(text: str) -> str:
    """The text as a string of the text format."""
    if text.isprintable() and '"' not in text and "\\" not in text:  # nearly all there are
        return f'"{text}"'
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + re.sub(r"[\x00-\x1f\x7f]", lambda match: f"\\{ord(match.group()):03o}", escaped) + '"'


class _NetlistText:
    """Text of the nodes of a netlist, in the files' order: nodes with a place and macro pins interleaved."""

    def __init__(self, netlist: Netlist, placement: Placement) -> None:
        self.netlist, self.placement = netlist, placement
        self.pin_xy = pin_positions_um(netlist, placement)
        self.kind = netlist.node_kind
        self.pin_offset = np.stack([netlist.pin_dx_um, netlist.pin_dy_um], axis=1).tolist()
        self.pin_at = self.pin_xy.tolist()
        self.pin_node, self.net_pin = netlist.pin_node.tolist(), netlist.net_pin.tolist()
        self.net_start, self.net_weight = netlist.net_start.tolist(), netlist.net_weight.tolist()
        self.soft = (self.kind == NodeKind.SOFT_MACRO).tolist()
        self.alone = np.isin(self.kind, (NodeKind.PORT, NodeKind.CELL)).tolist()
        driven = np.flatnonzero(np.diff(netlist.net_start) > 1)
        self.net_of_pin: dict[int, int] = dict(
            zip(netlist.net_pin[netlist.net_start[driven]].tolist(), driven.tolist(), strict=True)
        )

    def nodes(self) -> Iterator[str]:
        netlist = self.netlist
        if -1 in netlist.extra_attributes:
            yield self._block("__metadata__", (), [], -1)
        single = np.isin(self.kind[netlist.pin_node], (NodeKind.PORT, NodeKind.CELL))
        pin_of_node = {int(netlist.pin_node[pin]): pin for pin in self.net_of_pin if single[pin]}
        macro_pins = iter(np.flatnonzero(~single))
        total = netlist.node_count + int(np.count_nonzero(~single))
        node_at = {int(index): node for node, index in enumerate(netlist.node_index)}
        for number_in_file in range(total):
            node = node_at.get(number_in_file)
            if node is None:
                yield self._pin(int(next(macro_pins)), number_in_file)
            else:
                yield self._node(node, number_in_file, pin_of_node.get(node))

    def _node(self, node: int, number_in_file: int, pin: int | None) -> str:
        netlist, placement = self.netlist, self.placement
        kind = NodeKind(self.kind[node])
        fields: list[tuple[str, str]] = []
        if kind is not NodeKind.PORT:
            fields.append(("height", f"f: {number(netlist.height_um[node])}"))
        if kind is NodeKind.HARD_MACRO:
            fields.append(("orientation", f'placeholder: "{Orientation(placement.orientation[node]).name}"'))
        if netlist.port_side[node] != Side.NONE:
            fields.append(("side", f'placeholder: "{Side(netlist.port_side[node]).name}"'))
        fields.append(("type", f'placeholder: "{_TYPE[kind]}"'))
        if kind is NodeKind.CELL:
            fields.extend(self._weight(pin))
        if kind is not NodeKind.PORT:
            fields.append(("width", f"f: {number(netlist.width_um[node])}"))
        fields.append(("x", f"f: {number(placement.x_um[node])}"))
        fields.append(("y", f"f: {number(placement.y_um[node])}"))
        return self._block(netlist.node_name[node], self._sinks(pin), fields, number_in_file)

    def _pin(self, pin: int, number_in_file: int) -> str:
        netlist = self.netlist
        node = self.pin_node[pin]
        (x, y), (dx, dy) = self.pin_at[pin], self.pin_offset[pin]
        fields = [
            ("macro_name", f"placeholder: {quoted(netlist.node_name[node])}"),
            ("type", f'placeholder: "{"macro_pin" if self.soft[node] else "MACRO_PIN"}"'),
            *self._weight(pin),
            ("x", f"f: {number(x)}"),
            ("x_offset", f"f: {number(dx)}"),
            ("y", f"f: {number(y)}"),
            ("y_offset", f"f: {number(dy)}"),
        ]
        return self._block(netlist.pin_name[pin], self._sinks(pin), fields, number_in_file)

    def _weight(self, pin: int | None) -> list[tuple[str, str]]:
        net = self.net_of_pin.get(-1 if pin is None else pin)
        if net is None or self.net_weight[net] == 1:
            return []
        return [("weight", f"f: {number(self.net_weight[net])}")]

    def _sinks(self, pin: int | None) -> tuple[str, ...]:
        net = self.net_of_pin.get(-1 if pin is None else pin)
        if net is None:
            return ()
        start, end = self.net_start[net : net + 2]
        return tuple(self._name_of_pin(sink) for sink in self.net_pin[start + 1 : end])

    def _name_of_pin(self, pin: int) -> str:
        """A port or cell is its own pin here, however many the design gives it."""
        node = self.pin_node[pin]
        return self.netlist.node_name[node] if self.alone[node] else self.netlist.pin_name[pin]

    def _block(self, name: str, inputs: tuple[str, ...], fields: list[tuple[str, str]], number_in_file: int) -> str:
        lines = ["node {\n", f"  name: {quoted(name)}\n"]
        lines += [f"  input: {quoted(sink)}\n" for sink in inputs]
        for key, value_field, value in self.netlist.extra_attributes.get(number_in_file, ()):
            text = quoted(value) if value_field in ("s", "placeholder", "") else value
            if value_field:
                fields.append((key, f"{value_field}: {text}"))
            else:
                lines.append(f"  {key}: {text}\n")
        for key, value in sorted(fields):
            lines.append(f"  attr {{\n    key: {quoted(key)}\n    value {{\n      {value}\n    }}\n  }}\n")
        return "".join(lines) + "}\n"


_TYPE = {
    NodeKind.HARD_MACRO: "MACRO",
    NodeKind.SOFT_MACRO: "macro",
    NodeKind.PORT: "PORT",
    NodeKind.CELL: "STDCELL",
}
