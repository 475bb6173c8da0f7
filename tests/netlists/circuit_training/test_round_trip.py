"""What the writers write, the readers read back: every array, every digit, every attribute."""

from __future__ import annotations

import dataclasses
import gzip
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from netlists.circuit_training.writer import number, quoted, write_netlist, write_plc
from netlists.load import load_design
from netlists.model import Canvas, Design, Netlist, NodeKind, Placement

COSTS = {"wirelength": 1234.5, "wirelength_cost": 0.1, "density_cost": 0.2, "congestion_cost": 0.3, "proxy_cost": 0.35}


def assert_same(a: Design, b: Design) -> None:
    for field in dataclasses.fields(Netlist):
        assert np.array_equal(getattr(a.netlist, field.name), getattr(b.netlist, field.name)), field.name
    for field in dataclasses.fields(Placement):
        assert np.array_equal(getattr(a.start, field.name), getattr(b.start, field.name)), field.name
    assert a.canvas == b.canvas
    assert np.array_equal(a.blockages_um, b.blockages_um)


@pytest.fixture
def design(tmp_path: Path, tiny: str, tiny_plc: str) -> Design:
    folder = tmp_path / "given"
    folder.mkdir()
    (folder / "netlist.pb.txt").write_text(tiny)
    (folder / "initial.plc").write_text(tiny_plc)
    return load_design(folder)


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_netlist_and_plc_of_a_tiny_design(tmp_path: Path, design: Design, suffix: str) -> None:
    netlist, plc = tmp_path / f"n.pb.txt{suffix}", tmp_path / f"a.plc{suffix}"
    write_netlist(netlist, design, design.start)
    write_plc(plc, design, design.start, COSTS)
    assert (netlist.read_bytes()[:2] == b"\x1f\x8b") is (suffix == ".gz")
    assert_same(load_design([plc, netlist]), design)


def test_a_netlist_alone_keeps_canvas_and_positions(tmp_path: Path, design: Design) -> None:
    path = tmp_path / "n.pb.txt"
    write_netlist(path, design, design.start)
    alone = load_design(path)
    assert (alone.canvas.width_um, alone.canvas.height_um) == (50, 40)
    assert np.array_equal(alone.start.x_um, design.start.x_um)
    assert np.array_equal(alone.start.orientation, design.start.orientation)


def test_a_plc_made_for_a_netlist_without_one_gives_the_same_design(tmp_path: Path, tiny: str) -> None:
    (tmp_path / "netlist.pb.txt").write_text(tiny)
    alone = load_design(tmp_path)
    assert "canvas" in alone.derived
    write_plc(tmp_path / "initial.plc", alone, alone.start)
    again = load_design(tmp_path)
    assert_same(again, alone)
    assert again.derived == {}


def test_pins_are_written_where_they_are(tmp_path: Path, design: Design) -> None:
    """Macro A is turned to S: its pin at (-4, -1.5) lies at (4, 1.5) from (20.125, 30.5)."""
    path = tmp_path / "n.pb.txt"
    write_netlist(path, design, design.start)
    pin = path.read_text().split("node {")[5]
    values = dict(re.findall(r'key: "(\w+)"\s+value \{\s+\w+: (\S+)', pin))
    assert (values["x"], values["y"], values["x_offset"], values["y_offset"]) == ("24.125", "32", "-4", "-1.5")


def test_the_header_is_kept_and_brought_up_to_date(tmp_path: Path, design: Design) -> None:
    path = tmp_path / "result.plc"
    write_plc(path, design, design.start, COSTS)
    lines = path.read_text().split("\n")
    for line in (
        "# This file : result.plc",
        "# Columns : 5  Rows : 4",
        "# Width : 50  Height : 40",
        "# Wirelength : 1234.5",
        "# Congestion cost : 0.3",
        "# Project : demo",
        "# Block : tiny",
        "# Routes per micron, hor : 10.5  ver : 11.5",
        "# Blockage : 0 30 10 40 1.0",
        "# HARD_MACROs     :         2",
        "2 20.125 30.5 S 1",
    ):
        assert lines.count(line) == 1, line
    again = load_design([path.parent / "given" / "netlist.pb.txt"], path)
    write_plc(tmp_path / "second.plc", again, again.start, {**COSTS, "wirelength": 99})
    second = (tmp_path / "second.plc").read_text()
    assert second == path.read_text().replace("result.plc", "second.plc").replace("1234.5", "99")
    assert "Date" not in second


