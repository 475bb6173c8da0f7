"""Layouts as bytes."""

from __future__ import annotations

import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from placement.layout import pack_layout, unpack_layout

FINITE = st.floats(allow_nan=False, allow_infinity=False)


@given(data=st.data(), n=st.integers(0, 50))
def test_round_trip_is_exact(data: st.DataObject, n: int) -> None:
    x, y = (data.draw(arrays(np.float64, n, elements=FINITE)) for _ in range(2))
    orientation = data.draw(arrays(np.int8, n, elements=st.integers(0, 7)))
    packed = pack_layout(x, y, orientation)
    for got, expected in zip(unpack_layout(packed, n), (x, y, orientation), strict=True):
        assert got.dtype == expected.dtype
        np.testing.assert_array_equal(got, expected)


def test_bytes_are_the_documented_ones() -> None:
    packed = pack_layout(np.array([1.0]), np.array([2.0]), np.array([7], dtype=np.int8))
    assert zlib.decompress(packed) == bytes.fromhex("000000000000f03f000000000000004007")


@pytest.mark.parametrize(
    "layout",
    [
        b"",
        b"junk",
        pack_layout(np.zeros(3), np.zeros(3), np.zeros(3, np.int8)),
        pack_layout(np.zeros(1), np.zeros(1), np.zeros(1, np.int8)),
        zlib.compress(bytes(34))[:-4],
        zlib.compress(bytes(10**8)),
        pack_layout(np.array([np.nan, 0]), np.zeros(2), np.zeros(2, np.int8)),
        pack_layout(np.zeros(2), np.zeros(2), np.array([0, 8], np.int8)),
    ],
    ids=["empty", "junk", "longer", "shorter", "truncated", "bomb", "nan", "orientation"],
)
def test_refuses_what_is_no_layout(layout: bytes) -> None:
    with pytest.raises(ValueError, match="layout"):
        unpack_layout(layout, 2)
