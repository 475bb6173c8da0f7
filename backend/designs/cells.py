"""Whether a design has standard cells that a job could place, and a file to write them into."""

from __future__ import annotations

from pathlib import Path

from backend.core.errors import UnprocessableError
from backend.core.tables import DesignRow
from netlists.files import DEFAULT_LIMITS
from netlists.sources import own_formats


def require_cells(data: Path, row: DesignRow) -> None:
    """Raises UnprocessableError `no-cells-to-place`. data: the data folder · row: of a design that is ready."""
    counts = (row.facts.get("preview") or {}).get("counts", {})
    why = None
    if not counts.get("cells"):
        why = "it has no standard cells, or only those of soft macros; cells are placed in flat designs"
    elif counts.get("soft_macros"):
        why = f"it has {counts['soft_macros']:,} soft macros, in which its cells are clustered already"
    else:
        files = [data / "designs" / row.id / "files" / file["stored"] for file in row.files]
        if not {"def", "pl"} & set(own_formats(files, DEFAULT_LIMITS)):
            why = "places of cells are written into a DEF or Bookshelf files, and neither is among its files"
    if why is not None:
        raise UnprocessableError("no-cells-to-place", f"The cells of this design cannot be placed: {why}")
