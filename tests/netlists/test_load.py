"""load_design: which file is what, what the two files decide, what is derived and told."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import numpy as np
import pytest

from netlists.errors import InputError
from netlists.load import load_design, natural_key
from netlists.model import Design, Orientation, Side, pin_positions_um


@pytest.fixture
def folder(tmp_path: Path, tiny: str, tiny_plc: str) -> Path:
    folder = tmp_path / "tiny_design"
    folder.mkdir()
    (folder / "netlist.pb.txt").write_text(tiny)
    (folder / "initial.plc").write_text(tiny_plc)
    return folder


def test_ways_to_name_the_same_design(folder: Path) -> None:
    netlist, plc = folder / "netlist.pb.txt", folder / "initial.plc"
    designs = [
        load_design(folder),
        load_design([folder]),
        load_design([plc, netlist]),
        load_design([netlist], plc),
        load_design([netlist, plc], plc),
    ]
    for design in designs:
        assert design.name == "tiny_design"
        assert design.start.x_um.tolist() == [0, 50, 20.125, 40, 25]
        assert (design.canvas.columns, design.canvas.rows) == (5, 4)
        assert design.has_start
    assert load_design([netlist], name="mine").name == "mine"


def test_files_are_known_by_content(folder: Path) -> None:
    (folder / "netlist.pb.txt").rename(folder / "file-01.dat")
    (folder / "initial.plc").rename(folder / "file-00.dat")
    design = load_design([folder / "file-00.dat", folder / "file-01.dat"])
    assert design.start.orientation[2] == Orientation.S


@pytest.mark.parametrize("name", ["netlist.pb.txt", "netlist.pb.txt.gz"])
def test_a_netlist_given_as_the_plc_is_told_so(folder: Path, name: str) -> None:
    content = (folder / "netlist.pb.txt").read_bytes()
    (folder / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    words = rf"^{re.escape(name)}: is given as the \.plc placement file, but its content is that of a netlist$"
    for given in (folder / "netlist.pb.txt", folder / name):
        with pytest.raises(InputError, match=words):
            load_design([given], folder / name)


def test_parts_are_read_in_natural_order_whatever_the_order_given(tmp_path: Path, tiny: str) -> None:
    pieces = tiny.split("node {")[1:]
    paths = [tmp_path / f"part{index}.pb.txt" for index in range(1, len(pieces))]
    for path, content in zip(paths, [pieces[0] + "node {" + pieces[1], *pieces[2:]], strict=True):
        path.write_text("node {" + content)
    assert len(paths) == 10
    design = load_design(paths[::-1])
    assert design.netlist.node_name == ("rst", "out", "A", "B", "Grp_0")
    assert "netlist of 10 parts, read in this order: part1.pb.txt, part2.pb.txt" in design.warnings[0]
    assert "part9.pb.txt, part10.pb.txt" in design.warnings[0]
    assert sorted(["b10", "b9", "a"], key=natural_key) == ["a", "b9", "b10"]


def test_of_several_plc_the_initial_one_is_taken_and_told(folder: Path, tiny_plc: str) -> None:
    (folder / "a.plc").write_text(tiny_plc.replace("20.125", "21"))
    design = load_design(folder)
    assert design.start.x_um[2] == 20.125
    assert design.warnings == ("several .plc files: initial.plc is the start, left unread: a.plc",)


def test_the_orientation_of_the_plc_wins(folder: Path) -> None:
    assert load_design([folder / "netlist.pb.txt"]).start.orientation[2] == Orientation.FN
    assert load_design(folder).start.orientation[2] == Orientation.S


def test_weighted_wirelength(folder: Path) -> None:
    """Nets: rst to A/d and Grp_0; A/q (turned to S, at (24.125, 32)) to B at (40, 10.1), weight 12; Grp_0 to out."""
    design = load_design(folder)
    netlist, xy = design.netlist, pin_positions_um(design.netlist, design.start)
    hpwl = [
        float(np.ptp(xy[netlist.net_pin[a:b]], axis=0).sum())
        for a, b in zip(netlist.net_start, netlist.net_start[1:], strict=False)
    ]
    assert hpwl == pytest.approx([25 + 10.5, 15.875 + 21.9, 25 + 15])
    assert float(np.dot(hpwl, netlist.net_weight)) == pytest.approx(35.5 + 12 * 37.775 + 40)


def test_a_start_beyond_the_canvas_is_a_warning_that_names_the_macros(folder: Path, tiny_plc: str) -> None:
    (folder / "initial.plc").write_text(tiny_plc.replace("5 40 10.1 E 0", "5 49 10 N 0"))
    (warning,) = load_design(folder).warnings
    assert warning == "the start has 1 hard macros beyond the canvas, so it is a hint only: 'B' by 4 µm"


def test_values_no_file_gives_are_derived_and_told(folder: Path) -> None:
    design = load_design([folder / "netlist.pb.txt"])
    assert (design.canvas.width_um, design.canvas.height_um) == (50, 32.5)  # right port; top of A at 30.5
    assert "bounding box" in design.derived["canvas"]
    assert design.derived["grid"].startswith(f"{design.canvas.columns} x {design.canvas.rows} cells: least waste")
    assert design.canvas.hor_routes_per_um == 70.33
    for key in ("hor_routes_per_um", "ver_macro_routes_per_um", "smoothing", "overlap_threshold", "fixed"):
        assert key in design.derived
    assert design.has_start
    assert design.start.fixed.tolist() == [True, True, False, False, False]
    assert load_design(folder).derived == {}


def test_a_header_without_some_values(folder: Path, tiny_plc: str) -> None:
    lines = [line for line in tiny_plc.split("\n") if "Columns" not in line and "Smoothing" not in line]
    (folder / "initial.plc").write_text("\n".join(lines))
    design = load_design(folder)
    assert set(design.derived) == {"grid", "smoothing"}
    assert design.canvas.smoothing == 2
    assert 10 <= design.canvas.columns <= 50


@pytest.mark.parametrize(
    ("comment", "size"),
    [
        ("# FP bbox: {0.0 0.0} {200.0 100.0}", (200, 100)),
        ("# FP bbox: {0.0 0.0 1599.99 1600.06}", (1599.99, 1600.06)),
        ("# FP bbox: {5.0 0.0 1599.99 1600.06}", (50, 32.5)),
        ("# FP bbox: {0 0 nan 10}", (50, 32.5)),
        ("# FP bbox: {0 0 1.2.3 10}", (50, 32.5)),
    ],
)
def test_the_floorplan_comment_gives_the_canvas(
    tmp_path: Path, tiny: str, comment: str, size: tuple[float, float]
) -> None:
    path = tmp_path / "n.pb.txt"
    path.write_text(f"{comment}\n{tiny}")
    canvas = load_design(path).canvas
    assert (canvas.width_um, canvas.height_um) == size


def load_text(tmp_path: Path, text: str, **how: bool) -> Design:
    path = tmp_path / "n.pb.txt"
    path.write_text(text)
    return load_design(path, **how)


def test_a_macro_without_a_position_begins_amid_what_it_connects(tmp_path: Path, tiny: str) -> None:
    whole = load_text(tmp_path, tiny)
    design = load_text(tmp_path, tiny.replace("f: 20.125", "f: nan"))
    assert design.has_start
    assert "1 macros and cells without a position begin amid what they connect" in design.derived["start"]
    others = np.arange(whole.netlist.node_count) != 2
    assert (design.start.x_um[others] == whole.start.x_um[others]).all()
    assert design.start.x_um[2] == pytest.approx(amid_neighbours(whole, 2), abs=0.01)
    assert design.findings.unplaced is not None
    assert np.flatnonzero(design.findings.unplaced).tolist() == [2]


def amid_neighbours(design: Design, node: int) -> float:
    """x at which a node stays when put at the mean of its nets' means, weighted by 1 / (pins - 1)."""
    netlist = design.netlist
    at_x, weights, own = 0.0, 0.0, 0.0
    for net in range(len(netlist.net_start) - 1):
        pins = netlist.pin_node[netlist.net_pin[netlist.net_start[net] : netlist.net_start[net + 1]]]
        weight = np.count_nonzero(pins == node) / max(len(pins) - 1, 1)
        at_x += weight * design.start.x_um[pins[pins != node]].sum() / len(pins)
        own += weight * np.count_nonzero(pins == node) / len(pins)
        weights += weight
    return at_x / (weights - own)


