"""`placewright worker`: one Celery process a queue, a sweeper, and a heartbeat that says which queues are served.

A queue has processes of its own, so that reading a design never waits behind a run. This process runs no task itself.
"""

from __future__ import annotations

import logging
import os
import re
import signal
import sys
import threading
from collections.abc import Sequence

from backend.core.broker import IO_QUEUE, RUN_QUEUE, Broker
from backend.core.config import Settings
from backend.core.ids import new_id
from backend.core.migrate import migrate
from backend.jobs import recovery
from backend.jobs.store import JobStore
from netlists.errors import PlacewrightError
from workers.processes import this_host
from workers.supervisor import Supervisor
from workers.sweeper import Sweeper

log = logging.getLogger(__name__)

QUEUE_PATTERN = re.compile(r"io|run|learner|(actor|replay|cache)\.[A-Za-z0-9_-]{1,32}")
STOP_GRACE_S = 25.0  # longer than a task needs to stop its run (workers.tasks.STOP_GRACE_S and a kill)


def parse_queues(text: str) -> list[str]:
    """Names of queues, separated by commas. Raises PlacewrightError for one that nothing is ever sent to."""
    queues = list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    wrong = [name for name in queues if not QUEUE_PATTERN.fullmatch(name)]
    if wrong or not queues:
        raise PlacewrightError(
            f"--queues: {', '.join(wrong) or 'none given'}; "
            "there are io, run, learner, actor.CELL, replay.CELL and cache.CELL"
        )
    return queues


def celery_command(queue: str, slots: int) -> list[str]:
    """The Celery process of one queue. Threads: tasks only wait, and a fork would copy open connections."""
    return [
        *(sys.executable, "-m", "workers.celery_main", "--quiet", "worker"),
        *("--queues", queue, "--pool", "threads", "--concurrency", str(slots), "--hostname", f"{queue}@%h"),
        *("--loglevel", "WARNING", "--without-gossip", "--without-mingle", "--without-heartbeat"),
    ]


def slots_of(queue: str, settings: Settings) -> int:
    return {IO_QUEUE: settings.io_slots, RUN_QUEUE: settings.run_slots}.get(queue, settings.role_slots)


def run_worker(settings: Settings, queues: Sequence[str]) -> None:
    """Work until SIGTERM or SIGINT; then running jobs are stopped and put back, and no process is left."""
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    migrate(settings.database_url)
    scratch = settings.data / "tmp"
    scratch.mkdir(parents=True, exist_ok=True)
    store = JobStore.from_url(settings.database_url, settings.data)
    broker = Broker(settings)
    sweeper = Sweeper(store, broker, settings)
    slots = {queue: slots_of(queue, settings) for queue in queues}
    supervisor = Supervisor(
        {f"queue {queue}": celery_command(queue, count) for queue, count in slots.items()},
        {**settings.environment(), "TMPDIR": str(scratch)},
    )
    supervisor.start()
    worker_id = new_id()
    threads = [
        threading.Thread(target=_beat, args=(store, settings, worker_id, slots, stop), name="heartbeat"),
        threading.Thread(target=sweeper.run, args=(stop,), name="sweeper"),
    ]
    for thread in threads:
        thread.start()
    if settings.broker_url.startswith("filesystem://"):
        sweeper.resume()  # nobody else serves this broker: what waits has no message, or a second one that does no harm
    try:
        supervisor.run(stop)
    finally:
        stop.set()
        supervisor.stop(STOP_GRACE_S)
        for thread in threads:
            thread.join(timeout=10)
        recovery.worker_gone(store, worker_id)
        broker.close()
        store.close()


def _beat(store: JobStore, settings: Settings, worker_id: str, slots: dict[str, int], stop: threading.Event) -> None:
    while True:
        try:
            recovery.worker_heartbeat(store, worker_id, this_host(), os.getpid(), slots)
        except Exception as error:
            log.warning("heartbeat not written: %s", error)
        if stop.wait(settings.heartbeat_seconds):
            return
