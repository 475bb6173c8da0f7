"""Global placement by gradients: hard and soft macros together, on a smooth form of the very proxy cost.

`arrays` a design padded for the device · `shape` the routes' exact form, renewed between blocks · `terms` the smooth
cost (JAX) · `descent` blocks of steps (JAX) · `schedule` weights and temperatures · `engine` host and device together ·
`place` seeds, legalising, choice · `flow` with the exact search behind it. See docs/analytic.md.

Importing this package does not import jax; calling its functions does.
"""

from placement.analytic.flow import global_rounds, place_analytically
from placement.analytic.place import Candidate, global_place

__all__ = ["Candidate", "global_place", "global_rounds", "place_analytically"]
