"""One key for one instance, however a file spells its name.

`t.abc\\[0\\].ram` (DEF), `t.abc[0].ram` (constraints, protobuf) and `t/abc\\[1\\]/ram`, `t/abc[1]/ram` are two
instances, not four.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from netlists.errors import InputError

_ESCAPED = re.compile(r"\\(.)", re.S)


def canonical(name: str, divider: str = "/", bus_bits: str = "[]") -> str:
    """The name without escapes, with `/` between levels of hierarchy and `[]` around bus bits.

    An escaped divider or bus bit is a plain character of the name and stays itself; only unescaped ones are exchanged.
    """
    if divider == "/" and bus_bits == "[]":
        return _ESCAPED.sub(r"\1", name) if "\\" in name else name
    exchange = {divider: "/"}
    if len(bus_bits) == 2:
        exchange |= {bus_bits[0]: "[", bus_bits[1]: "]"}
    pieces = _ESCAPED.split(name)  # plain text at even places, escaped characters at odd ones
    for at in range(0, len(pieces), 2):
        pieces[at] = "".join(exchange.get(character, character) for character in pieces[at])
    return "".join(pieces)


def by_key(names: Iterable[str], divider: str, bus_bits: str, what: str) -> dict[str, int]:
    """Key -> position in `names`. Raises InputError where two names have one key."""
    result: dict[str, int] = {}
    spelled: dict[str, str] = {}
    for number, name in enumerate(names):
        key = canonical(name, divider, bus_bits)
        if key in result:
            raise InputError(
                f"{what} '{spelled[key]}' and '{name}' differ in escapes only, so that '{key}' is ambiguous"
            )
        result[key], spelled[key] = number, name
    return result
