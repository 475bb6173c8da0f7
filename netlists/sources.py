"""Files of one netlist in, its reader out: the table of input formats. `.plc` and side files are not among the files.

A format that tells its files by content is a `Family` here; files that no family knows are parts of a Circuit Training
netlist, whose reader says what is wrong with them. To add a format: a `Family` in FAMILIES. Called by `netlists.load`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from netlists.bookshelf import files as bookshelf
from netlists.bookshelf.reader import read_bookshelf
from netlists.circuit_training.reader import read_netlist
from netlists.errors import InputError
from netlists.files import Limits
from netlists.lefdef import load as lefdef
from netlists.lefdef.lef import read_lef
from netlists.options import Options
from netlists.parsed import ParsedNetlist
from netlists.verilog.masters import masters_of
from netlists.verilog.reader import read_verilog
from netlists.verilog.tokens import looks_like_verilog


@dataclass(frozen=True, kw_only=True)
class Source:
    """One netlist, not yet read."""

    paths: list[Path]  # every file that reading takes, in reading order
    stem: str  # what the design is called where its folder has no better name
    read: Callable[[], ParsedNetlist]  # raises InputError


@dataclass(frozen=True, kw_only=True)
class Family:
    """One family of input formats."""

    name: str
    suffixes: tuple[str, ...]  # of names, lower case, without .gz: what is taken from a folder
    kind_of: Callable[[Path, Limits], str | None]  # which of the family's kinds a file is, by content; None = none
    open: Callable[[Mapping[Path, str], Limits, Options], Source]  # files and their kinds; raises InputError


def _open_bookshelf(kinds: Mapping[Path, str], limits: Limits, options: Options) -> Source:
    files = bookshelf.find_bookshelf(kinds, limits)
    named = files.aux or files.nodes
    return Source(
        paths=files.all(),
        stem=stem_of(named),
        read=lambda: read_bookshelf(files, limits, macro_height=options.macro_height),
    )


LEFDEF = "LEF/DEF"


def _open_lefdef(kinds: Mapping[Path, str], limits: Limits, options: Options) -> Source:
    return _lefdef(kinds, limits, options, None)


def _lefdef(kinds: Mapping[Path, str], limits: Limits, options: Options, other: Source | None) -> Source:
    """`other`: the netlist that gives the connections of a DEF without NETS."""
    lefs = [path for path, kind in kinds.items() if kind == "lef"]
    defs = [path for path, kind in kinds.items() if kind == "def"]
    return Source(
        paths=[*lefs, *defs, *(other.paths if other else [])],
        stem=stem_of((defs or lefs)[0]),
        read=lambda: lefdef.read_lefdef(
            lefs, defs, netlist=other.read() if other else None, limits=limits, options=options
        ),
    )


VERILOG = "Verilog"


def _open_verilog(kinds: Mapping[Path, str], limits: Limits, options: Options) -> Source:
    raise InputError(
        f"{', '.join(path.name for path in kinds)}: a Verilog netlist names cells and macros whose sizes LEF files"
        " give; give the LEF files too"
    )


def _verilog(paths: Sequence[Path], lefs: Sequence[Path], limits: Limits) -> Source:
    return Source(
        paths=[*lefs, *paths],
        stem=stem_of(paths[0]),
        read=lambda: read_verilog(paths, masters_of(read_lef(lefs, limits)), limits=limits),
    )


FAMILIES: tuple[Family, ...] = (
    Family(name="Bookshelf", suffixes=bookshelf.SUFFIXES, kind_of=bookshelf.kind_of, open=_open_bookshelf),
    Family(name=LEFDEF, suffixes=lefdef.SUFFIXES, kind_of=lefdef.kind_of, open=_open_lefdef),
    Family(
        name=VERILOG,
        suffixes=(".v", ".sv"),
        kind_of=lambda path, limits: "verilog" if looks_like_verilog(path, limits) else None,
        open=_open_verilog,
    ),
)


def source_of(parts: Sequence[Path], limits: Limits, warnings: list[str], options: Options | None = None) -> Source:
    """The reader of these files. Raises InputError for files of several formats.

    A netlist beside LEF and DEF gives the connections that a floorplan DEF lacks.
    """
    options = options or Options()
    by_family: dict[str, dict[Path, str]] = {}
    for path in parts:
        for family in FAMILIES:
            if kind := family.kind_of(path, limits):
                by_family.setdefault(family.name, {})[path] = kind
                break
        else:
            by_family.setdefault("Circuit Training", {})[path] = "netlist"
    if lefdef_files := by_family.pop(LEFDEF, None):
        lefs = [path for path, kind in lefdef_files.items() if kind == "lef"]
        verilog = list(by_family.pop(VERILOG, {})) if lefs else []
        others = [path for files in by_family.values() for path in files]
        if verilog and others:
            raise InputError(f"two netlists, of different formats: {verilog[0].name} and {others[0].name}; give one")
        if verilog and len(lefs) == len(lefdef_files):
            return _verilog(verilog, lefs, limits)
        other = _verilog(verilog, lefs, limits) if verilog else None
        if others:
            other = source_of(others, limits, warnings, options)
        return _lefdef(lefdef_files, limits, options, other)
    if len(by_family) > 1:
        found = "; ".join(f"{name}: {', '.join(path.name for path in paths)}" for name, paths in by_family.items())
        raise InputError(f"files of different formats, which make no one design: {found}")
    for family in FAMILIES:
        if family.name in by_family:
            return family.open(by_family[family.name], limits, options)
    if len(parts) > 1:
        warnings.append(f"netlist of {len(parts)} parts, read in this order: {', '.join(path.name for path in parts)}")
    return Source(paths=list(parts), stem=stem_of(parts[0]), read=lambda: read_netlist(parts, limits))


def own_formats(paths: Sequence[Path], limits: Limits) -> tuple[str, ...]:
    """Formats of a result (netlists/formats.py) that only designs read from these files have."""
    formats: list[str] = []
    for path in paths:
        if bookshelf.kind_of(path, limits) is not None:
            formats.append("pl")
        elif lefdef.kind_of(path, limits) == "def":
            formats += ["def", "tcl"]
    return tuple(dict.fromkeys(formats))


def stem_of(path: Path) -> str:
    """A design's name by one of its files: without ending; for `netlist.…` the folder's name."""
    endings = [".pb.txt", ".pbtxt", ".txt", *(suffix for family in FAMILIES for suffix in family.suffixes)]
    stem = path.name.removesuffix(".gz")
    stem = next((stem.removesuffix(ending) for ending in endings if stem.lower().endswith(ending)), stem)
    return path.resolve().parent.name if stem == "netlist" else stem
