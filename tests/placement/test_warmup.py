"""After `warm_up` no job compiles a kernel: every signature that the methods meet on real designs is there already."""

from __future__ import annotations

import subprocess
import sys

_SCRIPT = """
import gc
from dataclasses import replace
import numpy as np
from numba.core.dispatcher import Dispatcher

from placement.warmup import warm_up

def signatures():
    return {
        (found.py_func.__module__, found.py_func.__qualname__, str(signature))
        for found in gc.get_objects()
        if isinstance(found, Dispatcher)
        for signature in found.overloads
    }

warm_up()
before = signatures()
folders = {module.split(".")[1] for module, _, _ in before if module.startswith("placement.")}
assert folders == {"analytic", "cells", "cost", "env", "legal", "search"}, folders

from netlists.constraints import Constraints
from netlists.model import NodeKind
from netlists.samples import make_sample
from placement.analytic import global_place, place_analytically
from placement.cells import CellOptions, place_cells
from placement.cost import cost_maps, evaluate
from placement.env import MacroEnv, VectorEnv, greedy_episode, random_episode
from placement.layout import pack_layout, unpack_layout
from placement.legal import check, check_feasible, legalise, pack, separate, strict_overlaps
from placement.search import anneal, improve

sample = make_sample("small", 1)
hole = np.array([[0.0, 0.0, 0.05 * sample.canvas.width_um, 0.05 * sample.canvas.height_um]])
held = replace(sample, blockages_um=hole, start=replace(pack(replace(sample, blockages_um=hole)), fixed=np.where(
    np.arange(sample.netlist.node_count) == sample.netlist.nodes_of(NodeKind.HARD_MACRO)[0], True, sample.start.fixed)))
lost = replace(sample, has_start=False, start=sample.start.moved(x_um=np.where(sample.start.fixed,
    sample.start.x_um, np.nan)))
tiny = replace(sample, canvas=replace(sample.canvas, columns=1, rows=1))
n, W, H = sample.netlist.node_count, sample.canvas.width_um, sample.canvas.height_um
ruled = replace(sample, constraints=Constraints(
    halo_um=np.full((n, 4), 0.001 * W), orientations=np.zeros(n, np.uint8), boundary_spacing_um=np.full(n, 0.01 * W),
    region=np.where(np.arange(n) % 3 == 0, 0, -1), region_names=("left",), macro_spacing_um=0.003 * W,
    regions_um=(np.array([[0.0, 0.0, 0.7 * W, H], [0.0, 0.0, W, 0.6 * H]]),)))
for design in (sample, held, lost, tiny, ruled):
    check_feasible(design)
    start = legalise(design, design.start)
    x, y, orientation = unpack_layout(pack_layout(start.x_um, start.y_um, start.orientation), len(start.x_um))
    start = design.start.moved(x_um=x, y_um=y, orientation=orientation)
    assert check(design, pack(design)).legal
    separate(design, start), strict_overlaps(design, start), evaluate(design, start), cost_maps(design, start)
    improve(design, start, trials=2000, seed=1)
    improve(design, start, seconds=0.2, seed=1)
    anneal(design, start, trials=2000, seed=1)
    random_episode(MacroEnv(design), seed=0)
    greedy_episode(MacroEnv(design))
    env = VectorEnv(design, count=3)
    env.step(np.array([np.flatnonzero(mask)[0] for mask in env.reset().mask], dtype=np.int32))
for from_start in (True, False):
    global_place(sample, seed=0, seeds=2, steps=20, from_start=from_start)
place_analytically(sample, legalise(sample, sample.start), seconds=0.5, seed=0)

kind = np.where(sample.netlist.node_kind == NodeKind.SOFT_MACRO, NodeKind.CELL, sample.netlist.node_kind)
flat = replace(sample, netlist=replace(sample.netlist, node_kind=kind))
for blockages in (flat.blockages_um, hole):
    place_cells(replace(flat, blockages_um=blockages), flat.start, CellOptions(rounds=15))

fresh = sorted(s for s in signatures() - before if s[0].startswith("placement"))
assert not fresh, "compiled after the warm-up: " + "; ".join(map(str, fresh))
print("nothing new of", len(before))
"""


def test_no_method_compiles_after_the_warm_up() -> None:
    """In a process of its own, as other tests call kernels with types that no job has."""
    ran = subprocess.run([sys.executable, "-c", _SCRIPT], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert "nothing new of" in ran.stdout
