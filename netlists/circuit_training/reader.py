"""`netlist.pb.txt` in (one file or several parts), `ParsedNetlist` out: arrays, start positions, leftovers.

One pass, in blocks: files.py → textproto.py → columns.py, then assemble.py. Called by `netlists.load` and
`netlists.samples`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from netlists.circuit_training.assemble import assemble
from netlists.circuit_training.columns import Columns
from netlists.circuit_training.exact import NodeText
from netlists.circuit_training.textproto import scan_nodes
from netlists.files import DEFAULT_LIMITS, Limits, text_blocks
from netlists.parsed import ParsedNetlist

__all__ = ["ParsedNetlist", "parse_nodes", "read_netlist"]


def read_netlist(paths: Sequence[Path], limits: Limits = DEFAULT_LIMITS, *, exact_only: bool = False) -> ParsedNetlist:
    """Reads the parts of one netlist, in the order given. Raises ParseError or InputError."""
    columns = Columns(limits)
    for path in paths:
        columns.begin(path)
        add = columns.add
        for node in scan_nodes(path, text_blocks(path, limits), columns.comment, exact_only=exact_only):
            add(node)
        columns.end()
    return assemble(columns)


def parse_nodes(nodes: Iterable[NodeText], limits: Limits = DEFAULT_LIMITS) -> ParsedNetlist:
    """The same from nodes that were never text (`netlists.samples`)."""
    columns = Columns(limits)
    columns.begin(Path("generated"))
    for node in nodes:
        columns.add(node)
    return assemble(columns)
