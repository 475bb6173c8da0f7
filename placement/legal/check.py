"""The judge: is a placement legal? Exact in float64, finds an overlap of 1e-6 µm.

In: design and placement. Out: `LegalityReport`. Called on every result before it is stored, by `placewright check`, and
by the tests of everything else here. Shares no search code with the legaliser or the packer. Rules: docs/legality.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from netlists.model import BoolArray, Design, FloatArray, IntArray, NodeKind, Orientation, Placement, oriented_size_um
from placement.legal.boxes import TOLERANCE_UM, canvas_box_um, macro_boxes
from placement.legal.check_rules import RuleBreaks, check_rules
from placement.legal.overlaps import blocked_um, outside_um, pairs_um

SENTENCES = 20  # of problems(); the rest is counted


@dataclass(frozen=True, eq=False, kw_only=True)
class LegalityReport:
    """What is wrong with a placement. Index arrays point into the netlist's nodes (blockages: into the design's)."""

    overlaps: IntArray  # (K, 2) pairs of hard macros, at most STORED_PAIRS
    overlap_um: FloatArray  # (K, 2) width and height of what the pair shares
    overlap_count: int  # all pairs
    outside: IntArray  # (Q,) hard macros that stick out of the canvas
    outside_um: FloatArray  # (Q,) by how much at most
    blocked: IntArray  # (R, 2) hard macro, blockage
    blocked_um: FloatArray  # (R, 2) width and height of what they share
    moved_fixed: IntArray  # (F,) fixed nodes and ports that are not where the design has them
    turned: IntArray  # (T,) nodes whose orientation left its class
    not_finite: IntArray  # (U,) nodes without a finite position
    soft_outside: IntArray  # (V,) soft macros and ports whose box leaves the canvas: a warning, not illegal
    rules: RuleBreaks  # the design's constraints that are broken
    node_name: tuple[str, ...]

    @property
    def legal(self) -> bool:
        return not (
            self.overlap_count
            or len(self.outside)
            or len(self.blocked)
            or len(self.moved_fixed)
            or len(self.turned)
            or len(self.not_finite)
            or self.rules.count
        )

    @property
    def broken_by_macros(self) -> bool:
        """Whether two hard macros are where both cannot be, or one is where constraints forbid it."""
        return bool(self.overlap_count or self.rules.count)

    @property
    def overlap_area_um2(self) -> float:
        """Sum over the stored pairs."""
        return float(np.prod(self.overlap_um, axis=1).sum())

    def problems(self, limit: int = SENTENCES) -> list[str]:
        """One sentence a problem, with names and numbers; after `limit` of them the number of the others."""
        name = self.node_name
        found = [f"{name[n]!r} has no finite position" for n in self.not_finite[:limit]]
        found += [f"{name[n]!r} is fixed and has moved" for n in self.moved_fixed[:limit]]
        found += [f"{name[n]!r} changed between upright and turned orientation" for n in self.turned[:limit]]
        found += [
            f"macro {name[n]!r} sticks out of the canvas by {by:.6g} µm"
            for n, by in zip(self.outside[:limit], self.outside_um[:limit], strict=True)
        ]
        found += [
            f"macro {name[n]!r} overlaps blockage {b} by {dx:.6g} x {dy:.6g} µm"
            for (n, b), (dx, dy) in zip(self.blocked[:limit], self.blocked_um[:limit], strict=True)
        ]
        found += [
            f"macros {name[a]!r} and {name[b]!r} overlap by {dx:.6g} x {dy:.6g} µm"
            for (a, b), (dx, dy) in zip(self.overlaps[:limit], self.overlap_um[:limit], strict=True)
        ]
        found += self.rules.problems(name, limit)
        total = (
            len(self.not_finite)
            + len(self.moved_fixed)
            + len(self.turned)
            + len(self.outside)
            + len(self.blocked)
            + self.overlap_count
            + self.rules.count
        )
        if total > limit:
            return [*found[:limit], f"and {total - limit} more"]
        return found

    def warnings(self, limit: int = SENTENCES) -> list[str]:
        """What is allowed but odd: soft macros and ports outside the canvas, fixed macros nearer than the rules."""
        found = [f"{self.node_name[n]!r} lies partly outside the canvas" for n in self.soft_outside[:limit]]
        if len(self.soft_outside) > limit:
            found.append(f"and {len(self.soft_outside) - limit} more")
        return found + self.rules.warnings(self.node_name, limit)


def _moved(design: Design, placement: Placement) -> BoolArray:
    start, netlist = design.start, design.netlist
    held = start.fixed | (netlist.node_kind == NodeKind.PORT)
    with np.errstate(invalid="ignore"):  # infinite less infinite; "not <=" catches the NaN
        dx, dy = np.abs(placement.x_um - start.x_um), np.abs(placement.y_um - start.y_um)
    near = (dx <= TOLERANCE_UM) & (dy <= TOLERANCE_UM)
    # a start that is itself not finite is reported as such, not as moved
    known = np.isfinite(start.x_um) & np.isfinite(start.y_um)
    return held & known & (~near | (placement.orientation != start.orientation))


def check(design: Design, placement: Placement) -> LegalityReport:
    """Judge a placement of `design`. Never raises for a bad placement; raises ValueError for one of another netlist."""
    netlist = design.netlist
    if len(placement.x_um) != netlist.node_count:
        raise ValueError(f"placement has {len(placement.x_um)} nodes, netlist {netlist.node_count}")
    finite = np.isfinite(placement.x_um) & np.isfinite(placement.y_um)
    canvas = canvas_box_um(design)

    boxes = macro_boxes(design, placement)
    usable = finite[boxes.node]
    node, corners = boxes.node[usable], boxes.corners_um()[usable]
    pairs, extent, count = pairs_um(corners)
    hit, shared = blocked_um(corners, design.blockages_um)
    hit = hit.reshape(-1, 2)
    out_by = outside_um(corners, canvas)
    out = out_by > TOLERANCE_UM

    soft = np.flatnonzero(np.isin(netlist.node_kind, (NodeKind.SOFT_MACRO, NodeKind.PORT)) & finite)
    width, height = oriented_size_um(netlist.width_um[soft], netlist.height_um[soft], placement.orientation[soft])
    x, y = placement.x_um[soft], placement.y_um[soft]
    soft_corners = np.stack([x - width / 2, y - height / 2, x + width / 2, y + height / 2], axis=1)
    turned = (placement.orientation >= Orientation.E) != (design.start.orientation >= Orientation.E)
    broken = check_rules(design, placement, finite)

    return LegalityReport(
        overlaps=node[pairs].reshape(-1, 2),
        overlap_um=extent,
        overlap_count=count,
        outside=node[out],
        outside_um=out_by[out],
        blocked=np.stack([node[hit[:, 0]], hit[:, 1]], axis=1),
        blocked_um=shared.reshape(-1, 2),
        moved_fixed=np.flatnonzero(_moved(design, placement)).astype(np.int32),
        turned=np.flatnonzero(turned & ~broken.ruled_orientation).astype(np.int32),
        not_finite=np.flatnonzero(~finite).astype(np.int32),
        soft_outside=soft[outside_um(soft_corners, canvas) > TOLERANCE_UM].astype(np.int32),
        rules=broken,
        node_name=netlist.node_name,
    )
