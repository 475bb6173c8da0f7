"""A floorplan DEF without NETS and a netlist from another file with the same macro names: one design.

The DEF and its LEF say where to place, what is fixed and where ports are; the netlist says what is connected. Names
are matched by their key (`names.py`). Called by `load.py`.
"""

from __future__ import annotations

import numpy as np

from netlists.errors import MismatchError
from netlists.lefdef.def_file import DefFile, DefPin
from netlists.lefdef.flat import (
    Instances,
    component_centres,
    instances,
    locked_boxes,
    parsed_netlist,
    signal_pins,
)
from netlists.lefdef.floorplan import Floorplan, floorplan
from netlists.lefdef.lef_library import LefLibrary
from netlists.lefdef.names import by_key, canonical
from netlists.lefdef.rules import constraints_of
from netlists.lefdef.text import Warnings
from netlists.model import FloatArray, IntArray, NodeKind
from netlists.options import Options
from netlists.parsed import ParsedNetlist

_SHOWN = 10
SIZE_TOLERANCE_UM = 0.002  # netlists written by other tools round to three decimals


def floorplan_with_netlist(
    file: DefFile, library: LefLibrary, parsed: ParsedNetlist, options: Options
) -> ParsedNetlist:
    """Raises MismatchError where the hard macros of the two differ in names or sizes, with the first ones."""
    warnings = Warnings()
    found = instances(file, library, options, warnings)
    plan = floorplan(
        file, library, locked_boxes(file, found), warnings, macros_on_soft_blockages=options.macros_on_soft_blockages
    )
    netlist = parsed.netlist
    macros, components = _matched_macros(file, found, parsed)
    shift_x, shift_y = plan.box[0] / file.units_per_um, plan.box[1] / file.units_per_um
    x, y = parsed.x_um - shift_x, parsed.y_um - shift_y
    orientation, fixed = parsed.orientation.copy(), netlist.node_kind == NodeKind.PORT
    centre_x, centre_y = component_centres(file, found, plan)
    x[macros], y[macros] = centre_x[components], centre_y[components]
    orientation[macros], fixed[macros] = file.components.orientation[components], found.locked[components]
    _place_ports(file, parsed, plan, x, y, warnings)
    node_of = np.full(len(file.components.name), -1, dtype=np.int64)
    node_of[components] = macros
    rules = constraints_of(file, found.master, plan, node_of.astype(np.int32), netlist.node_count, warnings)
    return parsed_netlist(file, library, plan, netlist, x, y, orientation, fixed, rules, warnings, options)


def _matched_macros(file: DefFile, found: Instances, parsed: ParsedNetlist) -> tuple[IntArray, IntArray]:
    """Hard macros of the netlist and, for each, its component."""
    netlist, path = parsed.netlist, file.path.name
    of_component = np.flatnonzero(found.is_macro)
    keys = by_key([file.components.name[at] for at in of_component], file.divider, file.bus_bits, f"{path}: components")
    macros = netlist.nodes_of(NodeKind.HARD_MACRO)
    names = by_key([netlist.node_name[node] for node in macros], "/", "[]", "macros of the netlist")
    for what, missing in (
        (f"hard macros of the netlist are not in {path}", [key for key in names if key not in keys]),
        (f"hard macros of {path} are not in the netlist", [key for key in keys if key not in names]),
    ):
        if missing:
            shown = ", ".join(f"'{key}'" for key in missing[:_SHOWN])
            raise MismatchError(f"{len(missing):,} {what}: {shown}")
    components = of_component[[keys[canonical(netlist.node_name[node])] for node in macros]]
    for own, other, what in (
        (netlist.width_um[macros], found.width_um[components], "wide"),
        (netlist.height_um[macros], found.height_um[components], "high"),
    ):
        differ = np.flatnonzero(np.abs(own - other) > SIZE_TOLERANCE_UM)
        if len(differ):
            at = int(differ[0])
            raise MismatchError(
                f"macro '{netlist.node_name[macros[at]]}' is {own[at]:g} µm {what} in the netlist and {other[at]:g}"
                " µm in the"
                f" LEF ({len(differ):,} macros like this)"
            )
    return macros, components


def _place_ports(
    file: DefFile, parsed: ParsedNetlist, plan: Floorplan, x: FloatArray, y: FloatArray, warnings: Warnings
) -> None:
    """Ports go where the DEF has the pin of their name; those it has not stay where the netlist has them."""
    pins: dict[str, DefPin] = {
        canonical(pin.name, file.divider, file.bus_bits): pin for pin in signal_pins(file, warnings) if pin.status
    }
    units, unknown = file.units_per_um, 0
    for node in parsed.netlist.nodes_of(NodeKind.PORT):
        pin = pins.get(canonical(parsed.netlist.node_name[node]))
        if pin is None:
            unknown += 1
        else:
            x[node], y[node] = (pin.x - plan.box[0]) / units, (pin.y - plan.box[1]) / units
    if unknown:
        warnings.add("ports of the netlist that the DEF does not place stay where the netlist has them", times=unknown)
