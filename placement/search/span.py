"""A part of a search's schedule as a schedule of its own: what lets members of a portfolio meet half way.

In: stages that cover a whole budget. Out: stages that cover the budget of the part. Pure.
"""

from __future__ import annotations

from dataclasses import replace

from placement.search.driver import Stage


def part(stages: tuple[Stage, ...], first: float, last: float) -> tuple[Stage, ...]:
    """The stages between these shares of the whole budget, 0 <= first < last <= 1.

    Temperatures and reaches are what they are at these moments of the whole. Raises ValueError for other shares.
    """
    if not 0 <= first < last <= 1:
        raise ValueError(f"a part of a schedule is 0 <= first < last <= 1, not {first:g} to {last:g}")
    if (first, last) == (0.0, 1.0):
        return stages
    parts = []
    begin = 0.0
    for stage in stages:
        low, high = max(begin, first), min(stage.until, last)
        if low < high:
            length = stage.until - begin
            ends = ((low - begin) / length, (high - begin) / length)
            parts.append(
                replace(
                    stage,
                    until=(high - first) / (last - first),
                    temperature=_between(stage.temperature, ends),
                    reach=_between(stage.reach, ends),
                )
            )
        begin = stage.until
    return tuple(parts)


def _between(line: tuple[float, float], ends: tuple[float, float]) -> tuple[float, float]:
    """A geometric line's values at two moments of it."""
    first, last = line
    if first <= 0:
        return line
    return first * (last / first) ** ends[0], first * (last / first) ** ends[1]
