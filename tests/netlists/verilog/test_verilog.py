"""Structural Verilog: what is read, how it is flattened, what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from netlists.errors import InputError, ParseError
from netlists.files import Limits
from netlists.load import load_design
from netlists.model import NodeKind
from netlists.parsed import ParsedNetlist
from netlists.verilog import tokens
from netlists.verilog.reader import read_verilog
from tests.netlists.verilog.conftest import MASTERS, TEXT


def read(tmp_path: Path, text: str, top: str | None = None) -> ParsedNetlist:
    (tmp_path / "n.v").write_text(text)
    return read_verilog([tmp_path / "n.v"], MASTERS, top=top)


def nets(parsed: ParsedNetlist) -> dict[str, list[str]]:
    n = parsed.netlist
    spans = zip(n.net_name, n.net_start[:-1], n.net_start[1:], strict=True)
    return {name: [n.pin_name[pin] for pin in n.net_pin[a:b]] for name, a, b in spans}


def test_flattened(tmp_path: Path) -> None:
    parsed = read(tmp_path, TEXT)
    n = parsed.netlist
    assert n.node_name[:7] == ("in[0]", "in[1]", "in[2]", "in[3]", "ck", "out[0]", "out[1]")
    assert set(n.node_name[7:]) == {
        "i0", "h0/ram", "h0/g/1", "h0/unused", "h1/ram", "h1/g/1", "h1/unused",
    }  # fmt: skip
    assert [n.node_name[node] for node in n.nodes_of(NodeKind.HARD_MACRO)] == ["h1/ram", "h0/ram"]
    found = nets(parsed)
    assert found["n"] == ["h0/g/1/Z", "i0/A"]
    assert found["out[0]"] == ["i0/Z", "out[0]"]
    assert found["out[1]"] == ["h1/g/1/Z", "out[1]"]
    assert sorted(found["ck"]) == ["ck", "h0/ram/CK", "h1/ram/CK"]
    assert found["ck"][0] == "ck"
    # d = {a[3:2], 01}: the two high bits come from the ports, in h1 in the other order
    assert found["in[3]"] == ["in[3]", "h0/ram/D[3]"]
    assert found["in[0]"] == ["in[0]", "h1/ram/D[3]"]
    assert found["in[1]"] == ["in[1]", "h1/ram/D[2]"]
    assert found["h0/q[3]"] == ["h0/ram/Q[3]", "h0/g/1/A"]
    assert "h0/q[2]" not in found  # a net of one pin
    pin = n.pin_name.index("h0/ram/D[3]")
    assert (n.pin_dx_um[pin], n.pin_dy_um[pin]) == (-15, 3)
    assert np.isnan(parsed.x_um).all()
    assert parsed.derived["top"] == "module 'top': no other module uses it"
    assert read(tmp_path, TEXT, top="half").netlist.counts()["hard_macros"] == 1


def test_chunks_cut_nowhere_within_a_statement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = nets(read(tmp_path, TEXT * 1))
    monkeypatch.setattr(tokens, "CHUNK_CHARS", 1)
    assert nets(read(tmp_path, TEXT)) == whole


def test_implicit_nets_replication_and_constants(tmp_path: Path) -> None:
    parsed = read(
        tmp_path,
        "module t (output z);\n INV a (.A(1'b0), .Z(w));\n RAM r (.D({2{w, z}}), .Q(), .CK(4'hx));\n"
        " INV b (.A(w), .Z(z));\nendmodule",
    )
    assert nets(parsed) == {
        "w": ["a/Z", "r/D[1]", "r/D[3]", "b/A"],
        "z": ["b/Z", "z", "r/D[0]", "r/D[2]"],
    }


@pytest.mark.parametrize(
    ("token", "bits"),
    [("4'b01xz", "01xz"), ("8'hA5", "10100101"), ("3'd5", "101"), ("6'o17", "001111"), ("4'b1", "0001"),
     ("3'bx", "xxx"), ("2'hF", "11"), ("4'sb1", "0001"), ("1 'b0", "0")],
)  # fmt: skip
def test_constants(token: str, bits: str) -> None:
    assert tokens.number_bits(token, Path("n.v"), 1) == bits


def body(text: str) -> str:
    return f"module t (a, z);\n  input a; output z;\n{text}\nendmodule\n"


FAULTS = {
    "behaviour": (body("always @(posedge a) z <= a;"), "n.v:3: 'always' is a behavioural block: only structural"),
    "variable": (body("reg q;"), "n.v:3: 'reg' is a variable"),
    "gate": (body("and (z, a);"), "n.v:3: 'and' is a gate primitive, which no library gives a size"),
    "directive": ('`include "x.v"\n', "n.v:1: directive '`include' is not read here"),
    "expression": (body("assign z = a & a;"), "n.v:3: '&' in an assign: only nets"),
    "array": (body("INV i[3:0] (a, z);"), "n.v:3: instance 'i' is an array of instances"),
    "module twice": (body("") + body(""), "n.v:5: module 't' is defined a second time; first at line 1"),
    "instance twice": (body("INV i (a, z);\nINV i (a, z);"), "n.v:4: instance 'i' is defined a second time; first at"),
    "pin twice": (body("INV i (.A(a), .A(z));"), "n.v:3: instance 'i': pin 'A' is connected twice"),
    "mixed": (body("INV i (.A(a), z);"), "n.v:3: instance 'i' has both named and positional"),
    "missing master": (
        body("GHOST g (a);\nGHOST h (a);"),
        "'GHOST' .2 in the text, first at n.v:3",
    ),
    "no port": (body("") + "module u; t x (.q(1'b0)); endmodule", "n.v:5: instance 'x' 't' has no port 'q'"),
    "width": (body("") + "module u; wire [1:0] w; t x (w); endmodule", "n.v:5: .*port 'a' has 1 bits, 2 are connected"),
    "outside range": (body("wire [3:0] w;\nINV i (w[4], z);"), r"n.v:4: 'w\[4:4\]' is not within its range \[3:0\]"),
    "select of a bit": (body("INV i (a[0], z);"), r"n.v:3: 'a\[0:0\]' is not within its range"),
    "no direction": ("module t (a); INV i (a, b); endmodule", "n.v:1: port 'a' of module 't' has no direction"),
    "not in the header": ("module t; input a; endmodule", "n.v:1: input 'a' is not in the header"),
    "no endmodule": ("module t;\n", "n.v: the file ends within module 't' .line 1.: endmodule is missing"),
    "module in module": ("module t;\nmodule u;", "n.v:2: module within module 't'"),
    "no module": ("// nothing\n", "n.v: holds no module"),
    "two tops": (body("") + "module u; endmodule", "which module is the top.*'t', 'u'; name one"),
    "itself": ("module t; u x (); endmodule module u; u y (); endmodule", "levels deep: a loop"),
    "end": (body("INV i (a,"), "n.v:4: .*in the connections of 'i'"),
    "parameter range": ("module t (input [W-1:0] a); endmodule", "n.v:1: 'W' in a range or select: only plain numbers"),
    "constant": (body("assign 1'b0 = a;"), "n.v:3: assign to a constant"),
    "comment": (body("/* never"), "n.v:3: '/.' without its './'"),
    "attribute": (body("(* never"), "n.v:3: '..' without its '..'"),
    "digit": (body("INV i (2'b21, z);"), "n.v:3: constant '2'b21': '2' is no digit"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_fault(tmp_path: Path, fault: str) -> None:
    text, message = FAULTS[fault]
    with pytest.raises(InputError, match=message):
        read(tmp_path, text)


def test_pins_that_the_master_does_not_have(tmp_path: Path) -> None:
    """R20: told with instance, master and pin, taken at the centre; refused above 5 %."""
    many = "".join(f"INV i{k} (.A(a), .Z(w{k}));\n" for k in range(20))
    parsed = read(tmp_path, body(many + "INV odd (.A(a), .Q(z));"))
    assert "1 connections to pins that their master does not have: 'Q' of 'INV' x 1" in parsed.warnings[0]
    assert "instance 'odd'" in parsed.warnings[0]
    pin = parsed.netlist.pin_name.index("odd/Q")
    assert (parsed.netlist.pin_dx_um[pin], parsed.netlist.pin_dy_um[pin]) == (0, 0)
    with pytest.raises(InputError, match="more than 5% of all"):
        read(tmp_path, body("INV odd (.A(a), .Q(z));\nINV odd2 (.A(a), .Q(z));"))


def test_a_name_that_hierarchy_and_escape_give_twice(tmp_path: Path) -> None:
    """R49's kind: ambiguous names are refused."""
    text = "module u (input a); INV i (.A(a)); endmodule\nmodule t (input a); u x (a); INV \\x/i (.A(a)); endmodule"
    with pytest.raises(InputError, match=r"names that several nodes have once .*: 'x/i'"):
        read(tmp_path, text)


