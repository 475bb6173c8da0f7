"""What a user may ask for when files are read. Each option concerns some formats; the others pass it by."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Options:
    """Of LEF/DEF, but for `macro_height`. Named as the form fields of an upload and the flags of the commands."""

    lock_placed: bool = False  # PLACED macros and cells may not be moved; default: PLACED is a hint
    missing_cells_as_points: bool = False  # cell types that no LEF defines are pins without size
    macros_on_soft_blockages: bool = False  # SOFT and PARTIAL placement blockages do not keep macros out
    macro_height: float | None = None  # Bookshelf, in its units: movable nodes higher than this are macros
