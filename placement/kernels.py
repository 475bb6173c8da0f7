"""How kernels are compiled: the decorators that all of them share.

Numba compares only a kernel's own file with its cache, though the kernels that it calls are compiled into it. Here a
cached kernel is valid as long as no file of `placement` has changed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from numba import njit

F = TypeVar("F", bound=Callable[..., Any])

_FOLDER = Path(__file__).resolve().parent


@cache
def _sources() -> tuple[tuple[str, int, int], ...]:
    """Name, time and size of every file that may be compiled into a kernel."""
    files = _FOLDER.rglob("*.py")
    return tuple(sorted((str(f.relative_to(_FOLDER)), f.stat().st_mtime_ns, f.stat().st_size) for f in files))


def compiling(**options: Any) -> Callable[[F], F]:
    """A decorator with these options of numba's `njit`, machine code cached on disk."""

    def decorate(function: F) -> F:
        dispatcher = njit(cache=True, **options)(function)
        # The stamp that the cache's index is checked against; by default that of the function's own file.
        dispatcher._cache._cache_file._source_stamp = _sources()
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
