"""Sizes and pins of the masters that a Verilog netlist names: plain data, filled from LEF or from any other table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from netlists.lefdef.lef_library import POWER_USES, LefLibrary
from netlists.model import PinDirection

_DIRECTIONS = {
    "INPUT": PinDirection.INPUT, "OUTPUT": PinDirection.OUTPUT, "OUTPUT TRISTATE": PinDirection.OUTPUT,
    "INOUT": PinDirection.INOUT,
}  # fmt: skip


@dataclass(frozen=True)
class MasterPin:
    """Where a pin is, from the master's centre in orientation N, and which way it drives."""

    dx_um: float = 0.0
    dy_um: float = 0.0
    direction: PinDirection = PinDirection.UNKNOWN


@dataclass(frozen=True, kw_only=True)
class Master:
    """One cell or macro of a library. `pins` in the order of positional connections; bits of a bus as 'name[3]'."""

    width_um: float
    height_um: float
    pins: Mapping[str, MasterPin] = field(default_factory=dict)
    is_macro: bool = False  # a hard macro, not a standard cell


def masters_of(library: LefLibrary) -> dict[str, Master]:
    """The masters of LEF files, without power pins. A pin without shapes counts at the centre."""
    result = {}
    for name, macro in library.macros.items():
        pins = {}
        for pin in macro.pins.values():
            if pin.use not in POWER_USES:
                x, y = pin.point or (macro.width_um / 2, macro.height_um / 2)
                direction = _DIRECTIONS.get(pin.direction, PinDirection.UNKNOWN)
                pins[pin.name] = MasterPin(x - macro.width_um / 2, y - macro.height_um / 2, direction)
        result[name] = Master(
            width_um=macro.width_um, height_um=macro.height_um, pins=pins, is_macro=macro.is_hard_macro
        )
    return result
