"""Reading netlists: what each form means, and that the fast way and the exact way agree."""

from __future__ import annotations

import dataclasses
import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from netlists.circuit_training.exact import NodeText
from netlists.circuit_training.reader import ParsedNetlist, read_netlist
from netlists.circuit_training.textproto import scan_nodes
from netlists.model import Netlist, NodeKind, Orientation, Side

ARRAYS = [field.name for field in dataclasses.fields(Netlist)]


def read(tmp_path: Path, text: str, **how: bool) -> ParsedNetlist:
    path = tmp_path / "n.pb.txt"
    path.write_bytes(text.encode())
    return read_netlist([path], **how)


def same(a: ParsedNetlist, b: ParsedNetlist) -> bool:
    own = all(np.array_equal(getattr(a, k), getattr(b, k), equal_nan=True) for k in ("x_um", "y_um", "orientation"))
    return own and all(np.array_equal(getattr(a.netlist, key), getattr(b.netlist, key)) for key in ARRAYS)


def test_every_array_of_a_tiny_netlist(tmp_path: Path, tiny: str) -> None:
    parsed = read(tmp_path, tiny)
    netlist = parsed.netlist
    assert netlist.node_name == ("rst", "out", "A", "B", "Grp_0")
    assert [NodeKind(kind).name for kind in netlist.node_kind] == [
        "PORT", "PORT", "HARD_MACRO", "HARD_MACRO", "SOFT_MACRO",
    ]  # fmt: skip
    assert netlist.node_index.tolist() == [0, 1, 2, 5, 7]
    assert netlist.width_um.tolist() == [0, 0, 10, 10, 2]
    assert netlist.height_um.tolist() == [0, 0, 4, 4, 2]
    assert netlist.port_side.tolist() == [Side.LEFT, Side.RIGHT, Side.NONE, Side.NONE, Side.NONE]
    assert netlist.pin_name == ("rst", "out", "A/q", "A/d", "B/d", "Grp_0/Pinput", "Grp_0/Poutput")
    assert netlist.pin_node.tolist() == [0, 1, 2, 2, 3, 4, 4]
    assert netlist.pin_dx_um.tolist() == [0, 0, -4, 0, 0, 0, 0]
    assert netlist.pin_dy_um.tolist() == [0, 0, -1.5, 0, 0, 0, 0]
    assert netlist.net_start.tolist() == [0, 3, 5, 7]
    assert netlist.net_pin.tolist() == [0, 3, 5, 2, 4, 6, 1]
    assert netlist.net_weight.tolist() == [1, 12, 1]
    assert netlist.drivers_without_sinks == 0
    assert parsed.x_um.tolist() == [0, 50, 20.125, 40, 25]
    assert parsed.y_um.tolist() == [20, 10, 30.5, 10, 25]
    assert parsed.orientation.tolist() == [0, 0, Orientation.FN, 0, 0]
    assert netlist.extra_attributes == {
        -1: (("soft_macro_area_bloating_ratio", "f", "1.5"),),
        5: (("ref_name", "s", 'RAM_"64"'),),
    }


def test_the_macro_of_a_pin_is_the_one_it_names(tmp_path: Path, tiny: str) -> None:
    """Not what stands before the last slash of its name."""
    text = tiny.replace('name: "B/d"', 'name: "A/x/y"').replace('input: "B/d"', 'input: "A/x/y"')
    netlist = read(tmp_path, text).netlist
    assert netlist.node_name[netlist.pin_node[netlist.pin_name.index("A/x/y")]] == "B"


def test_weights_count_and_one_is_the_default(tmp_path: Path, tiny: str) -> None:
    for value in ("f: 12", "i: 12", "f: 12.0", "f: 1.2e1", "f: 12f"):
        assert read(tmp_path, tiny.replace("f: 12\n", f"{value}\n")).netlist.net_weight.tolist() == [1, 12, 1]
    port = tiny.replace('key: "side"', 'key: "weight" value { f: 7 } } attr { key: "side"', 1)
    parsed = read(tmp_path, port)
    assert parsed.netlist.net_weight.tolist() == [1, 12, 1]
    assert parsed.netlist.extra_attributes[0] == (("weight", "f", "7"),)


def test_a_port_without_sinks_is_counted_and_makes_no_net(tmp_path: Path, tiny: str) -> None:
    clock = tiny + 'node { name: "clk" attr { key: "type" value { placeholder: "PORT" } } }'
    netlist = read(tmp_path, clock).netlist
    assert (netlist.net_count, netlist.drivers_without_sinks) == (3, 1)
    assert netlist.counts()["drivers_without_sinks"] == 1


