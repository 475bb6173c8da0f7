"""Soft macros at an episode's end: a few sweeps that trade wirelength against crowding, in milliseconds.

In: positions with all hard macros placed. Out: positions of the soft macros. What a sweep does: soft_kernels.py. Starts
at the design's soft places. Called by the environment once an episode. Not the optimiser: `placement.search` betters
what comes out.
"""

from __future__ import annotations

import numpy as np

from netlists.model import Design, NodeKind, Placement
from placement.cost import evaluate
from placement.cost.problem import problem_of
from placement.env.soft_kernels import new_work, place_soft

# Weight of crowding in each sweep, over the design's own. Falling weights spread the soft macros first and then let
# wirelength draw them together: on random and greedy episodes of three benchmark designs that takes 1 to 4 % off the
# proxy cost of equal weights. Rising ones, wirelength first, add 2 to 5 %.
RAMP = (4.0, 2.0, 1.0, 1.0)
LONG_RAMP = (16.0, 8.0, 4.0, 2.0, 1.0, 1.0)  # for soft macros that start from made-up places
# Wirelength cost that crowding 1 in every cell is worth. The best value depends on how scarce routing is (0.4 on
# ariane133_ng45, 0.1 on ibm10), so each design takes the one that gives its reference the least proxy cost.
STRENGTHS = (0.1, 0.2, 0.4, 0.8, 1.6)


class SoftPlacer:
    """Places the soft macros of one design, again and again. Holds the arrays that stay the same; one thread."""

    def __init__(self, design: Design, reference: Placement) -> None:
        """`reference`: a legal placement of the design, on which the weight of crowding is set."""
        self._p = problem_of(design)
        netlist = design.netlist
        movable = (netlist.node_kind == NodeKind.SOFT_MACRO) & ~design.start.fixed
        area = netlist.width_um * netlist.height_um
        soft = np.flatnonzero(movable)
        self._work = new_work(self._p)
        self._ramp = np.array(RAMP if design.has_start else LONG_RAMP)
        self._soft = soft[np.argsort(-area[soft], kind="stable")].astype(np.int32)

        def cost(strength: float) -> float:
            return evaluate(design, self.place(reference, strength)).proxy_cost

        self.strength = min(STRENGTHS, key=cost) if len(soft) else STRENGTHS[0]

    def place(self, placement: Placement, strength: float | None = None) -> Placement:
        """The same placement with its movable soft macros placed anew."""
        p = self._p
        x, y, orientation = placement.x_um.copy(), placement.y_um.copy(), placement.orientation.copy()
        per_cell = (self.strength if strength is None else strength) / (p.rows * p.columns)
        place_soft(p, self._soft, x, y, orientation, per_cell * self._ramp, self._work)
        return placement.moved(x_um=x, y_um=y)
