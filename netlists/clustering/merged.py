"""The clustered design of a flat one: soft macros for groups of cells, nets merged with weights.

A group becomes one square of its cells' area times the bloat, at its cells' mean place. Nets within a group vanish. Of
the nets that a group drives, those with the same sinks become one whose weight is their sum; nets that macros or ports
drive stay one by one, with one sink a group. Sources: Circuit Training's clustered netlists (one input pin a soft
macro, one output pin a merged net).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from netlists.constraints import NO_REGION, Constraints
from netlists.model import Design, FloatArray, IntArray, Netlist, NodeKind, Placement, Side


def merged_design(design: Design, group: IntArray, bloat: float) -> tuple[Design, IntArray]:
    """The clustered design and (N,) the node of it that each flat node is in. group (N,): from 0, -1 = stays itself."""
    flat = design.netlist
    kept = np.flatnonzero(group < 0)
    count = int(group.max(initial=-1)) + 1
    node_of = np.empty(flat.node_count, dtype=np.int32)
    node_of[kept] = np.arange(len(kept))
    node_of[group >= 0] = len(kept) + group[group >= 0]
    cells = np.flatnonzero(group >= 0)
    area = np.bincount(group[cells], (flat.width_um * flat.height_um)[cells], minlength=count)
    side = np.sqrt(np.maximum(area * bloat, 1e-12))
    nets = _merged_nets(flat, group, kept)
    netlist = _netlist(flat, kept, side, nets)
    start = _start(design, group, kept, cells, count)
    clustered = replace(design, netlist=netlist, start=start, constraints=_constraints(design, kept, count))
    return clustered, node_of


class _Nets:
    """Nets of the clustered design as (driver, sinks): pins of kept nodes as flat pins, of groups as -1 - group."""

    def __init__(self) -> None:
        self.driver: list[int] = []  # flat pin, or -1 - group
        self.sinks: list[tuple[int, ...]] = []
        self.weight: list[float] = []


def _merged_nets(flat: Netlist, group: IntArray, kept: IntArray) -> _Nets:
    result = _Nets()
    number: dict[tuple[int, tuple[int, ...]], int] = {}
    group_of_pin = group[flat.pin_node]
    target = np.where(group_of_pin[flat.net_pin] >= 0, -1 - group_of_pin[flat.net_pin], flat.net_pin).tolist()
    starts = flat.net_start.tolist()
    for net, weight in enumerate(flat.net_weight.tolist()):
        driver = target[starts[net]]
        sinks = set(target[starts[net] + 1 : starts[net + 1]])
        sinks.discard(driver)
        if not sinks:
            continue
        # What a macro pin or port drives is one net, whatever its sinks.
        key = (driver, tuple(sorted(sinks)) if driver < 0 else ())
        known = number.setdefault(key, len(result.driver))
        if known == len(result.driver):
            result.driver.append(driver)
            result.sinks.append(tuple(sorted(sinks)))
            result.weight.append(weight)
        elif driver < 0:
            result.weight[known] += weight
        else:
            result.sinks[known] = tuple(sorted(sinks.union(result.sinks[known])))
    return result


def _netlist(flat: Netlist, kept: IntArray, side: FloatArray, nets: _Nets) -> Netlist:
    """Nodes: those kept, then the soft macros; pins of a soft macro: its input, then an output a net that it drives."""
    groups = len(side)
    is_kept = np.zeros(flat.node_count, dtype=np.bool_)
    is_kept[kept] = True
    kept_pins = np.flatnonzero(is_kept[flat.pin_node])
    pin_of_flat = np.full(len(flat.pin_name), -1, dtype=np.int64)
    pin_of_flat[kept_pins] = np.arange(len(kept_pins))
    has_input = np.zeros(groups, dtype=np.bool_)
    for sinks in nets.sinks:
        for sink in sinks:
            if sink >= 0:
                break  # sorted: groups are negative and come first
            has_input[-1 - sink] = True
    drives: list[list[int]] = [[] for _ in range(groups)]
    for net, driver in enumerate(nets.driver):
        if driver < 0:
            drives[-1 - driver].append(net)
    names = [flat.pin_name[pin] for pin in kept_pins]
    input_pin = np.full(groups, -1, dtype=np.int64)
    output_pin: dict[int, int] = {}
    soft_pin_node: list[int] = []
    for group in range(groups):
        if has_input[group]:
            input_pin[group] = len(names)
            names.append(f"Grp_{group}/Pinput")
            soft_pin_node.append(len(kept) + group)
        for number, net in enumerate(drives[group]):
            output_pin[net] = len(names)
            names.append(f"Grp_{group}/Poutput_{number}")
            soft_pin_node.append(len(kept) + group)

    def pins(net: int) -> Iterator[int]:
        driver = nets.driver[net]
        yield output_pin[net] if driver < 0 else int(pin_of_flat[driver])
        for sink in nets.sinks[net]:
            yield int(input_pin[-1 - sink]) if sink < 0 else int(pin_of_flat[sink])

    members = [list(pins(net)) for net in range(len(nets.driver))]
    order = sorted(range(len(members)), key=lambda net: members[net][0])  # as files list them: by driver
    node_of_flat = np.full(flat.node_count, -1, dtype=np.int64)
    node_of_flat[kept] = np.arange(len(kept))
    pin_node = np.concatenate([node_of_flat[flat.pin_node[kept_pins]], np.array(soft_pin_node, dtype=np.int64)])
    kind = np.concatenate([flat.node_kind[kept], np.full(groups, NodeKind.SOFT_MACRO)])
    # Ports and cells are their own pin; macro pins count as nodes of the files.
    own = np.isin(kind, (NodeKind.PORT, NodeKind.CELL))
    pins_of = np.where(own, 0, np.bincount(pin_node, minlength=len(kind)))
    zeros = np.zeros(len(soft_pin_node))
    return Netlist(
        node_name=(*(flat.node_name[node] for node in kept), *(f"Grp_{group}" for group in range(groups))),
        node_kind=kind,
        node_index=np.concatenate([[0], np.cumsum(pins_of + 1)[:-1]]),
        width_um=np.concatenate([flat.width_um[kept], side]),
        height_um=np.concatenate([flat.height_um[kept], side]),
        port_side=np.concatenate([flat.port_side[kept], np.full(groups, Side.NONE)]),
        pin_name=tuple(names),
        pin_node=pin_node,
        pin_dx_um=np.concatenate([flat.pin_dx_um[kept_pins], zeros]),
        pin_dy_um=np.concatenate([flat.pin_dy_um[kept_pins], zeros]),
        net_start=np.concatenate([[0], np.cumsum([len(members[net]) for net in order], dtype=np.int64)]),
        net_pin=np.array([pin for net in order for pin in members[net]], dtype=np.int32),
        net_weight=np.array([nets.weight[net] for net in order], dtype=np.float64),
        drivers_without_sinks=flat.drivers_without_sinks,
    )


def _constraints(design: Design, kept: IntArray, count: int) -> Constraints | None:
    """The rules of the nodes that stay; soft macros have none."""
    rules = design.constraints
    if rules is None:
        return None
    return replace(
        rules,
        halo_um=np.concatenate([rules.halo_um[kept], np.zeros((count, 4))]),
        orientations=np.concatenate([rules.orientations[kept], np.zeros(count, np.uint8)]),
        boundary_spacing_um=np.concatenate([rules.boundary_spacing_um[kept], np.zeros(count)]),
        region=np.concatenate([rules.region[kept], np.full(count, NO_REGION, np.int32)]),
    )


def _start(design: Design, group: IntArray, kept: IntArray, cells: IntArray, count: int) -> Placement:
    start, canvas = design.start, design.canvas
    size = np.maximum(np.bincount(group[cells], minlength=count), 1)
    x = np.bincount(group[cells], start.x_um[cells], minlength=count) / size
    y = np.bincount(group[cells], start.y_um[cells], minlength=count) / size
    return Placement(
        x_um=np.concatenate([start.x_um[kept], np.clip(x, 0, canvas.width_um)]),
        y_um=np.concatenate([start.y_um[kept], np.clip(y, 0, canvas.height_um)]),
        orientation=np.concatenate([start.orientation[kept], np.zeros(count, np.int8)]),
        fixed=np.concatenate([start.fixed[kept], np.zeros(count, np.bool_)]),
    )
