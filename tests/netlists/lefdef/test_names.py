"""One key for one instance, however it is spelled."""

from __future__ import annotations

import pytest

from netlists.errors import InputError
from netlists.lefdef.names import by_key, canonical


@pytest.mark.parametrize(
    ("name", "divider", "bits", "key"),
    [
        ("t.abc\\[0\\].ram", "/", "[]", "t.abc[0].ram"),
        ("t/abc\\[1\\]/ram", "/", "[]", "t/abc[1]/ram"),
        ("a\\/b", "/", "[]", "a/b"),
        ("a[0]", "/", "[]", "a[0]"),
        ("a|b<3>", "|", "<>", "a/b[3]"),
        ("a\\|b\\<3\\>|c", "|", "<>", "a|b<3>/c"),
        ("a\\\\b", "/", "[]", "a\\b"),
    ],
)
def test_key(name: str, divider: str, bits: str, key: str) -> None:
    assert canonical(name, divider, bits) == key


def test_ambiguous_keys_are_refused() -> None:
    assert by_key(["a\\[0\\]", "b"], "/", "[]", "components") == {"a[0]": 0, "b": 1}
    with pytest.raises(InputError, match=r"components 'a\\\[0\\\]' and 'a\[0\]'"):
        by_key(["a\\[0\\]", "a[0]"], "/", "[]", "components")
