"""The sum of the k largest values of maps under a tentative change, without sorting or selecting.

The sum of the k largest of values v is the minimum over t of  F(t) = k·t + Σ max(v − t, 0),  a convex and piecewise
linear function of slope k − #{v > t} (Rockafellar and Uryasev's form of the conditional value at risk). A `Level`
keeps the minimising t of the maps as they are. A change of a few cells moves it little: F at the old t needs only the
changed cells, and when their change leaves as many values above t as before, that is the answer. Otherwise tangents
from both sides are intersected until they close on the minimum; their intersection is a lower bound on the way, which
lets a caller with a limit stop early.

Maps are tuples of (values (L, M), change as `Lines`). Called by the incremental cost, for density and for congestion.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from placement.cost.lines import Lines
from placement.kernels import inlined, kernel, summing

T, EXCESS, ABOVE = 0, 1, 2  # threshold, Σ max(v − t, 0), #{v > t}
LOW, HIGH, HIGH_SUM, HIGH_COUNT, HALF_WIDTH = 3, 4, 5, 6, 7  # the band around T, and the values above it
NEW_T = 8  # of the trial

_TOLERANCE = 1e-13  # relative, on the sum; float64 sums of some thousand values carry about as much
_MAX_STEPS = 60
_BAND_MIN, _BAND_MAX = 100, 400  # values when built; a look-up scans them all, at four a cycle
_BAND_FULL = 800  # values; more than this have come in since: build it anew


Maps = tuple[tuple[NDArray, Lines], ...]


class Level(NamedTuple):
    """Where the k largest values begin. C values in all; a value's number counts through the maps, line by line."""

    at: NDArray[np.float64]  # (9,) see the indices above
    size: NDArray[np.int64]  # (1,) number of values in the band; -1 = to be built
    band: NDArray[np.float64]  # (C,) values that are or were in (LOW, HIGH), up to date, any order
    place: NDArray[np.int32]  # (C,) place in the band of each value; -1 = not in it


def new_level(values: int) -> Level:
    """For maps of this many values."""
    return Level(
        at=np.zeros(9),
        size=np.full(1, -1, dtype=np.int64),
        band=np.zeros(values),
        place=np.full(values, -1, dtype=np.int32),
    )


@summing
def _line_excess(values: NDArray, t: float) -> tuple[float, float]:
    total, above = 0.0, 0.0
    for i in range(len(values)):
        over = values[i] - t
        total += over if over > 0.0 else 0.0
        above += 1.0 if over > 0.0 else 0.0
    return total, above


@summing
def _line_change(values: NDArray, change: NDArray, t: float) -> tuple[float, float]:
    total, above = 0.0, 0.0
    for i in range(len(values)):
        old = values[i] - t
        new = old + change[i]
        total += (new if new > 0.0 else 0.0) - (old if old > 0.0 else 0.0)
        above += (1.0 if new > 0.0 else 0.0) - (1.0 if old > 0.0 else 0.0)
    return total, above


@inlined
def _change(maps: Maps, t: float) -> tuple[float, float]:
    """What the changes do to Σ max(v − t, 0) and #{v > t}."""
    total, above = 0.0, 0.0
    for values, change in maps:
        for line in range(change.reach[0], change.reach[1]):
            start, end = change.low[line], change.high[line]
            if start < end:
                line_total, line_above = _line_change(values[line, start:end], change.value[line, start:end], t)
                total += line_total
                above += line_above
    return total, above


@inlined
def _count_above(level: Level) -> None:
    """EXCESS and ABOVE from the band. Counted, not carried on: a value that a change leaves on the threshold may round
    to either side of it in a trial."""
    t = level.at[T]
    excess, above = _line_excess(level.band[: level.size[0]], t)
    level.at[EXCESS] = excess + (level.at[HIGH_SUM] - level.at[HIGH_COUNT] * t)
    level.at[ABOVE] = above + level.at[HIGH_COUNT]


@inlined
def _build_band(level: Level, maps: Maps) -> None:
    """Collect the unchanged values near the threshold, and from them what lies above it."""
    low, high = level.at[T] - level.at[HALF_WIDTH], level.at[T] + level.at[HALF_WIDTH]
    high_sum, high_count, size, number = 0.0, 0, 0, 0
    for values, _ in maps:
        for line in range(values.shape[0]):
            for cell in range(values.shape[1]):
                value = values[line, cell]
                level.place[number] = -1
                if value >= high:
                    high_sum += value
                    high_count += 1
                elif value > low:
                    level.band[size] = value
                    level.place[number] = size
                    size += 1
                number += 1
    level.at[LOW], level.at[HIGH] = low, high
    level.at[HIGH_SUM], level.at[HIGH_COUNT] = high_sum, high_count
    level.size[0] = size
    _count_above(level)
    if size > _BAND_MAX:
        level.at[HALF_WIDTH] *= 0.7
    elif size < _BAND_MIN:
        level.at[HALF_WIDTH] = min(level.at[HALF_WIDTH] * 1.5, 1e3)


