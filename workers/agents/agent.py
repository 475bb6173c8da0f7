"""What every agent is: pure functions init, act, update, gradient, apply around a network, with their compiled forms.

An agent holds no state: `LearnerState` goes in and comes out. `Agent` has what all share; `actor_critic.py` and
`recurrent_q.py` add loss and acting; `algorithms.py` knows which name is which. Called by workers/menger (actor: `act`;
learner: `update`) and by tests and benchmarks in one process.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax

from workers.agents.losses import LossConfig
from workers.agents.networks import Outputs, initial_state
from workers.agents.types import Array, Params, RecurrentState


@dataclass(frozen=True, kw_only=True)
class AgentConfig:
    """Settings of learning that are no loss's. Checked at construction."""

    discount: float = 0.99
    unroll_length: int = 20  # steps, T; with replay the burn-in is part of them
    batch_size: int = 8  # unrolls, B
    learning_rate: float = 1e-3
    adam_epsilon: float = 1e-5
    max_gradient_norm: float = 1.0
    epochs: int = 1  # passes over a batch; more than 1 needs PPO's clipping
    minibatches: int = 1  # updates of a pass, each with B / minibatches unrolls
    popart_rate: float = 0.0  # of the running moments of value targets, see popart.py; 0: values in plain units
    loss: LossConfig = field(default_factory=LossConfig)

    def __post_init__(self) -> None:
        if not 0 <= self.discount <= 1:
            raise ValueError(f"discount is {self.discount}, must lie in [0, 1]")
        if not 0 <= self.popart_rate <= 1:
            raise ValueError(f"popart_rate is {self.popart_rate}, must lie in [0, 1]")
        for name in ("unroll_length", "batch_size", "learning_rate", "max_gradient_norm", "epochs", "minibatches"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} is {getattr(self, name)}, must be above 0")
        if self.batch_size % self.minibatches:
            raise ValueError(f"batch_size is {self.batch_size}, must be a multiple of minibatches, {self.minibatches}")


class LearnerState(NamedTuple):
    """Everything an update needs and changes; what a checkpoint stores."""

    params: Params
    optimiser: Any  # optax state
    step: jax.Array  # () int32 updates done; the model's version
    skipped: jax.Array  # () int32 updates left out because loss or gradient was not finite
    key: jax.Array  # (2,) uint32 random key; never changes, draws fold `step` in
    own: Any  # what the algorithm keeps beside: moments of values, a target network


class Acted(NamedTuple):
    action: jax.Array  # (K,) int32
    logp: jax.Array  # (K,) float32
    state: RecurrentState  # (K, H)


Parts = dict[str, jax.Array]


def draw(log_probs: Array, seed: Array, step: Array) -> tuple[jax.Array, jax.Array]:
    """One action an environment: (K, A) → (K,) int32 and its log probability.

    (seed, step), each () or (K,), fix an environment's draw, whoever else is in the batch.
    """
    count = log_probs.shape[0]

    def one(log_prob: jax.Array, seed: jax.Array, step: jax.Array, k: jax.Array) -> jax.Array:
        key = jax.random.fold_in(jax.random.key(seed), step)
        return jax.random.categorical(jax.random.fold_in(key, k), log_prob)

    # With one seed for all, environments differ by their number in the batch; with a seed each, by that alone.
    number = jnp.arange(count) if jnp.ndim(seed) == 0 else jnp.zeros(count, jnp.int32)
    every = lambda leaf: jnp.broadcast_to(jnp.asarray(leaf), (count,))
    action = jax.vmap(one)(log_probs, every(seed), every(step), number).astype(jnp.int32)
    return action, jnp.take_along_axis(log_probs, action[:, None], axis=-1)[:, 0]


