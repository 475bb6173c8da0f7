"""Every format to write: what it gives back when read, what it says it does not carry, what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from netlists.errors import InputError
from netlists.formats import FORMATS, can_carry, write_design
from netlists.load import load_design
from netlists.model import Design, NodeKind, pin_positions_um
from netlists.samples import make_sample
from workers.cli.main import cli

FLAT = {
    "nodes": "UCLA nodes 1.0\np 1 1 terminal\nA 10 40\nB 10 40\nc 2 10\nd 2 10\n",
    "nets": "UCLA nets 1.0\nNetDegree : 3 n\np O\nA I : 1 2\nc I : 0.5 1\nNetDegree : 2 m\nc O : 0.5 -1\nB I : 0 1\n",
    "pl": "UCLA pl 1.0\np 0 50 : N\nA 0 0 : N\nB 50 20 : FN\nc 80 0 : N\nd 90 90 : FS\n",
    "scl": "UCLA scl 1.0\n"
    + "".join(
        f"CoreRow Horizontal\nCoordinate : {y}\nHeight : 10\nSubrowOrigin : 5 NumSites : 100\nEnd\n"
        for y in (0, 10, 20)
    ),
}


@pytest.fixture
def flat(tmp_path: Path) -> Path:
    folder = tmp_path / "flat"
    folder.mkdir()
    for kind, text in FLAT.items():
        (folder / f"t.{kind}").write_text(text)
    return folder


def wirelength(design: Design) -> float:
    at, netlist = pin_positions_um(design.netlist, design.start), design.netlist
    boxes = [at[netlist.net_pin[a:b]] for a, b in zip(netlist.net_start[:-1], netlist.net_start[1:], strict=True)]
    return float(sum(np.ptp(box, axis=0).sum() * w for box, w in zip(boxes, netlist.net_weight, strict=True)))


@pytest.mark.parametrize("name", [name for name in FORMATS if name not in ("gds", "bookshelf", "def", "tcl")])
def test_every_format_of_one_file(tmp_path: Path, name: str) -> None:
    design = make_sample("small", 2)
    path = tmp_path / f"out{FORMATS[name].ending}"
    lost = write_design(name, path, design, design.start)
    assert path.stat().st_size > 100
    assert lost
    assert all(isinstance(line, str) for line in lost)


@pytest.mark.parametrize("name", ["pb", "bookshelf"])
def test_netlist_formats_give_the_wirelength_back(tmp_path: Path, name: str) -> None:
    design = make_sample("small", 2)
    path = tmp_path / ("netlist.pb.txt" if name == "pb" else "set")
    write_design(name, path, design, design.start)
    assert wirelength(load_design(path)) == pytest.approx(wirelength(design), rel=1e-12)


def test_a_flat_design_to_protobuf(flat: Path, tmp_path: Path) -> None:
    design = load_design(flat)
    lost = " ".join(write_design("pb", tmp_path / "n.pb.txt", design, design.start))
    for words in ("offsets of 2 pins", "orientations of 1 cells", "names of nets", "3 rows", "the canvas's place"):
        assert words in lost
    again = load_design(tmp_path / "n.pb.txt")
    assert again.netlist.node_name == design.netlist.node_name
    assert np.array_equal(again.netlist.node_kind, design.netlist.node_kind)
    assert np.array_equal(again.start.x_um, design.start.x_um)
    nets = [
        {d.netlist.node_name[d.netlist.pin_node[pin]] for pin in d.netlist.net_pin[a:b]}
        for d in (design, again)
        for a, b in zip(d.netlist.net_start[:-1], d.netlist.net_start[1:], strict=True)
    ]
    assert sorted(map(sorted, nets[:2])) == sorted(map(sorted, nets[2:])) == [["A", "c", "p"], ["B", "c"]]


def test_what_a_format_cannot_hold_is_refused(flat: Path, tmp_path: Path) -> None:
    nets = FLAT["nets"] + "NetDegree : 2 k\nc O : 0 0\nA I : 0 1\n"
    (flat / "t.nets").write_text(nets)
    design = load_design(flat)
    assert can_carry("plc", design) is None
    with pytest.raises(InputError, match=r"format 'pb' cannot hold 'flat': 1 cells or ports drive several nets.*'c'"):
        write_design("pb", tmp_path / "n.pb.txt", design, design.start)
    assert not (tmp_path / "n.pb.txt").exists()
    with pytest.raises(InputError, match="'oasis' is not a format; formats are plc, pb"):
        write_design("oasis", tmp_path / "x", design, design.start)


def test_gds(flat: Path, tmp_path: Path) -> None:
    """Read back by the library: boxes of oriented sizes, names as labels, equal bytes for equal input."""
    import gdstk

    design = load_design(flat)
    for name in ("a.gds", "b.gds"):
        write_design("gds", tmp_path / name, design, design.start)
    assert (tmp_path / "a.gds").read_bytes() == (tmp_path / "b.gds").read_bytes()
    cell = gdstk.read_gds(str(tmp_path / "a.gds")).top_level()[0]
    assert {label.text: label.layer for label in cell.labels} == {"p": 4, "A": 1, "B": 1}
    boxes = {polygon.layer: [] for polygon in cell.polygons}
    for polygon in cell.polygons:
        boxes[polygon.layer].append(np.array(polygon.bounding_box()).ravel().round(6).tolist())
    assert boxes[1] == [[-5, 0, 5, 40], [45, 20, 55, 60]]
    assert boxes[10] == [[0, 0, 100, 30]]
    assert len(boxes[3]) == 2
    assert np.count_nonzero(design.netlist.node_kind == NodeKind.CELL) == 2


def test_def_and_tcl_of_a_lefdef_design(tmp_path: Path, flat: Path) -> None:
    (tmp_path / "lib.lef").write_text(
        "MACRO RAM\nCLASS BLOCK ;\nSIZE 30 BY 20 ;\nPIN D\nDIRECTION INPUT ;\nPORT\nLAYER M1 ;\nRECT 0 9 0 11 ;\n"
        "END\nEND D\nEND RAM\nEND LIBRARY\n"
    )
    source = (
        "VERSION 5.8 ;\nDESIGN t ;\nUNITS DISTANCE MICRONS 1000 ;\nDIEAREA ( 0 0 ) ( 100000 80000 ) ;\n"
        "COMPONENTS 1 ;\n- ram RAM + PLACED ( 20000 30000 ) N ;\nEND COMPONENTS\n"
        "PINS 1 ;\n- z + NET z + DIRECTION INPUT + PLACED ( 0 40000 ) N ;\nEND PINS\n"
        "NETS 1 ;\n- z ( PIN z ) ( ram D ) ;\nEND NETS\nEND DESIGN\n"
    )
    (tmp_path / "t.def").write_text(source)
    given, run = [str(tmp_path / "lib.lef"), str(tmp_path / "t.def")], CliRunner().invoke
    for name in ("def", "tcl"):
        done = run(cli, ["convert", *given, "--to", name, "--out", str(tmp_path / f"out.{name}")])
        assert done.exit_code == 0, done.output
    assert (tmp_path / "out.def").read_text() == source.replace("PLACED ( 20000", "FIXED ( 20000")
    assert "place_macro -macro_name {ram} -location {20 30} -orientation R0" in (tmp_path / "out.tcl").read_text()
    design = load_design(flat)
    assert "no database grid" in str(can_carry("tcl", design))
    with pytest.raises(InputError, match="format 'def' cannot hold 'flat'"):
        write_design("def", tmp_path / "x.def", design, design.start)


def test_convert(flat: Path, tmp_path: Path) -> None:
    run = CliRunner().invoke
    done = run(cli, ["convert", str(flat), "--to", "pl", "--out", str(tmp_path / "x" / "t.pl"), "--json"])
    assert done.exit_code == 0, done.output
    report = json.loads(done.output)
    assert report["not_carried"] == ["everything but places, orientations and what is fixed: the other files have it"]
    assert (tmp_path / "x" / "t.pl").read_text().splitlines()[2:] == FLAT["pl"].splitlines()[1:]
    done = run(cli, ["convert", str(flat), "--to", "bookshelf", "--out", str(tmp_path / "set")])
    assert done.exit_code == 0, done.output
    assert "not carried" in done.output
    assert load_design(tmp_path / "set").start.x_um.tolist() == load_design(flat).start.x_um.tolist()
    assert run(cli, ["convert", str(flat), "--to", "oasis", "--out", "x"]).exit_code == 2
