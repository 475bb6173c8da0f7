"""LEF and DEF data in, flat netlist out: hard macros, cells and pins of the design; a pin a connection.

Nodes come in the order ports, hard macros, cells; names are the DEF's own spelling. Positions count from the canvas's
lower left corner (`floorplan.py`); `Design.database` takes them back. Everything that was left out, assumed or derived
is told in the design's warnings and `derived`. Called by `load.py`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from netlists.constraints import Constraints
from netlists.errors import InputError
from netlists.lefdef.connections import Connections, connect
from netlists.lefdef.def_file import DefFile, DefPin, Rect, Status
from netlists.lefdef.floorplan import Floorplan, floorplan, model_rows
from netlists.lefdef.lef_library import POWER_USES, LefLibrary, Macro
from netlists.lefdef.places import centres_um
from netlists.lefdef.rules import constraints_of
from netlists.lefdef.text import Warnings
from netlists.model import (
    BoolArray,
    ByteArray,
    Findings,
    FloatArray,
    IntArray,
    Netlist,
    NodeKind,
    Side,
    oriented_size_um,
)
from netlists.options import Options
from netlists.parsed import ParsedNetlist

_SHOWN = 10


@dataclass(frozen=True, eq=False, kw_only=True)
class Instances:
    """The components of a DEF with the sizes of their LEF macros. C components."""

    master: list[Macro | None]  # by number of DefFile.components.masters; None = defined nowhere
    is_macro: BoolArray  # (C,) hard macros
    width_um: FloatArray  # (C,) orientation N
    height_um: FloatArray
    oriented_width_um: FloatArray  # (C,)
    oriented_height_um: FloatArray
    placed: BoolArray  # (C,)
    locked: BoolArray  # (C,)

    def boxes(self, file: DefFile, which: IntArray) -> list[Rect]:
        """Boxes (dbu) of these components."""
        parts, units = file.components, file.units_per_um
        right = parts.x[which] + np.round(self.oriented_width_um[which] * units).astype(np.int64)
        top = parts.y[which] + np.round(self.oriented_height_um[which] * units).astype(np.int64)
        columns = (parts.x[which].tolist(), parts.y[which].tolist(), right.tolist(), top.tolist())
        return list(zip(*columns, strict=True))


def flat_netlist(file: DefFile, library: LefLibrary, options: Options) -> ParsedNetlist:
    """The flat netlist. Raises InputError for cell types that no LEF defines, for a DEF without NETS, and more."""
    warnings = Warnings()
    if file.nets is None:
        raise InputError(
            f"{file.path.name} has no NETS: it is a floorplan without connections. Give the DEF that has them, or,"
            " with this"
            " one, the netlist as gate-level Verilog or as a Circuit Training netlist (.pb.txt) with the same macro"
            " names"
        )
    found = instances(file, library, options, warnings)
    plan = floorplan(
        file, library, locked_boxes(file, found), warnings, macros_on_soft_blockages=options.macros_on_soft_blockages
    )
    ports = signal_pins(file, warnings)
    connections = connect(file, found.master, ports, warnings)
    order = np.concatenate([np.flatnonzero(found.is_macro), np.flatnonzero(~found.is_macro)])
    netlist = _netlist(file, found, ports, connections, order)
    x, y = _positions(file, found, ports, plan, order)
    orientation = np.concatenate([np.zeros(len(ports), np.int8), file.components.orientation[order]])
    fixed = np.concatenate([np.ones(len(ports), np.bool_), found.locked[order]])
    node_of = np.full(len(order), -1, dtype=np.int64)
    node_of[order] = np.arange(len(ports), len(ports) + len(order))
    node_of[~found.is_macro] = -1
    rules = constraints_of(file, found.master, plan, node_of.astype(np.int32), netlist.node_count, warnings)
    return parsed_netlist(file, library, plan, netlist, x, y, orientation, fixed, rules, warnings, options)


def instances(file: DefFile, library: LefLibrary, options: Options, warnings: Warnings) -> Instances:
    """Sizes and states of the components. Raises InputError where a cell type is defined nowhere."""
    parts = file.components
    master = [library.macros.get(one) for one in parts.masters]
    _refuse_missing(file, library, master, options, warnings)
    none = Macro(name="", macro_class="", subclass="", width_um=0.0, height_um=0.0, symmetry=frozenset())
    known = [one or none for one in master]
    width = np.array([one.width_um for one in known])[parts.master] if known else np.zeros(0)
    height = np.array([one.height_um for one in known])[parts.master] if known else np.zeros(0)
    hard = np.array([one.is_hard_macro for one in known], dtype=np.bool_)
    is_macro = hard[parts.master] if known else np.zeros(0, np.bool_)
    oriented = oriented_size_um(width, height, parts.orientation)
    least = Status.PLACED if options.lock_placed else Status.FIXED
    return Instances(
        master=master,
        is_macro=is_macro,
        width_um=width,
        height_um=height,
        oriented_width_um=oriented[0],
        oriented_height_um=oriented[1],
        placed=parts.status != Status.UNPLACED,
        locked=parts.status >= least,
    )


def _refuse_missing(
    file: DefFile, library: LefLibrary, master: list[Macro | None], options: Options, warnings: Warnings
) -> None:
    missing = [number for number, one in enumerate(master) if one is None]
    if not missing:
        return
    count = np.bincount(file.components.master, minlength=len(master))
    bad = [
        f"{library.skipped[name]}" for number in missing if (name := file.components.masters[number]) in library.skipped
    ]
    shown = ", ".join(f"'{file.components.masters[number]}' (x {count[number]:,})" for number in missing)
    if options.missing_cells_as_points and not bad:
        warnings.add(f"cell types that no LEF defines are taken as points without size: {shown}")
        return
    files = ", ".join(path.name for path in library.files) or "none"
    reason = f". MACROs that could not be read: {'; '.join(bad)}" if bad else ""
    raise InputError(
        f"{file.path.name} uses {len(missing):,} cell types that no LEF defines: {shown}. LEF files read:"
        f" {files}{reason}"
    )


def locked_boxes(file: DefFile, found: Instances) -> list[Rect]:
    """Boxes (dbu) of the hard macros that may not be moved."""
    return found.boxes(file, np.flatnonzero(found.is_macro & found.locked & found.placed))


def signal_pins(file: DefFile, warnings: Warnings) -> list[DefPin]:
    """The pins of the design that are ports of the netlist: all but power and ground."""
    ports = [pin for pin in file.pins.values() if pin.use not in POWER_USES and not pin.special]
    if left_out := len(file.pins) - len(ports):
        warnings.add("power and ground pins are kept for the export and left out of the netlist", times=left_out)
    return ports


def _netlist(
    file: DefFile, found: Instances, ports: list[DefPin], connections: Connections, order: IntArray
) -> Netlist:
    """Pins in the order ports, macro pins by macro, cell pins as connected."""
    components, parts = len(order), file.components
    node_of = np.empty(components, dtype=np.int64)
    node_of[order] = np.arange(len(ports), len(ports) + components)
    pin_node = node_of[connections.component]
    by_macro = np.argsort(
        np.where(found.is_macro[connections.component], pin_node, len(ports) + components), kind="stable"
    )
    pin_of = np.empty(len(by_macro), dtype=np.int64)  # connection -> pin
    pin_of[by_macro] = np.arange(len(ports), len(ports) + len(by_macro))
    is_port = connections.net_connection < 0
    net_pin = np.where(is_port, -1 - connections.net_connection, 0)
    net_pin[~is_port] = pin_of[connections.net_connection[~is_port]]
    component_names = [parts.name[number] for number in connections.component[by_macro]]
    pin_names = [connections.pin_names[number] for number in connections.pin[by_macro]]
    macro_count = int(np.count_nonzero(found.is_macro))
    pins_of_macro = np.bincount(pin_node[found.is_macro[connections.component]] - len(ports), minlength=macro_count)
    before = np.concatenate([[0], np.cumsum(pins_of_macro)])
    index = np.arange(len(ports) + components)
    index[len(ports) : len(ports) + macro_count] += before[:-1]  # .plc numbers count macro pins too
    index[len(ports) + macro_count :] += before[-1]
    zeros = np.zeros(len(ports))
    return Netlist(
        node_name=(*(pin.name for pin in ports), *(parts.name[number] for number in order)),
        node_kind=np.concatenate(
            [np.full(len(ports), NodeKind.PORT), np.where(found.is_macro[order], NodeKind.HARD_MACRO, NodeKind.CELL)]
        ),
        node_index=index,
        width_um=np.concatenate([zeros, found.width_um[order]]),
        height_um=np.concatenate([zeros, found.height_um[order]]),
        port_side=np.full(len(ports) + components, Side.NONE),
        pin_name=(
            *(pin.name for pin in ports),
            *(f"{component}/{pin}" for component, pin in zip(component_names, pin_names, strict=True)),
        ),
        pin_node=np.concatenate([np.arange(len(ports)), pin_node[by_macro]]),
        pin_dx_um=np.concatenate([zeros, connections.dx_um[by_macro]]),
        pin_dy_um=np.concatenate([zeros, connections.dy_um[by_macro]]),
        net_start=connections.net_start,
        net_pin=net_pin,
        net_weight=connections.net_weight,
        drivers_without_sinks=connections.without_sinks,
    )


def _positions(
    file: DefFile, found: Instances, ports: list[DefPin], plan: Floorplan, order: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Centres, µm from the canvas's corner; NaN where the file gives none."""
    x, y = component_centres(file, found, plan)
    port_x = np.array([pin.x if pin.status else np.nan for pin in ports])
    port_y = np.array([pin.y if pin.status else np.nan for pin in ports])
    units = file.units_per_um
    return (
        np.concatenate([(port_x - plan.box[0]) / units, x[order]]),
        np.concatenate([(port_y - plan.box[1]) / units, y[order]]),
    )


