"""What a Verilog file says, as data: modules with nets, instances and assigns, not yet flattened."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from netlists.verilog.tokens import Line

MAX_BITS = 1 << 20  # of one net or expression


class Select(NamedTuple):
    """name[msb:lsb], or the whole of `name` where msb is None."""

    name: str
    msb: int | None = None
    lsb: int | None = None


@dataclass(frozen=True, slots=True)
class Constant:
    bits: str  # 0 1 x z, most significant first


@dataclass(frozen=True, slots=True)
class Concatenation:
    parts: tuple[Expression, ...]  # most significant first
    repeat: int = 1


Expression = Select | Constant | Concatenation


class Instance(NamedTuple):
    """One instance. A connection's pin is '' where it is positional; its expression None where nothing is connected."""

    master: str
    name: str
    connections: tuple[tuple[str, Expression | None], ...]
    line: Line


@dataclass(eq=False)
class Module:
    name: str
    path: Path
    line: int
    ports: list[str] = field(default_factory=list)  # in the order of the header
    direction: dict[str, str] = field(default_factory=dict)  # port -> input, output, inout
    nets: dict[str, tuple[int, int] | None] = field(default_factory=dict)  # name -> (msb, lsb); None = one bit
    instances: list[Instance] = field(default_factory=list)
    assigns: list[tuple[Expression, Expression, Line]] = field(default_factory=list)  # left, right, line
