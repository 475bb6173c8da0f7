"""The design as a graph: nodes in order, links against a slow twin, buckets and their limit."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from numpy.testing import assert_allclose

from netlists.model import NodeKind
from netlists.samples import make_sample
from placement.cost.problem import problem_of
from placement.env import MacroEnv, graph
from placement.env.graph import GraphTooLargeError, NodeFeature, make_graph


@pytest.fixture(scope="module")
def design():
    return make_sample("small", 0)


def slow_links(design, number) -> dict[tuple[int, int], float]:
    p = problem_of(design)
    term_node = np.repeat(np.arange(len(number)), np.diff(p.node_term_start))
    links: dict[tuple[int, int], float] = defaultdict(float)
    for net in range(len(p.net_weight)):
        terms = p.net_term[p.net_start[net] : p.net_start[net + 1]]
        nodes = list(dict.fromkeys(int(number[term_node[t]]) for t in terms if number[term_node[t]] >= 0))
        for other in nodes[1:]:
            links[min(nodes[0], other), max(nodes[0], other)] += p.net_weight[net] / (len(nodes) - 1)
    return links


def test_links_are_the_nets(design):
    made = make_graph(design)
    order = MacroEnv(design).order
    number, count, _ = graph._node_of(design, order)
    wanted = slow_links(design, number)
    found = {(int(a), int(b)): float(w) for (a, b), w in zip(made.link, made.weight, strict=True) if w > 0}
    assert found.keys() == wanted.keys()
    heaviest = max(wanted.values())
    assert_allclose([found[k] for k in wanted], [w / heaviest for w in wanted.values()], rtol=1e-6)
    assert made.present.sum() == count
    assert np.all(np.diff(made.weight) <= 0)


def test_macros_come_first_in_placing_order(design):
    made = make_graph(design)
    order = MacroEnv(design).order
    macros = made.node[: len(order)]
    assert np.all(macros[:, NodeFeature.MACRO] == 1)
    assert_allclose(macros[:, NodeFeature.WIDTH], design.netlist.width_um[order] / design.canvas.width_um, rtol=1e-6)
    kinds = made.node[:, [NodeFeature.MACRO, NodeFeature.FIXED, NodeFeature.SOFT, NodeFeature.PORTS]]
    assert np.array_equal(kinds.sum(axis=1) == 1, made.present)
    assert kinds[:, 2].sum() == (design.netlist.node_kind == NodeKind.SOFT_MACRO).sum()
    assert np.all(np.isfinite(made.node))
    assert made.node.min() >= 0


def test_a_design_beyond_the_largest_bucket_is_refused_with_numbers(design, monkeypatch):
    monkeypatch.setattr(graph, "NODE_BUCKETS", (8, 16))
    with pytest.raises(GraphTooLargeError, match=r"has \d+ macros, clusters and groups of ports.* at most 16"):
        make_graph(design)


def test_one_macro(make_netted):
    made = make_graph(make_netted([(30, 30)]))
    assert made.node[0, NodeFeature.MACRO] == 1
    assert np.all(np.isfinite(made.weight))


@pytest.mark.parametrize("name", ["ariane133_ng45", "ibm01", "ibm10"])
def test_real_designs_fit(benchmarks, name):
    from netlists.load import load_design

    folder = benchmarks / "circuit_training" / name
    made = make_graph(load_design([folder / "netlist.pb.txt.gz"], folder / "initial.plc"))
    assert made.node.shape[0] in graph.NODE_BUCKETS
    assert np.all(np.isfinite(made.node))
    assert made.weight[0] == 1.0
