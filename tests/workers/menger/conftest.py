"""Unrolls that no environment made: right in shape and rules, random in content."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

from workers.agents.types import Unroll
from workers.menger.codec import UnrollCodec


def random_unrolls(codec: UnrollCodec, count: int, seed: int = 0, version: int = 1) -> list[Unroll]:
    """Allowed actions, logp below 0, discounts of 0.99; observations are noise and all actions allowed."""
    random = np.random.default_rng(seed)

    def noise(spec: Any) -> np.ndarray:
        if spec.dtype == np.uint8:
            return random.integers(0, 256, spec.shape).astype(np.uint8)
        return random.random(spec.shape).astype(spec.dtype)

    def one() -> Unroll:
        made: Unroll = jax.tree.map(noise, codec.like)
        steps, actions = codec.like.action.shape[0], codec.like.observation.mask.shape[-1]
        first = np.zeros(steps + 1, bool)
        first[steps // 2] = True
        return made._replace(
            observation=made.observation._replace(mask=np.ones((steps + 1, actions), bool)),
            first=first,
            action=random.integers(actions, size=steps).astype(np.int32),
            discount=np.where(first[1:], 0.0, 0.99).astype(np.float32),
            behaviour_logp=np.full(steps, -np.log(actions), np.float32),
            version=np.int32(version),
        )

    return [one() for _ in range(count)]


@pytest.fixture(scope="session")
def make_unrolls() -> Callable[..., list[Unroll]]:
    return random_unrolls
