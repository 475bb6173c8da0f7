"""The judge of a design's constraints: halos, spacing, boundary, regions, orientations. Part of `check`.

In: a design and a placement. Out: `RuleBreaks`. Rules bind movable hard macros; a fixed macro counts as a neighbour
that movable ones keep off. Rules: docs/constraints.md. Shares no search code with the legaliser or the packer.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from netlists.constraints import ANY_OF_ITS_CLASS, NO_REGION
from netlists.model import BoolArray, Design, FloatArray, IntArray, Orientation, Placement
from placement.legal.boxes import OUTWARD, TOLERANCE_UM, MacroBoxes, canvas_box_um, macro_boxes, rules_of
from placement.legal.overlaps import blocked_um, pairs_um


@dataclass(frozen=True, eq=False, kw_only=True)
class RuleBreaks:
    """Broken constraints. Indices point into the netlist's nodes; pairs that overlap are told of as overlaps only."""

    too_near: IntArray  # (K, 2) hard macros, at most overlaps.STORED_PAIRS
    too_near_um: FloatArray  # (K,) by how much they would have to be further apart
    too_near_count: int
    near_edge: IntArray  # (Q,) hard macros whose halo leaves the canvas, or nearer to its edge than they may be
    near_edge_um: FloatArray  # (Q,) by how much at most
    near_blockage: IntArray  # (R, 2) hard macro, blockage: its halo lies on it
    near_blockage_um: FloatArray  # (R, 2) width and height of what they share
    off_region: IntArray  # (S,) hard macros that are not wholly inside their region
    off_region_um2: FloatArray  # (S,) area outside
    region_name: tuple[str, ...]  # S
    misturned: IntArray  # (T,) hard macros in an orientation that is not among those allowed
    misturned_to: tuple[str, ...]  # T: orientation found, and those allowed
    fixed_too_near: IntArray  # (V, 2) fixed macros nearer to each other than the rules: a warning, nothing can move
    ruled_orientation: BoolArray  # (N,) nodes whose orientations the constraints list

    @property
    def count(self) -> int:
        return (
            self.too_near_count
            + len(self.near_edge)
            + len(self.near_blockage)
            + len(self.off_region)
            + len(self.misturned)
        )

    def problems(self, name: tuple[str, ...], limit: int) -> list[str]:
        """One sentence a broken rule, at most `limit` of each kind."""
        found = [
            f"macro {name[n]!r} is in orientation {text}"
            for n, text in zip(self.misturned[:limit], self.misturned_to, strict=False)
        ]
        found += [
            f"macro {name[n]!r} is not inside its region {region!r}: {area:.6g} µm² of it lie outside"
            for n, area, region in zip(self.off_region[:limit], self.off_region_um2, self.region_name, strict=False)
        ]
        found += [
            f"macro {name[n]!r} is {by:.6g} µm nearer to the canvas' edge than its halo or boundary spacing allows"
            for n, by in zip(self.near_edge[:limit], self.near_edge_um, strict=False)
        ]
        found += [
            f"the halo of macro {name[n]!r} overlaps blockage {b} by {dx:.6g} x {dy:.6g} µm"
            for (n, b), (dx, dy) in zip(self.near_blockage[:limit], self.near_blockage_um, strict=False)
        ]
        found += [
            f"macros {name[a]!r} and {name[b]!r} are {by:.6g} µm nearer to each other than halos and spacing allow"
            for (a, b), by in zip(self.too_near[:limit], self.too_near_um, strict=False)
        ]
        return found

    def warnings(self, name: tuple[str, ...], limit: int) -> list[str]:
        found = [
            f"fixed macros {name[a]!r} and {name[b]!r} are nearer to each other than halos and macro spacing allow"
            for a, b in self.fixed_too_near[:limit]
        ]
        more = len(self.fixed_too_near) - limit
        return [*found, f"and {more} more such pairs of fixed macros"] if more > 0 else found


def check_rules(design: Design, placement: Placement, finite: BoolArray) -> RuleBreaks:
    """Which constraints a placement breaks. finite (N,): nodes with a finite position; the others are not judged."""
    rules, n = rules_of(design), design.netlist.node_count
    if rules is None:
        return _breaks(ruled_orientation=np.zeros(n, dtype=np.bool_))
    boxes = macro_boxes(design, placement)
    usable = finite[boxes.node]
    node, free = boxes.node[usable], boxes.movable[usable]
    corners = boxes.corners_um()[usable]
    region = rules.region[node]
    off = [
        (n, area, rules.region_names[region[m]])
        for m, n in enumerate(node)
        if free[m] and region[m] != NO_REGION
        for area in [_outside_um2(corners[m], rules.regions_um[region[m]])]
        if area > 0
    ]
    ruled = rules.orientations != ANY_OF_ITS_CLASS
    bad_turn = boxes.node[boxes.movable & ruled[boxes.node]]
    now = placement.orientation[bad_turn]
    bad_turn = bad_turn[(rules.orientations[bad_turn] >> now.astype(np.uint8)) & 1 == 0]
    return _breaks(
        **_edges(design, boxes, usable),
        **_pairs(boxes, usable),
        off_region=np.array([n for n, _, _ in off], dtype=np.int32),
        off_region_um2=np.array([area for _, area, _ in off]),
        region_name=tuple(name for _, _, name in off),
        misturned=bad_turn.astype(np.int32),
        misturned_to=tuple(
            f"{Orientation(placement.orientation[n]).name}, allowed are "
            f"{' '.join(o.name for o in Orientation if int(rules.orientations[n]) >> o & 1)}"
            for n in bad_turn
        ),
        ruled_orientation=ruled & ~design.start.fixed & np.isin(np.arange(n), boxes.node),
    )


