"""The event stream of a real server: order, resumption, progress and metrics, silence, end; and uploads broken off."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from backend.core.config import load_settings
from backend.core.db import Database
from backend.jobs.store import JobStore
from backend.schemas import EventRead, JobState

TOKEN = "token-of-the-tests-0123456789"
TIMEOUT_S = 60


@dataclass
class Message:
    event: str
    data: dict
    id: int | None


@dataclass
class Served:
    """A service without a worker, in a process of its own."""

    process: subprocess.Popen
    client: httpx.Client
    store: JobStore
    data: Path


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    data = tmp_path_factory.mktemp("service")
    ready = data / "ready.json"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PLACEWRIGHT_")}
    environment |= {"PLACEWRIGHT_TOKEN": TOKEN, "PLACEWRIGHT_MAX_UPLOAD_BYTES": str(20 << 20)}
    command = [sys.executable, "-m", "workers.cli.main", "serve", "--port", "0", "--no-worker"]
    process = subprocess.Popen(
        [*command, "--data", str(data), "--ready-file", str(ready)], env=environment, stdout=subprocess.DEVNULL
    )
    waiting = threading.Event()
    while not ready.exists():
        assert process.poll() is None, "the service ended at once"
        waiting.wait(0.05)
    address = json.loads(ready.read_text())["address"]
    settings = load_settings({"data": data})
    store = JobStore(Database(settings.database_url), settings.data, stale_after_s=60, attempt_limit=3)
    headers = {"Authorization": f"Bearer {TOKEN}"}
    with httpx.Client(base_url=f"{address}/api/v1", headers=headers, timeout=TIMEOUT_S) as client:
        yield Served(process, client, store, data)
    store.close()
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=30) == 0


@pytest.fixture
def job_id(served: Served, make_job_in: Callable[[JobStore], str]) -> str:
    job_id = make_job_in(served.store)
    served.store.claim(job_id, "a", "h", 1)
    return job_id


def listen(served: Served, job_id: str, until: Callable[[Message], bool], **headers: str) -> list[Message]:
    """Messages up to the first that `until` says yes to, or the end of the stream."""
    found: list[Message] = []
    params = {"after": headers.pop("after")} if "after" in headers else {}
    with served.client.stream("GET", f"/jobs/{job_id}/events", headers=headers, params=params) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert answer.headers["cache-control"] == "no-cache"
        assert answer.headers["x-accel-buffering"] == "no"
        fields: dict[str, str] = {}
        for line in answer.iter_lines():
            if line:
                name, _, value = line.partition(": ")
                fields[name] = value
            elif "event" in fields:
                event_id = int(fields["id"]) if "id" in fields else None
                found.append(Message(fields["event"], json.loads(fields["data"]), event_id))
                fields = {}
                if until(found[-1]):
                    break
            else:
                fields = {}
    return found


def log(served: Served, job_id: str, text: str) -> int:
    return served.store.add_event(job_id, "log", {"level": "info", "message": text})


def test_what_was_comes_first_then_what_comes(served: Served, job_id: str) -> None:
    log(served, job_id, "before")
    with ThreadPoolExecutor(1) as pool:
        seen = pool.submit(listen, served, job_id, lambda m: m.data.get("data", {}).get("message") == "after")
        served.store.heartbeat(job_id, "a", progress=0.5, eta_s=10, stage="placing")
        log(served, job_id, "after")
        messages = [message for message in seen.result(TIMEOUT_S) if message.id is not None]
    assert [message.id for message in messages] == [1, 2, 3]
    assert [message.event for message in messages] == ["state", "log", "log"]
    for message in messages:
        assert EventRead.model_validate(message.data).id == message.id


def test_resumes_after_the_last_event_seen(served: Served, job_id: str) -> None:
    for number in range(5):
        log(served, job_id, str(number))
    served.store.finish(job_id, "a", JobState.DONE)
    for headers in ({"Last-Event-ID": "4"}, {"after": "4"}, {"Last-Event-ID": "4", "after": "2"}):
        ids = [message.id for message in listen(served, job_id, lambda _: False, **headers) if message.id]
        assert ids == [5, 6, 7]
    assert [m.id for m in listen(served, job_id, lambda _: False, **{"Last-Event-ID": "junk"}) if m.id] == list(
        range(1, 8)
    )


def test_a_client_that_has_seen_the_end_is_told_not_to_come_back(served: Served, job_id: str) -> None:
    served.store.finish(job_id, "a", JobState.DONE)
    messages = listen(served, job_id, lambda _: False)
    end = messages[-1]
    assert (end.event, end.data["data"]["state"]) == ("state", "done")
    assert [message.data["progress"] for message in messages if message.event == "progress"][-1] == 1.0
    answer = served.client.get(f"/jobs/{job_id}/events", headers={"Last-Event-ID": str(end.id)})
    assert (answer.status_code, answer.content) == (204, b"")


def test_progress_and_metrics_carry_no_id(served: Served, job_id: str) -> None:
    served.store.add_metrics(job_id, 1.0, {"loss": 9.0})
    served.store.flush()
    with ThreadPoolExecutor(1) as pool:
        begun = threading.Event()

        def until(message: Message) -> bool:
            begun.set()
            return message.event == "state" and message.data["data"]["state"] == "done"

        seen = pool.submit(listen, served, job_id, until)
        assert begun.wait(TIMEOUT_S)
        served.store.add_metrics(job_id, 2.0, {"loss": 3.0})
        served.store.heartbeat(job_id, "a", progress=0.25, eta_s=30, stage="placing")
        served.store.finish(job_id, "a", JobState.DONE)
        messages = seen.result(TIMEOUT_S)
    unstored = [message for message in messages if message.id is None]
    assert {message.event for message in unstored} == {"progress", "metrics"}
    points = [point for m in unstored if m.event == "metrics" for point in m.data["points"]]
    assert points == [{"time_s": 2.0, "values": {"loss": 3.0}}]  # older ones come from GET metrics


def test_many_listeners_each_hear_everything_once(served: Served, job_id: str) -> None:
    def until(message: Message) -> bool:
        return message.event == "state" and message.data["data"]["state"] == "done"

    with ThreadPoolExecutor(20) as pool:
        seen = [pool.submit(listen, served, job_id, until) for _ in range(20)]
        for number in range(30):
            log(served, job_id, str(number))
        served.store.finish(job_id, "a", JobState.DONE)
        for future in seen:
            assert [m.id for m in future.result(TIMEOUT_S) if m.id] == list(range(1, 33))


def test_streams_are_limited_in_number(tmp_path: Path) -> None:
    from backend.core.errors import TooManyError
    from backend.core.migrate import migrate
    from backend.jobs.feed import Feeds

    url = f"sqlite:///{tmp_path / 'a.db'}"
    migrate(url)
    feeds = Feeds(Database(url), max_streams=0)
    with pytest.raises(TooManyError, match="0 event streams"):
        feeds.stream("x", 0)


def test_a_slow_listener_is_let_go_and_misses_nothing_when_it_comes_back() -> None:
    import asyncio

    from backend.jobs.feed import QUEUE, Feed, Listener

    async def scenario() -> tuple[int, bool]:
        listener = Listener()
        feed = Feed.__new__(Feed)
        feed.listeners = {listener}
        for number in range(QUEUE + 1):
            feed._tell(number, "x")
        first = listener.queue.get_nowait()
        return listener.queue.qsize(), first is None and listener not in feed.listeners

    assert asyncio.run(scenario()) == (0, True)


def test_silence_is_broken_by_a_comment(served: Served, job_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import asyncio

    from backend.jobs import feed

    monkeypatch.setattr(feed, "HEARTBEAT_S", 0.05)

    async def scenario() -> list[str]:
        feeds = feed.Feeds(served.store.database, max_streams=1)
        texts = []
        async for text in feeds.stream(job_id, 10):
            texts.append(text)
            if text.startswith(":"):
                break
        feeds.close()
        return texts

    assert asyncio.run(scenario())[-1] == ": still here\n\n"


def test_a_chunked_upload_over_the_limit(served: Served) -> None:
    """No Content-Length: only counting what comes in can stop it."""

    def body() -> Iterator[bytes]:
        yield b'--b\r\nContent-Disposition: form-data; name="files"; filename="a.pb.txt"\r\n\r\n'
        for _ in range(30):
            yield b"x" * (1 << 20)
        yield b"\r\n--b--\r\n"

    try:
        answer = served.client.post(
            "/designs", content=body(), headers={"Content-Type": "multipart/form-data; boundary=b"}
        )
    except httpx.TransportError:
        pass  # the server stopped reading before this client had sent all: that is a refusal, too
    else:
        assert answer.status_code == 413
        assert answer.json()["type"].endswith("body-too-large")
    assert list(served.data.glob("uploads/*")) == []
    assert list(served.data.glob("designs/*")) == []


def test_a_client_that_goes_away_leaves_nothing(served: Served) -> None:
    def body() -> Iterator[bytes]:
        yield b'--b\r\nContent-Disposition: form-data; name="files"; filename="a.pb.txt"\r\n\r\n' + b"x" * (3 << 20)
        raise ConnectionError("unplugged")

    with pytest.raises(ConnectionError):
        served.client.post("/designs", content=body(), headers={"Content-Type": "multipart/form-data; boundary=b"})
    gone = threading.Event()
    for _ in range(200):
        if not list(served.data.glob("uploads/*")):
            break
        gone.wait(0.05)
    assert list(served.data.glob("uploads/*")) == []
    assert list(served.data.glob("designs/*")) == []


def test_open_streams_do_not_keep_the_service_from_stopping(tmp_path: Path, make_job_in) -> None:
    ready = tmp_path / "ready.json"
    environment = {**os.environ, "PLACEWRIGHT_TOKEN": TOKEN}
    command = [sys.executable, "-m", "workers.cli.main", "serve", "--port", "0", "--no-worker", "--data", str(tmp_path)]
    process = subprocess.Popen([*command, "--ready-file", str(ready)], env=environment, stdout=subprocess.DEVNULL)
    waiting = threading.Event()
    while not ready.exists():
        assert process.poll() is None
        waiting.wait(0.05)
    store = JobStore(Database(f"sqlite:///{tmp_path}/placewright.db"), tmp_path, stale_after_s=60, attempt_limit=3)
    job_id = make_job_in(store)
    client = httpx.Client(headers={"Authorization": f"Bearer {TOKEN}"}, timeout=TIMEOUT_S)
    with client.stream("GET", f"{json.loads(ready.read_text())['address']}/api/v1/jobs/{job_id}/events") as answer:
        lines = answer.iter_lines()
        assert next(lines)
        process.send_signal(signal.SIGTERM)
        assert list(lines) is not None  # ends instead of hanging
    assert process.wait(timeout=20) == 0
    store.close()
