"""`.nodes`, `.pl` and `.wts`: one line a node (or net). In: a path. Out: columns in file order.

name width height [terminal | terminal_NI]
name x y : orientation [/FIXED | /FIXED_NI]          x, y: lower left corner of the oriented box
name weight
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path

import numpy as np

from netlists.bookshelf.lines import Lines, some, without_comment
from netlists.errors import InputError
from netlists.files import Limits
from netlists.model import ByteArray, FloatArray, Orientation

_ORIENTATIONS = {orientation.name: int(orientation) for orientation in Orientation}


class Status(IntEnum):
    """What a `.nodes` line says after the size, or a `.pl` line at its end: nothing, fixed, fixed without area."""

    FREE = 0
    FIXED = 1
    FIXED_NI = 2


TERMINALS = {"terminal": Status.FIXED, "terminal_ni": Status.FIXED_NI}
_PLACED = {"/fixed": Status.FIXED, "/fixed_ni": Status.FIXED_NI}


@dataclass(eq=False)
class NodeTable:
    """Nodes of a `.nodes` file, in its order."""

    index: dict[str, int] = field(default_factory=dict)  # name -> node
    line: array[int] = field(default_factory=lambda: array("i"))
    width: array[float] = field(default_factory=lambda: array("d"))
    height: array[float] = field(default_factory=lambda: array("d"))
    terminal: array[int] = field(default_factory=lambda: array("b"))  # Status


def read_nodes(path: Path, limits: Limits) -> NodeTable:
    """Raises ParseError with line and name, for duplicates with both lines; InputError beyond the limit of nodes."""
    table, lines = NodeTable(), Lines(path, "nodes", limits)
    for number, line in lines:
        words = line.split()
        if len(words) not in (3, 4) or "#" in line or words[1] == ":":
            text = without_comment(line)
            if not text or lines.count_line(number, text):
                continue
            words = text.split()
            if len(words) not in (3, 4):
                lines.fail(number, "expected 'name width height [terminal | terminal_NI]'", line)
        name = words[0]
        status = Status.FREE
        if len(words) == 4:
            status = TERMINALS.get(words[3].lower(), Status.FREE)
            if not status:
                lines.fail(number, f"node '{name}': '{words[3]}' is neither terminal nor terminal_NI", line)
        if (first := table.index.setdefault(name, len(table.line))) != len(table.line):
            lines.fail(number, f"node '{name}' is defined a second time; first at line {table.line[first]}", line)
        for text, column, what in ((words[1], table.width, "width"), (words[2], table.height, "height")):
            value = lines.number(number, text, f"node '{name}': {what}", line)
            if value < 0 or (value == 0 and not status):
                lines.fail(number, f"node '{name}': {what} is {text}, must be above 0", line)
            column.append(value)
        table.terminal.append(status)
        table.line.append(number)
        if len(table.line) > limits.max_nodes:
            raise InputError(f"{path.name}: more than {limits.max_nodes:,} nodes")
    if not table.line:
        lines.fail(0, "holds no node")
    lines.check_count("NumNodes", len(table.line), "nodes")
    lines.check_count("NumTerminals", sum(map(bool, table.terminal)), "terminals")
    return table


@dataclass(eq=False)
class PlaceTable:
    """What a `.pl` says of every node, in the order of the nodes."""

    x: FloatArray  # (N,) lower left corner
    y: FloatArray
    orientation: ByteArray
    status: ByteArray  # Status


def read_places(path: Path, nodes: NodeTable, limits: Limits) -> PlaceTable:
    """Every node must have its line. Raises ParseError."""
    count = len(nodes.line)
    table = PlaceTable(np.zeros(count), np.zeros(count), np.zeros(count, np.int8), np.zeros(count, np.int8))
    x, y = array("d", bytes(8 * count)), array("d", bytes(8 * count))
    lines, line_of = Lines(path, "pl", limits), array("i", bytes(4 * count))
    bare = whole = 0  # the first line without, the last one with an orientation
    for number, line in lines:
        words = line.split()
        if len(words) != 5 or words[3] != ":" or "#" in line:
            text = without_comment(line)
            if not text:
                continue
            words = text.replace(":", " : ").split() if text.count(":") == 1 else text.split()
            if len(words) == 3:
                bare, words = bare or number, [*words, ":", "N"]
            if len(words) not in (5, 6) or words[3] != ":":
                lines.fail(number, "expected 'name x y : orientation [/FIXED | /FIXED_NI]'", line)
        name = words[0]
        node = nodes.index.get(name)
        if node is None:
            lines.fail(number, f"node '{name}' is not in the .nodes file", line)
        if line_of[node]:
            lines.fail(number, f"node '{name}' is placed a second time; first at line {line_of[node]}", line)
        line_of[node] = number
        x[node] = lines.number(number, words[1], f"node '{name}': x", line)
        y[node] = lines.number(number, words[2], f"node '{name}': y", line)
        whole = whole if bare == number else number
        if words[4] != "N":
            orientation = _ORIENTATIONS.get(words[4].upper())
            if orientation is None:
                allowed = " ".join(_ORIENTATIONS)
                lines.fail(number, f"node '{name}': orientation '{words[4]}' is not one of {allowed}", line)
            table.orientation[node] = orientation
        if len(words) == 6:
            status = _PLACED.get(words[5].lower())
            if status is None:
                lines.fail(number, f"node '{name}': '{words[5]}' is neither /FIXED nor /FIXED_NI", line)
            table.status[node] = status
    if missing := [name for name, node in nodes.index.items() if not line_of[node]]:
        lines.fail(0, f"{len(missing):,} of {count:,} nodes have no line: {some(missing)}; is it truncated?")
    if bare and whole:
        lines.fail(bare, f"no orientation, but line {whole} has one; expected 'name x y : orientation'")
    table.x[:], table.y[:] = x, y
    return table


def read_weights(path: Path, nodes: NodeTable, nets: Mapping[str, int], limits: Limits) -> tuple[dict[int, float], int]:
    """Weights of nets, by net, and how many lines weigh nodes instead (ICCAD04: areas). Raises ParseError."""
    weights: dict[int, float] = {}
    of_nodes = 0
    lines = Lines(path, "wts", limits)
    first_line: dict[str, int] = {}
    for number, line in lines:
        text = without_comment(line)
        words = text.split()
        if not words:
            continue
        if len(words) != 2:
            lines.fail(number, "expected 'name weight'", line)
        name = words[0]
        if (first := first_line.setdefault(name, number)) != number:
            lines.fail(number, f"'{name}' is weighed a second time; first at line {first}", line)
        value = lines.number(number, words[1], f"weight of '{name}'", line)
        if value < 0:
            lines.fail(number, f"weight of '{name}' is {words[1]}, must be 0 or more", line)
        if name in nets:
            weights[nets[name]] = value
        elif name in nodes.index:
            of_nodes += 1
        else:
            lines.fail(number, f"'{name}' is neither a net of the .nets nor a node of the .nodes file", line)
    return weights, of_nodes
