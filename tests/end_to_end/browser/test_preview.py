"""What the page says of an upload before a job starts, and which uploads it refuses."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.end_to_end.browser.parts import COLOURS, PATIENCE, colours_in_picture, fact
from tests.netlists.bookshelf.conftest import FILES, write

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


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
    expect(page.get_by_text("it begins amid what it connects")).to_have_count(0 if locked else 1)
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
    # K away from the other fixed macro, which it overlaps
    folder = write(tmp_path, pl=FILES["pl"].replace("K 30 44", "K 85 44"))
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
