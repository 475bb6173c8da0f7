"""How the cost kernels are compiled: the two decorators that they share.

Both release the GIL and cache machine code on disk. `inlined` is for the small steps inside loops: a tuple of arrays
is a hundred machine words, too many to pass for a step of a few nanoseconds.
"""

from __future__ import annotations

from numba import njit

kernel = njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
inlined = njit(cache=True, nogil=True, error_model="numpy", _nrt=False, forceinline=True)
