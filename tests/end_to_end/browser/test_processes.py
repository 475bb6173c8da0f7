"""The processes of a learning job on its page: seen, scaled, restarted; on a narrow screen; after the job."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.end_to_end.browser.parts import PATIENCE, ROOT, judge, start_job, state, upload

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


def process(page: Page, name: str) -> Locator:
    """Its row."""
    return page.get_by_role("row").filter(has=page.get_by_role("rowheader", name=name, exact=True))


def process_id(page: Page, name: str) -> str:
    return process(page, name).locator("td[data-label^=Host]").inner_text().rsplit(", ", 1)[1]


def test_processes_are_seen_scaled_and_restarted(page: Page, small: list[Path]) -> None:
    upload(page, small, "scaled chip")
    start_job(page, 3000, "Learning and search")
    panel = page.get_by_role("region", name="Processes", exact=True)
    for name in ("learner 0", "replay shard 0", "cache 0", "actor 0", "optimiser 0"):
        expect(process(page, name)).to_contain_text("running", timeout=PATIENCE)
    steps = process(page, "actor 0").locator("td[data-label^=Steps]")
    expect(steps).to_have_text(re.compile(r"[1-9]"), timeout=PATIENCE)
    expect(process(page, "actor 0").locator("td[data-label=Model]")).to_contain_text(re.compile(r"v\d+"))
    expect(process(page, "replay shard 0").locator("td[data-label=Queue]")).to_contain_text("%")

    expect(process(page, "actor 1")).to_have_count(0)
    scale = panel.get_by_role("button", name="Scale cell main")
    expect(scale).to_be_disabled()
    panel.get_by_label("Actors of cell main").fill("1.5")
    expect(panel.get_by_role("alert")).to_contain_text("Enter 0 to 1024 actors")
    panel.get_by_label("Actors of cell main").fill("0")
    scale.click()
    expect(panel.get_by_role("alert")).to_contain_text("0 actors in all cells together")
    panel.get_by_role("button", name="Dismiss this message").click()
    panel.get_by_role("button", name="One actor more in cell main").click()
    scale.click()
    expect(panel.get_by_role("status")).to_contain_text("Waiting for 1 more actor of cell main (1 of 2 there)")
    expect(process(page, "actor 1")).to_contain_text("running", timeout=PATIENCE)
    expect(panel.get_by_role("status")).to_be_empty()

    before = process_id(page, "actor 1")
    panel.get_by_role("button", name="Restart actor 1 of cell main").click()
    expect(process(page, "actor 1")).not_to_contain_text(before, timeout=PATIENCE)
    expect(process(page, "actor 1")).to_contain_text("running", timeout=PATIENCE)

    page.set_viewport_size({"width": 400, "height": 800})
    judge(page, (ROOT / "frontend" / "node_modules" / "axe-core" / "axe.min.js").read_text())
    panel.get_by_role("button", name="One actor fewer in cell main").click()
    scale.click()
    expect(process(page, "actor 1")).to_have_count(0, timeout=PATIENCE)
    page.get_by_role("button", name="Restart all").click()
    page.get_by_role("dialog").get_by_role("button", name="Restart all").click()
    expect(panel.get_by_role("status")).to_contain_text("Rolling restart:")

    page.get_by_role("button", name="Cancel job").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel job").click()
    state(page, "cancelled")
    expect(panel).to_contain_text("The job is over")
    expect(panel.get_by_role("button")).to_have_count(0)
    expect(process(page, "actor 0")).to_be_visible()
