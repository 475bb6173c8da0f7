"""Every kind of broken netlist: one small file a fault, and what its message must say."""

from __future__ import annotations

import gzip
import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from netlists.circuit_training.reader import read_netlist
from netlists.circuit_training.textproto import scan_nodes
from netlists.errors import InputError, ParseError
from netlists.files import Limits
from netlists.load import load_design

MACRO = """node {
  name: "m"
  attr {
    key: "type"
    value {
      placeholder: "MACRO"
    }
  }
  attr {
    key: "width"
    value {
      f: 10
    }
  }
  attr {
    key: "height"
    value {
      f: 4
    }
  }
}
"""


def one(name: str, kind: str, *, inputs: tuple[str, ...] = (), **attributes: str) -> str:
    written = {"type": f'placeholder: "{kind}"', **attributes}
    body = "".join(f'  input: "{sink}"\n' for sink in inputs)
    body += "".join(f'  attr {{ key: "{key}" value {{ {value} }} }}\n' for key, value in written.items())
    return f'node {{\n  name: "{name}"\n{body}}}\n'


PIN = one("m/p", "MACRO_PIN", macro_name='placeholder: "m"')

FAULTS = {
    "unknown type": (
        MACRO + one("u9", "FILLER"),
        ["n.pb.txt:23: node 'u9': unknown type 'FILLER'", "MACRO, MACRO_PIN, PORT, STDCELL"],
    ),
    "no type": ('node { name: "x" }', ["n.pb.txt:1: node 'x': attribute 'type' is missing"]),
    "no width": (one("m", "MACRO", height="f: 4"), ["n.pb.txt:2: node 'm': attribute 'width' is missing"]),
    "no height": (one("m", "macro", width="f: 4"), ["n.pb.txt:2: node 'm': attribute 'height' is missing"]),
    "cell without size": (one("c", "STDCELL", width="f: 4"), ["node 'c': attribute 'height' is missing"]),
    "NaN size": (MACRO.replace("f: 10", "f: nan"), ["n.pb.txt:2: node 'm': width is nan, must be above 0"]),
    "infinite size": (MACRO.replace("f: 4", "f: inf"), ["n.pb.txt:2: node 'm': height is inf, must be above 0"]),
    "negative size": (MACRO.replace("f: 10", "f: -10"), ["n.pb.txt:2: node 'm': width is -10, must be above 0"]),
    "size zero": (MACRO.replace("f: 10", "f: 0"), ["n.pb.txt:2: node 'm': width is 0, must be above 0"]),
    "several bad sizes": (
        MACRO.replace("f: 10", "f: 0") + MACRO.replace("f: 10", "f: 0").replace('"m"', '"m2"'),
        ["node 'm': width is 0", "(2 nodes like this)"],
    ),
    "absurd size": (MACRO.replace("f: 10", "f: 1e300"), ["node 'm': width is 1e+300", "at most 1e+09 µm"]),
    "size as text": (
        MACRO.replace("f: 10", 'placeholder: "wide"'),
        ["node 'm': attribute 'width' is 'wide', not a number"],
    ),
    "NaN offset": (
        MACRO + PIN.replace("}\n}", '}\n  attr { key: "x_offset" value { f: nan } }\n}'),
        ["node 'm/p': x_offset is nan"],
    ),
    "negative weight": (
        MACRO + PIN.replace("}\n}", '}\n  attr { key: "weight" value { f: -2 } }\n}'),
        ["node 'm/p': weight is -2, must be 0 or more"],
    ),
    "duplicate": (MACRO + "# between\n" + MACRO, ["n.pb.txt:24: node 'm' is defined a second time; first at line 2"]),
    "attribute twice": (
        one("m", "MACRO", width="f: 1").replace("}\n}", '}\n  attr { key: "width" value { f: 2 } }\n}'),
        ["n.pb.txt:2: node 'm': attribute 'width' is given twice"],
    ),
    "missing sink": (
        MACRO + one("p", "PORT", inputs=("m/q",)),
        ["n.pb.txt:23: 1 sinks cannot be connected: 'p' (n.pb.txt:23) drives 'm/q', which does not exist"],
    ),
    "many missing sinks": (
        MACRO + one("p", "PORT", inputs=tuple(f"gone{i}" for i in range(14))),
        ["14 sinks cannot be connected", "'gone9', which does not exist", "and 4 more"],
    ),
    "sink is a macro": (
        MACRO + one("p", "PORT", inputs=("m",)),
        ["'p' (n.pb.txt:23) drives 'm', which is a macro, not a pin"],
    ),
    "macro drives": (
        one("m", "MACRO", inputs=("x",), width="f: 1", height="f: 1"),
        ["node 'm': a macro cannot drive 'x'"],
    ),
    "pin of no macro": (
        MACRO + one("z/p", "MACRO_PIN", macro_name='s: "z"'),
        ["n.pb.txt:23: node 'z/p': macro_name 'z' names no macro"],
    ),
    "pin of a port": (
        one("z", "PORT") + one("z/p", "MACRO_PIN", macro_name='s: "z"'),
        ["node 'z/p': macro_name 'z' names no macro"],
    ),
    "pin without macro": (MACRO + one("m/p", "MACRO_PIN"), ["node 'm/p': attribute 'macro_name' is missing"]),
    "orientation": (
        MACRO.replace("}\n}", '}\n  attr { key: "orientation" value { s: "R45" } }\n}'),
        ["node 'm': orientation 'R45' is not one of N FN S FS E FE W FW"],
    ),
    "side": (one("p", "PORT", side='s: "NORTH"'), ["node 'p': side 'NORTH' is not one of LEFT RIGHT TOP BOTTOM"]),
    "empty name": (one("", "PORT"), ["n.pb.txt:2: node '': the name is empty"]),
    "no name": ("node { }", ["n.pb.txt:1: node without a name"]),
    "two names": ('node { name: "a" name: "b" }', ["node 'a' has a second name"]),
    "not a netlist": (
        "VERSION 5.8 ;\nDESIGN top ;\n",
        ["n.pb.txt:1: expected 'node', found 'VERSION'", "list of node { … } blocks"],
    ),
    "JSON": ('{"node": []}', ["n.pb.txt:1: expected 'node', found '{'"]),
    "unclosed": (MACRO[:-2], ["n.pb.txt:21: the file ends within the node that starts at line 1; is it truncated?"]),
    "unclosed text": ('node {\n  name: "abc\n}\n', ["n.pb.txt:2: a quoted text does not end on its line"]),
    "no colon": ('node { name "a" }', ["n.pb.txt:1: expected ':' after name, found \"a\""]),
    "no brace": ('node "a" }', ["expected '{' after node"]),
    "list value": (
        'node { name: "a" attr { key: "k" value { list { i: 1 } } } }',
        ["attribute 'k' holds a 'list' value; supported are f, i, b, s, placeholder"],
    ),
    "empty value": ('node { name: "a" attr { key: "k" value { } } }', ["attribute 'k' has an empty value"]),
    "two values": ('node { name: "a" attr { key: "k" value { f: 1 i: 2 } } }', ["attribute 'k' has a second value"]),
    "attr without key": ('node { name: "a" attr { value { f: 1 } } }', ["attr of node 'a' without a key"]),
    "attr without value": ('node { name: "a" attr { key: "k" } }', ["attr of node 'a' without a value"]),
    "odd number": ('node { name: "a" attr { key: "k" value { f: 1.2.3 } } }', ["unexpected text '1.2.3"]),
    "odd escape": (r'node { name: "a\qb" }', [r"unknown escape \q"]),
    "escape of no text": (r'node { name: "a\377b" }', ["do not make UTF-8 text"]),
    "only comments": ("# nothing here\n", ["n.pb.txt: holds no node"]),
    "only space": ("  \n\n", ["n.pb.txt: holds no node"]),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("packed", [False, True])
def test_fault(tmp_path: Path, fault: str, packed: bool) -> None:
    text, parts = FAULTS[fault]
    path = tmp_path / "n.pb.txt"
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    for exact_only in (False, True):
        with pytest.raises(ParseError) as caught:
            read_netlist([path], exact_only=exact_only)
        for part in parts:
            assert part in str(caught.value)
    with pytest.raises(InputError):
        load_design([path])


def test_duplicates_in_two_parts_name_both_files(tmp_path: Path) -> None:
    (tmp_path / "1.pb.txt").write_text(MACRO)
    (tmp_path / "2.pb.txt").write_text("\n" + MACRO)
    message = "2.pb.txt:3: node 'm' is defined a second time; first at 1.pb.txt line 2"
    with pytest.raises(ParseError, match=re.escape(message)):
        load_design(tmp_path)


def test_too_many_nodes(tmp_path: Path) -> None:
    path = tmp_path / "n.pb.txt"
    path.write_text("".join(one(f"p{i}", "PORT") for i in range(11)))
    read_netlist([path], Limits(max_nodes=11))
    with pytest.raises(InputError, match="more than 10 nodes"):
        read_netlist([path], Limits(max_nodes=10))
    path.write_text(one("p", "PORT", inputs=tuple(f"q{i}" for i in range(10))))
    with pytest.raises(InputError, match="more than 10 nodes"):
        read_netlist([path], Limits(max_nodes=10))


@pytest.mark.parametrize("junk", ["# ", 'node { name: "', "1", " "])
def test_text_without_end_is_refused_or_read_in_bounded_memory(tmp_path: Path, junk: str) -> None:
    """What a gzip bomb of text would be: the reader gives up on a node of more than MAX_NODE_CHARS."""
    filler = (" " if junk == " " else "1") * 1_000_000
    read = 0

    def counted() -> Iterator[str]:
        nonlocal read
        yield junk
        for _ in range(200):
            read += len(filler)
            yield filler

    if junk == " ":
        assert list(scan_nodes(tmp_path, counted())) == []
        return
    with pytest.raises(
        ParseError, match=r"a node longer than 67,108,864 characters|a quoted text does not end on its line"
    ):
        list(scan_nodes(tmp_path, counted()))
    assert read < 140_000_000


def test_a_file_cut_short_anywhere_is_an_input_error(tmp_path: Path, tiny: str) -> None:
    """Or still a netlist, where the cut falls between two nodes and no edge is lost. Never anything else."""
    path = tmp_path / "n.pb.txt"
    complete = 0
    for length in [*range(0, len(tiny) - 300, 7), *range(len(tiny) - 300, len(tiny))]:
        path.write_text(tiny[:length])
        try:
            load_design([path])
            complete += 1
        except InputError as error:
            message = str(error)
        else:
            message = "n.pb.txt"
        assert "n.pb.txt" in message or "no hard macros" in message
    assert complete == 3  # all but the last line end; and without the last pin and its net, with and without line end


def test_a_packed_file_cut_short_anywhere_is_an_input_error(tmp_path: Path, tiny: str) -> None:
    packed = gzip.compress(tiny.encode())
    path = tmp_path / "n.pb.txt.gz"
    for length in range(len(packed)):
        path.write_bytes(packed[:length])
        with pytest.raises(InputError, match=r"n\.pb\.txt\.gz"):
            load_design([path])


def test_bytes_changed_at_random_never_crash(tmp_path: Path, tiny: str, tiny_plc: str) -> None:
    choose = random.Random(1)
    netlist, plc = tmp_path / "n.pb.txt", tmp_path / "n.plc"
    failed = 0
    for _ in range(600):
        texts = [bytearray(tiny.encode()), bytearray(tiny_plc.encode())]
        for _ in range(choose.randint(1, 3)):
            text = choose.choice(texts)
            text[choose.randrange(len(text))] = choose.choice(b'\x00\xff{}":#-.e09 \nNSx')
        netlist.write_bytes(texts[0])
        plc.write_bytes(texts[1])
        try:
            load_design([netlist, plc])
        except InputError:
            failed += 1
    assert failed > 100


@pytest.mark.parametrize("name", ["n.pb.txt", "n.plc", "n.pb.txt.gz", "n.dat"])
@pytest.mark.parametrize(
    "content", [b"", b"\x00\x01\x02" * 100, bytes(range(256)), b"\x1f\x8b", b"\x89PNG\r\n\x1a\n", b"PK\3\4"]
)
def test_empty_and_binary_files(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=re.escape(name)):
        load_design([tmp_path / name])


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("a.pb", "binary protobuf"),
        ("a.tgz", "tar archive"),
        ("a.gds", "GDSII"),
        ("a.zip", "zip archive"),
    ],
)
def test_other_formats_are_named(tmp_path: Path, name: str, format: str) -> None:
    (tmp_path / name).write_text("VERSION 5.8 ;")
    with pytest.raises(InputError, match=f"{name}: {format} is not a format read here; supported are Circuit Training"):
        load_design([tmp_path / name])


def test_names_that_contradict_the_content(tmp_path: Path, tiny: str, tiny_plc: str) -> None:
    (tmp_path / "a.plc").write_text(tiny)
    with pytest.raises(ParseError, match=r"a\.plc: is named \.plc, but holds no row"):
        load_design([tmp_path / "a.plc"])
    (tmp_path / "b.pb.txt").write_text(tiny_plc)
    with pytest.raises(ParseError, match=r"b\.pb\.txt: is named as a netlist, but its content is that of a \.plc"):
        load_design([tmp_path / "b.pb.txt"])