def component_centres(file: DefFile, found: Instances, plan: Floorplan) -> tuple[FloatArray, FloatArray]:
    """(C,), (C,) µm from the canvas's corner; NaN for UNPLACED components."""
    parts = file.components
    x, y = centres_um(parts.x, parts.y, found.oriented_width_um, found.oriented_height_um, plan.database)
    return np.where(found.placed, x, np.nan), np.where(found.placed, y, np.nan)


def parsed_netlist(
    file: DefFile,
    library: LefLibrary,
    plan: Floorplan,
    netlist: Netlist,
    x: FloatArray,
    y: FloatArray,
    orientation: ByteArray,
    fixed: BoolArray,
    rules: Constraints | None,
    warnings: Warnings,
    options: Options,
) -> ParsedNetlist:
    """Canvas, rows and states around a netlist; what is derived and what was noticed."""
    units = file.units_per_um
    return ParsedNetlist(
        netlist=netlist,
        x_um=x,
        y_um=y,
        orientation=orientation,
        fixed=fixed,
        canvas={"width_um": plan.width_um, "height_um": plan.height_um},
        origin_um=(plan.box[0] / units, plan.box[1] / units),
        rows=model_rows(file, library, plan),
        blockages_um=tuple(tuple(box) for box in plan.blockages_um.tolist()),
        hard_macro_rule="a hard macro is a component whose LEF MACRO has CLASS BLOCK or RING",
        database=plan.database,
        constraints=rules,
        derived={
            "canvas": f"{plan.width_um:g} x {plan.height_um:g} µm: {plan.rule}",
            "fixed": _states(netlist, x, fixed, options),
        },
        warnings=(*library.warnings, *file.warnings, *warnings.texts()),
        findings=Findings(die_um=_die_outline(file, plan)),
    )


def _die_outline(file: DefFile, plan: Floorplan) -> tuple[tuple[float, float], ...]:
    """Corners of DIEAREA, µm from the canvas's corner."""
    corners = file.die
    if len(corners) == 2:
        (x1, y1), (x2, y2) = corners
        corners = ((x1, y1), (x1, y2), (x2, y2), (x2, y1))
    units = file.units_per_um
    return tuple(((x - plan.box[0]) / units, (y - plan.box[1]) / units) for x, y in corners)


def _states(netlist: Netlist, x: FloatArray, fixed: BoolArray, options: Options) -> str:
    macro = netlist.node_kind == NodeKind.HARD_MACRO
    count = Counter(
        "locked" if locked else "hint" if np.isfinite(at) else "free"
        for locked, at in zip(fixed[macro], x[macro], strict=True)
    )
    rule = (
        "FIXED, COVER and PLACED are locked" if options.lock_placed else "FIXED and COVER are locked, PLACED is a hint"
    )
    states = f"{count['locked']:,} macros locked, {count['hint']:,} with a hint, {count['free']:,} free"
    return f"{states}: {rule}, UNPLACED is free"
