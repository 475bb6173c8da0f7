"""Designs made up by a seeded generator, for demonstrations, tests and benchmarks that need no one's data.

In: a size and a seed. Out: a `Design`, or the two files that hold it (`write_sample`); equal arguments give equal
bytes. How a design comes about:

1. Memories come in banks: up to 16 equal macros whose pins all sit on one side, as compiled memories have them.
2. Banks and clusters of standard cells (soft macros) stand in one sequence that is bisected again and again: the
   hierarchy. A bank's memories talk to the few clusters next to it: buses out and in, addresses shared by the bank.
3. Clusters are wired by Rent's rule: a block of n clusters has t·n^p terminals, so its bisection cuts
   ½·t·n^p·(2^(1-p) - 1) nets; each takes a driver and sinks on both sides of the cut, few sinks mostly.
4. Ports stand on the four edges, a bus together. One clock drives nothing (ideal, as in published netlists), one reset
   drives many.
5. The canvas is filled to 60 % by macros and clusters. The start cuts it into slices in a shuffled order of the banks
   and clusters: spread out, inside, but with everything in the wrong neighbourhood.

Sources: Landman & Russo 1971 (Rent's rule; p = 0.65 is usual for processors); routing supplies of the NanGate45 setup
of the MacroPlacement project. Knows nothing of costs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from netlists import derive
from netlists.circuit_training.exact import Attribute, NodeText
from netlists.circuit_training.reader import parse_nodes
from netlists.circuit_training.writer import number, write_netlist, write_plc
from netlists.model import Canvas, Design, NodeKind, Placement

Size = Literal["small", "medium", "large"]

RENT_EXPONENT = 0.65
UTILISATION = 0.60  # hard and soft macros over the canvas
ASPECT = 1.0
SINKS = (1, 2, 3, 4, 6, 12)  # of a net between clusters…
SINKS_SHARE = (0.62, 0.18, 0.09, 0.06, 0.04, 0.01)  # …and how often; degrees 2, 3, 4, 5, 7, 13
WEIGHTED_SHARE = 0.3  # of cluster nets that stand for several wires
CLUSTER_AREA_SHARE = 0.45  # of the placed area; the rest is memories


@dataclass(frozen=True, kw_only=True)
class SampleSize:
    """How much of everything. `terminals`: t of Rent's rule; `scale_um`: width of the narrowest memory."""

    macros: int
    clusters: int
    ports: int
    data_bits: int
    terminals: float
    scale_um: float


SIZES: dict[str, SampleSize] = {
    "small": SampleSize(macros=20, clusters=80, ports=64, data_bits=12, terminals=16, scale_um=30),
    "medium": SampleSize(macros=132, clusters=900, ports=480, data_bits=22, terminals=22, scale_um=50),
    "large": SampleSize(macros=800, clusters=2000, ports=1024, data_bits=12, terminals=18, scale_um=40),
}
_BANK_SIZES = (4, 8, 16)
_ADDRESS_BITS = 8
_BLOCKS = ("core", "cache", "fabric", "dma", "video", "crypto", "nic", "debug")


@dataclass(eq=False)
class _Leaf:
    """A memory or a cluster. `pins`: its pins as they come into being."""

    name: str
    hard: bool
    width_um: float
    height_um: float
    bank: int = -1
    pins: list[_Pin] = field(default_factory=list)


@dataclass(eq=False)
class _Pin:
    name: str
    owner: _Leaf | None  # None: a port
    dx_um: float = 0.0
    dy_um: float = 0.0
    weight: int = 1
    sinks: list[str] = field(default_factory=list)
    side: str = ""
    x_um: float = 0.0
    y_um: float = 0.0


def make_sample(size: Size | SampleSize, seed: int = 0) -> Design:
    """A made-up design of a size by name or of any other. Raises KeyError for a name that is none of SIZES."""
    numbers, name = (size, "custom") if isinstance(size, SampleSize) else (SIZES[size], size)
    return _Maker(numbers, np.random.Generator(np.random.PCG64(seed))).design(f"sample_{name}_{seed}")


