"""A placement as Tcl for OpenROAD: one `place_macro` a movable macro. And such a file read back.

Names are those of the DEF, in braces, so that `[`, `$` and blanks mean themselves. Locations are lower left corners of
the oriented boxes in µm of the database. Source: OpenROAD, macro placement commands.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

from netlists.errors import InputError, ParseError
from netlists.files import atomic_text, text_lines
from netlists.lefdef.places import database_of, movable_macros, whole_corners
from netlists.model import Design, Orientation, Placement

OPENROAD_NAMES = {
    Orientation.N: "R0", Orientation.S: "R180", Orientation.FN: "MY", Orientation.FS: "MX",
    Orientation.W: "R90", Orientation.E: "R270", Orientation.FW: "MXR90", Orientation.FE: "MYR90",
}  # fmt: skip
_ORIENTATION = {name: orientation for orientation, name in OPENROAD_NAMES.items()}
_COMMAND = re.compile(
    r"place_macro -macro_name (\{.*\}|(?:[^\s\\]|\\.)+) -location \{(-?[\d.]+) (-?[\d.]+)\} -orientation (\w+)"
)


def write_tcl(
    path: Path, design: Design, placement: Placement, version: str = "", names: Sequence[str] | None = None
) -> int:
    """Writes the commands; returns how many. `names`: of the movable macros, where they are not the design's own.

    Raises InputError for places off the grid, or if a macro were missing.
    """
    nodes = movable_macros(design)
    x, y = whole_corners(design, placement, nodes)
    units = database_of(design).units_per_um
    names = [design.netlist.node_name[node] for node in nodes] if names is None else names
    if len(set(names)) != len(nodes):
        raise InputError(f"{len(nodes):,} macros are movable, but have {len(set(names)):,} different names")
    with atomic_text(Path(path)) as file:
        file.write(
            f"# Macro placement of '{_one_line(design.name)}' by {f'Placewright {version}'.strip()}: {len(nodes)}"
            " macros\n"
        )
        for at, node in enumerate(nodes):
            orientation = OPENROAD_NAMES[Orientation(int(placement.orientation[node]))]
            file.write(
                f"place_macro -macro_name {quoted(names[at])}"
                f" -location {{{um(int(x[at]), units)} {um(int(y[at]), units)}}} -orientation {orientation}\n"
            )
    return len(nodes)


def um(value: int, units_per_um: int) -> str:
    """Database units in µm, as a decimal that is exact wherever one is."""
    return format(Decimal(value) / Decimal(units_per_um), "f")


def quoted(name: str) -> str:
    """The name as one Tcl word: in braces; with backslashes where braces would not hold it."""
    depth, at = 0, 0
    while at < len(name) and depth >= 0:
        if name[at] == "\\":
            at += 1  # a brace behind it does not count
        else:
            depth += (name[at] == "{") - (name[at] == "}")
        at += 1
    if depth == 0 and at == len(name) and name and "\n" not in name:
        return "{" + name + "}"
    return re.sub(r"([\\\[\]{}$\"; #\t])", r"\\\1", name)


def unquoted(word: str) -> str:
    return word[1:-1] if word.startswith("{") else re.sub(r"\\(.)", r"\1", word)


def read_tcl(path: Path, units_per_um: int) -> dict[str, tuple[int, int, Orientation]]:
    """Macro -> lower left corner (dbu) and orientation. Raises ParseError with the line of what is no such command."""
    result: dict[str, tuple[int, int, Orientation]] = {}
    for line, text in text_lines(Path(path)):
        if not text.strip() or text.lstrip().startswith("#"):
            continue
        found = _COMMAND.fullmatch(text.strip())
        if found is None or found[4] not in _ORIENTATION:
            raise ParseError(
                path, line, "must be 'place_macro -macro_name {name} -location {x y} -orientation R0'", text
            )
        name = unquoted(found[1])
        if name in result:
            raise ParseError(path, line, f"macro '{name}' is placed a second time")
        x, y = (Decimal(found[group]) * units_per_um for group in (2, 3))
        result[name] = (round(x), round(y), _ORIENTATION[found[4]])
    return result


def _one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text)
