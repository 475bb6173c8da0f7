"""Seals of what travels: what was made by another, changed, cut or taken for something else is refused."""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Callable

import numpy as np
import pytest

from workers.agents.types import VectorObservation
from workers.menger.codec import UnrollCodec
from workers.menger.model_cache import MODEL_TABLE, FallbackSource, ModelServer, Relay, ReverbSource
from workers.menger.protocol import Model, SourceAwayError
from workers.menger.replay import ShardedReader, ShardedWriter
from workers.menger.reverb_native import UNROLL_TABLE, ItemWriter
from workers.menger.seal import Seal, SealError
from workers.menger.servers import ReplayServer

KEY, OTHER = bytes(range(32)), bytes(range(1, 33))
ITEM = [np.int64(7), np.arange(6, dtype=np.float32).reshape(2, 3), np.array([True, False]), np.zeros(0, np.float32)]


def test_what_is_closed_opens_as_it_was():
    opened = Seal(KEY).open("model", Seal(KEY).close("model", ITEM))
    assert len(opened) == len(ITEM)
    for one, other in zip(opened, ITEM, strict=True):
        np.testing.assert_array_equal(one, other)
    fortran = [np.asfortranarray(ITEM[1])]
    np.testing.assert_array_equal(Seal(KEY).open("model", Seal(KEY).close("model", fortran))[0], ITEM[1])


def test_the_tag_is_hmac_sha256_of_the_description_and_the_contents():
    tag = Seal(KEY).close("model", [np.array([1, 2], np.uint16)])[-1]
    said = b"('model', [('<u2', (2,))])" + bytes([1, 0, 2, 0])
    assert tag.tobytes() == hmac.new(KEY, said, hashlib.sha256).digest()


def bits(item: list[np.ndarray]) -> list[np.ndarray]:
    changed = item[1].copy()
    changed.view(np.uint8)[0, 0] ^= 1
    return [item[0], changed, *item[2:]]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (bits, "another key, or was changed"),
        (lambda item: [item[0], item[1].reshape(3, 2), *item[2:]], "another key, or was changed"),
        (lambda item: [item[0], item[1].view(np.int32), *item[2:]], "another key, or was changed"),
        (lambda item: [item[1], item[0], *item[2:]], "another key, or was changed"),
        (lambda item: [*item[:2], *item[3:]], "another key, or was changed"),
        (lambda item: item[:-1], r"not sealed: its last array is float32\(0,\)"),
        (lambda item: [], "empty, without a seal"),
        (lambda item: [np.array(["x"], object), *item[1:]], "something else than numbers"),
        (lambda item: Seal(OTHER).close("model", item[:-1]), "another key, or was changed"),
        (lambda item: Seal(KEY).close("unrolls", item[:-1]), "another key, or was changed"),
    ],
    ids=["bit", "shape", "dtype", "order", "less", "no tag", "empty", "object", "key", "kind"],
)
def test_everything_else_is_refused(change: Callable, why: str):
    with pytest.raises(SealError, match=f"an item of 'model' .*{why}"):
        Seal(KEY).open("model", change(Seal(KEY).close("model", ITEM)))


def test_a_short_key_is_refused():
    with pytest.raises(ValueError, match="a key of 5 bytes, must have at least 32"):
        Seal(b"abcde")


def address(server) -> str:
    return f"127.0.0.1:{server.port}"


def test_the_learner_refuses_and_counts_unrolls_of_strangers(make_unrolls):
    codec = UnrollCodec(VectorObservation(np.zeros(5, np.float32), np.ones(4, bool)), 3, 2)
    stranger, changed, good = make_unrolls(codec, 3)
    server = ReplayServer(8)
    shards = lambda: [address(server)]
    assert ShardedWriter(codec, shards, seal=Seal(OTHER)).write([stranger], timeout_s=10)
    plain = ItemWriter(address(server))
    plain.write(UNROLL_TABLE, codec.encode(changed))
    assert plain.flush(10)
    assert ShardedWriter(codec, shards, seal=Seal(KEY)).write([good], timeout_s=10)
    reader = ShardedReader(codec, shards, max_held=4, seal=Seal(KEY))
    np.testing.assert_array_equal(reader.read(timeout_s=10).reward, good.reward)
    assert reader.rejected == 2
    assert reader.last_rejection.startswith(f"from {address(server)}: an item of 'unrolls' is not sealed")
    reader.close()
    server.stop()


def test_a_source_that_is_none_of_the_jobs_is_refused_counted_and_passed_over():
    stranger, learner = ModelServer(seal=Seal(OTHER)), ModelServer(seal=Seal(KEY))
    for server, version in ((stranger, 9), (learner, 1)):
        server.publish(Model(version, np.full(100, version, np.float32)))
    source = FallbackSource(lambda: [address(stranger), address(learner)], seal=Seal(KEY))
    assert source.newest(0, timeout_s=5).version == 1
    assert (source.current, source.refused) == (address(learner), 1)
    alone = FallbackSource(lambda: [address(stranger)], seal=Seal(KEY))
    relay = Relay(alone, lambda model: pytest.fail(f"took version {model.version}"), 0.05, 5)
    relay.step()
    assert "none of 1 model sources answers" in relay.away
    assert "an item of 'version' is sealed with another key, or was changed on its way" in relay.away
    for server in (stranger, learner):
        server.stop()


def test_a_model_that_was_put_into_a_living_server_is_refused():
    """Whoever reaches the port can write into the table, but not seal."""
    server = ModelServer(seal=Seal(KEY))
    server.publish(Model(1, np.ones(100, np.float32)))
    writer = ItemWriter(address(server))
    writer.write(MODEL_TABLE, [np.int64(5), np.zeros(100, np.float32)])
    assert writer.flush(10)
    with pytest.raises(SourceAwayError, match="refused, an item of 'model' is not sealed"):
        ReverbSource(address(server), Seal(KEY)).newest(0, timeout_s=5)
    server.stop()


def test_the_cost_of_16_megabytes(capsys):
    """Told in the log; docs/operations.md has a measurement. The bound is thirty times that: no copy too many."""
    item = [np.random.default_rng(0).random(4_000_000, np.float32)]
    begin_s = time.process_time()
    sealed = Seal(KEY).close("model", item)
    middle_s = time.process_time()
    Seal(KEY).open("model", sealed)
    end_s = time.process_time()
    with capsys.disabled():
        print(f"\n16 MB: sealed in {1e3 * (middle_s - begin_s):.1f} ms, opened in {1e3 * (end_s - middle_s):.1f} ms")
    assert end_s - begin_s < 2
