"""Where each macro may go, as everything constructive sees it: padded boxes, obstacles, and rooms for their centres.

In: a design and an orientation a macro. Out: `Space`. Packer, legaliser, environment and global placement work on it
and need not know why a box is larger or a place forbidden: halos and macro spacing grow the boxes, regions and
distances from the boundary become *rooms*, rectangles one of which must hold the centre of a padded box. Exact: a macro
is legal if and only if its padded box keeps off the others and the obstacles, and its centre lies in one of its rooms
(in the canvas where it has none). Rules: docs/constraints.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from netlists.constraints import NO_REGION
from netlists.model import BoolArray, ByteArray, Design, FloatArray, IntArray, NodeKind, Orientation, Placement
from placement.legal.boxes import TOLERANCE_UM, canvas_box_um, macro_boxes, rules_of
from placement.legal.free_space import FIT_UM, free_space

NOWHERE_UM = -1e12  # a room that no free place reaches


@dataclass(frozen=True, eq=False, kw_only=True)
class Space:
    """M movable hard macros, O obstacles. Padded boxes lie inside `canvas_um`. Lengths µm."""

    canvas_um: FloatArray  # (4,) for padded boxes
    obstacles_um: FloatArray  # (O, 4) for padded boxes
    node: IntArray  # (M,) into the netlist's nodes
    width_um: FloatArray  # (M,) of padded boxes
    height_um: FloatArray
    offset_um: FloatArray  # (M, 2) from the macro's centre to that of its padded box
    room_start: IntArray  # (M+1,) macro m has rooms_um[room_start[m]:room_start[m+1]]; none = anywhere
    rooms_um: FloatArray  # (Q, 4) for centres of padded boxes; may be without width or height

    def rooms_of(self, macro: int) -> FloatArray:
        return self.rooms_um[self.room_start[macro] : self.room_start[macro + 1]]

    def in_order(self, order: IntArray) -> Space:
        """The same with its macros in another order: order (M,) of their numbers here."""
        each = [self.rooms_of(m) for m in order]
        return replace(
            self,
            node=self.node[order],
            width_um=self.width_um[order],
            height_um=self.height_um[order],
            offset_um=self.offset_um[order],
            room_start=np.concatenate([[0], np.cumsum([len(one) for one in each])]).astype(np.int32),
            rooms_um=np.concatenate([np.zeros((0, 4)), *each]),
        )

    def bounds_um(self) -> FloatArray:
        """(M, 4) least x, least y, largest x, largest y of the macros' own centres, as far as rectangles can say."""
        half = np.stack([self.width_um, self.height_um], axis=1) / 2
        bounds = np.concatenate([self.canvas_um[:2] + half, self.canvas_um[2:] - half], axis=1)
        for m in range(len(self.node)):
            if len(rooms := self.rooms_of(m)):
                bounds[m] = *rooms[:, :2].min(axis=0), *rooms[:, 2:].max(axis=0)
        return bounds - np.tile(self.offset_um, 2)


def with_clearance(space: Space, clearance_um: float) -> Space:
    """Canvas less, all else plus half the clearance on every side: what then touches is `clearance_um` apart.

    Rooms are less by all of it on every side, or down to their middle where they are too small for that.
    """
    half = clearance_um / 2
    outward = np.array([-half, -half, half, half])
    shrink = np.minimum(clearance_um, (space.rooms_um[:, 2:] - space.rooms_um[:, :2]) / 2)
    return replace(
        space,
        canvas_um=space.canvas_um - outward,
        obstacles_um=space.obstacles_um + outward,
        width_um=space.width_um + clearance_um,
        height_um=space.height_um + clearance_um,
        rooms_um=space.rooms_um + np.concatenate([shrink, -shrink], axis=1),
    )


def largest_rectangles_um(design: Design, region: int, boundary_spacing_um: float) -> FloatArray:
    """(R, 4) all maximal rectangles in the canvas less `boundary_spacing_um`, and in the union of a region.

    A box lies in the union exactly if it lies in one of them.
    """
    inset = boundary_spacing_um * np.array([1.0, 1.0, -1.0, -1.0])
    box = canvas_box_um(design) + inset
    if box[0] > box[2] or box[1] > box[3]:
        return np.zeros((0, 4))
    if region == NO_REGION or design.constraints is None:
        return box[None, :]
    given = design.constraints.regions_um[region]
    cut = np.concatenate([np.maximum(given[:, :2], box[:2]), np.minimum(given[:, 2:], box[2:])], axis=1)
    cut = cut[np.all(cut[:, :2] <= cut[:, 2:], axis=1)]
    if not len(cut):
        return cut
    around = np.array([*cut[:, :2].min(axis=0), *cut[:, 2:].max(axis=0)])
    free, count = free_space(around, uncovered_um(around, cut))
    return free[:count]


