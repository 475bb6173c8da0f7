"""What the browser tests share: a service of their own, steps on the page, what is looked at.

Waits only for what the page shows (Playwright's `expect`), never for time to pass.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Page, expect

ROOT = Path(__file__).resolve().parents[3]
COMMAND = [sys.executable, "-m", "workers.cli.main"]
TOKEN = "browser-test-token-0123456789"
CHROMIUM_ARGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# ms; starting a run compiles nothing but imports much, on a machine that may be doing other things
PATIENCE = 180_000


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "PLACEWRIGHT_TOKEN": TOKEN}


class Service:
    """`placewright serve` on a data folder; may be stopped and started again at the same address."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.port = 0
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        command = [*COMMAND, "serve", "--port", str(self.port), "--data", str(self.data)]
        with (self.data.parent / "serve.log").open("a") as log:
            self.process = subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, stderr=log, text=True)
        assert self.process.stdout is not None
        address = next((line.strip() for line in self.process.stdout if line.startswith("http")), None)
        assert address, f"the service did not start: {(self.data.parent / 'serve.log').read_text()[-2000:]}"
        self.port = int(address.rstrip("/").rsplit(":", 1)[1])

    def stop(self) -> None:
        if self.process is None:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(timeout=90)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise
        finally:
            self.process = None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def page(self) -> str:
        return f"{self.address}/#token={TOKEN}"


def upload(page: Page, files: list[Path], name: str) -> None:
    """From the start page to the preview."""
    page.get_by_test_id("file-input").set_input_files(files)
    page.get_by_label("Name of the design").fill(name)
    page.get_by_role("button", name=re.compile("^Upload")).click()
    expect(page.get_by_role("heading", name=name, level=1)).to_be_visible(timeout=PATIENCE)
    expect(page.get_by_role("heading", name="New job")).to_be_visible(timeout=PATIENCE)


def start_job(page: Page, seconds: int, method: str = "Search only") -> None:
    page.get_by_label("Time, seconds").fill(str(seconds))
    page.get_by_label("Method").select_option(label=method)
    page.get_by_role("button", name="Start job").click()
    page.wait_for_url("**/jobs/*")


def state(page: Page, word: str) -> None:
    """Wait until the job's badge says this."""
    badge = page.get_by_role("region", name="State of the job").locator(".badge")
    expect(badge).to_have_text(word, timeout=PATIENCE)


def fact(page: Page, name: str) -> str:
    """A value of a list of facts."""
    return (
        page.locator("dl.facts > div")
        .filter(has=page.locator("dt", has_text=re.compile(f"^{name}$")))
        .locator("dd")
        .inner_text()
    )


# How many different colours a canvas holds.
COLOURS = """canvas => new Set(new Uint32Array(
    canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.buffer)).size"""


def colours_in_picture(page: Page) -> int:
    """How many different colours the layout's canvas holds: 1 = nothing was drawn."""
    return page.locator(".layout-picture canvas").first.evaluate(COLOURS)


def placewright_check(files: list[Path], plc: Path) -> dict[str, object]:
    """What the independent checker says of a downloaded placement."""
    done = subprocess.run(
        [*COMMAND, "check", str(files[0]), "--plc", str(plc), "--json"],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    report: dict[str, object] = json.loads(done.stdout)
    return report


def download(page: Page, format_name: str, folder: Path) -> Path:
    with page.expect_download() as waiting:
        page.locator(f".downloads a[data-format={format_name}]").click()
    target = folder / waiting.value.suggested_filename
    waiting.value.save_as(target)
    return target


def judge(page: Page, rules: str) -> None:
    """WCAG 2.2 A and AA as far as a program can tell, and no sideways scrolling."""
    page.evaluate(rules)
    found = page.evaluate(
        """async () => (await axe.run(document, {
             runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] })).violations
           .flatMap(rule => rule.nodes.map(node => `${rule.id}: ${node.target} ${node.failureSummary}`))"""
    )
    assert found == [], "\n".join(found)
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, "the page scrolls sideways"
