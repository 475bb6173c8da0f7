"""Text protobuf of a netlist: text blocks in, one `NodeText` a node out.

Two ways to the same result. Nodes in the layout that netlist writers use are taken whole by one compiled pattern;
whatever it does not match goes, one node at a time, through the exact parser (`exact.py`), which also words the errors.
The tests hold both against each other. Knows no node types. Called by `reader.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from netlists.circuit_training.exact import MAX_NODE_CHARS, ExactParser, Incomplete, NodeText
from netlists.errors import ParseError

NUMBER = r"-?[0-9]++(?:\.[0-9]*+)?(?:[eE][-+]?[0-9]++)?"
_PATIENCE_CHARS = 32 << 20  # of text kept waiting for the end of a node that may turn out to be in another layout
_CANONICAL_ATTRIBUTE = (
    r'  attr \{\n    key: "[^"\\\n]*+"\n    value \{\n'
    rf'      (?:placeholder: "[^"\\\n]*+"|f: {NUMBER})\n    \}}\n  \}}\n'
)
_CANONICAL_NODE = re.compile(
    r'[ \n]*+node \{\n  name: "([^"\\\n]*+)"\n'
    r'((?:  input: "[^"\\\n]*+"\n)*+)'
    rf"((?:{_CANONICAL_ATTRIBUTE})*+)\}}\n"
)
# Run over text that the pattern above has accepted: it need not check, only take.
_TAKE_ATTRIBUTES = re.compile(r'key: "([^"]*+)"\n    value \{\n      (placeholder|f): "?([^"\n]*+)').findall


def scan_nodes(
    path: Path,
    blocks: Iterable[str],
    on_comment: Callable[[str], None] = lambda text: None,
    *,
    exact_only: bool = False,
) -> Iterator[NodeText]:
    """The nodes of one file, in order. Memory: one block and the longest node.

    `on_comment` gets the text of comments between nodes. `exact_only` leaves the pattern unused (for the tests).
    Raises ParseError with the line where the text breaks the format.
    """
    text, pos, line = "", 0, 1
    waiting: list[str] = []
    wanted = 0  # characters to wait for before the next try
    for block, final in _with_last(blocks):
        waiting.append(block)
        wanted -= len(block)
        if wanted > 0 and not final:
            continue
        text = "".join([text[pos:], *waiting])
        waiting.clear()
        pos = 0
        while True:
            match = None if exact_only else _CANONICAL_NODE.match(text, pos)
            if match is not None:
                name, inputs, attributes = match.groups()
                line += text.count("\n", pos, match.start(1))
                yield NodeText(name, inputs.split('"')[1::2] if inputs else [], _TAKE_ATTRIBUTES(attributes), line)
                pos = match.end()
                line += text.count("\n", match.start(1), pos)
                continue
            exact = ExactParser(path, text, pos, line, final, on_comment)
            try:
                if not final and _is_cut_short(text, pos):
                    raise Incomplete
                node = exact.node()
            except Incomplete:
                # The next try sees twice as much text, so that one long node costs linear time.
                wanted = len(text) - pos
                if wanted > MAX_NODE_CHARS:
                    raise ParseError(path, line, f"a node longer than {MAX_NODE_CHARS:,} characters") from None
                break
            pos, line = exact.pos, exact.line
            if node is None:
                break
            yield node


def _is_cut_short(text: str, pos: int) -> bool:
    """Whether the rest looks like the usual layout without its end: not worth a try by the exact parser."""
    return len(text) - pos < _PATIENCE_CHARS and text.startswith("node {\n", pos) and text.find("\n}", pos) < 0


def _with_last(blocks: Iterable[str]) -> Iterator[tuple[str, bool]]:
    for block in blocks:
        yield block, False
    yield "", True