@pytest.mark.parametrize(
    ("name", "orientation", "kind"),
    [
        ("u_ram", "N", NodeKind.HARD_MACRO),
        ("u_ram", None, NodeKind.HARD_MACRO),
        ("Grp_7", None, NodeKind.SOFT_MACRO),
        ("Grp_7", "N", NodeKind.HARD_MACRO),
        ("grp_7", None, NodeKind.HARD_MACRO),
    ],
)
@pytest.mark.parametrize("text", ["MACRO", "macro", "Macro"])
def test_hard_or_soft(tmp_path: Path, name: str, orientation: str | None, kind: NodeKind, text: str) -> None:
    attributes = {"type": f'placeholder: "{text}"', "width": "f: 1", "height": "f: 1"}
    if orientation:
        attributes["orientation"] = f'placeholder: "{orientation}"'
    body = " ".join(f'attr {{ key: "{key}" value {{ {value} }} }}' for key, value in attributes.items())
    assert read(tmp_path, f'node {{ name: "{name}" {body} }}').netlist.node_kind.tolist() == [kind]


@pytest.mark.parametrize(
    "written",
    [
        'node { name: "p" input: "q" attr { key: "type" value { placeholder: "port" } } }',
        "node{name:'p' input:'q' attr{key:'type' value{placeholder:'port'}}}",
        'node: < name: "p"; input: ["q"], attr: < key: "type", value: < s: "port" > > >',
        'node { attr { value { placeholder: "po" "rt" } key: "type" } input: "q" name: "\\x70" } # end',
        '# a comment { " }\nnode {\n# inside\nname: "\\160"\ninput: "q"\nattr { key: "type"\n value {\n s: "port" }}}',
    ],
)
def test_every_way_to_write_the_same_node(tmp_path: Path, written: str) -> None:
    path = tmp_path / "n.pb.txt"
    path.write_text(written)
    (node,) = scan_nodes(path, [written])
    assert (node.name, node.inputs, [(key, value) for key, _, value in node.attributes]) == (
        "p",
        ["q"],
        [("type", "port")],
    )


def test_comments_between_nodes_are_handed_over_once(tmp_path: Path) -> None:
    seen: list[str] = []
    text = '# one\n# two\nnode { name: "a" }\n# three\n' + 'node {\n  name: "b"\n}\n# four'
    blocks = [text[i : i + 3] for i in range(0, len(text), 3)]
    assert [node.name for node in scan_nodes(tmp_path, blocks, seen.append)] == ["a", "b"]
    assert seen == ["# one", "# two", "# three", "# four"]


def test_escapes_of_names(tmp_path: Path) -> None:
    text = r'node { name: "a\\b\"c\'d\n\101\x42\u00e9\303\251" }'
    (node,) = scan_nodes(tmp_path, [text])
    assert node.name == "a\\b\"c'd\nABéé"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("last", [True, False])
@pytest.mark.parametrize("packed", [True, False])
def test_every_encoding_gives_the_same(
    tmp_path: Path, tiny: str, end: str, mark: str, last: bool, packed: bool
) -> None:
    expected = read(tmp_path, tiny)
    data = (mark + (tiny if last else tiny[:-1]).replace("\n", end)).encode()
    path = tmp_path / "m.pb.txt"
    path.write_bytes(gzip.compress(data) if packed else data)
    assert same(read_netlist([path]), expected)


@pytest.mark.parametrize("node", [1, 3, 8])
def test_parts_make_the_same_netlist_as_one_file(tmp_path: Path, tiny: str, node: int) -> None:
    """Edges reach forward into the next part."""
    expected = read(tmp_path, tiny)
    pieces = tiny.split("node {")[1:]
    first, second = tmp_path / "1.pb.txt", tmp_path / "2.pb.txt"
    first.write_text("".join("node {" + piece for piece in pieces[:node]))
    second.write_bytes(gzip.compress("".join("node {" + piece for piece in pieces[node:]).encode()))
    if node == 1:
        with pytest.raises(Exception, match="holds no node"):
            read_netlist([first, second])
    else:
        assert same(read_netlist([first, second]), expected)


# Random nodes, written in random forms and read in random blocks.

names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r"), min_size=1, max_size=12)
numbers = st.floats(allow_nan=False, allow_infinity=False).map(repr)
attributes = st.lists(
    st.tuples(names, st.sampled_from(["f", "i", "placeholder", "s", "b"]), st.one_of(numbers, names)), max_size=5
)
nodes = st.lists(st.tuples(names, st.lists(names, max_size=4), attributes), max_size=6)


