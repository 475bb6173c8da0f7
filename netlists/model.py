"""The design in memory: struct-of-arrays netlist, canvas, placement. Every other room takes these in or hands them out.

Letters: N nodes that have a place (hard macros, soft macros, ports, standard cells), P pins, E nets, K net-pin
connections, B blockages. Lengths are float64 µm. Positions are centres. Arrays are read-only after construction.

Knows nothing of files (readers are beside this module), of costs or of legality (`placement/`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from netlists.constraints import Constraints

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int32]
ByteArray = NDArray[np.int8]
BoolArray = NDArray[np.bool_]


class NodeKind(IntEnum):
    """Classes of node. The order is part of the model: kernels take the number."""

    HARD_MACRO = 0
    SOFT_MACRO = 1
    PORT = 2
    CELL = 3


class Orientation(IntEnum):
    """DEF orientations, by their DEF names. N..FS keep width and height, E..FW swap them."""

    N = 0
    FN = 1
    S = 2
    FS = 3
    E = 4
    FE = 5
    W = 6
    FW = 7


class Side(IntEnum):
    """Edge of the canvas that a port belongs to; NONE for nodes that are no ports."""

    NONE = -1
    LEFT = 0
    RIGHT = 1
    BOTTOM = 2
    TOP = 3


class PinDirection(IntEnum):
    """Which way a pin drives, where the files say; it never changes a wirelength."""

    UNKNOWN = 0
    INPUT = 1
    OUTPUT = 2
    INOUT = 3


# (8, 2, 2): (dx, dy) of a pin from its macro's centre in orientation N, times this, is (dx, dy) in orientation o.
# Source: the eight-row table "Orientation" of the DEF reference (R0, MY, R180, MX, R270, MYR90, R90, MXR90).
ORIENTATION_MATRIX = np.array(
    [
        [[1, 0], [0, 1]],  # N   R0
        [[-1, 0], [0, 1]],  # FN  MY
        [[-1, 0], [0, -1]],  # S   R180
        [[1, 0], [0, -1]],  # FS  MX
        [[0, 1], [-1, 0]],  # E   R270
        [[0, -1], [-1, 0]],  # FE  MYR90
        [[0, -1], [1, 0]],  # W   R90
        [[0, 1], [1, 0]],  # FW  MXR90
    ],
    dtype=np.int8,
)
ORIENTATION_MATRIX.setflags(write=False)


def _frozen(array: NDArray, dtype: type, shape: tuple[int, ...], what: str) -> NDArray:
    result: NDArray = np.ascontiguousarray(array, dtype=dtype)
    if result.shape != shape:
        raise ValueError(f"{what}: shape {result.shape}, expected {shape}")
    if result is array:
        result = result.copy()
    result.setflags(write=False)
    return result


@dataclass(frozen=True, eq=False, kw_only=True)
class Netlist:
    """Nodes, pins and nets. N nodes in file order, P pins, E nets; net e owns net_pin[net_start[e]:net_start[e+1]].

    The first pin of a net is its driver. Any node may have several pins with offsets; in Circuit Training netlists a
    port or a cell is its own single pin at offset 0, and only drivers with at least one sink make a net. In other
    formats a net may have a single pin: it costs nothing. `net_weight` is the driver's `weight`, else 1 (a port's net
    always 1). `pin_name` of a port or cell may be its own name for several pins; those of macros are unique.
    """

    node_name: tuple[str, ...]
    node_kind: ByteArray  # (N,) NodeKind
    node_index: IntArray  # (N,) number of the node in .plc files: counts every node of the file, pins too, from 0
    width_um: FloatArray  # (N,) in orientation N; ports 0
    height_um: FloatArray  # (N,)
    port_side: ByteArray  # (N,) Side
    pin_name: tuple[str, ...]  # P; for a port or cell its own name
    pin_node: IntArray  # (P,) into nodes
    pin_dx_um: FloatArray  # (P,) from the node's centre, in orientation N
    pin_dy_um: FloatArray  # (P,)
    net_start: IntArray  # (E+1,) never falling, from 0
    net_pin: IntArray  # (K,) into pins, driver first
    net_weight: FloatArray  # (E,)
    net_name: tuple[str, ...] = ()  # E, '' = the files give none; empty where the format has no names of nets
    pin_direction: ByteArray = field(default_factory=lambda: np.zeros(0, np.int8))  # (P,) PinDirection; (0,) unknown
    drivers_without_sinks: int = 0  # pins, ports and cells that drive nothing and that nothing drives
    # What the files said beyond the arrays: node_index (pins too; -1 = __metadata__) -> (key, value field, value)…
    extra_attributes: Mapping[int, tuple[tuple[str, str, str], ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        n, p, e = len(self.node_name), len(self.pin_name), len(self.net_start) - 1
        shapes: Mapping[str, tuple[type, tuple[int, ...]]] = {
            "node_kind": (np.int8, (n,)),
            "node_index": (np.int32, (n,)),
            "width_um": (np.float64, (n,)),
            "height_um": (np.float64, (n,)),
            "port_side": (np.int8, (n,)),
            "pin_node": (np.int32, (p,)),
            "pin_dx_um": (np.float64, (p,)),
            "pin_dy_um": (np.float64, (p,)),
            "net_start": (np.int32, (e + 1,)),
            "net_pin": (np.int32, (int(self.net_start[-1]),)),
            "net_weight": (np.float64, (e,)),
            "pin_direction": (np.int8, (p if len(self.pin_direction) else 0,)),
        }
        for name, (dtype, shape) in shapes.items():
            object.__setattr__(self, name, _frozen(getattr(self, name), dtype, shape, name))
        if p and (self.pin_node.min() < 0 or self.pin_node.max() >= n):
            raise ValueError(f"pin_node: values must lie in [0, {n})")
        if len(self.net_pin) and (self.net_pin.min() < 0 or self.net_pin.max() >= p):
            raise ValueError(f"net_pin: values must lie in [0, {p})")
        if self.net_name and len(self.net_name) != e:
            raise ValueError(f"net_name: {len(self.net_name)} names of {e} nets")
        if self.net_start[0] != 0 or np.any(np.diff(self.net_start) < 0):
            raise ValueError("net_start must start at 0 and never fall")

    @property
    def node_count(self) -> int:
        return len(self.node_name)

    @property
    def net_count(self) -> int:
        return len(self.net_weight)

    def nodes_of(self, *kinds: NodeKind) -> IntArray:
        """Indices of the nodes of these kinds, in file order. (M,) int32."""
        return np.flatnonzero(np.isin(self.node_kind, kinds)).astype(np.int32)

    def counts(self) -> dict[str, int]:
        """Counts by class, as every report shows them."""
        of = {kind: int(np.count_nonzero(self.node_kind == kind)) for kind in NodeKind}
        return {
            "hard_macros": of[NodeKind.HARD_MACRO],
            "soft_macros": of[NodeKind.SOFT_MACRO],
            "ports": of[NodeKind.PORT],
            "cells": of[NodeKind.CELL],
            "pins": len(self.pin_name),
            "nets": self.net_count,
            "drivers_without_sinks": self.drivers_without_sinks,
        }


@dataclass(frozen=True, kw_only=True)
class Canvas:
    """The area to place in, its grid and its routing supply. Defaults: Circuit Training's published values."""

    width_um: float
    height_um: float
    columns: int
    rows: int
    hor_routes_per_um: float = 70.33
    ver_routes_per_um: float = 74.51
    hor_macro_routes_per_um: float = 51.79  # "Routes used by macros"
    ver_macro_routes_per_um: float = 51.79
    smoothing: int = 2  # cells
    overlap_threshold: float = 0.004

    @property
    def cell_width_um(self) -> float:
        return self.width_um / self.columns

    @property
    def cell_height_um(self) -> float:
        return self.height_um / self.rows


