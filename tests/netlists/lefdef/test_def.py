"""DEF: what is read, both ways of reading against each other, and what is refused with file, line and token."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from netlists.errors import InputError, ParseError
from netlists.files import Limits
from netlists.lefdef.def_file import ON_PIN, Components, DefFile, Nets, Status
from netlists.lefdef.def_reader import read_def
from netlists.lefdef.def_walk import looks_like_def
from netlists.model import Orientation

Write = Callable[[str, str | bytes], Path]


def same(first: Components | Nets, second: Components | Nets) -> bool:
    for field in fields(first):
        one, other = getattr(first, field.name), getattr(second, field.name)
        if not (np.array_equal(one, other) if isinstance(one, np.ndarray) else one == other):
            return False
    return True


def same_file(first: DefFile, second: DefFile) -> bool:
    assert first.nets is not None
    assert second.nets is not None
    rest = [field.name for field in fields(first) if field.name not in ("path", "components", "nets")]
    return (
        same(first.components, second.components)
        and same(first.nets, second.nets)
        and all(getattr(first, name) == getattr(second, name) for name in rest)
    )


def test_reads_header_rows_and_tracks(write: Write, def_text: str) -> None:
    file = read_def(write("a.def", def_text))
    assert (file.version, file.design, file.units_per_um, file.divider, file.bus_bits) == (
        "5.8",
        "top",
        1000,
        "/",
        "[]",
    )
    assert file.die == ((0, 0), (100000, 80000))
    assert [(row.name, row.site, row.y, row.columns, row.step_x) for row in file.rows] == [
        ("r0", "core", 0, 500, 200), ("r1", "core", 78000, 500, 200),
    ]  # fmt: skip
    assert (file.tracks[0].axis, file.tracks[0].start, file.tracks[0].step, file.tracks[0].layers) == (
        "Y",
        100,
        200,
        ("M1",),
    )
    assert file.counted == {"VIAS": 1, "SPECIALNETS": 1}
    assert file.warnings == ()


def test_reads_components(write: Write, def_text: str) -> None:
    parts = read_def(write("a.def", def_text)).components
    assert parts.name == ("a", "b\\[0\\]", "c", "u1", "u2")
    assert [parts.masters[master] for master in parts.master] == ["RAM", "RAM", "RAM", "BUF", "BUF"]
    assert parts.x.tolist() == [20000, 50000, 0, 40000, 0]
    assert parts.orientation.tolist() == [Orientation.N, Orientation.FS, 0, Orientation.N, 0]
    assert parts.status.tolist() == [Status.PLACED, Status.FIXED, Status.UNPLACED, Status.PLACED, Status.UNPLACED]
    assert (parts.halo[1].left, parts.halo[1].soft) == (100, False)


def test_reads_pins(write: Write, def_text: str) -> None:
    pins = read_def(write("a.def", def_text)).pins
    assert (pins["in"].x, pins["in"].y) == (140, 51980)
    assert (pins["out"].x, pins["out"].y) == (50, 10050)  # the first placed port and the centre of its shape
    assert (pins["VDD"].use, pins["VDD"].status) == ("POWER", Status.UNPLACED)


def test_pin_shape_is_turned_with_its_pin(write: Write, def_text: str) -> None:
    text = def_text.replace(
        "+ LAYER M1 ( -140 -140 ) ( 140 140 ) + PLACED ( 140 51980 ) N",
        "+ LAYER M1 ( 0 0 ) ( 20 60 ) + PLACED ( 0 500 ) E",
    )
    pin = read_def(write("a.def", text)).pins["in"]
    assert (pin.x, pin.y) == (30, 490)


def test_reads_nets(write: Write, def_text: str) -> None:
    nets = read_def(write("a.def", def_text)).nets
    assert nets is not None
    assert nets.name == ("n0", "n1", "n2", "n3")
    assert nets.start.tolist() == [0, 3, 5, 8, 9]
    assert nets.component.tolist() == [ON_PIN, 0, 1, 3, 0, 3, ON_PIN, 2, 4]
    assert [nets.pin_names[pin] for pin in nets.pin] == ["in", "P", "P", "A", "Q", "Y", "out", "P", "Y"]
    assert nets.weight == {2: 3.0}


def test_reads_blockages_regions_groups(write: Write, def_text: str) -> None:
    more = (
        "REGIONS 1 ;\n- r ( 0 0 ) ( 10 10 ) ( 20 0 ) ( 30 10 ) + TYPE FENCE ;\nEND REGIONS\n"
        "GROUPS 1 ;\n- g a u* + REGION r ;\nEND GROUPS\n"
    )
    extra = "- PLACEMENT + PARTIAL 40 RECT ( 5 5 ) ( 0 0 ) POLYGON ( 0 0 ) ( 0 9 ) ( 9 9 ) ( 9 0 ) ;\n"
    text = def_text.replace("END BLOCKAGES", extra + "END BLOCKAGES").replace("BLOCKAGES 3", "BLOCKAGES 4")
    file = read_def(write("a.def", text.replace("END NETS\n", "END NETS\n" + more)))
    assert [(one.kind, one.soft, one.partial) for one in file.blockages] == [
        ("PLACEMENT", False, None), ("PLACEMENT", True, None), ("M1", False, None), ("PLACEMENT", False, 40.0),
    ]  # fmt: skip
    assert file.blockages[3].rects == ((0, 0, 5, 5),)
    assert file.blockages[3].polygons == (((0, 0), (0, 9), (9, 9), (9, 0)),)
    assert file.regions["r"].rects == ((0, 0, 10, 10), (20, 0, 30, 10))
    assert (file.groups[0].members, file.groups[0].region) == (("a", "u*"), "r")


def test_both_ways_of_reading_agree(write: Write, def_text: str) -> None:
    path = write("a.def", def_text)
    assert same_file(read_def(path), read_def(path, exact_only=True))


def test_exponents_count_where_they_are_integral(write: Write, def_text: str) -> None:
    text = def_text.replace("( 100000 80000 )", "( 1.89e+06 1.5e+06 )", 1)
    file = read_def(write("a.def", text))
    assert file.die[1] == (1_890_000, 1_500_000)
    assert any("exponent" in warning and "a.def:11" in warning for warning in file.warnings)
    with pytest.raises(ParseError, match="an integer"):
        read_def(write("b.def", def_text.replace("( 100000 80000 )", "( 1.5 2 )", 1)))


def test_equal_warnings_are_one_row(write: Write) -> None:
    nets = "".join(f"- n{i} ( PIN p{i} ) + FANCY ABC ;\n" for i in range(1000))
    pins = "".join(f"- p{i} + NET n{i} + SHINY 1 ;\n" for i in range(1000))
    text = f"UNITS DISTANCE MICRONS 1000 ;\nPINS 1000 ;\n{pins}END PINS\nNETS 1000 ;\n{nets}END NETS\nEND DESIGN\n"
    warnings = read_def(write("a.def", text)).warnings
    assert len(warnings) == 1
    assert "x 1,000" in warnings[0]


def test_unknown_statement_is_skipped_with_a_warning(write: Write, def_text: str) -> None:
    file = read_def(write("a.def", def_text.replace("TECHNOLOGY tech ;", "TECHNOLOGY tech ;\nSHINY 1 2 ;")))
    assert file.warnings == ("DEF statement SHINY is not known and skipped (first: a.def:7)",)


@pytest.mark.parametrize("exact_only", [False, True])
def test_blotted_out_net_names_are_nets_of_their_own_with_a_warning(
    write: Write, def_text: str, exact_only: bool
) -> None:
    nets = "- n0 ( u1 A ) ( u2 A ) ;\n" * 40
    path = write("a.def", def_text.replace("NETS 4 ;", f"NETS 44 ;\n{nets}"))
    file = read_def(path, exact_only=exact_only)
    assert file.nets is not None
    assert len(file.nets.name) == 44
    assert any("4 names for 44 nets" in one and "'n0', lines 43 and 44" in one for one in file.warnings)


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("- u1 BUF + PLACED", "- a BUF + PLACED", 24, "second time; first at line 20"),
        ("- n1 (", "- n0 (", 44, "net 'n0' is defined a second time; first at line 43"),
        ("- out +", "- in +", 29, "pin 'in' is defined a second time; first at line 28"),
        ("PLACED ( 20000 30000 ) N", "PLACED ( 20000 30000 ) R45", 20, "orientations are N, FN, S, FS"),
        ("PLACED ( 20000 30000 ) N", "PLACED ( 20000 x ) N", 20, "database units"),
        ("PLACED ( 20000 30000 ) N", "PLACED ( 20000 30000 ) N +", 20, "a keyword must stand"),
        ("PLACED ( 20000 30000 ) N", "PLACED ( 20000 30000 ) N N", 20, r"must be '\+'"),
        ("( a P )", "( ghost P )", 43, "COMPONENTS does not hold"),
        ("END COMPONENTS", "END NETS", 26, "must be '-' or END COMPONENTS"),
        ("END DESIGN", "", 50, "without END DESIGN"),
        ("UNITS DISTANCE MICRONS 1000", "UNITS DISTANCE MICRONS 0", 7, "database units a µm"),
        ("DIEAREA ( 0 0 ) ( 100000 80000 )", "DIEAREA ( 0 0 )", 11, "two corners"),
        ("WEIGHT 3", "WEIGHT x", 46, "WEIGHT must be"),
        ("TRACKS Y", "TRACKS Z", 14, "X or Y"),
    ],
)
def test_faults_name_line_and_reason(write: Write, def_text: str, old: str, new: str, line: int, message: str) -> None:
    assert old in def_text
    with pytest.raises(ParseError, match=message) as caught:
        read_def(write("a.def", def_text.replace(old, new, 1)))
    assert caught.value.line == line


def test_counts_and_limits(write: Write, def_text: str) -> None:
    path = write("a.def", def_text.replace("COMPONENTS 5", "COMPONENTS 6").replace("NETS 4 ;\n- n0", "NETS 3 ;\n- n0"))
    assert len(read_def(path).warnings) == 2
    with pytest.raises(InputError, match="the limit is 3"):
        read_def(path, Limits(max_nodes=3))


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("pack", [False, True])
def test_line_ends_mark_and_gzip(write: Write, def_text: str, ends: str, mark: bytes, pack: bool) -> None:
    content = mark + def_text.rstrip("\n").replace("\n", ends).encode()
    file = read_def(write("any.name", gzip.compress(content[:99]) + gzip.compress(content[99:]) if pack else content))
    plain = read_def(write("plain.def", def_text))
    assert file.components.name == plain.components.name
    assert file.pins == plain.pins
    assert file.nets is not None
    assert plain.nets is not None
    assert same(file.nets, plain.nets)


def test_every_truncation_is_an_error(write: Write, def_text: str) -> None:
    for cut in range(len(def_text.rstrip())):
        with pytest.raises(InputError, match=r"cut\.def"):
            read_def(write("cut.def", def_text[:cut]))


@pytest.mark.parametrize("size", [1, 7, 64])
def test_any_size_of_block_reads_the_same(
    write: Write, def_text: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write("a.def", def_text)
    whole = read_def(path)
    monkeypatch.setattr("netlists.files.BLOCK_BYTES", size)
    assert same_file(read_def(path), whole)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_text_never_crashes_and_both_ways_agree(write: Write, def_text: str, data: st.DataObject) -> None:
    words = def_text.split(" ")
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(words) - 1))
        words[at] = data.draw(
            st.sampled_from(
                ["", ";", "END", "1e999", "nan", "-", "+", "(", ")", '"', "#", "PIN", "N", "x", "- q RAM ;", "\\", "7"]
            )
        )
    path = write("damaged.def", " ".join(words))
    results: list[DefFile | str] = []
    for exact_only in (False, True):
        try:
            results.append(read_def(path, exact_only=exact_only))
        except InputError as error:
            results.append(str(error))
    assert all(isinstance(result, DefFile) or "damaged.def" in result for result in results)
    first, second = results
    if isinstance(first, DefFile) and isinstance(second, DefFile) and first.nets and second.nets:
        assert same_file(first, second)
    else:
        assert isinstance(first, str) == isinstance(second, str)


@pytest.mark.parametrize("exact_only", [False, True])
@pytest.mark.parametrize("damaged", ["( u1 ; )", "( ; A )", "( u1 # )"])
def test_a_connection_without_its_words_is_an_error(
    write: Write, def_text: str, damaged: str, exact_only: bool
) -> None:
    assert "( u1 A )" in def_text
    with pytest.raises(InputError, match=r"damaged.def:\d+"):
        read_def(write("damaged.def", def_text.replace("( u1 A )", damaged, 1)), exact_only=exact_only)


def test_recognised_by_content(lef_text: str, def_text: str) -> None:
    assert looks_like_def(def_text.encode())
    assert not looks_like_def(lef_text.encode())
