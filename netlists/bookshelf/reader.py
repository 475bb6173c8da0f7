"""Bookshelf files in, `ParsedNetlist` out: kinds of nodes, canvas, positions, drivers. One Bookshelf unit is 1 µm.

The classes of nodes are told by `Kinds`; the rules and what the files do not say are told in `derived`. What the arrays
cannot hold of a terminal (its size, its keywords) is kept in `Netlist.extra_attributes` for the writer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from netlists.bookshelf.files import BookshelfFiles
from netlists.bookshelf.nets import NetTable, read_nets
from netlists.bookshelf.nodes import NodeTable, PlaceTable, Status, read_nodes, read_places, read_weights
from netlists.bookshelf.scl import core_box, read_rows
from netlists.errors import InputError
from netlists.files import DEFAULT_LIMITS, Limits
from netlists.model import (
    ORIENTATION_MATRIX,
    BoolArray,
    ByteArray,
    Canvas,
    Findings,
    FloatArray,
    IntArray,
    Netlist,
    NodeKind,
    Orientation,
    PinDirection,
    Row,
    Side,
    oriented_size_um,
)
from netlists.parsed import ParsedNetlist

MEDIAN_FACTOR = 1.5  # times the median height: what counts as high where no .scl tells the height of rows
MAX_HEIGHTS = 1000  # told apart in the findings
SPREAD = 0.01  # of the canvas: movable nodes closer together than this were never placed
# Circuit Training's published routing supplies belong to rows of this height (its ICCAD04 designs: 16 units = 0.16 µm).
DEFAULT_ROW_UM = 0.16
KEYWORD, SIZE, PLACE, ORIENTATION = (f"bookshelf_{key}" for key in ("terminal", "size", "place", "orientation"))


@dataclass(frozen=True, eq=False, kw_only=True)
class Kinds:
    """Class of every node and the rule that macros were told by."""

    kind: ByteArray  # (N,) NodeKind
    fixed: BoolArray  # (N,)
    blocking: BoolArray  # (N,) fixed nodes with area that are no macros: what lies on the canvas is a blockage
    rule: str
    macro_height: float  # of Findings


def read_bookshelf(
    files: BookshelfFiles, limits: Limits = DEFAULT_LIMITS, *, macro_height: float | None = None
) -> ParsedNetlist:
    """Reads the files of one design. `macro_height`: nodes higher than this are macros (default: than a row).

    Raises ParseError with file and line, or InputError.
    """
    nodes = read_nodes(files.nodes, limits)
    nets = read_nets(files.nets, nodes, limits)
    places = read_places(files.pl, nodes, limits) if files.pl else None
    rows = read_rows(files.scl, limits) if files.scl else ()
    warnings = []
    weight = np.ones(len(nets.name))
    if files.wts:
        weights, of_nodes = read_weights(files.wts, nodes, nets.index(), limits)
        weight[list(weights)] = list(weights.values())
        if of_nodes:
            warnings.append(f"{files.wts.name}: weighs {of_nodes:,} nodes, not nets; weights of nodes are not used")
    if files.unread:
        warnings.append(f"files of kinds not used here: {', '.join(path.name for path in files.unread)}")
    return _Assembler(nodes, nets, places, rows, weight, macro_height, warnings).parsed()


class _Assembler:
    def __init__(
        self,
        nodes: NodeTable,
        nets: NetTable,
        places: PlaceTable | None,
        rows: tuple[Row, ...],
        weight: FloatArray,
        macro_height: float | None,
        warnings: list[str],
    ) -> None:
        self.nodes, self.nets, self.weight, self.warnings = nodes, nets, weight, warnings
        self.width, self.height = np.array(nodes.width), np.array(nodes.height)
        self.terminal = np.array(nodes.terminal, dtype=np.int8)
        count = len(self.terminal)
        unplaced = PlaceTable(
            np.full(count, np.nan), np.full(count, np.nan), np.zeros(count, np.int8), np.zeros(count, np.int8)
        )
        self.places, self.has_places = places or unplaced, places is not None
        self.file_rows = rows
        self.macro_height = macro_height
        self.derived = {"unit": "Bookshelf files name no unit: one of theirs counts as 1 µm"}
        self.names = tuple(nodes.index)

    def parsed(self) -> ParsedNetlist:
        left, bottom, right, top = core_box(self.file_rows)
        turned = oriented_size_um(self.width, self.height, self.places.orientation)
        low = np.stack([self.places.x - left, self.places.y - bottom], axis=1)
        high = low + np.stack(turned, axis=1)
        size = (right - left, top - bottom)
        kinds = self._kinds(self._row_height(), low, high, size)
        blockages = self._blockages(kinds, low, high, size)
        port = kinds.kind == NodeKind.PORT
        x, y = low[:, 0] + turned[0] / 2, low[:, 1] + turned[1] / 2
        canvas: dict[str, float] = {}
        if self.file_rows:
            canvas = {"width_um": size[0], "height_um": size[1], **self._supplies()}
            self.derived["canvas"] = f"{size[0]:g} x {size[1]:g} µm from ({left:g}, {bottom:g}): box of the core rows"
        self.derived["macros"] = kinds.rule
        fixed = f"{np.count_nonzero(kinds.fixed):,} nodes: terminals, and what the .pl calls /FIXED"
        self.derived["fixed"] = fixed + ("" if self.has_places else " (no .pl given)")
        return ParsedNetlist(
            netlist=self._netlist(kinds, port),
            x_um=x,
            y_um=y,
            orientation=np.where(port, Orientation.N, self.places.orientation),
            fixed=kinds.fixed,
            canvas=canvas,
            origin_um=(left, bottom),
            rows=self._rows(left, bottom),
            blockages_um=blockages,
            has_start=self._has_start(kinds, x, y, size),
            hard_macro_rule=kinds.rule,
            derived=self.derived,
            warnings=tuple(self.warnings),
            findings=Findings(macro_height=kinds.macro_height, node_heights=self._heights(kinds)),
        )

    def _heights(self, kinds: Kinds) -> tuple[tuple[float, int], ...]:
        """How many of the nodes whose height tells what they are have each height; the MAX_HEIGHTS highest."""
        asked = (self.terminal == Status.FREE) & (kinds.kind != NodeKind.PORT)
        heights, counts = np.unique(self.height[asked], return_counts=True)
        return tuple(zip(heights[::-1].tolist(), counts[::-1].tolist(), strict=True))[:MAX_HEIGHTS]

    def _row_height(self) -> float | None:
        """The commonest height of a row."""
        if not self.file_rows:
            return None
        heights, counts = np.unique([row.height_um for row in self.file_rows], return_counts=True)
        return float(heights[np.argmax(counts)])

    def _kinds(self, row_height: float | None, low: FloatArray, high: FloatArray, size: tuple[float, float]) -> Kinds:
        movable = self.terminal == Status.FREE
        if row_height is not None:
            usual, words = row_height, f"a row ({row_height:g} µm)"
        else:
            median = float(np.median(self.height[movable])) if movable.any() else 0.0
            usual = MEDIAN_FACTOR * median
            words = f"{usual:g} µm: {MEDIAN_FACTOR:g} times the median height, as no .scl tells that of rows"
        limit, of_terminals = usual, "that"
        if self.macro_height is not None:
            limit, words, of_terminals = self.macro_height, f"{self.macro_height:g} µm, as asked", words
        no_area = (self.terminal == Status.FIXED_NI) | (self.places.status == Status.FIXED_NI)
        macro = movable & (self.height > limit) & ~no_area
        fixed = ~movable | (self.places.status != Status.FREE)
        large = (self.terminal == Status.FIXED) & ~no_area & ((self.height > usual) | (self.width > usual))
        inside = (
            (low >= 0).all(axis=1) & (high <= np.array(size)).all(axis=1) if self.file_rows else np.ones_like(large)
        )
        obstacle = large & inside
        kind = np.full(len(movable), NodeKind.CELL, dtype=np.int8)
        kind[(self.terminal != Status.FREE) | no_area] = NodeKind.PORT
        kind[macro | obstacle] = NodeKind.HARD_MACRO
        rule = (
            f"nodes that are no terminals and higher than {words} are macros: {np.count_nonzero(macro):,};"
            f" terminals larger than {of_terminals} are fixed macros: {np.count_nonzero(obstacle):,};"
            f" other terminals, and all without area (NI), are ports: {np.count_nonzero(kind == NodeKind.PORT):,}"
        )
        return Kinds(kind=kind, fixed=fixed, blocking=large & ~inside, rule=rule, macro_height=limit)

    def _blockages(
        self, kinds: Kinds, low: FloatArray, high: FloatArray, size: tuple[float, float]
    ) -> tuple[tuple[float, float, float, float], ...]:
        """Parts on the canvas of terminals that reach beyond it."""
        box = np.concatenate([np.maximum(low, 0), np.minimum(high, size)], axis=1)[kinds.blocking]
        box = box[(box[:, 2] > box[:, 0]) & (box[:, 3] > box[:, 1])]
        if len(box):
            self.derived["blockages"] = f"{len(box):,} terminals that reach beyond the core: their parts on it"
        return tuple(map(tuple, box.tolist()))

    def _supplies(self) -> dict[str, float]:
        row = self._row_height() or DEFAULT_ROW_UM
        scale = DEFAULT_ROW_UM / row
        self.derived["routing supplies"] = (
            f"Circuit Training's published defaults, for rows of {DEFAULT_ROW_UM:g} µm, scaled to those of {row:g} µm"
        )
        names = ("hor_routes_per_um", "ver_routes_per_um", "hor_macro_routes_per_um", "ver_macro_routes_per_um")
        return {name: getattr(Canvas, name) * scale for name in names}

    def _rows(self, left: float, bottom: float) -> tuple[Row, ...]:
        return tuple(replace(row, x_um=row.x_um - left, y_um=row.y_um - bottom) for row in self.file_rows)

    def _has_start(self, kinds: Kinds, x: FloatArray, y: FloatArray, size: tuple[float, float]) -> bool:
        movable = ~kinds.fixed
        if not self.has_places:
            if (kinds.blocking | (kinds.fixed & (kinds.kind != NodeKind.PORT))).any():
                raise InputError("the design has fixed macros, but no .pl file that places them")
            return False
        if np.count_nonzero(movable) < 2 or not size[0]:
            return True
        for along_x, along_y in ((self.places.x, self.places.y), (x, y)):  # one corner, or one centre
            spread = (np.ptp(along_x[movable]) / size[0], np.ptp(along_y[movable]) / size[1])
            if max(spread) < SPREAD:
                break
        else:
            return True
        self.derived["start"] = "none: the .pl has all movable nodes at one spot; they are left there"
        return False

    def _netlist(self, kinds: Kinds, port: BoolArray) -> Netlist:
        nets, kind = self.nets, kinds.kind
        node = np.array(nets.node, dtype=np.int32)
        start = np.array(nets.start, dtype=np.int32)
        dx, dy = np.array(nets.dx), np.array(nets.dy)
        turned = port & (self.places.orientation != Orientation.N)
        if turned.any():  # the model has no orientation for ports: their pins are turned once and for all
            matrix = ORIENTATION_MATRIX[np.where(turned, self.places.orientation, Orientation.N)[node]]
            dx, dy = (np.einsum("pj,jp->p", matrix[:, axis], np.stack([dx, dy])) for axis in (0, 1))
        return Netlist(
            node_name=self.names,
            node_kind=kind,
            node_index=np.arange(len(kind)),
            width_um=np.where(port, 0.0, self.width),
            height_um=np.where(port, 0.0, self.height),
            port_side=np.full(len(kind), Side.NONE),
            pin_name=self._pin_names(node, kind),
            pin_node=node,
            pin_dx_um=dx,
            pin_dy_um=dy,
            net_start=start,
            net_pin=self._drivers_first(start),
            net_weight=self.weight,
            net_name=tuple(nets.name),
            pin_direction=np.array(nets.direction, dtype=np.int8),
            drivers_without_sinks=int(np.count_nonzero(np.diff(start) == 1)),
            extra_attributes=self._extra(port),
        )

    def _pin_names(self, node: IntArray, kind: ByteArray) -> tuple[str, ...]:
        """Of a macro's pins: macro/P0, macro/P1, … in file order; else the node's name."""
        names = [self.names[index] for index in node.tolist()]
        seen: dict[str, int] = {}
        for pin in np.flatnonzero(kind[node] == NodeKind.HARD_MACRO).tolist():
            name = names[pin]
            number = seen[name] = seen.get(name, -1) + 1
            names[pin] = f"{name}/P{number}"
        return tuple(names)

    def _drivers_first(self, start: IntArray) -> IntArray:
        """(K,) pins of the nets: the first output first, without one the first pin; the others in file order."""
        count = len(self.nets.node)
        net_of = np.repeat(np.arange(len(start) - 1), np.diff(start))
        outputs = np.flatnonzero(np.array(self.nets.direction, dtype=np.int8) == PinDirection.OUTPUT)
        driven, first, drivers = np.unique(net_of[outputs], return_index=True, return_counts=True)
        without = int(np.count_nonzero(np.diff(start))) - len(driven)
        if without:
            self.derived["drivers"] = f"{without:,} nets have no pin of direction O: their first pin is the driver"
        if several := int(np.count_nonzero(drivers > 1)):
            self.warnings.append(f"{several:,} nets have several pins of direction O: the first one is the driver")
        follows = np.ones(count, dtype=np.bool_)
        follows[outputs[first]] = False
        return np.lexsort((follows, net_of)).astype(np.int32)

    def _extra(self, port: BoolArray) -> dict[int, tuple[tuple[str, str, str], ...]]:
        """What the arrays cannot say of terminals and of nodes placed /FIXED_NI; equal sets stored once."""
        extra: dict[int, tuple[tuple[str, str, str], ...]] = {}
        interned: dict[tuple[tuple[str, str, str], ...], tuple[tuple[str, str, str], ...]] = {}
        words = ("", "terminal", "terminal_NI"), ("", "/FIXED", "/FIXED_NI")
        for node in np.flatnonzero(port | (self.terminal != Status.FREE)).tolist():
            kept = [
                (KEYWORD, "placeholder", words[0][self.terminal[node]]),
                (PLACE, "placeholder", words[1][self.places.status[node]]),
            ]
            if port[node]:
                kept.append((SIZE, "placeholder", f"{self.width[node]!r} {self.height[node]!r}"))
                kept.append((ORIENTATION, "placeholder", Orientation(self.places.orientation[node]).name))
            key = tuple(kept)
            extra[node] = interned.setdefault(key, key)
        return extra
