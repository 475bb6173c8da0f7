"""Agents with a policy and a critic: IMPALA, PPO, A2C and A3C, which differ in targets and policy loss only.

Source of the losses: losses.py. The critic may learn in running units (popart.py); its targets are always in plain
ones. Random orders of PPO's minibatches come from the state's key and step, so that a restart repeats them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp

from workers.agents.agent import Acted, Agent, AgentConfig, LearnerState, Parts, draw, keep_if
from workers.agents.losses import Evaluated, LossConfig, Targets, actor_critic_loss, masked_log_probs
from workers.agents.popart import ValueScale, preserve_values, track, unit_scale
from workers.agents.types import Array, Params, RecurrentState, Unroll

TargetsOf = Callable[[Evaluated, Unroll, LossConfig], Targets]


class ActorCritic(Agent):
    """`targets_of` makes value targets and advantages; `clipped` takes PPO's policy loss."""

    def __init__(
        self,
        network: nn.Module,
        config: AgentConfig,
        lstm_width: int,
        context: Any = None,
        *,
        targets_of: TargetsOf,
        clipped: bool,
    ) -> None:
        self._targets_of = targets_of
        self._clipped = clipped
        super().__init__(network, config, lstm_width, context)

    def evaluate(self, params: Params, scale: ValueScale, batch: Unroll, context: Any = None) -> Evaluated:
        """The network over a batch (leaves (T+1, B, …) and (T, B); state (B, H)); values in plain units."""
        outputs = self._apply_network(params, batch.observation, batch.initial_state, batch.first, context)
        log_probs = masked_log_probs(outputs.logits[:-1], batch.observation.mask[:-1])
        return Evaluated(log_probs, scale.unnormalise(outputs.value))

    def loss(
        self, params: Params, scale: ValueScale, batch: Unroll, targets: Targets | None = None, context: Any = None
    ) -> tuple[jax.Array, tuple[Parts, Targets]]:
        """Loss of a batch, its parts, and its targets: those given, or made of the same evaluation.

        In the units of `scale`: an advantage of one spread weighs 1, whatever the returns' size.
        """
        seen = self.evaluate(params, scale, batch, context)
        if targets is None:
            targets = jax.lax.stop_gradient(self._targets_of(seen, batch, self.config.loss))
        scaled = Targets(scale.normalise(targets.value), targets.advantage / scale.spread)
        seen = seen._replace(value=scale.normalise(seen.value))
        loss, parts = actor_critic_loss(seen, scaled, batch, self.config.loss, clipped=self._clipped)
        return loss, (parts, targets)

    def _own(self, params: Params) -> ValueScale:
        return unit_scale()

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
        action, logp = draw(masked_log_probs(outputs.logits[0], observation.mask), seed, step)
        return Acted(action, logp, outputs.state)

    def _gradient(self, state: LearnerState, batch: Unroll, context: Any) -> tuple[Params, Parts]:
        gradient, (parts, _) = jax.grad(self.loss, has_aux=True)(state.params, state.own, batch, None, context)
        return gradient, parts

    def _update(self, state: LearnerState, batch: Unroll, context: Any) -> tuple[LearnerState, Parts]:
        config = self.config
        if config.epochs * config.minibatches == 1:
            gradient, (parts, targets) = jax.grad(self.loss, has_aux=True)(
                state.params, state.own, batch, None, context
            )
            params, optimiser, finite, norm = self._descend(state.params, state.optimiser, gradient, parts["loss"])
        else:
            seen = self.evaluate(state.params, state.own, batch, context)
            targets = jax.lax.stop_gradient(self._targets_of(seen, batch, config.loss))
            params, optimiser, finite, norm, parts = self._passes(state, batch, targets, context)
        scale = state.own
        if config.popart_rate:
            scale = track(state.own, targets.value, config.popart_rate)
            params = preserve_values(params, state.own, scale)
            parts = {**parts, "value_spread": scale.spread}
        after = keep_if(finite, state, params, optimiser, scale)
        return after, {**parts, "gradient_norm": norm, "finite": finite}

    def _passes(
        self, state: LearnerState, batch: Unroll, targets: Targets, context: Any
    ) -> tuple[Params, Any, jax.Array, jax.Array, Parts]:
        """Several passes over the batch in minibatches of whole unrolls, drawn anew for each pass."""
        config = self.config
        key = jax.random.fold_in(jax.random.wrap_key_data(state.key), state.step)
        keys = jax.random.split(key, config.epochs)
        orders = jax.vmap(lambda k: jax.random.permutation(k, config.batch_size))(keys)
        orders = orders.reshape(config.epochs * config.minibatches, -1)

        def one(carry: tuple[Params, Any], chosen: jax.Array) -> tuple[tuple[Params, Any], Any]:
            part, aims = take(batch, chosen), jax.tree.map(lambda leaf: leaf[:, chosen], targets)
            gradient, (parts, _) = jax.grad(self.loss, has_aux=True)(carry[0], state.own, part, aims, context)
            params, optimiser, finite, norm = self._descend(*carry, gradient, parts["loss"])
            return (params, optimiser), (finite, norm, parts)

        (params, optimiser), (finite, norm, parts) = jax.lax.scan(one, (state.params, state.optimiser), orders)
        return params, optimiser, jnp.all(finite), jnp.mean(norm), jax.tree.map(jnp.mean, parts)


def take(batch: Unroll, unrolls: jax.Array) -> Unroll:
    """Some unrolls of a batch, by their numbers."""
    over_time: Any = jax.tree.map(lambda leaf: leaf[:, unrolls], tuple(batch[:6]))
    rest: Any = jax.tree.map(lambda leaf: leaf[unrolls], tuple(batch[6:]))
    return Unroll._make((*over_time, *rest))
