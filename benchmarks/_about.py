"""What every result in benchmarks/results says of itself."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def revision(of: str = "HEAD") -> str:
    """The commit that is checked out, or `HEAD:folder`, the state of a folder in it; "unknown" outside a checkout."""
    words = ["git", "rev-parse", of]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else "unknown"


def about(seed: int | None) -> dict[str, Any]:
    """Command, seed, commit, machine, Python, and the load of the machine now (processes that run or want to)."""
    name = Path(sys.argv[0].rpartition(" ")[2]).stem
    return {
        "command": " ".join(["placewright bench", name, *sys.argv[1:]]),
        "seed": seed,
        "commit": revision(),
        "machine": f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        "load_average": round(os.getloadavg()[0], 1),
    }
