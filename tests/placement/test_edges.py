"""Edges: every way of making a placement, on every odd design: no NaN, no hang, a legal result or a stated reason."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netlists.circuit_training.plc import read_plc
from netlists.circuit_training.writer import write_plc
from netlists.errors import InfeasibleError
from netlists.load import load_design
from netlists.model import Canvas, Design, Netlist, NodeKind, Orientation, Placement, Side
from netlists.samples import SampleSize, make_sample
from placement.analytic import global_place, place_analytically
from placement.cost import evaluate
from placement.env import MacroEnv, VectorEnv, greedy_episode, random_episode
from placement.legal import check, legalise, pack, strict_overlaps
from placement.search import anneal, improve

STEPS = 20  # of gradient descent: one block
SIDE = 100.0  # µm, of the canvas


@dataclass
class Parts:
    """A design to be made: nodes as (kind, width, height, x, y, orientation, fixed), nets as lists of pins."""

    nodes: list[tuple] = field(default_factory=list)
    nets: list[list[tuple[int, float, float]]] = field(default_factory=list)  # pins: node, dx, dy
    columns: int = 12
    rows: int = 10
    blockages: Sequence[tuple[float, float, float, float]] = ()
    has_start: bool = True

    def hard(self, w: float, h: float, x: float = 50.0, y: float = 50.0, o: int = 0, fixed: bool = False) -> None:
        self.nodes.append((NodeKind.HARD_MACRO, w, h, x, y, o, fixed))

    def soft(self, w: float, h: float, x: float = 50.0, y: float = 50.0, fixed: bool = False) -> None:
        self.nodes.append((NodeKind.SOFT_MACRO, w, h, x, y, 0, fixed))

    def port(self, x: float, y: float) -> None:
        self.nodes.append((NodeKind.PORT, 0.0, 0.0, x, y, 0, True))

    def wire(self, seed: int = 0, count: int = 3) -> None:
        """Random nets over all nodes, `count` a node."""
        random = np.random.default_rng(seed)
        for _ in range(count * len(self.nodes)):
            members = random.choice(len(self.nodes), min(len(self.nodes), int(random.integers(2, 6))), replace=False)
            self.nets.append(
                [
                    (int(n), *(random.uniform(-0.5, 0.5, 2) * self.nodes[n][1:3]))
                    if self.nodes[n][0] == NodeKind.HARD_MACRO
                    else (int(n), 0.0, 0.0)
                    for n in members
                ]
            )

    def design(self) -> Design:
        """As files would give it: pins by node, each node's number followed by those of its pins."""
        kind, w, h, x, y, orientation, fixed = (np.array(column) for column in zip(*self.nodes, strict=True))
        port = kind == NodeKind.PORT
        pins: list[tuple[int, float, float]] = [(int(node), 0.0, 0.0) for node in np.flatnonzero(port)]
        nets = []
        for net in self.nets:
            members = []
            for pin in sorted(net, key=lambda pin: port[pin[0]]):  # a port drives no net
                if port[pin[0]]:
                    members.append(pins.index((pin[0], 0.0, 0.0)))
                else:
                    members.append(len(pins))
                    pins.append(pin)
            nets.append(members)
        order = sorted(range(len(pins)), key=lambda pin: pins[pin][0])
        place = np.argsort(order)
        node, dx, dy = (np.array([pins[q][k] for q in order]) for k in range(3))
        own_pins = np.where(port, 0, np.bincount(node.astype(int), minlength=len(kind)))
        name = [f"Grp_{i}" if kind[i] == NodeKind.SOFT_MACRO else f"n{i}" for i in range(len(kind))]
        netlist = Netlist(
            node_name=tuple(name), node_kind=kind, node_index=np.arange(len(kind)) + np.cumsum(own_pins) - own_pins,
            width_um=w, height_um=h, port_side=np.where(port, Side.LEFT, Side.NONE),
            pin_name=tuple(name[v] if port[v] else f"{name[v]}/q{q}" for q, v in enumerate(node.astype(int))),
            pin_node=node, pin_dx_um=dx, pin_dy_um=dy, net_start=np.cumsum([0, *map(len, nets)]),
            net_pin=np.array([place[q] for net in nets for q in net], dtype=np.int32), net_weight=np.ones(len(nets)),
        )  # fmt: skip
        canvas = Canvas(
            width_um=SIDE,
            height_um=SIDE,
            columns=self.columns,
            rows=self.rows,
            hor_routes_per_um=5,
            ver_routes_per_um=5,
        )
        start = Placement(x_um=x, y_um=y, orientation=orientation, fixed=fixed)
        blockages = np.array(self.blockages).reshape(-1, 4)
        return Design(
            name="odd", netlist=netlist, canvas=canvas, start=start, blockages_um=blockages, has_start=self.has_start
        )


