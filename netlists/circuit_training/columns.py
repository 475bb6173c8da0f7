"""Nodes of a netlist into columns, one after the other, while the files stream by.

In: `NodeText`s. Out: `Columns`, one entry a node of the files. Names become numbers at first sight ("symbols"), so an
edge may point forward, also into a later part. What one node alone can have wrong is refused here, with its line; what
needs all nodes is checked by `assemble.py`. Node rules: docs/formats.md "Circuit Training". Called by `reader.py`.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from netlists.circuit_training.exact import Attribute, NodeText
from netlists.errors import InputError, ParseError
from netlists.files import Limits
from netlists.model import NodeKind, Orientation, Side

METADATA = "__metadata__"
SOFT_PREFIX = "Grp"
PIN_KIND = 4  # of a macro pin, after the four of NodeKind
COMMENTS_KEPT = 200
_TYPES = {"macro": "_macro", "macro_pin": "_macro_pin", "port": "_port", "stdcell": "_cell"}
_ORIENTATIONS = {orientation.name: int(orientation) for orientation in Orientation}
_SIDES = {"left": Side.LEFT, "right": Side.RIGHT, "bottom": Side.BOTTOM, "top": Side.TOP}

_MACRO_KEYS = {"type", "width", "height", "x", "y", "orientation"}
_PIN_KEYS = {"type", "macro_name", "x_offset", "y_offset", "x", "y", "weight"}
_PORT_KEYS = {"type", "x", "y", "side"}
_CELL_KEYS = {"type", "width", "height", "x", "y", "weight"}


@dataclass(eq=False)
class Columns:
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
        if len(self.comments) < COMMENTS_KEPT:
            self.comments.append(text)

    def add(self, node: NodeText) -> None:
        name, inputs, attributes, line = node
        values = {key: value for key, _, value in attributes}
        if len(values) != len(attributes):
            self._refuse_repeated(node)
        if not name:
            self._fail(node, "the name is empty")
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
        if len(self.symbols) > self.limits.max_nodes:  # sinks count too: those of a sound netlist are nodes
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
        self._keep_others(node, values, _PIN_KEYS)
        self.kind.append(PIN_KIND)

    def _macro(self, node: NodeText, values: dict[str, str]) -> None:
        if node.inputs:
            self._fail(node, f"a macro cannot drive '{node.inputs[0]}'; only its pins can (MACROPIN_KIND)")
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
        self._keep_others(node, values, keys)
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
        self._keep_others(node, values, _PORT_KEYS)
        self.kind.append(NodeKind.PORT)

    def _position(self, values: dict[str, str]) -> None:
        self.x.append(float(values.get("x", "nan")))
        self.y.append(float(values.get("y", "nan")))

    def _keep_others(self, node: NodeText, values: dict[str, str], known: set[str]) -> None:
        """Keeps what the arrays will not say again: other attributes, and a weight that weighs no net or says 1."""
        if "weight" in values and (not node.inputs or self.weight[-1] == 1.0):
            known = known - {"weight"}
        if not values.keys() <= known:
            self._keep(len(self.kind), [attribute for attribute in node.attributes if attribute[0] not in known])

    def _keep(self, number: int, attributes: Sequence[Attribute]) -> None:
        """Keeps attributes that no array holds; equal ones are stored once."""
        kept = (*self.extra.get(number, ()), *attributes)
        self.extra[number] = self.interned.setdefault(kept, kept)

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
