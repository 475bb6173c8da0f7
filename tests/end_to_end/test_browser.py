"""The browser application against the real service: Chromium through Playwright, `placewright serve` with its worker.

Waits only for what the page shows (Playwright's `expect`), never for time to pass.
"""

from __future__ import annotations

import gzip
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from netlists.load import load_design

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]
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


CHIP_LEF = """\
VERSION 5.8 ;
UNITS DATABASE MICRONS 2000 ; END UNITS
MANUFACTURINGGRID 0.005 ;
MACRO RAM CLASS BLOCK ; SIZE 10 BY 4 ; SYMMETRY X Y ;
  PIN P DIRECTION INPUT ; PORT LAYER M1 ; RECT 0 1 0.2 2 ; END END P
END RAM
MACRO BUF CLASS CORE ; SIZE 1 BY 2 ;
  PIN A DIRECTION INPUT ; PORT LAYER M1 ; RECT 0 0 1 1 ; END END A
  PIN Y DIRECTION OUTPUT ; PORT LAYER M1 ; RECT 0 0 1 1 ; END END Y
END BUF
END LIBRARY
"""
CHIP_DEF = """\
VERSION 5.8 ;
DESIGN top ;
UNITS DISTANCE MICRONS 2000 ;
DIEAREA ( 0 0 ) ( 0 200000 ) ( 100000 200000 ) ( 100000 100000 ) ( 200000 100000 ) ( 200000 0 ) ;
ROW r0 ghost 0 0 N DO 10 BY 1 STEP 400 0 ;
ROW r1 ghost 0 4000 N DO 10 BY 1 STEP 400 0 ;
COMPONENTS 4 ;
- a RAM + PLACED ( 20000 30000 ) FN + HALO 2000 4000 2000 4000 ;
- b RAM + FIXED ( 60000 30000 ) N ;
- c RAM + UNPLACED ;
- u BUF + PLACED ( 40000 2000 ) N ;
END COMPONENTS
PINS 1 ;
- in + NET n + DIRECTION INPUT + LAYER M1 ( 0 0 ) ( 10 10 ) + PLACED ( 0 10000 ) N ;
END PINS
BLOCKAGES 1 ;
- PLACEMENT RECT ( 0 160000 ) ( 20000 200000 ) ;
END BLOCKAGES
NETS 2 ;
- n ( PIN in ) ( u A ) ;
- m ( u Y ) ( a P ) ( b P ) ( c P ) ;
END NETS
END DESIGN
"""


@pytest.mark.parametrize("locked", [False, True])
def test_the_preview_of_a_chip_says_what_may_move_and_draws_the_rest(page: Page, tmp_path: Path, locked: bool) -> None:
    files = [tmp_path / "cells.lef", tmp_path / "top.def"]
    files[0].write_text(CHIP_LEF)
    files[1].write_text(CHIP_DEF)
    page.get_by_test_id("file-input").set_input_files(files[0])
    switch = page.get_by_label("Treat PLACED as locked")
    expect(switch).to_be_hidden()  # a LEF alone has no states
    page.get_by_test_id("file-input").set_input_files(files[1])
    switch.set_checked(locked)
    page.get_by_role("button", name=re.compile("^Upload")).click()
    expect(page.get_by_role("heading", name="What may move")).to_be_visible(timeout=PATIENCE)
    states = [fact(page, f"Macros {word}") for word in ("locked", "with a hint", "free")]
    assert states == (["2", "0", "1"] if locked else ["1", "1", "1"])
    expect(page.get_by_text("What is PLACED was locked")).to_have_count(1 if locked else 0)
    expect(page.get_by_text("hints are not used")).to_have_count(0 if locked else 1)
    assert fact(page, "Database units") == "2,000 per µm"
    assert fact(page, "Manufacturing grid") == "0.005 µm"
    assert fact(page, "Die") == "100 µm × 100 µm, rectilinear, 6 corners"
    assert fact(page, "Macros with a halo") == "1"
    warnings = page.get_by_role("region", name="Warnings")
    expect(warnings.get_by_role("listitem").filter(has_text="rows of site 'ghost'")).to_contain_text("× 2")

    for word in ("die", "halo", "side with pins", "blockage", "fixed"):
        expect(page.locator(".legend")).to_contain_text(word)
    page.get_by_label("Name of a macro or port").fill("a")
    page.keyboard.press("Enter")
    facts = page.locator(".node-facts")
    expect(facts).to_contain_text("pins right 1")  # on the left in orientation N, here FN
    expect(facts).to_contain_text("halo left 1 µm, right 1 µm, bottom 2 µm, top 2 µm")
    before = colours_in_picture(page)
    for toggle in ("Pin sides", "Halos"):
        page.get_by_role("checkbox", name=toggle).uncheck()
    page.wait_for_function(f"({COLOURS})(document.querySelector('.layout-picture canvas')) < {before}")


def test_the_height_of_bookshelf_macros_is_chosen_by_its_count(page: Page, tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("small_bookshelf", ROOT / "tests/netlists/bookshelf/conftest.py")
    assert spec is not None
    assert spec.loader is not None
    bookshelf = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bookshelf)
    # K away from the other fixed macro, which it overlaps
    folder = bookshelf.write(tmp_path, pl=bookshelf.FILES["pl"].replace("K 30 44", "K 85 44"))
    page.get_by_test_id("file-input").set_input_files(sorted(folder.iterdir()))
    expect(page.get_by_label("Macros are nodes higher than")).to_have_value("")
    page.get_by_role("button", name=re.compile("^Upload")).click()
    rule = page.get_by_role("region", name="Which nodes are macros")
    expect(rule).to_contain_text("2 macros, as read", timeout=PATIENCE)
    first = page.url
    slider = rule.get_by_role("slider")
    expect(slider).to_have_attribute("aria-valuetext", "higher than 12: 2 macros")
    again = rule.get_by_role("button", name="Read again as a new design")
    expect(again).to_be_disabled()
    slider.focus()
    page.keyboard.press("ArrowLeft")
    expect(rule).to_contain_text("5 macros, if read again")
    again.click()
    expect(rule).to_contain_text("5 macros, as read", timeout=PATIENCE)
    assert page.url != first
    page.reload()  # the files are gone with the page
    expect(rule).to_contain_text("upload the files again", timeout=PATIENCE)


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


def test_a_bad_file_is_refused_with_its_place(page: Page, tmp_path: Path) -> None:
    bad = tmp_path / "broken.pb.txt"
    bad.write_text('node {\n  name: "a"\n  attr {\n    key: "type"\n    value { placeholder: "WIDGET" }\n  }\n}\n')
    page.get_by_test_id("file-input").set_input_files(bad)
    page.get_by_role("button", name=re.compile("^Upload")).click()
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("These files cannot be used", timeout=PATIENCE)
    expect(alert.locator("pre")).to_contain_text(re.compile(r"broken\.pb\.txt:\d+"))
    expect(alert.locator("pre")).to_contain_text("WIDGET")
    page.reload()
    expect(alert.locator("pre")).to_contain_text("WIDGET", timeout=PATIENCE)
    page.get_by_role("link", name="Upload again").click()
    expect(page.get_by_role("button", name="Choose files")).to_be_visible()


def test_a_selection_without_netlist_is_not_sent(page: Page, small: list[Path]) -> None:
    page.get_by_test_id("file-input").set_input_files(small[1])
    expect(page.get_by_text("A .plc holds positions only")).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("^Upload 1 file"))).to_be_disabled()
    page.get_by_role("button", name="Remove initial.plc").click()
    expect(page.get_by_text("A .plc holds positions only")).to_be_hidden()


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