def _breaks(**found: object) -> RuleBreaks:
    """What was found; the rest empty."""
    none = np.zeros(0, np.int32)
    empty: dict[str, object] = {
        "too_near": np.zeros((0, 2), np.int32),
        "too_near_um": np.zeros(0),
        "too_near_count": 0,
        "near_edge": none,
        "near_edge_um": np.zeros(0),
        "near_blockage": np.zeros((0, 2), np.int32),
        "near_blockage_um": np.zeros((0, 2)),
        "off_region": none,
        "off_region_um2": np.zeros(0),
        "region_name": (),
        "misturned": none,
        "misturned_to": (),
        "fixed_too_near": np.zeros((0, 2), np.int32),
    }
    return RuleBreaks(**{**empty, **found})  # type: ignore[arg-type]


def _pairs(boxes: MacroBoxes, usable: BoolArray) -> dict[str, object]:
    """Pairs whose padded boxes overlap although they themselves do not."""
    node, free = boxes.node[usable], boxes.movable[usable]
    corners, padded = boxes.corners_um()[usable], boxes.padded_corners_um()[usable]
    pairs, shared, count = pairs_um(padded)
    a, b = pairs[:, 0], pairs[:, 1]
    own = np.minimum(corners[a, 2:], corners[b, 2:]) - np.maximum(corners[a, :2], corners[b, :2])
    apart = ~np.all(own > TOLERANCE_UM, axis=1)
    held = apart & ~free[a] & ~free[b]
    near = apart & ~held
    stored = pairs[near]
    return {
        "too_near": node[stored].reshape(-1, 2),
        "too_near_um": shared[near].min(axis=1) if len(stored) else np.zeros(0),
        # of pairs beyond those stored it is not known whether they overlap outright: the placement is illegal anyhow
        "too_near_count": len(stored) + count - len(pairs),
        "fixed_too_near": node[pairs[held]].reshape(-1, 2),
    }


def _edges(design: Design, boxes: MacroBoxes, usable: BoolArray) -> dict[str, object]:
    """Halos that leave the canvas or lie on blockages, macros too near to the canvas' edge."""
    rules = rules_of(design)
    assert rules is not None
    judged = usable & boxes.movable
    node, corners, halo = boxes.node[judged], boxes.corners_um()[judged], boxes.halo_um[judged]
    least = np.maximum(halo, rules.boundary_spacing_um[node][:, None])
    beyond = (corners + least * OUTWARD - canvas_box_um(design)) * OUTWARD
    # A side without a rule of its own is the canvas' matter, which `check` judges.
    by = np.where(least > 0, beyond, -np.inf).max(axis=1, initial=-np.inf)
    near = by > TOLERANCE_UM
    hit, shared = blocked_um(corners + halo * OUTWARD, design.blockages_um)
    own, _ = blocked_um(corners, design.blockages_um)
    told = {(int(m), int(b)) for m, b in own.reshape(-1, 2)}  # lies on it itself: told of as such
    new = np.array([(int(m), int(b)) not in told for m, b in hit.reshape(-1, 2)], dtype=np.bool_)
    hit, shared = hit.reshape(-1, 2)[new], shared.reshape(-1, 2)[new]
    return {
        "near_edge": node[near],
        "near_edge_um": by[near],
        "near_blockage": np.stack([node[hit[:, 0]], hit[:, 1]], axis=1).astype(np.int32),
        "near_blockage_um": shared,
    }


def _outside_um2(box: FloatArray, cover: FloatArray) -> float:
    """Area of a box (4,) outside the union of rectangles (R, 4); slivers within the tolerance count nothing."""
    x = np.unique(np.clip(np.concatenate([box[[0, 2]], cover[:, 0], cover[:, 2]]), box[0], box[2]))
    y = np.unique(np.clip(np.concatenate([box[[1, 3]], cover[:, 1], cover[:, 3]]), box[1], box[3]))
    area = 0.0
    for left, right in pairwise(x):
        for low, high in pairwise(y):
            if right - left <= TOLERANCE_UM or high - low <= TOLERANCE_UM:
                continue
            middle = (left + right) / 2, (low + high) / 2
            inside = (cover[:, 0] <= middle[0]) & (middle[0] <= cover[:, 2])
            inside &= (cover[:, 1] <= middle[1]) & (middle[1] <= cover[:, 3])
            if not inside.any():
                area += (right - left) * (high - low)
    return float(area)