class Agent(ABC):
    """Network and configuration, with their compiled functions.

    `context` is what the network needs beside observations and is not learned, such as a design's graph: it is passed
    to the network as its last argument, so that another one of the same shapes compiles nothing.
    """

    def __init__(self, network: nn.Module, config: AgentConfig, lstm_width: int, context: Any = None) -> None:
        self.network = network
        self.config = config
        self.lstm_width = lstm_width
        self.context = context
        self.optimiser = optax.chain(
            optax.clip_by_global_norm(config.max_gradient_norm),
            optax.adam(config.learning_rate, eps=config.adam_epsilon),
        )
        self._compiled_init = jax.jit(self._init)
        self.compiled_act: Any = jax.jit(self._act)
        self.compiled_update: Any = jax.jit(self._update, donate_argnums=0)
        self._compiled_gradient: Any = jax.jit(self._gradient)
        self._compiled_apply: Any = jax.jit(self._apply_gradient, donate_argnums=0)

    def initial_state(self, count: int) -> RecurrentState:
        """Recurrent state of `count` environments before their first step."""
        return initial_state(self.lstm_width, count)

    def init(self, key: jax.Array, observation: Any) -> LearnerState:
        """A fresh state. `observation`: one environment's, for shapes only."""
        state: LearnerState = self._compiled_init(key, observation, self.context)
        return state

    def params_like(self, observation: Any) -> Params:
        """Shapes of the parameters, without making any."""
        shapes: LearnerState = jax.eval_shape(self._init, jax.random.key(0), observation, self.context)
        return shapes.params

    def act(
        self, params: Params, observation: Any, state: RecurrentState, first: Array, seed: Array, step: Array
    ) -> Acted:
        """One action for each of K environments: (K, …), (K, H), (K,) bool; see `draw` for seed and step."""
        acted: Acted = self.compiled_act(params, observation, state, first, seed, step, self.context)
        return acted

    def update(self, state: LearnerState, batch: Any) -> tuple[LearnerState, Parts]:
        """Learn from a batch; the state given is used up. A loss or gradient that is not finite changes nothing but
        `skipped`. The parts are figures to report, `finite`, and with replay `priority` (B,)."""
        after: tuple[LearnerState, Parts] = self.compiled_update(state, batch, self.context)
        return after

    def update_on(self, state: Any) -> Any:
        """The compiled update for several devices: state and parts come in the given sharding, batches in their own."""
        return jax.jit(self._update, donate_argnums=0, out_shardings=(state, state))

    def gradient(self, state: LearnerState, batch: Any) -> tuple[Params, Parts]:
        """The gradient of a batch's loss, for a worker that sends it to the learner (A3C)."""
        found: tuple[Params, Parts] = self._compiled_gradient(state, batch, self.context)
        return found

    def apply(self, state: LearnerState, gradient: Params, parts: Parts) -> tuple[LearnerState, Parts]:
        """An update with a gradient that a worker sent; the state given is used up."""
        after: tuple[LearnerState, Parts] = self._compiled_apply(state, gradient, parts)
        return after

    # What a kind of agent adds.

    @abstractmethod
    def _act(
        self,
        params: Params,
        observation: Any,
        state: RecurrentState,
        first: Array,
        seed: Array,
        step: Array,
        context: Any,
    ) -> Acted: ...

    @abstractmethod
    def _gradient(self, state: LearnerState, batch: Any, context: Any) -> tuple[Params, Parts]: ...

    @abstractmethod
    def _update(self, state: LearnerState, batch: Any, context: Any) -> tuple[LearnerState, Parts]: ...

    def _own(self, params: Params) -> Any:
        """A fresh `LearnerState.own`."""
        return ()

    # What they share.

    def _init(self, key: jax.Array, observation: Any, context: Any) -> LearnerState:
        batched = jax.tree.map(lambda leaf: leaf[None, None], observation)
        words = (batched, self.initial_state(1), jnp.ones((1, 1), bool))
        params = self.network.init(key, *(words if context is None else (*words, context)))
        # Two arrays, not one twice: the update gives its input's memory back, each once.
        return LearnerState(
            params,
            self.optimiser.init(params),
            jnp.zeros((), jnp.int32),
            jnp.zeros((), jnp.int32),
            jax.random.key_data(jax.random.fold_in(key, 1)),
            self._own(params),
        )

    def _apply_network(
        self, params: Params, observation: Any, state: RecurrentState, first: Array, context: Any
    ) -> Outputs:
        words = (observation, state, first)
        outputs: Any = self.network.apply(params, *(words if context is None else (*words, context)))
        return outputs

    def _descend(
        self, params: Params, optimiser: Any, gradient: Params, loss: jax.Array
    ) -> tuple[Params, Any, jax.Array, jax.Array]:
        """One step of Adam. Returns parameters, optimiser, whether all is finite, and the gradient's norm."""
        norm = optax.tree.norm(gradient)
        change, optimiser = self.optimiser.update(gradient, optimiser, params)
        return optax.apply_updates(params, change), optimiser, jnp.isfinite(norm) & jnp.isfinite(loss), norm

    def _apply_gradient(self, state: LearnerState, gradient: Params, parts: Parts) -> tuple[LearnerState, Parts]:
        params, optimiser, finite, norm = self._descend(state.params, state.optimiser, gradient, parts["loss"])
        after = keep_if(finite, state, params, optimiser, state.own)
        return after, {**parts, "gradient_norm": norm, "finite": finite}


def keep_if(finite: jax.Array, before: LearnerState, params: Params, optimiser: Any, own: Any) -> LearnerState:
    """The state after an update, or, unless `finite`, the one before with one more skipped."""
    choose: Callable[[Any, Any], Any] = lambda new, old: jax.tree.map(lambda a, b: jnp.where(finite, a, b), new, old)
    return LearnerState(
        choose(params, before.params),
        choose(optimiser, before.optimiser),
        before.step + finite.astype(jnp.int32),
        before.skipped + (~finite).astype(jnp.int32),
        before.key,
        choose(own, before.own),
    )


def environment_seeds(seed: int, count: int) -> np.ndarray:
    """(K,) uint32, a seed for each environment, so that draws do not depend on who acts beside it."""
    return np.random.SeedSequence(seed).generate_state(count, np.uint32)
