"""The full evaluation against measured costs, against its slow twin, and on cases worked out by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netlists.load import load_design
from netlists.model import Canvas, Design, Netlist, NodeKind, Placement
from placement.cost import cost_maps, evaluate
from placement.cost.problem import problem_of
from placement.cost.proxy import Weights

GOLDEN = [
    *(f"circuit_training/{name}" for name in (
        "ariane133_ng45", "ariane_ct", "ibm01", "ibm02", "ibm03", "ibm04", "ibm07", "ibm08", "ibm10", "ibm11", "ibm13"
    )),
    "small/sample_clustered_macroxy",
]  # fmt: skip


@pytest.mark.parametrize("folder", GOLDEN)
def test_golden_costs(benchmarks: Path, folder: str) -> None:
    """Costs measured with the reference evaluator, to 1e-9 relative."""
    golden = json.loads((benchmarks / folder / "golden.json").read_text())
    netlist = next((benchmarks / folder).glob("netlist.pb.txt*"))
    for which, expected in golden.items():
        design = load_design([netlist], benchmarks / folder / f"{which}.plc")
        assert evaluate(design, design.start).as_dict() == pytest.approx(expected, rel=1e-9, abs=0)


@given(
    seed=st.integers(0, 10**6),
    columns=st.integers(1, 9),
    rows=st.integers(1, 9),
    smoothing=st.integers(0, 3),
    macros=st.integers(1, 8),
    nets=st.integers(0, 15),
)
@settings(max_examples=250, deadline=None)
def test_equals_the_slow_twin(
    slow_cost: Callable[[Design, Placement], dict[str, float]],
    odd_design: Callable[..., Design],
    seed: int,
    columns: int,
    rows: int,
    smoothing: int,
    macros: int,
    nets: int,
) -> None:
    design = odd_design(seed, columns, rows, smoothing, macros, nets)
    fast = evaluate(design, design.start).as_dict()
    assert fast == pytest.approx(slow_cost(design, design.start), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("smoothing", [0, 3])
def test_large_grid(
    slow_cost: Callable[[Design, Placement], dict[str, float]], odd_design: Callable[..., Design], smoothing: int
) -> None:
    design = odd_design(7, 128, 128, smoothing)
    assert evaluate(design, design.start).as_dict() == pytest.approx(slow_cost(design, design.start), rel=1e-9)


def two_pin_design(**canvas: float) -> Design:
    """A soft macro of 2 x 2 µm at (1, 1) drives another at (7, 5), on 8 x 8 µm in 1 µm cells."""
    netlist = Netlist(
        node_name=("a", "b"), node_kind=np.array([NodeKind.SOFT_MACRO] * 2), node_index=np.array([0, 2]),
        width_um=np.array([2.0, 2.0]), height_um=np.array([2.0, 2.0]), port_side=np.array([-1, -1]),
        pin_name=("a/o", "b/i"), pin_node=np.array([0, 1]), pin_dx_um=np.zeros(2), pin_dy_um=np.zeros(2),
        net_start=np.array([0, 2]), net_pin=np.array([0, 1]), net_weight=np.array([0.5]),
    )  # fmt: skip
    start = Placement(
        x_um=np.array([1.0, 7.0]), y_um=np.array([1.0, 5.0]), orientation=np.zeros(2), fixed=np.zeros(2, dtype=bool)
    )
    settings = {"hor_routes_per_um": 10.0, "ver_routes_per_um": 5.0, "smoothing": 0} | canvas
    return Design(
        name="two", netlist=netlist, canvas=Canvas(width_um=8, height_um=8, columns=8, rows=8, **settings), start=start
    )


def test_by_hand() -> None:
    design = two_pin_design()
    report = evaluate(design, design.start)
    assert report.wirelength == pytest.approx(0.5 * 10)
    assert report.wirelength_cost == pytest.approx(10 / 16)
    assert report.density_cost == pytest.approx(0.5)  # 6 of 64 cells count, 8 are full
    # H: 6 cells of 1/10 on row 1, V: 4 cells of 1/5 on column 7 (a weight of 0.5 counts as 1); 6 of 128 values count.
    assert report.congestion_cost == pytest.approx((4 * 0.2 + 2 * 0.1) / 6)
    assert report.proxy_cost == pytest.approx(10 / 16 + 0.5 * 0.5 + 0.5 * (4 * 0.2 + 2 * 0.1) / 6)
    maps = cost_maps(design, design.start)
    assert np.flatnonzero(maps.horizontal[1]).tolist() == [1, 2, 3, 4, 5, 6]
    assert np.flatnonzero(maps.vertical[:, 7]).tolist() == [1, 2, 3, 4]
    assert maps.density[0, 0] == maps.density[4, 7] == 1.0
    assert maps.density.sum() == pytest.approx(8)


def test_smoothing_keeps_the_demand() -> None:
    rough, smooth = two_pin_design(), two_pin_design(smoothing=2)
    before, after = cost_maps(rough, rough.start), cost_maps(smooth, smooth.start)
    assert after.horizontal.sum() == pytest.approx(before.horizontal.sum())
    assert after.vertical.sum() == pytest.approx(before.vertical.sum())
    assert np.flatnonzero(after.vertical[1]).tolist() == [5, 6, 7]


def test_weights() -> None:
    design = two_pin_design()
    report = evaluate(design, design.start, Weights(2.0, 0.0, 1.0))
    assert report.proxy_cost == pytest.approx(2 * report.wirelength_cost + report.congestion_cost)


def test_equal_nets_are_merged(odd_design: Callable[..., Design]) -> None:
    """Merging must not be what makes costs equal: nets that cannot cost anything are gone, all others are kept."""
    design = odd_design(3, 6, 6, 1, 6, 40)
    p = problem_of(design)
    assert 0 < len(p.net_weight) < design.netlist.net_count
    assert problem_of(design) is p


def test_macros_without_pins() -> None:
    """Nothing to wire: only density and what a hard macro takes of the supply."""
    netlist = Netlist(
        node_name=("m",), node_kind=np.array([NodeKind.HARD_MACRO]), node_index=np.array([0]),
        width_um=np.array([4.0]), height_um=np.array([2.0]), port_side=np.array([-1]), pin_name=(),
        pin_node=np.zeros(0, np.int32), pin_dx_um=np.zeros(0), pin_dy_um=np.zeros(0), net_start=np.array([0]),
        net_pin=np.zeros(0, np.int32), net_weight=np.zeros(0),
    )  # fmt: skip
    at = Placement(x_um=np.array([2.0]), y_um=np.array([1.0]), orientation=np.zeros(1), fixed=np.zeros(1, dtype=bool))
    canvas = Canvas(width_um=8, height_um=8, columns=8, rows=8, ver_routes_per_um=10.0, ver_macro_routes_per_um=5.0)
    report = evaluate(Design(name="m", netlist=netlist, canvas=canvas, start=at), at)
    assert report.wirelength == report.wirelength_cost == 0
    assert report.density_cost == pytest.approx(0.5)
    # Edges lie on grid lines and the cells beyond them are not covered: nothing is left out; 6 values count, all of H.
    assert report.congestion_cost == pytest.approx(51.79 / 70.33)
