"""A clustered design as the files that everything else takes: netlist.pb.txt.gz and initial.plc."""

from __future__ import annotations

from pathlib import Path

from netlists.circuit_training.writer import write_netlist, write_plc
from netlists.model import Design

NETLIST, PLC = "netlist.pb.txt.gz", "initial.plc"


def write_clustered(folder: Path, design: Design) -> list[Path]:
    """Writes the two files into a folder, made if need be, and returns their paths. They read back as the same
    design.
    """
    folder.mkdir(parents=True, exist_ok=True)
    write_netlist(folder / NETLIST, design, design.start)
    write_plc(folder / PLC, design, design.start)
    return [folder / NETLIST, folder / PLC]
