"""A placement as bytes, for databases and queues: x, y and orientation of every node, in node order, zlib.

In: arrays of N nodes. Out: bytes, the same on every machine (little-endian float64 x, float64 y, int8 orientation).
Used by workers (candidates) and backend (stored placements). Knows nothing of designs: the reader must know N.
"""

from __future__ import annotations

import zlib

import numpy as np

from netlists.model import ByteArray, FloatArray, Orientation

_NODE_BYTES = 17  # two float64 and one int8


def pack_layout(x_um: FloatArray, y_um: FloatArray, orientation: ByteArray) -> bytes:
    """(N,) float64 µm, (N,) float64 µm, (N,) int8 Orientation → bytes; exact."""
    if not len(x_um) == len(y_um) == len(orientation):
        raise ValueError(f"lengths differ: {len(x_um)} x, {len(y_um)} y, {len(orientation)} orientations")
    raw = b"".join(
        np.ascontiguousarray(a, dtype=t).tobytes() for a, t in ((x_um, "<f8"), (y_um, "<f8"), (orientation, "i1"))
    )
    return zlib.compress(raw)


def unpack_layout(layout: bytes, node_count: int) -> tuple[FloatArray, FloatArray, ByteArray]:
    """The inverse of `pack_layout`. Raises ValueError for bytes that are no layout of `node_count` nodes."""
    expected = _NODE_BYTES * node_count
    inflater = zlib.decompressobj()
    try:
        raw = inflater.decompress(layout, expected + 1)
    except zlib.error as error:
        raise ValueError(f"not a packed layout: {error}") from error
    if len(raw) != expected or not inflater.eof:
        raise ValueError(f"packed layout does not hold {node_count} nodes ({expected} bytes)")
    x_um = np.frombuffer(raw, "<f8", node_count).astype(np.float64)
    y_um = np.frombuffer(raw, "<f8", node_count, 8 * node_count).astype(np.float64)
    orientation = np.frombuffer(raw, "i1", node_count, 16 * node_count).astype(np.int8)
    if not (np.isfinite(x_um).all() and np.isfinite(y_um).all()):
        raise ValueError("packed layout holds positions that are not finite numbers")
    if node_count and not (orientation.min() >= 0 and orientation.max() <= max(Orientation)):
        raise ValueError("packed layout holds orientations outside 0–7")
    return x_um, y_um, orientation
