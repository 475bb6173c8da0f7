"""Centres on the canvas back to the lower left corners of a file, as the shortest decimals that read back the same.

Called by the writers of formats that give corners. Pure arithmetic.
"""

from __future__ import annotations

import numpy as np

from netlists.model import FloatArray

_DECIMALS = 13


def file_corner(centre_um: FloatArray, size_um: FloatArray, origin_um: float) -> FloatArray:
    """(n,) r with (r - origin) + size / 2 == centre in float64, of the fewest decimals; nearest where there is none."""
    half = size_um / 2
    raw = (centre_um - half) + origin_um
    result, open_ = raw.copy(), np.ones(len(raw), dtype=np.bool_)
    tries = [np.round(raw, decimals) for decimals in range(_DECIMALS + 1)]
    low = high = raw
    for _ in range(3):  # the sum may have lost the last bits
        low, high = np.nextafter(low, -np.inf), np.nextafter(high, np.inf)
        tries += [low, high]
    for r in tries:
        hit = open_ & ((r - origin_um) + half == centre_um)
        result[hit] = r[hit]
        open_ &= ~hit
        if not open_.any():
            break
    return result + 0.0  # no -0.0
