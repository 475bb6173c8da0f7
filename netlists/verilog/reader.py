"""Verilog files and a table of masters in, `ParsedNetlist` out: nodes, pins and nets; no positions.

Leaf instances are hard macros or cells as their master says; bits of the top's ports are ports. Called by
`netlists.load`.
"""

from __future__ import annotations

import contextlib
import gc
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from netlists.errors import InputError
from netlists.files import DEFAULT_LIMITS, Limits
from netlists.model import Netlist, NodeKind, PinDirection, Side
from netlists.parsed import ParsedNetlist
from netlists.verilog.flatten import FlatNetlist, flatten
from netlists.verilog.masters import Master, MasterPin
from netlists.verilog.parser import read_modules

RULE = "a hard macro is an instance of a master that the library calls a macro (LEF: CLASS BLOCK)"
_PORT_DIRECTION = {"input": PinDirection.OUTPUT, "output": PinDirection.INPUT, "inout": PinDirection.INOUT}


def read_verilog(
    paths: Sequence[Path], masters: Mapping[str, Master], *, top: str | None = None, limits: Limits = DEFAULT_LIMITS
) -> ParsedNetlist:
    """Reads and flattens. `top`: the module to take (default: the one that no other uses). Raises InputError."""
    with _collector_paused():
        modules = read_modules(paths, limits)
        flat = flatten(modules, masters, top, max_nodes=limits.max_nodes)
    if len(flat.instance_name) + len(flat.port_name) > limits.max_nodes:
        raise InputError(f"{paths[0].name}: more than {limits.max_nodes:,} nodes")
    netlist = _netlist(flat, masters)
    nowhere = np.full(netlist.node_count, np.nan)
    return ParsedNetlist(
        netlist=netlist,
        x_um=nowhere,
        y_um=nowhere.copy(),
        orientation=np.zeros(netlist.node_count, dtype=np.int8),
        hard_macro_rule=RULE,
        derived={"top": f"module '{flat.top}'" + ("" if top else ": no other module uses it")},
        warnings=tuple(flat.warnings),
    )


@contextlib.contextmanager
def _collector_paused() -> Iterator[None]:
    """Millions of small objects without cycles: looking for some among them would be a third of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _netlist(flat: FlatNetlist, masters: Mapping[str, Master]) -> Netlist:
    ports, names = len(flat.port_name), [*flat.port_name, *flat.instance_name]
    if len(set(names)) < len(names):
        twice = [name for name, count in Counter(names).items() if count > 1]
        raise InputError(
            f"names that several nodes have once the hierarchy is flat: {', '.join(map(repr, twice[:10]))}"
        )
    of = [masters[name] for name in flat.instance_master]
    kinds = [NodeKind.HARD_MACRO if master.is_macro else NodeKind.CELL for master in of]
    centre = MasterPin()
    pins = [of[i].pins.get(p, centre) for i, p in zip(flat.pin_instance, flat.pin_name, strict=True)]
    node = np.concatenate([np.arange(ports), np.array(flat.pin_instance, dtype=np.int64) + ports]).astype(np.int32)
    direction = np.array([_PORT_DIRECTION[d] for d in flat.port_direction] + [pin.direction for pin in pins], np.int8)
    net_of = np.concatenate([np.array(flat.port_net, np.int64), np.array(flat.pin_net, np.int64)])
    start, net_pin, roots, several = _nets(net_of, direction)
    if several:
        flat.warnings.append(f"{several:,} nets have several pins that drive: the first one is the driver")
    single = int(np.count_nonzero(np.bincount(np.unique(net_of, return_inverse=True)[1]) == 1)) if len(net_of) else 0
    return Netlist(
        node_name=tuple(names),
        node_kind=np.array([NodeKind.PORT] * ports + kinds, np.int8),
        node_index=np.arange(len(names)),
        width_um=np.array([0.0] * ports + [m.width_um for m in of]),
        height_um=np.array([0.0] * ports + [m.height_um for m in of]),
        port_side=np.full(len(names), Side.NONE),
        pin_name=(
            *flat.port_name,
            *(f"{flat.instance_name[i]}/{p}" for i, p in zip(flat.pin_instance, flat.pin_name, strict=True)),
        ),
        pin_node=node,
        pin_dx_um=np.array([0.0] * ports + [pin.dx_um for pin in pins]),
        pin_dy_um=np.array([0.0] * ports + [pin.dy_um for pin in pins]),
        net_start=start,
        net_pin=net_pin,
        net_weight=np.ones(len(start) - 1),
        net_name=tuple(flat.net_name[root] for root in roots),
        pin_direction=direction,
        drivers_without_sinks=single,
    )


def _nets(net_of: np.ndarray, direction: np.ndarray) -> tuple[np.ndarray, np.ndarray, list[int], int]:
    """Nets with two pins or more: (E+1,) starts, (K,) pins with the driver first, (E,) numbers; how many of them have
    several drivers."""
    drives = direction == PinDirection.OUTPUT
    order = np.lexsort((~drives, net_of))
    roots, counts = np.unique(net_of, return_counts=True)
    kept = counts > 1
    start = np.concatenate([[0], np.cumsum(counts[kept])])
    net_pin = order[np.repeat(kept, counts)]
    drivers = np.add.reduceat(drives[net_pin], start[:-1]) if kept.any() else np.zeros(0, dtype=np.int64)
    return start, net_pin, roots[kept].tolist(), int(np.count_nonzero(drivers > 1))
