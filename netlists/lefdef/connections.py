"""Connections of a DEF's NETS to pins of LEF macros: by tables over (macro, pin name), not by objects a connection."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from netlists.errors import InputError
from netlists.lefdef.def_file import ON_PIN, DefFile, DefPin, Nets
from netlists.lefdef.lef_library import POWER_USES, Macro
from netlists.lefdef.text import Warnings
from netlists.model import BoolArray, FloatArray, IntArray

MAX_UNKNOWN_SHARE = 0.05  # of connections to pins that their macro does not have; beyond it the LEF is the wrong one


@dataclass(frozen=True, eq=False, kw_only=True)
class Connections:
    """Nets of two connections or more. Q connections to components, E nets, K connections in nets."""

    component: IntArray  # (Q,) into components
    pin: IntArray  # (Q,) into pin_names
    pin_names: tuple[str, ...]
    dx_um: FloatArray  # (Q,) from the macro's centre, orientation N
    dy_um: FloatArray
    net_start: IntArray  # (E+1,)
    net_connection: IntArray  # (K,) driver first; connection q as q, port i as -1 - i
    net_weight: FloatArray  # (E,)
    without_sinks: int  # nets of a single connection


def connect(file: DefFile, master: list[Macro | None], ports: list[DefPin], warnings: Warnings) -> Connections:
    """Raises InputError for pins of the design that PINS does not hold, and where too many pins are unknown."""
    nets = file.nets
    assert nets is not None
    on_pin = nets.component == ON_PIN
    net_of = np.repeat(np.arange(len(nets.name)), np.diff(nets.start))
    port_of, use_of_port = _ports(file, nets, ports, on_pin, net_of)
    is_power = np.array([use in POWER_USES for use in nets.use], dtype=np.bool_)[nets.net_use]
    if is_power.any():
        warnings.add("power and ground nets are left out of the netlist", times=int(np.count_nonzero(is_power)))
    keep = ~is_power[net_of] & ~(on_pin & (port_of < 0))
    size = np.bincount(net_of[keep], minlength=len(nets.name))
    keep &= (size >= 2)[net_of]
    where = _Pins(file, nets, master, keep & ~on_pin, warnings)
    drives = np.zeros(len(net_of), dtype=np.bool_)
    drives[where.at] = where.drives
    drives[on_pin] = use_of_port[on_pin]
    number = np.full(len(net_of), -1, dtype=np.int64)
    number[where.at] = np.arange(len(where.at))
    number[on_pin] = -1 - port_of[on_pin]
    chosen = np.flatnonzero(keep)
    order, kept_nets, start = _drivers_first(chosen, net_of, drives, warnings)
    weight = np.ones(len(nets.name))
    for net, value in nets.weight.items():
        weight[net] = value
    return Connections(
        component=nets.component[where.at],
        pin=nets.pin[where.at],
        pin_names=nets.pin_names,
        dx_um=where.dx_um,
        dy_um=where.dy_um,
        net_start=start.astype(np.int32),
        net_connection=number[order].astype(np.int32),
        net_weight=weight[kept_nets],
        without_sinks=int(np.count_nonzero((size < 2) & ~is_power)),
    )


def _ports(
    file: DefFile, nets: Nets, ports: list[DefPin], on_pin: BoolArray, net_of: IntArray
) -> tuple[IntArray, BoolArray]:
    """Per connection the port (-1: none, or a power pin) and whether it drives."""
    number = {pin.name: at for at, pin in enumerate(ports)}
    used = np.unique(nets.pin[on_pin])
    port_of_name = np.full(len(nets.pin_names), -1, dtype=np.int64)
    for name in used:
        port_of_name[name] = number.get(nets.pin_names[name], -1)
        if nets.pin_names[name] not in file.pins:
            net = nets.name[net_of[np.flatnonzero(on_pin & (nets.pin == name))[0]]]
            raise InputError(
                f"{file.path.name}: net '{net}' is connected to the pin '{nets.pin_names[name]}' of the design,"
                " which PINS does not hold"
            )
    port = np.where(on_pin, port_of_name[nets.pin], -1)
    drives = np.array([pin.direction == "INPUT" for pin in ports] + [False], dtype=np.bool_)
    return port, drives[port]


class _Pins:
    """Offsets and senses of the component connections `which` (mask). `at`: their numbers among all connections."""

    def __init__(
        self, file: DefFile, nets: Nets, master: list[Macro | None], which: BoolArray, warnings: Warnings
    ) -> None:
        self.at = np.flatnonzero(which)
        component = nets.component[self.at]
        key = file.components.master[component].astype(np.int64) * max(len(nets.pin_names), 1) + nets.pin[self.at]
        kinds, first, of, count = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
        dx, dy = np.zeros(len(kinds)), np.zeros(len(kinds))
        drives = np.zeros(len(kinds), dtype=np.bool_)
        unknown = 0
        for number, kind in enumerate(kinds.tolist()):
            macro = master[kind // max(len(nets.pin_names), 1)]
            if macro is None:
                continue  # a point without size
            name = nets.pin_names[kind % max(len(nets.pin_names), 1)]
            pin = macro.pins.get(name)
            if pin is None:
                unknown += int(count[number])
                instance = file.components.name[component[first[number]]]
                warnings.add(
                    f"pin '{name}' that cell type '{macro.name}' does not have; its centre is used",
                    f"component '{instance}'",
                    int(count[number]),
                )
                continue
            drives[number] = pin.direction == "OUTPUT"
            if pin.point is not None:
                dx[number], dy[number] = pin.point[0] - macro.width_um / 2, pin.point[1] - macro.height_um / 2
            elif macro.is_hard_macro:
                warnings.add("pins without shape are taken at their macro's centre", f"'{name}' of '{macro.name}'")
        if unknown > MAX_UNKNOWN_SHARE * len(self.at):
            raise InputError(
                f"{file.path.name}: {unknown:,} of {len(self.at):,} connections name pins that their cell type does"
                " not have"
                f" (allowed are {MAX_UNKNOWN_SHARE:.0%}); is this the LEF of this design?"
                f" {'; '.join(warnings.texts()[-3:])}"
            )
        self.dx_um, self.dy_um, self.drives = dx[of], dy[of], drives[of]


def _drivers_first(
    chosen: IntArray, net_of: IntArray, drives: BoolArray, warnings: Warnings
) -> tuple[IntArray, IntArray, IntArray]:
    """Connections net by net with the (first) driver in front; the nets; their starts. Without a driver: the first
    pin.
    """
    if not len(chosen):
        return chosen, np.zeros(0, np.int64), np.zeros(1, np.int64)
    net = net_of[chosen]
    kept, first, size = np.unique(net, return_index=True, return_counts=True)
    start = np.concatenate([[0], np.cumsum(size)])
    driving = drives[chosen]
    drivers = np.add.reduceat(driving.astype(np.int64), first)
    if none := int(np.count_nonzero(drivers == 0)):
        warnings.add("nets without a driver; the first pin is taken for it", times=none)
    if several := int(np.count_nonzero(drivers > 1)):
        warnings.add("nets with several drivers; the first one is taken", times=several)
    position = np.arange(len(chosen))
    front = np.minimum.reduceat(np.where(driving, position, len(chosen)), first)
    front = np.where(front < len(chosen), front, first)
    rank = np.ones(len(chosen), dtype=np.int64)
    rank[front] = 0
    return chosen[np.lexsort((position, rank, net))], kept, start
