"""Making a legal placement better: `improve` (the exact optimiser) and `anneal` (the plain baseline).

`board` what may move where · `loop` the compiled trials · `driver` stages, budget, best placement · `budget`, `result`.
"""

from placement.search.anneal import anneal
from placement.search.improve import improve
from placement.search.result import SearchResult, StageGain

__all__ = ["SearchResult", "StageGain", "anneal", "improve"]
