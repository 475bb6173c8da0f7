"""Service, browser and pages of the browser tests, one service and one browser a module."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.end_to_end.browser.parts import CHROMIUM_ARGS, COMMAND, PATIENCE, ROOT, Service, environment


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    if not (ROOT / "frontend" / "dist" / "index.html").is_file():
        pytest.fail("the pages are not built: run `make setup` (or `npm run build` in frontend/)")
    running = Service(tmp_path_factory.mktemp("service") / "data")
    running.start()
    yield running
    running.stop()


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_ARGS)
        yield started
        started.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    made = browser.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
    made.set_default_timeout(PATIENCE)
    yield made
    made.close()


@pytest.fixture
def page(context: BrowserContext, service: Service) -> Iterator[Page]:
    """A page that is signed in. Whatever the page's own code throws fails the test."""
    thrown: list[str] = []
    made = context.new_page()
    made.on("pageerror", lambda error: thrown.append(str(error)))
    made.goto(service.page)
    expect(made.get_by_role("heading", name="Place the macros of a chip")).to_be_visible(timeout=PATIENCE)
    yield made
    assert thrown == []


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Files of the small sample."""
    folder = tmp_path_factory.mktemp("small")
    subprocess.run([*COMMAND, "sample", "small", "--out", str(folder)], env=environment(), check=True)
    return [folder / "netlist.pb.txt.gz", folder / "initial.plc"]
