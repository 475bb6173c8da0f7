"""A cached kernel is thrown away when a file that is compiled into it changes, and only then."""

from __future__ import annotations

from pathlib import Path

import placement.kernels
from placement.kernels import source_stamp

FOLDER = Path(placement.kernels.__file__).parent


def names(file: str) -> set[str]:
    return {name for name, _, _ in source_stamp(FOLDER / file)}


def test_stamp_holds_all_that_is_compiled_into_the_search_loop() -> None:
    assert {
        "placement/search/loop.py",
        "placement/search/board.py",
        "placement/cost/incremental.py",
        "placement/cost/topk.py",
        "placement/cost/geometry.py",
        "placement/kernels.py",
        "netlists/model.py",
    } <= names("search/loop.py")


def test_stamp_leaves_out_what_the_search_loop_does_not_use() -> None:
    found = names("search/loop.py")
    assert "placement/search/driver.py" not in found
    assert not any(name.startswith(("placement/analytic", "placement/env")) for name in found)


def test_stamp_changes_with_a_file() -> None:
    before = source_stamp(FOLDER / "cost" / "topk.py")
    assert all(size > 0 and time_ns > 0 for _, time_ns, size in before)
    assert before == source_stamp(FOLDER / "cost" / "topk.py")
