"""A floorplan DEF and a protobuf netlist with the same macro names, spelled otherwise."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from netlists.errors import InputError, MismatchError
from netlists.lefdef.def_writer import read_places, write_def
from netlists.lefdef.export import export_tcl
from netlists.lefdef.snap import snap
from netlists.load import input_files, load_design
from netlists.model import NodeKind

Write = Callable[[str, str | bytes], Path]


@pytest.fixture
def floorplan(def_text: str) -> str:
    text = def_text[: def_text.index("SPECIALNETS")] + "END DESIGN\n"
    text = re.sub(r"- u1 BUF.*\n- u2 BUF ;\n|- c RAM\n.*\n", "", text).replace("COMPONENTS 5", "COMPONENTS 2")
    return text.replace("- a RAM", "- A RAM").replace("- in +", "- rst +")


@pytest.fixture
def netlist(tiny: str) -> str:
    return re.sub(r'"B"|"B/d"', lambda found: found.group().replace("B", "b[0]"), tiny)


def test_places_from_the_def_nets_from_the_netlist(write: Write, lef_text: str, floorplan: str, netlist: str) -> None:
    files = [write("a.lef", lef_text), write("a.def", floorplan), write("n.pb.txt", netlist)]
    design = load_design(files)
    names = design.netlist.node_name
    a, b = names.index("A"), names.index("b[0]")
    assert (design.start.x_um[a], design.start.y_um[a]) == pytest.approx((25, 32))
    assert design.start.fixed[[a, b]].tolist() == [False, True]
    assert (design.start.x_um[names.index("rst")], design.start.y_um[names.index("rst")]) == pytest.approx(
        (0.14, 51.98)
    )
    assert design.netlist.counts()["nets"] == 3
    assert design.database is not None
    assert any("ports of the netlist that the DEF does not place" in warning for warning in design.warnings) == (
        "out" not in floorplan
    )
    assert sorted(input_files(files)) == sorted(files)


def test_written_back_under_the_defs_own_names(
    write: Write, lef_text: str, floorplan: str, netlist: str, tmp_path: Path
) -> None:
    source = write("a.def", floorplan.replace("+ FIXED ( 50000", "+ PLACED ( 50000"))
    design = load_design([write("a.lef", lef_text), source, write("n.pb.txt", netlist)])
    placement = snap(design, design.start)
    assert write_def(tmp_path / "out.def", source, design, placement) == 2
    assert "- b\\[0\\] RAM + FIXED ( 50000 30000 ) FS" in (tmp_path / "out.def").read_text()
    assert (read_places(tmp_path / "out.def", design).x_um == placement.x_um).all()
    assert export_tcl(tmp_path / "m.tcl", design, placement, source=source) == 2
    assert "-macro_name {b\\[0\\]} -location {50 30} -orientation MX" in (tmp_path / "m.tcl").read_text()


def test_mismatches_are_named(write: Write, lef_text: str, floorplan: str, netlist: str, def_text: str) -> None:
    lef, plan = write("a.lef", lef_text), write("a.def", floorplan)
    with pytest.raises(MismatchError, match=r"1 hard macros of the netlist are not in a\.def: 'c\[0\]'"):
        load_design([lef, plan, write("n.pb.txt", netlist.replace("b[0]", "c[0]"))])
    with pytest.raises(MismatchError, match="is 10 µm wide in the netlist and 11 µm in the LEF"):
        load_design(
            [write("b.lef", lef_text.replace("SIZE 10 BY 4", "SIZE 11 BY 4")), plan, write("n.pb.txt", netlist)]
        )
    with pytest.raises(InputError, match="has NETS and another netlist is given"):
        load_design([lef, write("full.def", def_text), write("n.pb.txt", netlist)])


def test_real_floorplan_with_flat_netlist(benchmarks: Path) -> None:
    folder = benchmarks / "lefdef/ariane133_ng45"
    files = [*folder.glob("*.lef"), folder / "macros_placed_by_a_reference_tool.def"]
    design = load_design([*files, benchmarks / "flat_protobuf/ariane133_ng45.pb.txt.gz"])
    assert design.netlist.counts()["hard_macros"] == 133
    assert design.has_start
    hard = design.netlist.nodes_of(NodeKind.HARD_MACRO)
    assert (design.start.x_um[hard] < design.canvas.width_um).all()
    with pytest.raises(InputError, match="no NETS"):
        load_design(files)
