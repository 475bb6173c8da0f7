"""What the weights and temperatures of the smooth cost are at each moment of a placement. Data; no JAX.

Three stages, one configuration for all designs: SPREAD (only from scratch), PLACE, SETTLE (soft macros alone, after
legalising). Each knob is a line of (progress, value) points in [0, 1], joined geometrically. Lengths are in cells. The
numbers come from the ablation in docs/analytic.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from placement.analytic.arrays import Float

Line = tuple[tuple[float, float], ...]
KNOBS = (
    "rate",  # length of a step
    "gamma",  # of the wirelength
    "blur",  # of the routes, in (0, 1]
    "spread",  # of small boxes
    "heat",  # of the means of the largest
    "wirelength",  # weights: 1, 0.5, 0.5 are those of the proxy cost
    "density",
    "congestion",
    "potential",
    "overlap",
    "margin",  # that macros keep apart
)
_TINY = 1e-9  # a geometric line cannot end at 0


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A name, how many steps it has when time does not matter, and its knobs by the names of KNOBS."""

    name: str
    steps: int
    knobs: Mapping[str, Line | float]

    def values(self, progress: Float) -> dict[str, Float]:
        """Every knob at these moments (n,) in [0, 1]."""
        out = {}
        for knob in KNOBS:
            line = self.knobs[knob]
            points = line if isinstance(line, tuple) else ((0.0, line),)
            at = [point[0] for point in points]
            logs = np.log(np.maximum([point[1] for point in points], _TINY))
            value = np.exp(np.interp(progress, at, logs))
            out[knob] = np.where(value <= 2 * _TINY, 0.0, value).astype(np.float32)
        return out


MARGIN = 0.02

SPREAD = Stage(
    name="spread",
    steps=200,
    knobs={
        "rate": 0.3,
        "gamma": ((0, 6), (1, 1)),
        "blur": 1.0,
        "spread": ((0, 2), (1, 1)),
        "heat": 0.3,
        "wirelength": 10.0,
        "density": 0.0,
        "congestion": 0.0,
        "potential": ((0, 0.001), (1, 2.0)),
        "overlap": ((0, 0.001), (1, 0.1)),
        "margin": MARGIN,
    },
)

PLACE = Stage(
    name="place",
    steps=400,
    knobs={
        "rate": ((0, 0.2), (0.5, 0.1), (1, 0.005)),
        "gamma": ((0, 4), (0.5, 1), (1, 0.3)),
        "blur": ((0, 1), (0.6, 1), (1, 0.1)),
        "spread": ((0, 1.5), (0.7, 0.7), (1, 0.1)),
        "heat": ((0, 0.1), (1, 0.01)),
        "wirelength": 1.0,
        "density": 0.5,
        "congestion": 0.5,
        "potential": ((0, 0.05), (1, 0.001)),
        "overlap": ((0, 0.1), (0.5, 1), (1, 50)),
        "margin": MARGIN,
    },
)

SETTLE = Stage(
    name="settle",
    steps=200,
    knobs={
        "rate": ((0, 0.15), (1, 0.01)),
        "gamma": 0.3,
        "blur": ((0, 1), (1, 0.2)),
        "spread": ((0, 1), (1, 0.1)),
        "heat": ((0, 0.1), (1, 0.02)),
        "wirelength": 1.0,
        "density": 0.5,
        "congestion": 0.5,
        "potential": 0.0,
        "overlap": 0.0,
        "margin": MARGIN,
    },
)