def write_sample(folder: Path, size: Size | SampleSize, seed: int = 0) -> tuple[Path, Path]:
    """Writes `netlist.pb.txt.gz` and `initial.plc` of a made-up design into a folder (made if need be)."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    design = make_sample(size, seed)
    netlist, plc = folder / "netlist.pb.txt.gz", folder / "initial.plc"
    write_netlist(netlist, design, design.start)
    write_plc(plc, design, design.start)
    return netlist, plc


class _Maker:
    def __init__(self, size: SampleSize, random: np.random.Generator) -> None:
        self.size, self.random = size, random
        self.units = self._hierarchy()  # banks (several leaves) and clusters (one), in hierarchy order
        self.leaves = [leaf for unit in self.units for leaf in unit]
        self.clusters = [leaf for leaf in self.leaves if not leaf.hard]
        area = sum(leaf.width_um * leaf.height_um for leaf in self.leaves) / UTILISATION
        self.height_um = round(float(np.sqrt(area / ASPECT)), 2)
        self.width_um = round(area / self.height_um, 2)
        self.ports = self._ports()
        self._wire_memories()
        self._wire_clusters(0, len(self.clusters))
        self._wire_ports()

    def design(self, name: str) -> Design:
        parsed = parse_nodes(self._nodes())
        netlist = parsed.netlist
        columns, rows, _ = derive.grid(netlist, self.width_um, self.height_um)
        start = Placement(
            x_um=parsed.x_um,
            y_um=parsed.y_um,
            orientation=parsed.orientation,
            fixed=netlist.node_kind == NodeKind.PORT,
        )
        canvas = Canvas(
            width_um=self.width_um,
            height_um=self.height_um,
            columns=columns,
            rows=rows,
            hor_routes_per_um=57.031,
            ver_routes_per_um=56.818,
            hor_macro_routes_per_um=39.583,
            ver_macro_routes_per_um=30.303,
        )
        return Design(name=name, netlist=netlist, canvas=canvas, start=start)

    # Leaves

    def _hierarchy(self) -> list[list[_Leaf]]:
        banks = self._banks()
        memory_area = sum(leaf.width_um * leaf.height_um for bank in banks for leaf in bank)
        share = self.random.lognormal(0.0, 0.6, self.size.clusters)
        area = share / share.sum() * memory_area * CLUSTER_AREA_SHARE / (1 - CLUSTER_AREA_SHARE)
        units = []
        for index, side in enumerate(np.sqrt(area).round(2)):
            units.append([_Leaf(f"Grp_{index}", False, float(side), float(side))])
        # A bank goes between the clusters at a random place of the sequence.
        for bank, place in zip(banks, sorted(self.random.integers(0, len(units), len(banks)))[::-1], strict=True):
            units.insert(int(place), bank)
        return units

    def _banks(self) -> list[list[_Leaf]]:
        banks: list[list[_Leaf]] = []
        left = self.size.macros
        while left:
            count = min(int(self.random.choice(_BANK_SIZES)), left)
            width = round(self.size.scale_um * float(self.random.choice([1, 1.5, 2, 2.5])), 2)
            height = round(self.size.scale_um * float(self.random.choice([1, 1.5, 2])), 2)
            block = _BLOCKS[len(banks) % len(_BLOCKS)]
            path = f"u_{block}/u_mem{len(banks) // len(_BLOCKS)}"
            bank = [_Leaf(f"{path}/ram[{index}]", True, width, height, len(banks)) for index in range(count)]
            banks.append(bank)
            left -= count
        return banks

    # Pins and nets

    def _output(self, cluster: _Leaf, weight: int = 1) -> _Pin:
        """A new output pin of a cluster; its first pin is the input that all its incoming nets share."""
        if not cluster.pins:
            cluster.pins.append(_Pin(f"{cluster.name}/Pinput", cluster))
        pin = _Pin(f"{cluster.name}/Poutput_{len(cluster.pins) - 1}", cluster, weight=weight)
        cluster.pins.append(pin)
        return pin

    def _input(self, cluster: _Leaf) -> str:
        if not cluster.pins:
            cluster.pins.append(_Pin(f"{cluster.name}/Pinput", cluster))
        return cluster.pins[0].name

    def _neighbours(self, position: int, count: int) -> list[_Leaf]:
        """Clusters nearest to a place of the sequence of units."""
        found: list[_Leaf] = []
        for distance in range(1, len(self.units)):
            for place in (position - distance, position + distance):
                if 0 <= place < len(self.units) and not self.units[place][0].hard:
                    found.append(self.units[place][0])
            if len(found) >= count:
                break
        return found[:count]

    def _wire_memories(self) -> None:
        for position, unit in enumerate(self.units):
            if not unit[0].hard:
                continue
            controllers = self._neighbours(position, 4)
            for memory in unit:
                names = (
                    [f"addr[{bit}]" for bit in range(_ADDRESS_BITS)]
                    + [f"d[{bit}]" for bit in range(self.size.data_bits)]
                    + [f"q[{bit}]" for bit in range(self.size.data_bits)]
                )
                step = memory.width_um / (len(names) + 1)
                for index, name in enumerate(names):
                    dx = round(-memory.width_um / 2 + (index + 1) * step, 3)
                    memory.pins.append(_Pin(f"{memory.name}/{name}", memory, dx, -memory.height_um / 2))
            for bit in range(_ADDRESS_BITS):
                controller = controllers[bit % min(len(controllers), 2)]
                self._output(controller).sinks += [memory.pins[bit].name for memory in unit]
            for memory in unit:
                reader, writer = self.random.integers(0, len(controllers), 2)
                for pin in memory.pins[_ADDRESS_BITS : _ADDRESS_BITS + self.size.data_bits]:
                    self._output(controllers[writer]).sinks.append(pin.name)
                for pin in memory.pins[_ADDRESS_BITS + self.size.data_bits :]:
                    pin.sinks.append(self._input(controllers[reader]))

    def _wire_clusters(self, low: int, high: int) -> None:
        count = high - low
        if count < 2:
            return
        middle = (low + high) // 2
        cut = 0.5 * self.size.terminals * count**RENT_EXPONENT * (2 ** (1 - RENT_EXPONENT) - 1)
        for _ in range(int(cut) + int(self.random.random() < cut % 1)):
            source = int(self.random.integers(low, high))
            other = (middle, high) if source < middle else (low, middle)
            sinks = {int(self.random.integers(*other))}
            wanted = min(int(self.random.choice(SINKS, p=SINKS_SHARE)), count - 1)
            for _ in range(4 * wanted):
                if len(sinks) == wanted:
                    break
                sinks.add(int(self.random.integers(low, high)))
                sinks.discard(source)
            weight = min(1 + int(self.random.geometric(0.25)), 32) if self.random.random() < WEIGHTED_SHARE else 1
            driver = self._output(self.clusters[source], weight)
            driver.sinks += [self._input(self.clusters[sink]) for sink in sorted(sinks)]
        self._wire_clusters(low, middle)
        self._wire_clusters(middle, high)

    def _ports(self) -> list[_Pin]:
        """Ports around the canvas, counter-clockwise from the lower left corner, buses of 16 together."""
        ports = [_Pin("clk_i", None), _Pin("rst_ni", None)]
        for index in range(self.size.ports - 2):
            bus, bit = divmod(index, 16)
            ports.append(_Pin(f"bus{bus}_{'io'[bus % 2]}[{bit}]", None))
        around = 2 * (self.width_um + self.height_um)
        for index, port in enumerate(ports):
            way = (index + 0.5) / len(ports) * around
            if way < self.width_um:
                port.side, port.x_um, port.y_um = "BOTTOM", way, 0.0
            elif (way := way - self.width_um) < self.height_um:
                port.side, port.x_um, port.y_um = "RIGHT", self.width_um, way
            elif (way := way - self.height_um) < self.width_um:
                port.side, port.x_um, port.y_um = "TOP", self.width_um - way, self.height_um
            else:
                port.side, port.x_um, port.y_um = "LEFT", 0.0, self.height_um - (way - self.width_um)
            port.x_um, port.y_um = round(port.x_um, 3), round(port.y_um, 3)
        return ports

    def _wire_ports(self) -> None:
        clusters = self.clusters
        reset = self.random.choice(len(clusters), min(64, len(clusters) // 2), replace=False)
        self.ports[1].sinks += [self._input(clusters[index]) for index in sorted(reset)]
        home = 0
        for index, port in enumerate(self.ports[2:]):
            if index % 16 == 0:  # a bus belongs to one neighbourhood
                home = int(self.random.integers(0, len(clusters)))
            cluster = clusters[(home + int(self.random.integers(0, 3))) % len(clusters)]
            if (index // 16) % 2 == 0:
                port.sinks.append(self._input(cluster))
            else:
                self._output(cluster).sinks.append(port.name)

    # Start and text

    def _start(self) -> dict[str, tuple[float, float]]:
        """Centres: the canvas sliced by area, units in a random order."""
        order = self.random.permutation(len(self.units))
        leaves = [leaf for index in order for leaf in self.units[index]]
        centres: dict[str, tuple[float, float]] = {}
        self._slice(leaves, 0.0, 0.0, self.width_um, self.height_um, centres)
        return centres

    def _slice(
        self, leaves: Sequence[_Leaf], x: float, y: float, w: float, h: float, centres: dict[str, tuple[float, float]]
    ) -> None:
        if len(leaves) == 1:
            leaf = leaves[0]
            centre_x = min(max(x + w / 2, leaf.width_um / 2), self.width_um - leaf.width_um / 2)
            centre_y = min(max(y + h / 2, leaf.height_um / 2), self.height_um - leaf.height_um / 2)
            centres[leaf.name] = (round(centre_x, 3), round(centre_y, 3))
            return
        area = np.cumsum([leaf.width_um * leaf.height_um for leaf in leaves])
        cut = int(np.clip(np.searchsorted(area, area[-1] / 2) + 1, 1, len(leaves) - 1))
        part = float(area[cut - 1] / area[-1])
        if w >= h:
            self._slice(leaves[:cut], x, y, w * part, h, centres)
            self._slice(leaves[cut:], x + w * part, y, w * (1 - part), h, centres)
        else:
            self._slice(leaves[:cut], x, y, w, h * part, centres)
            self._slice(leaves[cut:], x, y + h * part, w, h * (1 - part), centres)

    def _nodes(self) -> Iterator[NodeText]:
        """The nodes in the order of published netlists: ports, memories with their pins, clusters with theirs."""
        centres = self._start()
        for port in self.ports:
            attributes = [_text("side", port.side), _text("type", "PORT"), _f("x", port.x_um), _f("y", port.y_um)]
            yield NodeText(port.name, port.sinks, attributes, 0)
        for leaf in sorted(self.leaves, key=lambda leaf: not leaf.hard):
            x, y = centres[leaf.name]
            attributes = [_text("type", "MACRO" if leaf.hard else "macro"), _f("x", x), _f("y", y)]
            attributes += [_f("width", leaf.width_um), _f("height", leaf.height_um)]
            attributes += [_text("orientation", "N")] if leaf.hard else []
            yield NodeText(leaf.name, [], attributes, 0)
            for pin in leaf.pins:
                attributes = [_text("type", "MACRO_PIN" if leaf.hard else "macro_pin"), _text("macro_name", leaf.name)]
                attributes += [_f("x_offset", pin.dx_um), _f("y_offset", pin.dy_um)]
                attributes += [_f("weight", pin.weight)] if pin.weight > 1 else []
                yield NodeText(pin.name, pin.sinks, attributes, 0)


def _text(key: str, value: str) -> Attribute:
    return key, "placeholder", value


def _f(key: str, value: float) -> Attribute:
    return key, "f", number(value)