LEF = """VERSION 5.8 ;
MACRO RAM CLASS BLOCK ; SIZE 30 BY 20 ;
  PIN D[0] DIRECTION INPUT ; PORT LAYER M1 ; RECT 0 9 0 11 ; END END D[0]
  PIN Q DIRECTION OUTPUT ; PORT LAYER M1 ; RECT 29 19 31 21 ; END END Q
END RAM
MACRO INV CLASS CORE ; SIZE 1 BY 2 ;
  PIN A DIRECTION INPUT ; PORT LAYER M1 ; RECT 0 0 1 2 ; END END A
  PIN Z DIRECTION OUTPUT ; PORT LAYER M1 ; RECT 0 0 1 2 ; END END Z
END INV
END LIBRARY
"""
SMALL = "module t (input a, output z);\nRAM \\r[0] (.D(w), .Q(z));\nINV i (.A(a), .Z(w));\nendmodule\n"


def test_with_lef_through_load_design(tmp_path: Path) -> None:
    (tmp_path / "t.v").write_text(SMALL)
    with pytest.raises(InputError, match=r"t\.v: a Verilog netlist names cells.*give the LEF files too"):
        load_design(tmp_path / "t.v")
    (tmp_path / "lib.lef").write_text(LEF)
    design = load_design(tmp_path)
    n = design.netlist
    assert n.counts()["hard_macros"] == n.counts()["cells"] == 1
    pin = n.pin_name.index("r[0]/D[0]")
    assert (n.pin_dx_um[pin], n.pin_dy_um[pin]) == (-15, 0)
    assert n.net_name == ("a", "z", "w")
    assert not design.has_start
    assert "canvas" in design.derived


