"""Columns of a netlist's nodes into the model's arrays, and the checks that need all nodes.

In: `Columns`, complete. Out: `ParsedNetlist`; or ParseError for duplicate names, sizes that are none, sinks and macros
that do not exist. Everything by arrays: a netlist of 100,000 nodes takes milliseconds. Called by `reader.py`.
"""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from netlists.circuit_training.columns import PIN_KIND, Columns
from netlists.errors import ParseError
from netlists.model import BoolArray, FloatArray, IntArray, Netlist, NodeKind
from netlists.parsed import ParsedNetlist

MAX_UM = 1e9  # a kilometre: keeps areas and sums far from overflow
_SHOWN = 10  # offenders listed in a message


def assemble(columns: Columns) -> ParsedNetlist:
    """Checks and arrays. Raises ParseError with file and line of the first offender."""
    assembler = _Assembler(columns)
    assembler.check_duplicates()
    assembler.check_numbers()
    return assembler.parsed()


class _Assembler:
    """The columns as arrays, and what is made of them. R nodes of the files."""

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self.kind = np.array(columns.kind, dtype=np.int8)
        self.symbol = np.array(columns.symbol, dtype=np.int32)
        self.owner = np.array(columns.owner, dtype=np.int32)
        self.sinks = np.array(columns.sinks, dtype=np.int32)
        self.sink_start = np.concatenate([[0], np.array(columns.sink_end, dtype=np.int64)])
        self.width, self.height = np.array(columns.width), np.array(columns.height)
        self.x, self.y = np.array(columns.x), np.array(columns.y)
        self.weight = np.array(columns.weight)
        self.names = tuple(columns.symbols)  # by symbol
        self.number = np.full(len(self.names), -1, dtype=np.int32)  # symbol -> node of the files, -1 = no such node
        self.number[self.symbol[::-1]] = np.arange(len(self.symbol), dtype=np.int32)[::-1]

    def name(self, number: int) -> str:
        return self.names[self.symbol[number]]

    def check_duplicates(self) -> None:
        again = np.flatnonzero(self.number[self.symbol] != np.arange(len(self.symbol)))
        if len(again):
            second = int(again[0])
            path, line = self.columns.where(int(self.number[self.symbol[second]]))
            here, here_line = self.columns.where(second)
            first = f"line {line}" if path == here else f"{path.name} line {line}"
            raise ParseError(here, here_line, f"node '{self.name(second)}' is defined a second time; first at {first}")

    def check_numbers(self) -> None:
        sized = (self.kind != PIN_KIND) & (self.kind != NodeKind.PORT)
        for key, values in (("width", self.width), ("height", self.height)):
            self._refuse(
                sized & ~((values > 0) & (values <= MAX_UM)), key, values, f"above 0 and at most {MAX_UM:g} µm"
            )
        for key, values in (("x_offset", self.width), ("y_offset", self.height)):
            bad = (self.kind == PIN_KIND) & ~(np.abs(values) <= MAX_UM)
            self._refuse(bad, key, values, f"a number of at most {MAX_UM:g} µm")
        for key, values in (("x", self.x), ("y", self.y)):  # NaN and inf count as not given
            bad = np.isfinite(values) & (np.abs(values) > MAX_UM)
            self._refuse(bad, key, values, f"a number of at most {MAX_UM:g} µm")
        bad = ~((self.weight >= 0) & (self.weight <= MAX_UM))
        self._refuse(bad, "weight", self.weight, f"0 or more and at most {MAX_UM:g}")

    def _refuse(self, bad: BoolArray, key: str, values: FloatArray, wanted: str) -> None:
        if bad.any():
            number = int(np.flatnonzero(bad)[0])
            path, line = self.columns.where(number)
            more = f" ({np.count_nonzero(bad):,} nodes like this)" if np.count_nonzero(bad) > 1 else ""
            raise ParseError(
                path, line, f"node '{self.name(number)}': {key} is {values[number]:g}, must be {wanted}{more}"
            )

    def parsed(self) -> ParsedNetlist:
        placed = np.flatnonzero(self.kind != PIN_KIND)
        node_of = np.full(len(self.kind), -1, dtype=np.int32)
        node_of[placed] = np.arange(len(placed), dtype=np.int32)
        has_pin = (self.kind != NodeKind.HARD_MACRO) & (self.kind != NodeKind.SOFT_MACRO)
        pins = np.flatnonzero(has_pin)
        pin_of = np.full(len(self.kind), -1, dtype=np.int32)
        pin_of[pins] = np.arange(len(pins), dtype=np.int32)
        is_macro_pin = self.kind[pins] == PIN_KIND
        net_start, net_pin, drivers = self._nets(pin_of)
        used = np.zeros(len(pins), dtype=np.bool_)
        used[net_pin] = True
        kind = self.kind[placed]
        netlist = Netlist(
            node_name=tuple(self.names[symbol] for symbol in self.symbol[placed]),
            node_kind=kind,
            node_index=placed,
            width_um=self.width[placed],
            height_um=self.height[placed],
            port_side=np.array(self.columns.side, dtype=np.int8)[placed],
            pin_name=tuple(self.names[symbol] for symbol in self.symbol[pins]),
            pin_node=node_of[self._macros(pins, is_macro_pin)],
            pin_dx_um=np.where(is_macro_pin, self.width[pins], 0.0),
            pin_dy_um=np.where(is_macro_pin, self.height[pins], 0.0),
            net_start=net_start,
            net_pin=net_pin,
            net_weight=self.weight[drivers],
            drivers_without_sinks=int(np.count_nonzero(~used)),
            extra_attributes=self.columns.extra,
        )
        return ParsedNetlist(
            netlist=netlist,
            x_um=self.x[placed],
            y_um=self.y[placed],
            orientation=np.array(self.columns.orientation, dtype=np.int8)[placed],
            comments=tuple(self.columns.comments),
        )

    def _macros(self, pins: IntArray, is_macro_pin: BoolArray) -> IntArray:
        """Per pin the node of the files that it belongs to: its macro, or itself for a port or cell."""
        result = pins.copy()
        owner = self.number[self.owner[pins[is_macro_pin]]]
        is_macro = (owner >= 0) & (self.kind[owner] <= NodeKind.SOFT_MACRO)
        if not is_macro.all():
            number = int(pins[is_macro_pin][~is_macro][0])
            path, line = self.columns.where(number)
            name = self.names[self.owner[number]]
            raise ParseError(path, line, f"node '{self.name(number)}': macro_name '{name}' names no macro")
        result[is_macro_pin] = owner
        return result

    def _nets(self, pin_of: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """(E+1,) starts, (K,) pins with the driver first, (E,) nodes of the files that drive."""
        count = np.diff(self.sink_start)
        sink_number = self.number[self.sinks]
        sink_pin = np.where(sink_number >= 0, pin_of[sink_number], -1)
        if len(bad := np.flatnonzero(sink_pin < 0)):
            self._refuse_sinks(bad, sink_number)
        drivers = np.flatnonzero(count).astype(np.int32)
        net_start = np.concatenate([[0], np.cumsum(count[drivers] + 1)])
        net_pin = np.empty(net_start[-1], dtype=np.int32)
        is_driver = np.zeros(len(net_pin), dtype=np.bool_)
        is_driver[net_start[:-1]] = True
        net_pin[is_driver] = pin_of[drivers]
        net_pin[~is_driver] = sink_pin
        return net_start, net_pin, drivers

    def _refuse_sinks(self, bad: IntArray, sink_number: IntArray) -> NoReturn:
        drivers = np.searchsorted(self.sink_start, bad, side="right") - 1
        shown = []
        for at, driver in zip(bad[:_SHOWN], drivers[:_SHOWN], strict=True):
            why = "is a macro, not a pin" if sink_number[at] >= 0 else "does not exist"
            where, line = self.columns.where(int(driver))
            shown.append(
                f"'{self.name(int(driver))}' ({where.name}:{line}) drives '{self.names[self.sinks[at]]}', which {why}"
            )
        path, line = self.columns.where(int(drivers[0]))
        more = f"; and {len(bad) - _SHOWN:,} more" if len(bad) > _SHOWN else ""
        raise ParseError(path, line, f"{len(bad):,} sinks cannot be connected: {'; '.join(shown)}{more}")
