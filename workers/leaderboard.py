"""A run's leaderboard: waiting improvements become checked entries with files; at the end the best is judged once more.

In: candidates from the database (kind "improved"), placements. Out: entries, as `JobStore.add_placement` keeps them; of
one lineage the newest only. Used by the run (workers/run.py), whose thread makes all calls.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from backend.designs.folders import CLUSTERED
from backend.jobs.records import Candidate, JobRecord
from backend.jobs.store import JobStore
from netlists.circuit_training.plc import read_plc
from netlists.circuit_training.writer import write_plc
from netlists.model import Design, Placement
from placement.layout import unpack_layout
from workers.exchange import Standing
from workers.layout_files import export_formats
from workers.results import (
    IllegalResultError,
    Judge,
    WrittenPlacement,
    add_netlist,
    formats_of,
    write_result,
)

log = logging.getLogger("placewright.run")


class Leaderboard:
    """Entries of one job. `patiently` makes a write that must not be lost; `tell` stores an error for the user."""

    def __init__(
        self,
        store: JobStore,
        job: JobRecord,
        design: Design,
        *,
        begin_s: float,
        patiently: Callable[[Callable[[], Any]], Any],
        tell: Callable[[str], None],
    ) -> None:
        self.store, self.job, self.design = store, job, design
        self.begin_s = begin_s  # of the job's time, on the monotonic clock
        self.patiently, self.tell = patiently, tell
        self.improved = False  # whether any improvement has been handed in
        self.writing_s = 0.0  # what writing one result has taken lately
        self.netlist_s = 0.0  # the same of the formats that follow when the job ends; 0 = none written yet
        self.warnings: list[str] = []  # for whoever looks at the results
        self._judge: Judge | None = None
        self.entries: dict[str, tuple[str, float]] = {}  # lineage -> entry, its cost
        self.best_cost = float("inf")
        for record in reversed(store.placements(job.id)):  # of an earlier attempt
            self.best_cost = record.costs["proxy_cost"]
            self.entries[str(record.provenance.get("lineage", ""))] = (record.id, self.best_cost)

    def start(self, standing: Standing) -> None:
        """The legal start as the first entry."""
        written = self._write(standing.placement)
        self.patiently(lambda: self.store.set_start_costs(self.job.id, written.costs.as_dict()))
        self._enter(written, {**standing.origin, "stages": list(standing.stages), "lineage": "start"})

    def take(self, limit: int, *, only_better_after_s: float = float("inf")) -> int:
        """Turn up to `limit` waiting improvements into entries, best first. Returns how many were looked at.

        only_better_after_s: from this moment on, only what is better than all before is written.
        """
        candidates = self.store.take_candidates(self.job.id, limit, kind="improved")
        self.improved |= bool(candidates)
        for candidate in candidates:
            if candidate.cost > self.best_cost and time.monotonic() > only_better_after_s:
                continue
            known = self.entries.get(str(candidate.origin.get("lineage", "")))
            if known is not None and candidate.cost >= known[1]:
                if candidate.cost == known[1] and not candidate.origin.get("running"):
                    self.store.set_provenance(known[0], self._provenance(candidate.origin))  # now with its stages
                continue
            try:
                written = self._write(self._placed(candidate))
            except IllegalResultError as error:
                log.error("an illegal candidate was left out: %s", error)
                self.tell(f"an illegal candidate was left out: {error}")
                continue
            self._enter(written, candidate.origin)
        return len(candidates)

    def warn(self, message: str) -> None:
        """Say this with the best result, and with those that come."""
        self.warnings.append(message)
        for record in self.store.placements(self.job.id)[:1]:
            self.store.set_provenance(record.id, {**record.provenance, "warnings": list(self.warnings)})

    def call_judge(self) -> None:
        """Let the process that will judge the best get ready, where it is not there yet."""
        if self._judge is None or self._judge.is_gone:
            start_plc = self.job.folder / "start.plc"
            write_plc(start_plc, self.design, self.design.start, None)
            constraints = None
            if self.job.constraints is not None:
                constraints = self.job.folder / "constraints.json"
                constraints.write_text(json.dumps(self.job.constraints), encoding="utf-8")
            self._judge = Judge(self.job.design_files, start_plc, start_plc, constraints)

    def close(self) -> None:
        """End the judge if it was never asked."""
        judge, self._judge = self._judge, None
        if judge is not None:
            judge.dismiss()

    def judge(self) -> None:
        """The best file is judged once more, by a process that sees only files; meanwhile its netlist is written.

        Raises IllegalResultError.
        """
        self.call_judge()
        judge, self._judge = self._judge, None
        assert judge is not None
        best = self.store.placements(self.job.id)[0]
        with ThreadPoolExecutor(1) as pool:
            judged = pool.submit(judge.report, best.folder / "placement.plc")
            self.write_netlists(only_best=True)
            report = judged.result()
        if report["proxy_cost"] != best.costs["proxy_cost"]:
            raise IllegalResultError(f"its cost is {report['proxy_cost']}, {best.costs['proxy_cost']} was shown")

    def place_cells(self, *, should_stop: Callable[[], bool], on_progress: Callable[[float], None]) -> None:
        """The standard cells of the flat design between the best placement's macros, in its DEF or `.pl` and its entry.

        Raises InputError where the design has none to place, or no file for them.
        """
        # scipy takes half a second to import, which few jobs need.
        from netlists.load import load_design
        from workers.cell_files import place_cells_of_result

        job, best = self.job, self.store.placements(self.job.id)[0]
        flat = load_design(list(job.uploaded_files), name=job.design_name, options=job.reading)
        placed = place_cells_of_result(
            best.folder,
            flat,
            self.design,
            read_plc(best.folder / "placement.plc", self.design.netlist).placement,
            job.design_folder / CLUSTERED,
            job.uploaded_files,
            seconds=job.seconds,
            seed=job.seed,
            should_stop=should_stop,
            on_progress=on_progress,
        )
        provenance = {**best.provenance, "cells": placed.as_dict()}
        self.patiently(lambda: self.store.set_provenance(best.id, provenance))

    def write_netlists(self, *, only_best: bool = False, until: Callable[[], bool] = lambda: False) -> None:
        """Formats `pb`, `def`, `tcl`, `pl` of the entries, or of the best, where missing; asks `until` before each."""
        for record in self.store.placements(self.job.id)[: 1 if only_best else None]:
            if until():
                return
            if "pb" not in record.formats:
                begin_s = time.monotonic()
                placement = read_plc(record.folder / "placement.plc", self.design.netlist).placement
                pb = ["pb"] if add_netlist(self.design, placement, record.folder) else []
                exported = export_formats(self.design, placement, self.job.uploaded_files, record.folder)
                formats = (*formats_of(record.folder), *pb, *exported)
                self.patiently(partial(self.store.set_formats, record.id, formats))
                self.netlist_s = time.monotonic() - begin_s

    def _write(self, placement: Placement) -> WrittenPlacement:
        begin_s = time.monotonic()
        written = write_result(self.design, placement, self.job.folder / "placements")
        self.writing_s = time.monotonic() - begin_s
        return written

    def _placed(self, candidate: Candidate) -> Placement:
        x_um, y_um, orientation = unpack_layout(candidate.layout, self.design.netlist.node_count)
        return self.design.start.moved(x_um=x_um, y_um=y_um, orientation=orientation)

    def _enter(self, written: WrittenPlacement, origin: Mapping[str, Any]) -> None:
        lineage = str(origin.get("lineage", ""))
        replaces = self.entries.get(lineage, (None, 0.0))[0]
        provenance = self._provenance(origin)
        folder = self.store.new_placement_folder(self.job.id)
        folder.rmdir()
        written.folder.rename(folder)
        costs = written.costs.as_dict()
        entry = self.patiently(
            lambda: self.store.add_placement(
                self.job.id, folder, costs, True, written.problems, provenance, written.formats, replaces=replaces
            )
        )
        self.entries[lineage] = (entry, written.costs.proxy_cost)
        if written.costs.proxy_cost < self.best_cost:
            self.best_cost = written.costs.proxy_cost
            self._cost_point(costs)

    def _provenance(self, origin: Mapping[str, Any]) -> dict[str, Any]:
        """Where a result comes from, with what the job adds to it."""
        return {
            **{key: value for key, value in origin.items() if key != "running"},
            "method": self.job.method,
            "seed": self.job.seed,
            "workers": self.job.workers,
            **({} if self.job.trials is None else {"trials": self.job.trials}),
            "seconds": round(time.monotonic() - self.begin_s, 2),
            **({"warnings": list(self.warnings)} if self.warnings else {}),
        }

    def _cost_point(self, costs: Mapping[str, float]) -> None:
        names = ("proxy_cost", "wirelength_cost", "density_cost", "congestion_cost")
        values = {f"best_{name}": costs[name] for name in names}
        self.store.add_metrics(self.job.id, time.monotonic() - self.begin_s, values)
