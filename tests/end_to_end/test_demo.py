"""`placewright demo` and `placewright place`: the product's main job through its two doors."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from PIL import Image

from netlists.load import load_design
from placement.cost import evaluate
from placement.legal import check

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
COMMAND = [sys.executable, "-m", "workers.cli.main"]
DEADLINE_S = 400


def placewright(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    return subprocess.run(
        [*COMMAND, *words], cwd=cwd, env=environment, capture_output=True, text=True, timeout=DEADLINE_S, check=False
    )


def processes_that_mention(text: str) -> list[str]:
    found = []
    for process in psutil.process_iter(["cmdline", "environ", "pid"]):
        words = " ".join(process.info["cmdline"] or [])
        if text in words or text in str((process.info["environ"] or {}).get("PLACEWRIGHT_DATA", "")):
            found.append(words)
    return found


def test_the_demo_leaves_a_legal_better_placement_and_no_process(tmp_path: Path) -> None:
    done = placewright("demo", "--size", "small", "--seconds", "20", "--exit", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    out = tmp_path / "demo-output"
    names = {path.name for path in out.glob("placement.*")}
    assert names == {"placement.plc", "placement.pb.txt.gz", "placement.svg", "placement.png", "placement.json"}
    result = load_design([out / "placement.pb.txt.gz"], out / "placement.plc")
    assert check(result, result.start).legal
    assert f"{evaluate(result, result.start).proxy_cost:.4f}" in done.stdout
    with Image.open(out / "placement.png") as picture:
        assert min(picture.size) >= 400
    assert processes_that_mention(str(tmp_path)) == []


def test_place_and_check_agree(tmp_path: Path) -> None:
    assert placewright("sample", "small", "--out", "design", cwd=tmp_path).returncode == 0
    placed = placewright(
        "place", "design", "--method", "search", "--seconds", "20", "--workers", "1", "--json", cwd=tmp_path
    )
    assert placed.returncode == 0, placed.stderr
    report = json.loads(placed.stdout)
    assert report["legal"]
    assert report["proxy_cost"] < report["start_proxy_cost"]
    assert report["provenance"]["start"] == "legalised upload"
    plc = tmp_path / "placewright-out" / "placement.plc"
    judged = placewright("check", "design", "--plc", str(plc), "--json", cwd=tmp_path)
    assert judged.returncode == 0, judged.stderr
    assert json.loads(judged.stdout)["proxy_cost"] == report["proxy_cost"]
    assert json.loads(judged.stdout)["overlaps_in_float32"] == 0
    evaluated = json.loads(placewright("evaluate", "design", "--plc", str(plc), "--json", cwd=tmp_path).stdout)
    assert evaluated["proxy_cost"] == report["proxy_cost"]
    assert (evaluated["overlaps"], evaluated["outside"]) == (0, 0)


def test_check_calls_an_overlap_by_its_names_and_ends_with_1(tmp_path: Path) -> None:
    assert placewright("sample", "small", "--out", "design", cwd=tmp_path).returncode == 0
    lines = (tmp_path / "design" / "initial.plc").read_text().splitlines()
    design = load_design([tmp_path / "design"])
    first, second = design.netlist.nodes_of(0)[:2]
    index = [str(design.netlist.node_index[node]) for node in (first, second)]
    rows = {line.split()[0]: line.split() for line in lines if line and not line.startswith("#")}
    rows[index[1]][1:3] = rows[index[0]][1:3]
    moved = [" ".join(rows[line.split()[0]]) if line and not line.startswith("#") else line for line in lines]
    bad = tmp_path / "overlapping.plc"
    bad.write_text("\n".join(moved) + "\n")
    judged = placewright("check", "design", "--plc", str(bad), "--json", cwd=tmp_path)
    assert judged.returncode == 1
    report = json.loads(judged.stdout)
    assert not report["legal"]
    assert any(design.netlist.node_name[first] in problem for problem in report["problems"])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["empty"]),
        ("node {\n", ["broken.pb.txt:"]),
        ('node { name: "a" attr { key: "type" value { placeholder: "WIDGET" } } }', ["broken.pb.txt:1", "WIDGET"]),
    ],
)
def test_bad_input_ends_with_2_and_says_where(tmp_path: Path, text: str, words: list[str]) -> None:
    (tmp_path / "broken.pb.txt").write_text(text)
    done = placewright("evaluate", "broken.pb.txt", cwd=tmp_path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr
    assert placewright("place", "broken.pb.txt", cwd=tmp_path).returncode == 2
    assert not (tmp_path / "placewright-out").exists()
