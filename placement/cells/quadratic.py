"""One axis of the quadratic placement: springs and anchors in, positions out, by conjugate gradients.

The system is symmetric and, as every cell has an anchor, positive definite. Source of the scheme: Kim, Lee, Markov,
"SimPL: an effective placement algorithm", ICCAD 2010.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, cg

from netlists.model import FloatArray
from placement.cells.wirelength import Springs

TOLERANCE = 1e-5  # of the residual against the right side
MOST_STEPS = 300  # conjugate gradients; a step too few is made up for by the next round


def solve(of: Springs, anchor: FloatArray, anchor_weight: FloatArray, begin: FloatArray) -> FloatArray:
    """(M,) positions of least energy. anchor, begin (M,) µm · anchor_weight (M,) > 0 · begin: where to iterate from."""
    count = len(anchor)
    diagonal = of.diagonal + anchor_weight
    own = np.arange(count, dtype=np.int32)
    matrix = sparse.csr_array(
        (
            np.concatenate([-of.weight, -of.weight, diagonal]),
            (np.concatenate([of.first, of.second, own]), np.concatenate([of.second, of.first, own])),
        ),
        shape=(count, count),
    )
    inverse = 1.0 / diagonal
    scaling = LinearOperator((count, count), matvec=lambda v: inverse * v, dtype=np.float64)
    right = of.right + anchor_weight * anchor
    result, _ = cg(matrix, right, x0=begin, rtol=TOLERANCE, maxiter=MOST_STEPS, M=scaling)
    return np.asarray(result)