def usual(**options: object) -> Parts:
    """Some macros of each kind and two ports, all in the middle, without nets."""
    parts = Parts(**options)  # type: ignore[arg-type]
    for w, h in [(20, 10)] * 3 + [(12, 12)] * 2 + [(8, 25)]:
        parts.hard(w, h)
    for _ in range(5):
        parts.soft(4, 4)
    parts.port(0, 50)
    parts.port(100, 30)
    return parts


def wired(parts: Parts) -> Design:
    parts.wire()
    return parts.design()


def boxes(*sizes: tuple[float, float], soft: int = 0, fixed: bool = False) -> Design:
    parts = Parts()
    for w, h in sizes:
        parts.hard(w, h, fixed=fixed)
    for _ in range(soft):
        parts.soft(5, 5)
    return wired(parts)


def in_a_row(count: int, w: float, *, fixed: Sequence[int] = (), soft: int = 0, o: int = 0) -> Design:
    """Macros of w x 10 that abut, from the lower left corner on."""
    parts = Parts()
    for i in range(count):
        parts.hard(*((w, 10.0) if o < 4 else (10.0, w)), w / 2 + i * w, 5.0, o, i in fixed)
    for _ in range(soft):
        parts.soft(5, 5)
    return wired(parts)


def soft_sizes(*sizes: tuple[float, float]) -> Design:
    parts = usual()
    for w, h in sizes:
        parts.soft(w, h)
    return wired(parts)


def one_net(pins: int, nodes: Sequence[int]) -> Design:
    parts = usual()
    parts.nets.append([(nodes[i % len(nodes)], i * 4.0 / pins, 0.0) for i in range(pins)])
    parts.wire(count=1)
    return parts.design()


def far_port() -> Design:
    parts = usual()
    parts.port(-40, 250)
    return wired(parts)


def without_positions() -> Design:
    design = wired(usual(has_start=False))
    lost = np.where(design.start.fixed, design.start.x_um, np.nan)
    return replace(design, start=design.start.moved(x_um=lost))


def at_the_edges() -> Design:
    parts = Parts()
    for x, y in [(5, 5), (95, 5), (5, 95), (95, 95), (50, 5), (5, 50)]:
        parts.hard(10, 10, x, y)
    parts.soft(10, 10, 95, 50)
    return wired(parts)


def between_fixed() -> Design:
    """Fixed macros that abut, a slot between them that a macro just fits into, and a blockage."""
    parts = Parts(blockages=[(60, 60, 90, 90)])
    for x, y in [(10, 10), (30, 10), (50, 10), (80, 10)]:
        parts.hard(20, 20, x, y, fixed=True)
    parts.hard(10, 20, 65, 10)
    parts.hard(30, 10)
    parts.soft(6, 6)
    return wired(parts)


DESIGNS: dict[str, Callable[[], Design]] = {
    "one macro": lambda: boxes((10, 10)),
    "one macro as large as the canvas": lambda: boxes((100, 100), soft=3),
    "two that just fit": lambda: boxes((50, 100), (50, 100), soft=3),
    "a full canvas": lambda: boxes(*[(25, 25)] * 16),
    "all equal": lambda: boxes(*[(9, 7)] * 20, soft=4),
    "a hard macro without area": lambda: boxes((0, 0), (0, 10), (20, 20), soft=2),
    "soft macros without area and huge ones": lambda: soft_sizes((0, 0), (0, 5), (150, 10), (10, 120), (300, 300)),
    "a net of one pin": lambda: one_net(1, [0]),
    "a net of 5,000 pins": lambda: one_net(5000, range(13)),
    "a net on one macro": lambda: one_net(40, [2]),
    "a port outside": far_port,
    "a grid of one cell": lambda: wired(usual(columns=1, rows=1)),
    "a grid of 128 x 128 cells": lambda: wired(usual(columns=128, rows=128)),
    "a grid of one row": lambda: wired(usual(columns=30, rows=1)),
    "every macro fixed": lambda: in_a_row(5, 12.3, fixed=range(6)),
    "hard macros fixed, soft ones not": lambda: in_a_row(5, 12.3, fixed=range(5), soft=6),
    "no nets": lambda: usual().design(),
    "abutting in a row": lambda: in_a_row(8, 100 / 9),
    "abutting the edges": at_the_edges,
    "abutting fixed ones": between_fixed,
    "turned and wider than high": lambda: in_a_row(4, 15.0, o=int(Orientation.E)),
    "no positions": without_positions,
}
# Where macros just fit, or abut though fixed, rounding may leave overlaps in float32 (docs/legality.md).
TIGHT = {"one macro as large as the canvas", "two that just fit", "a full canvas"}


