"""Bookshelf in: kinds of nodes, places, drivers, and what is told about it."""

from __future__ import annotations

import gzip
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from netlists.bookshelf.files import find_bookshelf, kind_of
from netlists.bookshelf.reader import read_bookshelf
from netlists.circuit_training.writer import write_plc
from netlists.errors import InputError, MismatchError
from netlists.files import Limits
from netlists.load import input_files, load_design
from netlists.model import Design, Netlist, NodeKind, Orientation, PinDirection, pin_positions_um
from netlists.parsed import ParsedNetlist
from tests.netlists.bookshelf.conftest import FILES, write


def parse(folder: Path, macro_height: float | None = None) -> ParsedNetlist:
    kinds = {path: kind for path in folder.iterdir() if (kind := kind_of(path))}
    return read_bookshelf(find_bookshelf(kinds), macro_height=macro_height)


def same(a: Design, b: Design) -> bool:
    arrays = [(getattr(a.netlist, f.name), getattr(b.netlist, f.name)) for f in fields(Netlist)]
    arrays += [(getattr(a.start, k), getattr(b.start, k)) for k in ("x_um", "y_um", "orientation", "fixed")]
    return all(np.array_equal(one, other) for one, other in arrays) and a.canvas == b.canvas and a.rows == b.rows


def test_kinds_places_and_nets(small: Path) -> None:
    design = load_design(small, name="small")
    netlist, start = design.netlist, design.start
    kinds = [NodeKind(kind).name for kind in netlist.node_kind]
    assert kinds == ["PORT", "PORT", "HARD_MACRO", "HARD_MACRO", "HARD_MACRO", "CELL", "CELL", "CELL"]
    assert start.fixed.tolist() == [True, True, True, False, True, False, False, False]
    assert (design.canvas.width_um, design.canvas.height_um, design.origin_um) == (100, 60, (10, 20))
    assert len(design.rows) == 5
    assert design.rows[0].right_um == 100
    # corners less the origin plus half the oriented size: M is turned
    assert (start.x_um[3], start.y_um[3]) == (60.125 - 10 + 12, 44 - 20 + 20)
    assert Orientation(start.orientation[3]) is Orientation.W
    assert netlist.net_name == ("n0", "n1", "n2", "n3")
    assert netlist.net_weight.tolist() == [1, 3, 1, 1]
    assert netlist.drivers_without_sinks == 1
    drivers = [netlist.node_name[netlist.pin_node[netlist.net_pin[at]]] for at in netlist.net_start[:-1]]
    assert drivers == ["M", "M", "a", "c"]  # n0: the O comes first; n1: direction B throughout, so the first pin
    assert netlist.pin_dx_um[1] == -18.5
    assert netlist.pin_direction[:2].tolist() == [PinDirection.INPUT, PinDirection.OUTPUT]
    assert [netlist.pin_name[pin] for pin in (0, 1, 3, 4)] == ["p0", "M/P0", "M/P1", "K/P0"]
    assert "1 nets have no pin of direction O" in design.derived["drivers"]
    assert design.has_start


def test_a_turned_port_keeps_its_pin_where_it_was(small: Path) -> None:
    design = load_design(small)
    at = pin_positions_um(design.netlist, design.start)[design.netlist.pin_name.index("p1")]
    assert at.tolist() == [109 - 10 + 1 + 0.5, 40.3 - 20 + 1 - 0.25]  # FS mirrors dy


def test_terminals_are_locked_without_fixed(small: Path) -> None:
    """R58."""
    design = load_design(write(small, pl=FILES["pl"].replace(" /FIXED_NI", "").replace(" /FIXED", "")))
    assert design.start.fixed[:5].tolist() == [True, True, True, False, False]
    assert "3 nodes" in design.derived["fixed"]


def test_terminals_without_area_may_be_overlapped(tmp_path: Path) -> None:
    """R59: an NI terminal of 1 x 1 below a macro, and a large one, are legal; a terminal with area is not."""
    from placement.legal import check

    nodes = "UCLA nodes 1.0\nx 1 1 terminal_NI\ny 30 30 terminal_NI\nz 30 30 terminal\nM 40 24\n"
    nets = "UCLA nets 1.0\nNetDegree : 2\nx I\nM O : 0 0\n"
    pl = "UCLA pl 1.0\nx 55 45 : N\ny 50 30 : N\nz 10 20 : N\nM {} 40 : N\n"
    for x, overlaps in ((50, 0), (30, 1)):
        write(tmp_path, nodes=nodes, nets=nets, wts="UCLA wts 1.0\n", pl=pl.format(x))
        design = load_design(tmp_path)
        assert check(design, design.start).overlap_count == overlaps
    assert design.netlist.counts()["hard_macros"] == 2


