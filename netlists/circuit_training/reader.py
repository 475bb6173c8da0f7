"""`netlist.pb.txt` in (one file or several parts), `ParsedNetlist` out: arrays, start positions, leftovers.

Node rules: docs/formats.md "Circuit Training". Nodes go straight into columns while the files stream by; names become
numbers at first sight, so an edge may point forward, also into a later part. Everything that needs all nodes (sinks
that do not exist, duplicates, sizes) is checked at the end with arrays. Called by `netlists.load`.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import numpy as np

from netlists.circuit_training.textproto import Attribute, NodeText, scan_nodes
from netlists.errors import InputError, ParseError
from netlists.files import DEFAULT_LIMITS, Limits, text_blocks
from netlists.model import BoolArray, ByteArray, FloatArray, IntArray, Netlist, NodeKind, Orientation, Side

METADATA = "__metadata__"
SOFT_PREFIX = "Grp"
_PIN = 4  # kind of a macro pin, after the four of NodeKind, while reading
_TYPES = {"macro": "_macro", "macro_pin": "_macro_pin", "port": "_port", "stdcell": "_cell"}
_ORIENTATIONS = {orientation.name: int(orientation) for orientation in Orientation}
_SIDES = {"left": Side.LEFT, "right": Side.RIGHT, "bottom": Side.BOTTOM, "top": Side.TOP}

_MACRO_KEYS = {"type", "width", "height", "x", "y", "orientation"}
_PIN_KEYS = {"type", "macro_name", "x_offset", "y_offset", "x", "y", "weight"}
_PORT_KEYS = {"type", "x", "y", "side"}
_CELL_KEYS = {"type", "width", "height", "x", "y", "weight"}
_SHOWN = 10  # offenders listed in a message


@dataclass(frozen=True, eq=False, kw_only=True)
class ParsedNetlist:
    """What the files say. Positions are NaN where they say none."""

    netlist: Netlist
    x_um: FloatArray  # (N,)
    y_um: FloatArray  # (N,)
    orientation: ByteArray  # (N,)
    comments: tuple[str, ...]  # at most 200 of those between nodes


def read_netlist(paths: Sequence[Path], limits: Limits = DEFAULT_LIMITS, *, exact_only: bool = False) -> ParsedNetlist:
    """Reads the parts of one netlist, in the order given. Raises ParseError or InputError."""
    builder = _Builder(limits)
    for path in paths:
        builder.begin(path)
        add = builder.add
        for node in scan_nodes(path, text_blocks(path, limits), builder.comment, exact_only=exact_only):
            add(node)
        builder.end()
    return builder.finish()


def parse_nodes(nodes: Iterable[NodeText], limits: Limits = DEFAULT_LIMITS) -> ParsedNetlist:
    """The same from nodes that were never text (`netlists.samples`)."""
    builder = _Builder(limits)
    builder.begin(Path("generated"))
    for node in nodes:
        builder.add(node)
    return builder.finish()


@dataclass(eq=False)
class _Builder:
    """Columns with one entry a node of the files, `__metadata__` left out, in file order."""

    limits: Limits
    path: Path = Path()
    parts: list[tuple[Path, int]] = field(default_factory=list)  # part, number of its first node
    comments: list[str] = field(default_factory=list)
    kind: array[int] = field(default_factory=lambda: array("b"))
    line: array[int] = field(default_factory=lambda: array("i"))
    symbol: array[int] = field(default_factory=lambda: array("i"))
    owner: array[int] = field(default_factory=lambda: array("i"))  # symbol of a pin's macro
    sinks: array[int] = field(default_factory=lambda: array("i"))  # symbols
    sink_end: array[int] = field(default_factory=lambda: array("q"))
    width: array[float] = field(default_factory=lambda: array("d"))  # or x_offset of a pin
    height: array[float] = field(default_factory=lambda: array("d"))  # or y_offset
    x: array[float] = field(default_factory=lambda: array("d"))
    y: array[float] = field(default_factory=lambda: array("d"))
    weight: array[float] = field(default_factory=lambda: array("d"))
    orientation: array[int] = field(default_factory=lambda: array("b"))
    side: array[int] = field(default_factory=lambda: array("b"))
    extra: dict[int, tuple[Attribute, ...]] = field(default_factory=dict)
    interned: dict[tuple[Attribute, ...], tuple[Attribute, ...]] = field(default_factory=dict)
    symbols: defaultdict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self.symbols = defaultdict()
        self.symbols.default_factory = self.symbols.__len__
        self.add_by_type = {
            text: getattr(self, method) for name, method in _TYPES.items() for text in (name, name.upper())
        }

    def begin(self, path: Path) -> None:
        self.path = path
        self.parts.append((path, len(self.kind)))

    def end(self) -> None:
        if len(self.kind) == self.parts[-1][1]:
            raise ParseError(self.path, 0, "holds no node; expected a Circuit Training netlist (node { … } blocks)")

    def comment(self, text: str) -> None:
        if len(self.comments) < 200:
            self.comments.append(text)

    def add(self, node: NodeText) -> None:
        name, inputs, attributes, line = node
        values = {key: value for key, _, value in attributes}
        if len(values) != len(attributes):
            self._refuse_repeated(node)
        kind = values.get("type", "")
        add = self.add_by_type.get(kind) or self.add_by_type.get(kind.lower())
        if add is None:
            if name == METADATA:
                self._keep(-1, attributes)
                return
            self._fail(
                node,
                f"unknown type '{kind}'; types are MACRO, MACRO_PIN, PORT, STDCELL"
                if kind
                else "attribute 'type' is missing",
            )
        try:
            add(node, values)
        except ValueError:
            self._refuse_number(node, values)
        self.symbol.append(self.symbols[name])
        self.line.append(line)
        if inputs:
            self.sinks.extend(map(self.symbols.__getitem__, inputs))
        self.sink_end.append(len(self.sinks))
        if len(self.kind) > self.limits.max_nodes:
            raise InputError(f"{self.path.name}: more than {self.limits.max_nodes:,} nodes")

    # One method a type. A ValueError is a number that is none.

    def _macro_pin(self, node: NodeText, values: dict[str, str]) -> None:
        get = values.get
        self.width.append(float(get("x_offset", 0.0)))
        self.height.append(float(get("y_offset", 0.0)))
        self.weight.append(float(get("weight", 1.0)))
        if "macro_name" not in values:
            self._fail(node, "attribute 'macro_name' is missing")
        self.owner.append(self.symbols[values["macro_name"]])
        self.x.append(0.0)
        self.y.append(0.0)
        self.orientation.append(0)
        self.side.append(-1)
        if not values.keys() <= _PIN_KEYS:
            self._keep_others(node, _PIN_KEYS)
        if "weight" in values and (not node.inputs or self.weight[-1] == 1.0):
            self._keep_others(node, _PIN_KEYS - {"weight"})
        self.kind.append(_PIN)

    def _macro(self, node: NodeText, values: dict[str, str]) -> None:
        if node.inputs:
            self._fail(node, f"a macro cannot drive '{node.inputs[0]}'; only its pins can (MACRO_PIN)")
        text = values.get("orientation")
        if text is None:
            orientation = int(Orientation.N)
        elif (found := _ORIENTATIONS.get(text.upper())) is not None:
            orientation = found
        else:
            self._fail(node, f"orientation '{text}' is not one of {' '.join(_ORIENTATIONS)}")
        soft = text is None and node.name.startswith(SOFT_PREFIX)
        self._placed(node, values, NodeKind.SOFT_MACRO if soft else NodeKind.HARD_MACRO, orientation, _MACRO_KEYS)

    def _cell(self, node: NodeText, values: dict[str, str]) -> None:
        self._placed(node, values, NodeKind.CELL, 0, _CELL_KEYS)

    def _placed(self, node: NodeText, values: dict[str, str], kind: NodeKind, orientation: int, keys: set[str]) -> None:
        for key in ("width", "height"):
            if key not in values:
                self._fail(node, f"attribute '{key}' is missing")
        self.width.append(float(values["width"]))
        self.height.append(float(values["height"]))
        self._position(values)
        self.weight.append(float(values.get("weight", 1.0)))
        self.orientation.append(orientation)
        self.side.append(-1)
        self.owner.append(-1)
        if not values.keys() <= keys:
            self._keep_others(node, keys)
        self.kind.append(kind)

    def _port(self, node: NodeText, values: dict[str, str]) -> None:
        text = values.get("side")
        side = Side.NONE if text is None else _SIDES.get(text.lower())
        if side is None:
            self._fail(node, f"side '{text}' is not one of LEFT RIGHT TOP BOTTOM")
        self.width.append(0.0)
        self.height.append(0.0)
        self._position(values)
        self.weight.append(1.0)
        self.orientation.append(0)
        self.side.append(side)
        self.owner.append(-1)
        if not values.keys() <= _PORT_KEYS:
            self._keep_others(node, _PORT_KEYS)
        self.kind.append(NodeKind.PORT)

    def _position(self, values: dict[str, str]) -> None:
        self.x.append(float(values.get("x", "nan")))
        self.y.append(float(values.get("y", "nan")))

    def _keep_others(self, node: NodeText, known: set[str]) -> None:
        self._keep(len(self.kind), [attribute for attribute in node.attributes if attribute[0] not in known])

    def _keep(self, number: int, attributes: Sequence[Attribute]) -> None:
        """Keeps attributes that no array holds; equal ones are stored once."""
        kept = self.extra.get(number, ()) + tuple(attributes)
        self.extra[number] = self.interned.setdefault(kept, kept)

    # What needs all nodes

    def finish(self) -> ParsedNetlist:
        columns = _Columns(self)
        columns.check_duplicates()
        columns.check_numbers()
        return columns.parsed()

    def where(self, number: int) -> tuple[Path, int]:
        """File and line of a node."""
        path = next(path for path, first in reversed(self.parts) if first <= number)
        return path, self.line[number]

    def _fail(self, node: NodeText, message: str) -> NoReturn:
        raise ParseError(self.path, node.line, f"node '{node.name}': {message}")

    def _refuse_repeated(self, node: NodeText) -> NoReturn:
        keys = [key for key, _, _ in node.attributes]
        self._fail(node, f"attribute '{next(key for key in keys if keys.count(key) > 1)}' is given twice")

    def _refuse_number(self, node: NodeText, values: dict[str, str]) -> NoReturn:
        for key in ("width", "height", "x_offset", "y_offset", "x", "y", "weight"):
            try:
                float(values.get(key, 0.0))
            except ValueError:
                self._fail(node, f"attribute '{key}' is '{values[key]}', not a number")
        raise AssertionError("a number was refused, but all are numbers")


class _Columns:
    """The builder's columns as arrays, and what is made of them. R nodes of the files."""

    def __init__(self, builder: _Builder) -> None:
        self.builder = builder
        self.kind = np.array(builder.kind, dtype=np.int8)
        self.symbol = np.array(builder.symbol, dtype=np.int32)
        self.owner = np.array(builder.owner, dtype=np.int32)
        self.sinks = np.array(builder.sinks, dtype=np.int32)
        self.sink_start = np.concatenate([[0], np.array(builder.sink_end, dtype=np.int64)])
        self.width, self.height = np.array(builder.width), np.array(builder.height)
        self.x, self.y = np.array(builder.x), np.array(builder.y)
        self.weight = np.array(builder.weight)
        self.names = tuple(builder.symbols)  # by symbol
        self.number = np.full(len(self.names), -1, dtype=np.int32)  # symbol -> node of the files, -1 = no such node
        self.number[self.symbol[::-1]] = np.arange(len(self.symbol), dtype=np.int32)[::-1]

    def name(self, number: int) -> str:
        return self.names[self.symbol[number]]

    def check_duplicates(self) -> None:
        again = np.flatnonzero(self.number[self.symbol] != np.arange(len(self.symbol)))
        if len(again):
            second = int(again[0])
            path, line = self.builder.where(int(self.number[self.symbol[second]]))
            here, here_line = self.builder.where(second)
            first = f"line {line}" if path == here else f"{path.name} line {line}"
            raise ParseError(here, here_line, f"node '{self.name(second)}' is defined a second time; first at {first}")

    def check_numbers(self) -> None:
        sized = (self.kind != _PIN) & (self.kind != NodeKind.PORT)
        for key, values in (("width", self.width), ("height", self.height)):
            self._refuse(sized & ~(np.isfinite(values) & (values > 0)), key, values, "a finite number above 0")
        for key, values in (("x_offset", self.width), ("y_offset", self.height)):
            self._refuse((self.kind == _PIN) & ~np.isfinite(values), key, values, "a finite number")
        bad_weight = ~(np.isfinite(self.weight) & (self.weight >= 0))
        self._refuse(bad_weight, "weight", self.weight, "a finite number, 0 or more")

    def _refuse(self, bad: BoolArray, key: str, values: FloatArray, wanted: str) -> None:
        if bad.any():
            number = int(np.flatnonzero(bad)[0])
            path, line = self.builder.where(number)
            more = f" ({np.count_nonzero(bad):,} nodes like this)" if np.count_nonzero(bad) > 1 else ""
            raise ParseError(
                path, line, f"node '{self.name(number)}': {key} is {values[number]:g}, must be {wanted}{more}"
            )

    def parsed(self) -> ParsedNetlist:
        placed = np.flatnonzero(self.kind != _PIN)
        node_of = np.full(len(self.kind), -1, dtype=np.int32)
        node_of[placed] = np.arange(len(placed), dtype=np.int32)
        has_pin = (self.kind != NodeKind.HARD_MACRO) & (self.kind != NodeKind.SOFT_MACRO)
        pins = np.flatnonzero(has_pin)
        pin_of = np.full(len(self.kind), -1, dtype=np.int32)
        pin_of[pins] = np.arange(len(pins), dtype=np.int32)
        is_macro_pin = self.kind[pins] == _PIN
        net_start, net_pin, drivers = self._nets(pin_of)
        used = np.zeros(len(pins), dtype=np.bool_)
        used[net_pin] = True
        kind = self.kind[placed]
        netlist = Netlist(
            node_name=tuple(self.names[symbol] for symbol in self.symbol[placed]),
            node_kind=kind,
            node_index=placed,
            width_um=self.width[placed],
            height_um=self.height[placed],
            port_side=np.array(self.builder.side, dtype=np.int8)[placed],
            pin_name=tuple(self.names[symbol] for symbol in self.symbol[pins]),
            pin_node=node_of[self._macros(pins, is_macro_pin)],
            pin_dx_um=np.where(is_macro_pin, self.width[pins], 0.0),
            pin_dy_um=np.where(is_macro_pin, self.height[pins], 0.0),
            net_start=net_start,
            net_pin=net_pin,
            net_weight=self.weight[drivers],
            drivers_without_sinks=int(np.count_nonzero(~used)),
            extra_attributes=self.builder.extra,
        )
        return ParsedNetlist(
            netlist=netlist,
            x_um=self.x[placed],
            y_um=self.y[placed],
            orientation=np.array(self.builder.orientation, dtype=np.int8)[placed],
            comments=tuple(self.builder.comments),
        )

    def _macros(self, pins: IntArray, is_macro_pin: BoolArray) -> IntArray:
        """Per pin the node of the files that it belongs to: its macro, or itself for a port or cell."""
        result = pins.copy()
        owner = self.number[self.owner[pins[is_macro_pin]]]
        is_macro = (owner >= 0) & (self.kind[owner] <= NodeKind.SOFT_MACRO)
        if not is_macro.all():
            number = int(pins[is_macro_pin][~is_macro][0])
            path, line = self.builder.where(number)
            name = self.names[self.owner[number]]
            raise ParseError(path, line, f"node '{self.name(number)}': macro_name '{name}' names no macro")
        result[is_macro_pin] = owner
        return result

    def _nets(self, pin_of: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """(E+1,) starts, (K,) pins with the driver first, (E,) nodes of the files that drive."""
        count = np.diff(self.sink_start)
        sink_number = self.number[self.sinks]
        sink_pin = np.where(sink_number >= 0, pin_of[sink_number], -1)
        if len(bad := np.flatnonzero(sink_pin < 0)):
            self._refuse_sinks(bad, sink_number)
        drivers = np.flatnonzero(count).astype(np.int32)
        net_start = np.concatenate([[0], np.cumsum(count[drivers] + 1)])
        net_pin = np.empty(net_start[-1], dtype=np.int32)
        is_driver = np.zeros(len(net_pin), dtype=np.bool_)
        is_driver[net_start[:-1]] = True
        net_pin[is_driver] = pin_of[drivers]
        net_pin[~is_driver] = sink_pin
        return net_start, net_pin, drivers

    def _refuse_sinks(self, bad: IntArray, sink_number: IntArray) -> NoReturn:
        drivers = np.searchsorted(self.sink_start, bad, side="right") - 1
        shown = []
        for at, driver in zip(bad[:_SHOWN], drivers[:_SHOWN], strict=True):
            why = "is a macro, not a pin" if sink_number[at] >= 0 else "does not exist"
            where, line = self.builder.where(int(driver))
            shown.append(
                f"'{self.name(int(driver))}' ({where.name}:{line}) drives '{self.names[self.sinks[at]]}', which {why}"
            )
        path, line = self.builder.where(int(drivers[0]))
        more = f"; and {len(bad) - _SHOWN:,} more" if len(bad) > _SHOWN else ""
        raise ParseError(path, line, f"{len(bad):,} sinks cannot be connected: {'; '.join(shown)}{more}")
