"""Where corners may be so that rows or routing tracks fit: a `snap.Lattice` by what DEF and LEF say.

rows: lower left corners on the sites of the core rows. tracks: for each macro and axis, the position where most of its
signal pins' centres lie on tracks of their layer. Both are combined with the manufacturing grid; where they have no
common points, or there are no rows or tracks to go by, the grid alone holds, and a note says so.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from netlists.lefdef.def_file import DefFile, Tracks
from netlists.lefdef.floorplan import core_rows
from netlists.lefdef.lef_library import POWER_USES, LefLibrary, Macro
from netlists.lefdef.names import by_key, canonical
from netlists.lefdef.places import database_of, movable_macros
from netlists.lefdef.snap import Lattice
from netlists.lefdef.text import Warnings
from netlists.model import ORIENTATION_MATRIX, Design, Placement

Progression = tuple[int, int]  # step, phase: phase + k · step


def lattice(
    design: Design, placement: Placement, file: DefFile, library: LefLibrary, *, rows: bool, tracks: bool
) -> tuple[Lattice, tuple[str, ...]]:
    """The lattice of the design's movable macros at this placement's orientations, and notes on what could not be kept.

    Tracks go before rows where both are asked for and have no common points.
    """
    warnings, nodes = Warnings(), movable_macros(design)
    grid = database_of(design).grid
    numbers = by_key(file.components.name, file.divider, file.bus_bits, f"{file.path.name}: components")
    of_rows = _row_steps(file, library, warnings) if rows else (None, None)
    result: list[tuple[Progression, Progression]] = []
    for node in nodes.tolist():
        name = design.netlist.node_name[node]
        component = numbers[canonical(name)]
        macro = library.macros[file.components.masters[file.components.master[component]]]
        of_tracks = _pin_steps(macro, int(placement.orientation[node]), file, library) if tracks else (None, None)
        axes = []
        for axis, (track, row) in enumerate(zip(of_tracks, of_rows, strict=True)):
            best: Progression = (grid, 0)
            for what, wanted in (("tracks", track), ("rows", row)):
                if wanted is None:
                    continue
                both = _common(best, wanted)
                if both is None:
                    warnings.add(f"macros cannot be on {what} as well along {'xy'[axis]}", f"'{name}'")
                else:
                    best = both
            axes.append(best)
        result.append((axes[0], axes[1]))
    columns = np.array(result, dtype=np.int64).reshape(-1, 2, 2)
    steps = Lattice(columns[:, 0, 0], columns[:, 0, 1], columns[:, 1, 0], columns[:, 1, 1])
    return steps, warnings.texts()


def _common(first: Progression, second: Progression) -> Progression | None:
    """The numbers that two progressions share (Chinese remainder); None where they share none."""
    (step, phase), (other, offset) = first, second
    divisor = math.gcd(step, other)
    if (offset - phase) % divisor:
        return None
    times = (offset - phase) // divisor * pow(step // divisor, -1, other // divisor) % (other // divisor)
    both = step // divisor * other
    return both, (phase + times * step) % both


def _row_steps(file: DefFile, library: LefLibrary, warnings: Warnings) -> tuple[Progression | None, Progression | None]:
    """Sites along x and rows along y, where they are regular."""
    boxes = core_rows(file, library, warnings)
    used = [row for row in file.rows if row.site in library.sites and library.sites[row.site].site_class != "PAD"]
    if not boxes:
        warnings.add("there are no core rows to put corners on")
        return None, None
    along = {row.step_x or round(library.sites[row.site].width_um * file.units_per_um) for row in used}
    step_x = math.gcd(*along, *(row.x - used[0].x for row in used))
    bottoms = sorted({box[1] for box in boxes})
    height = min(box[3] - box[1] for box in boxes)
    step_y = math.gcd(height, *(bottom - bottoms[0] for bottom in bottoms))
    regular = step_y == height and step_x in along
    if not regular:
        warnings.add("core rows do not lie on one lattice; corners are put on what they have in common")
    return (step_x, used[0].x % step_x), (step_y, bottoms[0] % step_y)


def _pin_steps(
    macro: Macro, orientation: int, file: DefFile, library: LefLibrary
) -> tuple[Progression | None, Progression | None]:
    """Along x and y: where the corner must be so that most pins lie on tracks that run across that axis."""
    votes: tuple[Counter[Progression], Counter[Progression]] = (Counter(), Counter())
    matrix = ORIENTATION_MATRIX[orientation].astype(np.float64)
    half = np.abs(matrix @ (macro.width_um / 2, macro.height_um / 2))
    for pin in macro.pins.values():
        if pin.use in POWER_USES or not pin.shapes:
            continue
        layer, box = pin.shapes[0]
        axis = {"HORIZONTAL": 1, "VERTICAL": 0}.get(library.layers[layer].direction if layer in library.layers else "")
        lines = _tracks_of(file.tracks, layer, axis)
        if axis is None or lines is None:
            continue
        centre = np.array([(box[0] + box[2]) / 2 - macro.width_um / 2, (box[1] + box[3]) / 2 - macro.height_um / 2])
        offset = round(float((matrix @ centre + half)[axis]) * file.units_per_um)
        votes[axis][lines.step, (lines.start - offset) % lines.step] += 1
    best = [min(count, key=lambda one: (-count[one], one)) if count else None for count in votes]
    return best[0], best[1]


def _tracks_of(tracks: Sequence[Tracks], layer: str, axis: int | None) -> Tracks | None:
    """The layer's tracks in its preferred direction: y values (axis 1) of a horizontal layer, x values of a vertical
    one.
    """
    for one in tracks:
        if axis is not None and one.axis == "XY"[axis] and layer in one.layers and one.step > 0:
            return one
    return None
