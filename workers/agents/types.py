"""The arrays that travel between actor and learner.

Letters: T steps of an unroll, B unrolls of a batch, A actions, H width of the LSTM. Time comes first. An observation is
a pytree with a `mask` (…, A) bool, True = allowed. `first[t]` says that observation t begins an episode: the recurrent
state is reset before it is used. Step t: observation[t] → action[t] → reward[t], discount[t] → observation[t+1].
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

Params = Mapping[str, Any]  # pytree of float32 arrays, as Flax makes it
Array = Any  # of jax or numpy; replay shards and caches use this module and never load jax


class RecurrentState(NamedTuple):
    """State of the LSTM, one row an environment."""

    hidden: Array  # (…, H) float32
    cell: Array  # (…, H) float32


class VectorObservation(NamedTuple):
    """Observation of tasks without maps, such as CartPole. V features."""

    features: Array  # (…, V) float32
    mask: Array  # (…, A) bool


class MapObservation(NamedTuple):
    """Observation of a placement task as it travels: placement.env's, with maps in 256 steps. C maps, S side, A = S*S.

    Actor and learner both see the rounded maps, so their policies agree to rounding of the arithmetic.
    """

    maps: Array  # (…, C, S, S) uint8, value*255
    features: Array  # (…, F) float32
    mask: Array  # (…, A) bool


class InstructedObservation(NamedTuple):
    """A map observation with an instruction of L words, as tasks with language have it."""

    maps: Array  # (…, C, S, S) uint8
    features: Array  # (…, F) float32
    tokens: Array  # (…, L) int32; 0 = no word, behind the last one
    mask: Array  # (…, A) bool


class GraphObservation(NamedTuple):
    """A map observation of a step in a design whose graph the network holds; see graph_network.py."""

    maps: Array  # (…, C, S, S) uint8, value*255
    features: Array  # (…, F) float32
    current: Array  # (…,) int32 which macro is placed, in placing order
    design: Array  # (…,) int32 which of the network's graphs
    mask: Array  # (…, A) bool


class Unroll(NamedTuple):
    """T steps of one environment (a batch has B after T; state and version then are (B, …))."""

    observation: Any  # leaves (T+1, …)
    first: Array  # (T+1,) bool
    action: Array  # (T,) int32 in [0, A)
    reward: Array  # (T,) float32
    discount: Array  # (T,) float32: γ, 0 where the episode ended
    behaviour_logp: Array  # (T,) float32: log μ(action)
    initial_state: RecurrentState  # (H,) before observation 0
    version: Array  # () int32: version of the model that acted


def compact(observation: Any) -> MapObservation:
    """placement.env's Observation (any leading axes) as it travels and as networks take it."""
    maps = np.rint(np.clip(observation.maps, 0.0, 1.0) * 255.0).astype(np.uint8)
    return MapObservation(maps, observation.features, observation.mask)


def compact_with_graph(observation: Any, design: int = 0) -> GraphObservation:
    """The same for networks that see the graph; `design` is the number of its graph."""
    seen = compact(observation)
    current = np.asarray(observation.current, np.int32)
    return GraphObservation(seen.maps, seen.features, current, np.full_like(current, design), seen.mask)