def ticking() -> Callable[[], float]:
    """A clock on which a look takes half a second, so that a budget of 12 s is some looks."""
    ticks = itertools.count()
    return lambda: next(ticks) / 2


def start_of(design: Design) -> Placement:
    return legalise(design, design.start)


def episode(design: Design) -> Placement:
    _, info = random_episode(MacroEnv(design), seed=1)
    return design.start.moved(x_um=info["x_um"], y_um=info["y_um"], orientation=info["orientation"])


def greedy(design: Design) -> Placement:
    _, info = greedy_episode(MacroEnv(design))
    return design.start.moved(x_um=info["x_um"], y_um=info["y_um"], orientation=info["orientation"])


def side_by_side(design: Design) -> Placement:
    env = VectorEnv(design, count=2)
    seen = env.reset()
    random = np.random.default_rng(0)
    while True:
        assert np.isfinite(seen.maps).all()
        assert np.isfinite(seen.features).all()
        seen, rewards, ended, infos = env.step(np.array([random.choice(np.flatnonzero(mask)) for mask in seen.mask]))
        assert np.isfinite(rewards).all()
        if ended.any():
            info = infos[0]
            return design.start.moved(x_um=info["x_um"], y_um=info["y_um"], orientation=info["orientation"])


def globally(design: Design, from_start: bool) -> Placement:
    return global_place(design, seed=1, seeds=1, steps=STEPS, from_start=from_start)[0].placement


METHODS: dict[str, Callable[[Design], Placement]] = {
    "pack": pack,
    "legalise": start_of,
    "improve": lambda d: improve(d, start_of(d), trials=400, seed=1).placement,
    "anneal": lambda d: anneal(d, start_of(d), trials=400, seed=1).placement,
    "global from start": lambda d: globally(d, True),
    "global from scratch": lambda d: globally(d, False),
    "analytic": lambda d: place_analytically(d, start_of(d), seconds=12.0, seed=1, clock=ticking()).placement,
    "random episode": episode,
    "greedy episode": greedy,
    "episodes side by side": side_by_side,
}
EPISODES = ("random episode", "greedy episode", "episodes side by side")


def assert_sound(design: Design, placement: Placement, *, tight: bool = False) -> None:
    """Legal by the judge, finite, what is fixed untouched; nothing that moves overlaps in float64 or float32."""
    assert check(design, placement).problems() == []
    assert np.isfinite([*placement.x_um, *placement.y_um]).all()
    assert np.isfinite(list(evaluate(design, placement).as_dict().values())).all()
    held = design.start.fixed | (design.netlist.node_kind == NodeKind.PORT)
    for name in ("x_um", "y_um", "orientation"):
        np.testing.assert_array_equal(getattr(placement, name)[held], getattr(design.start, name)[held])
    np.testing.assert_array_equal(placement.orientation >= Orientation.E, design.start.orientation >= Orientation.E)
    for dtype in (np.float64,) if tight else (np.float64, np.float32):
        found = strict_overlaps(design, placement, dtype)
        assert held[found.pairs].all()
        assert held[found.outside].all()
        assert held[found.blocked[:, 0]].all()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", DESIGNS)
def test_legal_result_or_stated_reason(name: str, method: str) -> None:
    design = DESIGNS[name]()
    movable = ~design.start.fixed & (design.netlist.node_kind == NodeKind.HARD_MACRO)
    if method in EPISODES and not movable.any():
        with pytest.raises(InfeasibleError, match="no movable hard macro"):
            METHODS[method](design)
        return
    assert_sound(design, METHODS[method](design), tight=name in TIGHT)


@pytest.mark.parametrize("method", METHODS)
def test_real_results_as_written(benchmarks: Path, tmp_path: Path, method: str) -> None:
    """What another tool reads from the file overlaps neither in float64 nor in float32. 15 pairs of the start do."""
    folder = benchmarks / "circuit_training" / "ibm01"
    design = load_design([folder / "netlist.pb.txt.gz"], folder / "initial.plc")
    assert strict_overlaps(design, design.start, np.float32).total == 15
    write_plc(tmp_path / "made.plc", design, METHODS[method](design))
    assert_sound(design, read_plc(tmp_path / "made.plc", design.netlist).placement)


