"""Clustering: what the merged nets must be, against an obvious twin; places; determinism."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from netlists.clustering import ClusterOptions, cluster
from netlists.clustering.files import write_clustered
from netlists.clustering.hypergraph import node_nets
from netlists.clustering.merged import merged_design
from netlists.clustering.seeds import seeds
from netlists.clustering.spread import join_small, split_spread
from netlists.load import load_design
from netlists.model import Canvas, Database, Design, Netlist, NodeKind, Placement


def flat(rng: np.random.Generator, cells: int = 60, nets: int = 90) -> Design:
    """Two macros, four ports, cells of which each drives a net, at random places."""
    kind = np.array([NodeKind.PORT] * 4 + [NodeKind.HARD_MACRO] * 2 + [NodeKind.CELL] * cells)
    n = len(kind)
    members = [rng.choice(n, size=rng.integers(2, 6), replace=False) for _ in range(nets)]
    owner = np.concatenate([np.arange(4), *(m[m >= 4] for m in members)])
    pins, at = [], 4
    for m in members:
        row = []
        for node in m:
            if node < 4:
                row.append(int(node))
            else:
                row.append(at)
                at += 1
        pins.append(row)
    netlist = Netlist(
        node_name=tuple(f"n{i}" for i in range(n)),
        node_kind=kind,
        node_index=np.arange(n),
        width_um=np.where(kind == NodeKind.PORT, 0.0, np.where(kind == NodeKind.HARD_MACRO, 10.0, 1.0)),
        height_um=np.where(kind == NodeKind.PORT, 0.0, np.where(kind == NodeKind.HARD_MACRO, 5.0, 2.0)),
        port_side=np.full(n, -1),
        pin_name=tuple(f"n{node}" if i < 4 else f"n{node}/p{i}" for i, node in enumerate(owner)),
        pin_node=owner,
        pin_dx_um=np.where(np.arange(len(owner)) < 4, 0.0, 0.25),
        pin_dy_um=np.zeros(len(owner)),
        net_start=np.concatenate([[0], np.cumsum([len(row) for row in pins])]),
        net_pin=np.concatenate(pins),
        net_weight=np.ones(len(pins)),
    )
    x, y = rng.uniform(0, 100, n), rng.uniform(0, 80, n)
    start = Placement(x_um=x, y_um=y, orientation=np.zeros(n), fixed=kind == NodeKind.PORT)
    canvas = Canvas(width_um=100, height_um=80, columns=10, rows=8)
    return Design(
        name="flat",
        netlist=netlist,
        canvas=canvas,
        start=start,
        database=Database(units_per_um=1000, origin_x=7, grid=5),
    )


def groups_of(design: Design, rng: np.random.Generator, count: int) -> np.ndarray:
    cells = design.netlist.nodes_of(NodeKind.CELL)
    group = np.full(design.netlist.node_count, -1)
    group[cells] = np.concatenate([np.arange(count), rng.integers(0, count, len(cells) - count)])
    return group


@pytest.mark.parametrize("seed", range(5))
def test_merged_nets_against_a_twin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    design = flat(rng)
    group = groups_of(design, rng, 7)
    clustered, node_of = merged_design(design, group, 2.0)
    flat_list, merged = design.netlist, clustered.netlist

    def name_of(netlist: Netlist, pin: int) -> str:
        node = netlist.pin_node[pin]
        if netlist is flat_list:
            return netlist.pin_name[pin] if group[node] < 0 else f"Grp_{group[node]}"
        return netlist.node_name[node] if netlist.node_kind[node] == NodeKind.SOFT_MACRO else netlist.pin_name[pin]

    def nets_of(netlist: Netlist) -> list[list[str]]:
        return [
            [name_of(netlist, pin) for pin in netlist.net_pin[start:end]]
            for start, end in zip(netlist.net_start[:-1], netlist.net_start[1:], strict=True)
        ]

    expected: Counter[tuple[str, frozenset[str]]] = Counter()
    of_one_pin: dict[str, set[str]] = {}  # what a macro pin or port drives
    for driver, *sinks in nets_of(flat_list):
        others = frozenset(sinks) - {driver}
        if others and driver.startswith("Grp"):
            expected[driver, others] += 1
        elif others:
            of_one_pin.setdefault(driver, set()).update(others)
    expected.update({(driver, frozenset(others)): 1 for driver, others in of_one_pin.items()})
    found: Counter[tuple[str, frozenset[str]]] = Counter()
    for names, weight in zip(nets_of(merged), merged.net_weight, strict=True):
        assert len(set(names)) == len(names)
        found[names[0], frozenset(names[1:])] += int(weight)
    assert found == expected
    assert merged.counts()["cells"] == 0
    assert [merged.node_name[node] for node in node_of[:6]] == list(flat_list.node_name[:6])


def test_soft_macros_have_the_area_and_place_of_their_cells() -> None:
    rng = np.random.default_rng(1)
    design = flat(rng)
    group = groups_of(design, rng, 5)
    clustered, node_of = merged_design(design, group, 1.5)
    netlist = clustered.netlist
    for number in range(5):
        cells, node = np.flatnonzero(group == number), netlist.node_name.index(f"Grp_{number}")
        assert set(node_of[cells]) == {node}
        assert netlist.width_um[node] * netlist.height_um[node] == pytest.approx(1.5 * 2 * len(cells))
        assert netlist.width_um[node] == netlist.height_um[node]
        assert clustered.start.x_um[node] == pytest.approx(design.start.x_um[cells].mean())
        assert clustered.start.y_um[node] == pytest.approx(design.start.y_um[cells].mean())


def test_written_files_read_back_as_the_same_design(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    design = flat(rng)
    clustered, _ = merged_design(design, groups_of(design, rng, 5), 2.0)
    back = load_design(write_clustered(tmp_path / "c", clustered))
    for name in ("node_name", "pin_name"):
        assert getattr(back.netlist, name) == getattr(clustered.netlist, name)
    for name in ("node_kind", "node_index", "width_um", "pin_node", "pin_dx_um", "net_start", "net_pin", "net_weight"):
        assert np.array_equal(getattr(back.netlist, name), getattr(clustered.netlist, name)), name
    assert np.array_equal(back.start.x_um, clustered.start.x_um)
    assert back.database == clustered.database
    assert back.has_start


def test_node_nets_have_each_node_once_driver_first() -> None:
    design = flat(np.random.default_rng(3))
    netlist, nets = design.netlist, node_nets(design.netlist)
    for net in range(netlist.net_count):
        pins = netlist.net_pin[netlist.net_start[net] : netlist.net_start[net + 1]]
        nodes = nets.node[nets.start[net] : nets.start[net + 1]]
        assert nodes[0] == netlist.pin_node[pins[0]]
        assert sorted(nodes) == sorted(set(netlist.pin_node[pins]))


def test_seeds_join_what_they_share_most_nets_with() -> None:
    rng = np.random.default_rng(4)
    design = flat(rng)
    netlist, nets = design.netlist, node_nets(design.netlist)
    seed, count = seeds(design, nets, max_degree=4)
    macros = netlist.nodes_of(NodeKind.HARD_MACRO)
    assert seed[macros].tolist() == [0, 1]
    assert count <= 6
    fixed = netlist.node_kind != NodeKind.CELL
    for cell in np.flatnonzero(~fixed):
        votes: Counter[int] = Counter()
        for net in range(netlist.net_count):
            nodes = nets.node[nets.start[net] : nets.start[net + 1]]
            if cell in nodes and len(nodes) <= 4:
                votes.update(int(seed[node]) for node in nodes if fixed[node])
        best = min(votes, key=lambda one: (-votes[one], one)) if votes else -1
        assert seed[cell] == best


def test_spread_groups_are_split_and_small_ones_join() -> None:
    rng = np.random.default_rng(5)
    x, y = rng.uniform(0, 100, 200), rng.uniform(0, 100, 200)
    before = rng.integers(0, 4, 200)
    group = split_spread(before, x, y, 30.0)
    for number in range(group.max() + 1):
        cells = np.flatnonzero(group == number)
        assert np.ptp(x[cells]) <= 30
        assert np.ptp(y[cells]) <= 30
        assert len(set(before[cells])) == 1
    small = np.array([0] * 10 + [1] * 2 + [2] * 10)
    at = np.array([0.0] * 10 + [5.0] * 2 + [90.0] * 10)
    joined = join_small(small, at, at, fewest=5, reach_um=20, connected=np.array([[0, 1, 1], [1, 2, 9]]))
    assert joined.tolist() == [0] * 12 + [1] * 10


@pytest.mark.usefixtures("partitioner")
def test_equal_input_gives_equal_clusters() -> None:
    design = flat(np.random.default_rng(6), cells=400, nets=600)
    first, second = (cluster(design, ClusterOptions(groups=20)) for _ in range(2))
    assert np.array_equal(first.node_of, second.node_of)
    cells = design.netlist.nodes_of(NodeKind.CELL)
    assert (first.design.netlist.node_kind[first.node_of[cells]] == NodeKind.SOFT_MACRO).all()
    assert "Mt-KaHyPar" in first.design.derived["soft macros"]


@pytest.mark.usefixtures("partitioner")
def test_without_places_nothing_is_split() -> None:
    from dataclasses import replace

    design = replace(flat(np.random.default_rng(7), cells=400, nets=600), has_start=False)
    assert "split" not in cluster(design, ClusterOptions(groups=20)).design.derived["soft macros"]


def test_a_design_without_cells_comes_back(tiny: str, tmp_path: Path) -> None:
    (tmp_path / "tiny.pb.txt").write_text(tiny)
    design = load_design(tmp_path / "tiny.pb.txt")
    assert cluster(design).design is design
