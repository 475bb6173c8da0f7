"""Errors of the files that users give us. One tree, drawn here:

PlacewrightError           anything a user can act on; `str(error)` is the whole message
└── InputError             the input is wrong (command line exit code 2, HTTP 422)
    ├── ParseError         a file breaks its format's rules at a line
    ├── MismatchError      two files do not belong together (.plc of another netlist)
    └── InfeasibleError    no legal placement can exist; the message holds the numbers
"""

from __future__ import annotations

from pathlib import Path


class PlacewrightError(Exception):
    """Base of every error with a message meant for the user."""


class InputError(PlacewrightError):
    """The input cannot be used as it is."""


class MismatchError(InputError):
    """Two files that must describe the same design do not."""


class InfeasibleError(InputError):
    """No legal placement exists; says which bound is broken, with the numbers."""


class ParseError(InputError):
    """A file breaks its format: `file:line: message`, and the line's text where that helps."""

    def __init__(self, path: Path | str, line: int, message: str, text: str = "") -> None:
        self.path, self.line, self.reason, self.text = str(path), line, message, text
        where = f"{Path(path).name}:{line}" if line else Path(path).name
        shown = f"\n    {text.rstrip()[:200]}" if text else ""
        super().__init__(f"{where}: {message}{shown}")
