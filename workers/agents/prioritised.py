"""Prioritised replay of one process: items in, drawn with probability p^α / Σ p^α and importance weights. NumPy.

A sum tree answers a draw in O(log n). The oldest item goes when the store is full. Source: Schaul et al. 2016; α and β
as R2D2 sets them (0.9, 0.6). Between processes Reverb's prioritised tables do the same.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class SumTree:
    """Weights of `capacity` places; set some, find the place in which a running sum falls."""

    def __init__(self, capacity: int) -> None:
        self._leaves = 1 << max(capacity - 1, 1).bit_length()
        self._sums = np.zeros(2 * self._leaves)  # node i has children 2i and 2i+1; leaves at the end

    @property
    def total(self) -> float:
        return float(self._sums[1])

    def set(self, places: NDArray[np.int64], weights: NDArray[np.float64]) -> None:
        """Of equal places the last counts."""
        nodes = np.asarray(places) + self._leaves
        self._sums[nodes] = weights
        while nodes[0] > 1:
            nodes = np.unique(nodes // 2)
            self._sums[nodes] = self._sums[2 * nodes] + self._sums[2 * nodes + 1]

    def get(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        return self._sums[np.asarray(places) + self._leaves]

    def find(self, sums: NDArray[np.float64]) -> NDArray[np.int64]:
        """The place at which the sum of the weights up to and with it first exceeds each of `sums`, in [0, total)."""
        nodes, left = np.ones(len(sums), np.int64), np.array(sums, np.float64)
        while nodes[0] < self._leaves:
            nodes = 2 * nodes
            beyond = left >= self._sums[nodes]
            # Rounding may lead to the right of all weight; there is none to be found there.
            beyond &= self._sums[nodes + 1] > 0
            left -= np.where(beyond, self._sums[nodes], 0.0)
            nodes += beyond
        return nodes - self._leaves


class Drawn(NamedTuple):
    items: list[Any]
    places: NDArray[np.int64]  # (B,) to give `update`
    weight: NDArray[np.float32]  # (B,) importance weights over the batch's largest


class PrioritisedReplay:
    """Not thread-safe."""

    def __init__(self, capacity: int, seed: int, alpha: float = 0.9, beta: float = 0.6) -> None:
        if capacity < 1:
            raise ValueError(f"capacity is {capacity}, must be at least 1")
        self._items: list[Any] = []
        self._capacity = capacity
        self._next = 0
        self._tree = SumTree(capacity)
        self._random = np.random.default_rng(seed)
        self._alpha, self._beta = alpha, beta
        self._largest = 1.0  # priority seen so far; what new items get

    def __len__(self) -> int:
        return len(self._items)

    def add(self, items: list[Any]) -> None:
        """New items get the largest priority so far, so that each is seen soon."""
        for item in items:
            if len(self._items) < self._capacity:
                self._items.append(item)
            else:
                self._items[self._next] = item
            self._tree.set(np.array([self._next]), np.array([self._largest**self._alpha]))
            self._next = (self._next + 1) % self._capacity

    def draw(self, count: int) -> Drawn:
        """`count` items with replacement, one from each of `count` equal shares of the whole weight."""
        if not self._items:
            raise ValueError("nothing to draw from: the replay is empty")
        total = self._tree.total
        places = self._tree.find((np.arange(count) + self._random.random(count)) * (total / count))
        weight = (len(self._items) * self._tree.get(places) / total) ** -self._beta
        return Drawn([self._items[place] for place in places], places, (weight / weight.max()).astype(np.float32))

    def update(self, places: NDArray[np.int64], priority: NDArray[np.float64]) -> None:
        """New priorities of drawn items; at least 1e-6, so that none is lost for good."""
        priority = np.maximum(np.asarray(priority, np.float64), 1e-6)
        self._largest = max(self._largest, float(priority.max()))
        self._tree.set(places, priority**self._alpha)
