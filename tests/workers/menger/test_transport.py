"""Replay and models over real Reverb servers, without TensorFlow: queues, time-outs, lost servers, chained caches."""

from __future__ import annotations

import subprocess
import sys
import time

import jax
import numpy as np
import pytest

from workers.agents.types import RecurrentState, Unroll, VectorObservation
from workers.menger.codec import BadUnrollError, UnrollCodec, flatten_params, stack, unflatten_params, unstack
from workers.menger.config import MIB, Task, TrainConfig
from workers.menger.model_cache import FallbackSource, ModelServer, Relay, ReverbSource
from workers.menger.protocol import InProcessModels, InProcessQueue, Model, SourceAwayError
from workers.menger.replay import ShardedReader, ShardedWriter
from workers.menger.reverb_native import UNROLL_TABLE, ItemWriter
from workers.menger.servers import ReplayServer

T, A, H = 3, 4, 2
OBSERVATION = VectorObservation(np.zeros(5, np.float32), np.ones(A, bool))


@pytest.fixture
def codec() -> UnrollCodec:
    return UnrollCodec(OBSERVATION, T, H)


def unroll(version: int, rows: int = T) -> Unroll:
    random = np.random.default_rng(version)
    return Unroll(
        observation=VectorObservation(random.random((rows + 1, 5), np.float32), np.ones((rows + 1, A), bool)),
        first=np.zeros(rows + 1, bool),
        action=random.integers(A, size=rows).astype(np.int32),
        reward=random.random(rows, np.float32),
        discount=np.full(rows, 0.9, np.float32),
        behaviour_logp=np.full(rows, -1.0, np.float32),
        initial_state=RecurrentState(random.random(H, np.float32), random.random(H, np.float32)),
        version=np.int32(version),
    )


def address(server) -> str:
    return f"127.0.0.1:{server.port}"


def same(a, b) -> None:
    jax.tree.map(np.testing.assert_array_equal, a, b)


def test_each_unroll_is_read_once_in_order(codec):
    server = ReplayServer(8)
    shards = lambda: [address(server)]
    writer, reader = ShardedWriter(codec, shards), ShardedReader(codec, shards, max_held=4)
    sent = [unroll(version) for version in range(6)]
    assert writer.write(sent, timeout_s=5)
    for expected in sent:
        same(reader.read(timeout_s=10), expected)
    assert reader.read(timeout_s=0.3) is None
    reader.close()
    server.stop()


def test_a_full_shard_makes_the_writer_wait_and_loses_nothing(codec):
    server = ReplayServer(2)
    shards = lambda: [address(server)]
    writer = ShardedWriter(codec, shards)
    begin_s = time.monotonic()
    assert not writer.write([unroll(version) for version in range(8)], timeout_s=0.3)
    assert time.monotonic() - begin_s < 5
    reader = ShardedReader(codec, shards, max_held=4)
    got = [int(reader.read(timeout_s=10).version) for _ in range(8)]
    assert got == list(range(8))
    assert writer.flush(timeout_s=5)
    reader.close()
    server.stop()


def test_writers_spread_over_shards_and_the_reader_takes_from_all(codec):
    servers = [ReplayServer(16) for _ in range(2)]
    shards = lambda: [address(server) for server in servers]
    writer, reader = ShardedWriter(codec, shards), ShardedReader(codec, shards, max_held=4)
    for version in range(6):
        assert writer.write([unroll(version)], timeout_s=5)
    assert sorted(int(reader.read(timeout_s=10).version) for _ in range(6)) == list(range(6))
    reader.close()
    for server in servers:
        server.stop()


SHARD = """
import sys
from workers.menger.servers import ReplayServer
server = ReplayServer(4)
print(server.port, flush=True)
sys.stdin.read()
"""