def test_the_macro_rule_and_its_counts(tmp_path: Path) -> None:
    """R61: 5 cells of height 12, 2 nodes of height 108, 1 terminal of height 108."""
    names = [f"c{i} 5 12" for i in range(5)] + ["m0 50 108", "m1 50 108", "t 50 108 terminal"]
    nodes = "UCLA nodes 1.0\nNumNodes : 8\nNumTerminals : 1\n" + "\n".join(names) + "\n"
    nets = "UCLA nets 1.0\nNetDegree : 2 a\nm0 B : 0 0\nm1 B : 0 0\n"
    pl = "UCLA pl 1.0\n" + "".join(f"{name.split()[0]} 0 0 : N\n" for name in names)
    write(tmp_path, nodes=nodes, nets=nets, wts="UCLA wts 1.0\n", pl=pl)
    parsed = parse(tmp_path)
    assert "higher than a row (12 µm) are macros: 2;" in parsed.derived["macros"]
    assert parsed.netlist.nodes_of(NodeKind.HARD_MACRO).tolist() == [5, 6]  # the terminal reaches beyond the core
    assert parsed.netlist.node_kind[7] == NodeKind.PORT
    assert parse(tmp_path, macro_height=108).netlist.counts()["hard_macros"] == 0
    assert parse(tmp_path, macro_height=11).netlist.counts()["hard_macros"] == 7
    (tmp_path / "t.scl").unlink()
    without = parse(tmp_path)
    assert "higher than 18 µm: 1.5 times the median height" in without.derived["macros"]
    assert without.netlist.nodes_of(NodeKind.HARD_MACRO).tolist() == [5, 6, 7]


def test_start_positions_are_kept(small: Path, tmp_path: Path) -> None:
    """R62: without its /FIXED a macro keeps its place as a start."""
    free = load_design(write(small, pl=FILES["pl"].replace(" /FIXED\na", "\na")))
    assert not free.start.fixed[4]
    assert (free.start.x_um[4], free.start.y_um[4]) == (30 - 10 + 10, 44 - 20 + 18)


@pytest.mark.parametrize("corner", [True, False])
def test_movable_nodes_at_one_spot_are_no_start(small: Path, corner: bool) -> None:
    sizes = {"M": (40, 24), "K": (20, 36), "a": (4, 12), "b": (6, 12), "c": (2.5, 12)}
    at = {name: (0, 0) if corner else (60 - w / 2, 50 - h / 2) for name, (w, h) in sizes.items()}
    moved = "".join(f"{name} {x:g} {y:g} : N\n" for name, (x, y) in at.items())
    pads = "".join(FILES["pl"].splitlines(keepends=True)[2:5])
    design = load_design(write(small, pl="UCLA pl 1.0\n" + pads + moved))
    assert not design.has_start
    assert "at one spot" in design.derived["start"]
    assert design.start.x_um[3] == (10 if corner else 50)


def test_terminals_beyond_the_core_are_blockages_on_it(small: Path) -> None:
    design = load_design(write(small, pl=FILES["pl"].replace("big 12.5 21", "big -5 25")))
    assert design.netlist.node_kind[2] == NodeKind.PORT
    assert design.blockages_um.tolist() == [[0, 5, 15, 29]]


def test_weights_of_nodes_are_not_taken_for_those_of_nets(small: Path) -> None:
    design = load_design(write(small, wts="UCLA wts 1.0\np0 0\nM 960\n"))
    assert design.netlist.net_weight.tolist() == [1, 1, 1, 1]
    assert "weighs 2 nodes, not nets" in design.warnings[0]


