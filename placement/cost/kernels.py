"""How the cost kernels are compiled: the decorators that they share.

All release the GIL and cache machine code on disk. Arrays are made by the callers, so reference counting is off
(`_nrt`): with tuples of arrays its atomic operations cost more than the arithmetic.
"""

from __future__ import annotations

from numba import njit

kernel = njit(cache=True, nogil=True, error_model="numpy", _nrt=False)

# For the small steps inside loops: a tuple of arrays is a hundred machine words, too many to pass for some nanoseconds.
inlined = njit(cache=True, nogil=True, error_model="numpy", _nrt=False, forceinline=True)

# Sums in any order, so that they are vectorised. Not for positions: the last bit of those decides on grid cells.
summing = njit(
    cache=True, nogil=True, error_model="numpy", _nrt=False, forceinline=True, fastmath={"reassoc", "nsz", "contract"}
)
