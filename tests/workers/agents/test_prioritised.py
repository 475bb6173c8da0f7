"""Prioritised replay: the sum tree against plain sums, the shares drawn, and their weights."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from workers.agents.prioritised import PrioritisedReplay, SumTree


@given(st.integers(1, 40), st.lists(st.tuples(st.integers(0, 39), st.floats(0.0, 10.0)), min_size=1, max_size=60))
@settings(max_examples=50, deadline=None)
def test_sum_tree_is_a_running_sum(capacity, changes):
    tree, plain = SumTree(capacity), np.zeros(capacity)
    for place, weight in changes:
        tree.set(np.array([place % capacity]), np.array([weight]))
        plain[place % capacity] = weight
    assert_allclose(tree.total, plain.sum(), rtol=1e-12)
    assert_allclose(tree.get(np.arange(capacity)), plain)
    if plain.sum() > 0:
        sums = np.linspace(0, plain.sum(), 30, endpoint=False)
        found = tree.find(sums)
        assert np.all(plain[found] > 0)
        ends = np.cumsum(plain)
        assert np.all(ends[found] >= sums - 1e-9)
        assert np.all(ends[found] - plain[found] <= sums + 1e-9)


def test_items_are_drawn_by_priority_and_weighted_against_it():
    replay = PrioritisedReplay(capacity=4, seed=0, alpha=1.0, beta=1.0)
    replay.add(["a", "b", "c"])
    replay.update(np.arange(3), np.array([1.0, 2.0, 5.0]))
    drawn = [replay.draw(8) for _ in range(500)]
    items = [item for batch in drawn for item in batch.items]
    assert_allclose([items.count(item) / len(items) for item in "abc"], [1 / 8, 2 / 8, 5 / 8], atol=0.02)
    weights = dict(zip(drawn[0].items, drawn[0].weight, strict=True))
    assert_allclose(weights["b"] / weights["c"], 2.5, rtol=1e-5)
    assert drawn[0].weight.max() == 1.0


def test_the_oldest_goes_and_new_ones_are_seen_soon():
    replay = PrioritisedReplay(capacity=3, seed=0)
    replay.add([1, 2, 3])
    replay.update(np.arange(3), np.array([0.01, 0.01, 100.0]))
    replay.add([4])
    assert len(replay) == 3
    seen = [item for _ in range(50) for item in replay.draw(4).items]
    assert 1 not in seen
    assert abs(seen.count(4) - seen.count(3)) < 0.2 * len(seen)


def test_an_item_of_no_error_is_not_lost_for_good():
    replay = PrioritisedReplay(capacity=2, seed=0)
    replay.add(["a"])
    replay.update(np.array([0]), np.array([0.0]))
    assert replay.draw(2).items == ["a", "a"]


def test_nothing_to_draw_from():
    with pytest.raises(ValueError, match="empty"):
        PrioritisedReplay(capacity=2, seed=0).draw(1)
    with pytest.raises(ValueError, match="capacity is 0"):
        PrioritisedReplay(capacity=0, seed=0)
