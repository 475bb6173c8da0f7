"""What sources of constraints say together, as far as they have been read: arrays a node, and the rules as written.

Begins with what a design has, is changed by `reader.py`, ends as a design. Called by `file.py`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from netlists.constraints import NO_REGION, Constraints
from netlists.model import Design, NodeKind, Orientation

FORMAT, VERSION = "placewright-constraints", 1
EDGE_UM = 1e-6  # what a region may stick out of the canvas by: sums of rounded numbers


class State:
    """What sources say together, as far as they have been read."""

    def __init__(self, design: Design) -> None:
        self.design, netlist = design, design.netlist
        n = netlist.node_count
        self.hard = netlist.nodes_of(NodeKind.HARD_MACRO)
        self.node_of = {name: node for node, name in enumerate(netlist.node_name)}
        self.macro_spacing_um, self.boundary_um = 0.0, 0.0
        self.halo_um, self.orientations = np.zeros((n, 4)), np.zeros(n, np.uint8)
        self.own_boundary_um = np.full(n, np.nan)
        self.region: list[str | None] = [None] * n
        self.regions: dict[str, np.ndarray] = {}
        self.blockages: list[list[float]] = []
        self.x, self.y = design.start.x_um.copy(), design.start.y_um.copy()
        self.orientation, self.fixed = design.start.orientation.copy(), design.start.fixed.copy()
        self.rules: list[Any] = []
        if design.constraints is not None:
            self.take_over(design.constraints)
        self.placed = np.zeros(n, np.bool_)  # by a rule

    def take_over(self, known: Constraints) -> None:
        """Begin with what the design has already: from other sources, or from a format with rules of its own."""
        self.macro_spacing_um = known.macro_spacing_um
        self.halo_um[:], self.orientations[:] = known.halo_um, known.orientations
        self.own_boundary_um = np.where(known.boundary_spacing_um > 0, known.boundary_spacing_um, np.nan)
        self.regions = dict(zip(known.region_names, known.regions_um, strict=True))
        self.region = [None if r == NO_REGION else known.region_names[r] for r in known.region.tolist()]
        self.rules = list(known.source.get("macros", ())) or [
            rule for node in self.hard.tolist() if len(rule := self.rule_of(node)) > 1
        ]

    def rule_of(self, node: int) -> dict[str, Any]:
        """What is held of one macro, as a rule for it alone."""
        rule: dict[str, Any] = {"name": self.design.netlist.node_name[node]}
        if self.halo_um[node].any():
            rule["halo_um"] = self.halo_um[node].tolist()
        if mask := int(self.orientations[node]):
            rule["orientations"] = [o.name for o in Orientation if mask >> o & 1]
        if self.region[node] is not None:
            rule["region"] = self.region[node]
        if not np.isnan(self.own_boundary_um[node]):
            rule["boundary_spacing_um"] = float(self.own_boundary_um[node])
        return rule

    def design_with(self) -> Design:
        """All of it in a design."""
        names = tuple(self.regions)
        number = {name: index for index, name in enumerate(names)}
        boundary = np.where(np.isnan(self.own_boundary_um), self.boundary_um, self.own_boundary_um)
        constraints = Constraints(
            halo_um=self.halo_um,
            orientations=self.orientations,
            boundary_spacing_um=boundary,
            region=np.array([NO_REGION if name is None else number[name] for name in self.region], dtype=np.int32),
            region_names=names,
            regions_um=tuple(self.regions.values()),
            macro_spacing_um=self.macro_spacing_um,
            source=self.source(),
        )
        start = replace(self.design.start, x_um=self.x, y_um=self.y, orientation=self.orientation, fixed=self.fixed)
        known = self.design.blockages_um
        new = [box for box in self.blockages if not np.any(np.all(np.abs(known - box) <= EDGE_UM, axis=1))]
        blockages = np.concatenate([known, np.array(new).reshape(-1, 4)])
        return replace(self.design, start=start, blockages_um=blockages, constraints=constraints)

    def source(self) -> dict[str, Any]:
        """One JSON object that says what all sources say."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "macro_spacing_um": self.macro_spacing_um,
            "boundary_spacing_um": self.boundary_um,
            "regions": {name: boxes.tolist() for name, boxes in self.regions.items()},
            "blockages_um": self.blockages,
            "macros": self.rules,
        }
