"""Where a design's files are below the data folder."""

from __future__ import annotations

from pathlib import Path

CLUSTERED = "clustered"  # folder of a design: its files with the cells clustered, where they were


def clustered_folder(data: Path, design_id: str) -> Path:
    return data / "designs" / design_id / CLUSTERED


def clustered_files(data: Path, design_id: str) -> tuple[Path, ...]:
    """The files that a flat design was clustered into when it was read; none where it was not.

    Arrays beside them (which cell is in which soft macro) are no files of the design.
    """
    folder = clustered_folder(data, design_id)
    return tuple(sorted(path for path in folder.iterdir() if path.suffix != ".npy")) if folder.is_dir() else ()
