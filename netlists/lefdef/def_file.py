"""What a DEF says, as data. Lengths are database units (dbu) of the file, `units_per_um` of them a µm.

Letters: C components, I pins of the design ("PINS"), E nets, K connections. Made by `def_reader.py`, taken by `flat.py`
and `snap.py`. What the product does not use (wiring, vias, rules, fills) is not here: the writer copies it from the
file.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from netlists.model import ByteArray, IntArray

LongArray = NDArray[np.int64]
Rect = tuple[int, int, int, int]  # llx lly urx ury
ON_PIN = -2  # component number of a connection to a pin of the design


class Status(IntEnum):
    """What may be done with a component or pin."""

    UNPLACED = 0
    PLACED = 1
    FIXED = 2
    COVER = 3


@dataclass(frozen=True)
class Row:
    name: str
    site: str
    x: int
    y: int
    orientation: int
    columns: int
    rows: int
    step_x: int
    step_y: int


@dataclass(frozen=True)
class Tracks:
    """Lines at start, start + step, …: x values for axis X, y values for axis Y."""

    axis: str
    start: int
    count: int
    step: int
    layers: tuple[str, ...]


@dataclass(frozen=True)
class DefPin:
    """A pin of the design. x, y: its point (the first placed port's), moved by the centre of that port's shapes."""

    name: str
    net: str
    direction: str
    use: str
    status: Status
    x: float
    y: float
    layer: str  # of its first shape
    special: bool
    line: int


@dataclass(frozen=True)
class Blockage:
    kind: str  # PLACEMENT or the layer's name
    soft: bool
    partial: float | None  # greatest density, per cent
    component: str
    rects: tuple[Rect, ...]
    polygons: tuple[tuple[tuple[int, int], ...], ...]
    line: int

    @property
    def is_placement(self) -> bool:
        return self.kind == "PLACEMENT"


@dataclass(frozen=True)
class Region:
    name: str
    kind: str  # FENCE, GUIDE, ''
    rects: tuple[Rect, ...]


@dataclass(frozen=True)
class Group:
    name: str
    members: tuple[str, ...]  # components, * stands for any characters
    region: str


@dataclass(frozen=True)
class Halo:
    left: int
    bottom: int
    right: int
    top: int
    soft: bool


@dataclass(eq=False, kw_only=True)
class Components:
    name: tuple[str, ...]  # C, as the file spells them
    master: IntArray  # (C,) into masters
    masters: tuple[str, ...]
    x: LongArray  # (C,) lower left corner of the oriented box; 0 where UNPLACED
    y: LongArray  # (C,)
    orientation: ByteArray  # (C,)
    status: ByteArray  # (C,) Status
    offset: LongArray  # (C,) byte of the file (unpacked) where its statement starts
    halo: dict[int, Halo] = field(default_factory=dict)  # component number -> halo
    region: dict[int, str] = field(default_factory=dict)


@dataclass(eq=False, kw_only=True)
class Nets:
    """Net e has the connections start[e]:start[e+1], in file order."""

    name: tuple[str, ...]  # E
    start: LongArray  # (E+1,)
    component: IntArray  # (K,) into components; ON_PIN = a pin of the design
    pin: IntArray  # (K,) into pin_names
    pin_names: tuple[str, ...]
    use: tuple[str, ...]  # the uses that occur
    net_use: ByteArray  # (E,) into use
    weight: dict[int, float] = field(default_factory=dict)


@dataclass(eq=False, kw_only=True)
class DefFile:
    path: Path
    version: str = ""
    design: str = ""
    divider: str = "/"
    bus_bits: str = "[]"
    units_per_um: int = 0
    die: tuple[tuple[int, int], ...] = ()  # two corners, or the corners of a polygon
    rows: list[Row] = field(default_factory=list)
    tracks: list[Tracks] = field(default_factory=list)
    components: Components
    pins: dict[str, DefPin] = field(default_factory=dict)
    nets: Nets | None = None  # None: the file has no section NETS
    blockages: list[Blockage] = field(default_factory=list)
    regions: dict[str, Region] = field(default_factory=dict)
    groups: list[Group] = field(default_factory=list)
    counted: dict[str, int] = field(default_factory=dict)  # items of the sections that are only kept for the export
    warnings: tuple[str, ...] = ()
