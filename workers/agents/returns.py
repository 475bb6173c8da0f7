"""Returns and advantages of an unroll without off-policy correction. Arrays (T, …) in, arrays (T, …) out. Pure JAX.

Letters and order of time as in `types.Unroll`: step t goes from x_t by reward r_t and discount γ_t (0 at an episode's
end) to x_{t+1}; values have one entry more, V(x_T), for what lies beyond the unroll.
Sources: n-step returns, Sutton & Barto 2018, chapter 7; GAE, Schulman et al. 2016, equation 16.
Called by losses.py and recurrent_q.py. Slow twins in float64: tests/workers/agents/test_returns.py.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp


def _check(value: jax.Array, reward: jax.Array, discount: jax.Array) -> None:
    if value.shape[0] != reward.shape[0] + 1 or reward.shape != discount.shape:
        raise ValueError(f"value {value.shape}, reward {reward.shape}, discount {discount.shape}")


def gae(value: jax.Array, reward: jax.Array, discount: jax.Array, lambda_: float) -> jax.Array:
    """Generalised advantages: A_t = δ_t + γ_t λ A_{t+1} with δ_t = r_t + γ_t V(x_{t+1}) - V(x_t).

    value (T+1, …) · reward, discount (T, …) · λ in [0, 1]; 1: the whole unroll's return minus V. Returns (T, …).
    """
    _check(value, reward, discount)
    delta = reward + discount * value[1:] - value[:-1]

    def back(advantage: jax.Array, step: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        delta_t, discount_t = step
        advantage = delta_t + discount_t * lambda_ * advantage
        return advantage, advantage

    _, advantages = jax.lax.scan(back, jnp.zeros_like(delta[0]), (delta, discount), reverse=True)
    return advantages


def n_step_returns(value: jax.Array, reward: jax.Array, discount: jax.Array, n: int) -> jax.Array:
    """G_t = r_t + γ_t r_{t+1} + … + γ_t…γ_{t+m-1} V(x_{t+m}), m = min(n, T-t): fewer steps at the unroll's end.

    value (T+1, …); value[0] is not read · reward, discount (T, …) · n at least 1. Returns (T, …).
    """
    _check(value, reward, discount)
    if n < 1:
        raise ValueError(f"n is {n}, must be at least 1")
    steps = reward.shape[0]
    n = min(n, steps)
    # Beyond the end nothing is earned and nothing decays, so the last value is what is found there.
    bootstrap = jnp.concatenate([value[n:], jnp.broadcast_to(value[-1:], (n - 1, *value.shape[1:]))])
    beyond = jnp.zeros((n - 1, *reward.shape[1:]), reward.dtype)
    rewards, discounts = jnp.concatenate([reward, beyond]), jnp.concatenate([discount, beyond + 1.0])
    returns = bootstrap
    for i in reversed(range(n)):
        returns = rewards[i : i + steps] + discounts[i : i + steps] * returns
    return returns
