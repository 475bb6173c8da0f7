"""LEF: what is read, what is skipped with a warning, what is refused with file, line and token."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from netlists.errors import InputError, ParseError
from netlists.lefdef.lef import looks_like_lef, read_lef
from netlists.lefdef.lef_library import Macro

Write = Callable[[str, str | bytes], Path]


def macro(name: str = "M", body: str = "  CLASS BLOCK ;\n  SIZE 10 BY 4 ;\n") -> str:
    return f"MACRO {name}\n{body}END {name}\n"


def test_reads_technology_and_macros(write: Write, lef_text: str) -> None:
    library = read_lef([write("a.lef", lef_text)])
    assert (library.units_per_um, library.manufacturing_grid_um) == (2000, 0.005)
    assert (library.sites["core"].width_um, library.sites["core"].height_um) == (0.2, 2)
    layer = library.layers["M1"]
    assert (layer.kind, layer.direction, layer.pitch_um, layer.width_um, layer.offset_um) == (
        "ROUTING", "HORIZONTAL", (0.2, 0.2), 0.1, (0.1, 0.05),
    )  # fmt: skip
    ram = library.macros["RAM"]
    assert (ram.width_um, ram.height_um, ram.symmetry, ram.is_hard_macro) == (10, 4, {"X", "Y", "R90"}, True)
    assert ram.pins["P"].point == pytest.approx((1, 1))
    assert ram.pins["P"].direction == "INPUT"
    assert ram.pins["VDD"].use == "POWER"
    assert ram.pins["VDD"].point is None
    assert ram.obstructions == (("M1", (0, 0, 10, 4)),)
    assert not library.macros["BUF"].is_hard_macro
    assert library.warnings == ()


def test_pin_point_is_the_centre_of_the_box_around_all_its_shapes(write: Write) -> None:
    pin = "PIN A PORT LAYER M3 ; RECT 0 0 1 1 ; LAYER M4 ; RECT 1 0 2 1 ; POLYGON 0 0 2 0 2 2 ; END END A\n"
    library = read_lef([write("a.lef", macro(body="CLASS BLOCK ; SIZE 10 BY 4 ;\n" + pin))])
    assert library.macros["M"].pins["A"].point == (1, 1)


def test_origin_shifts_pins(write: Write) -> None:
    body = "CLASS BLOCK ; SIZE 10 BY 4 ; PIN A PORT LAYER M ; RECT -2 -1 -2 -1 ; END END A ORIGIN 3 2 ;\n"
    assert read_lef([write("a.lef", macro(body=body))]).macros["M"].pins["A"].point == (1, 1)


def test_iterate_mask_and_path(write: Write) -> None:
    body = (
        "CLASS BLOCK ; SIZE 10 BY 4 ; PIN A PORT LAYER M ; RECT MASK 1 ITERATE 0 0 1 1 DO 3 BY 2 STEP 2 1 ; END END A\n"
        "PIN B PORT LAYER M ; WIDTH 0.5 ; PATH 1 1 3 1 ; END END B\n"
    )
    pins = read_lef([write("a.lef", macro(body=body))]).macros["M"].pins
    assert pins["A"].box == (0, 0, 5, 2)
    assert pins["B"].box == (0.75, 0.75, 3.25, 1.25)


def test_footprint_is_size_never_obs(write: Write) -> None:
    library = read_lef([write("a.lef", macro(body="CLASS BLOCK ; SIZE 10 BY 4 ; OBS LAYER M1 ; RECT 0 0 0 0 ; END\n"))])
    assert (library.macros["M"].width_um, library.macros["M"].height_um) == (10, 4)


def test_pin_outside_size_stays_and_warns(write: Write) -> None:
    body = "CLASS BLOCK ; SIZE 14 BY 38 ; PIN A PORT LAYER M ; RECT -10 0 13 1 ; END END A\n"
    library = read_lef([write("a.lef", macro(body=body))])
    assert library.macros["M"].pins["A"].point == (1.5, 0.5)
    assert any("reach out of their macro's SIZE" in warning for warning in library.warnings)


def test_one_bad_macro_is_skipped_and_named(write: Write) -> None:
    text = macro("A") + "MACRO B\n  CLASS BLOCK ;\nEND B\n" + macro("C") + "END LIBRARY\n"
    library = read_lef([write("a.lef", text)])
    assert list(library.macros) == ["A", "C"]
    assert library.skipped["B"].startswith("a.lef:7: ")
    assert "no SIZE" in library.skipped["B"]


def test_pin_without_end_spoils_its_macro_alone(write: Write) -> None:
    text = macro("A", "CLASS BLOCK ; SIZE 1 BY 1 ;\nPIN X\nDIRECTION INPUT ;\nPIN Y\nEND Y\n") + macro("B")
    library = read_lef([write("a.lef", text)])
    assert list(library.macros) == ["B"]
    assert "PIN 'X' of MACRO 'A' is open" in library.skipped["A"]


def test_same_file_twice_is_silent_and_different_definitions_warn(write: Write) -> None:
    first, same = write("a.lef", macro("RAM")), write("b.lef", macro("RAM"))
    other = write("c.lef", "# c\n" + macro("RAM", "CLASS BLOCK ; SIZE 12 BY 4 ;\n"))
    assert read_lef([first, same, first]).warnings == ()
    equal = write("d.lef", "# another text\n" + macro("RAM"))
    assert read_lef([first, equal]).warnings == ()
    library = read_lef([first, other])
    assert library.macros["RAM"].width_um == 10
    assert "a.lef:1" in library.warnings[0]
    assert "c.lef:2" in library.warnings[0]


def test_old_and_unknown_statements_are_skipped_with_one_warning_each(write: Write) -> None:
    body = "CLASS BLOCK ; SIZE 1 BY 1 ; SOURCE USER ; POWER 1.0 ; SHINY 3 ; SHINY 4 ;\n"
    library = read_lef([write("a.lef", "VERSION 5.8 ;\n" + macro(body=body))])
    assert "M" in library.macros
    assert len(library.warnings) == 3
    assert any("SHINY" in warning and "x 2" in warning and "a.lef:3" in warning for warning in library.warnings)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("hello world\n", 1, "no LEF statement"),
        ("MANUFACTURINGGRID x ;\n", 1, "must be a number of µm"),
        ("UNITS\n DATABASE MICRONS 0 ;\nEND UNITS\n", 2, "database units a µm"),
        ("SITE s\n SIZE 1 TO 2 ;\nEND s\n", 2, "must be 'BY'"),
        ("LAYER m\n TYPE ROUTING ;\nMACRO x\nEND x\n", 3, "must END first"),
        ("LAYER m\n TYPE ROUTING ;\n", 2, "ends within LAYER m"),
        ("VERSION 5.8 ;\nEND M1\n", 2, "not open"),
    ],
)
def test_broken_files_name_line_and_reason(write: Write, text: str, line: int, message: str) -> None:
    with pytest.raises(ParseError, match=message) as caught:
        read_lef([write("a.lef", text)])
    assert caught.value.line == line
    assert "a.lef" in str(caught.value)


def test_empty_and_binary_files_are_refused(write: Write) -> None:
    for name, content in [("e.lef", b""), ("z.lef", b"\0" * 50), ("u.lef", b"MACRO \xff\n")]:
        with pytest.raises(InputError, match=name):
            read_lef([write(name, content)])


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("pack", [False, True])
def test_line_ends_mark_and_gzip(write: Write, lef_text: str, ends: str, mark: bytes, pack: bool) -> None:
    content = mark + lef_text.rstrip("\n").replace("\n", ends).encode()
    library = read_lef([write("any.name", gzip.compress(content) if pack else content)])
    plain = read_lef([write("plain.lef", lef_text)])
    assert list(library.macros) == list(plain.macros)
    assert library.macros["RAM"].same_as(plain.macros["RAM"])
    assert library.macros["BUF"].line == plain.macros["BUF"].line


def test_degenerate_values(write: Write) -> None:
    text = "LAYER m\n TYPE ROUTING ;\n PITCH 0 ;\n WIDTH 0 ;\nEND m\n" + macro("A", "CLASS BLOCK ; SIZE 0 BY 4 ;\n")
    library = read_lef([write("a.lef", text)])
    assert library.layers["m"].pitch_um == (0, 0)
    assert "must be above 0" in library.skipped["A"]


def test_recognised_by_content(lef_text: str, def_text: str) -> None:
    assert looks_like_lef(lef_text.encode())
    assert not looks_like_lef(def_text.encode())


def test_every_truncation_is_an_error_or_reads(write: Write, lef_text: str) -> None:
    full = read_lef([write("full.lef", lef_text)])
    for cut in range(len(lef_text)):
        path = write("cut.lef", lef_text[:cut])
        result = macros_or_message(path)
        if isinstance(result, str):
            assert "cut.lef" in result
        else:
            for name, one in result.items():  # never half a macro
                assert one.same_as(full.macros[name])


def macros_or_message(path: Path) -> dict[str, Macro] | str:
    try:
        return read_lef([path]).macros
    except InputError as error:
        return str(error)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_text_never_crashes(write: Write, lef_text: str, data: st.DataObject) -> None:
    words = lef_text.split(" ")
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(words) - 1))
        words[at] = data.draw(
            st.sampled_from(["", ";", "END", "1e999", "nan", "-", "MACRO", "PIN", '"', "#", "(", "PORT\n"])
        )
    result = macros_or_message(write("damaged.lef", " ".join(words)))
    assert isinstance(result, dict) or "damaged.lef" in result