def test_without_any_placed_macro_there_is_no_start(tmp_path: Path, tiny: str) -> None:
    text = re.sub(r'("x"\s*value\s*\{\s*)[fi]: [-0-9.]+', r"\1f: nan", tiny)
    design = load_text(tmp_path, text)
    assert not design.has_start
    assert "put at the canvas's centre" in design.derived["start"]


def test_ports_without_positions_are_spread_along_their_sides(tmp_path: Path) -> None:
    values = {"type": 's: "MACRO"', "width": "f: 6", "height": "f: 6"}
    attributes = " ".join(f'attr {{ key: "{key}" value {{ {value} }} }}' for key, value in values.items())
    macro = f'node {{ name: "m" {attributes} }}'
    sides = ["left", "left", "TOP", "right", "bottom", None]
    ports = "".join(
        f'node {{ name: "p{i}" attr {{ key: "type" value {{ s: "PORT" }} }}'
        + (f' attr {{ key: "side" value {{ s: "{side}" }} }} }}' if side else " }")
        for i, side in enumerate(sides)
    )
    design = load_text(tmp_path, macro + ports)
    w, h = design.canvas.width_um, design.canvas.height_um
    assert w == h == pytest.approx((36 / 0.6) ** 0.5)
    assert design.netlist.port_side.tolist()[1:3] == [Side.LEFT, Side.LEFT]
    assert design.start.x_um.tolist()[1:] == pytest.approx([0, 0, w / 2, w, w / 2, w / 2])
    assert design.start.y_um.tolist()[1:] == pytest.approx([h / 4, 3 * h / 4, h, h / 2, 0, 0])
    assert not design.has_start


