"""Lines of one Bookshelf file, and the refusals that all readers of this folder share.

In: a path. Out: numbered lines after the `UCLA <kind> 1.0` header. Comments start with # at a line's beginning or after
a blank. Knows no kind of line.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NoReturn

from netlists.errors import ParseError
from netlists.files import Limits, text_lines

MAX_UNITS = 1e9  # sizes and coordinates; keeps areas and sums far from overflow
_HEADER = re.compile(r"UCLA\s+(\w+)\s+\d+(?:\.\d+)*$")
_COUNT = re.compile(r"(Num\w+)\s*:\s*(\S+)$", re.I)
_SHOWN = 10


class Lines:
    """Iterates over (number, text) of the lines after the header. `count_line` notes what `Num…` lines announce."""

    def __init__(self, path: Path, kind: str, limits: Limits) -> None:
        self.path = path
        self.announced: dict[str, tuple[int, int]] = {}  # lower case name -> count, line
        self._lines = text_lines(path, limits)
        for number, line in self._lines:
            text = without_comment(line)
            if text:
                found = _HEADER.match(text)
                if not found or found[1].lower() != kind:
                    raise ParseError(path, number, f"expected the header 'UCLA {kind} 1.0'", line)
                return
        raise ParseError(path, 0, f"is empty; expected the header 'UCLA {kind} 1.0'")

    def __iter__(self) -> Iterator[tuple[int, str]]:
        return self._lines

    def count_line(self, number: int, text: str) -> bool:
        """Whether the line is 'NumXxx : n'; if so its count is noted. Raises ParseError for one that is no count."""
        found = _COUNT.match(text)
        if not found:
            return False
        name = found[1].lower()
        if not found[2].isdecimal() or len(found[2]) > 12:
            self.fail(number, f"{found[1]} is '{found[2]}', must be a whole number", text)
        if name in self.announced:
            self.fail(number, f"{found[1]} is given a second time; first at line {self.announced[name][1]}", text)
        self.announced[name] = int(found[2]), number
        return True

    def check_count(self, name: str, found: int, what: str) -> None:
        """Refuse a file whose announced count is not what was found: it may be truncated."""
        announced, line = self.announced.get(name.lower(), (found, 0))
        if announced != found:
            self.fail(line, f"{name} is {announced:,}, but the file has {found:,} {what}; is it truncated?")

    def number(self, number: int, text: str, what: str, line: str) -> float:
        """A finite number within MAX_UNITS. Raises ParseError."""
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if "_" in text or math.isnan(value):
            self.fail(number, f"{what} is '{text}', not a number", line)
        if abs(value) > MAX_UNITS:
            self.fail(number, f"{what} is {text}, must be at most {MAX_UNITS:g}", line)
        return value

    def fail(self, number: int, message: str, line: str = "") -> NoReturn:
        raise ParseError(self.path, number, message, line)


def without_comment(line: str) -> str:
    """The line without its comment and the blanks around it."""
    if "#" in line:
        line = re.sub(r"(?:^|\s)#.*", "", line)
    return line.strip()


def some(names: Sequence[str]) -> str:
    """The first ten names, and how many more."""
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return ", ".join(f"'{name}'" for name in names[:_SHOWN]) + more
