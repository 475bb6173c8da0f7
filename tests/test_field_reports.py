"""Kinds of fault that users of such tools report, R01 to R100: where each is tested, and the tests of those that are
tested nowhere else. `TESTED` is the table; a row whose answer here is another one on purpose is in `DIFFERENT`.
"""

from __future__ import annotations

import gzip
import importlib.util
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from netlists.circuit_training.plc import read_plc
from netlists.circuit_training.writer import write_netlist, write_plc
from netlists.errors import InputError, MismatchError, ParseError
from netlists.formats import write_design
from netlists.lefdef.def_reader import read_def
from netlists.lefdef.def_writer import read_places, write_def
from netlists.lefdef.lattice import lattice
from netlists.lefdef.lef import read_lef
from netlists.lefdef.snap import snap
from netlists.lefdef.tcl import read_tcl, write_tcl
from netlists.load import load_design
from netlists.model import Design, NodeKind, Orientation, pin_positions_um
from placement.cost.hpwl import hpwl
from placement.legal import check, legalise

TESTS = Path(__file__).parent


def _texts(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"texts_{path.replace('/', '_')}", TESTS / path / "conftest.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


PROTOBUF, LEFDEF, BOOKSHELF = _texts("netlists"), _texts("netlists/lefdef"), _texts("netlists/bookshelf")
LEF, DEF = LEFDEF.LEF, LEFDEF.DEF
HERE = "test_field_reports.py::test_r"
CT, LD, BS, LG = "netlists/circuit_training/", "netlists/lefdef/", "netlists/bookshelf/", "placement/legal/"
TESTED: dict[str, tuple[str, ...]] = {
    "R01": (HERE + "01",),
    "R02": (HERE + "02", CT + "test_reader.py::test_weights_count_and_one_is_the_default"),
    "R04": (CT + "test_reader.py::test_a_port_without_sinks_is_counted_and_makes_no_net",),
    "R05": ("netlists/test_load.py::test_no_hard_macros_is_refused_with_rule_counts_and_largest_nodes",),
    "R07": (
        "workers/test_parts_of_a_run.py::test_a_role_that_falls_silent_or_fails_is_gone_once",
        "workers/menger/test_transport.py::test_a_source_that_has_gone_is_told_within_the_time",
    ),
    "R08": (CT + "test_reader.py::test_parts_make_the_same_netlist_as_one_file",),
    "R10": (HERE + "10",),
    "R11": (
        HERE + "11",
        CT + "test_plc.py::test_the_plc_of_a_netlist_with_one_macro_less",
        CT + "test_plc.py::test_fault",
    ),
    "R13": ("placement/search/test_search.py::test_flips_are_tried",),
    "R14": (
        "placement/env/test_graph.py::test_a_design_beyond_the_largest_bucket_is_refused_with_numbers",
        "placement/env/test_graph.py::test_one_macro",
    ),
    "R16": (HERE + "16",),
    "R17": (LD + "test_lef.py::test_old_and_unknown_statements_are_skipped_with_one_warning_each",),
    "R19": (LD + "test_flat.py::test_every_missing_type_is_listed",),
    "R20": (HERE + "20", LD + "test_flat.py::test_unknown_pins_warn_and_many_are_refused"),
    "R22": (LD + "test_lef.py::test_pin_outside_size_stays_and_warns",),
    "R23": (LD + "test_flat.py::test_def_unit_alone_scales_the_def",),
    "R25": (HERE + "25", LD + "test_lef.py::test_footprint_is_size_never_obs"),
    "R26": (LD + "test_lef.py::test_pin_point_is_the_centre_of_the_box_around_all_its_shapes",),
    "R28": (LD + "test_lef.py::test_same_file_twice_is_silent_and_different_definitions_warn",),
    "R29": (LD + "test_flat.py::test_wirelength_does_not_depend_on_direction",),
    "R31": (HERE + "31", LD + "test_lef.py::test_one_bad_macro_is_skipped_and_named"),
    "R32": (
        LD + "test_lef.py::test_pin_without_end_spoils_its_macro_alone",
        LD + "test_def.py::test_faults_name_line_and_reason",
    ),
    "R34": (HERE + "34_35_37",),
    "R35": (HERE + "34_35_37",),
    "R37": (HERE + "34_35_37",),
    "R38": (HERE + "38", LD + "test_flat.py::test_orientation_table"),
    "R40": (HERE + "40", LD + "test_writers.py::test_every_other_byte_is_kept"),
    "R41": (LD + "test_def.py::test_equal_warnings_are_one_row",),
    "R43": (
        LD + "test_def.py::test_exponents_count_where_they_are_integral",
        BS + "test_reader.py::test_kinds_places_and_nets",
    ),
    "R44": (HERE + "44", LD + "test_polygon.py::test_rest_of_an_l"),
    "R46": (LD + "test_flat.py::test_die_is_taken_without_known_rows_and_told",),
    "R47": (
        LD + "test_flat.py::test_no_nets_says_what_to_upload",
        "netlists/verilog/test_verilog.py::test_connections_of_a_def_without_nets",
    ),
    "R49": (
        LD + "test_names.py::test_key",
        "netlists/constraints_json/test_constraints_file.py::test_brackets_are_parts_of_names",
    ),
    "R50": (HERE + "50",),
    "R52": ("workers/test_parse.py::test_states_of_the_macros_r52",),
    "R53": (LD + "test_writers.py::test_only_the_macros_change",),
    "R55": (
        "netlists/test_files.py::test_gzip_is_known_by_its_content_not_its_name",
        "netlists/test_files.py::test_members_of_a_gzip_file_follow_each_other",
        LD + "test_writers.py::test_gzip_by_the_names_end",
    ),
    "R56": (LD + "test_flat.py::test_of_several_defs_the_top_is_taken",),
    "R58": (BS + "test_reader.py::test_terminals_are_locked_without_fixed",),
    "R59": (BS + "test_reader.py::test_terminals_without_area_may_be_overlapped",),
    "R61": (
        BS + "test_reader.py::test_the_macro_rule_and_its_counts",
        "workers/test_parse.py::test_macros_that_another_height_would_find_r61",
    ),
    "R62": (
        BS + "test_reader.py::test_start_positions_are_kept",
        BS + "test_export.py::test_nothing_moved_is_the_same_file",
    ),
    "R64": ("placement/cost/test_hpwl.py::test_two_named_numbers",),
    "R65": (LG + "test_constraints.py::test_four_that_just_fit_and_a_fifth",),
    "R67": (HERE + "67",),
    "R68": (HERE + "68", "workers/test_layout_files.py::test_a_result_is_on_the_grid_and_its_def_scores_the_same"),
    "R71": (
        LG + "test_constraints.py::test_quarter_turns_only_where_allowed",
        LG + "test_feasible.py::test_refused_with_numbers",
    ),
    "R73": ("placement/search/test_search.py::test_on_time_and_reports",),
    "R74": (LG + "test_pack.py::test_seventy_small_macros_at_low_use",),
    "R76": (
        LD + "test_snap.py::test_nearest_grid_point",
        LD + "test_snap.py::test_abutting_macros_do_not_overlap_after_rounding",
    ),
    "R77": (LD + "test_snap.py::test_inward_at_the_edge_of_a_canvas_off_the_grid",),
    "R79": (
        LG + "test_constraints.py::test_touching_a_blockage_is_legal_unless_a_halo_does_not",
        LD + "test_flat.py::test_blockages",
    ),
    "R80": (LG + "test_constraints.py::test_diagonal_neighbours_at_a_corner_stay_apart",),
    "R82": (LG + "test_constraints.py::test_a_strip_before_the_pins_stays_free",),
    "R83": (
        "backend/test_layout.py::test_pin_sides_are_those_of_every_pin",
        "placement/search/test_search.py::test_flips_are_tried",
    ),
    "R85": (LG + "test_constraints.py::test_fixed_macros_that_overlap_by_one_database_unit_are_refused",),
    "R86": (LG + "test_constraints.py::test_fixed_macros_stay_and_keep_their_halos",),
    "R88": ("placement/search/test_search.py::test_warm_start_is_never_worse",),
    "R89": (
        "workers/test_optimiser.py::test_a_budget_of_work_gives_equal_results_and_one_behind_goes_on_from_the_better",
    ),
    "R91": (HERE + "91",),
    "R92": ("placement/test_edges.py::test_legal_result_or_stated_reason",),
    "R94": (
        "workers/test_tasks_run.py::test_attempts_end_with_a_cause",
        "workers/test_run.py::test_an_infeasible_design_fails_with_the_numbers",
    ),
    "R95": (LD + "test_writers.py::test_names_survive_tcl",),
    "R97": (HERE + "97", "netlists/test_files.py::test_line_ends_and_byte_order_mark_do_not_show"),
    "R98": (HERE + "98", CT + "test_bad_netlist.py::test_duplicates_in_two_parts_name_both_files"),
    "R100": (HERE + "100",),
}  # fmt: skip
DIFFERENT = {
    "R25": "of OVERLAP shapes a warning tells; SIZE is kept free, which is legal for any outline within it",
    "R50": "no name map: names are matched across escapes and dividers, and a macro without a match fails the export",
    "R67": "no method changes sizes, so there is nothing to lock",
    "R70": "slacks are no measure of this product; no ratio of them is shown anywhere",
    "R83": "no rule of its own: wirelength chooses among allowed flips, and the picture shows the sides with pins",
    "R98": "net names of a DEF that were blotted out (ten nets a name) are a warning: a public design has them",
}


def test_every_row_has_a_test_that_exists() -> None:
    rows = set(TESTED) | set(DIFFERENT)
    assert len(rows) == 67
    for tests in TESTED.values():
        for test in tests:
            path, name = test.split("::")
            assert re.search(rf"^def {name}\b", (TESTS / path).read_text(), re.M) or path == "test_field_reports.py", (
                test
            )
            if path == "test_field_reports.py":
                assert any(one == name or one.startswith(f"{name}_") for one in globals()), test


def node(name: str, kind: str, inputs: Sequence[str] = (), **values: float | str) -> str:
    """A node of a Circuit Training netlist."""
    attributes = {"type": kind, **values}
    shown = "".join(
        f' attr {{ key: "{key}" value {{ {"f" if isinstance(value, (int, float)) else "placeholder"}:'
        f" {value if isinstance(value, (int, float)) else chr(34) + value + chr(34)} }} }}"
        for key, value in attributes.items()
    )
    return f'node {{ name: "{name}"' + "".join(f' input: "{one}"' for one in inputs) + shown + " }\n"


def macro(name: str, x: float, y: float, width: float = 10, height: float = 4, orientation: str = "N") -> str:
    return node(name, "MACRO", width=width, height=height, x=x, y=y, orientation=orientation)


def pin(macro_name: str, name: str, inputs: Sequence[str] = (), dx: float = 0, dy: float = 0, **more: float) -> str:
    return node(f"{macro_name}/{name}", "MACRO_PIN", inputs, macro_name=macro_name, x_offset=dx, y_offset=dy, **more)


def saved(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text)
    return folder / name


def lefdef(folder: Path, text: str = DEF, lef: str = LEF) -> Design:
    return load_design([saved(folder, "a.lef", lef), saved(folder, "a.def", text)], name="top")


def test_r01_a_netlist_alone(tmp_path: Path) -> None:
    text = "".join(macro(name, 10 + 20 * at, 20) for at, name in enumerate("abc"))
    text += node("i", "PORT", side="LEFT", x=0, y=10) + node("o", "PORT", side="TOP", x=30, y=40)
    design = load_design(saved(tmp_path, "n.pb.txt", text))
    assert {"canvas", "grid"} <= set(design.derived)
    write_plc(tmp_path / "n.plc", design, design.start)
    again = load_design(tmp_path / "n.pb.txt", tmp_path / "n.plc")
    assert np.array_equal(again.start.x_um, design.start.x_um)
    assert np.array_equal(again.start.y_um, design.start.y_um)


def test_r02_weights(tmp_path: Path) -> None:
    text = macro("a", 20, 20) + macro("b", 30, 20) + pin("a", "p", ["b/p"], weight=12) + pin("a", "q", ["b/q"])
    design = load_design(saved(tmp_path, "n.pb.txt", text + pin("b", "p") + pin("b", "q")))
    lengths = hpwl(design, design.start)
    assert (lengths.hpwl_um, lengths.hpwl_unweighted_um) == (130, 20)


def test_r10_a_start_beyond_its_canvas(tmp_path: Path) -> None:
    netlist = saved(tmp_path, "n.pb.txt", macro("a", 50, 50, 20, 20))
    plc = saved(tmp_path, "n.plc", "# Columns : 10  Rows : 10\n# Width : 100  Height : 100\n0 105 50 N 0\n")
    design = load_design(netlist, plc)
    assert any("beyond the canvas" in warning and "'a'" in warning for warning in design.warnings)
    assert not check(design, design.start).legal
    write_plc(tmp_path / "out.plc", design, legalise(design, design.start))
    assert check(design, read_plc(tmp_path / "out.plc", design.netlist).placement).legal


def test_r11_a_plc_of_other_files(tmp_path: Path) -> None:
    six = saved(tmp_path, "n.pb.txt", "".join(macro(f"m{at}", 10 + 12 * at, 50) for at in range(6)))
    header = "# Columns : 10  Rows : 10\n# Width : 100  Height : 100\n"
    five = saved(tmp_path, "n.plc", header + "".join(f"{at} 50 50 N 0\n" for at in range(5)))
    with pytest.raises(MismatchError, match="5"):
        load_design(six, five)


def test_r16_no_other_program_takes_part_in_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_program(*words: object, **more: object) -> None:
        raise AssertionError(f"a program was started: {words}")

    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(subprocess.Popen, "__init__", no_program)
    for name in ("bookshelf", "verilog"):
        (tmp_path / name).mkdir()
    assert lefdef(tmp_path).netlist.counts()["hard_macros"] == 3
    assert load_design(BOOKSHELF.write(tmp_path / "bookshelf")).netlist.counts()["hard_macros"] == 3
    assert load_design(saved(tmp_path, "n.pb.txt", PROTOBUF.TINY)).netlist.counts()["hard_macros"] == 2
    verilog = "module t (input a, output z);\n RAM r (.P(a), .Q(w));\n BUF u (.A(w), .Y(z));\nendmodule\n"
    files = [saved(tmp_path / "verilog", "t.v", verilog), tmp_path / "a.lef"]
    assert load_design(files).netlist.counts()["hard_macros"] == 1


def test_r20_pins_that_their_cell_does_not_have(tmp_path: Path) -> None:
    many = "".join(f"- m{at} ( u1 A ) ( u2 A ) ;\n" for at in range(20))
    text = DEF.replace("( u1 Y )", "( u1 DOUT )").replace("NETS 4 ;\n", f"NETS 24 ;\n{many}")
    design = lefdef(tmp_path, text)
    told = [one for one in design.warnings if "'DOUT'" in one]
    assert len(told) == 1
    assert "'u1'" in told[0]
    assert "'BUF'" in told[0]
    at = design.netlist.pin_name.index("u1/DOUT") if "u1/DOUT" in design.netlist.pin_name else -1
    assert at < 0 or design.netlist.pin_dx_um[at] == design.netlist.pin_dy_um[at] == 0
    with pytest.raises(InputError, match=r"1 of 6 connections name pins.*5%"):
        lefdef(tmp_path, DEF.replace("( u1 Y )", "( u1 DOUT )"))


def test_r25_footprint_is_size(tmp_path: Path) -> None:
    overlap = "LAYER OVL\n  TYPE OVERLAP ;\nEND OVL\nMACRO RAM"
    for obs in ("LAYER M1 ;\n    RECT 0 0 0 0 ;", "LAYER OVL ;\n    RECT 0 0 10 2 ;\n    RECT 0 2 5 4 ;"):
        lef = LEF.replace("MACRO RAM", overlap, 1).replace("LAYER M1 ;\n    RECT 0 0 10 4 ;", obs)
        design = lefdef(tmp_path, lef=lef)
        at = design.netlist.node_name.index("a")
        assert (design.netlist.width_um[at], design.netlist.height_um[at]) == (10, 4)
        assert any("OVERLAP" in one and "'RAM'" in one for one in design.warnings) is ("OVL" in obs)


def test_r31_one_bad_macro_of_three(tmp_path: Path) -> None:
    text = "".join(f"MACRO {name}\n  CLASS BLOCK ;\n{size}END {name}\n" for name, size in (
        ("A", "  SIZE 1 BY 1 ;\n"), ("B", ""), ("C", "  SIZE 2 BY 2 ;\n")))  # fmt: skip
    library = read_lef([saved(tmp_path, "three.lef", text)])
    assert list(library.macros) == ["A", "C"]
    assert list(library.skipped) == ["B"]
    assert re.search(r"three\.lef:\d+: .*'B' \(line 5\) has no SIZE", library.skipped["B"])


def test_r34_35_37_pins_of_the_design(tmp_path: Path) -> None:
    text = DEF.replace("MICRONS 1000", "MICRONS 2000").replace("PLACED ( 140 51980 )", "PLACED ( 140 519820 )")
    text = text.replace("( 100000 80000 )", "( 1000000 800000 )")
    design = lefdef(tmp_path, text)
    ports = design.netlist.nodes_of(NodeKind.PORT)
    assert [design.netlist.node_name[at] for at in ports] == ["in", "out"]  # VDD has neither shape nor place
    origin = design.origin_um
    at = {
        design.netlist.node_name[n]: (design.start.x_um[n] + origin[0], design.start.y_um[n] + origin[1]) for n in ports
    }
    assert at["in"] == pytest.approx((0.07, 259.91))
    assert at["out"] == pytest.approx((0.025, 5.025))  # the first of two ports, at the centre of its shape
    write_def(tmp_path / "out.def", tmp_path / "a.def", design, snap(design, legalise(design, design.start)))
    given, written = (text[text.index("PINS 3") :], (tmp_path / "out.def").read_text())
    assert written.endswith(given)


TABLE = {
    "N": (21, 31), "S": (29, 33), "FN": (29, 31), "FS": (21, 33), "W": (23, 31),
    "E": (21, 39), "FW": (21, 31), "FE": (23, 39),
}  # fmt: skip


@pytest.mark.parametrize("orientation", list(TABLE))
def test_r38_eight_orientations_in_every_format(tmp_path: Path, orientation: str) -> None:
    """Macro of 10 x 4 µm with its corner at (20, 30) µm, pin at (1, 1) µm from the corner of the unturned box."""
    width, height = (4, 10) if orientation in ("W", "E", "FW", "FE") else (10, 4)
    centre = (20 + width / 2, 30 + height / 2)

    def pin_of(design: Design) -> list[float]:
        at = next(p for p, n in enumerate(design.netlist.pin_node) if design.netlist.node_name[n] == "M")
        return (pin_positions_um(design.netlist, design.start)[at] + np.array(design.origin_um)).tolist()

    folder = tmp_path / "shelf"
    folder.mkdir()
    files = {
        "nodes": "UCLA nodes 1.0\np 1 1 terminal\nM 10 4\nc 1 1\n",
        "nets": "UCLA nets 1.0\nNetDegree : 3 n\nM O : -4 -1\np I\nc I\n",
        "pl": f"UCLA pl 1.0\np 0 50 : N\nM 20 30 : {orientation}\nc 80 0 : N\n",
        "scl": "UCLA scl 1.0\n" + "".join(
            f"CoreRow Horizontal\nCoordinate : {y}\nHeight : 1\nSubrowOrigin : 5 NumSites : 100\nEnd\n"
            for y in range(60)
        ),
    }  # fmt: skip
    for kind, text in files.items():
        saved(folder, f"t.{kind}", text)
    shelf = load_design(folder)
    assert pin_of(shelf) == pytest.approx(TABLE[orientation])
    write_design("pl", folder / "t.pl", shelf, shelf.start)
    assert f"M 20 30 : {orientation}\n" in (folder / "t.pl").read_text()
    assert pin_of(load_design(folder)) == pytest.approx(TABLE[orientation])

    text = macro("M", *centre, orientation=orientation) + pin("M", "P", ["p"], -4, -1) + node("p", "PORT", x=0, y=50)
    start = load_design(saved(tmp_path, "netlist.pb.txt", text))
    assert pin_of(start) == pytest.approx(TABLE[orientation])
    write_plc(tmp_path / "out.plc", start, start.start)
    assert f"0 {centre[0]:g} {centre[1]:g} {orientation} 0" in (tmp_path / "out.plc").read_text()
    assert pin_of(load_design(tmp_path / "netlist.pb.txt", tmp_path / "out.plc")) == pytest.approx(TABLE[orientation])

    design = lefdef(
        tmp_path,
        DEF.replace("( 20000 30000 ) N", f"( 20000 30000 ) {orientation}")
        .replace("- a ", "- M ")
        .replace("( a ", "( M "),
    )
    assert pin_of(design) == pytest.approx(TABLE[orientation])
    placed = snap(design, legalise(design, design.start))
    write_tcl(tmp_path / "out.tcl", design, placed)
    assert read_tcl(tmp_path / "out.tcl", 1000)["M"] == (20000, 30000, Orientation[orientation])


@pytest.mark.parametrize("version", ["5.6", "5.7", "5.8"])
def test_r40_statements_that_are_not_needed(tmp_path: Path, version: str) -> None:
    text = DEF.replace("VERSION 5.8", f"VERSION {version}").replace("VIAS 1 ;", "COMPONENTMASKSHIFT M1 ;\nVIAS 1 ;")
    text = text.replace("END DESIGN", "FILLS 1 ;\n- LAYER M1 RECT ( 0 0 ) ( 5 5 ) ;\nEND FILLS\nEND DESIGN")
    text = text.replace("VIAS 1", "NONDEFAULTRULES 1 ;\n- wide + LAYER M1 WIDTH 200 ;\nEND NONDEFAULTRULES\nVIAS 1")
    design = lefdef(tmp_path, text)
    assert design.netlist.counts() == lefdef(tmp_path).netlist.counts()
    saved(tmp_path, "a.def", text)
    write_def(tmp_path / "out.def", tmp_path / "a.def", design, snap(design, legalise(design, design.start)))
    kept = [line for line in text.splitlines() if not line.startswith(("- a ", "  + SOURCE"))]
    assert [line for line in (tmp_path / "out.def").read_text().splitlines() if line in kept] == kept


def test_r44_a_die_with_more_corners(tmp_path: Path) -> None:
    corners = "( 0 0 ) ( 0 100000 ) ( 50000 100000 ) ( 50000 50000 ) ( 100000 50000 ) ( 100000 0 )"
    text = re.sub(r"ROW .*\n", "", DEF).replace("( 0 0 ) ( 100000 80000 )", corners)
    text = text.replace("PLACED ( 20000 30000 )", "PLACED ( 60000 60000 )")
    design = lefdef(tmp_path, text, LEF.replace("SIZE 10 BY 4", "SIZE 40 BY 40"))
    at = design.netlist.node_name.index("a")
    assert any("'a'" in one for one in check(design, design.start).problems())
    x, y = design.start.x_um.copy(), design.start.y_um.copy()
    x[at], y[at] = 30, 70  # touches the inner corner
    assert not any(
        "'a'" in one and "block" in one for one in check(design, design.start.moved(x_um=x, y_um=y)).problems()
    )


def test_r50_all_macros_are_in_every_export(tmp_path: Path) -> None:
    names = [f"gen\\[{at}\\].bank/ram\\[{at % 4}\\]" for at in range(20)]
    rows = "".join(
        f"- {name} RAM + PLACED ( {20000 * (at % 5)} {10000 * (at // 5)} ) N ;\n" for at, name in enumerate(names)
    )
    start, end = DEF.index("COMPONENTS 5"), DEF.index("PINS 3")
    text = f"{DEF[:start]}COMPONENTS 20 ;\n{rows}END COMPONENTS\n{DEF[end : DEF.index('NETS 4')]}NETS 1 ;\n"
    text = (text + f"- n ( {names[0]} P ) ( {names[1]} Q ) ;\nEND NETS\nEND DESIGN\n").replace("+ NET n0", "+ NET n")
    text = text[: text.index("BLOCKAGES")] + text[text.index("SPECIALNETS") :]
    design = lefdef(tmp_path, text)
    placed = snap(design, design.start)
    assert write_def(tmp_path / "out.def", tmp_path / "a.def", design, placed) == 20
    assert write_tcl(tmp_path / "out.tcl", design, placed) == 20
    assert len(read_tcl(tmp_path / "out.tcl", 1000)) == 20
    write_plc(tmp_path / "out.plc", design, placed)
    assert sum(" N 0" in line for line in (tmp_path / "out.plc").read_text().splitlines()) == 20
    other = saved(tmp_path, "b.def", text.replace(names[7], "another"))
    with pytest.raises(InputError, match=r"ram"):
        write_def(tmp_path / "x.def", other, design, placed)
    assert not (tmp_path / "x.def").exists()


def test_r67_sizes_are_those_of_the_input(tmp_path: Path) -> None:
    design = load_design(saved(tmp_path, "n.pb.txt", PROTOBUF.TINY))
    for sizes in (design.netlist.width_um, design.netlist.height_um):
        with pytest.raises(ValueError, match="read-only"):
            sizes[0] = 1
    write_netlist(tmp_path / "out.pb.txt", design, legalise(design, design.start))
    again = load_design(tmp_path / "out.pb.txt")
    assert np.array_equal(again.netlist.width_um, design.netlist.width_um)


def test_r68_numbers_are_those_of_the_files(tmp_path: Path) -> None:
    design = lefdef(tmp_path)
    flipped = design.start.orientation.copy()
    flipped[design.netlist.node_name.index("a")] = Orientation.FN
    placed = snap(design, legalise(design, design.start.moved(orientation=flipped)))
    write_def(tmp_path / "out.def", tmp_path / "a.def", design, placed)
    write_plc(tmp_path / "out.plc", design, placed)
    length = hpwl(design, placed).hpwl_um
    assert length != hpwl(design, design.start).hpwl_um
    assert hpwl(design, read_places(tmp_path / "out.def", design)).hpwl_um == length
    assert (
        hpwl(
            load_design([tmp_path / "a.lef", tmp_path / "out.def"]),
            load_design([tmp_path / "a.lef", tmp_path / "out.def"]).start,
        ).hpwl_um
        == length
    )
    assert hpwl(design, read_plc(tmp_path / "out.plc", design.netlist).placement).hpwl_um == length
    write_tcl(tmp_path / "out.tcl", design, placed)
    assert read_tcl(tmp_path / "out.tcl", 1000)["a"][2] == Orientation.FN


def test_r91_no_macros(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no hard macros to place\. Rule: .*CLASS BLOCK or RING\. Found .*5 cells"):
        lefdef(tmp_path, lef=LEF.replace("CLASS BLOCK", "CLASS CORE"))


ENCODINGS: dict[str, Callable[[str], bytes]] = {
    "CRLF": lambda text: text.replace("\n", "\r\n").encode(),
    "CR": lambda text: text.replace("\n", "\r").encode(),
    "byte-order mark": lambda text: b"\xef\xbb\xbf" + text.encode(),
    "no last newline": lambda text: text.rstrip("\n").encode(),
    "gzip in two members": lambda text: gzip.compress(text[:97].encode()) + gzip.compress(text[97:].encode()),
}
VERILOG = "// t\nmodule t (input a, output z);\n RAM \\r[0]  (.P(a), .Q(w));\n BUF u (.A(w), .Y(z));\nendmodule\n"
SAMPLES: dict[str, dict[str, str]] = {
    "protobuf": {"n.pb.txt": PROTOBUF.TINY, "n.plc": PROTOBUF.TINY_PLC},
    "Bookshelf": {f"t.{kind}": text for kind, text in BOOKSHELF.FILES.items()},
    "LEF/DEF": {"a.lef": LEF, "a.def": DEF},
    "Verilog": {"a.lef": LEF, "t.v": VERILOG},
}


@pytest.mark.parametrize("encoding", list(ENCODINGS))
@pytest.mark.parametrize("sample", list(SAMPLES))
def test_r97_line_ends_marks_and_packing(tmp_path: Path, sample: str, encoding: str) -> None:
    designs = []
    for way in (str.encode, ENCODINGS[encoding]):
        files = []
        for name, text in SAMPLES[sample].items():
            (tmp_path / name).write_bytes(way(text))
            files.append(tmp_path / name)
        designs.append(load_design(files, name="same"))
    plain, other = designs
    assert other.netlist.node_name == plain.netlist.node_name
    assert other.netlist.pin_name == plain.netlist.pin_name
    assert np.array_equal(other.start.x_um, plain.start.x_um, equal_nan=True)
    assert np.array_equal(other.netlist.net_pin, plain.netlist.net_pin)
    assert other.warnings == plain.warnings


def message_of(files: Sequence[Path]) -> str | None:
    """What is wrong with the files; None if they are a design. Any other fault is one of the reader."""
    try:
        load_design(files)
    except InputError as error:
        return str(error)
    return None


@pytest.mark.parametrize("sample", list(SAMPLES))
def test_r97_files_cut_short_at_many_points(tmp_path: Path, sample: str) -> None:
    """A design or an InputError that names the file; plain and packed."""
    for name, text in SAMPLES[sample].items():
        for other, whole in SAMPLES[sample].items():
            saved(tmp_path, other, whole)
        files = [tmp_path / one for one in SAMPLES[sample]]
        for pack in (False, True):
            data = gzip.compress(text.encode()) if pack else text.encode()
            for cut in range(0, len(data), max(1, len(data) // 40)):
                (tmp_path / name).write_bytes(data[:cut])
                assert message_of(files) != ""


@pytest.mark.parametrize(
    ("sample", "name", "old", "new", "first", "second"),
    [
        ("protobuf", "n.pb.txt", 'name: "B"', 'name: "A"', 43, 131),
        ("protobuf", "n.plc", "5 40 10.1 E 0", "2 40 10.1 E 0", 14, 15),
        ("Bookshelf", "t.nodes", "K 20 36", "M 20 36", 9, 10),
        ("Bookshelf", "t.nets", "NetDegree : 2 n1", "NetDegree : 2 n0", 5, 9),
        ("Bookshelf", "t.pl", "K 30 44", "M 30 44", 6, 7),
        ("LEF/DEF", "a.def", "- u2 BUF", "- u1 BUF", 24, 25),
        ("LEF/DEF", "a.def", "- out +", "- in +", 28, 29),
        ("LEF/DEF", "a.def", "- n2 (", "- n0 (", 43, 46),
        ("Verilog", "t.v", "BUF u (", "BUF \\r[0]  (", 3, 4),
    ],
)
def test_r98_names_twice(tmp_path: Path, sample: str, name: str, old: str, new: str, first: int, second: int) -> None:
    for other, text in SAMPLES[sample].items():
        saved(tmp_path, other, text.replace(old, new, 1) if other == name else text)
    with pytest.raises(ParseError, match=r"second time|twice") as caught:
        load_design([tmp_path / one for one in SAMPLES[sample]])
    assert caught.value.line == second
    assert re.search(rf"first at (line |.*:){first}\b", str(caught.value))


def test_r100_no_pitch_and_no_width(tmp_path: Path) -> None:
    lef = LEF.replace("PITCH 0.2", "PITCH 0").replace("WIDTH 0.1", "WIDTH 0")
    design = lefdef(tmp_path, DEF.replace("STEP 200 LAYER", "STEP 0 LAYER"), lef)
    file, library = read_def(tmp_path / "a.def"), read_lef([tmp_path / "a.lef"])
    placed = legalise(design, design.start)
    where, _ = lattice(design, placed, file, library, rows=True, tracks=True)
    assert check(design, snap(design, placed, where)).legal
