"""A placement as JSON, for scripts: every node with its place. Schema: docs/formats.md "placement.json"."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from netlists.constraints_json.file import constraints_json
from netlists.files import atomic_text
from netlists.model import Design, NodeKind, Orientation, Placement, Side

FORMAT, VERSION = "placewright-placement", 1


def write_json(path: Path, design: Design, placement: Placement, costs: Mapping[str, float] | None = None) -> None:
    """Writes design name, canvas, costs, constraints (null without), one object a node in node order. All exact."""
    netlist = design.netlist
    head = {
        "format": FORMAT,
        "version": VERSION,
        "design": design.name,
        "canvas": asdict(design.canvas),
        "costs": None if costs is None else {key: float(value) for key, value in costs.items()},
        "blockages_um": design.blockages_um.tolist(),
        "constraints": constraints_json(design),
    }
    with atomic_text(Path(path)) as file:
        file.write(json.dumps(head, ensure_ascii=False, allow_nan=False)[:-1] + ', "nodes": [')
        for node in range(netlist.node_count):
            entry = {
                "index": int(netlist.node_index[node]),
                "name": netlist.node_name[node],
                "kind": NodeKind(netlist.node_kind[node]).name.lower(),
                "x_um": float(placement.x_um[node]),
                "y_um": float(placement.y_um[node]),
                "width_um": float(netlist.width_um[node]),
                "height_um": float(netlist.height_um[node]),
                "orientation": Orientation(placement.orientation[node]).name,
                "fixed": bool(placement.fixed[node]),
            }
            if netlist.port_side[node] != Side.NONE:
                entry["side"] = Side(netlist.port_side[node]).name
            file.write((",\n" if node else "\n") + json.dumps(entry, ensure_ascii=False, allow_nan=False))
        file.write("\n]}\n")
