"""A small Bookshelf design: two macros, cells of one row, pads; ICCAD04's layout of lines."""

from __future__ import annotations

from pathlib import Path

import pytest

# Row height 12, core (10, 20) to (110, 80). Macro M is 40 x 24, K 20 x 36 and fixed by its .pl line.
FILES = {
    "aux": "RowBasedPlacement : t.nodes t.nets t.wts t.pl t.scl\n",
    "nodes": """\
UCLA nodes 1.0
# a comment

NumNodes : 8
NumTerminals : 3
  p0 1 1 terminal
  p1 2 2 terminal_NI
  big 30 24 terminal
  M 40 24
  K 20 36
  a 4 12
  b 6 12
  c 2.5 12
""",
    "nets": """\
UCLA nets 1.0

NumNets : 4
NumPins : 10
NetDegree : 3 n0
  p0 I
  M O : -1.85e+01 3
  a I : 0.5 -2
NetDegree : 2 n1
  M B : 4 5
  K B : 1 1
NetDegree : 4 n2
  a O : 0 0
  b I : 1 1
  big I : -3 4
  p1 I : 0.5 0.25
NetDegree : 1 n3
  c O : 0 0
""",
    "wts": "UCLA wts 1.0\n\nn1 3\n",
    "pl": """\
UCLA pl 1.0

p0 10 50 : N
p1 109 40.3 : FS /FIXED_NI
big 12.5 21 : N /FIXED
M 60.125 44 : W
K 30 44 : FN /FIXED
a 50 20 : N
b 54.1 20 : FS
c 60 32 : N
""",
    "scl": "UCLA scl 1.0\n\nNumRows : 5\n\n"
    + "".join(
        f"CoreRow Horizontal\n  Coordinate : {20 + 12 * row}\n  Height : 12\n  Sitewidth : 1\n  Sitespacing : 1\n"
        f"  Siteorient : 1\n  Sitesymmetry : 1\n  SubrowOrigin : 10\tNumSites : 100\nEnd\n"
        for row in range(5)
    ),
}


def write(folder: Path, **changed: str) -> Path:
    """The files in `folder`, some of them changed."""
    for kind, text in {**FILES, **changed}.items():
        (folder / f"t.{kind}").write_text(text)
    return folder


@pytest.fixture
def small(tmp_path: Path) -> Path:
    return write(tmp_path)