def uncovered_um(box: FloatArray, cover: FloatArray) -> FloatArray:
    """(H, 4) the rectangles of the grid of all edges that lie in `box` (4,) and in none of `cover` (R, 4)."""
    x = np.unique(np.clip(np.concatenate([box[[0, 2]], cover[:, 0], cover[:, 2]]), box[0], box[2]))
    y = np.unique(np.clip(np.concatenate([box[[1, 3]], cover[:, 1], cover[:, 3]]), box[1], box[3]))
    middle_x, middle_y = (x[1:] + x[:-1]) / 2, (y[1:] + y[:-1]) / 2
    hidden = np.zeros((len(middle_x), len(middle_y)), dtype=np.bool_)
    for llx, lly, urx, ury in cover:
        hidden |= np.outer((middle_x > llx) & (middle_x < urx), (middle_y > lly) & (middle_y < ury))
    i, j = np.nonzero(~hidden)
    return np.stack([x[i], y[j], x[i + 1], y[j + 1]], axis=1)


def _centres(rectangles: FloatArray, below_um: FloatArray, above_um: FloatArray) -> FloatArray:
    """Rooms (·, 4) of a point with a box that reaches `below_um` (2,) and `above_um` (2,) from it: box in a rectangle.

    A rectangle that is too small by no more than FIT_UM gives its middle.
    """
    low, high = rectangles[:, :2] + below_um, rectangles[:, 2:] - above_um
    fits = np.all(low <= high + FIT_UM, axis=1)
    low, high = low[fits], high[fits]
    middle = (low + high) / 2
    return np.concatenate([np.where(low > high, middle, low), np.where(low > high, middle, high)], axis=1)


def _common(a: FloatArray, b: FloatArray) -> FloatArray:
    """What each rectangle of `a` shares with each of `b`, without those that lie in another."""
    low = np.maximum(a[:, None, :2], b[None, :, :2]).reshape(-1, 2)
    high = np.minimum(a[:, None, 2:], b[None, :, 2:]).reshape(-1, 2)
    keep = np.all(low <= high + FIT_UM, axis=1)
    both = np.concatenate([np.minimum(low, high), high], axis=1)[keep]
    both = np.unique(both, axis=0)
    if len(both) > 1:
        inside = np.all(both[:, None, :2] >= both[None, :, :2], axis=2) & np.all(
            both[:, None, 2:] <= both[None, :, 2:], axis=2
        )
        np.fill_diagonal(inside, False)
        both = both[~inside.any(axis=1)]
    return both


class _Rooms:
    """Rooms of the macros of a design, for macros' own centres; what many macros share is worked out once."""

    def __init__(self, design: Design) -> None:
        self.design = design
        self.rules = rules_of(design)
        spaced = self.rules is not None and self.rules.macro_spacing_um > 0 and len(design.blockages_um)
        canvas = canvas_box_um(design)
        # With a macro spacing, padded boxes may reach over blockages: then the rooms keep the halo boxes off them.
        free, count = free_space(canvas, design.blockages_um.copy()) if spaced else (canvas[None, :], 1)
        self.open_um = free[:count]
        self.known: dict[tuple[int, float], FloatArray] = {}
        self.rooms: dict[tuple[object, ...], FloatArray] = {}

    @property
    def needed(self) -> bool:
        """Whether padded boxes in the canvas and off the obstacles are not enough."""
        rules = self.rules
        return rules is not None and bool(
            rules.macro_spacing_um > 0 or rules.boundary_spacing_um.any() or np.any(rules.region != NO_REGION)
        )

    def of(self, node: int, width: float, height: float, halo: FloatArray) -> FloatArray:
        """(R, 4) for the centre of this macro; none: it fits nowhere."""
        assert self.rules is not None
        key = int(self.rules.region[node]), float(self.rules.boundary_spacing_um[node])
        if key not in self.known:
            self.known[key] = largest_rectangles_um(self.design, *key)
        whole = (*key, width, height, *halo)
        if whole not in self.rooms:
            half = np.array([width, height]) / 2
            self.rooms[whole] = _common(
                _centres(self.known[key], half, half), _centres(self.open_um, half + halo[:2], half + halo[2:])
            )
        return self.rooms[whole]


