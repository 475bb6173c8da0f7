"""The flip pass at an episode's end: hard macros stay in place and take the orientation with the least wirelength.

In: a whole placement. Out: orientations. One macro after the other, each only into orientations that leave its box and
halo as they are (`harmless`), so legality does not change. Wirelength is the exact one, all else as it stands at that
moment; called after the soft macros are placed, for an option of the environment (`EnvConfig.final_flips`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from netlists.model import Design, FloatArray, IntArray, Orientation
from placement.cost.problem import Problem
from placement.env.soft_kernels import place_terminals
from placement.kernels import allocating
from placement.legal.boxes import halos_um
from placement.legal.space import allowed_orientations

ORIENTATIONS = len(Orientation)


def harmless(design: Design, orientation: NDArray[np.int8], macros: IntArray) -> NDArray[np.bool_]:
    """(N, 8) bool: orientations that the nodes `macros` may take instead of their own, given by `orientation` (N,):
    allowed to it, of the same class (N FN S FS keep width and height, E FE W FW swap them), with the same halo."""
    allowed = np.zeros((design.netlist.node_count, ORIENTATIONS), np.bool_)
    own = orientation[macros]
    halo = halos_um(design, macros, own)
    may = allowed_orientations(design)[macros]
    for o in range(ORIENTATIONS):
        turned = np.full(len(macros), o, np.int8)
        same = np.all(halos_um(design, macros, turned) == halo, axis=1)
        allowed[macros, o] = may[:, o] & same & ((own >= Orientation.E) == (o >= Orientation.E))
    return allowed


@allocating
def _wirelength(
    p: Problem, node: int, x: FloatArray, y: FloatArray, o: NDArray[np.int8], tx: FloatArray, ty: FloatArray
) -> float:
    """Weighted half-perimeters of a node's nets. tx, ty (T,): places of all terminals; the node's own are written."""
    place_terminals(p, node, x, y, o, tx, ty)
    total = 0.0
    for n in range(p.node_net_start[node], p.node_net_start[node + 1]):
        net = p.node_net[n]
        x_low, x_high, y_low, y_high = np.inf, -np.inf, np.inf, -np.inf
        for k in range(p.net_start[net], p.net_start[net + 1]):
            term = p.net_term[k]
            x_low, x_high = min(x_low, tx[term]), max(x_high, tx[term])
            y_low, y_high = min(y_low, ty[term]), max(y_high, ty[term])
        total += p.net_weight[net] * (x_high - x_low + y_high - y_low)
    return total


@allocating
def flip_macros(
    p: Problem,
    macros: IntArray,
    allowed: NDArray[np.bool_],
    x: FloatArray,
    y: FloatArray,
    orientation: NDArray[np.int8],
) -> float:
    """One pass over the nodes `macros`, whose orientations are `allowed` (N, 8); orientation (N,) is updated.

    Returns by how much the wirelength cost falls.
    """
    tx, ty = np.empty(len(p.term_dx)), np.empty(len(p.term_dx))
    for node in range(len(x)):
        place_terminals(p, node, x, y, orientation, tx, ty)
    gain = 0.0
    for node in macros:
        first = orientation[node]
        best, before = first, _wirelength(p, node, x, y, orientation, tx, ty)
        least = before
        for o in range(ORIENTATIONS):
            if not allowed[node, o]:
                continue
            orientation[node] = o
            length = _wirelength(p, node, x, y, orientation, tx, ty)
            if length < least:
                best, least = o, length
        orientation[node] = best
        place_terminals(p, node, x, y, orientation, tx, ty)
        gain += before - least
    return gain * p.wirelength_scale
