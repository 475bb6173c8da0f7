"""The end of an episode: from the macros' centres to a whole placement, its exact cost and the final reward.

In: a design, its plan and the centres that an episode chose. Out: `Outcome`. Shared by MacroEnv and VectorEnv.
A dead end (no legal place anywhere for the next macro) does not end without a result: the legaliser finds places for
the macros left over, moving others if it must, and the reward is less by the stated penalty.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from netlists.model import Design, FloatArray, Placement
from placement.cost import CostReport, Weights, evaluate
from placement.cost.problem import problem_of
from placement.env.flips import flip_macros, harmless
from placement.env.kernels import new_states, random_episode_ends_dead
from placement.env.plan import Plan, make_plan
from placement.env.soft import SoftPlacer
from placement.env.types import EnvConfig
from placement.legal.legalise import legalise
from placement.legal.pack import inside, pack
from placement.legal.separate import separate

PROBES = 3  # random episodes that decide whether macros are set against each other


def prepare(design: Design, config: EnvConfig) -> Plan:
    """`make_plan`, with `snap` decided: macros are set against each other where random episodes dead-end without.

    Gaps cost nothing where there is room, and abutting everywhere makes worse placements (on ariane133_ng45 the mean
    proxy cost of random episodes is 1.00 with and 0.76 without). Deterministic.
    """
    plan = make_plan(design, config)
    states = new_states(plan, 1)
    return plan._replace(snap=any(random_episode_ends_dead(plan, states, seed) for seed in range(PROBES)))


class Outcome(NamedTuple):
    """What an episode came to."""

    placement: Placement
    costs: CostReport
    reward: float  # final reward, dense increments already paid not yet taken off
    infeasible: int  # macros that found no place of their own

    def info(self) -> dict[str, Any]:
        """As the `info` of the last step."""
        return {
            "costs": self.costs.as_dict(),
            "proxy_cost": self.costs.proxy_cost,
            "infeasible": self.infeasible,
            "x_um": self.placement.x_um,
            "y_um": self.placement.y_um,
            "orientation": self.placement.orientation,
        }


class Finisher:
    """Ends episodes of one design."""

    def __init__(self, design: Design, plan: Plan, config: EnvConfig) -> None:
        """Raises InfeasibleError if the design cannot be packed: then no episode could be promised a legal end."""
        self._design, self._plan, self._config = design, plan, config
        self._weights = Weights(config.wirelength_weight, config.density_weight, config.congestion_weight)
        oriented = design.start.moved(orientation=plan.orientation)
        self._base = inside(design, oriented)  # where everything but the movable hard macros starts from
        reference = legalise(design, design.start) if design.has_start else pack(design)
        self.soft = SoftPlacer(design, reference)
        self._problem = problem_of(design)
        self._flips = harmless(design, self._base.orientation, plan.node)

    def finish(self, centre: FloatArray, placed: int) -> Outcome:
        """centre (M, 2) µm of the macros' boxes in placing order, of which the first `placed` are chosen."""
        node = self._plan.node
        x, y = self._base.x_um.copy(), self._base.y_um.copy()
        x[node], y[node] = (centre - self._plan.offset).T
        left = len(node) - placed
        hard = self._base.moved(x_um=x, y_um=y)
        if left:
            canvas = self._design.canvas
            x[node[placed:]], y[node[placed:]] = canvas.width_um / 2, canvas.height_um / 2
            hard = legalise(self._design, self._base.moved(x_um=x, y_um=y))
        else:
            hard = separate(self._design, hard)
        placement = self.soft.place(hard)
        if self._config.final_flips:
            orientation = placement.orientation.copy()
            flip_macros(self._problem, node, self._flips, placement.x_um, placement.y_um, orientation)
            placement = placement.moved(orientation=orientation)
        costs = evaluate(self._design, placement, self._weights)
        return Outcome(placement, costs, self._reward(costs.proxy_cost, left), left)

    def _reward(self, proxy_cost: float, left: int) -> float:
        config = self._config
        penalty = config.infeasible_penalty * left / len(self._plan.node)
        return config.reward_scale * (config.reward_shift - proxy_cost - penalty)

    def dense(self, growth: FloatArray | np.floating | float) -> FloatArray | np.floating | float:
        """Reward of a step for a growth of the wirelength cost; 0 unless the configuration asks for it."""
        config = self._config
        return -config.reward_scale * config.wirelength_weight * growth if config.dense_reward else 0.0 * growth
