"""The two named wirelengths, against an obvious twin and the exact evaluator."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from netlists.load import load_design
from netlists.model import Design, NodeKind, Placement, pin_positions_um
from netlists.samples import make_sample
from placement.cost import evaluate
from placement.cost.hpwl import DEFINITIONS, Hpwl, hpwl

BOOKSHELF = {
    "nodes": "UCLA nodes 1.0\nA 10 40\nB 10 40\nc 2 10\nd 2 10\n",
    "nets": "UCLA nets 1.0\nNetDegree : 2 mm\nA O : 1 2\nB I : -3 0\nNetDegree : 2 mc\nA O : 0 0\nc I : 0 0\n"
    "NetDegree : 3 mixed\nA O : 0 0\nB I : 0 0\nd I : 0.5 -1\nNetDegree : 1 alone\nd O : 0 0\n",
    "wts": "UCLA wts 1.0\nmm 2\n",
    "pl": "UCLA pl 1.0\nA 0 0 : N\nB 50 20 : N\nc 80 0 : N\nd 90 90 : N\n",
    "scl": "UCLA scl 1.0\n"
    + "".join(
        f"CoreRow Horizontal\nCoordinate : {y}\nHeight : 10\nSubrowOrigin : 0 NumSites : 100\nEnd\n"
        for y in range(0, 100, 10)
    ),
}


def twin(design: Design, placement: Placement) -> tuple[float, float]:
    netlist, at = design.netlist, pin_positions_um(design.netlist, placement)
    full = macro = 0.0
    for net in range(netlist.net_count):
        pins = netlist.net_pin[netlist.net_start[net] : netlist.net_start[net + 1]].tolist()
        kinds = [netlist.node_kind[netlist.pin_node[pin]] for pin in pins]
        near = [pin for pin, kind in zip(pins, kinds, strict=True) if kind in (NodeKind.HARD_MACRO, NodeKind.PORT)]
        for some, is_full in ((pins, True), (near, False)):
            if some:
                length = sum(max(at[p][axis] for p in some) - min(at[p][axis] for p in some) for axis in (0, 1))
                full += length * netlist.net_weight[net] * is_full
                macro += length * netlist.net_weight[net] * (not is_full)
    return full, macro


def test_two_named_numbers(tmp_path: Path) -> None:
    """R64: one net between macros, one from a macro to a cell, one of both."""
    for kind, text in BOOKSHELF.items():
        (tmp_path / f"t.{kind}").write_text(text)
    design = load_design(tmp_path)
    found = hpwl(design, design.start)
    mm, mc, mixed = (50 - 4) + (20 - 2), (81 - 5) + (20 - 5), (91.5 - 5) + (94 - 20)
    assert found == Hpwl(
        hpwl_um=2 * mm + mc + mixed, hpwl_unweighted_um=mm + mc + mixed, macro_hpwl_um=2 * mm + 50 + 20, macro_nets=2
    )
    assert DEFINITIONS.keys() == {"hpwl_um", "hpwl_unweighted_um", "macro_hpwl_um"}


def test_against_the_twin_and_the_evaluator() -> None:
    design = make_sample("small", 3)
    found = hpwl(design, design.start)
    full, macro = twin(design, design.start)
    assert found.hpwl_um == pytest.approx(full, rel=1e-12)
    assert found.macro_hpwl_um == pytest.approx(macro, rel=1e-12)
    assert found.hpwl_um == pytest.approx(evaluate(design, design.start).wirelength, rel=1e-12)


def test_cells_do_not_count_as_macros_in_the_cost(tmp_path: Path) -> None:
    """Density and blocked supply are the macros' alone, whatever lies about of cells; their pins pull all the same."""
    for kind, text in BOOKSHELF.items():
        (tmp_path / f"t.{kind}").write_text(text)
    design = load_design(tmp_path)
    x = design.start.x_um.copy()
    x[design.netlist.node_kind == NodeKind.CELL] -= 20
    moved = design.start.moved(x_um=x)
    before, after = evaluate(design, design.start), evaluate(design, moved)
    assert before.density_cost == after.density_cost
    assert before.wirelength - after.wirelength == pytest.approx(2 * 20)
    assert before.wirelength == pytest.approx(hpwl(design, design.start).hpwl_um)


def test_nets_of_one_pin_change_no_cost(tmp_path: Path) -> None:
    """R04's kind in Bookshelf: a net without a second pin adds 0 to every metric, the normalised ones too."""
    for kind, text in BOOKSHELF.items():
        (tmp_path / f"t.{kind}").write_text(text)
    with_one = load_design(tmp_path)
    (tmp_path / "t.nets").write_text(BOOKSHELF["nets"].split("NetDegree : 1")[0])
    without = load_design(tmp_path)
    assert evaluate(with_one, with_one.start) == evaluate(without, without.start)


def test_a_flat_design(benchmarks: Path) -> None:
    design = load_design(benchmarks / "bookshelf" / "ibm01")
    spread = np.random.default_rng(0).uniform(0, design.canvas.width_um, design.netlist.node_count)
    placement = design.start.moved(x_um=np.where(design.start.fixed, design.start.x_um, spread))
    assert hpwl(design, placement).hpwl_um == pytest.approx(evaluate(design, placement).wirelength, rel=1e-9)
    assert 0 < hpwl(design, placement).macro_hpwl_um < hpwl(design, placement).hpwl_um
