"""From a candidate to a leaderboard entry: write the files, read them back, judge what was read, store it.

The numbers stored are those of the file that the user downloads, recomputed by the exact evaluator; a candidate
whose file is not legal never enters the leaderboard. Called by the run (workers/run.py) only.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netlists.circuit_training.plc import read_plc
from netlists.circuit_training.writer import write_netlist, write_plc
from netlists.constraints_json.file import write_constraints
from netlists.errors import InputError
from netlists.formats import can_carry
from netlists.model import Design, Placement
from netlists.pictures import write_json, write_png, write_svg
from placement.cost import CostReport, evaluate
from placement.legal import check
from workers.layout_files import on_grid

QUICK_FORMATS = ("plc", "json", "svg", "png")  # written at once; the netlist follows when the job ends
CONSTRAINTS_FILE = "constraints.json"  # where there are any
NETLIST_FILE = "placement.pb.txt.gz"
CHECK_TIMEOUT_S = 300


class IllegalResultError(Exception):
    """A candidate's written file did not pass the check. Says why."""


@dataclass(frozen=True, kw_only=True)
class WrittenPlacement:
    """A folder holding placement.plc and pictures, and what its .plc says when read back."""

    folder: Path
    placement: Placement
    costs: CostReport
    problems: list[str]

    @property
    def formats(self) -> tuple[str, ...]:
        return formats_of(self.folder)


def formats_of(folder: Path) -> tuple[str, ...]:
    """The formats that a leaderboard folder has at once: all but the netlist."""
    return (*QUICK_FORMATS, *(["constraints"] if (folder / CONSTRAINTS_FILE).exists() else []))


def write_result(design: Design, placement: Placement, parent: Path) -> WrittenPlacement:
    """Write `placement` into a new folder below `parent` and judge the file. Raises IllegalResultError, OSError."""
    folder = parent / f"incoming-{uuid.uuid4().hex}"
    folder.mkdir(parents=True)
    try:
        try:
            placement = on_grid(design, placement)
        except InputError as error:
            raise IllegalResultError(str(error)) from error
        plc = folder / "placement.plc"
        write_plc(plc, design, placement, evaluate(design, placement).as_dict())
        read_back = read_plc(plc, design.netlist).placement
        costs = evaluate(design, read_back)
        legality = check(design, read_back)
        if not legality.legal:
            raise IllegalResultError("; ".join(legality.problems()))
        write_json(folder / "placement.json", design, read_back, costs.as_dict())
        write_svg(folder / "placement.svg", design, read_back)
        write_png(folder / "placement.png", design, read_back)
        write_constraints(folder / CONSTRAINTS_FILE, design)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return WrittenPlacement(folder=folder, placement=read_back, costs=costs, problems=[])


def add_netlist(design: Design, placement: Placement, folder: Path) -> bool:
    """Write the netlist with this placement in it (`pb` format) into a leaderboard folder. False: `pb` can't."""
    if can_carry("pb", design):
        return False
    write_netlist(folder / NETLIST_FILE, design, placement)
    return True


def check_independently(
    files: Sequence[Path], plc: Path, start: Path | None, constraints: Path | None = None
) -> Mapping[str, Any]:
    """Judge a written file in a process of its own that is given nothing but files: `placewright check`.

    Returns its report. Raises IllegalResultError with its words if the file is illegal or cannot be judged.
    """
    return Judge(files, plc, start, constraints).report(plc)


class Judge:
    """`placewright check` in a process of its own, started ahead of time: getting ready takes it seconds.

    It sees nothing but files, reads the placement when it is told which one to judge, and ends with this process.
    """

    def __init__(
        self, files: Sequence[Path], ready_on: Path, start: Path | None, constraints: Path | None = None
    ) -> None:
        """ready_on: a placement of these files to get ready on."""
        words = [sys.executable, "-m", "workers.cli.main", "check", *map(str, files), "--plc", str(ready_on), "--json"]
        words += ["--start", str(start)] if start is not None else []
        words += ["--constraints", str(constraints)] if constraints is not None else []
        self._process = subprocess.Popen(
            [*words, "--then-stdin"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def report(self, plc: Path) -> Mapping[str, Any]:
        """What it says of a placement; to be asked once. Raises IllegalResultError as `check_independently`."""
        try:
            said, complaint = self._process.communicate(f"{plc}\n", timeout=CHECK_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
            raise
        code = self._process.returncode
        if code == 0:
            report: Mapping[str, Any] = json.loads(said)
            return report
        if code == 1 and said:
            raise IllegalResultError("; ".join(json.loads(said)["problems"]))
        raise IllegalResultError(f"the check ended with code {code}: {complaint.strip()[-500:]}")

    @property
    def is_gone(self) -> bool:
        """Whether its process has ended unasked."""
        return self._process.poll() is not None

    def dismiss(self) -> None:
        """End it unasked."""
        self._process.kill()
        self._process.communicate()
