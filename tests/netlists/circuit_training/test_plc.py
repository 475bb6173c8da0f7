"""Reading .plc: header in its variants, rows by number, and every way not to belong to the netlist."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from netlists.circuit_training.plc import PlcFile, looks_like_plc, read_plc
from netlists.circuit_training.reader import read_netlist
from netlists.errors import InputError, MismatchError, ParseError
from netlists.model import Orientation


def read(tmp_path: Path, tiny: str, plc: str) -> PlcFile:
    (tmp_path / "n.pb.txt").write_text(tiny)
    (tmp_path / "a.plc").write_text(plc)
    return read_plc(tmp_path / "a.plc", read_netlist([tmp_path / "n.pb.txt"]).netlist)


def test_everything_a_plc_says(tmp_path: Path, tiny: str, tiny_plc: str) -> None:
    file = read(tmp_path, tiny, tiny_plc)
    assert file.values == {
        "columns": 5, "rows": 4, "width_um": 50, "height_um": 40, "hor_routes_per_um": 10.5, "ver_routes_per_um": 11.5,
        "hor_macro_routes_per_um": 3.5, "ver_macro_routes_per_um": 4.5, "smoothing": 0, "overlap_threshold": 0.004,
    }  # fmt: skip
    placement = file.placement
    assert placement.x_um.tolist() == [0, 50, 20.125, 40, 25]
    assert placement.y_um.tolist() == [20, 10, 30.5, 10.1, 25]
    assert placement.orientation.tolist() == [0, 0, Orientation.S, Orientation.E, 0]
    assert placement.fixed.tolist() == [True, False, True, False, False]
    assert file.blockages_um == [(0, 30, 10, 40)]
    assert file.header == [line for line in tiny_plc.split("\n") if line.startswith("#")]
    assert file.warnings == []


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("# Routes per micron, hor : 70.33 ver : 74.51", {"hor_routes_per_um": 70.33, "ver_routes_per_um": 74.51}),
        ("#Routes per micron,hor:70.33   ver:74.51", {"hor_routes_per_um": 70.33, "ver_routes_per_um": 74.51}),
        ("# Routes used by macros, hor : 0  ver : 5.", {"hor_macro_routes_per_um": 0, "ver_macro_routes_per_um": 5}),
        ("# Columns : 24  Rows : 21", {"columns": 24, "rows": 21}),
        ("# columns: 24 rows: 21.0", {"columns": 24, "rows": 21}),
        ("# Width : 1.4e3  Height : 1433.406", {"width_um": 1400, "height_um": 1433.406}),
        ("# Smoothing factor : 3", {"smoothing": 3}),
        ("# Project : Columns : 3", {}),
    ],
)
def test_spellings_of_header_lines(tmp_path: Path, tiny: str, tiny_plc: str, line: str, values: dict) -> None:
    rows = "\n".join(row for row in tiny_plc.split("\n") if not row.startswith("#"))
    assert read(tmp_path, tiny, f"{line}\n{rows}").values == values


def test_rows_may_come_in_any_order(tmp_path: Path, tiny: str, tiny_plc: str) -> None:
    shuffled = "\n".join(reversed(tiny_plc.split("\n")))
    expected, found = read(tmp_path, tiny, tiny_plc).placement, read(tmp_path, tiny, shuffled).placement
    assert np.array_equal(expected.x_um, found.x_um)
    assert np.array_equal(expected.orientation, found.orientation)


def test_blockages(tmp_path: Path, tiny: str, tiny_plc: str) -> None:
    lines = [
        "# Blockage : 1 2 3 4",
        "# Blockage : 30 4 10 2 1.0",
        "# Blockage : 0 0 5 5 0.5",
        "# Blockage : 0 0 9 9 0",
        "# Blockage : 0 0 0 9 1",
    ]
    file = read(tmp_path, tiny, "\n".join(lines) + "\n" + tiny_plc)
    assert file.blockages_um == [(1, 2, 3, 4), (10, 2, 30, 4), (0, 0, 5, 5), (0, 30, 10, 40)]
    assert len(file.warnings) == 4
    assert "a.plc:2: blockage with swapped corners" in file.warnings[0]
    assert "a.plc:3: blockage of rate 0.5 is kept free altogether" in file.warnings[1]


FAULTS = [
    ("5 40 10.1 E 0\n", "", MismatchError, "node 5 (hard macro 'B') of the netlist has no row (1 without)"),
    ("5 40 10.1 E 0", "6 40 10.1 E 0", MismatchError, "a.plc:15: node 6 is a macro pin"),
    (
        "7 25 25 N 0",
        "7 25 25 N 0\n10 1 1 N 0",
        MismatchError,
        "a.plc:17: node 10 does not exist: the netlist's nodes are 0 to 9",
    ),
    (
        "1 50 10 - 0",
        "1 50 10 N 0",
        MismatchError,
        "a.plc:13: node 1 has orientation N (as a macro), but is the port 'out'",
    ),
    ("5 40 10.1 E 0", "5 40 10.1 - 0", MismatchError, "node 5 has no orientation (as a port), but is the macro 'B'"),
    (
        "7 25 25 N 0",
        "7 25 25 N 0\n5 1 1 N 0",
        ParseError,
        "a.plc:17: node 5 ('B') is placed a second time; first at line 15",
    ),
    (
        "5 40 10.1 E 0",
        "5 40 10.1 R45 0",
        ParseError,
        "a.plc:15: node 5 ('B'): orientation 'R45' is not one of N FN S FS E FE W FW or -\n    5 40 10.1 R45 0",
    ),
    ("5 40 10.1 E 0", "5 40 10.1 E 2", ParseError, "node 5 ('B'): fixed is '2', must be 0 or 1"),
    ("5 40 10.1 E 0", "5 forty 10.1 E 0", ParseError, "x of node 5 ('B'): 'forty' is not a number"),
    ("5 40 10.1 E 0", "5 40 nan E 0", ParseError, "y of node 5 ('B'): 'nan' is not a number of at most 1e+09"),
    ("5 40 10.1 E 0", "5 40 1_0 E 0", ParseError, "y of node 5 ('B'): '1_0' is not a number"),
    (
        "5 40 10.1 E 0",
        "5 40 10.1 E",
        ParseError,
        "a.plc:15: expected 'node_index x y orientation fixed'\n    5 40 10.1 E",
    ),
    ("5 40 10.1 E 0", "-5 40 10.1 E 0", ParseError, "expected 'node_index x y orientation fixed'"),
    ("Columns : 5", "Columns : 0", ParseError, "a.plc:2: header: columns is 0, must be a whole number above 0"),
    ("Columns : 5", "Columns : 5.5", ParseError, "a.plc:2: header: columns is 5.5, must be a whole number above 0"),
    ("Columns : 5", "Columns : 5000000", ParseError, "header: a grid of 5,000,000 x 4 cells; at most 1,000,000"),
    ("Width : 50.0", "Width : -50.0", ParseError, "header: width is -50.0, must be a number above 0"),
    ("Width : 50.0", "Width : nan", ParseError, "a.plc:3: width: 'nan' is not a number"),
    ("Width : 50.0", "Width : abc", ParseError, "a.plc:3: width: 'abc' is not a number; must be a number above 0"),
    ("Columns : 5", "Columns : 5x", ParseError, "a.plc:2: columns: '5x' is not a number; must be a whole number above"),
    (
        "# Project : demo",
        "# Columns : 4 4",
        ParseError,
        "a.plc:4: header: expected 'Columns : N  Rows : N', N a number\n    Columns : 4 4",
    ),
    ("# Project : demo", "# Width :", ParseError, "a.plc:4: header: expected 'Width : N  Height : N', N a number"),
    ("# Project : demo", "# Smoothing factor : 1 2", ParseError, "a.plc:4: header: expected 'Smoothing factor : N'"),
    ("# Project : demo", "# Routes per micron, hor : 1", ParseError, "header: expected 'Routes per micron, hor : N"),
    ("# Project : demo", "# PORTs : many", ParseError, "a.plc:4: header: PORTs is 'many', must be a whole number 0 or"),
    (
        "micron, hor : 10.5",
        "micron, hor : 0",
        ParseError,
        "a.plc:6: header: hor routes per um is 0, must be a number above 0",
    ),
    ("# Project : demo", "# Columns : 6  Rows : 4", ParseError, "a.plc:4: header: columns is 6, but 5 at line 2"),
    (
        "# Project : demo",
        "#   3| | | | |9|4|",
        ParseError,
        "a.plc:4: map with row 3 of 6 columns, but the header (line 2) has 5 columns and 4 rows",
    ),
    ("# Project : demo", "#   4| | | | |9|", ParseError, "map with row 4 of 5 columns"),
    (
        "# Project : demo",
        "# HARD_MACROs     :         5",
        MismatchError,
        "a.plc:4: header counts 5 HARD_MACROs, the netlist has 2",
    ),
    (
        "# Project : demo",
        "# SOFT_MACRO_PINs :         1",
        MismatchError,
        "header counts 1 SOFT_MACRO_PINs, the netlist has 2",
    ),
    (
        "# Blockage : 0.0 30.0 10.0",
        "# Blockage : 0.0",
        ParseError,
        "blockage: expected minx miny maxx maxy and at most a rate",
    ),
    ("# Blockage : 0.0", "# Blockage : left", ParseError, "a.plc:10: blockage: 'left' is not a number"),
]


@pytest.mark.parametrize(("before", "after", "error", "message"), FAULTS)
def test_fault(
    tmp_path: Path, tiny: str, tiny_plc: str, before: str, after: str, error: type[InputError], message: str
) -> None:
    assert tiny_plc.count(before) == 1
    with pytest.raises(error, match=re.escape(message)):
        read(tmp_path, tiny, tiny_plc.replace(before, after))


def test_the_plc_of_a_netlist_with_one_macro_less(tmp_path: Path, tiny: str, tiny_plc: str) -> None:
    """Numbers shift behind the additional macro; the first that does not fit is named, nothing is moved."""
    values = {"type": 's: "MACRO"', "width": "f: 1", "height": "f: 1"}
    attributes = " ".join(f'attr {{ key: "{key}" value {{ {value} }} }}' for key, value in values.items())
    extra = f'node {{ name: "C" {attributes} }}\n'
    at = tiny.index('node {\n  name: "B"')
    with pytest.raises(MismatchError, match=r"node 7 is a macro pin.*belongs to another netlist"):
        read(tmp_path, tiny[:at] + extra + tiny[at:], tiny_plc)


def test_a_plc_cut_at_a_line_end_may_be_truncated(tmp_path: Path, tiny: str, tiny_plc: str) -> None:
    cut = tiny_plc.rstrip().rpartition("\n")[0] + "\n"
    with pytest.raises(MismatchError, match=r"has no row \(1 without\); the file may be truncated, or"):
        read(tmp_path, tiny, cut)


def test_empty_file(tmp_path: Path, tiny: str) -> None:
    with pytest.raises(ParseError, match=r"a\.plc: is empty"):
        read(tmp_path, tiny, "")


def test_recognition_by_content(tmp_path: Path, tiny: str, tiny_plc: str) -> None:
    path = tmp_path / "x"
    for text, expected in (
        (tiny_plc, True),
        (tiny, False),
        ("# only\n", False),
        ("# only", False),
        ("0 1 2 - 0", True),
        ("0 1 2 FN 1", True),
        ("0 1 2\n- 0", False),
        ("0 1 2 - 0 9", False),
        ("#" + "x" * 3_000_000 + "\n0 1 2 - 0\n", True),
        ("# c\n" * 600_000 + "\n 0 1 2 - 0\n", True),
        ("x" * 3_000_000, False),
    ):
        path.write_text(text)
        assert looks_like_plc(path) is expected