def test_pictures_and_costs_of_the_placement_read_do_not_live_on(tmp_path: Path, tiny: str, tiny_plc: str) -> None:
    stale = (
        "# Date : 2022-07-31 03:45:58\n# Congestion cost : 0.7259\n# 90% Congestion metric: (0, 0)\n"
        "# Fake net cost : 0\n# Hard Macro Placements:\n#    |0|0|0|0|0|\n#    |0|1|2|3|4|\n#    -----------\n"
        "#   3|4|4| |4|4|\n#    -----------\n"
    )
    (tmp_path / "netlist.pb.txt").write_text(tiny)
    (tmp_path / "a.plc").write_text(stale + tiny_plc)
    design = load_design(tmp_path)
    write_plc(tmp_path / "b.plc", design, design.start)
    text = (tmp_path / "b.plc").read_text()
    assert not re.search(r"Date|cost|metric|Placements|\|", text)


def test_equal_input_gives_equal_bytes(tmp_path: Path, design: Design) -> None:
    for name in ("a", "b"):
        write_netlist(tmp_path / f"{name}.pb.txt.gz", design, design.start)
    assert (tmp_path / "a.pb.txt.gz").read_bytes() == (tmp_path / "b.pb.txt.gz").read_bytes()


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, design: Design) -> None:
    path = tmp_path / "a.plc"
    path.write_text("old")
    broken = dataclasses.replace(design.start, x_um=design.start.x_um)
    object.__setattr__(broken, "x_um", design.start.x_um[:2])
    with pytest.raises(IndexError):
        write_plc(path, design, broken)
    assert path.read_text() == "old"


def third_party(text: str) -> tuple[dict[str, float], dict[int, list[str]]]:
    """Header and rows by the rules other Circuit Training tools read .plc with: words and numbers without exponents
    per line, found by position."""
    header: dict[str, float] = {}
    rows: dict[int, list[str]] = {}
    for line in text.split("\n"):
        items = re.findall(r"[0-9A-Za-z.\-]+", line)
        if "Columns" in items and "Rows" in items:
            header["columns"], header["rows"] = int(items[1]), int(items[3])
        elif "Width" in items and "Height" in items:
            header["width"], header["height"] = float(items[1]), float(items[3])
        elif {"Routes", "per", "micron"} <= set(items):
            header["hor"], header["ver"] = float(items[4]), float(items[6])
        elif {"Routes", "used", "by", "macros"} <= set(items):
            header["macro_hor"], header["macro_ver"] = float(items[5]), float(items[7])
        elif {"Smoothing", "factor"} <= set(items):
            header["smoothing"] = int(items[2])
        elif items and not line.startswith("#"):
            assert len(items) == 5
            rows[int(items[0])] = items[1:]
    return header, rows


def test_other_tools_read_what_we_write(tmp_path: Path, design: Design) -> None:
    far = design.start.moved(x_um=np.array([0.0, 50.0, 1e-7, 1e22 / 1e15, 25.0]))
    write_plc(tmp_path / "a.plc", design, far, COSTS)
    header, rows = third_party((tmp_path / "a.plc").read_text())
    assert header == {
        "columns": 5, "rows": 4, "width": 50, "height": 40, "smoothing": 0,
        "hor": 10.5, "ver": 11.5, "macro_hor": 3.5, "macro_ver": 4.5,
    }  # fmt: skip
    assert list(rows) == design.netlist.node_index.tolist()
    assert [float(row[0]) for row in rows.values()] == far.x_um.tolist()
    assert [row[2] for row in rows.values()] == ["-", "-", "S", "E", "N"]


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_reads_back_exactly_and_has_no_exponent(value: float) -> None:
    text = number(value)
    assert float(text) == value
    assert re.fullmatch(r"-?\d+(\.\d+)?", text)


names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=10)
um = st.floats(0.001, 1000)