def test_connections_of_a_def_without_nets(tmp_path: Path) -> None:
    """R47 with Verilog, and R49: the DEF escapes what Verilog writes as an escaped name."""
    (tmp_path / "t.v").write_text(SMALL)
    (tmp_path / "lib.lef").write_text(LEF)
    (tmp_path / "t.def").write_text(
        'VERSION 5.8 ; DIVIDERCHAR "/" ; BUSBITCHARS "[]" ; DESIGN t ; UNITS DISTANCE MICRONS 1000 ;\n'
        "DIEAREA ( 0 0 ) ( 100000 80000 ) ;\n"
        "COMPONENTS 1 ; - r\\[0\\] RAM + PLACED ( 20000 30000 ) N ; END COMPONENTS\n"
        "PINS 1 ; - z + NET z + DIRECTION OUTPUT + PLACED ( 100000 40000 ) N ; END PINS\nEND DESIGN\n"
    )
    design = load_design(tmp_path)
    macro = int(design.netlist.nodes_of(NodeKind.HARD_MACRO)[0])
    assert (design.start.x_um[macro], design.start.y_um[macro]) == (35, 40)
    assert design.netlist.net_count >= 1


def test_limits(tmp_path: Path) -> None:
    levels = "".join(f"module m{k}; m{k - 1} a (); m{k - 1} b (); endmodule\n" for k in range(1, 60))
    (tmp_path / "n.v").write_text("module m0; INV i (); endmodule\n" + levels)
    with pytest.raises(InputError, match="more than 1,000 instances"):
        read_verilog([tmp_path / "n.v"], MASTERS, limits=Limits(max_nodes=1000))
    (tmp_path / "n.v").write_text(body("assign z = {1000000{{1000000{{1000000{a}}}}}};"))
    with pytest.raises(ParseError, match="a concatenation of more than"):
        read_verilog([tmp_path / "n.v"], MASTERS)


def test_a_file_cut_short_anywhere_is_an_input_error(tmp_path: Path) -> None:
    end = TEXT.rindex("endmodule") + len("endmodule")
    first = TEXT.index("endmodule") + len("endmodule")
    for length in range(len(TEXT)):
        if length < end and not first <= length <= TEXT.index("module top"):
            with pytest.raises(InputError):
                read(tmp_path, TEXT[:length])


WORDS = st.sampled_from(
    [*"()[]{};,.:=#\\'19\n", "4'h0", "module", "endmodule", "assign", "wire", "in", "INV", "input", "/*", "//"]
)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    at=st.integers(0, len(TEXT)),
    words=st.lists(WORDS),
)
def test_any_words_in_between_never_crash(tmp_path: Path, at: int, words: list[str]) -> None:
    try:
        parsed = read(tmp_path, TEXT[:at] + " ".join(words) + TEXT[at:])
    except InputError:
        return
    assert parsed.netlist.node_count
