"""V-trace: off-policy corrected value targets and advantages. Arrays (T, …) in, arrays (T, …) out. Pure JAX.

Source: Espeholt et al. 2018, "IMPALA", section 4.1 and remark 1 (λ in c). With ρ_t = min(ρ̄, π/μ), c_t = λ min(c̄, π/μ):
    δ_t = ρ_t (r_t + γ_t V(x_{t+1}) - V(x_t)),    v_s - V(x_s) = δ_s + γ_s c_s (v_{s+1} - V(x_{s+1}))
    advantage_s = min(ρ̄_pg, π/μ) (r_s + γ_s v_{s+1} - V(x_s))
Called by losses.py. Slow twin: tests/workers/agents/test_vtrace.py (float64, straight from the sum).
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp


class VTrace(NamedTuple):
    """Both without gradient: targets and advantages are constants of the loss."""

    target: jax.Array  # (T, …) v_s, what the critic is drawn to
    advantage: jax.Array  # (T, …) factor of ∇ log π(a_s|x_s)


def vtrace(
    *,
    value: jax.Array,
    reward: jax.Array,
    discount: jax.Array,
    log_rho: jax.Array,
    clip_rho: float = 1.0,
    clip_c: float = 1.0,
    clip_pg_rho: float = 1.0,
    lambda_: float = 1.0,
) -> VTrace:
    """Targets and advantages of an unroll.

    value (T+1, …) V(x_0)…V(x_T), the last one for bootstrapping · reward, discount (T, …), discount 0 at episode ends
    log_rho (T, …) log π(a_t|x_t) - log μ(a_t|x_t) · clips: ρ̄, c̄, and ρ̄ of the policy gradient, all > 0
    """
    if value.shape[0] != reward.shape[0] + 1 or reward.shape != discount.shape or reward.shape != log_rho.shape:
        raise ValueError(f"value {value.shape}, reward {reward.shape}, discount {discount.shape}, ρ {log_rho.shape}")
    ratio = jnp.exp(log_rho)
    c = lambda_ * jnp.minimum(clip_c, ratio)
    delta = jnp.minimum(clip_rho, ratio) * (reward + discount * value[1:] - value[:-1])

    def back(correction: jax.Array, step: tuple[jax.Array, ...]) -> tuple[jax.Array, jax.Array]:
        delta_t, discount_t, c_t = step
        correction = delta_t + discount_t * c_t * correction
        return correction, correction

    _, correction = jax.lax.scan(back, jnp.zeros_like(delta[0]), (delta, discount, c), reverse=True)
    target = value[:-1] + correction
    next_target = jnp.concatenate([target[1:], value[-1:]])
    advantage = jnp.minimum(clip_pg_rho, ratio) * (reward + discount * next_target - value[:-1])
    return VTrace(jax.lax.stop_gradient(target), jax.lax.stop_gradient(advantage))