@inlined
def _unchanged(level: Level, maps: Maps, t: float) -> tuple[float, float]:
    """Σ max(v − t, 0) and #{v > t} of the maps without their changes."""
    if level.at[LOW] <= t < level.at[HIGH]:
        total, above = _line_excess(level.band[: level.size[0]], t)
        return total + (level.at[HIGH_SUM] - level.at[HIGH_COUNT] * t), above + level.at[HIGH_COUNT]
    total, above = 0.0, 0.0
    for values, _ in maps:
        for line in range(values.shape[0]):
            line_total, line_above = _line_excess(values[line], t)
            total += line_total
            above += line_above
    return total, above


@kernel
def top_sum(k: int, level: Level, maps: Maps, limit: float) -> float:
    """Sum of the k largest values of the changed maps, 1 ≤ k ≤ their number; or a lower bound of it above `limit`.

    Exact to 1e-13 relative. `accept` makes its threshold the level's.
    """
    if level.size[0] < 0:
        _build_band(level, maps)
    t, excess, above = level.at[T], level.at[EXCESS], level.at[ABOVE]
    d_excess, d_above = _change(maps, t)
    excess, above = excess + d_excess, above + d_above
    value, slope = k * t + excess, k - above
    level.at[NEW_T] = t
    if slope == 0.0:
        return value
    step = max(1.25 * abs(slope) * 2.0 * level.at[HALF_WIDTH] / max(level.size[0], 1), 1e-9)
    best = value
    left_t = left_value = left_slope = right_t = right_value = right_slope = 0.0
    for turn in range(_MAX_STEPS):
        if slope < 0.0:
            left_t, left_value, left_slope = t, value, slope
        else:
            right_t, right_value, right_slope = t, value, slope
        if left_slope == 0.0:
            t = right_t - step
            step *= 2.0
        elif right_slope == 0.0:
            t = left_t + step
            step *= 2.0
        else:
            width = right_t - left_t
            along = min(max((left_value - right_value + right_slope * width) / (right_slope - left_slope), 0.0), width)
            bound = left_value + left_slope * along
            if bound > limit:
                return bound
            if best - bound <= _TOLERANCE * abs(best):
                return best
            t = left_t + (0.5 * width if turn > 8 and turn % 2 else along)
        excess, above = _unchanged(level, maps, t)
        d_excess, d_above = _change(maps, t)
        excess, above = excess + d_excess, above + d_above
        value, slope = k * t + excess, k - above
        if value <= best or slope == 0.0:
            best = value
            level.at[NEW_T] = t
        if slope == 0.0:
            return value
    return best


@kernel
def accept(level: Level, maps: Maps) -> None:
    """Add the changes to the maps; the trial's threshold becomes the level's. Costs only what has changed."""
    at, offset = level.at, 0
    for values, change in maps:
        for line in range(change.reach[0], change.reach[1]):
            for cell in range(change.low[line], change.high[line]):
                old = values[line, cell]
                new = old + change.value[line, cell]
                if new == old:
                    continue
                values[line, cell] = new
                number = offset + line * values.shape[1] + cell
                place = level.place[number]
                if place >= 0:
                    level.band[place] = new
                    continue
                if old >= at[HIGH]:
                    at[HIGH_SUM] -= old
                    at[HIGH_COUNT] -= 1.0
                if new >= at[HIGH]:
                    at[HIGH_SUM] += new
                    at[HIGH_COUNT] += 1.0
                elif new > at[LOW] and level.size[0] >= 0:
                    size = level.size[0]
                    level.band[size] = new
                    level.place[number] = size
                    level.size[0] = size + 1
        offset += values.size
    at[T] = at[NEW_T]
    if level.size[0] > _BAND_FULL or abs(at[T] - 0.5 * (at[LOW] + at[HIGH])) > 0.25 * (at[HIGH] - at[LOW]):
        level.size[0] = -1
    if level.size[0] < 0:
        _build_band(level, maps)
    else:
        _count_above(level)


def set_level(level: Level, k: int, values: tuple[NDArray[np.float64], ...]) -> None:
    """Compute the level of maps from scratch; the band is built when it is first needed."""
    flat = np.concatenate([v.ravel() for v in values])
    t = float(np.partition(flat, len(flat) - k)[len(flat) - k])
    over = flat[flat > t]
    level.at[T], level.at[EXCESS], level.at[ABOVE] = t, float((over - t).sum()), float(len(over))
    level.at[HALF_WIDTH] = max(0.02 * float(flat.max() - flat.min()), 1e-6)
    level.size[0] = -1


def mean(level: Level, k: int) -> float:
    """Mean of the k largest values of the maps as they are."""
    return float((k * level.at[T] + level.at[EXCESS]) / k)
