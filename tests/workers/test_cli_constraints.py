"""`--constraints` of the commands that look at a placement, and side files beside the netlist."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from netlists.circuit_training.writer import write_plc
from netlists.errors import PlacewrightError
from netlists.load import load_design
from netlists.samples import write_sample
from placement.legal import legalise
from workers.cli.main import cli


def run(*words: object) -> tuple[int, dict]:
    answer = CliRunner().invoke(cli, [str(word) for word in words] + ["--json"])
    if isinstance(answer.exception, PlacewrightError):
        return 2, {"text": str(answer.exception)}  # as `main` tells it
    lines = answer.output.strip().splitlines()
    return answer.exit_code, json.loads(lines[-1]) if lines and lines[-1].startswith("{") else {"text": answer.output}


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sample")
    write_sample(folder, "small", 1)
    return folder


def test_check_judges_by_them(sample: Path, tmp_path: Path) -> None:
    rules = tmp_path / "rules.json"
    content = {"format": "placewright-constraints", "version": 1, "macro_spacing_um": 2.5}
    rules.write_text(json.dumps(content))
    plain = load_design(sample)
    ruled = load_design(sample, constraints=rules)
    tight, spaced = legalise(plain, plain.start), legalise(ruled, ruled.start)
    movable = np.flatnonzero(~plain.start.fixed & (plain.netlist.node_kind == 0))
    a, b = (int(n) for n in movable[:2])
    x, y = spaced.x_um.copy(), spaced.y_um.copy()
    for name, placement in (("tight", tight), ("spaced", spaced)):
        write_plc(tmp_path / f"{name}.plc", plain, placement, None)
    assert run("check", sample, "--plc", tmp_path / "spaced.plc", "--constraints", rules)[0] == 0
    # the second macro beside the first, a micron apart: legal without the rule, if no other is there
    gap = (plain.netlist.width_um[a] + plain.netlist.width_um[b]) / 2 + 1
    x[b], y[b] = x[a] + gap, y[a]
    write_plc(tmp_path / "near.plc", plain, spaced.moved(x_um=x, y_um=y), None)
    code, report = run("check", sample, "--plc", tmp_path / "near.plc", "--constraints", rules)
    assert code == 1
    assert report["broken_rules"] >= 1
    assert any("nearer to each other than halos and spacing allow" in line for line in report["problems"])
    code, report = run("evaluate", sample, "--plc", tmp_path / "spaced.plc", "--constraints", rules)
    assert (code, report["broken_rules"]) == (0, 0)
    assert "constraints" in report


def test_a_fixed_place_is_judged_against_the_file(sample: Path, tmp_path: Path) -> None:
    design = load_design(sample)
    legal = legalise(design, design.start)
    node = int(np.flatnonzero(~design.start.fixed & (design.netlist.node_kind == 0))[0])
    write_plc(tmp_path / "result.plc", design, legal, None)
    place = {"x_um": float(legal.x_um[node]), "y_um": float(legal.y_um[node]), "fixed": True}
    rules = tmp_path / "rules.json"

    def fix(**changed: float) -> tuple[int, dict]:
        macros = [{"name": design.netlist.node_name[node], "place": {**place, **changed}}]
        content = {"format": "placewright-constraints", "version": 1, "macros": macros}
        rules.write_text(json.dumps(content))
        return run("check", sample, "--plc", tmp_path / "result.plc", "--constraints", rules)

    assert fix()[0] == 0
    code, report = fix(x_um=place["x_um"] + 1)
    assert code == 1
    assert any("is fixed and has moved" in line for line in report["problems"])


def test_bad_constraints_are_bad_input(sample: Path, tmp_path: Path) -> None:
    rules = tmp_path / "rules.json"
    rules.write_text('{"version": 1,\n "macro_spacing_um": -1}')
    code, report = run("evaluate", sample, "--constraints", rules)
    assert code == 2
    assert "rules.json:2: macro_spacing_um is -1, must be a number from 0" in report["text"]
