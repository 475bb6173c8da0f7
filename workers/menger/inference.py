"""Where inference runs: beside each actor, or at one place for all of them (SEED RL, Espeholt et al. 2020).

`CentralInference.act` has the signature of `Agent.act` without weights of its own: actors' threads hand in what they
see, one thread answers all of them with a single call of the network. Which is chosen changes nothing in what is
drawn: every environment has a seed of its own (agents/agent.py, `draw`). Within one process; between processes the
same would cost a round trip a step, which on a CPU local inference is spared.
"""

from __future__ import annotations

import queue
import threading
from concurrent.futures import Future
from typing import Any, NamedTuple

import jax
import numpy as np

from workers.agents.agent import Acted, Agent
from workers.agents.types import Array, Params, RecurrentState


class _Request(NamedTuple):
    words: tuple[Any, ...]  # observation, state, first, seed, step; leaves (K, …)
    rows: int  # K
    answer: Future[Acted]


class CentralInference:
    """Answers `clients` actors together. Waits for all of them, but never longer than `max_wait_s` for the last.

    Batches are padded to a power of two, so that few shapes are compiled.
    """

    def __init__(self, agent: Agent, params: Params, clients: int, max_wait_s: float = 0.01) -> None:
        self._agent = agent
        self._clients = clients
        self._max_wait_s = max_wait_s
        self._lock = threading.Lock()
        self._params = params
        self._stopped = False
        self._requests: queue.Queue[_Request | None] = queue.Queue()
        self.calls = 0  # of the network
        self._thread = threading.Thread(target=self._run, name="inference", daemon=True)
        self._thread.start()

    def set_params(self, params: Params) -> None:
        """Weights for every call from now on."""
        with self._lock:
            self._params = params

    def act(
        self, params: Params, observation: Any, state: RecurrentState, first: Array, seed: Array, step: Array
    ) -> Acted:
        """As Agent.act, by this object's weights; `params` is taken for the interface's sake. Blocks until answered.

        Raises RuntimeError when this object has stopped, and whatever the network's call raised.
        """
        count = len(first)
        every = lambda word: np.broadcast_to(np.asarray(word), (count,))
        answer: Future[Acted] = Future()
        with self._lock:
            if self._stopped:
                raise RuntimeError("central inference has stopped")
            self._requests.put(_Request((observation, state, first, every(seed), every(step)), count, answer))
        return answer.result()

    def stop(self) -> None:
        """Answer what has been asked, then end the thread."""
        with self._lock:
            self._stopped = True
            self._requests.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (request := self._requests.get()) is not None:
            held: list[_Request] = [request]
            ended = False
            while len(held) < self._clients and not ended:
                try:
                    following = self._requests.get(timeout=self._max_wait_s)
                except queue.Empty:
                    break
                if following is None:
                    ended = True
                else:
                    held.append(following)
            self._answer(held)
            if ended:
                return

    def _answer(self, held: list[_Request]) -> None:
        try:
            total = sum(request.rows for request in held)
            padding = (1 << (total - 1).bit_length()) - total

            def join(*leaves: Any) -> np.ndarray:
                parts = [np.asarray(leaf) for leaf in leaves]
                return np.concatenate([*parts, *([parts[-1][-1:]] * padding)])

            words = jax.tree.map(join, *(request.words for request in held))
            with self._lock:
                params = self._params
            acted = jax.tree.map(np.asarray, self._agent.act(params, *words))
            self.calls += 1
        except Exception as error:
            for request in held:
                request.answer.set_exception(error)
            return
        at = 0
        for request in held:
            part = slice(at, at + request.rows)
            request.answer.set_result(jax.tree.map(lambda leaf, part=part: leaf[part], acted))
            at += request.rows
