"""The IMPALA agent: three pure functions, init, act and update, around a network and the V-trace loss.

`Agent` holds no state: `LearnerState` goes in and comes out. Called by workers/menger (actor: `act`; learner: `update`)
and by tests and benchmarks in one process. Source: Espeholt et al. 2018.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax

from workers.agents.losses import LossConfig, impala_loss, masked_log_probs
from workers.agents.networks import Outputs, initial_state
from workers.agents.types import Array, Params, RecurrentState, Unroll


@dataclass(frozen=True, kw_only=True)
class ImpalaConfig:
    """Settings of the algorithm. Checked at construction."""

    discount: float = 0.99
    unroll_length: int = 20  # steps, T
    batch_size: int = 8  # unrolls, B
    learning_rate: float = 1e-3
    adam_epsilon: float = 1e-5
    max_gradient_norm: float = 1.0
    loss: LossConfig = field(default_factory=LossConfig)

    def __post_init__(self) -> None:
        if not 0 <= self.discount <= 1:
            raise ValueError(f"discount is {self.discount}, must lie in [0, 1]")
        for name in ("unroll_length", "batch_size", "learning_rate", "max_gradient_norm"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} is {getattr(self, name)}, must be above 0")


class LearnerState(NamedTuple):
    """Everything an update needs and changes; what a checkpoint stores."""

    params: Params
    optimiser: Any  # optax state
    step: jax.Array  # () int32 updates done; the model's version
    skipped: jax.Array  # () int32 updates left out because loss or gradient was not finite


class Acted(NamedTuple):
    action: jax.Array  # (K,) int32
    logp: jax.Array  # (K,) float32
    state: RecurrentState  # (K, H)


class Agent:
    """Network and configuration, with their compiled functions."""

    def __init__(self, network: nn.Module, config: ImpalaConfig, lstm_width: int) -> None:
        self.network = network
        self.config = config
        self.lstm_width = lstm_width
        self.optimiser = optax.chain(
            optax.clip_by_global_norm(config.max_gradient_norm),
            optax.adam(config.learning_rate, eps=config.adam_epsilon),
        )
        self._compiled_init = jax.jit(self._init)
        self.act: Callable[..., Acted] = jax.jit(self._act)
        self.update: Callable[..., tuple[LearnerState, dict[str, jax.Array]]] = jax.jit(self._update, donate_argnums=0)

    def initial_state(self, count: int) -> RecurrentState:
        """Recurrent state of `count` environments before their first step."""
        return initial_state(self.lstm_width, count)

    def init(self, key: jax.Array, observation: Any) -> LearnerState:
        """A fresh state. `observation`: one environment's, for shapes only."""
        state: LearnerState = self._compiled_init(key, observation)
        return state

    def params_like(self, observation: Any) -> Params:
        """Shapes of the parameters, without making any."""
        shapes: LearnerState = jax.eval_shape(self._init, jax.random.key(0), observation)
        return shapes.params

    def _init(self, key: jax.Array, observation: Any) -> LearnerState:
        batched = jax.tree.map(lambda leaf: leaf[None, None], observation)
        params = self.network.init(key, batched, self.initial_state(1), jnp.ones((1, 1), bool))
        # Two arrays, not one twice: the update gives its input's memory back, each once.
        return LearnerState(params, self.optimiser.init(params), jnp.zeros((), jnp.int32), jnp.zeros((), jnp.int32))

    def _apply(self, params: Params, observation: Any, state: RecurrentState, first: Array) -> Outputs:
        outputs: Any = self.network.apply(params, observation, state, first)
        return outputs

    def _act(
        self, params: Params, observation: Any, state: RecurrentState, first: Array, seed: Array, step: Array
    ) -> Acted:
        """Draw one action for each of K environments. (K, …), (K, H), (K,) bool; (seed, step) fix the draw."""
        sequence = jax.tree.map(lambda leaf: leaf[None], observation)
        outputs = self._apply(params, sequence, state, first[None])
        log_probs = masked_log_probs(outputs.logits[0], observation.mask)
        key = jax.random.fold_in(jax.random.key(seed), step)
        action = jax.random.categorical(key, log_probs).astype(jnp.int32)
        logp = jnp.take_along_axis(log_probs, action[:, None], axis=-1)[:, 0]
        return Acted(action, logp, outputs.state)

    def loss(self, params: Params, batch: Unroll) -> tuple[jax.Array, dict[str, jax.Array]]:
        """Loss of a batch of unrolls (leaves (T+1, B, …) and (T, B); state (B, H)) and its parts."""
        outputs = self._apply(params, batch.observation, batch.initial_state, batch.first)
        return impala_loss(
            log_probs=masked_log_probs(outputs.logits[:-1], batch.observation.mask[:-1]),
            value=outputs.value,
            action=batch.action,
            reward=batch.reward,
            discount=batch.discount,
            behaviour_logp=batch.behaviour_logp,
            config=self.config.loss,
        )

    def _update(self, state: LearnerState, batch: Unroll) -> tuple[LearnerState, dict[str, jax.Array]]:
        """One step of gradient descent. A loss or gradient that is not finite changes nothing but `skipped`."""
        (_, parts), gradient = jax.value_and_grad(self.loss, has_aux=True)(state.params, batch)
        norm = optax.tree.norm(gradient)
        finite = jnp.isfinite(norm) & jnp.isfinite(parts["loss"])
        change, optimiser = self.optimiser.update(gradient, state.optimiser, state.params)
        params = optax.apply_updates(state.params, change)

        def choose(new: jax.Array, old: jax.Array) -> jax.Array:
            return jnp.where(finite, new, old)

        after = LearnerState(
            jax.tree.map(choose, params, state.params),
            jax.tree.map(choose, optimiser, state.optimiser),
            state.step + finite.astype(jnp.int32),
            state.skipped + (~finite).astype(jnp.int32),
        )
        return after, {**parts, "gradient_norm": norm, "finite": finite}
