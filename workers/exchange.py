"""How the members of a portfolio share what they have: one file a member and round, in the job's own folder.

In and out: `Standing`, what a member holds after a round. Files appear whole and are never changed, so a member may be
killed at any moment, and one that is started again goes on from its own last file; with a budget of work it then does
exactly what it would have done. Used by workers/optimiser.py; optimisers of a job always share a machine.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from netlists.files import atomic_bytes
from netlists.model import Design, Placement
from placement.layout import pack_layout, unpack_layout

EXCHANGE = "exchange"  # name of the folder in a job's own
TERMS = "terms"
BEGAN = "began"
START = "start"  # name of the file that every member begins at


@dataclass(frozen=True, kw_only=True, eq=False)
class Standing:
    """A legal placement, its exact proxy cost, and how it came about."""

    placement: Placement
    cost: float
    stages: tuple[Mapping[str, Any], ...] = ()  # gains add up to the cost of what came in less this cost
    origin: Mapping[str, Any] = field(default_factory=dict)
    round: int = -1  # after which it was held; -1 = the job's start


def stage(name: str, *, seconds: float, trials: int, gain: float, **more: Any) -> dict[str, Any]:
    """One stage as results show it: gain = proxy cost of the best placement before less that after."""
    return {"name": name, "seconds": round(seconds, 2), "trials": trials, "gain": gain, **more}


def put_terms(folder: Path, begin_s: float, until_s: float) -> None:
    """Let the members begin: the start is there, and with a budget of time all rounds lie between these two moments.

    On the monotonic clock of the host, which its processes share.
    """
    with atomic_bytes(folder / TERMS) as file:
        file.write(json.dumps({"begin_s": begin_s, "until_s": until_s}).encode())


def get_terms(folder: Path) -> tuple[float, float] | None:
    """begin_s, until_s; None: not there yet."""
    try:
        terms = json.loads((folder / TERMS).read_bytes())
    except FileNotFoundError:
        return None
    return terms["begin_s"], terms["until_s"]


def clear_terms(folder: Path) -> None:
    """Make the folder; members that come wait for new terms."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / TERMS).unlink(missing_ok=True)
    for path in folder.glob(f"{BEGAN}-*"):
        path.unlink(missing_ok=True)


def note_begin(folder: Path, member: int) -> None:
    """A member is ready, has its terms, and begins now."""
    with atomic_bytes(folder / f"{BEGAN}-{member}") as file:
        file.write(json.dumps(time.monotonic()).encode())


def first_begin(folder: Path) -> float | None:
    """When the first of the members began, on the monotonic clock; None: none has."""
    return min((json.loads(path.read_bytes()) for path in folder.glob(f"{BEGAN}-*")), default=None)


class Exchange:
    """The folder. One per job; a member writes only its own files."""

    def __init__(self, folder: Path, design: Design) -> None:
        self.folder, self.design = folder, design
        folder.mkdir(parents=True, exist_ok=True)

    def put(self, member: int | None, standing: Standing) -> None:
        """Store what a member holds after a round; member None: the job's start."""
        p = standing.placement
        head = {"cost": standing.cost, "stages": standing.stages, "origin": standing.origin}
        with atomic_bytes(self._path(member, standing.round)) as file:
            file.write(json.dumps(head).encode() + b"\n" + pack_layout(p.x_um, p.y_um, p.orientation))

    def get(self, member: int | None, number: int = -1) -> Standing | None:
        """What a member held after a round; None if that is not there (yet)."""
        try:
            head, _, layout = self._path(member, number).read_bytes().partition(b"\n")
        except FileNotFoundError:
            return None
        said = json.loads(head)
        x_um, y_um, orientation = unpack_layout(layout, self.design.netlist.node_count)
        return Standing(
            placement=self.design.start.moved(x_um=x_um, y_um=y_um, orientation=orientation),
            cost=said["cost"],
            stages=tuple(said["stages"]),
            origin=said["origin"],
            round=number,
        )

    def newest(self, member: int, rounds: int) -> Standing | None:
        """What a member held last, of so many rounds."""
        for number in range(rounds - 1, -1, -1):
            if self._path(member, number).exists():
                return self.get(member, number)
        return None

    def _path(self, member: int | None, number: int) -> Path:
        return self.folder / (START if member is None else f"member-{member}-round-{number}")
