"""Files in, `Design` out: the one door through which netlists come into the product.

Sorts out what each file is by its content, reads the netlist's parts and its `.plc`, derives what no file gives
(`derive.py`) and tells so. Raises InputError (ParseError, MismatchError) with a message a user can act on.
Called by the service's parsing task, the command line and the tests; knows nothing of costs or legality.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from netlists import derive
from netlists.circuit_training.plc import PlcFile, looks_like_netlist, looks_like_plc, read_plc
from netlists.constraints_json.file import (
    FILE_NAME,
    FORMAT,
    is_constraints,
    looks_like_json,
    object_source,
    read_source,
    with_constraints,
)
from netlists.errors import InputError, MismatchError, ParseError
from netlists.files import DEFAULT_LIMITS, Limits
from netlists.model import BoolArray, Canvas, Database, Design, Netlist, NodeKind, Placement, oriented_size_um
from netlists.options import Options
from netlists.parsed import ParsedNetlist
from netlists.sources import FAMILIES, Source, source_of

SUPPORTED = (
    "supported are Circuit Training netlists (netlist.pb.txt, in one or several parts), Bookshelf designs"
    " (.aux .nodes .nets .pl .scl .wts), and LEF with DEF or structural Verilog, plain or .gz, with or without a .plc"
    " and constraints (*.constraints.json)"
)
# Names by which files of other tools are known, for a clear refusal.
_OTHER_FORMATS = {
    ".gds": "GDSII", ".zip": "zip archive",
    ".tar": "tar archive", ".tgz": "tar archive", ".pb": "binary protobuf",
}  # fmt: skip


def load_design(
    paths: Sequence[Path] | Path,
    plc: Path | None = None,
    *,
    limits: Limits = DEFAULT_LIMITS,
    require_hard_macros: bool = True,
    name: str | None = None,
    constraints: Mapping[str, Any] | Path | None = None,
    options: Options | None = None,
) -> Design:
    """Reads a design from a folder, a file, or files in any order (parts of the netlist go by their names).

    `plc` names the placement file; without it, it is the one among `paths`. Constraints are those of the side files
    among `paths`, in the order of their names, then `constraints` (a file, or the object of a job). Raises InputError,
    also where the netlist has no hard macros and `require_hard_macros` is set. `options`: of reading.
    """
    given = [Path(paths)] if isinstance(paths, (str, Path)) else [Path(path) for path in paths]
    warnings: list[str] = []
    parts, plc, rules = _sort_files(given, None if plc is None else Path(plc), limits, warnings)
    source = source_of(parts, limits, warnings, options)
    parsed = source.read()
    if require_hard_macros:
        _require_hard_macros(parsed)
    file = read_plc(plc, parsed.netlist, limits) if plc else None
    design = _design(name or _name(given, source), parsed, file, plc, warnings)
    sources = [read_source(path, limits) for path in rules]
    if constraints is not None:
        sources.append(
            read_source(constraints, limits) if isinstance(constraints, Path) else object_source(constraints)
        )
    return with_constraints(design, sources)


def placement_of(design: Design, plc: Path, limits: Limits = DEFAULT_LIMITS) -> Placement:
    """The placement that a .plc of this design holds; cells that it leaves out are where the design has them."""
    placement = read_plc(plc, design.netlist, limits).placement
    missing = (design.netlist.node_kind == NodeKind.CELL) & ~np.isfinite(placement.x_um)
    start = design.start
    return placement.moved(
        x_um=np.where(missing, start.x_um, placement.x_um), y_um=np.where(missing, start.y_um, placement.y_um)
    )


def input_files(paths: Sequence[Path], plc: Path | None = None, limits: Limits = DEFAULT_LIMITS) -> list[Path]:
    """The files that `load_design` would read for these arguments: those of the netlist, then the .plc if any, then
    constraints."""
    parts, plc, rules = _sort_files([Path(path) for path in paths], plc, limits, [])
    parts = source_of(parts, limits, []).paths
    return [*parts, *([] if plc is None else [plc]), *rules]


def _sort_files(
    given: Sequence[Path], plc: Path | None, limits: Limits, warnings: list[str]
) -> tuple[list[Path], Path | None, list[Path]]:
    """(netlist parts in natural order of their names, .plc or None, constraints in natural order)."""
    if plc is not None and plc.is_file() and looks_like_netlist(plc, limits):
        raise InputError(f"{plc.name}: is given as the .plc placement file, but its content is that of a netlist")
    files: list[Path] = []
    for path in given:
        if path.is_dir():
            files += _files_of_folder(path)
        elif path.is_file():
            files.append(path)
        elif path.exists():
            raise InputError(f"{path}: is neither a file nor a folder, but a device, pipe or socket; {SUPPORTED}")
        else:
            raise InputError(f"{path}: no such file or folder")
    if not files and not plc:
        raise InputError(f"no files given; {SUPPORTED}")
    parts: list[Path] = []
    plcs: list[Path] = []
    rules: list[Path] = []
    for path in files:
        if plc is not None and path == plc:
            continue
        stem = path.name.lower().removesuffix(".gz")
        if other := _OTHER_FORMATS.get(Path(stem).suffix):
            raise InputError(f"{path.name}: {other} is not a format read here; {SUPPORTED}")
        if path.stat().st_size == 0:
            raise InputError(f"{path.name}: the file is empty; {SUPPORTED}")
        if stem.endswith(".json") or looks_like_json(path, limits):
            if not is_constraints(read_source(path, limits)):
                raise InputError(
                    f'{path.name}: this JSON does not say "format": "{FORMAT}", the only one read here; {SUPPORTED}'
                )
            rules.append(path)
            continue
        is_plc = looks_like_plc(path, limits)
        if stem.endswith(".plc") and not is_plc:
            raise ParseError(path, 0, "is named .plc, but holds no row 'node_index x y orientation fixed'")
        if stem.endswith((".pb.txt", ".pbtxt")) and is_plc:
            raise ParseError(path, 0, "is named as a netlist, but its content is that of a .plc placement file")
        (plcs if is_plc else parts).append(path)
    if plc is None and plcs:
        plcs.sort(key=lambda path: (not path.name.lower().startswith("initial.plc"), natural_key(path.name)))
        plc = plcs[0]
        if len(plcs) > 1:
            others = ", ".join(path.name for path in plcs[1:])
            warnings.append(f"several .plc files: {plc.name} is the start, left unread: {others}")
    if not parts:
        raise InputError(f"no netlist among {', '.join(path.name for path in files) or 'the files'}; {SUPPORTED}")
    parts.sort(key=lambda path: (natural_key(path.name), str(path)))
    rules.sort(key=lambda path: natural_key(path.name))
    return parts, plc, rules


def _files_of_folder(folder: Path) -> list[Path]:
    """Its *.plc and netlists; where some are called netlist*, those only."""
    files = [path for path in folder.iterdir() if path.is_file()]
    netlists = [path for path in files if re.search(r"\.(pb\.txt|pbtxt)(\.gz)?$", path.name, re.I)]
    named = [path for path in netlists if path.name.lower().startswith("netlist")]
    if not netlists:
        endings = tuple(suffix for family in FAMILIES for suffix in family.suffixes)
        named = [path for path in files if path.name.lower().removesuffix(".gz").endswith(endings)]
    if not named and not netlists:
        raise InputError(f"{folder}: holds no *.pb.txt or *.pb.txt.gz, and no files of another format; {SUPPORTED}")
    others = [path for path in files if re.search(r"\.plc(\.gz)?$", path.name, re.I) or FILE_NAME.search(path.name)]
    return (named or netlists) + others


def natural_key(name: str) -> list[tuple[int, str]]:
    """Sort key of file names by which part2 comes before part10."""
    return [(int(piece), "") if piece.isdecimal() else (0, piece) for piece in re.split(r"(\d+)", name)]


def _name(given: Sequence[Path], source: Source) -> str:
    return given[0].resolve().name if given[0].is_dir() else source.stem


def _require_hard_macros(parsed: ParsedNetlist) -> None:
    counts = parsed.netlist.counts()
    if counts["hard_macros"]:
        return
    netlist = parsed.netlist
    largest = np.argsort(-netlist.width_um * netlist.height_um, kind="stable")[:10]
    shown = ", ".join(
        f"'{netlist.node_name[node]}' ({NodeKind(netlist.node_kind[node]).name.lower().replace('_', ' ')},"
        f" {netlist.width_um[node]:g} x {netlist.height_um[node]:g} µm)"
        for node in largest
    )
    of = ", ".join(
        f"{counts[key]:,} {key.replace('_', ' ')}" for key in ("soft_macros", "ports", "cells", "pins", "nets")
    )
    raise InputError(f"no hard macros to place. Rule: {parsed.hard_macro_rule}. Found {of}. Largest nodes: {shown}")


def _design(name: str, parsed: ParsedNetlist, file: PlcFile | None, plc: Path | None, warnings: list[str]) -> Design:
    netlist = parsed.netlist
    derived: dict[str, str] = dict(parsed.derived)
    values = {**parsed.canvas, **(file.values if file else {})}
    warnings += parsed.warnings
    if file and plc:
        _check_canvas(parsed, file, plc)
    if "width_um" not in values:
        values["width_um"], values["height_um"], rule = derive.canvas_size(parsed)
        derived["canvas"] = f"{values['width_um']:g} x {values['height_um']:g} µm: {rule}"
    if "columns" not in values:
        values["columns"], values["rows"], rule = derive.grid(netlist, values["width_um"], values["height_um"])
        derived["grid"] = f"{values['columns']} x {values['rows']} cells: {rule}"
    for field in fields(Canvas):
        if field.name not in values:
            derived[field.name] = f"{field.default:g}: Circuit Training's published default"
    canvas = Canvas(**values)  # type: ignore[arg-type]
    if file:
        start = _with_cells(parsed, file.placement, canvas, derived)
        has_start = not any(re.match(r"#\s*Start\s*:\s*made up\s*$", line) for line in file.header)
        warnings += file.warnings
    else:
        x, y, has_start, rule = derive.start_positions(parsed, canvas.width_um, canvas.height_um)
        if rule:
            derived["start"] = rule
        if parsed.has_start is not None:
            has_start = parsed.has_start
        fixed = netlist.node_kind == NodeKind.PORT if parsed.fixed is None else parsed.fixed
        start = Placement(x_um=x, y_um=y, orientation=parsed.orientation, fixed=fixed)
        derived.setdefault("fixed", "ports fixed, macros free: no .plc was given")
    warnings += _outside(netlist, start, canvas) if has_start else []
    return Design(
        name=name,
        netlist=netlist,
        canvas=canvas,
        start=start,
        blockages_um=np.array(file.blockages_um if file else parsed.blockages_um, dtype=np.float64).reshape(-1, 4),
        derived=derived,
        warnings=tuple(warnings),
        plc_header=tuple(file.header) if file else (),
        database=(_database(file, plc) if file and plc else None) or parsed.database,
        has_start=has_start,
        origin_um=parsed.origin_um,
        constraints=parsed.constraints,
        rows=parsed.rows,
        findings=replace(parsed.findings, unplaced=_unplaced(parsed, file is not None, has_start)),
    )


def _unplaced(parsed: ParsedNetlist, placed: bool, has_start: bool) -> BoolArray | None:
    """Nodes that no file gives a place (`Findings`); None: all have one. `placed`: a .plc places all."""
    if placed or parsed.has_start is not None:
        return None if has_start else np.ones(parsed.netlist.node_count, dtype=np.bool_)
    unplaced = ~(np.isfinite(parsed.x_um) & np.isfinite(parsed.y_um))  # places of the others are hints
    return unplaced if unplaced.any() else None


def _check_canvas(parsed: ParsedNetlist, file: PlcFile, plc: Path) -> None:
    """A .plc must have the canvas that the netlist's own files give, if they give one."""
    for key in ("width_um", "height_um"):
        own, other = parsed.canvas.get(key), file.values.get(key)
        if own is not None and other is not None and abs(own - other) > 1e-6 * own:
            raise MismatchError(
                f"{plc.name}: its canvas has a {key.removesuffix('_um')} of {other:g} µm, the netlist's files give"
                f" {own:g} µm; this .plc belongs to another netlist"
            )


