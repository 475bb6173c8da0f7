"""`.plc` in: what its header says (canvas, grid, routing supplies, blockages) and where it puts every node.

Rules: docs/formats.md ".plc". The rows belong to a netlist by node number and kind; whatever does not fit is an error
that names the first differing number, never a shifted placement. Called by `netlists.load`; the way back: `writer.py`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import numpy as np

from netlists.circuit_training.assemble import MAX_UM
from netlists.errors import MismatchError, ParseError
from netlists.files import DEFAULT_LIMITS, Limits, text_blocks, text_lines
from netlists.model import Netlist, NodeKind, Orientation, Placement

_WORD = r"(\S+)"  # where a number belongs
# First words of a header line, all of it, how it is written, names of its values. A line that begins so must go on so.
_HEADER_LINES = [
    (re.compile(words + r"\s*:", re.I), re.compile(words + rest, re.I), form, names)
    for words, rest, form, names in (
        ("Columns", rf"\s*:\s*{_WORD}\s+Rows\s*:\s*{_WORD}", "Columns : N  Rows : N", ("columns", "rows")),
        ("Width", rf"\s*:\s*{_WORD}\s+Height\s*:\s*{_WORD}", "Width : N  Height : N", ("width_um", "height_um")),
        (
            r"Routes per micron\s*,?\s*hor",
            rf"\s*:\s*{_WORD}\s+ver\s*:\s*{_WORD}",
            "Routes per micron, hor : N  ver : N",
            ("hor_routes_per_um", "ver_routes_per_um"),
        ),
        (
            r"Routes used by macros\s*,?\s*hor",
            rf"\s*:\s*{_WORD}\s+ver\s*:\s*{_WORD}",
            "Routes used by macros, hor : N  ver : N",
            ("hor_macro_routes_per_um", "ver_macro_routes_per_um"),
        ),
        ("Smoothing factor", rf"\s*:\s*{_WORD}", "Smoothing factor : N", ("smoothing",)),
        ("Overlap threshold", rf"\s*:\s*{_WORD}", "Overlap threshold : N", ("overlap_threshold",)),
    )
]
_WHOLE = {"columns", "rows", "smoothing"}
_MAY_BE_ZERO = {"smoothing", "overlap_threshold", "hor_macro_routes_per_um", "ver_macro_routes_per_um"}
_COUNT = re.compile(
    r"(HARD_MACROs|HARD_MACRO_PINs|MACROs|MACRO_PINs|PORTs|SOFT_MACROs|SOFT_MACRO_PINs|STDCELLs)\s*:\s*(.*)"
)
_COUNT_DIGITS = 18
_COMMENTS = re.compile(r"(?:\s|#[^\n]*\n)*+")
_ROW = re.compile(r"\d+[ \t]+\S+[ \t]+\S+[ \t]+(?:-|[NSEWF]{1,2})[ \t]+[01][ \t]*(?:\n|$)")
_NODE = re.compile(_COMMENTS.pattern + r"node\s*:?\s*[{<]")
_ROW_CHARS = 2000  # more than any row has: float64 without exponent may take 340 characters
_BLOCKAGE = re.compile(r"Blockages?\s*:\s*(\S.*)", re.I)
_MAP_ROW = re.compile(r"(\d+)\|((?:[^|]\|)+)$")
# First two are the rulers above a map; both kinds are pictures of an old placement.
MAP_LINE = re.compile(r"^#\s*(?:(?:\d+\s*)?\|.*\||-{3,}|.*(?:Placements|Placement Density|Routing Congestion):\s*)$")
_ORIENTATIONS = {orientation.name: int(orientation) for orientation in Orientation}
MAX_COLUMNS_ROWS = 1_000_000  # cells; far above any grid in use, low enough to allocate


@dataclass(eq=False, kw_only=True)
class PlcFile:
    """What one `.plc` says. `values` holds only what the header gave; names are those of `model.Canvas`."""

    values: dict[str, float] = field(default_factory=dict)
    blockages_um: list[tuple[float, float, float, float]] = field(default_factory=list)
    header: list[str] = field(default_factory=list)  # comment lines, in order
    warnings: list[str] = field(default_factory=list)
    placement: Placement


def looks_like_plc(path: Path, limits: Limits = DEFAULT_LIMITS) -> bool:
    """Whether a file's content is a `.plc`: its first line that is no comment is a row of five fields."""
    rest = ""
    for block in text_blocks(path, limits):
        rest += block
        rest = rest[_COMMENTS.match(rest).end() :]  # type: ignore[union-attr]  # matches nothing too
        if rest.startswith("#"):
            rest = "#"  # a comment that goes on in the next block
        elif "\n" in rest or len(rest) > _ROW_CHARS:
            break
    return bool(_ROW.match(rest[:_ROW_CHARS]))


