"""Recurrent Q-learning from prioritised replay, as R2D2 does it (Kapturowski et al. 2019). Pure JAX.

A batch is `Replayed`: unrolls of which the first `burn_in` steps only bring the recurrent state up to date, weighted by
how likely each was drawn. Targets are n-step double Q-learning in rescaled values (rescaling.py); new priorities are
0.9 max + 0.1 mean of the absolute errors. Acts greedily but for a share ε, each environment its own (Horgan et al.
2018). The network's logits are the values of actions; its own value is not used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp

from workers.agents.agent import Acted, Agent, AgentConfig, LearnerState, Parts, draw, keep_if
from workers.agents.losses import FORBIDDEN, chosen
from workers.agents.rescaling import rescale, unscale
from workers.agents.returns import n_step_returns
from workers.agents.types import Array, Params, RecurrentState, Unroll

PRIORITY_OF_MAX = 0.9  # the source's η
LADDER = 7.0  # of exploration: ε^(1 + 7 k/(K-1)) for environment k of K (Horgan et al. 2018)


class Replayed(NamedTuple):
    """A batch drawn from replay."""

    unroll: Unroll  # leaves (T+1, B, …) and (T, B)
    weight: Array  # (B,) float32 importance weights, at most 1


@dataclass(frozen=True, kw_only=True)
class QConfig(AgentConfig):
    """Settings of recurrent Q-learning. Defaults: the source's, but for what hangs on the number of environments."""

    burn_in: int = 0  # steps of an unroll, below unroll_length
    n_step: int = 5
    target_every: int = 100  # updates
    epsilon: float = 0.4  # of the most curious environment
    rescale_values: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.burn_in < self.unroll_length:
            raise ValueError(f"burn_in is {self.burn_in}, must lie in [0, unroll_length {self.unroll_length})")
        if not 0 <= self.epsilon <= 1:
            raise ValueError(f"epsilon is {self.epsilon}, must lie in [0, 1]")
        for name in ("n_step", "target_every"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}, must be at least 1")
        if self.epochs * self.minibatches != 1:
            raise ValueError("epochs and minibatches must be 1: what is learned twice is drawn twice")
        if self.popart_rate:
            raise ValueError("popart_rate must be 0: values are rescaled instead")


def double_q_targets(
    online: jax.Array, target: jax.Array, mask: jax.Array, reward: jax.Array, discount: jax.Array, config: QConfig
) -> jax.Array:
    """n-step targets (T, B), in the network's units: the best allowed action by `online`, its value by `target`.

    online, target, mask (T+1, B, A) · reward, discount (T, B)
    """
    best = jnp.argmax(jnp.where(mask, online, FORBIDDEN), axis=-1)
    value = chosen(target, best)
    if not config.rescale_values:
        return n_step_returns(value, reward, discount, config.n_step)
    return rescale(n_step_returns(unscale(value), reward, discount, config.n_step))


def greedy_log_probs(values: jax.Array, mask: jax.Array, epsilon: jax.Array) -> jax.Array:
    """Log probabilities of the ε-greedy policy: (K, A), (K, A) bool, (K,) → (K, A); forbidden ones about -1e9."""
    best = jax.nn.one_hot(jnp.argmax(jnp.where(mask, values, FORBIDDEN), axis=-1), mask.shape[-1])
    uniform = mask / jnp.sum(mask, axis=-1, keepdims=True)
    probability = (1.0 - epsilon[:, None]) * best + epsilon[:, None] * uniform
    return jnp.where(probability > 0.0, jnp.log(jnp.maximum(probability, 1e-30)), FORBIDDEN)


class RecurrentQ(Agent):
    config: QConfig

    def __init__(self, network: nn.Module, config: QConfig, lstm_width: int, context: Any = None) -> None:
        super().__init__(network, config, lstm_width, context)

    def _own(self, params: Params) -> Params:
        copied: Params = jax.tree.map(jnp.copy, params)  # the target network
        return copied

    def _act(
        self,
        params: Params,
        observation: Any,
        state: RecurrentState,
        first: Array,
        seed: Array,
        step: Array,
        context: Any,
    ) -> Acted:
        sequence = jax.tree.map(lambda leaf: leaf[None], observation)
        outputs = self._apply_network(params, sequence, state, first[None], context)
        count = first.shape[0]
        epsilon = self.config.epsilon ** (1.0 + LADDER * jnp.arange(count) / max(count - 1, 1))
        action, logp = draw(greedy_log_probs(outputs.logits[0], observation.mask, epsilon), seed, step)
        return Acted(action, logp, outputs.state)

    def _values(self, params: Params, unroll: Unroll, context: Any) -> jax.Array:
        """Values of actions after the burn-in, (T-burn_in+1, B, A). No gradient reaches back into the burn-in."""
        burn_in, state = self.config.burn_in, unroll.initial_state
        cut = lambda part: jax.tree.map(lambda leaf: leaf[part], (unroll.observation, unroll.first))
        if burn_in:
            before, first = cut(slice(None, burn_in))
            state = self._apply_network(jax.lax.stop_gradient(params), before, state, first, context).state
        seen, first = cut(slice(burn_in, None))
        return self._apply_network(params, seen, state, first, context).logits

    def loss(
        self, params: Params, target_params: Params, batch: Replayed, context: Any = None
    ) -> tuple[jax.Array, Parts]:
        """Weighted mean of the squared errors, its parts and the new priorities."""
        unroll, burn_in = batch.unroll, self.config.burn_in
        online = self._values(params, unroll, context)
        target = self._values(target_params, unroll, context)
        aims = double_q_targets(
            *jax.lax.stop_gradient((online, target)),
            unroll.observation.mask[burn_in:],
            unroll.reward[burn_in:],
            unroll.discount[burn_in:],
            self.config,
        )
        value = chosen(online[:-1], unroll.action[burn_in:])
        error = jax.lax.stop_gradient(aims) - value
        loss = jnp.mean(0.5 * jnp.square(error) * batch.weight)
        size = jnp.abs(error)
        priority = PRIORITY_OF_MAX * size.max(axis=0) + (1.0 - PRIORITY_OF_MAX) * size.mean(axis=0)
        return loss, {"loss": loss, "value_loss": loss, "value_mean": jnp.mean(value), "priority": priority}

    def _gradient(self, state: LearnerState, batch: Replayed, context: Any) -> tuple[Params, Parts]:
        found: tuple[Params, Parts] = jax.grad(self.loss, has_aux=True)(state.params, state.own, batch, context)
        return found

    def _update(self, state: LearnerState, batch: Replayed, context: Any) -> tuple[LearnerState, Parts]:
        gradient, parts = self._gradient(state, batch, context)
        params, optimiser, finite, norm = self._descend(state.params, state.optimiser, gradient, parts["loss"])
        renew = (state.step + 1) % self.config.target_every == 0
        target = jax.tree.map(lambda new, old: jnp.where(renew, new, old), params, state.own)
        after = keep_if(finite, state, params, optimiser, target)
        return after, {**parts, "gradient_norm": norm, "finite": finite}
