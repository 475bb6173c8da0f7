"""The IMPALA loss: logits, values and an unroll's data in, one number and its parts out. Pure JAX.

Source: Espeholt et al. 2018, section 4.2: policy gradient with V-trace advantages, squared error to V-trace
targets (`huber_at`: beyond it linear), entropy bonus. Each part is the mean over steps; weights in `LossConfig`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import jax
import jax.numpy as jnp

from workers.agents.vtrace import vtrace

FORBIDDEN = -1e9  # logit of a masked action: exp() of it is 0 in float32, and unlike -inf it has a gradient of 0


@dataclass(frozen=True, kw_only=True)
class LossConfig:
    """Weights and clips. Defaults: IMPALA's published ones, but for the entropy weight, which is a task's own."""

    value_weight: float = 0.5
    entropy_weight: float = 0.01
    clip_rho: float = 1.0
    clip_c: float = 1.0
    lambda_: float = 1.0
    huber_at: float = math.inf  # value errors beyond it count linearly; inf: squared error, as published

    def __post_init__(self) -> None:
        if not self.huber_at > 0:
            raise ValueError(f"huber_at is {self.huber_at}, must be above 0")


def masked_log_probs(logits: jax.Array, mask: jax.Array) -> jax.Array:
    """Log probabilities over the allowed actions. (…, A), (…, A) bool → (…, A); forbidden ones about -1e9."""
    return jax.nn.log_softmax(jnp.where(mask, logits, FORBIDDEN))


def entropy(log_probs: jax.Array) -> jax.Array:
    """Entropy in nats, (…, A) → (…). Actions of probability 0 add 0."""
    return -jnp.sum(jnp.exp(log_probs) * log_probs, axis=-1)


def huber(error: jax.Array, at: float) -> jax.Array:
    """Half the square up to `at`, beyond it a line of slope `at` (Huber 1964): its gradient is the error, clipped."""
    size = jnp.abs(error)
    within = jnp.minimum(size, at)
    return within * (size - 0.5 * within)


def impala_loss(
    *,
    log_probs: jax.Array,
    value: jax.Array,
    action: jax.Array,
    reward: jax.Array,
    discount: jax.Array,
    behaviour_logp: jax.Array,
    config: LossConfig,
) -> tuple[jax.Array, dict[str, jax.Array]]:
    """Loss of a batch and its parts.

    log_probs (T, B, A) from `masked_log_probs` · value (T+1, B) · action (T, B) int32, allowed by the mask
    reward, discount, behaviour_logp (T, B)
    """
    logp = jnp.take_along_axis(log_probs, action[..., None], axis=-1)[..., 0]
    corrected = vtrace(
        value=value,
        reward=reward,
        discount=discount,
        log_rho=jax.lax.stop_gradient(logp) - behaviour_logp,
        clip_rho=config.clip_rho,
        clip_c=config.clip_c,
        lambda_=config.lambda_,
    )
    policy = -jnp.mean(corrected.advantage * logp)
    baseline = jnp.mean(huber(corrected.target - value[:-1], config.huber_at))
    bonus = jnp.mean(entropy(log_probs))
    loss = policy + config.value_weight * baseline - config.entropy_weight * bonus
    parts = {
        "loss": loss,
        "policy_loss": policy,
        "value_loss": baseline,
        "entropy": bonus,
        "rho_mean": jnp.mean(jnp.exp(jax.lax.stop_gradient(logp) - behaviour_logp)),
    }
    return loss, parts
