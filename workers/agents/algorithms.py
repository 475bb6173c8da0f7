"""The algorithms by name: how each learns, and which data it may be given. The one place that knows the names.

`make_agent(name, network, config, lstm_width)` builds the agent; `ALGORITHMS[name]` says what it needs of whoever
brings the data: `workers/menger` in processes, `workers/menger/in_process.py` in one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import flax.linen as nn

from workers.agents.actor_critic import ActorCritic, TargetsOf
from workers.agents.agent import Agent, AgentConfig
from workers.agents.losses import gae_targets, vtrace_targets
from workers.agents.recurrent_q import QConfig, RecurrentQ

Data = Literal["recent", "fresh", "gradients", "replay"]


class Algorithm(NamedTuple):
    """What a name stands for."""

    make: Callable[..., Agent]
    # recent: unrolls of a policy some versions old, each used once; fresh: of the very policy that learns; gradients:
    # workers send these instead; replay: drawn again and again by priority, with their `priority` returned
    data: Data
    source: str


def _actor_critic(targets_of: TargetsOf, clipped: bool) -> Callable[..., Agent]:
    def make(network: nn.Module, config: AgentConfig, lstm_width: int, context: Any) -> Agent:
        if config.epochs > 1 and not clipped:
            raise ValueError(f"epochs is {config.epochs}; more than one pass over a batch needs PPO's clipping")
        return ActorCritic(network, config, lstm_width, context, targets_of=targets_of, clipped=clipped)

    return make


def _recurrent_q(network: nn.Module, config: AgentConfig, lstm_width: int, context: Any) -> Agent:
    if not isinstance(config, QConfig):
        raise TypeError(f"r2d2 needs a QConfig, not {type(config).__name__}")
    return RecurrentQ(network, config, lstm_width, context)


ALGORITHMS: dict[str, Algorithm] = {
    "impala": Algorithm(_actor_critic(vtrace_targets, clipped=False), "recent", "Espeholt et al. 2018"),
    # Ratios to the policy that acted are PPO's own, so data a few versions old is clipped like any other.
    "ppo": Algorithm(_actor_critic(gae_targets, clipped=True), "recent", "Schulman et al. 2017"),
    "a2c": Algorithm(_actor_critic(gae_targets, clipped=False), "fresh", "Mnih et al. 2016, synchronous"),
    "a3c": Algorithm(_actor_critic(gae_targets, clipped=False), "gradients", "Mnih et al. 2016"),
    "r2d2": Algorithm(_recurrent_q, "replay", "Kapturowski et al. 2019"),
}


def make_agent(name: str, network: nn.Module, config: AgentConfig, lstm_width: int, context: Any = None) -> Agent:
    """Raises ValueError for an unknown name or settings that the algorithm cannot take."""
    if name not in ALGORITHMS:
        raise ValueError(f"algorithm is {name!r}, allowed are {', '.join(ALGORITHMS)}")
    return ALGORITHMS[name].make(network, config, lstm_width, context)
