"""How the kernels of the cost and the search are compiled: the decorators that they share.

All release the GIL and cache machine code on disk. Arrays are made by the callers, so reference counting is off
(`_nrt`): with tuples of arrays its atomic operations cost more than the arithmetic.

Numba compares only a kernel's own file with its cache, though the kernels that it calls are compiled into it. Here a
cached kernel is valid as long as no file of the kernels' folders has changed.
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
    files = [*_FOLDER.glob("*.py"), *(_FOLDER.parent / "search").glob("*.py")]
    return tuple(sorted((file.name, file.stat().st_mtime_ns, file.stat().st_size) for file in files))


def _compile(**options: Any) -> Callable[[F], F]:
    def decorate(function: F) -> F:
        dispatcher = njit(cache=True, nogil=True, error_model="numpy", _nrt=False, **options)(function)
        # The stamp that the cache's index is checked against; by default that of the function's own file.
        dispatcher._cache._cache_file._source_stamp = _sources()
        return dispatcher

    return decorate


kernel = _compile()

# For the small steps inside loops: a tuple of arrays is a hundred machine words, too many to pass for some nanoseconds.
inlined = _compile(forceinline=True)

# Sums in any order, so that they are vectorised. Not for positions: the last bit of those decides on grid cells.
summing = _compile(forceinline=True, fastmath={"reassoc", "nsz", "contract"})
