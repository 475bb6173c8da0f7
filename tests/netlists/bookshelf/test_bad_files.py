"""Broken Bookshelf files: every fault is an InputError that names file, line and thing; never another error."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from netlists.errors import InputError
from netlists.load import load_design
from tests.netlists.bookshelf.conftest import FILES, write

# kind of file, text to replace, replacement, message
FAULTS = {
    "no header": ("nodes", "UCLA nodes 1.0\n", "", "t.nodes:3: expected the header"),
    "another header": ("nodes", "UCLA nodes 1.0", "UCLA nodes", "t.nodes:1: expected the header 'UCLA nodes 1.0'"),
    "some without orientation": ("pl", "c 60 32 : N", "c 60 32", "t.pl:10: no orientation, but line 9 has one"),
    "wrong count of nodes": ("nodes", "NumNodes : 8", "NumNodes : 9", "t.nodes:4: NumNodes is 9, but the file has 8"),
    "wrong count of terminals": ("nodes", "NumTerminals : 3", "NumTerminals : 2", "t.nodes:5: NumTerminals is 2, but"),
    "no count": ("nodes", "NumNodes : 8", "NumNodes : many", "t.nodes:4: NumNodes is 'many', must be a whole number"),
    "count twice": ("nodes", "NumTerminals", "NumNodes", "t.nodes:5: NumNodes is given a second time; first at line 4"),
    "duplicate node": ("nodes", "b 6 12", "a 6 12", "t.nodes:12: node 'a' is defined a second time; first at line 11"),
    "no width": ("nodes", "a 4 12", "a 12", "t.nodes:11: expected 'name width height"),
    "odd width": ("nodes", "a 4 12", "a 4x 12", "t.nodes:11: node 'a': width is '4x', not a number"),
    "underscore": ("nodes", "a 4 12", "a 4_0 12", "t.nodes:11: node 'a': width is '4_0', not a number"),
    "not finite": ("nodes", "a 4 12", "a nan 12", "t.nodes:11: node 'a': width is 'nan', not a number"),
    "too large": ("nodes", "a 4 12", "a 4 inf", "t.nodes:11: node 'a': height is inf, must be at most 1e.09"),
    "no area": ("nodes", "a 4 12", "a 0 12", "t.nodes:11: node 'a': width is 0, must be above 0"),
    "odd keyword": ("nodes", "1 1 terminal", "1 1 pad", "t.nodes:6: node 'p0': 'pad' is neither terminal nor"),
    "wrong count of nets": ("nets", "NumNets : 4", "NumNets : 5", "t.nets:3: NumNets is 5, but the file has 4 nets"),
    "wrong count of pins": ("nets", "NumPins : 10", "NumPins : 9", "t.nets:4: NumPins is 9, but the file has 10 pins"),
    "too few pins": ("nets", "NetDegree : 3 n0", "NetDegree : 4 n0", "t.nets:5: net 'n0' announces 4 pins,"),
    "too many pins": ("nets", "NetDegree : 3 n0", "NetDegree : 2 n0", r"t.nets:8: net 'n0' .line 5. has more"),
    "duplicate net": ("nets", ": 2 n1", ": 2 n0", "t.nets:9: net 'n0' is defined a second time; first at line 5"),
    "unknown node": ("nets", "a I", "zz I", "t.nets:8: net 'n0': node 'zz' is not in the .nodes file"),
    "odd direction": ("nets", "a I", "a X", "t.nets:8: pin on 'a': direction 'X' is not one of I O B"),
    "odd offset": ("nets", "0.5 -2", "0.5 2..1", "t.nets:8: pin on 'a': dy is '2..1', not a number"),
    "percent": ("nets", ": 0.5 -2", ": %0.5 %-2", "t.nets:8: pin on 'a': dx is '%0.5', not a number"),
    "three words": ("nets", "a I : 0.5 -2", "a I 0.5", "t.nets:8: expected 'NetDegree : n .name.' or"),
    "pin first": ("nets", "NetDegree : 3 n0\n", "", "t.nets:5: pin on node 'p0' before the first NetDegree"),
    "no degree": ("nets", "NetDegree : 3 n0", "NetDegree : n0", "t.nets:5: expected 'NetDegree"),
    "placed twice": ("pl", "b 54.1 20 : FS", "a 54.1 20 : FS", "t.pl:9: node 'a' is placed a second time"),
    "place of no node": ("pl", "b 54.1", "zz 54.1", "t.pl:9: node 'zz' is not in the .nodes file"),
    "not placed": ("pl", "c 60 32 : N\n", "", "t.pl: 1 of 8 nodes have no line: 'c'; is it truncated"),
    "odd orientation": ("pl", "60.125 44 : W", "60.125 44 : R90", "t.pl:6: node 'M': orientation 'R90' is not"),
    "odd status": ("pl", "/FIXED_NI", "/LOCKED", "t.pl:4: node 'p1': '/LOCKED' is neither /FIXED nor /FIXED_NI"),
    "odd x": ("pl", "60.125", "1e400", "t.pl:6: node 'M': x is 1e400, must be at most"),
    "odd line of a place": ("pl", "c 60 32 : N", "c 60", "t.pl:10: expected 'name x y : orientation"),
    "weight of nothing": ("wts", "n1", "n9", "t.wts:3: 'n9' is neither a net of the .nets nor a node"),
    "negative weight": ("wts", "n1 3", "n1 -3", "t.wts:3: weight of 'n1' is -3, must be 0 or more"),
    "weighed twice": ("wts", "n1 3", "n1 3\nn1 3", "t.wts:4: 'n1' is weighed a second time; first at line 3"),
    "wrong count of rows": ("scl", "NumRows : 5", "NumRows : 6", "t.scl:3: NumRows is 6, but the file has 5 rows"),
    "vertical rows": ("scl", "CoreRow Horizontal", "CoreRow Vertical", "t.scl:5: row direction 'Vertical'"),
    "no height": ("scl", "  Height : 12\n", "", "t.scl:5: this CoreRow has no Height"),
    "flat row": ("scl", "Height : 12", "Height : 0", "t.scl:5: Height of this CoreRow is 0, must be above 0"),
    "no sites": ("scl", "NumSites : 100", "NumSites : 0", "t.scl:12: NumSites is '0', must be a whole number above 0"),
    "no subrow": ("scl", "  SubrowOrigin : 10\tNumSites : 100\n", "", "t.scl:5: this CoreRow has no SubrowOrigin"),
    "unknown key": ("scl", "Sitespacing", "Sitegap", "t.scl:9: unknown line in a CoreRow; known are coordinate"),
    "no end": ("scl", "NumSites : 100\nEnd\n", "NumSites : 100\n", "t.scl:13: CoreRow within the row of line 5"),
    "no rows": ("scl", FILES["scl"], "UCLA scl 1.0\n", "t.scl: holds no row"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_fault(tmp_path: Path, fault: str) -> None:
    kind, old, new, message = FAULTS[fault]
    assert old in FILES[kind]
    write(tmp_path, **{kind: FILES[kind].replace(old, new)})
    (tmp_path / "t.aux").unlink()
    with pytest.raises(InputError, match=message):
        load_design(sorted(tmp_path.iterdir()))


def test_a_file_cut_short_anywhere_is_an_input_error(tmp_path: Path) -> None:
    """Or the design, where no more is lost than the format can do without: the last line end, offsets of the last pin,
    a digit of the last height, weights at the end. Everything else has a count."""
    write(tmp_path)
    complete = []
    for kind in ("nodes", "nets", "pl", "scl", "wts", "aux"):
        text = FILES[kind]
        for length in range(len(text)):
            (tmp_path / f"t.{kind}").write_text(text[:length])
            try:
                load_design(tmp_path)
                complete.append((kind, len(text) - length))
            except InputError:
                continue
        (tmp_path / f"t.{kind}").write_text(text)
    by_kind = {kind: sorted(rest for of, rest in complete if of == kind) for kind in FILES}
    assert by_kind["nodes"] == [1, 2]  # 'c 2.5 12' and, no better, 'c 2.5 1'
    assert max(by_kind["nets"]) == len(" : 0 0\n")  # offsets may be left out
    assert by_kind["pl"] == [1]
    assert by_kind["scl"] == [1]


def test_bytes_changed_at_random_never_crash(tmp_path: Path) -> None:
    choose = random.Random(1)
    failed = 0
    for _ in range(400):
        write(tmp_path)
        path = tmp_path / f"t.{choose.choice(list(FILES))}"
        data = bytearray(path.read_bytes())
        for _ in range(choose.randint(1, 3)):
            data[choose.randrange(len(data))] = choose.choice(b'\x00\xff#:-.e09 \n\t"Na')
        path.write_bytes(data)
        try:
            load_design(tmp_path)
        except InputError:
            failed += 1
    assert failed > 100


WORDS = st.sampled_from(
    ["UCLA", "NetDegree", "NumPins", ":", "M", "a", "1e9", "I", "O", "/FIXED", "#", "CoreRow", "\n"]
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(kind=st.sampled_from(["nodes", "nets", "pl", "scl", "wts"]), words=st.lists(WORDS, max_size=30))
def test_any_words_in_place_of_a_file_never_crash(tmp_path: Path, kind: str, words: list[str]) -> None:
    write(tmp_path, **{kind: f"UCLA {kind} 1.0\n" + " ".join(words)})
    try:
        load_design(tmp_path)
    except InputError:
        return
    assert kind == "wts" or words
