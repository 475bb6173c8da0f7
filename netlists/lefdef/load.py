"""Files in, netlist out: which of them is LEF and DEF, which DEF is the top, and where the connections come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from netlists.errors import InputError
from netlists.files import DEFAULT_LIMITS, Limits, read_blocks
from netlists.lefdef.def_file import DefFile
from netlists.lefdef.def_reader import read_def
from netlists.lefdef.def_walk import looks_like_def
from netlists.lefdef.flat import flat_netlist
from netlists.lefdef.lef import looks_like_lef, read_lef
from netlists.lefdef.with_netlist import floorplan_with_netlist
from netlists.options import Options
from netlists.parsed import ParsedNetlist

LOOKED_AT_BYTES = 1 << 16
SUFFIXES = (".lef", ".def")


def kind_of(path: Path, limits: Limits = DEFAULT_LIMITS) -> str | None:
    """'lef' or 'def' by the first bytes of the (unpacked) file, or by the name of an empty one; else None."""
    start = next(read_blocks(path, limits), b"")[:LOOKED_AT_BYTES]
    if looks_like_lef(start):
        return "lef"
    if looks_like_def(start):
        return "def"
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    return suffix[1:] if suffix in SUFFIXES else None  # its reader says what is wrong with it


def read_lefdef(
    lefs: Sequence[Path],
    defs: Sequence[Path],
    *,
    netlist: ParsedNetlist | None = None,
    limits: Limits = DEFAULT_LIMITS,
    options: Options | None = None,
) -> ParsedNetlist:
    """The flat netlist of LEF files and a DEF; `netlist` gives the connections where the DEF has none.

    Raises InputError with what to upload where something is missing.
    """
    if not defs:
        raise InputError(f"LEF without DEF: {_names(lefs)} describe cells and macros; give the DEF of the design too")
    if not lefs:
        raise InputError(f"{_names(defs)}: a DEF needs the LEF files that define its cells and macros; give them too")
    library = read_lef(lefs, limits)
    top, note = top_def([read_def(path, limits) for path in defs])
    options = options or Options()
    if netlist is not None and top.nets is not None:
        raise InputError(f"{top.path.name} has NETS and another netlist is given too; give one of the two")
    if netlist is not None:
        parsed = floorplan_with_netlist(top, library, netlist, options)
    else:
        parsed = flat_netlist(top, library, options)
    return replace(parsed, warnings=(note, *parsed.warnings)) if note else parsed


def top_def(files: Sequence[DefFile]) -> tuple[DefFile, str]:
    """The DEF that no other one uses as a block, and a warning if there were several."""
    if len(files) == 1:
        return files[0], ""
    used = {master for file in files for master in file.components.masters}
    tops = [file for file in files if file.design not in used]
    if len(tops) != 1:
        raise InputError(
            f"{len(files)} DEF files of which {len(tops)} are used by no other one"
            f" ({_names([file.path for file in tops])}); a design has one top: give that DEF alone"
        )
    others = _names([file.path for file in files if file is not tops[0]])
    return tops[0], f"several DEF files: {tops[0].path.name} is the top, as no other one uses it; left unread: {others}"


def _names(paths: Sequence[Path]) -> str:
    return ", ".join(path.name for path in paths)