@dataclass(frozen=True, kw_only=True)
class Database:
    """What takes places of the model back to the layout database that they came from, to the unit."""

    units_per_um: int  # database units (dbu) a µm
    origin_x: int = 0  # dbu: where the canvas's lower left corner is in the database
    origin_y: int = 0
    grid: int = 1  # dbu: the manufacturing grid; lower left corners of macros are multiples of it

    def to_dbu(self, x_um: float, y_um: float) -> tuple[float, float]:
        """A point of the canvas (µm) in database units, not rounded."""
        return x_um * self.units_per_um + self.origin_x, y_um * self.units_per_um + self.origin_y


@dataclass(frozen=True, kw_only=True)
class Row:
    """A run of sites for standard cells, in the canvas's coordinates (µm)."""

    x_um: float  # lower left corner
    y_um: float
    height_um: float
    site_width_um: float
    step_um: float  # from site to site
    sites: int
    orientation: Orientation = Orientation.N
    symmetry: str = ""  # of the site, in the words of the files
    site: str = ""  # name of the site, '' where the format has none

    @property
    def right_um(self) -> float:
        return self.x_um + (self.sites - 1) * self.step_um + self.site_width_um


@dataclass(frozen=True, eq=False, kw_only=True)
class Placement:
    """Where every node of a netlist is. Same order as the netlist's nodes."""

    x_um: FloatArray  # (N,) centre
    y_um: FloatArray  # (N,)
    orientation: ByteArray  # (N,) Orientation; ports N
    fixed: BoolArray  # (N,) True = may not be moved

    def __post_init__(self) -> None:
        n = len(self.x_um)
        for name, dtype in (("x_um", np.float64), ("y_um", np.float64), ("orientation", np.int8), ("fixed", np.bool_)):
            object.__setattr__(self, name, _frozen(getattr(self, name), dtype, (n,), name))

    def moved(
        self, *, x_um: FloatArray | None = None, y_um: FloatArray | None = None, orientation: ByteArray | None = None
    ) -> Placement:
        """The same placement with some of its arrays exchanged."""
        return replace(
            self,
            x_um=self.x_um if x_um is None else x_um,
            y_um=self.y_um if y_um is None else y_um,
            orientation=self.orientation if orientation is None else orientation,
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Findings:
    """What a preview shows of the files that no array of a design holds."""

    unplaced: BoolArray | None = None  # (N,) nodes of which no file says where they are; None = there are none
    die_um: tuple[tuple[float, float], ...] = ()  # corners of the die's outline; () where no file gives one
    macro_height: float | None = None  # what counts as higher is a macro, where heights tell macros
    node_heights: tuple[tuple[float, int], ...] = ()  # then: height -> movable nodes, the highest first


@dataclass(frozen=True, eq=False, kw_only=True)
class Design:
    """One problem: netlist, canvas, the start that came with it, and what the user must be told about it."""

    name: str
    netlist: Netlist
    canvas: Canvas
    start: Placement
    # (B, 4) llx lly urx ury; hard for macros
    blockages_um: FloatArray = field(default_factory=lambda: np.zeros((0, 4)))
    derived: Mapping[str, str] = field(default_factory=dict)  # value that no file gave -> the rule it was made by
    warnings: tuple[str, ...] = ()
    plc_header: tuple[str, ...] = ()  # comment lines of the .plc read, kept for the one written
    has_start: bool = True  # False: the start's positions are made up, not a hint
    database: Database | None = None  # of designs from LEF/DEF
    origin_um: tuple[float, float] = (0.0, 0.0)  # the canvas's lower left corner in the coordinates of the files
    rows: tuple[Row, ...] = ()  # of standard cells, where the files give any
    constraints: Constraints | None = None  # None: no rules beyond those every design has
    findings: Findings = field(default_factory=Findings)

    def __post_init__(self) -> None:
        b = len(self.blockages_um)
        object.__setattr__(self, "blockages_um", _frozen(self.blockages_um, np.float64, (b, 4), "blockages_um"))
        if len(self.start.x_um) != self.netlist.node_count:
            raise ValueError(f"start has {len(self.start.x_um)} nodes, netlist {self.netlist.node_count}")
        if self.constraints is not None and len(self.constraints.region) != self.netlist.node_count:
            raise ValueError(
                f"constraints are of {len(self.constraints.region)} nodes, netlist {self.netlist.node_count}"
            )

    def without_start(self) -> Design:
        """The same design without its hint: whatever may move is in the middle of the canvas, in its orientation."""
        moves = ~self.start.fixed & (self.netlist.node_kind != NodeKind.PORT)
        middle = self.canvas.width_um / 2, self.canvas.height_um / 2
        start = self.start.moved(
            x_um=np.where(moves, middle[0], self.start.x_um), y_um=np.where(moves, middle[1], self.start.y_um)
        )
        return replace(self, start=start, has_start=False)


def oriented_size_um(
    width_um: FloatArray, height_um: FloatArray, orientation: ByteArray
) -> tuple[FloatArray, FloatArray]:
    """Width and height after orientation: (N,), (N,) float64 µm. E, FE, W and FW swap the two."""
    turned = orientation >= Orientation.E
    return np.where(turned, height_um, width_um), np.where(turned, width_um, height_um)


def oriented_halo_um(halo_um: FloatArray, orientation: ByteArray) -> FloatArray:
    """Halos (…, 4) left bottom right top of macros in orientation N as they are in `orientation` (…,)."""
    matrix = ORIENTATION_MATRIX[orientation].astype(np.float64)
    low = np.einsum("...ij,...j->...i", matrix, -halo_um[..., :2])
    high = np.einsum("...ij,...j->...i", matrix, halo_um[..., 2:])
    # + 0.0 makes a -0.0 of the turn a plain 0
    return np.concatenate([-np.minimum(low, high), np.maximum(low, high)], axis=-1) + 0.0


def pin_positions_um(netlist: Netlist, placement: Placement) -> FloatArray:
    """Where every pin is: (P, 2) float64 µm, after orientation. Source: proxy cost rules, "Pins and nets"."""
    matrix = ORIENTATION_MATRIX[placement.orientation[netlist.pin_node]].astype(np.float64)
    offset = np.stack([netlist.pin_dx_um, netlist.pin_dy_um], axis=1)
    centre = np.stack([placement.x_um, placement.y_um], axis=1)[netlist.pin_node]
    return centre + np.einsum("pij,pj->pi", matrix, offset)
