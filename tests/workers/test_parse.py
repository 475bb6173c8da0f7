"""What a design shows before a job: counts, states, die, units and heights, as its files say them."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from backend.schemas import PreviewRead
from netlists.load import load_design
from netlists.options import Options
from workers.parse import preview_of

NETLISTS = Path(__file__).parents[1] / "netlists"


def _texts(folder: str) -> ModuleType:
    name = f"texts_of_{folder}"
    spec = importlib.util.spec_from_file_location(name, NETLISTS / folder / "conftest.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


LEFDEF, BOOKSHELF = _texts("lefdef"), _texts("bookshelf")


def preview(paths: list[Path] | Path, **options: object) -> PreviewRead:
    return PreviewRead.model_validate(preview_of(load_design(paths, options=Options(**options))))


@pytest.mark.parametrize(
    ("options", "states"), [({}, (1, 1, 1)), ({"lock_placed": True}, (2, 0, 1))], ids=["PLACED is a hint", "is locked"]
)
def test_states_of_the_macros_r52(tmp_path: Path, options: dict, states: tuple[int, int, int]) -> None:
    (tmp_path / "a.lef").write_text(LEFDEF.LEF)
    (tmp_path / "a.def").write_text(LEFDEF.DEF)
    found = preview(tmp_path, **options)
    assert (found.macros.locked, found.macros.hint, found.macros.free) == states
    assert found.counts.cells == 2
    assert (found.units_per_um, found.grid_um) == (1000, 0.005)
    assert (found.macros_with_halo, found.blockages) == (1, 2)
    assert found.die_um == [(0, 0), (0, 80), (100, 80), (100, 0)]
    assert not found.rectilinear


def test_die_with_more_corners_r44(tmp_path: Path) -> None:
    (tmp_path / "a.lef").write_text(LEFDEF.LEF)
    outline = "( 0 0 ) ( 0 80000 ) ( 50000 80000 ) ( 50000 60000 ) ( 100000 60000 ) ( 100000 0 )"
    (tmp_path / "a.def").write_text(LEFDEF.DEF.replace("( 0 0 ) ( 100000 80000 )", outline))
    found = preview(tmp_path)
    assert found.rectilinear
    assert found.die_um == [(0, 0), (0, 80), (50, 80), (50, 60), (100, 60), (100, 0)]


def test_macros_that_another_height_would_find_r61(tmp_path: Path) -> None:
    BOOKSHELF.write(tmp_path)
    found = preview(tmp_path)
    assert found.macro_height == 12
    heights = {one.height: one.nodes for one in found.node_heights}
    assert heights == {36: 1, 24: 1, 12: 3}
    assert [one.height for one in found.node_heights] == [36, 24, 12]
    fixed_macros = found.counts.hard_macros - sum(n for height, n in heights.items() if height > 12)
    for height in (0, 11.9, 24, 35):
        expected = fixed_macros + sum(nodes for one, nodes in heights.items() if one > height)
        assert preview(tmp_path, macro_height=height).counts.hard_macros == expected
