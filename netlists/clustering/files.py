"""A clustered design as the files that everything else takes: netlist, .plc and, if it has rules, constraints.

Beside them the groups: which node of the clustered design each node of the flat one went into.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from netlists.circuit_training.writer import write_netlist, write_plc
from netlists.constraints_json.file import write_constraints
from netlists.files import atomic_bytes
from netlists.model import Design, IntArray

NETLIST, PLC, CONSTRAINTS = "netlist.pb.txt.gz", "initial.plc", "design.constraints.json"
GROUPS = "cell-groups.npy"  # no file of the design: for whoever places its cells


def write_clustered(folder: Path, design: Design, node_of: IntArray | None = None) -> list[Path]:
    """Writes the files into a folder, made if need be, and returns their paths. They read back as the same
    design. `node_of` (N of the flat design,) is written, too, but not among the paths.
    """
    folder.mkdir(parents=True, exist_ok=True)
    write_netlist(folder / NETLIST, design, design.start)
    write_plc(folder / PLC, design, design.start)
    if node_of is not None:
        with atomic_bytes(folder / GROUPS) as file:
            np.save(file, node_of, allow_pickle=False)
    files = [folder / NETLIST, folder / PLC]
    return [*files, folder / CONSTRAINTS] if write_constraints(folder / CONSTRAINTS, design) else files


def read_groups(folder: Path, flat: Design, clustered: Design) -> IntArray | None:
    """(N,) node of `clustered` that each node of `flat` is in; None where the folder does not tell for these two."""
    path = Path(folder) / GROUPS
    if not path.is_file():
        return None
    try:
        groups = np.load(path, allow_pickle=False)
    except ValueError:
        return None
    if groups.shape != (flat.netlist.node_count,) or groups.dtype != np.int32 or not len(groups):
        return None
    return groups if groups.min() >= 0 and groups.max() < clustered.netlist.node_count else None
