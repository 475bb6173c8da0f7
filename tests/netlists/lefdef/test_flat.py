"""LEF/DEF to the flat design: places, orientation, states, canvas, connections, refusals."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from netlists.errors import InputError
from netlists.lefdef.load import kind_of
from netlists.load import load_design
from netlists.model import Design, NodeKind, Orientation, pin_positions_um
from netlists.options import Options

Write = Callable[[str, str | bytes], Path]

# Macro of 10 x 4 µm, pin P at (1, 1) µm from its lower left corner, placed at (20, 30) µm: P is at…
ORIENTATIONS = {
    "N": (21, 31), "S": (29, 33), "FN": (29, 31), "FS": (21, 33), "W": (23, 31),
    "E": (21, 39), "FW": (21, 31), "FE": (23, 39),
}  # fmt: skip


def load(write: Write, lef: str, text: str, **options: bool) -> Design:
    return load_design([write("a.lef", lef), write("a.def", text)], options=Options(**options))


def node(design: Design, name: str) -> int:
    return design.netlist.node_name.index(name)


def test_counts_kinds_and_order(write: Write, lef_text: str, def_text: str) -> None:
    netlist = load(write, lef_text, def_text).netlist
    assert netlist.node_name == ("in", "out", "a", "b\\[0\\]", "c", "u1", "u2")
    assert netlist.node_kind.tolist() == [NodeKind.PORT] * 2 + [NodeKind.HARD_MACRO] * 3 + [NodeKind.CELL] * 2
    assert netlist.counts()["nets"] == 3
    assert netlist.drivers_without_sinks == 1  # n3
    assert netlist.node_index.tolist() == [0, 1, 2, 5, 7, 9, 10]  # a has two connected pins, b and c one


def test_driver_comes_first(write: Write, lef_text: str, def_text: str) -> None:
    netlist = load(write, lef_text, def_text).netlist
    nets = [
        [netlist.pin_name[pin] for pin in netlist.net_pin[start:end]]
        for start, end in zip(netlist.net_start[:-1], netlist.net_start[1:], strict=True)
    ]
    assert nets == [["in", "a/P", "b\\[0\\]/P"], ["a/Q", "u1/A"], ["u1/Y", "out", "c/P"]]
    assert netlist.net_weight.tolist() == [1, 1, 3]


@pytest.mark.parametrize("orientation", list(ORIENTATIONS))
def test_orientation_table(write: Write, lef_text: str, def_text: str, orientation: str) -> None:
    design = load(write, lef_text, def_text.replace("( 20000 30000 ) N", f"( 20000 30000 ) {orientation}"))
    assert design.start.orientation[node(design, "a")] == Orientation[orientation]
    at = pin_positions_um(design.netlist, design.start)[design.netlist.pin_name.index("a/P")]
    assert at.tolist() == pytest.approx(ORIENTATIONS[orientation])


@pytest.mark.parametrize(("orientation", "centre"), [("N", (25, 32)), ("W", (22, 35))])
def test_centres(write: Write, lef_text: str, def_text: str, orientation: str, centre: tuple[float, float]) -> None:
    design = load(write, lef_text, def_text.replace("( 20000 30000 ) N", f"( 20000 30000 ) {orientation}"))
    at = node(design, "a")
    assert (design.start.x_um[at], design.start.y_um[at]) == pytest.approx(centre)


def test_def_unit_alone_scales_the_def(write: Write, lef_text: str, def_text: str) -> None:
    for lef_unit in ("2000", "200"):
        lef = lef_text.replace("DATABASE MICRONS 2000", f"DATABASE MICRONS {lef_unit}")
        design = load(write, lef, def_text)
        at = node(design, "a")
        assert (design.start.x_um[at], design.start.y_um[at]) == pytest.approx((25, 32))
        assert any("units a µm" in warning for warning in design.warnings) == (lef_unit == "200")


def test_states(write: Write, lef_text: str, def_text: str) -> None:
    text = def_text.replace("- u1 BUF + PLACED", "- d RAM + COVER ( 70000 60000 ) N ;\n- u1 BUF + PLACED")
    text = text.replace("COMPONENTS 5", "COMPONENTS 6")
    design = load(write, lef_text, text)
    hard = design.netlist.nodes_of(NodeKind.HARD_MACRO)
    assert design.start.fixed[hard].tolist() == [False, True, False, True]
    assert design.derived["fixed"].startswith("2 macros locked, 1 with a hint, 1 free")
    assert design.has_start  # a has a hint, which counts though c is UNPLACED
    assert "begin amid what they connect" in design.derived["start"]
    locked = load(write, lef_text, text, lock_placed=True)
    assert locked.start.fixed[hard].tolist() == [True, True, False, True]
    assert not locked.has_start  # nothing that may move has a place


def test_canvas_is_the_core_and_the_shift_is_kept(write: Write, lef_text: str, def_text: str) -> None:
    text = def_text.replace("r0 core 0 0 N DO 500", "r0 core 2000 4000 N DO 450").replace(
        "r1 core 0 78000", "r1 core 2000 70000"
    )
    design = load(write, lef_text, text)
    assert (design.canvas.width_um, design.canvas.height_um) == (98, 68)  # x 2 to 100 (cut at the die), y 4 to 72
    assert design.database is not None
    assert (design.database.origin_x, design.database.origin_y, design.database.grid) == (2000, 4000, 5)
    assert "core" in design.derived["canvas"]
    assert "the die is" in design.derived["canvas"]
    at = node(design, "a")
    assert (design.start.x_um[at], design.start.y_um[at]) == pytest.approx((23, 28))


def test_die_is_taken_without_known_rows_and_told(write: Write, lef_text: str, def_text: str) -> None:
    design = load(write, lef_text, def_text.replace("ROW r0 core", "ROW r0 unit").replace("ROW r1 core", "ROW r1 unit"))
    assert (design.canvas.width_um, design.canvas.height_um) == (100, 80)
    assert design.derived["canvas"].startswith("100 x 80 µm: the die")
    assert [w for w in design.warnings if "site 'unit'" in w] == [
        "rows of site 'unit', which no LEF defines, are not used (x 2)"
    ]


def test_fixed_macros_beyond_the_core_take_the_die(write: Write, lef_text: str, def_text: str) -> None:
    text = def_text.replace("r1 core 0 78000", "r1 core 0 28000")
    assert "fixed macros reach out of the core" in load(write, lef_text, text).derived["canvas"]


def test_blockages(write: Write, lef_text: str, def_text: str) -> None:
    assert load(write, lef_text, def_text).blockages_um.tolist() == [[0, 60, 10, 70], [90, 0, 100, 10]]
    design = load(write, lef_text, def_text, macros_on_soft_blockages=True)
    assert design.blockages_um.tolist() == [[0, 60, 10, 70]]
    assert any("routing layers" in warning for warning in design.warnings)


def test_rectilinear_die_is_a_box_and_blockages(write: Write, lef_text: str, def_text: str) -> None:
    die = "( 0 0 ) ( 0 80000 ) ( 50000 80000 ) ( 50000 50000 ) ( 100000 50000 ) ( 100000 0 )"
    design = load(write, lef_text, def_text.replace("( 0 0 ) ( 100000 80000 )", die))
    assert [50, 50, 100, 80] in design.blockages_um.tolist()
    crossed = "( 0 0 ) ( 10 0 ) ( 10 10 ) ( 5 10 ) ( 5 -5 ) ( 0 -5 )"
    with pytest.raises(InputError, match="crosses itself"):
        load(write, lef_text, def_text.replace("( 0 0 ) ( 100000 80000 )", crossed))


def test_halos_fences_and_symmetries_become_constraints(write: Write, lef_text: str, def_text: str) -> None:
    more = (
        "REGIONS 2 ;\n- r ( 10000 10000 ) ( 60000 60000 ) + TYPE FENCE ;\n"
        "- g ( 0 0 ) ( 9 9 ) + TYPE GUIDE ;\nEND REGIONS\n"
        "GROUPS 2 ;\n- one a* + REGION r ;\n- two c + REGION g ;\nEND GROUPS\n"
    )
    text = def_text.replace("END NETS\n", "END NETS\n" + more)
    design = load(write, lef_text.replace("SYMMETRY X Y R90", "SYMMETRY Y"), text)
    rules = design.constraints
    assert rules is not None
    a, b, c = (node(design, name) for name in ("a", "b\\[0\\]", "c"))
    assert rules.halo_um[b].tolist() == [0.1, 0.1, 0.1, 0.1]
    assert [bin(rules.orientations[one]) for one in (a, b)] == ["0b11", "0b1100"]  # N FN; S FS
    assert rules.region[[a, b, c]].tolist() == [0, -1, -1]
    assert rules.regions_um[0].tolist() == [[10, 10, 60, 60]]
    assert any("'g' is no FENCE" in warning for warning in design.warnings)
    assert load(write, lef_text, def_text.replace("+ HALO 100 100 100 100", "")).constraints is None


def test_every_missing_type_is_listed(write: Write, lef_text: str, def_text: str) -> None:
    text = def_text.replace("u1 BUF", "u1 GHOST").replace("u2 BUF", "u2 GHOST").replace("- c RAM", "- c PHANTOM")
    with pytest.raises(InputError, match=r"2 cell types .*'PHANTOM' \(x 1\), 'GHOST' \(x 2\)"):
        load(write, lef_text, text)
    design = load(write, lef_text, def_text.replace("u1 BUF", "u1 GHOST"), missing_cells_as_points=True)
    assert design.netlist.width_um[node(design, "u1")] == 0


def test_a_macro_that_could_not_be_read_is_refused_with_its_reason(write: Write, lef_text: str, def_text: str) -> None:
    lef = lef_text.replace("SIZE 10 BY 4", "SIZE 10 BY x")
    with pytest.raises(InputError, match=r"MACROs that could not be read: a\.lef:\d+: .*height in µm"):
        load(write, lef, def_text, missing_cells_as_points=True)


def test_unknown_pins_warn_and_many_are_refused(write: Write, lef_text: str, def_text: str) -> None:
    with pytest.raises(InputError, match="1 of 6 connections name pins"):
        load(write, lef_text, def_text.replace("( u1 A )", "( u1 DOUT )"))
    nets = "".join(f"- m{i} ( u1 A ) ( u2 A ) ;\n" for i in range(20))
    text = def_text.replace("( u1 A )", "( u1 DOUT )").replace("NETS 4 ;\n- n0", f"NETS 24 ;\n{nets}- n0")
    design = load(write, lef_text, text)
    assert any("'DOUT'" in warning and "'BUF'" in warning and "'u1'" in warning for warning in design.warnings)
    pin = design.netlist.pin_name.index("u1/DOUT")
    assert (design.netlist.pin_dx_um[pin], design.netlist.pin_dy_um[pin]) == (0, 0)


def test_wirelength_does_not_depend_on_direction(write: Write, lef_text: str, def_text: str) -> None:
    def hpwl(design: Design) -> float:
        netlist = design.netlist
        at = pin_positions_um(netlist, design.start)[netlist.net_pin]
        starts = netlist.net_start[:-1]
        return float(np.sum(np.maximum.reduceat(at, starts) - np.minimum.reduceat(at, starts)))

    other = lef_text.replace("PIN P\n    DIRECTION INPUT", "PIN P\n    DIRECTION OUTPUT")
    assert hpwl(load(write, other, def_text)) == pytest.approx(hpwl(load(write, lef_text, def_text)))
    assert any("several drivers" in warning for warning in load(write, other, def_text).warnings)


def test_no_nets_says_what_to_upload(write: Write, lef_text: str, def_text: str) -> None:
    text = def_text[: def_text.index("NETS 4")] + "END DESIGN\n"
    with pytest.raises(InputError, match=r"no NETS.*Verilog"):
        load(write, lef_text, text)
    with pytest.raises(InputError, match="give the DEF"):
        load_design([write("a.lef", lef_text)])
    with pytest.raises(InputError, match="LEF files"):
        load_design([write("a.def", def_text)])


def test_of_several_defs_the_top_is_taken(write: Write, lef_text: str, def_text: str) -> None:
    lef = write("a.lef", lef_text)
    top = write("top.def", def_text)
    child = write("child.def", def_text.replace("DESIGN top ;", "DESIGN RAM ;").replace(" RAM ", " BUF "))
    for order in ([top, child], [child, top]):
        design = load_design([lef, *order])
        assert any("child.def" in warning for warning in design.warnings)
    with pytest.raises(InputError, match="one top"):
        load_design([lef, top, write("same.def", def_text)])


def test_kinds_by_content(write: Write, lef_text: str, def_text: str, tiny: str) -> None:
    kinds = [kind_of(write("x", text)) for text in (lef_text, def_text, tiny, "hello")]
    assert kinds == ["lef", "def", None, None]


def test_ariane(benchmarks: Path) -> None:
    folder = benchmarks / "lefdef/ariane_ct"
    design = load_design(folder)
    counts = design.netlist.counts()
    assert [counts[key] for key in ("hard_macros", "ports", "cells", "nets")] == [133, 1231, 82821, 85193]
    assert design.has_start
    clustered = 155.268, 0.1975  # port clk_i in the clustered netlist
    assert (design.start.x_um[0], design.start.y_um[0]) == pytest.approx(clustered)
