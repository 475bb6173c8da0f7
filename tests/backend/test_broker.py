"""Messages: each is taken once and whole, on files and on Redis; a broker that is away loses no job."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Empty

import pytest

from backend.core.broker import PARSE_DESIGN, RUN_JOB, VISIBILITY_TIMEOUT_S, Broker, make_celery
from backend.core.config import Settings, load_settings
from backend.schemas import JobCreate


def channel(settings: Settings):
    return make_celery(settings).connection_for_read().channel()


def drain(settings: Settings, queue: str) -> list[list]:
    """Arguments of the messages that wait in a queue."""
    found, reader = [], channel(settings)
    while True:
        try:
            message = reader._get(queue)
        except Empty:
            return found
        args, _, _ = json.loads(__import__("base64").b64decode(message["body"]))
        found.append([message["headers"]["task"], *args])


def test_files(settings: Settings) -> None:
    broker = Broker(settings)
    assert broker.send(RUN_JOB, "job-1", queue="run")
    assert broker.send(PARSE_DESIGN, "design-1", queue="io")
    assert broker.send(RUN_JOB, "job-2", queue="run")
    assert drain(settings, "run") == [[RUN_JOB, "job-1"], [RUN_JOB, "job-2"]]
    assert drain(settings, "io") == [[PARSE_DESIGN, "design-1"]]
    folder = Path(settings.broker_url.removeprefix("filesystem://")) / "messages"
    assert list(folder.iterdir()) == []


def test_many_writers_and_readers_on_files(settings: Settings) -> None:
    """Each message reaches exactly one reader, none is seen half-written."""
    done = threading.Event()

    def write(number: int) -> None:
        broker = Broker(settings)
        for index in range(25):
            assert broker.send(RUN_JOB, f"{number}-{index}", queue="run")

    def read(_: int) -> list:
        found = []
        while True:
            ended = done.is_set()
            got = drain(settings, "run")
            found += got
            if ended and not got:
                return found

    with ThreadPoolExecutor(6) as pool:
        readers = [pool.submit(read, n) for n in range(3)]
        list(pool.map(write, range(3)))
        done.set()
        seen = sorted(args[1] for reader in readers for args in reader.result())
    assert seen == sorted(f"{n}-{i}" for n in range(3) for i in range(25))


def test_redis(tmp_path: Path, redis_url: str, key_prefix: str) -> None:
    import redis

    settings = load_settings({"data": tmp_path, "broker_url": redis_url, "broker_prefix": key_prefix})
    assert Broker(settings).send(RUN_JOB, "job-1", queue="run")
    client = redis.Redis.from_url(redis_url)
    keys = client.keys(f"{key_prefix}*")
    try:
        assert f"{key_prefix}run".encode() in keys
        assert client.llen(f"{key_prefix}run") == 1
    finally:
        client.delete(*keys)


def test_redis_settings(tmp_path: Path) -> None:
    conf = make_celery(load_settings({"data": tmp_path, "broker_url": "redis://127.0.0.1:1/0"})).conf
    assert conf.broker_transport_options["visibility_timeout"] == VISIBILITY_TIMEOUT_S
    longest_s = max(m.le for m in JobCreate.model_fields["seconds"].metadata if hasattr(m, "le"))
    assert longest_s < VISIBILITY_TIMEOUT_S
    assert conf.task_ignore_result
    assert not conf.task_acks_late
    assert conf.worker_prefetch_multiplier == 1


def test_broker_away(tmp_path: Path) -> None:
    settings = load_settings({"data": tmp_path, "broker_url": "redis://127.0.0.1:1/0"})
    assert Broker(settings).send(RUN_JOB, "job-1", queue="run") is False


@pytest.mark.parametrize("name", ["sending", "waiting"])
def test_nothing_but_ids_in_messages(settings: Settings, name: str) -> None:
    """A message names a task and ids: no paths, no settings, no secrets."""
    Broker(settings).send(RUN_JOB, name, queue="run")
    folder = Path(settings.broker_url.removeprefix("filesystem://")) / "messages"
    (path,) = folder.iterdir()
    text = path.read_text()
    assert str(settings.data) not in text
    assert settings.token is not None
    assert settings.token.get_secret_value() not in text
