"""Constraints from JSON: a side file, or the object of a job. Schema and meaning: docs/constraints.md.

In: a design without them, and sources in order (later ones override earlier ones, key by key and macro by macro).
Out: the design with them. Raises ParseError (of a file) or InputError that names line, thing, value found and values
allowed. Called by `netlists.load`. Knows nothing of legality: whether rules can be met is `check_feasible`'s to say.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from netlists.constraints import ANY_OF_ITS_CLASS, NO_REGION
from netlists.constraints_json.located import located, parse_located
from netlists.constraints_json.reader import Reader, Source
from netlists.constraints_json.state import FORMAT, State
from netlists.errors import ParseError
from netlists.files import DEFAULT_LIMITS, Limits, atomic_text, text_blocks
from netlists.model import Design, NodeKind

__all__ = [
    "FILE_NAME",
    "FORMAT",
    "constraint_counts",
    "constraints_json",
    "is_constraints",
    "looks_like_json",
    "object_source",
    "plain_constraints",
    "read_source",
    "with_constraints",
    "write_constraints",
]

MAX_CHARACTERS = 64 << 20  # of a side file; some hundred bytes a macro are plenty
FILE_NAME = re.compile(r"(^|\.)constraints\.json(\.gz)?$", re.I)


def read_source(path: Path, limits: Limits = DEFAULT_LIMITS) -> Source:
    """A side file's content, not yet looked at. Raises ParseError, InputError."""
    text, size = [], 0
    for block in text_blocks(path, limits):
        text.append(block)
        size += len(block)
        if size > MAX_CHARACTERS:
            raise ParseError(path, 0, f"a constraints file has at most {MAX_CHARACTERS:,} characters")
    return Source(path, parse_located(path, "".join(text)))


def object_source(content: Mapping[str, Any]) -> Source:
    """The constraints of a job."""
    return Source(None, located(dict(content)))


def plain_constraints(path: Path | None) -> dict[str, Any] | None:
    """The JSON object of a side file, for a job to carry; None without a file."""
    return None if path is None else read_source(path).content.plain()


def looks_like_json(path: Path, limits: Limits = DEFAULT_LIMITS) -> bool:
    """Whether a file's first character is that of a JSON object or array."""
    for block in text_blocks(path, limits):
        if text := block.lstrip():
            return text[0] in "{["
    return False


def is_constraints(source: Source) -> bool:
    """Whether a JSON file says by its `format` or its name that it holds constraints."""
    content = source.content.value
    stated = content.get("format") if isinstance(content, dict) else None
    return stated.value == FORMAT if stated else bool(source.path and FILE_NAME.search(source.path.name))


def with_constraints(design: Design, sources: Sequence[Source]) -> Design:
    """The design under these constraints, those it has already included. Raises InputError."""
    if not sources:
        return design
    state = State(design)
    for source in sources:
        Reader(state, source).read()
    return state.design_with()


def constraints_json(design: Design) -> dict[str, Any] | None:
    """The design's constraints as the object of a side file; None if it has none."""
    if design.constraints is None:
        return None
    return dict(design.constraints.source) or State(design).source()


def write_constraints(path: Path, design: Design) -> bool:
    """Write the design's constraints as one side file; False, and nothing written, if it has none."""
    content = constraints_json(design)
    if content is None:
        return False
    with atomic_text(path) as file:
        file.write(json.dumps(content, indent=1, allow_nan=False) + "\n")
    return True


def constraint_counts(design: Design) -> dict[str, int]:
    """What the preview of a design shows: how many macros and rectangles rules are about."""
    rules, hard = design.constraints, design.netlist.node_kind == NodeKind.HARD_MACRO
    counts = {
        "fixed_macros": int(np.count_nonzero(design.start.fixed & hard)),
        "macros_with_halo": 0,
        "macros_in_regions": 0,
        "macros_with_orientations": 0,
        "macros_off_boundary": 0,
        "regions": 0,
        "blockages": len(design.blockages_um),
    }
    if rules is not None:
        counts["macros_with_halo"] = int(np.count_nonzero(rules.halo_um.any(axis=1) & hard))
        counts["macros_in_regions"] = int(np.count_nonzero((rules.region != NO_REGION) & hard))
        counts["macros_with_orientations"] = int(np.count_nonzero((rules.orientations != ANY_OF_ITS_CLASS) & hard))
        counts["macros_off_boundary"] = int(np.count_nonzero((rules.boundary_spacing_um > 0) & hard))
        counts["regions"] = len(rules.regions_um)
    return counts