IMPOSSIBLE = {
    "over 100 %": (lambda: boxes(*[(50, 50)] * 4, (10, 10)), r"5 movable macros .*10000 µm².*utilisation 101\.0 %"),
    "too wide": (lambda: boxes((100.5, 5)), r"'n0' is 100\.5 x 5 µm .* 100 x 100 µm"),
    "fits only turned": (lambda: in_a_row(1, 100.0 + 1e-3), r"'n0' is 100\.001 x 10 µm"),
    "fixed ones overlap": (lambda: boxes((20, 20), (20, 20), fixed=True), r"'n0' and 'n1' overlap by 20 x 20 µm"),
    "too many wide ones": (lambda: boxes(*[(60, 40)] * 3), r"3 macros are wider than 50 µm .* no more than 2"),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_the_impossible_is_refused_with_numbers(name: str, method: str) -> None:
    make, words = IMPOSSIBLE[name]
    with pytest.raises(InfeasibleError, match=words):
        METHODS[method](make())


@pytest.mark.parametrize("search", [improve, anneal], ids=["improve", "anneal"])
def test_no_search_from_an_illegal_start(search: Callable) -> None:
    design = boxes((20, 20), (20, 20))
    with pytest.raises(ValueError, match=r"legal start: macros 'n0' and 'n1' overlap by 20 x 20 µm"):
        search(design, design.start, trials=10)


@pytest.mark.parametrize("name", DESIGNS)
def test_a_budget_of_no_seconds(name: str) -> None:
    design = DESIGNS[name]()
    start = start_of(design)
    for search in (improve, anneal, place_analytically):
        assert search(design, start, seconds=0.0, seed=0).placement is start  # type: ignore[operator]
    for from_start in (True, False):
        (found, *_) = global_place(design, seed=0, seeds=1, seconds=0.0, from_start=from_start)
        assert_sound(design, found.placement, tight=name in TIGHT)


sample_sizes = st.builds(
    SampleSize,
    macros=st.integers(1, 24),
    clusters=st.integers(1, 20),
    ports=st.integers(2, 40),
    data_bits=st.integers(1, 40),
    terminals=st.floats(0, 40),
    scale_um=st.floats(0.05, 5000),
)


@settings(max_examples=12, deadline=None)
@given(size=sample_sizes, seed=st.integers(0, 10**6), jitter=st.floats(0, 1))
def test_samples_of_any_size(size: SampleSize, seed: int, jitter: float) -> None:
    design = make_sample(size, seed)
    random = np.random.default_rng(seed)
    held = design.start.fixed
    x, y = (
        np.where(held, at, at + jitter * random.normal(0, length, len(at)))
        for at, length in ((design.start.x_um, design.canvas.width_um), (design.start.y_um, design.canvas.height_um))
    )
    try:
        packed = pack(design)
    except InfeasibleError:  # large memories on a small canvas
        return
    assert_sound(design, packed)
    start = legalise(design, design.start.moved(x_um=x, y_um=y))
    assert_sound(design, start)
    for search in (improve, anneal):
        result = search(design, start, trials=300, seed=seed)
        assert_sound(design, result.placement)
        assert result.cost.proxy_cost <= result.start_cost.proxy_cost
    assert_sound(design, episode(design))


@settings(max_examples=40, deadline=None)
@given(size=sample_sizes, seed=st.integers(0, 10**6), share=st.floats(0.3, 0.9), held=st.floats(0, 0.5))
def test_legalised_wherever_packed(size: SampleSize, seed: int, share: float, held: float) -> None:
    """From anywhere, beside fixed macros and blockages, in any orientation: the legaliser never fails where `pack` does
    not, and keeps orientations."""
    random = np.random.default_rng(seed)
    design = make_sample(size, seed)
    netlist, canvas = design.netlist, design.canvas
    hard = netlist.node_kind == NodeKind.HARD_MACRO
    area = float((netlist.width_um * netlist.height_um)[hard].sum())
    side = (area / share) ** 0.5
    canvas = replace(canvas, width_um=side, height_um=side)
    turned = np.where(hard, random.choice([0, 2, 4, 7], netlist.node_count), 0)
    design = replace(design, canvas=canvas, start=design.start.moved(orientation=turned))
    try:
        packed = pack(design)
        fixed = design.start.fixed | (hard & (random.random(len(hard)) < held))
        x, y = (random.uniform(0, side, len(hard)) for _ in range(2))
        start = Placement(
            x_um=np.where(fixed, packed.x_um, x), y_um=np.where(fixed, packed.y_um, y), orientation=turned, fixed=fixed
        )
        design = replace(design, start=start)
        at = random.uniform(0, side, 2)
        blocked = replace(design, blockages_um=np.array([[*at, *(at + 0.1 * side)]]))
        if not fixed[check(blocked, packed).blocked[:, 0]].any():
            design = blocked
        pack(design)
    except InfeasibleError:
        return
    legal = legalise(design, design.start)
    assert_sound(design, legal)
    np.testing.assert_array_equal(legal.orientation, turned)
