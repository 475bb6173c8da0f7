"""What a reader of any format hands to `netlists.load`: the netlist and whatever else its files say.

Fields left at their defaults are derived (`derive.py`) or stay empty. Positions are in the canvas's coordinates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from netlists.constraints import Constraints
from netlists.model import BoolArray, ByteArray, Database, Findings, FloatArray, Netlist, Row

# Circuit Training's; other formats have their own.
HARD_MACRO_RULE = "a hard macro is a node of type MACRO that has an orientation or whose name does not start with 'Grp'"


@dataclass(frozen=True, eq=False, kw_only=True)
class ParsedNetlist:
    """What the files say. Positions are NaN where they say none."""

    netlist: Netlist
    x_um: FloatArray  # (N,) centre
    y_um: FloatArray  # (N,)
    orientation: ByteArray  # (N,)
    comments: tuple[str, ...] = ()  # at most 200 of those between nodes
    fixed: BoolArray | None = None  # (N,); None = ports fixed, macros free
    canvas: Mapping[str, float] = field(default_factory=dict)  # names of `model.Canvas`
    origin_um: tuple[float, float] = (0.0, 0.0)
    rows: tuple[Row, ...] = ()
    blockages_um: tuple[tuple[float, float, float, float], ...] = ()
    has_start: bool | None = None  # None = every macro has a position
    hard_macro_rule: str = HARD_MACRO_RULE
    database: Database | None = None
    constraints: Constraints | None = None  # of formats with rules of their own
    derived: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    findings: Findings = field(default_factory=Findings)  # but for `unplaced`