def start_shard() -> tuple[subprocess.Popen, str]:
    process = subprocess.Popen([sys.executable, "-c", SHARD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, f"127.0.0.1:{int(process.stdout.readline())}"


def test_a_killed_shard_loses_its_queue_and_nothing_else(codec):
    (doomed, one), (other, two) = start_shard(), start_shard()
    known = [one]
    writer, reader = ShardedWriter(codec, lambda: known), ShardedReader(codec, lambda: known, max_held=1)
    try:
        assert writer.write([unroll(0)], timeout_s=10)
        same(reader.read(timeout_s=10), unroll(0))
        doomed.kill()
        doomed.wait()
        assert not writer.write([unroll(1)], timeout_s=0.3)
        known[:] = [two]
        end_s = time.monotonic() + 20
        while not writer.flush(timeout_s=0.5):
            assert time.monotonic() < end_s, "the writer did not turn to the living shard"
        assert writer.lost_unrolls == 1  # sent again, so this one arrives
        same(reader.read(timeout_s=10), unroll(1))
    finally:
        reader.close()
        other.kill()
        other.wait()


def nonsense(**changes) -> Unroll:
    return unroll(1)._replace(**changes)


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (nonsense(reward=np.full(T, np.nan, np.float32)), "not finite"),
        (nonsense(action=np.full(T, A, np.int32)), "outside"),
        (nonsense(action=np.full(T, -1, np.int32)), "outside"),
        (nonsense(discount=np.full(T, 1.5, np.float32)), "discounts"),
        (nonsense(behaviour_logp=np.full(T, 0.5, np.float32)), "above 0"),
        (nonsense(action=np.zeros(T, np.int64)), "int64"),
        (unroll(1, rows=T + 1), "expected"),
        (
            nonsense(observation=VectorObservation(np.zeros((T + 1, 5), np.float32), np.zeros((T + 1, A), bool))),
            "mask forbids",
        ),
    ],
)
def test_nonsense_is_refused_with_a_reason(codec, bad, why):
    with pytest.raises(BadUnrollError, match=why):
        codec.decode(codec.encode(bad))


def test_the_reader_drops_and_counts_nonsense(codec):
    server = ReplayServer(8)
    writer = ItemWriter(address(server))
    writer.write(UNROLL_TABLE, codec.encode(nonsense(reward=np.full(T, np.inf, np.float32))))
    writer.write(UNROLL_TABLE, codec.encode(unroll(5)))
    assert writer.flush(5)
    reader = ShardedReader(codec, lambda: [address(server)], max_held=4)
    same(reader.read(timeout_s=10), unroll(5))
    assert reader.rejected == 1
    assert "not finite" in reader.last_rejection
    reader.close()
    server.stop()


def test_stack_and_unstack_are_inverse(codec):
    unrolls = [unroll(7)._replace(reward=np.full(T, k, np.float32)) for k in range(3)]
    batch = stack(unrolls)
    assert batch.reward.shape == (T, 3)
    assert batch.initial_state.hidden.shape == (3, H)
    for k in range(3):
        same(unstack(batch._replace(version=np.int32(7)), k), unrolls[k])


def test_the_learner_refuses_weights_of_another_network():
    like = {"a": np.zeros((2, 3), np.float32), "b": np.zeros(4, np.float32)}
    weights = np.arange(10, dtype=np.float32)
    same(flatten_params(unflatten_params(weights, like)), weights)
    with pytest.raises(ValueError, match="11 weights, the network has 10"):
        unflatten_params(np.zeros(11, np.float32), like)


def model(version: int) -> Model:
    return Model(version, np.full(1000, version, np.float32))


def test_newer_than():
    server = ModelServer()
    source = ReverbSource(address(server))
    assert source.newest(0, timeout_s=5) is None
    server.publish(model(3))
    got = source.newest(0, timeout_s=5)
    assert got is not None
    same(got, model(3))
    assert source.newest(3, timeout_s=5) is None
    assert server.bytes_out() == 4000  # one model read; asking for versions is not counted
    server.publish(model(2))  # versions only grow
    assert source.newest(2, timeout_s=5).version == 3
    server.stop()


def test_a_source_that_has_gone_is_told_within_the_time():
    server = ModelServer()
    source = ReverbSource(address(server))
    server.stop()
    begin_s = time.monotonic()
    with pytest.raises(SourceAwayError, match="no answer within"):
        source.newest(0, timeout_s=0.5)
    assert time.monotonic() - begin_s < 5


def test_caches_chain_refill_and_are_bypassed():
    learner, near = ModelServer(), ModelServer()
    relay = Relay(FallbackSource(lambda: [address(learner)]), near.publish, every_s=0.05, timeout_s=5)
    learner.publish(model(1))
    relay.step()
    far = ModelServer()
    second = Relay(FallbackSource(lambda: [address(near)]), far.publish, every_s=0.05, timeout_s=5)
    second.step()
    source = FallbackSource(lambda: [address(far), address(learner)])
    assert source.newest(0, timeout_s=5).version == 1
    assert source.current == address(far)
    again = ModelServer()  # a cache that starts anew fills itself
    Relay(FallbackSource(lambda: [address(learner)]), again.publish, every_s=0.05, timeout_s=5).step()
    assert again.version == 1
    far.stop()
    learner.publish(model(2))
    assert source.newest(1, timeout_s=0.5).version == 2
    assert source.current == address(learner)
    for server in (learner, near, again):
        server.stop()


