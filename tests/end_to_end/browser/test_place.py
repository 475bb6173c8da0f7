"""From files to a downloaded placement, on the page: a sample, rules, real designs."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from netlists.load import load_design
from tests.end_to_end.browser.parts import (
    PATIENCE,
    colours_in_picture,
    download,
    fact,
    placewright_check,
    start_job,
    state,
    upload,
)

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


def test_upload_watch_download(page: Page, small: list[Path], tmp_path: Path) -> None:
    assert "#" not in page.url, "the token stays in the address"
    upload(page, small, "first chip")
    design = load_design(small)
    counts = design.netlist.counts()
    assert fact(page, "Hard macros") == f"{counts['hard_macros']:,}"
    assert fact(page, "Nets") == f"{counts['nets']:,}"
    assert fact(page, "Grid") == f"{design.canvas.columns} columns × {design.canvas.rows} rows"
    assert colours_in_picture(page) > 5

    start_job(page, 15, "Learning and search")
    state(page, "running")
    expect(page.get_by_role("progressbar", name="Progress of the job")).to_be_visible()
    rows = page.locator(".board tbody tr")
    expect(rows.first).to_be_visible(timeout=PATIENCE)
    state(page, "done")
    expect(page.locator(".outcome")).to_contain_text("Legal placement")
    expect(page.get_by_role("button", name="Result", exact=True)).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_text("Best so far")).to_be_hidden()
    expect(page.locator(".downloads a[data-format=pb]")).to_be_visible(timeout=PATIENCE)
    assert colours_in_picture(page) > 5
    shown = float(page.locator(".outcome strong").inner_text())

    plc = download(page, "plc", tmp_path)
    report = placewright_check(small, plc)
    assert report["legal"] is True
    assert report["proxy_cost"] == pytest.approx(shown, abs=5e-5)
    assert plc.name.startswith("first-chip-")
    pb = download(page, "pb", tmp_path)
    assert b"\nnode {" in gzip.decompress(pb.read_bytes())[:500]
    assert load_design([pb, plc]).netlist.counts() == counts
    assert "<svg" in download(page, "svg", tmp_path).read_text()[:500]
    with Image.open(download(page, "png", tmp_path)) as picture:
        assert min(picture.size) >= 400
    nodes = json.loads(download(page, "json", tmp_path).read_text())["nodes"]
    assert [node["name"] for node in nodes] == list(design.netlist.node_name)

    page.get_by_role("button", name="Show rank 1 in the layout").click()
    expect(page.get_by_role("button", name="Rank 1", exact=True)).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.get_by_text("as uploaded")).to_be_visible()


def test_constraints_come_with_the_files_and_with_the_job(page: Page, small: list[Path], tmp_path: Path) -> None:
    rules = tmp_path / "rules.constraints.json"
    rules.write_text('{"version": 1, "macros": [{"pattern": "*", "halo_um": 1}]}')
    upload(page, [*small, rules], "ruled chip")
    assert fact(page, "Macros with a halo") == f"{load_design(small).netlist.counts()['hard_macros']:,}"
    page.get_by_text("Constraints (optional)").click()
    text = page.get_by_label("JSON: halos")
    text.fill("{")
    page.get_by_role("button", name="Start job").click()
    expect(page.get_by_role("alert")).to_contain_text("This is not JSON")
    expect(text).to_be_focused()
    text.fill('{"version": 1, "macro_spacing": 3}')
    page.get_by_role("button", name="Start job").click()
    expect(page.get_by_text("did you mean 'macro_spacing_um'?")).to_be_visible(timeout=PATIENCE)
    job_rules = tmp_path / "job.json"
    job_rules.write_text('{"version": 1, "macro_spacing_um": 3}')
    page.get_by_label("Or take them from a file").set_input_files(job_rules)
    expect(text).to_have_value(job_rules.read_text())
    start_job(page, 5)
    state(page, "done")
    written = json.loads(download(page, "constraints", tmp_path).read_text())
    assert (written["macro_spacing_um"], written["macros"]) == (3, [{"pattern": "*", "halo_um": 1}])


@pytest.mark.parametrize("name", ["ibm01", "ariane133_ng45"])
def test_real_designs_end_to_end(page: Page, benchmarks: Path, tmp_path: Path, name: str) -> None:
    folder = benchmarks / "circuit_training" / name
    files = [folder / "netlist.pb.txt.gz", folder / "initial.plc"]
    upload(page, files, name)
    design = load_design(files)
    assert fact(page, "Hard macros") == f"{design.netlist.counts()['hard_macros']:,}"
    assert fact(page, "Soft macros") == f"{design.netlist.counts()['soft_macros']:,}"
    start_job(page, 30)
    state(page, "done")
    expect(page.locator(".cost-table tbody tr").first).to_contain_text("−")
    plc = download(page, "plc", tmp_path)
    report = placewright_check(files, plc)
    assert report["legal"] is True
    shown = float(page.locator(".outcome strong").inner_text())
    assert report["proxy_cost"] == pytest.approx(shown, abs=5e-5)
    start = float(page.locator(".cost-table tbody tr").first.locator("td").first.inner_text())
    assert shown < start
