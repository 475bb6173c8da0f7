"""Rules that LEF and DEF hold for hard macros, as the model's constraints: halos, fences, symmetries."""

from __future__ import annotations

import re

import numpy as np

from netlists.constraints import NO_REGION, Constraints
from netlists.lefdef.def_file import DefFile
from netlists.lefdef.floorplan import Floorplan
from netlists.lefdef.lef_library import Macro
from netlists.lefdef.text import Warnings
from netlists.model import IntArray, Orientation

_FLIPPED = {
    "X": {0: 3, 3: 0, 1: 2, 2: 1, 4: 5, 5: 4, 6: 7, 7: 6},
    "Y": {0: 1, 1: 0, 2: 3, 3: 2, 4: 7, 7: 4, 5: 6, 6: 5},
}


def constraints_of(
    file: DefFile, master: list[Macro | None], plan: Floorplan, node_of: IntArray, nodes: int, warnings: Warnings
) -> Constraints | None:
    """The rules of the hard macros; None where there are none. node_of (C,): node of each component, -1 = no hard
    macro.

    A HALO, SOFT or not, keeps other macros away. A FENCE holds the members of its groups; a GUIDE is not used. A flip
    that the LEF's SYMMETRY does not allow is not made; a macro without SYMMETRY stays as it is.
    """
    parts, units = file.components, file.units_per_um
    halo = np.zeros((nodes, 4))
    for component, one in parts.halo.items():
        if node_of[component] >= 0:
            halo[node_of[component]] = np.array([one.left, one.bottom, one.right, one.top]) / units
    orientations = np.zeros(nodes, dtype=np.uint8)
    for component in np.flatnonzero(node_of >= 0).tolist():
        macro = master[parts.master[component]]
        if macro is not None and not {"X", "Y"} <= macro.symmetry:
            orientations[node_of[component]] = _mask(int(parts.orientation[component]), macro.symmetry)
    region, names, boxes = _fences(file, plan, node_of, nodes, warnings)
    rules = Constraints(
        halo_um=halo,
        orientations=orientations,
        boundary_spacing_um=np.zeros(nodes),
        region=region,
        region_names=names,
        regions_um=boxes,
    )
    return rules if rules.bind else None


def _mask(orientation: int, symmetry: frozenset[str]) -> int:
    """Bits of the orientations that flips allowed by X or Y make of this one."""
    reached = {orientation}
    for axis in symmetry & {"X", "Y"}:
        reached |= {_FLIPPED[axis][one] for one in reached}
    return sum(1 << Orientation(one) for one in reached)


def _fences(
    file: DefFile, plan: Floorplan, node_of: IntArray, nodes: int, warnings: Warnings
) -> tuple[IntArray, tuple[str, ...], tuple[np.ndarray, ...]]:
    """(N,) fence of each node, names and boxes (µm) of the fences that hold hard macros."""
    of_component = dict(file.components.region)
    for group in file.groups:
        if group.region:
            exact = set(group.members)
            wild = [re.escape(member).replace(r"\*", ".*") for member in group.members if "*" in member]
            pattern = re.compile("|".join(wild) or "(?!)")
            for component in np.flatnonzero(node_of >= 0).tolist():
                name = file.components.name[component]
                if name in exact or pattern.fullmatch(name):
                    of_component[component] = group.region
    region = np.full(nodes, NO_REGION, dtype=np.int32)
    number: dict[str, int] = {}
    for component, name in of_component.items():
        if node_of[component] < 0:
            continue
        known = file.regions.get(name)
        if known is None or known.kind != "FENCE":
            why = "is not defined" if known is None else "is no FENCE"
            warnings.add(f"region '{name}' {why} and does not bind its macros")
            continue
        region[node_of[component]] = number.setdefault(name, len(number))
    shift, units = np.array([plan.box[0], plan.box[1]] * 2), file.units_per_um
    boxes = tuple(
        (np.array(file.regions[name].rects, dtype=np.float64).reshape(-1, 4) - shift) / units for name in number
    )
    return region, tuple(number), boxes
