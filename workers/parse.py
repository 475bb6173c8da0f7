"""Reads one design's uploaded files: `python -m workers.parse --design ID`, started by the task `parse_design`.

Limits its own memory before anything else, checks what gzip files inflate to, reads the netlist, and stores counts,
canvas, warnings, costs of the start and the drawing's geometry; or the reason why not, in the client's file names.
"""

from __future__ import annotations

import argparse
import logging
import resource
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from backend.core import logs
from backend.core.config import Settings, get_settings
from backend.core.db import Database
from backend.designs import service
from netlists.errors import InputError
from workers.processes import die_with_parent

if TYPE_CHECKING:
    from netlists.model import Design
    from netlists.options import Options

log = logging.getLogger("placewright.parse")

MAX_SHOWN = 200  # warnings and problems stored; more says nothing more


def limit_memory(limit_bytes: int) -> None:
    """Allocations beyond the limit fail in this process, instead of the machine's memory running out."""
    resource.setrlimit(resource.RLIMIT_AS, (limit_bytes, limit_bytes))


def check_inflated_sizes(paths: Sequence[Path], settings: Settings) -> None:
    """Raises InputError if the files together inflate to more than the limit; nothing is kept while counting."""
    from netlists.files import Limits, read_blocks

    limits = Limits(max_inflated_bytes=settings.max_inflated_bytes, max_ratio=settings.max_ratio)
    total = 0
    for path in paths:
        for block in read_blocks(path, limits):
            total += len(block)
            if total > settings.max_inflated_bytes:
                raise InputError(f"the files inflate to more than the limit of {settings.max_inflated_bytes:,} bytes")


def read_design(paths: Sequence[Path], name: str, settings: Settings, reading: Options | None = None) -> Design:
    """The design in the files, known to be placeable. Raises InputError."""
    from netlists.files import Limits
    from netlists.load import load_design
    from placement.legal import check_feasible

    check_inflated_sizes(paths, settings)
    limits = Limits(max_inflated_bytes=settings.max_inflated_bytes, max_ratio=settings.max_ratio)
    design = load_design(paths, limits=limits, name=name, options=reading)
    check_feasible(design)
    return design


def preview_of(design: Design) -> dict[str, Any]:
    """PreviewRead of a design as it was read, not yet clustered."""
    from netlists.constraints_json.file import constraint_counts
    from netlists.model import NodeKind

    counts, rules, found = design.netlist.counts(), constraint_counts(design), design.findings
    locked = rules["fixed_macros"]
    hard = design.netlist.node_kind == NodeKind.HARD_MACRO
    free = 0 if found.unplaced is None else int((hard & found.unplaced & ~design.start.fixed).sum())
    return {
        "counts": {**counts, "fixed": int(design.start.fixed.sum())},
        "macros": {
            "locked": locked,
            "hint": counts["hard_macros"] - locked - free,
            "free": free,
        },
        "units_per_um": design.database.units_per_um if design.database else None,
        "grid_um": design.database.grid / design.database.units_per_um if design.database else None,
        "die_um": [list(corner) for corner in found.die_um],
        "rectilinear": len(found.die_um) > 4,
        "blockages": rules["blockages"],
        "macros_with_halo": rules["macros_with_halo"],
        "macro_height": found.macro_height,
        "node_heights": [{"height": height, "nodes": nodes} for height, nodes in found.node_heights],
    }


def facts_of(design: Design) -> dict[str, Any]:
    """What DesignRead shows of a design."""
    from backend.designs.layout import canvas_read
    from placement.cost import evaluate
    from placement.legal import check

    costs, problems = None, []
    if design.has_start:
        costs = evaluate(design, design.start).as_dict()
        costs = {name: costs[name] for name in service.COST_NAMES}
        problems = check(design, design.start).problems()
    return {
        "counts": {**design.netlist.counts(), "fixed": int(design.start.fixed.sum())},
        "canvas": canvas_read(design).model_dump(),
        "derived": dict(design.derived),
        "constraints": _constraints_of(design),
        "warnings": _shown(design.warnings),
        "start_costs": costs,
        "start_problems": _shown(problems),
    }


def _constraints_of(design: Design) -> dict[str, Any]:
    from netlists.constraints_json.file import constraint_counts

    spacing_um = 0.0 if design.constraints is None else design.constraints.macro_spacing_um
    return {**constraint_counts(design), "macro_spacing_um": spacing_um}


def _shown(lines: Sequence[str]) -> list[str]:
    more = [f"… and {len(lines) - MAX_SHOWN:,} more"] if len(lines) > MAX_SHOWN else []
    return [*lines[:MAX_SHOWN], *more]


def with_given_names(value: Any, files: Sequence[tuple[Path, str]]) -> Any:
    """The same texts with the client's file names in place of ours."""
    if isinstance(value, str):
        for path, name in files:
            value = value.replace(str(path), name).replace(path.name, name)
        return value
    if isinstance(value, list):
        return [with_given_names(item, files) for item in value]
    if isinstance(value, dict):
        return {key: with_given_names(item, files) for key, item in value.items()}
    return value


def parse(database: Database, settings: Settings, design_id: str) -> None:
    """Read the design and store the outcome, whichever it is."""
    from backend.designs.folders import clustered_folder
    from backend.designs.layout import write_layout
    from workers.layout_files import clustered

    files = service.stored_files(database, settings.data, design_id)
    name = service.given_name(database, design_id)
    reading = service.reading_options(database, design_id)
    try:
        design = read_design([path for path, _ in files], name, settings, reading)
        preview = preview_of(design)
        design, _ = clustered(design, clustered_folder(settings.data, design_id), reading=reading)
        facts = with_given_names({**facts_of(design), "preview": preview}, files)
        write_layout(service.design_folder(settings.data, design_id), design, design.start)
    except InputError as error:
        error_text = with_given_names(str(error), files)
    except MemoryError:
        gib = settings.parse_memory_bytes / (1 << 30)
        error_text = f"Reading the files needs more than the limit of {gib:.3g} GiB of memory"
    else:
        service.finish_parsing(database, design_id, facts)
        return
    service.fail_parsing(database, settings.data, design_id, error_text)


def main() -> int:
    parser = argparse.ArgumentParser(description="Read the files of one design (started by the service).")
    parser.add_argument("--design", required=True)
    words = parser.parse_args()
    die_with_parent()
    logs.configure()
    settings = get_settings()
    limit_memory(settings.parse_memory_bytes)
    parse(Database(settings.database_url), settings, words.design)
    return 0


if __name__ == "__main__":
    sys.exit(main())
