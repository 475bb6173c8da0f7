"""rlax's modules, one by one: the package itself cannot be imported without a nightly build of another library."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import types
from collections.abc import Callable, Iterator

import pytest


@pytest.fixture(scope="module")
def rlax_module() -> Iterator[Callable[[str], types.ModuleType]]:
    """`rlax_module("multistep")` is rlax._src.multistep. Its distributions, which need that library, are left empty:
    none of the functions compared uses them."""
    spec = importlib.util.find_spec("rlax")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    root = next(iter(spec.submodule_search_locations))
    for name, path in {"rlax": root, "rlax._src": f"{root}/_src"}.items():
        module = types.ModuleType(name)
        module.__path__ = [path]
        sys.modules[name] = module
    empty = types.ModuleType("rlax._src.distributions")
    sys.modules["rlax._src.distributions"] = sys.modules["rlax._src"].distributions = empty  # type: ignore[attr-defined]
    try:
        yield lambda name: importlib.import_module(f"rlax._src.{name}")
    finally:
        for name in [name for name in sys.modules if name == "rlax" or name.startswith("rlax.")]:
            del sys.modules[name]
