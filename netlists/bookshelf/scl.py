"""`.scl`: rows of sites in. Out: rows in the file's coordinates (units), one a subrow.

CoreRow Horizontal
  Coordinate : y   Height : h   Sitewidth : w   Sitespacing : s   Siteorient : N|1   Sitesymmetry : Y|1
  SubrowOrigin : x  NumSites : n
End
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from netlists.bookshelf.lines import Lines, without_comment
from netlists.files import Limits
from netlists.model import Orientation, Row

_KEYS = ("coordinate", "height", "sitewidth", "sitespacing", "siteorient", "sitesymmetry")
_SUBROW = re.compile(r"SubrowOrigin\s*:\s*(\S+)\s+NumSites\s*:\s*(\S+)$", re.I)
_PAIR = re.compile(r"(\w+)\s*:\s*(\S.*)$")
_ORIENTATIONS = {orientation.name: orientation for orientation in Orientation}
MAX_SITES = 10**9


def read_rows(path: Path, limits: Limits) -> tuple[Row, ...]:
    """Subrows of all core rows, in file order. Raises ParseError; also for a file without a row."""
    lines = Lines(path, "scl", limits)
    rows: list[Row] = []
    core_rows, opened = 0, 0
    values: dict[str, str] = {}
    subrows: list[tuple[float, int]] = []
    for number, line in lines:
        text = without_comment(line)
        if not text:
            continue
        word = text.split()[0].lower()
        if word == "corerow":
            if opened:
                lines.fail(number, f"CoreRow within the row of line {opened}, which has no End", line)
            if text.split()[1:] and text.split()[1].lower() != "horizontal":
                lines.fail(number, f"row direction '{text.split()[1]}': only Horizontal rows are supported", line)
            opened, values, subrows = number, {}, []
        elif word == "end" and opened:
            rows += _rows(lines, opened, values, subrows)
            core_rows, opened = core_rows + 1, 0
        elif not opened:
            if not lines.count_line(number, text):
                lines.fail(number, "expected 'NumRows : n' or 'CoreRow Horizontal'", line)
        elif found := _SUBROW.match(text):
            x = lines.number(number, found[1], "SubrowOrigin", line)
            if not found[2].isdecimal() or not 0 < int(found[2][:12]) <= MAX_SITES:
                lines.fail(number, f"NumSites is '{found[2]}', must be a whole number above 0", line)
            subrows.append((x, int(found[2])))
        elif (pair := _PAIR.match(text)) and pair[1].lower() in _KEYS:
            if pair[1].lower() in values:
                lines.fail(number, f"{pair[1]} is given a second time in the row of line {opened}", line)
            values[pair[1].lower()] = pair[2]
        else:
            lines.fail(number, f"unknown line in a CoreRow; known are {', '.join(_KEYS)}, subroworigin", line)
    if opened:
        lines.fail(opened, "this CoreRow has no End; is the file truncated?")
    lines.check_count("NumRows", core_rows, "rows")
    if not rows:
        lines.fail(0, "holds no row of sites")
    return tuple(rows)


def _rows(lines: Lines, opened: int, values: dict[str, str], subrows: list[tuple[float, int]]) -> list[Row]:
    for key in ("coordinate", "height"):
        if key not in values:
            lines.fail(opened, f"this CoreRow has no {key.capitalize()}")
    if not subrows:
        lines.fail(opened, "this CoreRow has no SubrowOrigin")

    def number(key: str, default: str) -> float:
        value = lines.number(opened, values.get(key, default), f"{key.capitalize()} of this CoreRow", "")
        if value <= 0 and key != "coordinate":
            lines.fail(opened, f"{key.capitalize()} of this CoreRow is {value:g}, must be above 0")
        return value

    width = number("sitewidth", "1")
    orientation = values.get("siteorient", "N").upper()
    orientation = {"0": "N", "1": "N"}.get(orientation, orientation)
    if orientation not in _ORIENTATIONS:
        lines.fail(opened, f"Siteorient of this CoreRow is '{orientation}', must be one of {' '.join(_ORIENTATIONS)}")
    return [
        Row(
            x_um=x,
            y_um=number("coordinate", ""),
            height_um=number("height", ""),
            site_width_um=width,
            step_um=number("sitespacing", values.get("sitewidth", "1")),
            sites=sites,
            orientation=_ORIENTATIONS[orientation],
            symmetry=values.get("sitesymmetry", ""),
        )
        for x, sites in subrows
    ]


def core_box(rows: Sequence[Row]) -> tuple[float, float, float, float]:
    """llx lly urx ury of the box around the rows, in the file's coordinates; zeros without rows."""
    if not rows:
        return 0.0, 0.0, 0.0, 0.0
    return (
        min(row.x_um for row in rows),
        min(row.y_um for row in rows),
        max(row.right_um for row in rows),
        max(row.y_um + row.height_um for row in rows),
    )