def test_no_hard_macros_is_refused_with_rule_counts_and_largest_nodes(tmp_path: Path) -> None:
    text = "".join(
        f'node {{ name: "Grp_{i}" attr {{ key: "type" value {{ s: "macro" }} }}'
        f' attr {{ key: "width" value {{ f: {i + 1} }} }} attr {{ key: "height" value {{ f: 2 }} }} }}'
        for i in range(12)
    )
    with pytest.raises(InputError) as caught:
        load_text(tmp_path, text)
    message = str(caught.value)
    assert "no hard macros to place. Rule: a hard macro is a node of type MACRO" in message
    assert "12 soft macros, 0 ports, 0 cells, 0 pins, 0 nets" in message
    assert "Largest nodes: 'Grp_11' (soft macro, 12 x 2 µm), 'Grp_10'" in message
    assert "'Grp_2' (" in message
    assert "'Grp_1' (" not in message
    assert load_text(tmp_path, text, require_hard_macros=False).netlist.counts()["soft_macros"] == 12


def test_only_ports(tmp_path: Path) -> None:
    design = load_text(
        tmp_path, 'node { name: "p" attr { key: "type" value { s: "PORT" } } }', require_hard_macros=False
    )
    assert design.canvas.width_um > 0
    assert not design.has_start


def test_what_is_not_there(tmp_path: Path, tiny_plc: str) -> None:
    with pytest.raises(InputError, match="no such file or folder"):
        load_design(tmp_path / "absent.pb.txt")
    with pytest.raises(InputError, match=r"holds no \*\.pb\.txt"):
        load_design(tmp_path)
    with pytest.raises(InputError, match="no files given"):
        load_design([])
    (tmp_path / "a.plc").write_text(tiny_plc)
    with pytest.raises(InputError, match=r"no netlist among a\.plc; supported are Circuit Training"):
        load_design([tmp_path / "a.plc"])
