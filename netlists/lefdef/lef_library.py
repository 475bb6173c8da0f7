"""What LEF files say, as data: technology (sites, layers, grid) and macros.

Lengths are µm, whatever DATABASE MICRONS says. Made by `lef.py`, taken by `flat.py`, `snap.py`. A macro's pins are
shifted by its ORIGIN: offsets count from the lower left corner of its SIZE box, orientation N.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

Box = tuple[float, float, float, float]  # llx lly urx ury
HARD_MACRO_CLASSES = ("BLOCK", "RING")  # with their subclasses (BLACKBOX, SOFT); all other classes are cells
POWER_USES = ("POWER", "GROUND")


@dataclass(frozen=True, kw_only=True)
class Site:
    name: str
    width_um: float
    height_um: float
    site_class: str  # CORE, PAD; '' where not given


@dataclass(frozen=True, kw_only=True)
class Layer:
    name: str
    kind: str  # ROUTING, CUT, MASTERSLICE, OVERLAP…; '' where not given
    direction: str = ""  # HORIZONTAL, VERTICAL, DIAG45…
    pitch_um: tuple[float, float] = (0.0, 0.0)  # along x, along y; 0 = none
    width_um: float = 0.0
    offset_um: tuple[float, float] | None = None


@dataclass(frozen=True)
class LefPin:
    name: str
    direction: str  # INPUT, OUTPUT, INOUT, FEEDTHRU; '' where not given
    use: str  # SIGNAL, POWER, GROUND, CLOCK, ANALOG
    box: Box | None  # around all its shapes, from the lower left corner; None = no shape
    shapes: tuple[tuple[str, Box], ...] = ()  # (layer, box); kept for hard macros alone

    @property
    def point(self) -> tuple[float, float] | None:
        """The pin's place: the centre of the box around all its shapes."""
        return None if self.box is None else ((self.box[0] + self.box[2]) / 2, (self.box[1] + self.box[3]) / 2)


@dataclass(frozen=True, kw_only=True)
class Macro:
    name: str
    macro_class: str  # BLOCK, CORE, PAD, COVER, RING, ENDCAP…; '' where not given
    subclass: str
    width_um: float
    height_um: float
    symmetry: frozenset[str]  # of X, Y, R90
    origin_um: tuple[float, float] = (0.0, 0.0)
    foreign: tuple[str, float, float] | None = None
    site: str = ""
    pins: dict[str, LefPin] = field(default_factory=dict)
    obstructions: tuple[tuple[str, Box], ...] = ()  # (layer, box) from the lower left corner; hard macros alone
    file: str = ""
    line: int = 0

    @property
    def is_hard_macro(self) -> bool:
        return self.macro_class in HARD_MACRO_CLASSES

    def same_as(self, other: Macro) -> bool:
        """Whether the two definitions agree in all but where they stand."""
        mine, others = dict(vars(self)), dict(vars(other))
        for key in ("file", "line"):
            mine.pop(key), others.pop(key)
        return mine == others


@dataclass(kw_only=True)
class LefLibrary:
    """Everything read from one or several LEF files."""

    units_per_um: int = 0  # DATABASE MICRONS; 0 where not given
    manufacturing_grid_um: float = 0.0  # 0 = none given
    sites: dict[str, Site] = field(default_factory=dict)
    layers: dict[str, Layer] = field(default_factory=dict)
    macros: dict[str, Macro] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)  # macro name -> why it could not be read, with file and line
    files: list[Path] = field(default_factory=list)
    warnings: tuple[str, ...] = ()
