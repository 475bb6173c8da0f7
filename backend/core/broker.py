"""Celery without its workers: the settings both sides share, and `Broker.send`, which enqueues a task by name.

Messages carry a task's name and ids, nothing else; state is in the database. Redis by URL, or files in a folder
(`FileTransport`). Sources of the choices: docs/operations.md "Broker".
"""

from __future__ import annotations

import logging
import os
import threading
import time
import uuid
from pathlib import Path
from queue import Empty
from typing import Any

from celery import Celery
from kombu.transport import filesystem
from kombu.utils.json import dumps, loads

from backend.core.config import Settings

log = logging.getLogger(__name__)

IO_QUEUE = "io"
RUN_QUEUE = "run"
PARSE_DESIGN = "workers.tasks.parse_design"
RUN_JOB = "workers.tasks.run_job"
ROLE = "workers.tasks.role"

# Longer than the longest job (7 days): a message is never taken for lost while its task may still run.
VISIBILITY_TIMEOUT_S = 8 * 86400
POLL_FILES_S = 0.2  # Celery's own second would be most of the wait of a small job


class FileChannel(filesystem.Channel):
    """Messages as files, each written under another name first and taken by one rename.

    The library's channel lets a reader find a file that is still empty, and moves what it takes to the system's
    temporary folder, which is no single step when that is another disk.
    """

    def _put(self, queue: str, payload: dict[str, Any], **_: Any) -> None:
        folder = Path(self.data_folder_out)
        name = f"{time.time_ns():020d}_{uuid.uuid4()}.{queue}.msg"
        part = folder / f"{name}.part"
        part.write_bytes(dumps(payload).encode())
        part.rename(folder / name)

    def _get(self, queue: str, *_: Any, **__: Any) -> dict[str, Any]:
        for path in sorted(Path(self.data_folder_in).glob(f"*.{queue}.msg")):
            if path.name.partition(".")[2] != f"{queue}.msg":
                continue
            taken = path.with_suffix(f".taken-{os.getpid()}-{threading.get_ident()}")
            try:
                path.rename(taken)
            except FileNotFoundError:
                continue  # another worker was quicker
            payload = taken.read_bytes()
            taken.unlink()
            message: dict[str, Any] = loads(payload.decode())
            return message
        raise Empty()


class FileTransport(filesystem.Transport):
    Channel = FileChannel


def make_celery(settings: Settings) -> Celery:
    """A Celery application on the settings' broker, with no tasks of its own."""
    app = Celery("placewright", set_as_current=False)
    app.conf.update(
        broker_connection_retry_on_startup=True,
        broker_connection_timeout=4,
        broker_connection_max_retries=None,  # workers wait for a broker that is away, however long
        task_ignore_result=True,  # state lives in the database
        task_store_errors_even_if_ignored=False,
        task_serializer="json",
        accept_content=["json"],
        task_default_queue=IO_QUEUE,
        task_create_missing_queues=True,
        task_acks_late=False,  # a lost task is found by the sweeper, not by redelivery
        task_send_sent_event=False,
        worker_prefetch_multiplier=1,
        worker_send_task_events=False,
        worker_enable_remote_control=False,
        worker_hijack_root_logger=False,
        worker_cancel_long_running_tasks_on_connection_loss=False,
        enable_utc=True,
    )
    if settings.broker_url.startswith("filesystem://"):
        folder = Path(settings.broker_url.removeprefix("filesystem://"))
        for name in ("messages", "control"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        app.conf.update(
            broker_url="filesystem://localhost//",  # the library warns where no host is named
            broker_transport="backend.core.broker:FileTransport",
            broker_transport_options={
                "data_folder_in": str(folder / "messages"),
                "data_folder_out": str(folder / "messages"),
                "control_folder": str(folder / "control"),
                "polling_interval": POLL_FILES_S,
            },
        )
    else:
        app.conf.update(
            broker_url=settings.broker_url,
            broker_transport_options={
                "visibility_timeout": VISIBILITY_TIMEOUT_S,
                "global_keyprefix": settings.broker_prefix,
                "socket_keepalive": True,
                "health_check_interval": 25,
                "socket_timeout": 30,
                "socket_connect_timeout": 4,
                "retry_on_timeout": True,
                "queue_order_strategy": "round_robin",
            },
            redis_socket_keepalive=True,
            redis_backend_health_check_interval=25,
        )
    return app


class Broker:
    """Enqueues tasks by name. Thread-safe."""

    def __init__(self, settings: Settings) -> None:
        self._app = make_celery(settings)
        # A request does not wait for a broker that is away: the sweeper sends later what could not be sent now.
        self._app.conf.broker_transport_options.update(
            max_retries=1, interval_start=0, interval_step=0.1, interval_max=0.1
        )
        self._lock = threading.Lock()

    def send(self, task: str, *args: str | int, queue: str) -> bool:
        """Enqueue. False when the broker is away: the caller's row stays queued and the sweeper sends it again."""
        try:
            with self._lock:
                self._app.send_task(task, args=list(args), queue=queue, retry=False)
        except Exception as error:  # each transport has errors of its own
            log.warning("broker does not take %s%r: %s", task, args, error)
            return False
        return True

    def close(self) -> None:
        self._app.close()
