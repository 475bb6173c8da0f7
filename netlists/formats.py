"""Formats to write: for each name what it can carry of a design, and its writer. Any design to any format that can.

`FORMATS[name].write(path, design, placement, sources)` writes one file, or for a set of files the folder `path`. What a
format does not carry is listed by `losses`; a design that it cannot hold at all has a `refusal`. To add a format: an
entry here. Called by `placewright convert`; meant for the service's downloads too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from netlists.bookshelf import writer as bookshelf
from netlists.circuit_training import writer as circuit_training
from netlists.errors import InputError
from netlists.lefdef.export import export_def, export_tcl
from netlists.lefdef.load import kind_of as lefdef_kind
from netlists.lefdef.snap import snap
from netlists.model import Design, NodeKind, Placement
from netlists.pictures import gds, write_json, write_png, write_svg

Writer = Callable[[Path, Design, Placement, Sequence[Path]], None]
PICTURE_LOSS = "pins, nets, grid and routing supplies: this is a picture of the boxes"


def _plain(write: Callable[[Path, Design, Placement], None]) -> Writer:
    """A writer that needs no files but the one it writes."""
    return lambda path, design, placement, sources: write(path, design, placement)


def _nothing(design: Design) -> str | None:
    return None


@dataclass(frozen=True, kw_only=True)
class OutputFormat:
    """One format. `write` raises InputError for a design with a `refusal`, and OSError."""

    about: str
    ending: str  # of the file's name; '' for a set of files in a folder
    write: Writer  # of path, design, placement and the files that the design was read from
    losses: Callable[[Design], list[str]]  # in words; a reader gets everything else back
    refusal: Callable[[Design], str | None] = _nothing


def can_carry(name: str, design: Design) -> str | None:
    """Why this format cannot hold the design; None where it can. Raises InputError for an unknown format."""
    return format_of(name).refusal(design)


def format_of(name: str) -> OutputFormat:
    """The format of this name. Raises InputError."""
    if name not in FORMATS:
        raise InputError(f"'{name}' is not a format; formats are {', '.join(FORMATS)}")
    return FORMATS[name]


def write_design(
    name: str, path: Path, design: Design, placement: Placement, sources: Sequence[Path] = ()
) -> list[str]:
    """Writes and returns what the format did not carry. `sources`: the files read, of which a DEF is written anew.

    Raises InputError, OSError.
    """
    output = format_of(name)
    if why := output.refusal(design):
        raise InputError(f"format '{name}' cannot hold '{design.name}': {why}")
    output.write(path, design, placement, sources)
    return output.losses(design)


def _write_set(path: Path, design: Design, placement: Placement) -> None:
    Path(path).mkdir(parents=True, exist_ok=True)
    stem = "".join(character if character.isalnum() or character in "-_" else "_" for character in design.name)
    bookshelf.write_bookshelf(path, design, placement, stem or "design")


def _no_database(design: Design) -> str | None:
    return None if design.database else "it does not come from LEF/DEF, so it has no database grid to be placed on"


def _write_def(path: Path, design: Design, placement: Placement, sources: Sequence[Path]) -> None:
    defs = [source for source in sources if lefdef_kind(source) == "def"]
    if len(defs) != 1:
        raise InputError(f"format 'def' needs the DEF that the design was read from; {len(defs)} were given")
    export_def(path, defs[0], design, snap(design, placement))


def _write_tcl(path: Path, design: Design, placement: Placement, sources: Sequence[Path]) -> None:
    export_tcl(path, design, snap(design, placement))


def _plc_losses(design: Design) -> list[str]:
    lost = ["the netlist: a .plc belongs to the files that it was made from"]
    if turned := int(np.count_nonzero((design.netlist.node_kind == NodeKind.PORT) & (design.start.orientation != 0))):
        lost.append(f"orientations of {turned:,} ports")
    if design.rows:
        lost.append(f"{len(design.rows):,} rows of sites")
    return lost


FORMATS: dict[str, OutputFormat] = {
    "plc": OutputFormat(
        about="Circuit Training placement", ending=".plc", write=_plain(circuit_training.write_plc), losses=_plc_losses
    ),
    "pb": OutputFormat(
        about="Circuit Training netlist, placed",
        ending=".pb.txt",
        write=_plain(circuit_training.write_netlist),
        losses=circuit_training.losses,
        refusal=circuit_training.refusal,
    ),
    "pl": OutputFormat(
        about="Bookshelf places",
        ending=".pl",
        write=_plain(bookshelf.write_pl),
        losses=lambda design: ["everything but places, orientations and what is fixed: the other files have it"],
        refusal=bookshelf.refusal,
    ),
    "bookshelf": OutputFormat(
        about="Bookshelf, the whole set in a folder",
        ending="",
        write=_plain(_write_set),
        losses=bookshelf.losses,
        refusal=bookshelf.refusal,
    ),
    "def": OutputFormat(
        about="the DEF read, with the macros at their places",
        ending=".def",
        write=_write_def,
        losses=lambda design: ["places of everything but movable macros: the rest of the DEF is as it was read"],
        refusal=_no_database,
    ),
    "tcl": OutputFormat(
        about="OpenROAD macro placement",
        ending=".tcl",
        write=_write_tcl,
        losses=lambda design: ["everything but places and orientations of movable macros"],
        refusal=_no_database,
    ),
    "json": OutputFormat(
        about="places for scripts",
        ending=".json",
        write=_plain(write_json),
        losses=lambda design: ["pins and nets; rows"],
    ),
    "svg": OutputFormat(about="picture", ending=".svg", write=_plain(write_svg), losses=lambda design: [PICTURE_LOSS]),
    "png": OutputFormat(about="picture", ending=".png", write=_plain(write_png), losses=lambda design: [PICTURE_LOSS]),
    "gds": OutputFormat(
        about="GDSII boxes with labels",
        ending=".gds",
        write=_plain(gds.write_gds),
        losses=lambda design: ["pins, nets, grid, routing supplies and orientations; places are rounded to 1 nm"],
        refusal=gds.refusal,
    ),
}
