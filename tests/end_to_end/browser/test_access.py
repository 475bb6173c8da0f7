"""The page by keyboard alone, and by the rules of accessibility on narrow screens."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.end_to_end.browser.parts import PATIENCE, ROOT, Service, judge, start_job, state, upload

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


def test_all_by_keyboard(page: Page, small: list[Path]) -> None:
    press = page.keyboard.press
    # Listening from the start: the browser must know before the key is pressed that a program answers its dialogs.
    page.on("filechooser", lambda chooser: chooser.set_files(small))
    press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    press("Enter")
    press("Tab")
    choose = page.get_by_role("button", name="Choose files")
    expect(choose).to_be_focused()
    press("Enter")
    expect(page.get_by_label("Name of the design")).to_be_visible()
    tab_to(page, "Upload 2 files")
    press("Enter")
    expect(page.get_by_role("heading", name="New job")).to_be_visible(timeout=PATIENCE)

    layout = page.get_by_role("application")
    tab_to(page, "hard macros, ")
    expect(layout).to_be_focused()
    zoom = page.get_by_role("button", name="zoom: show the whole canvas")
    expect(zoom).to_contain_text("100 %")
    press("+")
    expect(zoom).to_contain_text("125 %")
    press("0")
    expect(zoom).to_contain_text("100 %")
    press("n")
    expect(page.locator(".node-facts")).to_contain_text("orientation")

    tab_to(page, "job-seconds")
    press("Control+A")
    page.keyboard.type("0")
    press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("Enter 1 to 604,800 seconds")
    expect(page.get_by_label("Time, seconds")).to_be_focused()
    press("Control+A")
    page.keyboard.type("300")
    press("Enter")
    page.wait_for_url("**/jobs/*")
    state(page, "running")
    tab_to(page, "Cancel job")
    press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    press("Escape")
    expect(dialog).to_be_hidden()
    state(page, "running")
    expect(page.get_by_role("button", name="Cancel job")).to_be_focused()
    press("Enter")
    expect(dialog.get_by_role("button", name="Let it run")).to_be_focused()
    press("Tab")
    press("Enter")
    state(page, "cancelled")


def tab_to(page: Page, words: str, most: int = 40) -> None:
    """Press Tab until the focus is on something with these words in its id, label or text."""
    for _ in range(most):
        page.keyboard.press("Tab")
        name = page.evaluate(
            """(() => { const e = document.activeElement;
                        return e === document.body ? '' : [e.id, e.ariaLabel, e.innerText].join(' '); })()"""
        )
        if words in name:
            return
    pytest.fail(f"{most} times Tab do not reach '{words}'")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pages_meet_accessibility_rules_and_narrow_screens(
    browser: Browser, service: Service, small: list[Path], theme: str
) -> None:
    axe = ROOT / "frontend" / "node_modules" / "axe-core" / "axe.min.js"
    rules = axe.read_text()
    context = browser.new_context(
        viewport={"width": 360, "height": 740},
        color_scheme=theme,  # type: ignore[arg-type]
        reduced_motion="reduce",
    )
    context.set_default_timeout(PATIENCE)
    try:
        page = context.new_page()
        page.goto(service.page)
        page.get_by_test_id("file-input").set_input_files(small)
        expect(page.get_by_label("Name of the design")).to_be_visible()
        judge(page, rules)
        upload(page, small, f"accessible {theme}")
        page.get_by_text("Constraints (optional)").click()
        judge(page, rules)
        start_job(page, 5)
        state(page, "done")
        judge(page, rules)
        page.get_by_role("link", name="Designs and jobs").click()
        expect(page.get_by_role("link", name=f"accessible {theme}").first).to_be_visible()
        judge(page, rules)
    finally:
        context.close()
