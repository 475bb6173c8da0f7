"""Corners on rows, pins on tracks: what comes out is on both, and on the grid."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlists.lefdef.def_reader import read_def
from netlists.lefdef.lattice import _common, lattice
from netlists.lefdef.lef import read_lef
from netlists.lefdef.places import corners_dbu, movable_macros
from netlists.lefdef.snap import snap
from netlists.load import load_design
from netlists.model import pin_positions_um

Write = Callable[[str, str | bytes], Path]
number = st.tuples(st.integers(1, 30), st.integers(0, 29)).map(lambda pair: (pair[0], pair[1] % pair[0]))


@given(number, number)
def test_common_points(first: tuple[int, int], second: tuple[int, int]) -> None:
    shared = [at for at in range(900) if at % first[0] == first[1] and at % second[0] == second[1]]
    both = _common(first, second)
    if both is None:
        assert not shared
    else:
        assert shared == list(range(both[1], 900, both[0]))


def test_corners_on_rows_and_pins_on_tracks(write: Write, lef_text: str, def_text: str) -> None:
    text = def_text.replace("( 20000 30000 ) N", "( 20013 30777 ) FS").replace(
        "+ UNPLACED", "+ PLACED ( 70001 1234 ) N"
    )
    # both pins an odd number of half tracks above the macro's edge
    lef, source = write("a.lef", lef_text.replace("RECT 8 2 9 3", "RECT 8 1.9 9 2.1")), write("a.def", text)
    design, file, library = load_design([lef, source]), read_def(source), read_lef([lef])
    moving = movable_macros(design)
    where, notes = lattice(design, design.start, file, library, rows=True, tracks=False)
    x, y = corners_dbu(design, snap(design, design.start, where), moving)
    assert notes == ()
    assert np.round(x).astype(int).tolist() == [20000, 70000]
    assert (np.round(y).astype(int) % 2000).tolist() == [0, 0]
    where, notes = lattice(design, design.start, file, library, rows=False, tracks=True)
    snapped = snap(design, design.start, where)
    at = pin_positions_um(design.netlist, snapped)
    for name in ("a/P", "c/P"):
        across = at[design.netlist.pin_name.index(name), 1] * 1000
        assert (across - 100) % 200 == pytest.approx(0, abs=1e-6)


def test_what_has_no_common_points_is_told(write: Write, lef_text: str, def_text: str) -> None:
    lef, source = write("a.lef", lef_text), write("a.def", def_text.replace("TRACKS Y 100", "TRACKS Y 150"))
    design = load_design([lef, source])
    _, notes = lattice(design, design.start, read_def(source), read_lef([lef]), rows=True, tracks=True)
    assert len(notes) == 1
    assert "cannot be on rows as well along y" in notes[0]


def test_real_floorplan(benchmarks: Path) -> None:
    folder = benchmarks / "lefdef/ariane133_ng45"
    source = folder / "macros_placed_by_a_reference_tool.def"
    lefs = sorted(folder.glob("*.lef"))
    design = load_design([*lefs, source, benchmarks / "flat_protobuf/ariane133_ng45.pb.txt.gz"])
    file, library = read_def(source), read_lef(lefs)
    where, _ = lattice(design, design.start, file, library, rows=False, tracks=True)
    snapped = snap(design, design.start, where)
    moved = np.abs(snapped.y_um - design.start.y_um)[movable_macros(design)]
    assert moved.max() <= 0.14 + 1e-9  # a track of metal3; half of one, but for macros that are moved inward
    of_macros = np.isin(design.netlist.pin_node, movable_macros(design))
    y = (pin_positions_um(design.netlist, snapped)[of_macros, 1] + 5.04) * 2000  # database units
    on_track = np.abs(y % 280 - 140) < 1e-3  # tracks at 140 + 280 k
    assert 0.5 <= on_track.mean() < 1  # the macro's pins have two residues, of which one can be served