def space_of(design: Design, orientation: ByteArray) -> Space:
    """The space of the movable hard macros in these orientations (N,). A macro that fits nowhere has a room beyond
    every free place, so that no way to place it succeeds."""
    held_in = np.where(design.start.fixed, design.start.orientation, orientation)
    boxes = macro_boxes(design, design.start.moved(orientation=held_in))
    free = boxes.movable
    node, margin, halo = boxes.node[free], boxes.margin_um[free], boxes.halo_um[free]
    width, height = boxes.width_um[free], boxes.height_um[free]
    offset = (margin[:, 2:] - margin[:, :2]) / 2
    rules, finder = rules_of(design), _Rooms(design)
    canvas, held = canvas_box_um(design), boxes.padded_corners_um()[~free]
    start, rooms = np.zeros(len(node) + 1, np.int32), np.zeros((0, 4))
    obstacles = np.concatenate([held, design.blockages_um])
    if finder.needed:
        assert rules is not None
        each = []
        for m, n in enumerate(node.tolist()):
            found = finder.of(n, float(width[m]), float(height[m]), halo[m])
            each.append((found if len(found) else np.full((1, 4), NOWHERE_UM)) + np.tile(offset[m], 2))
        rooms = np.concatenate([rooms, *each])
        start = np.concatenate([[0], np.cumsum([len(one) for one in each])]).astype(np.int32)
        reach = rules.macro_spacing_um / 2  # padded boxes reach so far out of the canvas
        canvas = canvas + reach * np.array([-1.0, -1.0, 1.0, 1.0])
        if rules.macro_spacing_um > 0:
            obstacles = held
    return Space(
        canvas_um=canvas,
        obstacles_um=obstacles,
        node=node,
        width_um=width + margin[:, 0] + margin[:, 2],
        height_um=height + margin[:, 1] + margin[:, 3],
        offset_um=offset,
        room_start=start,
        rooms_um=rooms,
    )


def allowed_orientations(design: Design) -> BoolArray:
    """(N, 8) bool: in which orientations each node may be. What is fixed: the start's."""
    start = design.start.orientation
    every = np.arange(len(Orientation))
    allowed = (every[None, :] >= Orientation.E) == (start[:, None] >= Orientation.E)
    rules = rules_of(design)
    if rules is not None:
        hard = design.netlist.node_kind == NodeKind.HARD_MACRO
        own = ((rules.orientations[:, None] >> every[None, :]) & 1).astype(np.bool_)
        allowed = np.where((hard & (rules.orientations != 0))[:, None], own, allowed)
    return np.where(design.start.fixed[:, None], every[None, :] == start[:, None], allowed)


def fits_somewhere(design: Design, orientation: ByteArray) -> BoolArray:
    """(N,) bool: which movable hard macros have any place of their own in these orientations (N,); others True."""
    space = space_of(design, orientation)
    result = np.ones(design.netlist.node_count, dtype=np.bool_)
    room = space.canvas_um[2:] - space.canvas_um[:2] + TOLERANCE_UM
    result[space.node] = (space.width_um <= room[0]) & (space.height_um <= room[1])
    for m in np.flatnonzero(np.diff(space.room_start)):
        result[space.node[m]] &= bool(space.rooms_of(m)[0, 0] > NOWHERE_UM / 2)
    return result


def turned_to_fit(design: Design, placement: Placement) -> Placement:
    """The placement with every movable hard macro in an orientation that it may have and, where one does, fits in.

    An orientation that will do stays; else the first that will, of the same class before the other.
    """
    if rules_of(design) is None or design.constraints is None or not design.constraints.orientations.any():
        return placement
    allowed = allowed_orientations(design)
    hard = design.netlist.nodes_of(NodeKind.HARD_MACRO)
    good = {o: fits_somewhere(design, np.full(len(allowed), int(o), np.int8)) for o in Orientation}
    orientation = placement.orientation.copy()
    for node in hard[~design.start.fixed[hard]]:
        now = int(orientation[node])
        choices = sorted((int(o) for o in Orientation if allowed[node, o]), key=lambda o: (o != now, (o ^ now) & 4, o))
        orientation[node] = next((o for o in choices if good[Orientation(o)][node]), choices[0])
    return placement.moved(orientation=orientation)
