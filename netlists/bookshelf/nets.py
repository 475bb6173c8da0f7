"""`.nets`: nets and their pins, in file order.

NetDegree : 3 [name]
    node I|O|B [: dx dy]          from the node's centre, in orientation N
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from pathlib import Path

from netlists.bookshelf.lines import MAX_UNITS, Lines, without_comment
from netlists.bookshelf.nodes import NodeTable
from netlists.errors import InputError
from netlists.files import Limits
from netlists.model import PinDirection

DIRECTIONS = {"I": int(PinDirection.INPUT), "O": int(PinDirection.OUTPUT), "B": int(PinDirection.INOUT)}


@dataclass(eq=False)
class NetTable:
    """Nets and pins of a `.nets` file, in its order. Net e owns the pins start[e]:start[e+1]."""

    name: list[str] = field(default_factory=list)  # '' where the file gives none
    start: array[int] = field(default_factory=lambda: array("i", [0]))
    node: array[int] = field(default_factory=lambda: array("i"))
    dx: array[float] = field(default_factory=lambda: array("d"))
    dy: array[float] = field(default_factory=lambda: array("d"))
    direction: array[int] = field(default_factory=lambda: array("b"))  # PinDirection

    def index(self) -> dict[str, int]:
        """Name -> net, of the nets that have one."""
        return {name: net for net, name in enumerate(self.name) if name}


def read_nets(path: Path, nodes: NodeTable, limits: Limits) -> NetTable:
    """Raises ParseError with line, net and node; InputError for more than ten times the limit of nodes in pins."""
    return _Reader(path, nodes, limits).read()


class _Reader:
    def __init__(self, path: Path, nodes: NodeTable, limits: Limits) -> None:
        self.lines, self.nodes, self.table = Lines(path, "nets", limits), nodes, NetTable()
        self.max_pins = 10 * limits.max_nodes
        self.open_line, self.open_end = 0, 0  # line of the net being read; number of pins when it is complete
        self.line_of_name: dict[str, int] = {}

    def read(self) -> NetTable:
        table = self.table
        index, directions = self.nodes.index.get, DIRECTIONS.get
        add_node, add_dx, add_dy = table.node.append, table.dx.append, table.dy.append
        add_direction, largest, slow = table.direction.append, MAX_UNITS, self._line
        for number, line in self.lines:
            words = line.split()
            if len(words) == 5 and words[2] == ":":  # the usual line of a pin; anything odd about it goes the slow way
                node, direction = index(words[0]), directions(words[1])
                try:
                    dx, dy = float(words[3]), float(words[4])
                except ValueError:
                    dx = dy = largest * 2
                if (
                    node is not None
                    and direction
                    and -largest <= dx <= largest
                    and -largest <= dy <= largest
                    and "_" not in words[3]
                    and "_" not in words[4]
                    and "#" not in line
                    and len(table.node) < self.open_end
                ):
                    add_node(node)
                    add_dx(dx)
                    add_dy(dy)
                    add_direction(direction)
                    continue
            if words:
                slow(number, line)
        self._close(0)
        self.lines.check_count("NumNets", len(table.name), "nets")
        self.lines.check_count("NumPins", len(table.node), "pins")
        return table

    def _line(self, number: int, line: str) -> None:
        text = without_comment(line)
        if not text:
            return
        if text[:9].lower() == "netdegree" and (words := text[9:].replace(":", " : ", 1).split())[:1] == [":"]:
            self._open(number, words[1:], line)
        elif not self.lines.count_line(number, text):
            self._pin(number, text, line)

    def _open(self, number: int, words: list[str], line: str) -> None:
        self._close(number)
        if not 1 <= len(words) <= 2 or not words[0].isdecimal() or len(words[0]) > 9:
            self.lines.fail(number, "expected 'NetDegree : number-of-pins [name]'", line)
        name = words[1] if len(words) == 2 else ""
        if name and (first := self.line_of_name.setdefault(name, number)) != number:
            self.lines.fail(number, f"net '{name}' is defined a second time; first at line {first}", line)
        self.table.name.append(name)
        self.open_line, self.open_end = number, len(self.table.node) + int(words[0])
        if self.open_end > self.max_pins or len(self.table.name) > self.max_pins:
            raise InputError(f"{self.lines.path.name}: more than {self.max_pins:,} pins or nets")

    def _close(self, number: int) -> None:
        """The net before this line (0 = the end of the file) must have all its pins."""
        table = self.table
        if not table.name:
            return
        if missing := self.open_end - len(table.node):
            degree = self.open_end - table.start[-1]
            where = f"at line {number}" if number else "at the end of the file"
            self.lines.fail(
                self.open_line, f"net '{table.name[-1]}' announces {degree:,} pins, but {where} {missing:,} are missing"
            )
        table.start.append(len(table.node))

    def _pin(self, number: int, text: str, line: str) -> None:
        words = text.split()
        if len(words) > 1 and words[-1] != ":" and text.count(":") == 1:
            words = text.replace(":", " : ").split()
        if words[-1] == ":":
            words.pop()
        if len(words) not in (2, 5) or (len(words) == 5 and words[2] != ":"):
            self.lines.fail(number, "expected 'NetDegree : n [name]' or 'node I|O|B [: dx dy]'", line)
        name = words[0]
        if not self.table.name:
            self.lines.fail(number, f"pin on node '{name}' before the first NetDegree", line)
        if len(self.table.node) == self.open_end:
            degree = self.open_end - self.table.start[-1]
            net = self.table.name[-1]
            self.lines.fail(number, f"net '{net}' (line {self.open_line}) has more pins than its {degree:,}", line)
        node = self.nodes.index.get(name)
        if node is None:
            self.lines.fail(number, f"net '{self.table.name[-1]}': node '{name}' is not in the .nodes file", line)
        if words[1].upper() not in DIRECTIONS:
            self.lines.fail(number, f"pin on '{name}': direction '{words[1]}' is not one of I O B", line)
        dx = dy = 0.0
        if len(words) == 5:
            dx = self.lines.number(number, words[3], f"pin on '{name}': dx", line)
            dy = self.lines.number(number, words[4], f"pin on '{name}': dy", line)
        self.table.node.append(node)
        self.table.dx.append(dx)
        self.table.dy.append(dy)
        self.table.direction.append(DIRECTIONS[words[1].upper()])
