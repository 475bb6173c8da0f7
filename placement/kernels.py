"""How kernels are compiled: the decorators that all of them share.

Numba compares only a kernel's own file with its cache, though the kernels and constants that it imports are compiled
into it. Here a cached kernel is valid as long as no file has changed that its own imports, directly or through others.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from numba import njit

F = TypeVar("F", bound=Callable[..., Any])

_ROOT = Path(__file__).resolve().parent.parent
_ROOMS = ("placement", "netlists")  # what a kernel may import

Stamp = tuple[tuple[str, int, int], ...]


@cache
def _imports(file: Path) -> tuple[Path, ...]:
    """The files of this repository that a file imports at its top."""

    def files(module: str) -> Iterator[Path]:
        path = _ROOT.joinpath(*module.split("."))
        if module.split(".")[0] in _ROOMS:
            yield from (p for p in (path / "__init__.py", path.with_suffix(".py")) if p.is_file())

    def found() -> Iterator[Path]:
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    yield from files(alias.name)
            elif isinstance(node, ast.ImportFrom) and node.module:
                yield from files(node.module)
                for alias in node.names:  # a name may be a module
                    yield from files(f"{node.module}.{alias.name}")

    return tuple(found())


def source_stamp(file: Path) -> Stamp:
    """Name, time and size of a file and of all that is imported from it onwards."""
    seen: set[Path] = set()
    waiting = [file.resolve()]
    while waiting:
        file = waiting.pop()
        if file not in seen:
            seen.add(file)
            waiting.extend(_imports(file))
    return tuple(sorted((str(f.relative_to(_ROOT)), f.stat().st_mtime_ns, f.stat().st_size) for f in seen))


def compiling(**options: Any) -> Callable[[F], F]:
    """A decorator with these options of numba's `njit`, machine code cached on disk."""

    def decorate(function: F) -> F:
        dispatcher = njit(cache=True, **options)(function)
        # The stamp that the cache's index is checked against; by default that of the function's own file.
        dispatcher._cache._cache_file._source_stamp = source_stamp(Path(function.__code__.co_filename))
        return dispatcher

    return decorate


# For kernels that make arrays or raise errors.
allocating = compiling()

# The cost and the search: arrays are made by the callers, so reference counting is off (`_nrt`): with tuples of arrays
# its atomic operations cost more than the arithmetic. All release the GIL.
_LEAN: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}
kernel = compiling(**_LEAN)

# For the small steps inside loops: a tuple of arrays is a hundred machine words, too many to pass for some nanoseconds.
inlined = compiling(**_LEAN, forceinline=True)

# Sums in any order, so that they are vectorised. Not for positions: the last bit of those decides on grid cells.
summing = compiling(**_LEAN, forceinline=True, fastmath={"reassoc", "nsz", "contract"})
