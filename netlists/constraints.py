"""Rules of a design beyond "no overlap": halos, orientations, regions, spacings. Arrays, one entry a node.

Meaning of each: docs/constraints.md. What is fixed or pre-placed is in `Design.start`, blockages are in
`Design.blockages_um`; all else is here. `Design.constraints` is None where there are none, and then costs nothing.
Rules bind movable hard macros; what is fixed is where its owner wants it. Made by `constraints_json/file.py` (and by
any reader of a format with rules of its own), read by `placement.legal`. Knows no files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

ANY_OF_ITS_CLASS = 0  # orientation mask: those of the class that the start has
NO_REGION = -1


@dataclass(frozen=True, eq=False, kw_only=True)
class Constraints:
    """N nodes, in the netlist's order. Entries of nodes that are no hard macros have no effect. Lengths µm."""

    halo_um: NDArray[np.float64]  # (N, 4) left bottom right top, in orientation N; it turns with the macro
    orientations: NDArray[np.uint8]  # (N,) bit o set = Orientation o allowed; ANY_OF_ITS_CLASS
    boundary_spacing_um: NDArray[np.float64]  # (N,) least distance of the macro from the canvas' edges
    region: NDArray[np.int32]  # (N,) into regions_um; NO_REGION
    region_names: tuple[str, ...] = ()
    regions_um: tuple[NDArray[np.float64], ...] = ()  # each (R, 4) llx lly urx ury: the macro lies in their union
    macro_spacing_um: float = 0.0  # least distance between two macros: half of it is a least margin of each
    source: Mapping[str, Any] = field(default_factory=dict)  # the JSON object that says the same, if one does

    def __post_init__(self) -> None:
        n, regions = len(self.region), len(self.regions_um)
        for name, dtype, shape in (
            ("halo_um", np.float64, (n, 4)),
            ("orientations", np.uint8, (n,)),
            ("boundary_spacing_um", np.float64, (n,)),
            ("region", np.int32, (n,)),
        ):
            array = np.array(getattr(self, name), dtype=dtype)
            if array.shape != shape:
                raise ValueError(f"{name}: shape {array.shape}, expected {shape}")
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        for name in ("halo_um", "boundary_spacing_um"):
            values = getattr(self, name)
            if not (np.isfinite(values).all() and np.all(values >= 0)):
                raise ValueError(f"{name}: values must be finite and not negative")
        if not (np.isfinite(self.macro_spacing_um) and self.macro_spacing_um >= 0):
            raise ValueError(f"macro_spacing_um is {self.macro_spacing_um}; it must be finite and not negative")
        if n and not (self.region.min() >= NO_REGION and self.region.max() < regions):
            raise ValueError(f"region: values must lie in [{NO_REGION}, {regions})")
        if len(self.region_names) != regions:
            raise ValueError(f"{len(self.region_names)} names of {regions} regions")

    @property
    def bind(self) -> bool:
        """Whether there is a rule at all, beyond what start and blockages hold."""
        return bool(
            self.macro_spacing_um > 0
            or self.halo_um.any()
            or self.orientations.any()
            or self.boundary_spacing_um.any()
            or np.any(self.region != NO_REGION)
        )
