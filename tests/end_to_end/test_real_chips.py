"""Flat designs of other tools through the API: upload, preview, job, and their own formats back, read by the reader."""

from __future__ import annotations

import gzip
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import httpx
import numpy as np
import pytest

from netlists.load import load_design
from netlists.model import NodeKind
from placement.legal import check

TESTS = Path(__file__).parents[1]


def _module(path: str, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, TESTS / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


parts = _module("workers/service_parts.py", "service_parts_of_chips")
LEFDEF = _module("netlists/lefdef/conftest.py", "small_lefdef")
BOOKSHELF = _module("netlists/bookshelf/conftest.py", "small_bookshelf")

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    service = parts.Service(tmp_path_factory.mktemp("chips"), {"PYTHONPATH": str(TESTS.parent)})
    service.start()
    with service.client() as client:
        yield client
    service.stop()
    parts.wait_for(lambda: not service.processes(), "no process is left", timeout_s=20)


def upload(client: httpx.Client, files: dict[str, str], **fields: str) -> dict:
    answer = client.post("/designs", files=[("files", (n, text.encode())) for n, text in files.items()], data=fields)
    assert answer.status_code == 202, answer.text
    path = f"/designs/{answer.json()['id']}"
    parts.wait_for(lambda: client.get(path).json()["state"] != "parsing", "the design is read")
    design = client.get(path).json()
    assert design["state"] == "ready", design["error"]
    return design


def best_of_a_job(client: httpx.Client, design: dict) -> dict:
    spec = {"design_id": design["id"], "method": "anneal", "seconds": 100, "trials": 200, "workers": 1}
    answer = client.post("/jobs", json=spec)
    assert answer.status_code == 201, answer.text
    path = f"/jobs/{answer.json()['id']}"
    parts.wait_for(lambda: client.get(path).json()["state"] in ("done", "failed", "cancelled"), "the job is over")
    job = client.get(path).json()
    assert job["state"] == "done", job["cause"]
    return client.get(f"{path}/placements").json()["items"][0]


def download(client: httpx.Client, placement: dict, kind: str) -> bytes:
    answer = client.get(f"/placements/{placement['id']}/files/{kind}")
    assert answer.status_code == 200, answer.text
    return answer.content


def test_lef_and_def(client: httpx.Client, tmp_path: Path) -> None:
    design = upload(client, {"cells.lef": LEFDEF.LEF, "top.def": LEFDEF.DEF})
    counts = design["counts"]
    assert (counts["hard_macros"], counts["cells"], counts["ports"]) == (3, 0, 2)
    assert "2 standard cells in" in design["derived"]["soft macros"]
    best = best_of_a_job(client, design)
    assert {"def", "tcl"} <= set(best["formats"])
    (tmp_path / "cells.lef").write_text(LEFDEF.LEF)
    (tmp_path / "top.def").write_bytes(gzip.decompress(download(client, best, "def")))
    flat = load_design([tmp_path / "cells.lef", tmp_path / "top.def"])
    assert check(flat, flat.start).legal
    # FIXED stays; everything but the macros' places stays to the byte
    given, written = LEFDEF.DEF.splitlines(), (tmp_path / "top.def").read_text().splitlines()
    changed = {old.split()[1] for old, new in zip(given, written, strict=True) if old != new}
    assert "a" in changed
    assert changed <= {"a", "c", "SOURCE"}
    (tmp_path / "best.plc").write_bytes(download(client, best, "plc"))
    (tmp_path / "netlist.pb.txt.gz").write_bytes(download(client, best, "pb"))
    placed = load_design([tmp_path / "netlist.pb.txt.gz"], tmp_path / "best.plc")
    for name, at in zip(flat.netlist.node_name, range(flat.netlist.node_count), strict=True):
        if flat.netlist.node_kind[at] == NodeKind.HARD_MACRO:
            node = placed.netlist.node_name.index(name)
            assert (flat.start.x_um[at], flat.start.y_um[at]) == (placed.start.x_um[node], placed.start.y_um[node])
    tcl = download(client, best, "tcl").decode()
    assert tcl.count("place_macro") == 2
    assert client.get(f"/placements/{best['id']}/files/pl").status_code == 404


def test_what_is_placed_is_locked_on_request(client: httpx.Client) -> None:
    files = {"cells.lef": LEFDEF.LEF, "top.def": LEFDEF.DEF}
    free, locked = upload(client, files), upload(client, files, lock_placed="true")
    assert (free["lock_placed"], locked["lock_placed"]) == (False, True)
    assert locked["counts"]["fixed"] == free["counts"]["fixed"] + 1  # macro a


def test_bookshelf(client: httpx.Client, tmp_path: Path) -> None:
    places = BOOKSHELF.FILES["pl"].replace("K 30 44", "K 90 44")  # off the other fixed macro
    files = {f"t.{kind}": text for kind, text in {**BOOKSHELF.FILES, "pl": places}.items()}
    design = upload(client, files)
    assert (design["counts"]["hard_macros"], design["counts"]["cells"]) == (3, 0)
    assert design["counts"]["soft_macros"] > 0
    best = best_of_a_job(client, design)
    assert "pl" in best["formats"]
    given = load_design(BOOKSHELF.write(tmp_path, pl=places))
    (tmp_path / "t.pl").write_bytes(download(client, best, "pl"))
    placed = load_design(tmp_path)
    assert placed.netlist.node_name == given.netlist.node_name
    assert check(placed, placed.start).legal
    moved = placed.netlist.node_name.index("M")
    others = np.arange(placed.netlist.node_count) != moved
    assert np.array_equal(placed.start.x_um[others], given.start.x_um[others])
    (tmp_path / "best.plc").write_bytes(download(client, best, "plc"))
    (tmp_path / "netlist.pb.txt.gz").write_bytes(download(client, best, "pb"))
    clustered = load_design([tmp_path / "netlist.pb.txt.gz"], tmp_path / "best.plc")
    node = clustered.netlist.node_name.index("M")
    assert placed.start.x_um[moved] == pytest.approx(clustered.start.x_um[node], abs=1e-12)
    assert placed.start.y_um[moved] == pytest.approx(clustered.start.y_um[node], abs=1e-12)
