"""What is legal, and how to get there: exact check, feasibility, constructive packing, legaliser.

Rules: hard macros do not overlap, lie inside the canvas, keep off blockages and out of fixed ones; what is fixed stays;
a macro turns only inside its class {N, FN, S, FS} or {E, FE, W, FW}. See docs/legality.md.
Knows nothing of costs (`placement.cost`) or files.
"""

from placement.legal.boxes import TOLERANCE_UM
from placement.legal.check import LegalityReport, check
from placement.legal.feasible import check_feasible
from placement.legal.legalise import legalise
from placement.legal.pack import pack
from placement.legal.separate import separate
from placement.legal.strict import strict_overlaps

__all__ = [
    "TOLERANCE_UM",
    "LegalityReport",
    "check",
    "check_feasible",
    "legalise",
    "pack",
    "separate",
    "strict_overlaps",
]
