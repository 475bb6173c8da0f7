"""Bookshelf out: reading back gives the same arrays, for Bookshelf's own designs and for those of other formats."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from netlists.bookshelf.coordinates import file_corner
from netlists.bookshelf.writer import losses, refusal, write_bookshelf, write_pl
from netlists.load import load_design
from netlists.model import Design, Netlist, NodeKind, Orientation, pin_positions_um
from netlists.samples import make_sample
from tests.netlists.bookshelf.conftest import FILES, write

NUMBERS = st.decimals(-10_000, 10_000, places=4).map(float)


def assert_same(a: Design, b: Design) -> None:
    for f in fields(Netlist):
        assert np.array_equal(getattr(a.netlist, f.name), getattr(b.netlist, f.name)), f.name
    for key in ("x_um", "y_um", "orientation", "fixed"):
        assert np.array_equal(getattr(a.start, key), getattr(b.start, key)), key
    assert (a.canvas, a.rows, a.origin_um) == (b.canvas, b.rows, b.origin_um)
    assert np.array_equal(a.blockages_um, b.blockages_um)


@pytest.mark.parametrize("packed", [False, True])
def test_a_whole_set(small: Path, tmp_path_factory: pytest.TempPathFactory, packed: bool) -> None:
    design = load_design(small)
    other = tmp_path_factory.mktemp("other")
    paths = write_bookshelf(other, design, design.start, "t", packed=packed)
    assert sorted(paths) == sorted(other.iterdir())
    assert_same(design, load_design(other / "t.aux"))
    assert losses(design) == ["grid and routing supplies of the canvas; sides of ports; names of pins"]
    if not packed:
        assert (other / "t.nodes").read_text().split() == FILES["nodes"].replace("# a comment", "").split()
        assert "  M O : -18.5 3\n" in (other / "t.nets").read_text()


def test_places_keep_names_order_and_numbers(small: Path) -> None:
    design = load_design(small)
    write_pl(small / "out.pl", design, design.start)
    assert (small / "out.pl").read_text() == FILES["pl"]
    write_pl(small / "out.pl", design, design.start, fix_macros=True)
    assert (small / "out.pl").read_text() == FILES["pl"].replace(": W", ": W /FIXED")


def test_an_orientation_is_written_and_moves_the_corner(small: Path) -> None:
    """R68 for .pl: pins of the file read back are where the optimiser had them."""
    design = load_design(small)
    for orientation in Orientation:
        turned = design.start.orientation.copy()
        turned[3] = orientation
        placement = design.start.moved(orientation=turned)
        write_pl(small / "t.pl", design, placement)
        again = load_design(small)
        assert np.array_equal(again.start.x_um, placement.x_um)
        assert np.array_equal(pin_positions_um(again.netlist, again.start), pin_positions_um(design.netlist, placement))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    corners=st.lists(st.tuples(NUMBERS, NUMBERS), min_size=8, max_size=8),
    turns=st.lists(st.sampled_from([o.name for o in Orientation]), min_size=8, max_size=8),
    origin=st.tuples(NUMBERS, NUMBERS),
)
def test_any_places_round_trip(
    tmp_path: Path, corners: list[tuple[float, float]], turns: list[str], origin: tuple[float, float]
) -> None:
    names = ["p0", "p1", "big", "M", "K", "a", "b", "c"]
    lines = [f"{n} {x!r} {y!r} : {o}" for n, (x, y), o in zip(names, corners, turns, strict=True)]
    text = "UCLA pl 1.0\n\n" + "\n".join(lines) + "\n"
    scl = FILES["scl"].replace("SubrowOrigin : 10", f"SubrowOrigin : {origin[0]!r}")
    design = load_design(write(tmp_path, pl=text, scl=scl))
    write_pl(tmp_path / "t.pl", design, design.start)
    again = load_design(tmp_path)
    assert_same(design, again)
    for line, before in zip((tmp_path / "t.pl").read_text().splitlines()[2:], lines, strict=True):
        ours, theirs = line.split(), before.split()
        assert ours[0] == theirs[0]
        assert [float(word) for word in ours[1:3]] == pytest.approx([float(word) for word in theirs[1:3]], abs=1e-11)
        assert ours[4] == theirs[4]


@settings(max_examples=200, deadline=None)
@given(corner=st.floats(-1e6, 1e6), size=st.floats(1e-3, 1e4), origin=st.floats(-1e5, 1e5))
def test_a_corner_read_from_a_file_is_found_again(corner: float, size: float, origin: float) -> None:
    centre = (corner - origin) + size / 2
    found = file_corner(np.array([centre]), np.array([size]), origin)
    assert (found[0] - origin) + size / 2 == centre


def test_short_decimals_are_written() -> None:
    assert file_corner(np.array([48.7308 + 3.15]), np.array([6.3]), 0.0).tolist() == [48.7308]


def test_a_design_of_another_format(tmp_path: Path) -> None:
    design = make_sample("small", 1)
    assert refusal(design) is None
    write_bookshelf(tmp_path, design, design.start, "s")
    again = load_design(tmp_path)
    assert again.netlist.node_name == design.netlist.node_name
    assert (again.canvas.width_um, again.canvas.height_um) == (design.canvas.width_um, design.canvas.height_um)
    lost = " ".join(losses(design))
    assert "80 macros are soft" in lost
    assert "rows: the design has none" in lost
    macro = design.netlist.node_kind <= NodeKind.SOFT_MACRO
    assert np.array_equal(again.netlist.node_kind == NodeKind.HARD_MACRO, macro)
    assert np.allclose(again.start.x_um, design.start.x_um, rtol=0, atol=1e-9)
    pins, old = pin_positions_um(again.netlist, again.start), pin_positions_um(design.netlist, design.start)
    assert np.allclose(pins[again.netlist.net_pin], old[design.netlist.net_pin], rtol=0, atol=1e-9)
    assert np.array_equal(again.netlist.net_weight, design.netlist.net_weight)


def test_names_that_no_file_can_hold(small: Path, tiny: str) -> None:
    netlist = small / "netlist.pb.txt"
    netlist.write_text(tiny.replace('"Grp_0"', '"Grp 0"'))
    assert "'Grp 0'" in str(refusal(load_design([netlist])))


def test_a_real_design(benchmarks: Path, tmp_path: Path) -> None:
    design = load_design(benchmarks / "bookshelf" / "ibm01")
    write_bookshelf(tmp_path, design, design.start, "ibm01", packed=True)
    assert_same(design, load_design(tmp_path))
