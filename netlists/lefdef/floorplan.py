"""From a DEF's die, rows and blockages to the model's canvas.

Database units inside; blockages come out in µm from the canvas's lower left corner.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from netlists.errors import InputError
from netlists.lefdef.def_file import DefFile, Rect, Row
from netlists.lefdef.lef_library import LefLibrary
from netlists.lefdef.polygon import rectangles
from netlists.lefdef.text import Warnings
from netlists.model import Database, FloatArray, Orientation
from netlists.model import Row as ModelRow


@dataclass(frozen=True, kw_only=True)
class Floorplan:
    """Where to place. `box` is the canvas in database units; blockages are µm from its lower left corner."""

    database: Database
    box: Rect
    blockages_um: FloatArray = field(repr=False)  # (B, 4) llx lly urx ury, clipped to the canvas
    rule: str  # how the canvas was found

    @property
    def width_um(self) -> float:
        return (self.box[2] - self.box[0]) / self.database.units_per_um

    @property
    def height_um(self) -> float:
        return (self.box[3] - self.box[1]) / self.database.units_per_um


def floorplan(
    file: DefFile,
    library: LefLibrary,
    locked: list[Rect],
    warnings: Warnings,
    *,
    macros_on_soft_blockages: bool = False,
) -> Floorplan:
    """The canvas: the box around the core rows; the die where there are none, or where `locked` macros leave the core.

    Raises InputError where neither rows nor DIEAREA give an area, and for a die that is no simple rectilinear polygon.
    """
    box, rule = _canvas(file, library, locked, warnings)
    grid = _grid(file, library, warnings)
    database = Database(units_per_um=file.units_per_um, origin_x=box[0], origin_y=box[1], grid=grid)
    blocked = _outside_die(file) + _blockages(file, warnings, macros_on_soft_blockages)
    blocked = [clipped for rect in blocked if (clipped := _intersection(rect, box))]
    shifted = np.array(sorted(set(blocked)), dtype=np.float64).reshape(-1, 4) - [box[0], box[1], box[0], box[1]]
    return Floorplan(database=database, box=box, blockages_um=shifted / file.units_per_um, rule=rule)


def _canvas(file: DefFile, library: LefLibrary, locked: list[Rect], warnings: Warnings) -> tuple[Rect, str]:
    die = _box([(x, y, x, y) for x, y in file.die])
    if die and not (die[0] < die[2] and die[1] < die[3]):
        raise InputError(f"{file.path.name}: DIEAREA {_um(die, file)} has no area")
    rows = core_rows(file, library, warnings)
    core = _box(list(rows))
    if core and die and core != _intersection(core, die):
        warnings.add("core rows reach beyond DIEAREA; the canvas ends at the die")
        core = _intersection(core, die)
    if not core:
        if not die:
            raise InputError(
                f"{file.path.name}: has neither DIEAREA nor core rows, so that nothing tells where to place"
            )
        return die, f"the die (DIEAREA {_um(die, file)}): the file has no core rows of a known site"
    beyond = [rect for rect in locked if rect != _intersection(rect, core)]
    if beyond and die:
        return die, (
            f"the die (DIEAREA {_um(die, file)}), because {len(beyond):,} fixed macros reach out of the core"
            f" ({_um(core, file)})"
        )
    where = f"; the die is {_um(die, file)}" if die else ""
    return core, f"the core, box {_um(core, file)} around {len(rows):,} rows{where}"


def core_rows(file: DefFile, library: LefLibrary, warnings: Warnings) -> list[Rect]:
    """The rows' boxes (dbu). Rows of pads, and rows of a site that no LEF defines, are left out."""
    unknown = Counter(row.site for row in file.rows if row.site not in library.sites)
    for site, count in unknown.items():
        warnings.add(f"rows of site '{site}', which no LEF defines, are not used", times=count)
    return [
        box
        for row in file.rows
        if row.site in library.sites
        and library.sites[row.site].site_class != "PAD"
        and (box := row_box(row, library, file))
    ]


