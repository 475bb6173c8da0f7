"""Constraints in every maker and in the judge: what is made is accepted, and an obvious twin of the judge agrees."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netlists.constraints import Constraints
from netlists.errors import InfeasibleError
from netlists.model import Canvas, Design, Netlist, NodeKind, Orientation, Placement, Side, oriented_halo_um
from netlists.samples import make_sample
from placement.analytic import global_place
from placement.env import MacroEnv, random_episode
from placement.legal import check, check_feasible, legalise, pack
from placement.search import anneal, improve

# Which of (left, bottom, right, top) of orientation N come to lie there, by their second names in DEF: R90 turns to the
# left, MY mirrors in the vertical axis and MX in the horizontal one, MYR90 and MXR90 mirror first and then turn.
SIDES = {
    Orientation.N: (0, 1, 2, 3),
    Orientation.S: (2, 3, 0, 1),
    Orientation.W: (3, 0, 1, 2),
    Orientation.E: (1, 2, 3, 0),
    Orientation.FN: (2, 1, 0, 3),
    Orientation.FS: (0, 3, 2, 1),
    Orientation.FE: (3, 2, 1, 0),  # MYR90
    Orientation.FW: (1, 0, 3, 2),  # MXR90
}


def with_rules(design: Design, **rules: Any) -> Design:
    """The design with some of its constraints given; the others hold nothing."""
    n = design.netlist.node_count
    given = {
        "halo_um": np.zeros((n, 4)),
        "orientations": np.zeros(n, np.uint8),
        "boundary_spacing_um": np.zeros(n),
        "region": np.full(n, -1),
        **rules,
    }
    return replace(design, constraints=Constraints(**given))


def mask(*orientations: Orientation) -> int:
    return sum(1 << int(o) for o in orientations)


def random_rules(design: Design, seed: int, *, loose: bool = True) -> Design:
    """The design with halos, orientations, a region of two rectangles, boundary and macro spacing, each or not."""
    random = np.random.default_rng(seed)
    n, canvas = design.netlist.node_count, design.canvas
    scale = 0.01 * min(canvas.width_um, canvas.height_um)
    rules: dict[str, Any] = {}
    if random.random() < 0.7:
        rules["halo_um"] = random.uniform(0, 3 * scale, (n, 4)) * (random.random((n, 1)) < 0.6)
    if random.random() < 0.5:
        rules["macro_spacing_um"] = random.uniform(0, 4 * scale)
    if random.random() < 0.5:
        rules["boundary_spacing_um"] = random.uniform(0, 4 * scale, n) * (random.random(n) < 0.5)
    if random.random() < 0.6:
        upright = design.start.orientation < Orientation.E
        own = np.where(upright, random.integers(1, 16, n), random.integers(1, 16, n) << 4)
        both = own | random.integers(0, 256, n)
        rules["orientations"] = np.where(random.random(n) < 0.5, own, np.where(random.random(n) < 0.5, both, 0))
    if loose and random.random() < 0.6:
        w, h = canvas.width_um, canvas.height_um
        rules["region_names"] = ("L", "half")
        rules["regions_um"] = (
            np.array([[0, 0, 0.6 * w, h], [0, 0, w, 0.6 * h]]),
            np.array([[0.35 * w, 0.05 * h, w, h]]),
        )
        rules["region"] = np.where(random.random(n) < 0.3, random.integers(0, 2, n), -1)
    return with_rules(design, **rules)


def broken(design: Design, placement: Placement, tolerance: float = 1e-9) -> set[tuple[Any, ...]]:
    """Every broken rule of movable hard macros as (kind, node[, node or blockage]); plain loops, no shared code."""
    rules, netlist, start = design.constraints, design.netlist, design.start
    assert rules is not None
    found: set[tuple[Any, ...]] = set()
    hard = [n for n in range(netlist.node_count) if netlist.node_kind[n] == NodeKind.HARD_MACRO]
    box, halo, pad = {}, {}, {}
    for n in hard:
        o = Orientation(int(placement.orientation[n]))
        w, h = float(netlist.width_um[n]), float(netlist.height_um[n])
        if o >= Orientation.E:
            w, h = h, w
        x, y = float(placement.x_um[n]), float(placement.y_um[n])
        box[n] = (x - w / 2, y - h / 2, x + w / 2, y + h / 2)
        halo[n] = [float(rules.halo_um[n][side]) for side in SIDES[o]]
        pad[n] = [max(side, rules.macro_spacing_um / 2) for side in halo[n]]
    for n in hard:
        if start.fixed[n]:
            continue
        if rules.orientations[n] and not (int(rules.orientations[n]) >> int(placement.orientation[n])) & 1:
            found.add(("turn", n))
        room = [
            box[n][0],
            box[n][1],
            design.canvas.width_um - box[n][2],
            design.canvas.height_um - box[n][3],
        ]
        least = [max(side, float(rules.boundary_spacing_um[n])) for side in halo[n]]
        if any(need > 0 and have < need - tolerance for have, need in zip(room, least, strict=True)):
            found.add(("edge", n))
        grown = (box[n][0] - halo[n][0], box[n][1] - halo[n][1], box[n][2] + halo[n][2], box[n][3] + halo[n][3])
        for b, blockage in enumerate(design.blockages_um.tolist()):
            if shares(grown, blockage, tolerance) and not shares(box[n], blockage, tolerance):
                found.add(("blockage", n, b))
        if rules.region[n] >= 0 and not covered(box[n], rules.regions_um[rules.region[n]].tolist(), tolerance):
            found.add(("region", n))
    for i, n in enumerate(hard):
        for m in hard[i + 1 :]:
            if start.fixed[n] and start.fixed[m]:
                continue
            gaps = (
                box[m][0] - box[n][2] - pad[n][2] - pad[m][0],
                box[n][0] - box[m][2] - pad[m][2] - pad[n][0],
                box[m][1] - box[n][3] - pad[n][3] - pad[m][1],
                box[n][1] - box[m][3] - pad[m][3] - pad[n][1],
            )
            if max(gaps) < -tolerance and not shares(box[n], box[m], tolerance):
                found.add(("near", n, m))
    return found


def shares(a: Any, b: Any, tolerance: float) -> bool:
    return min(a[2], b[2]) - max(a[0], b[0]) > tolerance and min(a[3], b[3]) - max(a[1], b[1]) > tolerance


def covered(box: Any, cover: Any, tolerance: float) -> bool:
    """Whether cutting the cover off a box, rectangle by rectangle, leaves nothing but slivers."""
    left = [tuple(box)]
    for c in cover:
        rest = []
        for b in left:
            if min(b[2], c[2]) <= max(b[0], c[0]) or min(b[3], c[3]) <= max(b[1], c[1]):
                rest.append(b)
                continue
            low, high = max(b[0], c[0]), min(b[2], c[2])
            rest += [(b[0], b[1], low, b[3]), (high, b[1], b[2], b[3])]
            rest += [(low, b[1], high, max(b[1], c[1])), (low, min(b[3], c[3]), high, b[3])]
        left = [b for b in rest if b[2] - b[0] > tolerance and b[3] - b[1] > tolerance]
    return not left


def found_by_check(design: Design, placement: Placement) -> set[tuple[Any, ...]]:
    """What `check` finds, in the form of `broken`."""
    report = check(design, placement).rules
    return {
        *(("turn", int(n)) for n in report.misturned),
        *(("edge", int(n)) for n in report.near_edge),
        *(("blockage", int(n), int(b)) for n, b in report.near_blockage),
        *(("region", int(n)) for n in report.off_region),
        *(("near", int(a), int(b)) for a, b in report.too_near),
    }


def scattered(make_design: Any, seed: int, count: int = 14, share: float = 0.35) -> Design:
    """Macros of mixed sizes at random places, two of them fixed in corners, one blockage."""
    random = np.random.default_rng(seed)
    size = random.uniform(1, 3, (count, 2))
    size *= np.sqrt(share * 1e4 / np.prod(size, axis=1).sum())
    centre = random.uniform(10, 90, (count, 2))
    centre[0], centre[1] = size[0] / 2, 100 - size[1] / 2
    turns = random.integers(0, 4, count)
    return make_design(
        size.tolist(), centres=centre.tolist(), fixed=[0, 1], blockages=[(48, 0, 52, 12)], orientation=turns.tolist()
    )


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 10**9))
def test_an_obvious_judge_agrees(make_design, seed: int) -> None:
    random = np.random.default_rng(seed)
    design = random_rules(scattered(make_design, seed), seed)
    n = design.netlist.node_count
    grid = 0.5 if seed % 2 else 1e-3  # halves make sides meet exactly
    placement = design.start.moved(
        x_um=np.where(design.start.fixed, design.start.x_um, np.round(random.uniform(5, 95, n) / grid) * grid),
        y_um=np.where(design.start.fixed, design.start.y_um, np.round(random.uniform(5, 95, n) / grid) * grid),
        orientation=np.where(design.start.fixed, design.start.orientation, random.integers(0, 8, n)),
    )
    assert found_by_check(design, placement) == broken(design, placement)
    report = check(design, placement)
    assert report.rules.count == len(broken(design, placement))
    assert len(report.problems(10**6)) >= report.rules.count
    assert not report.legal or not broken(design, placement)


def made(design: Design) -> Placement | None:
    """The packing, or None where there is none."""
    try:
        return pack(design)
    except InfeasibleError:
        return None


def accepted(design: Design, placement: Placement) -> None:
    assert check(design, placement).legal, check(design, placement).problems()
    assert not broken(design, placement)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**9))
def test_packed_and_legalised_within_the_rules(make_design, seed: int) -> None:
    design = random_rules(scattered(make_design, seed), seed)
    packed = made(design)
    if packed is None:
        return
    accepted(design, packed)
    legal = legalise(design, design.start)  # never fails where packing succeeds
    accepted(design, legal)
    accepted(design, legalise(design, legal))


def netted(seed: int, *, loose: bool = True) -> Design:
    """A generated design with nets, soft macros and random rules that can be met."""
    for turn in range(100):
        design = random_rules(make_sample("small", seed), 1000 * seed + turn, loose=loose)
        if design.constraints is not None and design.constraints.bind and made(design) is not None:
            return design
    raise AssertionError("no rules that can be met")


@pytest.mark.parametrize("seed", range(4))
def test_searches_stay_within_the_rules(seed: int) -> None:
    design = netted(seed)
    start = legalise(design, design.start)
    for search in (improve, anneal):
        result = search(design, start, trials=15_000, seed=seed)
        accepted(design, result.placement)
        assert result.cost.proxy_cost < result.start_cost.proxy_cost
        again = search(design, start, trials=15_000, seed=seed)
        assert np.array_equal(again.placement.x_um, result.placement.x_um)


@pytest.mark.parametrize("seed", range(3))
def test_episodes_end_within_the_rules(seed: int) -> None:
    design = netted(seed)
    env = MacroEnv(design)
    actions, info = random_episode(env, seed)
    placement = design.start.moved(x_um=info["x_um"], y_um=info["y_um"], orientation=info["orientation"])
    accepted(design, placement)
    accepted(design, env.decode(actions[: len(actions) // 2]))


def test_global_placement_ends_within_the_rules() -> None:
    design = netted(2)
    for from_start in (True, False):
        found = global_place(design, seed=1, seeds=1, steps=40, from_start=from_start)
        for candidate in found:
            accepted(design, candidate.placement)
        assert found


def test_quarter_turns_only_where_allowed(make_design) -> None:
    """R71: 120 x 10 fits into 100 x 130 after a quarter turn only; into 100 x 100 never."""
    turned = np.array([mask(*Orientation)])
    with pytest.raises(InfeasibleError, match=r"120 x 10 µm.*canvas 100 x 100 µm"):
        check_feasible(with_rules(make_design([(120, 10)]), orientations=turned))
    tall = make_design([(120, 10)], height=130.0)
    with pytest.raises(InfeasibleError, match="quarter turn, which is not allowed"):
        check_feasible(tall)
    allowed = with_rules(tall, orientations=turned)
    for placement in (pack(allowed), legalise(allowed, allowed.start)):
        accepted(allowed, placement)
        assert placement.orientation[0] >= Orientation.E
    assert check(tall, pack(allowed)).turned.tolist() == [0]


def test_a_macro_with_its_halo_must_fit(make_design) -> None:
    with pytest.raises(InfeasibleError, match=r"'m0' with its halo is 101 x 40 µm.*100 x 100 µm"):
        check_feasible(with_rules(make_design([(90, 40)]), halo_um=np.array([[5, 0, 6, 0]])))
    exactly = with_rules(make_design([(90, 40)]), halo_um=np.array([[5, 0, 5, 0]]))
    accepted(exactly, pack(exactly))
    assert pack(exactly).x_um[0] == pytest.approx(50, abs=1e-9)


def test_four_that_just_fit_and_a_fifth(make_design) -> None:
    """R65, with half a µm between macros taken from their sizes."""
    four = with_rules(make_design([(49.75, 49.75)] * 4), macro_spacing_um=0.5)
    accepted(four, pack(four))
    accepted(four, legalise(four, four.start))
    with pytest.raises(InfeasibleError, match=r"utilisation \d+"):
        pack(with_rules(make_design([(49.75, 49.75)] * 5), macro_spacing_um=0.5))
    with pytest.raises(InfeasibleError, match=r"no legal packing|more than|utilisation"):
        pack(with_rules(make_design([(49.75, 49.75)] * 4), macro_spacing_um=0.6))


def test_touching_a_blockage_is_legal_unless_a_halo_does_not(make_design) -> None:
    """R79: macro 10 x 10 beside a blockage, sides touching."""
    design = make_design([(10, 10)], centres=[(45, 50)], blockages=[(50, 40, 60, 60)])
    assert check(design, design.start).legal
    spaced = with_rules(design, macro_spacing_um=4.0)
    assert check(spaced, spaced.start).legal  # a spacing is between macros
    haloed = with_rules(design, halo_um=np.array([[0, 0, 1, 0]]))
    assert check(haloed, haloed.start).rules.near_blockage.tolist() == [[0, 0]]
    mirrored = haloed.start.moved(orientation=np.array([Orientation.FN]))
    assert check(haloed, mirrored).legal
    accepted(haloed, legalise(haloed, haloed.start))


def test_diagonal_neighbours_at_a_corner_stay_apart(make_design) -> None:
    """R80: two macros diagonal to each other, both wished into the corner."""
    design = make_design([(20, 20), (20, 20)], centres=[(12, 12), (31, 31)])
    for rules in ({"macro_spacing_um": 3.0}, {"halo_um": np.full((2, 4), 1.5)}, {"boundary_spacing_um": np.full(2, 3)}):
        ruled = with_rules(design, **rules)
        result = legalise(ruled, design.start.moved(x_um=np.array([0.0, 5.0]), y_um=np.array([0.0, 5.0])))
        accepted(ruled, result)


def test_fixed_macros_that_overlap_by_one_database_unit_are_refused(make_design) -> None:
    """R85."""
    design = make_design([(10, 10), (10, 10)], centres=[(20, 20), (29.999, 20)], fixed=[0, 1])
    with pytest.raises(InfeasibleError, match=r"'m0' and 'm1' overlap by 0.001 x 10 µm"):
        check_feasible(design)


def test_fixed_macros_stay_and_keep_their_halos(make_design) -> None:
    """R86: three fixed ones, whose own halos even overlap, and two new ones."""
    centres = [(20, 20), (31, 20), (70, 70), (26, 33), (70, 70)]
    design = make_design([(10, 10)] * 5, centres=centres, fixed=[0, 1, 2])
    halo = np.zeros((5, 4))
    halo[:3] = 4.0
    ruled = with_rules(design, halo_um=halo)
    assert check(ruled, ruled.start).rules.fixed_too_near.tolist() == [[0, 1]]
    assert any("fixed macros 'm0' and 'm1'" in line for line in check(ruled, ruled.start).warnings())
    for placement in (legalise(ruled, ruled.start), pack(ruled)):
        accepted(ruled, placement)
        assert np.array_equal(placement.x_um[:3], design.start.x_um[:3])
        assert np.array_equal(placement.y_um[:3], design.start.y_um[:3])
        for new in (3, 4):
            gap = np.maximum(
                abs(placement.x_um[new] - placement.x_um[:3]), abs(placement.y_um[new] - placement.y_um[:3])
            )
            assert gap.min() >= 14 - 1e-9


def test_a_strip_before_the_pins_stays_free() -> None:
    """R82: one macro, two pins fixed on the right edge: the macro goes to the right half, the strip stays free."""
    netlist = Netlist(
        node_name=("m", "p", "q"),
        node_kind=np.array([NodeKind.HARD_MACRO, NodeKind.PORT, NodeKind.PORT]),
        node_index=np.array([0, 3, 4]),
        width_um=np.array([10.0, 0.0, 0.0]),
        height_um=np.array([10.0, 0.0, 0.0]),
        port_side=np.array([Side.NONE, Side.RIGHT, Side.RIGHT]),
        pin_name=("m/a", "m/b", "p", "q"),
        pin_node=np.array([0, 0, 1, 2]),
        pin_dx_um=np.array([4.0, 4.0, 0.0, 0.0]),
        pin_dy_um=np.array([2.0, -2.0, 0.0, 0.0]),
        net_start=np.array([0, 2, 4]),
        net_pin=np.array([2, 0, 3, 1]),
        net_weight=np.array([1.0, 1.0]),
    )
    start = Placement(
        x_um=np.array([20.0, 100.0, 100.0]),
        y_um=np.array([50.0, 52.0, 48.0]),
        orientation=np.zeros(3, np.int8),
        fixed=np.array([False, True, True]),
    )
    canvas = Canvas(width_um=100.0, height_um=100.0, columns=10, rows=10)
    design = Design(
        name="strip", netlist=netlist, canvas=canvas, start=start, blockages_um=np.array([[92.0, 0, 100, 100]])
    )
    placed = improve(design, legalise(design, start), trials=5_000, seed=0).placement
    assert 50 < placed.x_um[0] <= 87
    assert check(design, placed).legal


def test_halos_turn_with_the_macro(make_design) -> None:
    halo = np.array([[1.0, 2.0, 3.0, 4.0]])
    for orientation in Orientation:
        turned = oriented_halo_um(halo, np.array([orientation]))[0]
        assert turned.tolist() == [halo[0][side] for side in SIDES[orientation]], orientation


def test_a_region_of_two_rectangles_holds_what_neither_does(make_design) -> None:
    """A macro across the seam of two rectangles is inside their union."""
    design = with_rules(
        make_design([(30, 10)], centres=[(90, 90)]),
        region=np.array([0]),
        region_names=("seam",),
        regions_um=(np.array([[10.0, 10, 25, 30], [25.0, 10, 40, 30]]),),
    )
    result = legalise(design, design.start)
    accepted(design, result)
    assert (result.x_um[0], result.y_um[0]) == pytest.approx((25, 25), abs=1e-4)
    assert check(design, design.start).rules.off_region_um2.tolist() == [300.0]


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        (
            {"region": [0], "region_names": ("slot",), "regions_um": (np.array([[0.0, 0, 9, 50]]),)},
            r"'m0' of 10 x 10 µm.*inside its region 'slot' \(1 rectangles, the largest of 9 x 50 µm\)",
        ),
        ({"boundary_spacing_um": [46.0]}, r"at least 46 µm from the canvas' edge, on a canvas of 100 x 100 µm"),
    ],
)
def test_what_fits_nowhere_is_refused_with_numbers(make_design, rules: dict, message: str) -> None:
    with pytest.raises(InfeasibleError, match=message):
        check_feasible(with_rules(make_design([(10, 10)]), **rules))


def test_more_than_a_region_holds_is_refused_with_numbers(make_design) -> None:
    design = with_rules(
        make_design([(10, 10)] * 3),
        region=np.zeros(3),
        region_names=("pair",),
        regions_um=(np.array([[0.0, 0, 20, 12]]),),
    )
    with pytest.raises(InfeasibleError, match=r"3 movable macros cover 300 µm², region 'pair' has 240 µm²"):
        pack(design)


def test_rules_that_say_nothing_change_nothing() -> None:
    plain = make_sample("small", 1)
    ruled = with_rules(plain)
    start = legalise(plain, plain.start)
    first, second = (improve(design, start, trials=5_000, seed=3).placement for design in (plain, ruled))
    assert np.array_equal(first.x_um, second.x_um)
    assert np.array_equal(first.orientation, second.orientation)