def quote(text: str, mark: str) -> str:
    for plain, escaped in (("\\", "\\\\"), (mark, "\\" + mark), ("\n", "\\n")):
        text = text.replace(plain, escaped)
    return mark + text + mark


def as_text(draw: st.DataObject, node: tuple[str, list[str], list[tuple[str, str, str]]]) -> str:
    name, inputs, attributes = node
    if draw.draw(st.booleans(), label="canonical"):
        parts = [f"node {{\n  name: {quote(name, chr(34))}\n"]
        parts += [f"  input: {quote(sink, chr(34))}\n" for sink in inputs]
        for key, field, value in attributes:
            shown = quote(value, '"') if field in ("s", "placeholder") else value
            parts.append(
                f"  attr {{\n    key: {quote(key, chr(34))}\n    value {{\n      {field}: {shown}\n    }}\n  }}\n"
            )
        return "".join(parts) + "}\n"
    mark = draw.draw(st.sampled_from("'\""), label="quote")
    space = draw.draw(st.sampled_from([" ", "\n", "\t ", " # aside }\n"]), label="space")
    parts = ["node", "{", "name:", quote(name, mark)] + [f"input: {quote(sink, mark)}" for sink in inputs]
    for key, field, value in attributes:
        shown = quote(value, mark) if field in ("s", "placeholder") else value
        parts += ["attr", "{", f"key: {quote(key, mark)}", "value:", "{", f"{field}:", shown, "}", "}"]
    return space.join([*parts, "}"]) + draw.draw(st.sampled_from(["", "\n", "\n\n"]), label="after")


def fitting(
    node: tuple[str, list[str], list[tuple[str, str, str]]],
) -> tuple[str, list[str], list[tuple[str, str, str]]]:
    """Numbers where the field wants one, text where it wants text."""
    name, inputs, attributes = node
    fixed = []
    for key, field, value in attributes:
        if field not in ("s", "placeholder"):
            try:
                float(value)
                number = value if value.isascii() and "_" not in value and value == value.strip() else "1.5"
            except ValueError:
                number = "1.5"
            value = number if number[0] in "-0123456789" else "2"
            if value.strip("-").isalpha():
                value = value.lower()  # infinity and the like are told in one spelling
        fixed.append((key, field, value))
    return name, inputs, fixed


@given(st.data(), nodes, st.integers(1, 200))
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_fast_and_exact_way_agree_with_what_was_written(data: st.DataObject, drawn: list, block: int) -> None:
    wanted = [fitting(node) for node in drawn]
    text = "".join(as_text(data, node) for node in wanted)
    blocks = [text[i : i + block] for i in range(0, len(text), block)]
    path = Path("n.pb.txt")
    fast = list(scan_nodes(path, blocks))
    assert fast == list(scan_nodes(path, [text], exact_only=True))
    assert [(node.name, node.inputs, node.attributes) for node in fast] == wanted
    for node in fast:
        assert f"{text}\n".split("\n")[node.line - 1].strip()


@given(st.text(alphabet="node{}name:\"a\\ \n#<>[]input,;attrkeyvalue1.5-ef'", max_size=80), st.integers(1, 40))
@settings(max_examples=500, deadline=None)
def test_rubbish_gives_the_same_error_either_way(text: str, block: int) -> None:
    def outcome(blocks: list[str], exact_only: bool) -> list[NodeText] | str:
        try:
            return list(scan_nodes(Path("n.pb.txt"), blocks, exact_only=exact_only))
        except Exception as error:
            return f"{type(error).__name__}: {error}"

    blocks = [text[i : i + block] for i in range(0, len(text), block)]
    result = outcome(blocks, False)
    assert result == outcome([text], True)
    assert not isinstance(result, str) or result.startswith("ParseError: n.pb.txt:")


def test_one_very_long_node_is_read_in_linear_time(tmp_path: Path) -> None:
    """A driver of 200,000 sinks, in small blocks: each block may not start the node anew."""
    inputs = "".join(f'  input: "u{index}/Pinput"\n' for index in range(200_000))
    text = f'node {{\n  name: "clk"\n{inputs}}}\n'
    blocks = (text[i : i + 4096] for i in range(0, len(text), 4096))
    (node,) = scan_nodes(tmp_path, blocks)
    assert len(node.inputs) == 200_000
