"""Losses of the actor-critics: an evaluated batch and its targets in, one number and its parts out. Pure JAX.

Two steps, so that an algorithm with several epochs over a batch makes its targets once: `*_targets` (constants: value
targets and advantages), then `actor_critic_loss` = policy + value_weight * value - entropy_weight * entropy.
Sources: IMPALA, Espeholt et al. 2018, section 4.2; PPO, Schulman et al. 2017, equation 7; A2C, Mnih et al. 2016.
Each part is the mean over the steps of weight 1. Which algorithm takes which: algorithms.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp

from workers.agents.returns import gae
from workers.agents.types import Unroll
from workers.agents.vtrace import vtrace

FORBIDDEN = -1e9  # logit of a masked action: exp() of it is 0 in float32, and unlike -inf it has a gradient of 0


@dataclass(frozen=True, kw_only=True)
class LossConfig:
    """Weights and clips. Defaults: IMPALA's and PPO's published ones, but for the entropy weight, a task's own."""

    value_weight: float = 0.5
    entropy_weight: float = 0.01
    clip_rho: float = 1.0  # V-trace's ρ̄
    clip_c: float = 1.0  # and c̄
    lambda_: float = 1.0  # of V-trace and of GAE
    clip_ratio: float = 0.2  # PPO's ε
    normalise_advantage: bool = False  # to mean 0 and spread 1 over the batch
    huber_at: float = math.inf  # value errors beyond it count linearly; inf: squared error, as published

    def __post_init__(self) -> None:
        if not self.huber_at > 0:
            raise ValueError(f"huber_at is {self.huber_at}, must be above 0")
        if not 0 <= self.lambda_ <= 1:
            raise ValueError(f"lambda_ is {self.lambda_}, must lie in [0, 1]")
        if not 0 < self.clip_ratio < 1:
            raise ValueError(f"clip_ratio is {self.clip_ratio}, must lie in (0, 1)")


class Evaluated(NamedTuple):
    """What the network says of a batch."""

    log_probs: jax.Array  # (T, B, A) from `masked_log_probs`
    value: jax.Array  # (T+1, B)


class Targets(NamedTuple):
    """Constants of the loss."""

    value: jax.Array  # (T, B) what the critic is drawn to
    advantage: jax.Array  # (T, B) factor of the policy's gradient


def masked_log_probs(logits: jax.Array, mask: jax.Array) -> jax.Array:
    """Log probabilities over the allowed actions. (…, A), (…, A) bool → (…, A); forbidden ones about -1e9."""
    return jax.nn.log_softmax(jnp.where(mask, logits, FORBIDDEN))


def chosen(per_action: jax.Array, action: jax.Array) -> jax.Array:
    """(…, A) at the actions (…) int32 → (…)."""
    return jnp.take_along_axis(per_action, action[..., None], axis=-1)[..., 0]


def entropy(log_probs: jax.Array) -> jax.Array:
    """Entropy in nats, (…, A) → (…). Actions of probability 0 add 0."""
    return -jnp.sum(jnp.exp(log_probs) * log_probs, axis=-1)


def huber(error: jax.Array, at: float) -> jax.Array:
    """Half the square up to `at`, beyond it a line of slope `at` (Huber 1964): its gradient is the error, clipped."""
    size = jnp.abs(error)
    within = jnp.minimum(size, at)
    return within * (size - 0.5 * within)


def weighted_mean(values: jax.Array, weight: jax.Array | None) -> jax.Array:
    """Mean of the entries by weight (same shape), 0 where all weights are 0; None: the plain mean."""
    if weight is None:
        return jnp.mean(values)
    return jnp.sum(jnp.where(weight > 0, values, 0.0) * weight) / jnp.maximum(jnp.sum(weight), 1e-8)


def vtrace_targets(seen: Evaluated, batch: Unroll, config: LossConfig) -> Targets:
    """For data of older versions: ratios of the evaluated to the acting policy, clipped."""
    corrected = vtrace(
        value=seen.value,
        reward=batch.reward,
        discount=batch.discount,
        log_rho=chosen(seen.log_probs, batch.action) - batch.behaviour_logp,
        clip_rho=config.clip_rho,
        clip_c=config.clip_c,
        lambda_=config.lambda_,
    )
    return Targets(corrected.target, corrected.advantage)


def gae_targets(seen: Evaluated, batch: Unroll, config: LossConfig) -> Targets:
    """For data of the evaluated policy itself; λ = 1: returns to the unroll's end."""
    advantage = gae(seen.value, batch.reward, batch.discount, config.lambda_)
    return Targets(*jax.lax.stop_gradient((seen.value[:-1] + advantage, advantage)))


def plain_policy_loss(
    logp: jax.Array, behaviour_logp: jax.Array, advantage: jax.Array, config: LossConfig
) -> jax.Array:
    """The policy gradient's: -A log π(a), per step. What acted does not matter (V-trace's advantage holds its ρ)."""
    return -advantage * logp


def clipped_policy_loss(
    logp: jax.Array, behaviour_logp: jax.Array, advantage: jax.Array, config: LossConfig
) -> jax.Array:
    """PPO's: -min(r A, clip(r, 1-ε, 1+ε) A) with r = π(a)/μ(a), per step. No gradient where clipping makes it worse."""
    ratio = jnp.exp(logp - behaviour_logp)
    clipped = jnp.clip(ratio, 1.0 - config.clip_ratio, 1.0 + config.clip_ratio)
    return -jnp.minimum(ratio * advantage, clipped * advantage)


def normalised(advantage: jax.Array, weight: jax.Array | None) -> jax.Array:
    """To mean 0 and spread 1 over the steps of weight 1."""
    centred = advantage - weighted_mean(advantage, weight)
    return centred / (jnp.sqrt(weighted_mean(jnp.square(centred), weight)) + 1e-8)


def actor_critic_loss(
    seen: Evaluated,
    targets: Targets,
    batch: Unroll,
    config: LossConfig,
    *,
    clipped: bool,
    weight: jax.Array | None = None,
) -> tuple[jax.Array, dict[str, jax.Array]]:
    """Loss of a batch and its parts. `clipped`: PPO's policy loss, else the plain one.

    weight (T, B): 0 for padding behind an episode's end, 1 elsewhere; None: no padding. A batch's actions are allowed
    by its masks, its discounts 0 at episode ends.
    """
    logp = chosen(seen.log_probs, batch.action)
    advantage = normalised(targets.advantage, weight) if config.normalise_advantage else targets.advantage
    of_policy = clipped_policy_loss if clipped else plain_policy_loss
    policy = weighted_mean(of_policy(logp, batch.behaviour_logp, advantage, config), weight)
    critic = weighted_mean(huber(targets.value - seen.value[:-1], config.huber_at), weight)
    bonus = weighted_mean(entropy(seen.log_probs), weight)
    loss = policy + config.value_weight * critic - config.entropy_weight * bonus
    ratio = jnp.exp(jax.lax.stop_gradient(logp) - batch.behaviour_logp)
    parts = {
        "loss": loss,
        "policy_loss": policy,
        "value_loss": critic,
        "entropy": bonus,
        "rho_mean": weighted_mean(ratio, weight),
    }
    return loss, parts
