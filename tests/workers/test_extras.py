"""The extras of the project: accelerators' plugins, of the very JAX that the lock files pin."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_extras_bring_plugins_of_the_locked_jax_and_the_default_brings_none():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    lock = (ROOT / "requirements" / "run.txt").read_text()
    (version,) = re.findall(r"^jax==(\S+)", lock, re.MULTILINE)
    assert extras["gpu"] == [f"jax[cuda12]=={version}"]
    assert extras["tpu"] == [f"jax[tpu]=={version}"]
    assert not re.search(r"^(jax-cuda|nvidia|libtpu)", lock, re.MULTILINE)
