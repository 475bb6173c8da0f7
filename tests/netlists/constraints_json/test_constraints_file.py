"""The JSON of constraints: what it may say, how sources go on top of each other, and a message for every fault."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netlists.constraints_json.file import FORMAT, constraint_counts, object_source, with_constraints, write_constraints
from netlists.constraints_json.located import parse_located
from netlists.errors import InputError, ParseError
from netlists.load import input_files, load_design
from netlists.model import Design, Orientation
from netlists.pictures import write_json
from netlists.samples import make_sample

A, B = 2, 3  # nodes of the tiny design: hard macros of 10 x 4 µm on a canvas of 50 x 40 µm


@pytest.fixture
def folder(tmp_path: Path, tiny: str, tiny_plc: str) -> Path:
    folder = tmp_path / "tiny"
    folder.mkdir()
    (folder / "netlist.pb.txt").write_text(tiny)
    (folder / "initial.plc").write_text(tiny_plc)
    return folder


def under(folder: Path, content: dict[str, Any], name: str = "rules.constraints.json") -> Design:
    (folder / name).write_text(json.dumps({"version": 1, **content}))
    return load_design(folder)


def test_every_rule_reaches_its_array(folder: Path) -> None:
    design = under(
        folder,
        {
            "format": FORMAT,
            "macro_spacing_um": 0.5,
            "boundary_spacing_um": 1,
            "regions": {"low": [[0, 0, 50, 20]], "ell": [[0, 0, 10, 40], [0, 0, 50, 10]]},
            "blockages_um": [[20, 10, 30, 15]],
            "macros": [
                {"pattern": "*", "halo_um": 0.25, "region": "ell"},
                {"name": "A", "halo_um": [1, 2, 3, 4], "region": "low", "boundary_spacing_um": 2},
                {
                    "name": "B",
                    "orientations": ["N", "W"],
                    "place": {"x_um": 20, "y_um": 30, "orientation": "W", "fixed": True},
                },
            ],
        },
    )
    rules = design.constraints
    assert rules is not None
    assert rules.bind
    assert rules.halo_um[[A, B]].tolist() == [[1, 2, 3, 4], [0.25] * 4]
    assert rules.boundary_spacing_um[[A, B]].tolist() == [2, 1]
    assert [rules.region_names[rules.region[n]] for n in (A, B)] == ["low", "ell"]
    assert rules.regions_um[1].tolist() == [[0, 0, 10, 40], [0, 0, 50, 10]]
    assert rules.orientations[[A, B]].tolist() == [0, 1 << Orientation.N | 1 << Orientation.W]
    assert rules.macro_spacing_um == 0.5
    assert (design.start.x_um[B], design.start.y_um[B], design.start.fixed[B]) == (20, 30, True)
    assert design.blockages_um[-1].tolist() == [20, 10, 30, 15]
    assert constraint_counts(design) == {
        "fixed_macros": int(design.start.fixed[[A, B]].sum()),
        "macros_with_halo": 2,
        "macros_in_regions": 2,
        "macros_with_orientations": 1,
        "macros_off_boundary": 2,
        "regions": 2,
        "blockages": len(design.blockages_um),
    }


def test_nothing_given_is_nothing_held(folder: Path) -> None:
    assert load_design(folder).constraints is None
    design = under(folder, {})
    assert design.constraints is not None
    assert not design.constraints.bind


def test_later_rules_and_later_files_win_key_by_key_and_null_takes_back(folder: Path) -> None:
    under(folder, {"macro_spacing_um": 1, "regions": {"r": [[0, 0, 9, 9]]}}, "a.constraints.json")
    rules = [{"pattern": "*", "halo_um": 2, "region": "r"}, {"name": "A", "halo_um": None, "boundary_spacing_um": 3}]
    design = under(folder, {"regions": {"r": [[0, 0, 30, 30]]}, "macros": rules}, "b.constraints.json")
    assert design.constraints is not None
    assert design.constraints.halo_um[[A, B], 0].tolist() == [0, 2]
    assert design.constraints.regions_um[0].tolist() == [[0, 0, 30, 30]]
    assert design.constraints.macro_spacing_um == 1
    job = {"version": 1, "macro_spacing_um": 0, "macros": [{"name": "A", "region": None, "boundary_spacing_um": None}]}
    again = load_design(folder, constraints=job).constraints
    assert again is not None
    assert (again.macro_spacing_um, again.region[A], again.boundary_spacing_um[A]) == (0, -1, 0)
    assert again.halo_um[B, 0] == 2


def test_a_place_taken_back_is_the_files(folder: Path) -> None:
    start = load_design(folder).start
    place = {"x_um": 20, "y_um": 30, "orientation": "FS", "fixed": True}
    design = under(folder, {"macros": [{"name": "A", "place": place}, {"name": "A", "place": None}]})
    assert (design.start.x_um[A], design.start.orientation[A]) == (start.x_um[A], start.orientation[A])
    assert design.start.fixed[A] == start.fixed[A]
    held = under(folder, {"macros": [{"name": "B", "place": {"fixed": True}}]})
    assert (held.start.x_um[B], held.start.fixed[B]) == (start.x_um[B], True)


def test_brackets_are_parts_of_names() -> None:
    design = make_sample("small", 0)
    bracketed = [name for name in design.netlist.node_name if "[" in name and not name.startswith("bus")]
    names = [n for n, k in zip(design.netlist.node_name, design.netlist.node_kind, strict=True) if k == 0]
    pattern = "*[0]*" if any("[0]" in name for name in names) else names[0][:-1] + "?"
    ruled = with_constraints(design, [object_source({"version": 1, "macros": [{"pattern": pattern, "halo_um": 1}]})])
    assert ruled.constraints is not None
    told = {design.netlist.node_name[n] for n in np.flatnonzero(ruled.constraints.halo_um.any(axis=1))}
    expected = {n for n in names if "[0]" in n} if "[0]" in pattern else {n for n in names if n[:-1] == names[0][:-1]}
    assert told == expected
    assert bracketed is not None


def test_known_by_content_and_packed(folder: Path) -> None:
    text = json.dumps({"format": FORMAT, "version": 1, "macro_spacing_um": 3})
    (folder / "000").write_bytes(gzip.compress(text.encode()))
    files = [folder / "netlist.pb.txt", folder / "000"]
    design = load_design(files)
    assert design.constraints is not None
    assert design.constraints.macro_spacing_um == 3
    assert input_files(files) == files


def test_written_constraints_say_the_same(folder: Path, tmp_path: Path) -> None:
    rules = [{"pattern": "*", "halo_um": [1, 0, 0.1, 0]}, {"name": "A", "region": "r", "orientations": ["FN"]}]
    design = under(folder, {"boundary_spacing_um": 2, "regions": {"r": [[0, 0, 30, 30]]}, "macros": rules})
    assert write_constraints(tmp_path / "constraints.json", design)
    (folder / "rules.constraints.json").unlink()
    again = load_design(folder, constraints=tmp_path / "constraints.json")
    assert design.constraints is not None
    assert again.constraints is not None
    for field in ("halo_um", "orientations", "boundary_spacing_um", "region"):
        assert np.array_equal(getattr(again.constraints, field), getattr(design.constraints, field)), field
    write_json(tmp_path / "placement.json", design, design.start)
    carried = json.loads((tmp_path / "placement.json").read_text())["constraints"]
    assert carried == json.loads((tmp_path / "constraints.json").read_text())
    assert not write_constraints(tmp_path / "none.json", load_design(folder))
    assert not (tmp_path / "none.json").exists()


def test_rules_without_a_file_are_written_macro_by_macro(folder: Path, tmp_path: Path) -> None:
    """As from a format that has rules of its own."""
    region = {"regions": {"r": [[0, 0, 30, 30]]}}
    rules = [{"name": "A", "halo_um": [1, 0, 0.5, 0], "region": "r"}, {"name": "B", "orientations": ["E", "FE"]}]
    design = under(folder, {**region, "macro_spacing_um": 1, "boundary_spacing_um": 2, "macros": rules})
    assert design.constraints is not None
    bare = replace(design, constraints=replace(design.constraints, source={}))
    assert write_constraints(tmp_path / "constraints.json", bare)
    (folder / "rules.constraints.json").unlink()
    again = load_design(folder, constraints=tmp_path / "constraints.json").constraints
    more = with_constraints(bare, [object_source({"version": 1, "macros": [{"name": "B", "halo_um": 3}]})]).constraints
    assert again is not None
    assert more is not None
    for field in ("halo_um", "orientations", "boundary_spacing_um", "region"):
        hard = [A, B]
        assert np.array_equal(getattr(again, field)[hard], getattr(design.constraints, field)[hard]), field
    assert more.halo_um[[A, B], 2].tolist() == [0.5, 3]
    assert more.region[A] == 0


FAULTS = [
    ({"macro_spacing": 1}, "unknown key 'macro_spacing'; known are .*; did you mean 'macro_spacing_um'"),
    ({"version": 2}, "version is 2, must be 1, the only one there is"),
    ({"format": "other"}, 'is "other", must be "placewright-constraints"|does not say "format"'),
    ({"macro_spacing_um": "2"}, 'macro_spacing_um is "2", must be a number from 0 to 1e'),
    ({"macro_spacing_um": True}, "macro_spacing_um is true, must be a number"),
    ({"macro_spacing_um": float("nan")}, "macro_spacing_um is NaN, must be a number"),
    ({"boundary_spacing_um": -1}, "boundary_spacing_um is -1, must be a number from 0"),
    ({"regions": [1]}, "regions is .*, must be an object of names"),
    ({"regions": {"r": []}}, r"regions.r is \[\], must be a list of at least one rectangle"),
    ({"regions": {"r": [[0, 0, 51, 9]]}}, r"regions.r\[0\] is .*51.*, must be .* inside the canvas, \[0, 0, 50, 40\]"),
    ({"regions": {"r": [[9, 0, 9, 9]]}}, r"regions.r\[0\] is .*, must be a rectangle .* llx < urx"),
    ({"blockages_um": [[60, 0, 70, 9]]}, r"blockages_um\[0\] is .*, must be a rectangle that meets the canvas"),
    ({"blockages_um": [[0, 0, 1]]}, r"blockages_um\[0\] is \[0, 0, 1\], must be a rectangle"),
    ({"macros": {}}, "macros is {}, must be a list of rules"),
    ({"macros": [{"halo_um": 1}]}, r"macros\[0\]: needs either 'name' .* or 'pattern'"),
    ({"macros": [{"name": "A", "pattern": "*"}]}, r"macros\[0\]: needs either"),
    ({"macros": [{"name": "AA"}]}, r"macros\[0\].name: the design has no macro 'AA'.*did you mean 'A'"),
    ({"macros": [{"name": "Grp_0"}]}, r"'Grp_0' is a soft macro, not a hard macro"),
    ({"macros": [{"name": "rst"}]}, r"'rst' is a port, not a hard macro"),
    ({"macros": [{"pattern": "C*"}]}, r"macros\[0\].pattern: 'C\*' matches none of the 2 hard macros"),
    ({"macros": [{"name": "A", "halo_um": [1, 2]}]}, r"macros\[0\].halo_um is \[1, 2\], must be .* four"),
    (
        {"macros": [{"name": "A", "halo_um": [1, 2, 3, -4]}]},
        r"macros\[0\].halo_um\[3\] is -4, must be a number from 0",
    ),
    ({"macros": [{"name": "A", "orientations": []}]}, r"orientations is \[\], must be a list of one or more of N FN S"),
    ({"macros": [{"name": "A", "orientations": ["R0"]}]}, 'orientations is "R0", must be'),
    ({"macros": [{"name": "A", "region": "x"}]}, r"macros\[0\].region is 'x', which is no region; .*: none"),
    ({"macros": [{"name": "A", "place": {"x_um": 1}}]}, r"macros\[0\].place: y_um is missing"),
    (
        {"macros": [{"name": "A", "place": {"x_um": 1, "y_um": 41}}]},
        "place.y_um is 41, must be .* 0 to 40",
    ),
    ({"macros": [{"name": "A", "place": {"orientation": "X"}}]}, 'place.orientation is "X", must be one of N FN'),
    ({"macros": [{"name": "A", "place": {"fixed": 1}}]}, "place.fixed is 1, must be true or false"),
    (
        {"macros": [{"name": "A", "orientations": ["N"], "place": {"orientation": "S", "fixed": True}}]},
        r"macros\[0\]: fixes 'A' in orientation S, but only N are allowed",
    ),
    (
        {
            "regions": {"left": [[0, 0, 20, 40]]},
            "macros": [
                {"name": "A", "region": "left"},
                {"pattern": "*A", "place": {"x_um": 21, "y_um": 20, "fixed": True}},
            ],
        },
        r"macros\[1\].place: fixes 'A' on \[.*\] with .* µm² outside region 'left', which macros\[0\].region gives it; "
        r"the region is \[0, 0, 20, 40\]",
    ),
]


@pytest.mark.parametrize(("content", "message"), FAULTS)
def test_faults_name_file_line_thing_found_and_allowed(folder: Path, content: dict, message: str) -> None:
    path = folder / "rules.constraints.json"
    path.write_text("\n\n" + json.dumps({"version": 1, **content}))
    with pytest.raises(InputError, match=message) as refusal:
        load_design(folder)
    assert str(refusal.value).startswith("rules.constraints.json:3: " if "format" not in content else "rules")
    path.unlink()
    if "format" not in content:
        with pytest.raises(InputError, match="^constraints: .*" + message):
            load_design(folder, constraints={"version": 1, **content})


def test_a_fixed_macro_off_its_region_is_no_error_where_sources_differ_or_the_region_is_taken_back(
    folder: Path,
) -> None:
    """Who fixes it may not know of the region: the judge warns of it."""
    place = {"name": "A", "place": {"x_um": 21, "y_um": 20, "fixed": True}}
    region = {"version": 1, "regions": {"left": [[0, 0, 20, 40]]}, "macros": [{"name": "A", "region": "left"}]}
    (folder / "rules.constraints.json").write_text(json.dumps({"version": 1, "macros": [place]}))
    design = load_design(folder, constraints=region)
    assert design.constraints is not None
    assert design.constraints.region[A] == 0
    taken_back = {**region, "macros": [*region["macros"], place, {"name": "A", "region": None}]}
    (folder / "rules.constraints.json").write_text(json.dumps(taken_back))
    assert load_design(folder).start.fixed[A]


def test_the_line_is_that_of_the_value(folder: Path) -> None:
    text = '{\n "version": 1,\n "macros": [\n  {"pattern": "*",\n   "halo_um": [1,\n    -2, 0, 0]}\n ]\n}\n'
    (folder / "rules.constraints.json").write_text(text)
    with pytest.raises(ParseError, match=r"^rules.constraints.json:6: macros\[0\].halo_um\[1\] is -2, must"):
        load_design(folder)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"version": 1,}', ":1: not JSON: expected a name in double quotes, found '}'"),
        ('{"version": 1', ":1: not JSON: expected ',' or '}' .opened at line 1., found the end of the text"),
        ('{"version": 1\n"macros": []}', ":2: not JSON: expected ','"),
        ('{"version" 1}', ":1: not JSON: expected ':' after 'version'"),
        ('{"version": one}', ":1: not JSON: Expecting value, found 'one}'"),
        ('{"version": 1,\n\n"version": 1}', ":3: 'version' is given twice, first at line 1"),
        ("{}{}", ":1: not JSON: text after the end"),
        ("[" * 50, ":1: not JSON: nested more than 32 deep"),
        ("[]", r"is \[\], must be an object"),
        ('{"version": 1, "macros": [{"name": "A", "x": "' + "y" * 500 + '"}]}', ":1: macros.0.: unknown key 'x'"),
    ],
)
def test_what_is_no_json(folder: Path, text: str, message: str) -> None:
    (folder / "rules.constraints.json").write_text(text)
    with pytest.raises(InputError, match=message):
        load_design(folder)


def test_an_object_nested_too_deep_is_refused(folder: Path) -> None:
    deep: Any = 1
    for _ in range(400):
        deep = [deep]
    with pytest.raises(InputError, match="nested more than 32 deep"):
        load_design(folder, constraints={"version": 1, "macros": deep})


def test_other_json_is_refused_by_name(folder: Path) -> None:
    (folder / "placement.json").write_text('{"format": "placewright-placement", "version": 1}')
    with pytest.raises(InputError, match=r"^placement.json: this JSON does not say \"format\""):
        load_design([folder / "netlist.pb.txt", folder / "placement.json"])


JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None)
@given(value=JSON, indent=st.none() | st.integers(0, 2), text=st.text(max_size=30))
def test_json_is_read_as_others_read_it(value: Any, indent: int | None, text: str) -> None:
    assert parse_located(Path("a"), json.dumps(value, indent=indent)).plain() == value
    try:
        expected = json.loads(text, parse_int=float)  # whole numbers are exact up to 2^53 only
    except ValueError:
        with pytest.raises(ParseError):
            parse_located(Path("a"), text)
    else:
        found = parse_located(Path("a"), text).plain()
        assert found == expected or (text.strip() == "NaN" and np.isnan(found))