def _database(file: PlcFile, plc: Path) -> Database | None:
    """The layout database that a .plc made from LEF/DEF is to be taken back to: two lines of its header."""
    header = "\n".join(file.header)
    units = re.search(r"^#\s*Database units per micron\s*:\s*(\d{1,7})\s+Grid\s*:\s*(\d{1,7})\s*$", header, re.M)
    origin = re.search(r"^#\s*Database origin\s*:\s*(-?\d{1,12})\s+(-?\d{1,12})\s*$", header, re.M)
    if "# Database" not in header:
        return None
    if units is None or origin is None or int(units[1]) < 1 or int(units[2]) < 1:
        raise ParseError(
            plc,
            0,
            "header: the lines 'Database units per micron : U  Grid : G' and 'Database origin : X Y' go together,"
            " with whole numbers, U and G at least 1",
        )
    return Database(units_per_um=int(units[1]), grid=int(units[2]), origin_x=int(origin[1]), origin_y=int(origin[2]))


def _with_cells(parsed: ParsedNetlist, placement: Placement, canvas: Canvas, derived: dict[str, str]) -> Placement:
    """Cells that a .plc leaves out stay where the netlist has them."""
    missing = ~np.isfinite(placement.x_um)
    if not missing.any():
        return placement
    x, y, _, rule = derive.start_positions(parsed, canvas.width_um, canvas.height_um)
    derived["cells"] = "positions of standard cells from the netlist: the .plc has none" + (f"; {rule}" if rule else "")
    return placement.moved(x_um=np.where(missing, x, placement.x_um), y_um=np.where(missing, y, placement.y_um))


def _outside(netlist: Netlist, start: Placement, canvas: Canvas) -> list[str]:
    """A warning that names hard macros of the start beyond the canvas: the start is a hint only."""
    width, height = oriented_size_um(netlist.width_um, netlist.height_um, start.orientation)
    beyond = np.maximum(
        np.maximum(width / 2 - start.x_um, start.x_um + width / 2 - canvas.width_um),
        np.maximum(height / 2 - start.y_um, start.y_um + height / 2 - canvas.height_um),
    )
    # 1e-6 µm: what .plc files of three decimals and sums of halves may be off by without meaning it
    out = np.flatnonzero((netlist.node_kind == NodeKind.HARD_MACRO) & (beyond > 1e-6))
    if not len(out):
        return []
    shown = ", ".join(f"'{netlist.node_name[node]}' by {beyond[node]:.4g} µm" for node in out[:10])
    more = f" and {len(out) - 10:,} more" if len(out) > 10 else ""
    return [f"the start has {len(out):,} hard macros beyond the canvas, so it is a hint only: {shown}{more}"]
