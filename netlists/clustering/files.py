"""A clustered design as the files that everything else takes: netlist, .plc and, if it has rules, constraints."""

from __future__ import annotations

from pathlib import Path

from netlists.circuit_training.writer import write_netlist, write_plc
from netlists.constraints_json.file import write_constraints
from netlists.model import Design

NETLIST, PLC, CONSTRAINTS = "netlist.pb.txt.gz", "initial.plc", "design.constraints.json"


def write_clustered(folder: Path, design: Design) -> list[Path]:
    """Writes the files into a folder, made if need be, and returns their paths. They read back as the same
    design.
    """
    folder.mkdir(parents=True, exist_ok=True)
    write_netlist(folder / NETLIST, design, design.start)
    write_plc(folder / PLC, design, design.start)
    files = [folder / NETLIST, folder / PLC]
    return [*files, folder / CONSTRAINTS] if write_constraints(folder / CONSTRAINTS, design) else files