def looks_like_netlist(path: Path, limits: Limits = DEFAULT_LIMITS) -> bool:
    """Whether a file's content is a netlist: what follows the comments of its first block opens a node."""
    return bool(_NODE.match(next(text_blocks(path, limits), "")))


def read_plc(path: Path, netlist: Netlist, limits: Limits = DEFAULT_LIMITS) -> PlcFile:
    """Reads the `.plc` of a netlist. Raises ParseError, or MismatchError where it is another netlist's."""
    return _PlcReader(path, netlist).read(text_lines(path, limits))


class _PlcReader:
    def __init__(self, path: Path, netlist: Netlist) -> None:
        self.path, self.netlist = path, netlist
        n = netlist.node_count
        self.node_of = {int(index): node for node, index in enumerate(netlist.node_index)}
        self.x, self.y = np.full(n, np.nan), np.full(n, np.nan)
        self.orientation = np.zeros(n, dtype=np.int8)
        self.fixed = np.zeros(n, dtype=np.bool_)
        self.row_line = np.zeros(n, dtype=np.int64)
        self.values: dict[str, float] = {}
        self.value_line: dict[str, int] = {}
        self.counts: dict[str, tuple[int, int]] = {}
        self.map_rows: list[tuple[int, int, int]] = []  # line, row, columns
        self.file = PlcFile(
            placement=Placement(x_um=self.x, y_um=self.y, orientation=self.orientation, fixed=self.fixed)
        )

    def read(self, lines: Iterator[tuple[int, str]]) -> PlcFile:
        rows = 0
        for number, line in lines:
            text = line.strip()
            if text.startswith("#"):
                self.file.header.append(text)
                self._header(number, text[1:].strip())
            elif text:
                self._row(number, text)
                rows += 1
        if not rows and not self.file.header:
            raise ParseError(self.path, 0, "is empty; expected a .plc placement file")
        self._check_complete()
        self._check_counts()
        self._check_grid()
        file = self.file
        file.values = self.values
        file.placement = Placement(x_um=self.x, y_um=self.y, orientation=self.orientation, fixed=self.fixed)
        return file

    def _header(self, line: int, text: str) -> None:
        if found := _BLOCKAGE.match(text):
            self._blockage(line, found.group(1))
            return
        if found := _COUNT.match(text):
            self._count(line, *found.groups())
            return
        if found := _MAP_ROW.match(text):
            self.map_rows.append((line, int(found.group(1)), len(found.group(2)) // 2))
            return
        for begins, pattern, form, names in _HEADER_LINES:
            if begins.match(text):
                found = pattern.fullmatch(text)
                if found is None:
                    raise ParseError(self.path, line, f"header: expected '{form}', N a number", text)
                for name, value in zip(names, found.groups(), strict=True):
                    self._value(line, name, value)
                return

    def _count(self, line: int, key: str, text: str) -> None:
        if not (text.isdecimal() and text.isascii() and len(text) <= _COUNT_DIGITS):
            raise ParseError(self.path, line, f"header: {key} is '{text[:40]}', must be a whole number 0 or more")
        self.counts[key] = (int(text), line)

    def _value(self, line: int, name: str, text: str) -> None:
        what = name.removesuffix("_um") if name in ("width_um", "height_um") else name.replace("_", " ")
        kind = "a whole number" if name in _WHOLE else "a number"
        allowed = f"{kind} {'0 or more' if name in _MAY_BE_ZERO else 'above 0'}"
        value = self._number(line, text, what, allowed=f"; must be {allowed}")
        if value < 0 or (value == 0 and name not in _MAY_BE_ZERO) or (name in _WHOLE and value != int(value)):
            raise ParseError(self.path, line, f"header: {what} is {text}, must be {allowed}")
        if self.values.get(name, value) != value:
            first = f"{self.values[name]:g} at line {self.value_line[name]}"
            raise ParseError(self.path, line, f"header: {what} is {value:g}, but {first}")
        self.values[name] = int(value) if name in _WHOLE else value
        self.value_line[name] = line

    def _blockage(self, line: int, text: str) -> None:
        parts = text.split()
        if len(parts) not in (4, 5):
            raise ParseError(self.path, line, "blockage: expected minx miny maxx maxy and at most a rate", text)
        llx, lly, urx, ury = (self._number(line, part, "blockage") for part in parts[:4])
        if urx < llx or ury < lly:
            self.file.warnings.append(
                f"{self.path.name}:{line}: blockage with swapped corners ({' '.join(parts[:4])}); put right"
            )
        llx, urx, lly, ury = min(llx, urx), max(llx, urx), min(lly, ury), max(lly, ury)
        if llx == urx or lly == ury:
            self.file.warnings.append(f"{self.path.name}:{line}: blockage without area ({text}); left out")
            return
        rate = self._number(line, parts[4], "blockage rate") if len(parts) == 5 else 1.0
        if rate <= 0:
            self.file.warnings.append(f"{self.path.name}:{line}: blockage of rate {rate:g} blocks nothing; left out")
            return
        if rate < 1:
            self.file.warnings.append(f"{self.path.name}:{line}: blockage of rate {rate:g} is kept free altogether")
        self.file.blockages_um.append((llx, lly, urx, ury))

    def _number(self, line: int, text: str, what: str, *, allowed: str = "") -> float:
        try:
            value = float(text) if "_" not in text else math.nan
        except ValueError:
            raise ParseError(self.path, line, f"{what}: '{text[:40]}' is not a number{allowed}") from None
        if not abs(value) <= MAX_UM:
            raise ParseError(self.path, line, f"{what}: '{text[:40]}' is not a number of at most {MAX_UM:g}{allowed}")
        return value

    def _row(self, line: int, text: str) -> None:
        parts = text.split()
        if len(parts) != 5 or not parts[0].isdecimal():
            raise ParseError(self.path, line, "expected 'node_index x y orientation fixed'", text)
        index = int(parts[0])
        node = self.node_of.get(index)
        if node is None:
            total = self._total_nodes()
            why = (
                "is a macro pin, which has no place of its own, in the netlist"
                if index < total
                else (f"does not exist: the netlist's nodes are 0 to {total - 1}")
            )
            self._mismatch(line, index, why, text)
        name, kind = self.netlist.node_name[node], NodeKind(self.netlist.node_kind[node])
        if self.row_line[node]:
            raise ParseError(
                self.path,
                line,
                f"node {index} ('{name}') is placed a second time; first at line {self.row_line[node]}",
                text,
            )
        self.row_line[node] = line
        self.x[node] = self._number(line, parts[1], f"x of node {index} ('{name}')")
        self.y[node] = self._number(line, parts[2], f"y of node {index} ('{name}')")
        if parts[3] == "-":
            if kind is NodeKind.HARD_MACRO:
                self._mismatch(
                    line, index, f"has no orientation (as a port), but is the macro '{name}' in the netlist", text
                )
        elif parts[3].upper() not in _ORIENTATIONS:
            allowed = " ".join(_ORIENTATIONS)
            raise ParseError(
                self.path, line, f"node {index} ('{name}'): orientation '{parts[3]}' is not one of {allowed} or -", text
            )
        elif kind is NodeKind.PORT:
            self._mismatch(
                line, index, f"has orientation {parts[3]} (as a macro), but is the port '{name}' in the netlist", text
            )
        else:
            self.orientation[node] = _ORIENTATIONS[parts[3].upper()]
        if parts[4] not in ("0", "1"):
            raise ParseError(self.path, line, f"node {index} ('{name}'): fixed is '{parts[4]}', must be 0 or 1", text)
        self.fixed[node] = parts[4] == "1"

    def _total_nodes(self) -> int:
        kind_of_pin = self.netlist.node_kind[self.netlist.pin_node]
        macro_pins = np.isin(kind_of_pin, (NodeKind.HARD_MACRO, NodeKind.SOFT_MACRO))
        return self.netlist.node_count + int(np.count_nonzero(macro_pins))

    def _mismatch(self, line: int, index: int, why: str, text: str) -> NoReturn:
        raise MismatchError(
            f"{self.path.name}:{line}: node {index} {why}; this .plc belongs to another netlist\n    {text[:200]}"
        )

    def _check_complete(self) -> None:
        missing = np.flatnonzero((self.row_line == 0) & (self.netlist.node_kind != NodeKind.CELL))
        if len(missing):
            node = int(missing[0])
            kind = NodeKind(self.netlist.node_kind[node]).name.lower().replace("_", " ")
            raise MismatchError(
                f"{self.path.name}: node {self.netlist.node_index[node]} ({kind} '{self.netlist.node_name[node]}')"
                f" of the netlist has no row ({len(missing):,} without);"
                " the file may be truncated, or this .plc belongs to another netlist"
            )

    def _check_counts(self) -> None:
        for key, expected in header_counts(self.netlist).items():
            found, line = self.counts.get(key, (expected, 0))
            if found != expected:
                raise MismatchError(
                    f"{self.path.name}:{line}: header counts {found:,} {key}, the netlist has {expected:,};"
                    " this .plc belongs to another netlist"
                )

    def _check_grid(self) -> None:
        columns, rows = int(self.values.get("columns", 1)), int(self.values.get("rows", 1))
        line = self.value_line.get("columns", 0)
        if columns * rows > MAX_COLUMNS_ROWS:
            raise ParseError(
                self.path, line, f"header: a grid of {columns:,} x {rows:,} cells; at most {MAX_COLUMNS_ROWS:,} cells"
            )
        for map_line, row, count in self.map_rows:
            if "columns" in self.values and (count != columns or row >= rows):
                raise ParseError(
                    self.path,
                    map_line,
                    f"map with row {row} of {count} columns, but the header (line {line}) has"
                    f" {columns} columns and {rows} rows",
                )


def header_counts(netlist: Netlist) -> dict[str, int]:
    """The counts by class under the names that `.plc` headers use."""
    kind = netlist.node_kind
    pin_kind = kind[netlist.pin_node]
    hard, soft = (int(np.count_nonzero(kind == k)) for k in (NodeKind.HARD_MACRO, NodeKind.SOFT_MACRO))
    hard_pins, soft_pins = (int(np.count_nonzero(pin_kind == k)) for k in (NodeKind.HARD_MACRO, NodeKind.SOFT_MACRO))
    return {
        "HARD_MACROs": hard,
        "HARD_MACRO_PINs": hard_pins,
        "MACROs": hard + soft,
        "MACRO_PINs": hard_pins + soft_pins,
        "PORTs": int(np.count_nonzero(kind == NodeKind.PORT)),
        "SOFT_MACROs": soft,
        "SOFT_MACRO_PINs": soft_pins,
        "STDCELLs": int(np.count_nonzero(kind == NodeKind.CELL)),
    }
