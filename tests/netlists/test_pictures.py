"""Pictures: well-formed, complete, escaped, in the right place and the same every time."""

from __future__ import annotations

import dataclasses
import json
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from netlists.load import load_design
from netlists.model import Design, NodeKind, Orientation, Placement
from netlists.pictures import write_json, write_png, write_svg
from netlists.pictures.png import LONG_SIDE_PX, MARGIN_PX
from netlists.pictures.scene import make_scene, scale_bar_um
from netlists.samples import make_sample

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def design(tmp_path: Path, tiny: str, tiny_plc: str) -> Design:
    folder = tmp_path / "tiny"
    folder.mkdir()
    (folder / "netlist.pb.txt").write_text(tiny)
    (folder / "initial.plc").write_text(tiny_plc)
    return load_design(folder)


def titles(path: Path, group: str) -> list[str]:
    root = ET.parse(path).getroot()
    return [title.text or "" for title in root.findall(f".//{SVG}g[@id='{group}']//{SVG}title")]


def test_svg_holds_everything_with_names_as_titles(tmp_path: Path, design: Design) -> None:
    path = tmp_path / "a.svg"
    write_svg(path, design, design.start)
    assert [title.split(" · ")[0] for title in titles(path, "macros")] == ["A", "B"]
    assert "10 x 4 µm · (20.125, 30.5) S, fixed" in titles(path, "macros")[0]
    assert titles(path, "soft-macros") == ["Grp_0"]
    assert titles(path, "ports") == ["rst", "out"]
    root = ET.parse(path).getroot()
    assert len(root.findall(f".//{SVG}g[@id='blockages']/{SVG}rect")) == 1
    # Macro A: 10 x 4 around (20.125, 30.5) on a canvas of 50 x 40 drawn 1000 wide with a margin of 28
    box = root.find(f".//{SVG}g[@id='macros']/{SVG}g/{SVG}rect")
    assert box is not None
    got = [float(box.attrib[key]) for key in ("x", "y", "width", "height")]
    assert got == pytest.approx([28 + 15.125 * 20, 28 + 7.5 * 20, 200, 80])


@pytest.mark.parametrize("name", ["<&\"'>]]>", "a\x01b\tc", "u[3]/x.y\\z$ 空", "</svg><script>alert(1)</script>"])
def test_any_name_is_safe_in_svg(tmp_path: Path, design: Design, name: str) -> None:
    netlist = dataclasses.replace(design.netlist, node_name=(name, name, name, "B", name))
    hostile = dataclasses.replace(design, name=name, netlist=netlist)
    path = tmp_path / "a.svg"
    write_svg(path, hostile, hostile.start)
    assert titles(path, "macros")[0].startswith(name.replace("\x01", "\ufffd") + " · ")
    assert ET.parse(path).getroot().find(f".//{SVG}script") is None
    write_png(tmp_path / "a.png", hostile, hostile.start)
    write_json(tmp_path / "a.json", hostile, hostile.start)
    assert json.loads((tmp_path / "a.json").read_text())["design"] == name


def pixel(path: Path, x_um: float, y_um: float) -> tuple[int, ...]:
    image = Image.open(path)
    scale = LONG_SIDE_PX / 50
    return image.getpixel((round(MARGIN_PX + x_um * scale), round(MARGIN_PX + (40 - y_um) * scale)))  # type: ignore[return-value]


def test_png_shows_macros_where_they_are(tmp_path: Path, design: Design) -> None:
    path = tmp_path / "a.png"
    write_png(path, design, design.start)
    empty, macro, soft = pixel(path, 5, 5), pixel(path, 20, 30), pixel(path, 25, 25)
    assert min(empty) > 240
    assert max(macro) < 200
    assert min(macro) < min(soft) < min(empty)
    assert pixel(path, 40, 14) == pixel(path, 40, 6)  # B is turned to E: 4 wide, 10 high
    assert min(pixel(path, 36, 10)) > 240
    assert min(pixel(path, 16.5, 32)) < 160  # A is turned to S: the mark is at the upper right, not here
    assert min(pixel(path, 24.9, 32.3)) > 180


