"""The proxy cost: exact, from scratch (`evaluate`) and incremental (`incremental.IncrementalCost`).

Kernels: `problem` flattens a design once · `geometry`, `wirelength`, `density`, `congestion` state the rules ·
`lines` the maps they write · `proxy` puts them together.
"""

from placement.cost.proxy import DEFAULT_WEIGHTS, CostMaps, CostReport, Weights, cost_maps, evaluate

__all__ = ["DEFAULT_WEIGHTS", "CostMaps", "CostReport", "Weights", "cost_maps", "evaluate"]