def model_rows(file: DefFile, library: LefLibrary, plan: Floorplan) -> tuple[ModelRow, ...]:
    """The core rows in the canvas's coordinates, as the model has them; those of other shape than a row are left
    out.
    """
    units = file.units_per_um
    result = []
    for row in file.rows:
        site = library.sites.get(row.site)
        if site is None or site.site_class == "PAD" or row.rows != 1 or row.columns < 1 or row.orientation >= 4:
            continue
        result.append(
            ModelRow(
                x_um=(row.x - plan.box[0]) / units,
                y_um=(row.y - plan.box[1]) / units,
                height_um=site.height_um,
                site_width_um=site.width_um,
                step_um=row.step_x / units if row.step_x else site.width_um,
                sites=row.columns,
                orientation=Orientation(row.orientation),
                site=row.site,
            )
        )
    return tuple(result)


def row_box(row: Row, library: LefLibrary, file: DefFile) -> Rect | None:
    """The box of a row of a known site, dbu; None where it has no area."""
    site = library.sites[row.site]
    width, height = round(site.width_um * file.units_per_um), round(site.height_um * file.units_per_um)
    if row.orientation >= Orientation.E:
        width, height = height, width
    step_x, step_y = row.step_x or width, row.step_y or height
    if min(width, height, row.columns, row.rows) <= 0:
        return None
    return (row.x, row.y, row.x + (row.columns - 1) * step_x + width, row.y + (row.rows - 1) * step_y + height)


def _grid(file: DefFile, library: LefLibrary, warnings: Warnings) -> int:
    """The manufacturing grid in database units, at least 1."""
    if library.units_per_um and file.units_per_um > library.units_per_um:
        warnings.add(
            f"the DEF has {file.units_per_um} units a µm, the LEF {library.units_per_um}: lengths of the DEF may lie"
            " off its grid"
        )
    exact = library.manufacturing_grid_um * file.units_per_um
    grid = round(exact)
    if exact > 1.000001 and abs(exact - grid) > 1e-6:
        warnings.add(
            f"MANUFACTURINGGRID {library.manufacturing_grid_um:g} µm is no whole number of the DEF's units; taken as"
            f" {grid}"
        )
    return max(grid, 1)


def _outside_die(file: DefFile) -> list[Rect]:
    if len(file.die) <= 2:
        return []
    try:
        return rectangles(file.die, inside=False)
    except ValueError as error:
        raise InputError(f"{file.path.name}: DIEAREA: {error}") from error


def _blockages(file: DefFile, warnings: Warnings, macros_on_soft: bool) -> list[Rect]:
    result: list[Rect] = []
    for blockage in file.blockages:
        if not blockage.is_placement:
            warnings.add("blockages of routing layers do not keep macros out; they stay in the DEF")
        elif blockage.component:
            warnings.add("placement blockages that belong to a component are not used; they stay in the DEF")
        elif (blockage.soft or blockage.partial is not None) and macros_on_soft:
            warnings.add("SOFT and PARTIAL placement blockages do not keep macros out, as asked")
        else:
            result += blockage.rects
            for corners in blockage.polygons:
                result += _polygon(corners, warnings)
    return result


def _polygon(corners: tuple[tuple[int, int], ...], warnings: Warnings) -> list[Rect]:
    try:
        return rectangles(corners, inside=True)
    except ValueError as error:
        warnings.add("placement blockage whose polygon is not rectilinear; its box is blocked", str(error))
        return [box] if (box := _box([(x, y, x, y) for x, y in corners])) else []


def _box(rects: list[Rect]) -> Rect | None:
    if not rects:
        return None
    columns = list(zip(*rects, strict=True))
    return min(columns[0]), min(columns[1]), max(columns[2]), max(columns[3])


def _intersection(rect: Rect, box: Rect) -> Rect | None:
    """What of `rect` lies within `box`; None where that has no area."""
    cut = (max(rect[0], box[0]), max(rect[1], box[1]), min(rect[2], box[2]), min(rect[3], box[3]))
    return cut if cut[0] < cut[2] and cut[1] < cut[3] else None


def _um(rect: Rect, file: DefFile) -> str:
    x1, y1, x2, y2 = (value / file.units_per_um for value in rect)
    return f"({x1:g} {y1:g}) ({x2:g} {y2:g}) µm"
