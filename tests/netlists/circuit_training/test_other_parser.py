"""What protobuf's own text parser makes of the same files: both of what we read and of what we write.

The messages are those of tensorflow's GraphDef as far as netlists use them, with the same field names and numbers.
"""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format

from netlists.circuit_training.exact import NodeText
from netlists.circuit_training.textproto import scan_nodes
from netlists.files import text_blocks
from netlists.samples import write_sample

Nodes = list[tuple[str, list[str], dict[str, object]]]
Field = descriptor_pb2.FieldDescriptorProto


def graph_message() -> type:
    """GraphDef { node: NodeDef { name, input, attr: map<string, AttrValue> } }."""
    file = descriptor_pb2.FileDescriptorProto(name="graph.proto", package="netlist", syntax="proto3")
    graph, node = file.message_type.add(name="GraphDef"), file.message_type.add(name="NodeDef")
    entry = node.nested_type.add(name="AttrEntry")
    entry.options.map_entry = True
    value = file.message_type.add(name="AttrValue")
    value.oneof_decl.add(name="value")
    one, many = Field.LABEL_OPTIONAL, Field.LABEL_REPEATED
    graph.field.add(name="node", number=1, label=many, type=Field.TYPE_MESSAGE, type_name=".netlist.NodeDef")
    node.field.add(name="name", number=1, label=one, type=Field.TYPE_STRING)
    node.field.add(name="input", number=3, label=many, type=Field.TYPE_STRING)
    node.field.add(name="attr", number=5, label=many, type=Field.TYPE_MESSAGE, type_name=".netlist.NodeDef.AttrEntry")
    entry.field.add(name="key", number=1, label=one, type=Field.TYPE_STRING)
    entry.field.add(name="value", number=2, label=one, type=Field.TYPE_MESSAGE, type_name=".netlist.AttrValue")
    kinds = {"s": Field.TYPE_BYTES, "i": Field.TYPE_INT64, "f": Field.TYPE_FLOAT, "b": Field.TYPE_BOOL}
    for number, (name, kind) in enumerate([*kinds.items(), ("placeholder", Field.TYPE_STRING)], 2):
        value.field.add(name=name, number=9 if name == "placeholder" else number, label=one, type=kind, oneof_index=0)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("netlist.GraphDef"))


def by_protobuf(path: Path) -> Nodes:
    graph = text_format.Parse("".join(text_blocks(path)), graph_message()())
    result: Nodes = []
    for node in graph.node:
        values: dict[str, object] = {}
        for key, value in node.attr.items():
            found = getattr(value, value.WhichOneof("value"))
            values[key] = found.decode() if isinstance(found, bytes) else found
        result.append((node.name, list(node.input), values))
    return result


def value_of(node: NodeText, key: str) -> object:
    """As protobuf holds it: f has 32 bits."""
    ((field, text),) = [(field, value) for name, field, value in node.attributes if name == key]
    if field == "f":
        return struct.unpack("f", struct.pack("f", float(text)))[0]
    return {"i": int, "b": lambda word: word in ("true", "1")}.get(field, str)(text)


def compare(path: Path) -> int:
    """Asserts that both read the same; the number of nodes."""
    ours, theirs = list(scan_nodes(path, text_blocks(path))), by_protobuf(path)
    assert [(node.name, node.inputs) for node in ours] == [(name, inputs) for name, inputs, _ in theirs]
    for node, (_, _, values) in zip(ours, theirs, strict=True):
        assert {key: value_of(node, key) for key, _, _ in node.attributes} == values
    return len(ours)


ODD = r"""
# a comment with { and "
node { name: 'a\'b\\c' input: "x" "y" input: ["p", 'q'] attr < key: "k" value: { i: 0x1F } > }
node: { name: "\303\251\x41\101\n\t" ; attr { key: "s" value { s: "two" ' parts' } } ,
  attr { key: "f" value { f: -1.5e-3f } } attr { value { b: true } key: "b" } attr { key: "i" value { f: -inf } } }
node{name:"last"attr{key:"n"value{f:.5}}attr{key:"m"value{f:7.}}}
"""


def test_odd_forms(tmp_path: Path) -> None:
    path = tmp_path / "odd.pb.txt"
    path.write_text(ODD)
    assert compare(path) == 3


def test_names(tmp_path: Path) -> None:
    path = tmp_path / "names.pb.txt"
    path.write_text("".join(f'node {{\n  name: "u[{i}]/x.y\\\\z $ \\"{chr(0x3B1 + i)}"\n}}\n' for i in range(5)))
    assert compare(path) == 5


def test_a_tiny_netlist(tmp_path: Path, tiny: str) -> None:
    path = tmp_path / "tiny.pb.txt"
    path.write_text(tiny)
    assert compare(path) == 11


def test_what_we_write(tmp_path: Path) -> None:
    netlist, _ = write_sample(tmp_path, "small", 4)
    assert compare(netlist) > 1500


@pytest.mark.parametrize(
    ("name", "nodes"), [("circuit_training/ibm01/netlist.pb.txt.gz", 10635), ("small/toy_macro_stdcell.pb.txt", 30)]
)
def test_benchmarks(benchmarks: Path, name: str, nodes: int) -> None:
    assert compare(benchmarks / name) == nodes
