"""The two roles that only serve: replay shard and model cache. Neither loads jax. Called by workers/cli/role.py."""

from __future__ import annotations

from workers.menger.config import Task, TrainConfig
from workers.menger.listening import Binding
from workers.menger.model_cache import FallbackSource, ModelServer, Relay
from workers.menger.reverb_native import UNROLL_TABLE, queue_table, start_server, table_size
from workers.menger.roles import Life

READ_S = 10.0


class ReplayServer:
    """One shard's server: a queue of at most `max_items` unrolls. `port` is where it listens."""

    def __init__(self, max_items: int, binding: Binding | None = None) -> None:
        self.max_items = max_items
        self._table = queue_table(UNROLL_TABLE, max_items)
        self._server, self.port = start_server([self._table], binding)

    def items(self) -> int:
        """How many unrolls the queue holds."""
        return table_size(self._table)

    def stop(self) -> None:
        self._server.Stop()


def run_replay(life: Life, task: Task) -> None:
    """Serve one shard until told to stop."""
    server = ReplayServer(task.queue_items(), life.binding)
    life.stats = {"max_items": server.max_items, "item_bytes": task.unroll_bytes()}
    life.state = "running"
    life.serve_at(server.port)
    while not life.stopped.wait(0.5):
        held = server.items()
        life.stats = {**life.stats, "queue_fill": held / server.max_items, "bytes_held": held * task.unroll_bytes()}
    server.stop()


def run_cache(life: Life, config: TrainConfig) -> None:
    """Serve the newest model of the learner until told to stop."""
    server = ModelServer(seal=life.seal, binding=life.binding)
    source = FallbackSource(life.model_sources, seal=life.seal)
    hand_on = lambda: server.beat(source.beat)
    relay = Relay(source, server.publish, config.refresh_every_s, READ_S, hand_on)
    life.state = "running"
    life.serve_at(server.port)
    relay.start()
    while not life.stopped.wait(0.5):
        told = {"model_version": server.version, "model_source": source.current, "bytes_out": server.bytes_out()}
        life.stats = {**told, "refused_models": source.refused, **relay.figures()}
    relay.stop()
    server.stop()