@st.composite
def designs(draw: st.DrawFn) -> Design:
    """A random netlist with a random placement: hostile names, all kinds, pins between their macros."""
    unique = iter(draw(st.lists(names.map(lambda name: f"n{name}"), min_size=20, max_size=20, unique=True)))
    kinds = [NodeKind.HARD_MACRO, *draw(st.lists(st.sampled_from(list(NodeKind)), max_size=4))]
    node_name, node_index, sizes, sides, pins = [], [], [], [], []
    count = 0
    for node, kind in enumerate(kinds):
        own = next(unique)
        name = f"Grp{own}" if kind is NodeKind.SOFT_MACRO else own
        node_name.append(name)
        node_index.append(count)
        count += 1
        sizes.append((0.0, 0.0) if kind is NodeKind.PORT else (draw(um), draw(um)))
        sides.append(draw(st.integers(-1, 3)) if kind is NodeKind.PORT else -1)
        if kind in (NodeKind.PORT, NodeKind.CELL):
            pins.append((name, node, 0.0, 0.0))
        else:
            for _ in range(draw(st.integers(0, 2))):
                pins.append((next(unique), node, draw(um), -draw(um)))
                count += 1
    drivers = draw(st.lists(st.integers(0, len(pins) - 1), unique=True).map(sorted)) if pins else []
    nets = [[driver, *draw(st.lists(st.integers(0, len(pins) - 1), min_size=1, max_size=4))] for driver in drivers]
    weights = [
        1.0 if kinds[pins[driver][1]] is NodeKind.PORT else draw(st.sampled_from([0.0, 0.5, 1.0, 3.0, 1e-9]))
        for driver in drivers
    ]
    used = {pin for net in nets for pin in net}
    extra = draw(
        st.dictionaries(st.integers(-1, count - 1), st.just((("k\n", "s", 'v"\\'), ("z", "i", "7"))), max_size=2)
    )
    n = len(kinds)
    netlist = Netlist(
        node_name=tuple(node_name),
        node_kind=np.array(kinds),
        node_index=np.array(node_index),
        width_um=np.array([size[0] for size in sizes]),
        height_um=np.array([size[1] for size in sizes]),
        port_side=np.array(sides),
        pin_name=tuple(pin[0] for pin in pins),
        pin_node=np.array([pin[1] for pin in pins]),
        pin_dx_um=np.array([pin[2] for pin in pins], dtype=float),
        pin_dy_um=np.array([pin[3] for pin in pins], dtype=float),
        net_start=np.cumsum([0, *[len(net) for net in nets]]),
        net_pin=np.array([pin for net in nets for pin in net]),
        net_weight=np.array(weights),
        drivers_without_sinks=len(pins) - len(used),
        extra_attributes=extra,
    )
    placeable = [kind in (NodeKind.HARD_MACRO, NodeKind.SOFT_MACRO) for kind in kinds]
    start = Placement(
        x_um=np.array([draw(st.floats(-1e9, 1e9)) for _ in kinds]),
        y_um=np.array([draw(st.floats(-1e9, 1e9)) for _ in kinds]),
        orientation=np.array([draw(st.integers(0, 7)) if movable else 0 for movable in placeable]),
        fixed=np.array([draw(st.booleans()) for _ in range(n)]),
    )
    canvas = Canvas(width_um=draw(um), height_um=draw(um), columns=draw(st.integers(1, 99)), rows=3, smoothing=0)
    boxes = np.array(draw(st.lists(st.tuples(st.just(0.0), st.just(-1.0), um, um), max_size=2))).reshape(-1, 4)
    return Design(name="random", netlist=netlist, canvas=canvas, start=start, blockages_um=boxes)


@given(designs())
@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
def test_random_designs(tmp_path_factory: pytest.TempPathFactory, design: Design) -> None:
    folder = tmp_path_factory.mktemp("random")
    write_netlist(folder / "netlist.pb.txt", design, design.start)
    write_plc(folder / "a.plc", design, design.start)
    assert_same(load_design(folder), design)
    (folder / "netlist.pb.txt").write_bytes(gzip.compress((folder / "netlist.pb.txt").read_bytes()))
    assert_same(load_design(folder), design)


@given(names)
def test_quoted_names_read_back(name: str) -> None:
    from netlists.circuit_training.textproto import scan_nodes

    text = f"node {{\n  name: {quoted(name)}\n}}\n"
    (node,) = scan_nodes(Path("n"), [text])
    assert node.name == name
    assert "\n" not in quoted(name)
