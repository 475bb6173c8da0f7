"""The real designs: their counts, their canvases, and that writing and reading back changes nothing."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from netlists.circuit_training.reader import read_netlist
from netlists.circuit_training.writer import write_netlist, write_plc
from netlists.errors import MismatchError
from netlists.load import load_design
from netlists.model import Netlist

# hard macros, soft macros, ports, pins, nets, drivers without sinks; columns, rows, width µm
DESIGNS = {
    "ariane133_ng45": (133, 782, 495, 18972, 12422, 2354, 24, 21, 1433.406),
    "ariane_ct": (133, 938, 1231, 18725, 13317, 82, 35, 33, 356.592),
    "ibm01": (246, 972, 246, 9416, 6613, 0, 45, 41, 22.95),
    "ibm02": (271, 1003, 259, 12900, 10357, 0, 30, 27, 32.56),
    "ibm03": (290, 1110, 283, 12518, 9606, 0, 32, 29, 35.12),
    "ibm04": (295, 1177, 287, 14933, 11672, 0, 31, 30, 34.09),
    "ibm07": (291, 1144, 287, 16830, 13935, 0, 35, 32, 38.51),
    "ibm08": (301, 1244, 286, 19729, 15233, 0, 38, 34, 41.05),
    "ibm10": (786, 1229, 744, 31139, 22625, 0, 55, 41, 77.05),
    "ibm11": (373, 1150, 406, 19426, 15872, 0, 39, 45, 51.53),
    "ibm13": (424, 1203, 490, 21869, 17713, 0, 43, 43, 55.94),
}


@pytest.mark.parametrize("name", DESIGNS)
def test_counts_canvas_and_round_trip(benchmarks: Path, tmp_path: Path, name: str) -> None:
    """Reading also checks the counts in the .plc header, which another program wrote."""
    design = load_design(benchmarks / "circuit_training" / name)
    hard, soft, ports, pins, nets, idle, columns, rows, width = DESIGNS[name]
    assert design.netlist.counts() == {
        "hard_macros": hard, "soft_macros": soft, "ports": ports, "cells": 0, "pins": pins, "nets": nets,
        "drivers_without_sinks": idle,
    }  # fmt: skip
    assert (design.canvas.columns, design.canvas.rows, design.canvas.width_um) == (columns, rows, width)
    write_netlist(tmp_path / "netlist.pb.txt", design, design.start)
    write_plc(tmp_path / "a.plc", design, design.start)
    again = load_design(tmp_path)
    for field in dataclasses.fields(Netlist):
        assert np.array_equal(getattr(design.netlist, field.name), getattr(again.netlist, field.name)), field.name
    for key in ("x_um", "y_um", "orientation", "fixed"):
        assert np.array_equal(getattr(design.start, key), getattr(again.start, key)), key
    assert again.canvas == design.canvas


@pytest.mark.parametrize("name", ["ibm01"])
def test_the_exact_way_reads_the_same(benchmarks: Path, name: str) -> None:
    path = benchmarks / "circuit_training" / name / "netlist.pb.txt.gz"
    fast, exact = read_netlist([path]), read_netlist([path], exact_only=True)
    for field in dataclasses.fields(Netlist):
        assert np.array_equal(getattr(fast.netlist, field.name), getattr(exact.netlist, field.name)), field.name
    assert np.array_equal(fast.x_um, exact.x_um)


def test_published_start_beyond_its_canvas_is_told(benchmarks: Path) -> None:
    warnings = load_design(benchmarks / "circuit_training" / "ariane_ct").warnings
    assert any("the start has 3 hard macros beyond the canvas" in warning for warning in warnings)


def test_a_flat_netlist(benchmarks: Path) -> None:
    design = load_design(benchmarks / "flat_protobuf" / "ariane133_ng45.pb.txt.gz")
    assert design.netlist.counts() == {
        "hard_macros": 133, "soft_macros": 0, "ports": 495, "cells": 88411, "pins": 96753, "nets": 90986,
        "drivers_without_sinks": 2220,
    }  # fmt: skip
    assert (design.canvas.width_um, design.canvas.height_um) == (1599.99, 1600.06)
    assert dict((key, value) for key, _, value in design.netlist.extra_attributes[495]).keys() == {"ref_name"}


# hard, soft, ports, cells, nets, has a start
SMALL = {
    "0P1M1m": (1, 1, 0, 0, 1, True),
    "0P2M0m": (2, 0, 0, 0, 1, True),
    "0P3M0m": (3, 0, 0, 0, 1, True),
    "0P4M0m": (4, 0, 0, 0, 1, True),
    "macro_tiles_10x10.pb.txt": (100, 0, 0, 0, 540, True),
    "macro_tiles_3rows_3cols_1pins.pb.txt": (9, 0, 0, 0, 12, True),
    "sample_clustered_macroxy": (2, 1, 2, 0, 4, True),
    "simple.pb.txt": (2, 0, 2, 2, 5, False),
    "toy_macro_stdcell.pb.txt": (2, 0, 12, 12, 20, True),
}


@pytest.mark.parametrize("name", SMALL)
def test_small_netlists(benchmarks: Path, name: str) -> None:
    design = load_design(benchmarks / "small" / name)
    counts = design.netlist.counts()
    found = tuple(counts[key] for key in ("hard_macros", "soft_macros", "ports", "cells", "nets"))
    assert (*found, design.has_start) == SMALL[name]
    assert ("canvas" in design.derived) is (name != "sample_clustered_macroxy")
    assert np.isfinite(design.start.x_um).all()


@pytest.mark.parametrize("name", ["sample_clustered_nomacro", "sample_clustered_uniform_two_soft"])
def test_a_plc_of_another_netlist_is_refused(benchmarks: Path, name: str) -> None:
    with pytest.raises(MismatchError, match=r"initial\.plc.*belongs to another netlist"):
        load_design(benchmarks / "small" / name, require_hard_macros=False)
