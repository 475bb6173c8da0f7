"""Any format in, any format out that can carry the design: written, read back, and the same places and lengths."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from netlists.circuit_training.plc import read_plc
from netlists.errors import InputError
from netlists.formats import FORMATS, can_carry, write_design
from netlists.lefdef.def_writer import read_places
from netlists.lefdef.snap import snap
from netlists.lefdef.tcl import read_tcl
from netlists.load import load_design
from netlists.model import Design, NodeKind, Placement
from placement.cost.hpwl import hpwl
from placement.legal import check, legalise

HERE = Path(__file__).parent


def _texts(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"matrix_{path.parent.name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


PROTOBUF, LEFDEF = _texts(HERE / "conftest.py"), _texts(HERE / "lefdef/conftest.py")
BOOKSHELF = _texts(HERE / "bookshelf/conftest.py")
FLOORPLAN = LEFDEF.DEF[: LEFDEF.DEF.index("NETS 4")] + "END DESIGN\n"
VERILOG = """\
module top (in, out);
  input in; output out; wire q;
  RAM a (.P(in), .Q(q));
  RAM \\b[0]  (.P(in));
  RAM c (.P(out));
  BUF u1 (.A(q), .Y(out));
endmodule
"""
FLAT = "".join(
    f'node {{ name: "{name}" attr {{ key: "type" value {{ placeholder: "MACRO" }} }}'
    f' attr {{ key: "width" value {{ f: 10 }} }} attr {{ key: "height" value {{ f: 4 }} }}'
    ' attr { key: "orientation" value { placeholder: "N" } } }\n'
    f'node {{ name: "{name}/P" input: "{sink}" attr {{ key: "type" value {{ placeholder: "MACRO_PIN" }} }}'
    f' attr {{ key: "macro_name" value {{ placeholder: "{name}" }} }} }}\n'
    for name, sink in (("a", "b[0]/P"), ("b[0]", "c/P"), ("c", "in"))
) + (
    'node { name: "in" attr { key: "type" value { placeholder: "PORT" } }'
    ' attr { key: "x" value { f: 0 } } attr { key: "y" value { f: 50 } } }\n'
)
INPUTS: dict[str, dict[str, str]] = {
    "protobuf": {"netlist.pb.txt": PROTOBUF.TINY},
    "protobuf and plc": {"netlist.pb.txt": PROTOBUF.TINY, "t.plc": PROTOBUF.TINY_PLC},
    "Bookshelf": {
        f"t.{kind}": text.replace("K 30 44", "K 90 44") if kind == "pl" else text
        for kind, text in BOOKSHELF.FILES.items()
    },
    "LEF/DEF": {"a.lef": LEFDEF.LEF, "a.def": LEFDEF.DEF},
    "floorplan and protobuf": {"a.lef": LEFDEF.LEF, "a.def": FLOORPLAN, "netlist.pb.txt": FLAT},
    "floorplan and Verilog": {"a.lef": LEFDEF.LEF, "a.def": FLOORPLAN, "t.v": VERILOG},
    "LEF and Verilog": {"a.lef": LEFDEF.LEF, "t.v": VERILOG},
}
# What must be refused, with a word of the reason.
REFUSED = {
    **{(source, kind): "database" for source in INPUTS for kind in ("def", "tcl") if "a.def" not in INPUTS[source]},
}


@pytest.fixture(params=list(INPUTS))
def given(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Design, list[Path]]:
    folder = tmp_path / "in"
    folder.mkdir()
    for name, text in INPUTS[request.param].items():
        (folder / name).write_text(text)
    files = sorted(folder.iterdir())
    return request.param, load_design(files, name="t"), files


@pytest.mark.parametrize("to", list(FORMATS))
def test_written_and_read_back(given: tuple[str, Design, list[Path]], to: str, tmp_path: Path) -> None:
    source, design, files = given
    placed = legalise(design, design.start)
    if design.database is not None:
        placed = snap(design, placed)
    assert check(design, placed).legal
    path = tmp_path / f"out{FORMATS[to].ending}"
    why = can_carry(to, design)
    if (source, to) in REFUSED:
        assert why is not None
        assert REFUSED[source, to] in why
    if why is not None:
        with pytest.raises(InputError, match="cannot hold"):
            write_design(to, path, design, placed, files)
        assert not path.exists()
        return
    assert all(write_design(to, path, design, placed, files))
    back = read_again(design, placed, to, path, files)
    if back is not None:
        assert check(*back).legal
        assert hpwl(*back).hpwl_um == pytest.approx(hpwl(design, placed).hpwl_um, rel=1e-12, abs=0)
        same_macros(design, placed, *back)


def read_again(
    design: Design, placed: Placement, to: str, path: Path, files: list[Path]
) -> tuple[Design, Placement] | None:
    """What the files say, as a design and a placement; None for pictures and for what carries no pins."""
    if to == "plc":
        return design, read_plc(path, design.netlist).placement
    if to == "def":
        return design, read_places(path, design)
    if to == "tcl":
        assert design.database is not None
        movable = ~design.start.fixed & (design.netlist.node_kind == NodeKind.HARD_MACRO)
        assert len(read_tcl(path, design.database.units_per_um)) == np.count_nonzero(movable)
        return None
    if to == "bookshelf":
        again = load_design(path)
        return again, again.start
    if to == "pb":
        again = load_design(path)
        same_macros(design, placed, again, again.start)
        return None if design.netlist.counts()["cells"] else (again, again.start)  # pins of cells are at centres in it
    return None


def same_macros(design: Design, placed: Placement, other: Design, back: Placement) -> None:
    """Hard macros have the same names, places and orientations."""
    number = {name: at for at, name in enumerate(other.netlist.node_name)}
    hard = design.netlist.nodes_of(NodeKind.HARD_MACRO)
    same = [number[design.netlist.node_name[node]] for node in hard]
    for axis in ("x_um", "y_um"):
        assert np.allclose(getattr(back, axis)[same], getattr(placed, axis)[hard], rtol=0, atol=1e-9)
    assert back.orientation[same].tolist() == placed.orientation[hard].tolist()
