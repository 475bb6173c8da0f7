"""The page when it is loaded again, when the service is away, and without the token."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.end_to_end.browser.parts import PATIENCE, TOKEN, Service, start_job, state, upload

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


def test_a_reload_comes_back_to_the_running_job(page: Page, small: list[Path]) -> None:
    upload(page, small, "reloaded")
    start_job(page, 25)
    state(page, "running")
    expect(page.locator(".board tbody tr").first).to_be_visible(timeout=PATIENCE)
    before = page.locator(".timeline li").all_inner_texts()
    page.reload()
    state(page, "running")
    expect(page.locator(".board tbody tr").first).to_be_visible()
    for text in before:
        expect(page.locator(".timeline li").filter(has_text=text.splitlines()[-1]).first).to_be_visible()
    state(page, "done")
    assert "reloaded" in page.title()


def test_a_stopped_service_is_announced_and_caught_up_with(browser: Browser, small: list[Path], tmp_path: Path) -> None:
    own = Service(tmp_path / "data")
    own.start()
    context = browser.new_context()
    context.set_default_timeout(PATIENCE)
    try:
        page = context.new_page()
        page.goto(own.page)
        upload(page, small, "interrupted")
        start_job(page, 20)
        state(page, "running")
        expect(page.locator(".board tbody tr").first).to_be_visible(timeout=PATIENCE)
        lost = page.get_by_text("Connection to the service lost")
        expect(lost).to_be_hidden()
        own.stop()
        expect(lost).to_be_visible(timeout=PATIENCE)
        expect(page.locator(".board tbody tr").first).to_be_visible()
        own.start()
        expect(lost).to_be_hidden(timeout=PATIENCE)
        state(page, "done")
        expect(page.locator(".outcome")).to_contain_text("Legal placement")
    finally:
        context.close()
        own.stop()


def test_an_upload_without_connection_says_so_and_keeps_the_files(
    page: Page, context: BrowserContext, small: list[Path]
) -> None:
    page.get_by_test_id("file-input").set_input_files(small)
    context.set_offline(True)
    page.get_by_role("button", name=re.compile("^Upload")).click()
    expect(page.get_by_text("The connection broke during the upload")).to_be_visible()
    context.set_offline(False)
    page.get_by_role("button", name=re.compile("^Upload")).click()
    expect(page.get_by_role("heading", name="New job")).to_be_visible(timeout=PATIENCE)


def test_nobody_gets_in_without_the_token(context: BrowserContext, service: Service) -> None:
    page = context.new_page()
    page.goto(f"{service.address}/jobs/some-job")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    page.get_by_label("Token").fill("wrong-token-wrong-token")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("This token is not accepted")
    page.get_by_label("Token").fill(TOKEN)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="No such job")).to_be_visible()
    page.goto(f"{service.address}/designs/none")
    expect(page.get_by_role("heading", name="No such design")).to_be_visible()
    page.goto(f"{service.address}/nowhere")
    expect(page.get_by_role("heading", name="No such page")).to_be_visible()