def test_a_source_that_answers_but_is_stale_is_passed_over_and_taken_again():
    """A cache that was cut off: it answers with an old version and a beat that stands still."""
    learner, cut_off = ModelServer(), ModelServer()
    cut_off.publish(model(1))
    learner.publish(model(1))
    now_s = [0.0]
    addresses = [address(cut_off), address(learner)]
    source = FallbackSource(lambda: addresses, stale_s=4, clock=lambda: now_s[0])
    assert source.newest(0, timeout_s=5).version == 1
    assert source.current == address(cut_off)
    learner.publish(model(2))
    for beat, second in enumerate((2, 4, 5, 6), start=1):
        now_s[0] = second
        learner.beat(beat)
        found = source.newest(1, timeout_s=5)
    assert source.current == address(learner)
    assert found.version == 2
    cut_off.publish(model(3))  # it is connected again
    cut_off.beat(9)
    assert source.newest(2, timeout_s=5).version == 3
    assert source.current == address(cut_off)
    now_s[0] = 60  # all stand still: the learner is away, and what any of them has is as good as it gets
    learner.publish(model(4))
    assert source.newest(3, timeout_s=5).version == 4
    for server in (learner, cut_off):
        server.stop()


def test_a_cache_hands_on_the_beat_of_its_source():
    learner, near = ModelServer(pulse_s=0.01), ModelServer()
    source = FallbackSource(lambda: [address(learner)])
    relay = Relay(source, near.publish, 0.05, 5, lambda: near.beat(source.beat))
    seen = set()
    for _ in range(100):
        relay.step()
        reader = ReverbSource(address(near))
        reader.newest(0, timeout_s=5)
        seen.add(reader.beat)
        if len(seen) >= 3:
            break
    assert len(seen) >= 3
    for server in (learner, near):
        server.stop()


def test_a_shard_knows_how_full_it_is(codec):
    server = ReplayServer(300)
    writer = ShardedWriter(codec, lambda: [address(server)])
    assert server.items() == 0
    assert writer.write([unroll(version) for version in range(200)], timeout_s=20)
    assert server.items() == 200
    server.stop()


def test_transport_of_one_process(codec):
    queue = InProcessQueue(2)
    assert not queue.write([unroll(0), unroll(1), unroll(2)], timeout_s=0.01)
    assert int(queue.read(0.1).version) == 0
    assert queue.flush(0.1)
    assert [int(queue.read(0.1).version) for _ in range(2)] == [1, 2]
    assert queue.read(0.01) is None
    models = InProcessModels()
    assert models.newest(0, 0.1) is None
    models.publish(model(2))
    models.publish(model(1))
    assert models.newest(1, 0.1).version == 2


def test_queues_are_bounded_in_bytes():
    small, tiny, graph = TrainConfig(queue_bytes=2 * MIB), TrainConfig(queue_bytes=1), TrainConfig(network="graph")
    for config in (TrainConfig(), small, tiny, graph):
        task = Task(side=32, config=config)
        assert task.unroll_bytes() == task.codec().bytes
        assert config.batch_size <= task.queue_items() <= config.queue_batches * config.batch_size
    assert Task(side=32, config=TrainConfig(queue_bytes=1)).queue_items() == TrainConfig().batch_size


def test_servers_and_transport_need_neither_tensorflow_nor_jax():
    code = (
        "import pathlib, sys, workers.menger.servers as s;"
        "r = s.ReplayServer(2); m = s.ModelServer();"
        "print('loaded:', *[n for n in ('tensorflow', 'jax', 'flax', 'reverb') if n in sys.modules]);"
        # not ru_maxrss: that one begins with what the parent had when it started this process
        "status = pathlib.Path('/proc/self/status').read_text();"
        "print('megabytes:', int(status.split('VmHWM:')[1].split()[0]) // 1024)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120).stdout
    told = dict(line.split(":", 1) for line in out.splitlines() if line.startswith(("loaded", "megabytes")))
    assert told["loaded"].strip() == ""
    assert int(told["megabytes"]) < 300


def test_an_actor_needs_no_tensorflow():
    """Everything that `run_actor` loads, with Reverb's client: 305 MB on the machine where it was written."""
    code = (
        "import pathlib, sys, workers.menger.actor as a, workers.menger.reverb_native as r;"
        "from workers.menger.config import Task, TrainConfig;"
        "import workers.agents.algorithms, workers.agents.networks; r.start_server([r.queue_table(r.UNROLL_TABLE, 2)]);"
        "print('loaded:', *[n for n in ('tensorflow', 'reverb', 'distrax', 'gymnasium') if n in sys.modules]);"
        "status = pathlib.Path('/proc/self/status').read_text();"
        "print('megabytes:', int(status.split('VmHWM:')[1].split()[0]) // 1024)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120).stdout
    told = dict(line.split(":", 1) for line in out.splitlines() if line.startswith(("loaded", "megabytes")))
    assert told["loaded"].strip() == ""
    assert int(told["megabytes"]) < 400