@pytest.mark.parametrize("encoding", ["crlf", "cr", "bom", "gz", "no last line end"])
def test_line_ends_mark_and_gzip(small: Path, tmp_path_factory: pytest.TempPathFactory, encoding: str) -> None:
    """R97 and R55."""
    plain = load_design(small)
    other = tmp_path_factory.mktemp("other")
    for kind, text in FILES.items():
        data = text.encode()
        data = {
            "crlf": data.replace(b"\n", b"\r\n"),
            "cr": data.replace(b"\n", b"\r"),
            "bom": b"\xef\xbb\xbf" + data,
            "gz": gzip.compress(data[:100]) + gzip.compress(data[100:]),
            "no last line end": data.rstrip(b"\n"),
        }[encoding]
        (other / f"t.{kind}").write_bytes(data)
    assert same(plain, load_design(other))


def test_ways_to_name_the_files(small: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    whole = load_design(small)
    paths = sorted(small.iterdir())
    lone = small / "t.aux"
    assert all(same(whole, load_design(given)) for given in (paths, [lone], paths[::-1]))
    assert load_design([lone]).name == "t"
    assert sorted(input_files([lone])) == paths
    # a service's own names: only the content tells
    other = tmp_path_factory.mktemp("other")
    for number, path in enumerate(paths):
        (other / f"file-{number:02d}.dat").write_bytes(path.read_bytes())
    assert same(whole, load_design(sorted(other.iterdir())))
    (small / "second.pl").write_text(FILES["pl"].replace("60.125", "61"))
    assert same(whole, load_design(small))  # the .aux says which
    lone.unlink()
    with pytest.raises(InputError, match=r"several files of kind pl: second\.pl, t\.pl; give one, or an \.aux"):
        load_design(sorted(small.iterdir()))


def test_missing_files(small: Path) -> None:
    (small / "t.wts").unlink()
    assert load_design(small / "t.aux").netlist.net_weight.tolist() == [1, 1, 1, 1]
    (small / "t.pl").unlink()
    with pytest.raises(InputError, match=r"t\.aux: names 't\.pl', which is not beside it"):
        load_design(small / "t.aux")
    (small / "t.aux").unlink()
    with pytest.raises(InputError, match=r"fixed macros, but no \.pl file that places them"):
        load_design(small)
    (small / "t.nets").unlink()
    with pytest.raises(InputError, match=r"needs a \.nodes and a \.nets file; given: .*; missing: \.nets"):
        load_design(small)


def test_without_scl_the_canvas_is_derived(small: Path) -> None:
    (small / "t.scl").unlink()
    design = load_design(sorted(path for path in small.iterdir() if path.suffix != ".aux"))
    assert "canvas" in design.derived
    assert design.rows == ()
    assert np.isfinite(design.start.x_um).all()


def test_a_plc_places_a_bookshelf_design(small: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    design = load_design(small)
    x = design.start.x_um.copy()
    x[3] += 1.5
    moved = design.start.moved(x_um=x)
    plc = tmp_path_factory.mktemp("result") / "placement.plc"
    write_plc(plc, design, moved)
    again = load_design(small, plc)
    assert np.array_equal(again.start.x_um, moved.x_um)
    assert again.canvas == design.canvas
    plc.write_text(plc.read_text().replace("# Width : 100 ", "# Width : 101 "))
    with pytest.raises(MismatchError, match="width of 101 µm, the netlist's files give 100 µm"):
        load_design(small, plc)


def test_limits(small: Path) -> None:
    with pytest.raises(InputError, match="more than 7 nodes"):
        load_design(small, limits=Limits(max_nodes=7))
    load_design(small, limits=Limits(max_nodes=8))


def test_several_formats_are_refused(small: Path, tiny: str) -> None:
    (small / "netlist.txt").write_text(tiny)
    with pytest.raises(InputError, match=r"different formats.*Circuit Training: netlist\.txt; Bookshelf: t\.aux, t"):
        load_design(sorted(small.iterdir()))


@pytest.mark.parametrize(
    ("name", "counts"),
    [("ibm01", (246, 246, 12260, 50566, 14111)), ("ibm10", (786, 744, 67899, 297567, 75196))],
)
def test_real_designs(benchmarks: Path, name: str, counts: tuple[int, ...]) -> None:
    design = load_design(benchmarks / "bookshelf" / name)
    found = design.netlist.counts()
    assert tuple(found[key] for key in ("hard_macros", "ports", "cells", "pins", "nets")) == counts
    assert not design.has_start
    assert design.rows[0].height_um == 16