def test_a_mark_for_each_orientation(design: Design) -> None:
    """The corner that is the lower left one in N, with the long leg along the macro's own x axis."""
    corners = []
    for orientation in Orientation:
        turned = design.start.moved(orientation=np.array([0, 0, orientation, 0, 0]))
        triangle = make_scene(design, turned).marks[0] - [20.125, 30.5]
        corners.append(
            (
                tuple(np.sign(triangle[0]).astype(int)),
                tuple(np.sign(np.round(triangle[1] - triangle[0], 9)).astype(int)),
            )
        )
    assert len(set(corners)) == 8
    assert corners[Orientation.N] == ((-1, -1), (1, 0))
    assert corners[Orientation.S] == ((1, 1), (-1, 0))
    assert corners[Orientation.FN] == ((1, -1), (-1, 0))
    assert corners[Orientation.W] == ((1, -1), (0, 1))


def test_files_are_the_same_every_time(tmp_path: Path) -> None:
    design = make_sample("small", 0)
    for write, suffix in ((write_svg, "svg"), (write_png, "png"), (write_json, "json")):
        for name in ("a", "b"):
            write(tmp_path / f"{name}.{suffix}", design, design.start)
        assert (tmp_path / f"a.{suffix}").read_bytes() == (tmp_path / f"b.{suffix}").read_bytes()


def test_macros_beyond_the_canvas_stay_in_view_up_to_a_quarter(design: Design) -> None:
    far = design.start.moved(x_um=np.array([0, 50, 1e6, -3, 25.0]))
    assert make_scene(design, far).view == (-5, 0, 62.5, 40)


def test_json_has_every_node(tmp_path: Path, design: Design) -> None:
    path = tmp_path / "a.json"
    write_json(path, design, design.start, {"proxy_cost": 0.5})
    content = json.loads(path.read_text())
    assert (content["format"], content["version"], content["costs"]) == (
        "placewright-placement",
        1,
        {"proxy_cost": 0.5},
    )
    assert content["canvas"]["columns"] == 5
    assert content["blockages_um"] == [[0, 30, 10, 40]]
    assert [node["name"] for node in content["nodes"]] == list(design.netlist.node_name)
    assert content["nodes"][2] == {
        "index": 2, "name": "A", "kind": "hard_macro", "x_um": 20.125, "y_um": 30.5, "width_um": 10, "height_um": 4,
        "orientation": "S", "fixed": True,
    }  # fmt: skip
    assert content["nodes"][0]["side"] == "LEFT"
    write_json(path, design, design.start)
    assert json.loads(path.read_text())["costs"] is None


def test_a_design_of_ports_alone(tmp_path: Path) -> None:
    path = tmp_path / "n.pb.txt"
    path.write_text('node { name: "p" attr { key: "type" value { s: "PORT" } } }')
    design = load_design(path, require_hard_macros=False)
    write_svg(tmp_path / "a.svg", design, design.start)
    write_png(tmp_path / "a.png", design, design.start)
    assert titles(tmp_path / "a.svg", "ports") == ["p"]
    assert Image.open(tmp_path / "a.png").size[0] > LONG_SIDE_PX


@pytest.mark.parametrize(("width", "bar"), [(1433, 200), (77, 10), (22.95, 2), (0.5, 0.05), (6, 1)])
def test_scale_bar(width: float, bar: float) -> None:
    assert scale_bar_um(width) == pytest.approx(bar)


def test_cells_are_one_path(tmp_path: Path) -> None:
    design = make_sample("small", 0)
    kind = np.where(design.netlist.node_kind == NodeKind.SOFT_MACRO, NodeKind.CELL, design.netlist.node_kind)
    flat = dataclasses.replace(design, netlist=dataclasses.replace(design.netlist, node_kind=kind))
    write_svg(tmp_path / "a.svg", flat, flat.start)
    root = ET.parse(tmp_path / "a.svg").getroot()
    (path,) = root.findall(f".//{SVG}g[@id='cells']/{SVG}path")
    assert path.attrib["d"].count("Z") == 80
    assert isinstance(flat.start, Placement)
