"""NETS of a DEF into columns. Wiring, shields and rules are passed over; what counts is who is connected to whom.

The usual layout goes by one pattern and list slices, the rest word by word. Both ways are held against each other in
the tests.
"""

from __future__ import annotations

import re
from array import array
from itertools import islice

import numpy as np

from netlists.errors import InputError, ParseError
from netlists.files import Limits
from netlists.lefdef.def_components import Interned, line_at
from netlists.lefdef.def_file import ON_PIN, Nets
from netlists.lefdef.def_walk import ITEM
from netlists.lefdef.statement import Statement
from netlists.lefdef.text import Chunk, Warnings

MAX_WEIGHT = 1e9
ANONYMOUS = 10  # nets a name, on average, from which on names are taken for ones that were blotted out
_USUAL = re.compile(
    rb"\s*+-\s++((?![;#\"])\S++)((?:\s++\(\s++(?![;#\"])[^\s()]++\s++(?![;#\"])[^\s()]++\s++\))*+)\s*+((?:[^;\\(]++|\\.|;(?=\S)|(?<=\s)\((?=\s))*+);(?=\s|\Z)",
    re.S,
)
_CONNECTIONS_AHEAD = re.compile(rb"\+")
_USE = re.compile(rb"\+\s++USE\s++(\S++)")
_WEIGHT = re.compile(rb"\+\s++WEIGHT\s++(\S++)")
_SHORT = 64  # rests of statements as short as this are looked up, not searched


class NetSection:
    """Takes the section's items; needs the components' numbers, which stand before it in a DEF."""

    def __init__(self, components: dict[bytes, int], warnings: Warnings, limits: Limits, *, exact_only: bool = False):
        self.components, self.warnings, self.limits, self.exact_only = components, warnings, limits, exact_only
        self.pin_names = Interned()
        self.uses = Interned()
        self.component, self.pin = array("i"), array("i")
        self.end_of, self.use, self.offset = array("q"), array("b"), array("q")
        self.names: list[bytes] = []
        self.weight: dict[int, float] = {}
        self.count = 0
        self.read = False
        self._known_rests: dict[bytes, int] = {}

    def begin(self, count: int, statement: Statement) -> None:
        self.count, self.read = count, True
        self.uses[b"SIGNAL"]
        if b"PIN" in self.components:
            raise InputError(f"{statement.place()}: a component is called 'PIN', so that connections are ambiguous")
        self.components[b"PIN"] = ON_PIN

    def items(self, chunk: Chunk, pos: int) -> int:
        usual, text = _USUAL.match, chunk.text
        number, pin_number = self.components.__getitem__, self.pin_names.__getitem__
        component, pin, end_of = self.component, self.pin, self.end_of
        while True:
            found = None if self.exact_only else usual(text, pos)
            if found is not None:
                name, connections, rest = found.groups()
                if not rest or rest.startswith(b"+"):
                    words = connections.split()
                    before = len(component)
                    try:
                        component.extend(map(number, words[1::4]))
                    except KeyError:
                        del component[before:]
                        found = None
                    else:
                        pin.extend(map(pin_number, words[2::4]))
                        use = self._known_rests.get(rest)
                        self.names.append(name)
                        self.offset.append(chunk.offset + pos)
                        end_of.append(len(component))
                        self.use.append(self._rest(rest, chunk, found.start(3)) if use is None else use)
                        pos = found.end()
                        continue
            item = ITEM.match(text, pos)
            if item is None:
                return pos
            self._exact(Statement(chunk, item.start(1), item.end(1), True), chunk.offset + pos)
            pos = item.end()

    def _exact(self, item: Statement, offset: int) -> None:
        name = item.take("the net's name")
        must_join = name.upper() == b"MUSTJOIN"
        while item.left() and item.peek() == b"(":
            item.take()
            component = item.take("a component or PIN")
            pin = item.take("a pin's name")
            if item.left() and item.peek() == b"+":
                item.take()
                item.expect(b"SYNTHESIZED")
            item.expect(b")")
            if component == b"*" or must_join:
                self.warnings.add("connections by wildcard or MUSTJOIN are not used", item.place)
                continue
            if component not in self.components:
                at = item.words.index(component)
                item.fail(
                    f"net '{name.decode()}' is connected to a component that COMPONENTS does not hold", item.at - at
                )
            self.component.append(self.components[component])
            self.pin.append(self.pin_names[pin])
        if item.left() and item.peek() != b"+":
            item.fail("must be '(', '+' or ';'")
        rest = b" ".join(item.words[item.at :])
        self.names.append(name)
        self.offset.append(offset)
        self.end_of.append(len(self.component))
        self.use.append(self._rest(rest, item.chunk, item.start))

    def _rest(self, rest: bytes, chunk: Chunk, pos: int) -> int:
        """The number of the net's use; notes its weight."""
        weight = _WEIGHT.search(rest)
        if weight:
            try:
                value = float(weight[1])
            except ValueError:
                value = -1.0
            if not 0 <= value <= MAX_WEIGHT:
                chunk.fail(pos, f"net '{self.names[-1].decode()}': WEIGHT must be a number from 0 to {MAX_WEIGHT:g}")
            if value != 1:
                self.weight[len(self.names) - 1] = value
        found = _USE.search(rest)
        use = self.uses[found[1].upper() if found else b"SIGNAL"]
        if use > 100:
            chunk.fail(pos, "more than 100 different uses of nets")
        if len(rest) < _SHORT and not weight and len(self._known_rests) < 10_000:
            self._known_rests[rest] = use
        return use

    def end(self, statement: Statement) -> None:
        del self.components[b"PIN"]
        if self.count != len(self.names):
            self.warnings.add(f"NETS announces {self.count:,}, but holds {len(self.names):,}")
        if len(set(self.names)) < len(self.names):
            self._used_again(statement.chunk)

    def _used_again(self, chunk: Chunk) -> None:
        """Names are to be nets' own. Public designs whose names were blotted out have a few for all nets: those are
        read.
        """
        distinct = len(set(self.names))
        first: dict[bytes, int] = {}
        second = next(net for net, name in enumerate(self.names) if first.setdefault(name, net) != net)
        name = self.names[second]
        lines = [line_at(chunk, self.offset[net], self.limits) for net in (first[name], second)]
        if len(self.names) < ANONYMOUS * distinct:
            raise ParseError(
                chunk.path, lines[1], f"net '{name.decode()}' is defined a second time; first at line {lines[0]:,}"
            )
        self.warnings.add(
            f"{distinct:,} names for {len(self.names):,} nets: they are taken for blotted out, and each statement for"
            f" a net of its own; the first name used again is '{name.decode()}', lines {lines[0]:,} and {lines[1]:,}"
        )

    def nets(self) -> Nets | None:
        """The arrays; None where the file has no such section."""
        if not self.read:
            return None
        return Nets(
            name=tuple(b"\n".join(self.names).decode().split("\n")) if self.names else (),
            start=np.concatenate([[0], np.array(self.end_of, dtype=np.int64)]),
            component=np.array(self.component, dtype=np.int32),
            pin=np.array(self.pin, dtype=np.int32),
            pin_names=tuple(name.decode() for name in self.pin_names),
            use=tuple(use.decode() for use in islice(self.uses, None)),
            net_use=np.array(self.use, dtype=np.int8),
            weight=self.weight,
        )
