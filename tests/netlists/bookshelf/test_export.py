"""Macros of a placement into the `.pl` that the design came from: they alone change, and read back as they are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from netlists.bookshelf.export import export_pl
from netlists.bookshelf.files import BookshelfFiles, find_bookshelf, kind_of
from netlists.errors import InputError, MismatchError
from netlists.load import load_design
from netlists.model import Orientation


def files_of(folder: Path) -> BookshelfFiles:
    return find_bookshelf({path: kind for path in folder.iterdir() if (kind := kind_of(path))})


def test_nothing_moved_is_the_same_file(small: Path, tmp_path: Path) -> None:
    design = load_design(small)
    out = tmp_path / "out.txt"
    back = export_pl(out, files_of(small), design, design.start)
    assert out.read_text() == (small / "t.pl").read_text()
    assert np.array_equal(back.x_um, design.start.x_um)


def test_a_moved_macro_is_the_only_line_that_changes(small: Path, tmp_path: Path) -> None:
    design = load_design(small)
    names = design.netlist.node_name
    m, k = names.index("M"), names.index("K")
    x, y, orientation = design.start.x_um.copy(), design.start.y_um.copy(), design.start.orientation.copy()
    x[[m, k]], y[[m, k]], orientation[m] = [30.0, 60.5], [12.0, 40.0], Orientation.FS
    x[names.index("a")] = 3.0  # cells are as given, wherever a placement has them
    wanted = design.start.moved(x_um=x, y_um=y, orientation=orientation)
    export_pl(tmp_path / "out.txt", files_of(small), design, wanted)
    before, after = (path.read_text().splitlines() for path in (small / "t.pl", tmp_path / "out.txt"))
    # M is 40 x 24 and K 20 x 36, the canvas begins at (10, 20)
    changed = [line for line, old in zip(after, before, strict=True) if line != old]
    assert changed == ["M 20 20 : FS", "K 60.5 42 : FN /FIXED"]


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    x=st.floats(20, 80, allow_subnormal=False),
    y=st.floats(20, 40, allow_subnormal=False),
    turn=st.sampled_from(list(Orientation)),
)
def test_any_place_reads_back(small: Path, x: float, y: float, turn: Orientation) -> None:
    design = load_design(small)
    m = design.netlist.node_name.index("M")
    xs, ys, orientation = design.start.x_um.copy(), design.start.y_um.copy(), design.start.orientation.copy()
    xs[m], ys[m], orientation[m] = x, y, turn
    wanted = design.start.moved(x_um=xs, y_um=ys, orientation=orientation)
    out = small / "out.txt"
    back = export_pl(out, files_of(small), design, wanted)
    others = [path for path in small.iterdir() if path.suffix not in (".pl", ".aux", ".txt")]
    read = load_design([*others, out]).start
    assert (read.x_um[m], read.y_um[m], read.orientation[m]) == (back.x_um[m], back.y_um[m], turn)
    assert (read.x_um[m], read.y_um[m]) == pytest.approx((x, y), abs=1e-13)


def test_other_files_are_refused(small: Path, tmp_path: Path) -> None:
    design = load_design(small)
    nodes = small / "t.nodes"
    nodes.write_text(nodes.read_text().replace("  M 40", "  N 40"))
    places = small / "t.pl"
    places.write_text(places.read_text().replace("M 60", "N 60"))
    with pytest.raises(MismatchError, match=r"t\.nodes: 1 macros are not among its nodes: 'M'"):
        export_pl(tmp_path / "out.txt", files_of(small), design, design.start)
    places.unlink()
    with pytest.raises(InputError, match=r"no \.pl beside it"):
        export_pl(tmp_path / "out.txt", files_of(small), design, design.start)
