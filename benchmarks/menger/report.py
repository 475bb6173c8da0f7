"""What every result of this folder says of itself: command, seed, commit, machine and its load; and sums of samples."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._about import about

ROOT = Path(__file__).resolve().parent.parent.parent
RESULTS = ROOT / "benchmarks" / "results"
IMAGES = ROOT / "docs" / "images"


def end_in_order() -> None:
    """Make SIGTERM leave the `with` blocks, so that no namespace stays behind."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


def load() -> list[float]:
    """Processes that ran or wanted to, mean of 1, 5 and 15 minutes."""
    return [round(value, 2) for value in os.getloadavg()]


def header(seed: int, load_at_start: Sequence[float]) -> dict[str, Any]:
    return about(seed) | {
        "command": " ".join(["python", "-m", f"benchmarks.menger.{Path(sys.argv[0]).stem}", *sys.argv[1:]]),
        "load": {"start": list(load_at_start), "end": load()},
    }


def write(name: str, document: dict[str, Any]) -> None:
    (RESULTS / f"menger_{name}.json").write_text(json.dumps(document, indent=1) + "\n")


def summary(seconds: Sequence[float]) -> dict[str, float]:
    """Mean, median, 99th percentile and largest, in seconds."""
    values = np.asarray(seconds)
    return {
        "mean_s": round(float(values.mean()), 5),
        "median_s": round(float(np.median(values)), 5),
        "p99_s": round(float(np.quantile(values, 0.99)), 5),
        "max_s": round(float(values.max()), 5),
    }
