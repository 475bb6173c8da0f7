"""DEF and Tcl out: only the macros change, to the byte; read back they give the same placement exactly."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from netlists.errors import InputError, MismatchError, ParseError
from netlists.lefdef.def_file import Status
from netlists.lefdef.def_writer import read_places, write_def
from netlists.lefdef.places import movable_macros
from netlists.lefdef.snap import snap
from netlists.lefdef.tcl import quoted, read_tcl, unquoted, write_tcl
from netlists.load import load_design
from netlists.model import Design, NodeKind, Orientation, Placement

Write = Callable[[str, str | bytes], Path]


@pytest.fixture
def design(write: Write, lef_text: str, def_text: str) -> Design:
    return load_design([write("a.lef", lef_text), write("a.def", def_text)], name="top")


def moved(design: Design) -> Placement:
    """a and c somewhere else, c turned."""
    x, y, orientation = design.start.x_um.copy(), design.start.y_um.copy(), design.start.orientation.copy()
    a, c = design.netlist.node_name.index("a"), design.netlist.node_name.index("c")
    x[a], y[a], x[c], y[c], orientation[c] = 31.23771, 42.0, 70.1, 22.2, Orientation.W
    return snap(design, design.start.moved(x_um=x, y_um=y, orientation=orientation))


def test_only_the_macros_change(write: Write, def_text: str, design: Design, tmp_path: Path) -> None:
    source = write("a.def", def_text)
    assert write_def(tmp_path / "out.def", source, design, moved(design)) == 2
    expected = def_text.replace("- a RAM + PLACED ( 20000 30000 ) N", "- a RAM + FIXED ( 26240 40000 ) N").replace(
        "+ UNPLACED + PROP", "+ FIXED ( 68100 17200 ) W + PROP"
    )
    assert (tmp_path / "out.def").read_text() == expected
    write_def(tmp_path / "out.def", source, design, moved(design), status=Status.PLACED)
    assert (tmp_path / "out.def").read_text() == expected.replace("+ FIXED ( 26240", "+ PLACED ( 26240").replace(
        "+ FIXED ( 68100", "+ PLACED ( 68100"
    )


def test_component_without_a_place_gets_one(write: Write, lef_text: str, def_text: str, tmp_path: Path) -> None:
    text = def_text.replace("- a RAM + PLACED ( 20000 30000 ) N ;", "- a RAM\n  + HALO 1 1 1 1\n ;")
    source = write("a.def", text)
    design = load_design([write("a.lef", lef_text), source], name="top")
    write_def(tmp_path / "out.def", source, design, moved(design))
    assert "- a RAM + FIXED ( 26240 40000 ) N\n  + HALO 1 1 1 1\n ;" in (tmp_path / "out.def").read_text()


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("size", [1, 13, 1 << 20])
def test_every_other_byte_is_kept(
    write: Write, def_text: str, design: Design, tmp_path: Path, ends: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = b"\xef\xbb\xbf" + def_text.replace("\n", ends).encode() + b"trailing \xc3\xa9"
    source = write("a.def", content)
    monkeypatch.setattr("netlists.files.BLOCK_BYTES", size)
    write_def(tmp_path / "out.def", source, design, moved(design))
    written = (tmp_path / "out.def").read_bytes()
    back = written.replace(b"+ FIXED ( 26240 40000 ) N", b"+ PLACED ( 20000 30000 ) N").replace(
        b"+ FIXED ( 68100 17200 ) W", b"+ UNPLACED"
    )
    assert back == content


def test_gzip_by_the_names_end(write: Write, def_text: str, design: Design, tmp_path: Path) -> None:
    source = write("packed", gzip.compress(def_text.encode()))
    write_def(tmp_path / "out.def", source, design, moved(design))
    write_def(tmp_path / "out.def.gz", source, design, moved(design))
    assert gzip.decompress((tmp_path / "out.def.gz").read_bytes()) == (tmp_path / "out.def").read_bytes()


def test_read_back_is_the_same_placement(write: Write, def_text: str, design: Design, tmp_path: Path) -> None:
    placement = moved(design)
    write_def(tmp_path / "out.def", write("a.def", def_text), design, placement)
    back = read_places(tmp_path / "out.def", design)
    hard = design.netlist.nodes_of(NodeKind.HARD_MACRO)
    for array in ("x_um", "y_um", "orientation"):
        assert np.array_equal(getattr(back, array)[hard], getattr(placement, array)[hard])


def test_names_are_matched_across_escapes(write: Write, lef_text: str, def_text: str, tmp_path: Path) -> None:
    text = def_text.replace("b\\[0\\] RAM + FIXED", "b\\[0\\] RAM + PLACED")
    design = load_design([write("a.lef", lef_text), write("a.def", text)], name="top")
    other = write("b.def", text.replace("b\\[0\\]", "b[0]"))
    assert write_def(tmp_path / "out.def", other, design, moved(design)) == 3
    assert "- b[0] RAM + FIXED (" in (tmp_path / "out.def").read_text()
    both = write("c.def", text.replace("- u2 BUF", "- b[0] RAM"))
    with pytest.raises(ParseError, match=r"'b\[0\]'.*ambiguous"):
        write_def(tmp_path / "x.def", both, design, moved(design))
    assert not (tmp_path / "x.def").exists()


def test_refusals(write: Write, def_text: str, design: Design, tmp_path: Path) -> None:
    source = write("a.def", def_text)
    with pytest.raises(InputError, match="off the manufacturing grid of 5"):
        write_def(tmp_path / "x.def", source, design, design.start.moved(x_um=design.start.x_um + 0.0012))
    with pytest.raises(MismatchError, match=r"1 of 2 macros .*'c'"):
        write_def(tmp_path / "x.def", write("b.def", def_text.replace("- c RAM", "- d RAM")), design, moved(design))
    with pytest.raises(MismatchError, match="UNPLACED: 'c'"):
        read_places(source, design)
    assert not (tmp_path / "x.def").exists()


def test_tcl(design: Design, tmp_path: Path) -> None:
    placement = moved(design)
    assert write_tcl(tmp_path / "m.tcl", design, placement, "0.1.0") == 2
    assert (tmp_path / "m.tcl").read_text().splitlines() == [
        "# Macro placement of 'top' by Placewright 0.1.0: 2 macros",
        "place_macro -macro_name {a} -location {26.24 40} -orientation R0",
        "place_macro -macro_name {c} -location {68.1 17.2} -orientation R90",
    ]
    places = read_tcl(tmp_path / "m.tcl", 1000)
    assert places == {"a": (26240, 40000, Orientation.N), "c": (68100, 17200, Orientation.W)}
    assert len(places) == len(movable_macros(design))


@pytest.mark.parametrize(
    "name", ["a[0]", "a\\[0\\]", "a$b", "a b", "a{b", "a}b", "a{b}c", "tail\\", "a\\{b", 'q"u;o', "{", "\\\\"]
)
def test_names_survive_tcl(name: str) -> None:
    word = quoted(name)
    assert unquoted(word) == name
    assert tcl_word(word) == name


def tcl_word(word: str) -> str:
    """What a Tcl interpreter makes of one word: the rules of Tcl(n), by hand."""
    if word.startswith("{"):
        assert re.fullmatch(r"\{.*\}", word)
        depth, at = 0, 0
        while at < len(word):
            if word[at] == "\\":
                at += 1
            elif word[at] in "{}":
                depth += 1 if word[at] == "{" else -1
                assert depth > 0 or at == len(word) - 1
            at += 1
        assert depth == 0
        return word[1:-1]
    assert not re.search(r"(?<!\\)(?:\\\\)*[\[\]$\"; \t{}]", word)
    return re.sub(r"\\(.)", r"\1", word)


def test_tcl_refuses_what_it_is_not(write: Write) -> None:
    with pytest.raises(ParseError, match=r"m\.tcl:2: must be 'place_macro"):
        read_tcl(write("m.tcl", "# x\nplace_cell a\n"), 1000)


def test_real_floorplan_round_trip(benchmarks: Path, tmp_path: Path) -> None:
    """The placed DEF of the benchmark, all macros as they are: the same file, but FIXED."""
    folder = benchmarks / "lefdef/ariane_ct"
    source = folder / "ariane.def.gz"
    design = load_design([folder / "ariane.lef", source], name="top")
    assert write_def(tmp_path / "out.def", source, design, design.start, status=Status.PLACED) == 133
    assert (tmp_path / "out.def").read_bytes() == gzip.decompress(source.read_bytes())
    write_def(tmp_path / "fixed.def", source, design, design.start)
    differ = [
        (old, new)
        for old, new in zip(
            gzip.decompress(source.read_bytes()).splitlines(),
            (tmp_path / "fixed.def").read_bytes().splitlines(),
            strict=True,
        )
        if old != new
    ]
    assert len(differ) == 133
    assert all(old.replace(b"PLACED", b"FIXED") == new for old, new in differ)
