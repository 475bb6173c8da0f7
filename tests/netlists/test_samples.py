"""Made-up designs: sizes as promised, the same bytes for the same seed, wired like real ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from netlists.load import load_design
from netlists.model import Netlist, NodeKind, Side, oriented_size_um
from netlists.samples import SIZES, UTILISATION, make_sample, write_sample


@pytest.mark.parametrize(("size", "hard", "soft"), [("small", 20, 80), ("medium", 132, 900), ("large", 800, 2000)])
def test_size_and_plausibility(size: str, hard: int, soft: int) -> None:
    design = make_sample(size, 0)
    netlist, canvas = design.netlist, design.canvas
    counts = netlist.counts()
    assert (counts["hard_macros"], counts["soft_macros"], counts["ports"]) == (hard, soft, SIZES[size].ports)
    assert counts["drivers_without_sinks"] == 1  # the clock
    area = float(np.sum(netlist.width_um * netlist.height_um))
    assert area / (canvas.width_um * canvas.height_um) == pytest.approx(UTILISATION, abs=0.001)
    degree = np.diff(netlist.net_start)
    assert degree.min() >= 2
    assert 0.6 < np.mean(degree == 2) < 0.9
    assert len(np.unique(netlist.net_pin)) == len(netlist.pin_name) - 1
    width, height = oriented_size_um(netlist.width_um, netlist.height_um, design.start.orientation)
    assert np.all(design.start.x_um - width / 2 >= -1e-6)
    assert np.all(design.start.y_um + height / 2 <= canvas.height_um + 1e-6)
    ports = netlist.nodes_of(NodeKind.PORT)
    assert set(netlist.port_side[ports]) == {Side.LEFT, Side.RIGHT, Side.BOTTOM, Side.TOP}
    assert design.has_start


def test_memories_of_a_bank_are_equal_and_have_their_pins_on_one_side() -> None:
    netlist = make_sample("small", 3).netlist
    banks: dict[str, set[tuple[float, float]]] = {}
    for node in netlist.nodes_of(NodeKind.HARD_MACRO):
        banks.setdefault(netlist.node_name[node].split("/ram[")[0], set()).add(
            (netlist.width_um[node], netlist.height_um[node])
        )
        pins = netlist.pin_node == node
        assert np.all(netlist.pin_dy_um[pins] == -netlist.height_um[node] / 2)
        assert len(np.unique(netlist.pin_dx_um[pins])) == np.count_nonzero(pins)
    assert all(len(sizes) == 1 for sizes in banks.values())
    assert len(banks) > 1


def test_connections_follow_rents_rule() -> None:
    """Terminals of blocks of n neighbouring clusters grow as n^p; a random wiring would have p = 1."""
    netlist = make_sample("medium", 0).netlist
    soft = netlist.nodes_of(NodeKind.SOFT_MACRO)
    order = {int(node): int(netlist.node_name[node].removeprefix("Grp_")) for node in soft}
    nets = [
        {order[int(node)] for node in netlist.pin_node[netlist.net_pin[a:b]] if int(node) in order}
        for a, b in zip(netlist.net_start, netlist.net_start[1:], strict=False)
    ]
    sizes, terminals = [8, 32, 128], []
    for size in sizes:
        blocks = [range(start, start + size) for start in range(0, len(soft) - size + 1, size)]
        cut = [sum(1 for net in nets if len(net) > 1 and 0 < len(net.intersection(b)) < len(net)) for b in blocks]
        terminals.append(float(np.mean(cut)))
    exponent = np.polyfit(np.log(sizes), np.log(terminals), 1)[0]
    assert 0.5 < exponent < 0.85


def test_files_are_the_same_bytes_for_a_seed_and_others_for_another(tmp_path: Path) -> None:
    files = [write_sample(tmp_path / name, "small", seed) for name, seed in (("a", 1), ("b", 1), ("c", 2))]
    for kind in range(2):
        assert files[0][kind].read_bytes() == files[1][kind].read_bytes()
        assert files[0][kind].read_bytes() != files[2][kind].read_bytes()


@pytest.mark.parametrize("size", ["small", "medium"])
def test_the_files_hold_the_design(tmp_path: Path, size: str) -> None:
    made = make_sample(size, 5)
    write_sample(tmp_path, size, 5)
    read = load_design(tmp_path)
    for key in Netlist.__dataclass_fields__:
        assert np.array_equal(getattr(read.netlist, key), getattr(made.netlist, key)), key
    assert read.canvas == made.canvas
    assert np.array_equal(read.start.x_um, made.start.x_um)
    assert np.array_equal(read.start.fixed, made.start.fixed)
    assert (read.derived, read.warnings) == ({}, ())


def test_an_unknown_size() -> None:
    with pytest.raises(KeyError):
        make_sample("huge")  # type: ignore[arg-type]
