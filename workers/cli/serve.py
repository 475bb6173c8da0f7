"""`placewright serve`, `worker`, `token`: the service, its workers, its keys. Settings: docs/operations.md."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from backend.core import logs
from backend.core.config import Settings, export, load_settings
from netlists.errors import PlacewrightError

if TYPE_CHECKING:
    import uvicorn
    from fastapi import FastAPI

GRACE_S = 3  # seconds that open requests have when the service stops
WORKER_GRACE_S = 35.0  # longer than the worker gives its own children

data_option = click.option(
    "--data", type=click.Path(file_okay=False, path_type=Path), help="Data folder [PLACEWRIGHT_DATA, default ./data]"
)


def _settings(**given: object) -> Settings:
    settings = load_settings({name: value for name, value in given.items() if value is not None})
    try:
        settings.data.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PlacewrightError(f"data folder {settings.data}: {error.strerror}") from error
    export(settings)
    return settings


def _log(level: int) -> None:
    logs.configure(level)
    logging.getLogger("alembic").setLevel(logging.WARNING)


@click.command(help="Serve the browser application and the REST API.")
@click.option("--host", help="Address to listen on [PLACEWRIGHT_HOST, default 127.0.0.1]")
@click.option("--port", type=click.IntRange(0, 65535), help="[PLACEWRIGHT_PORT, default 8000; 0 = any free one]")
@data_option
@click.option(
    "--worker/--no-worker",
    "with_worker",
    default=None,
    help="Run a worker as well [default: yes with the filesystem broker, else no]",
)
@click.option("--ready-file", type=click.Path(dir_okay=False, path_type=Path), help="Written as JSON once it answers.")
def serve(
    host: str | None, port: int | None, data: Path | None, with_worker: bool | None, ready_file: Path | None
) -> None:
    from backend.app import make_app
    from backend.core.migrate import migrate

    settings = _settings(host=host, port=port, data=data)
    settings.check_binding()
    _log(logging.INFO)
    listener = _listen(settings.host, settings.port)
    migrate(settings.database_url)
    app = make_app(settings)
    access = app.state.services.access
    chosen = settings.token.get_secret_value() if settings.token else None
    access.take_setting(chosen)
    token = chosen or access.first_token()
    if with_worker is None:
        with_worker = settings.broker_url.startswith("filesystem://")
    address = _address(settings.host, listener.getsockname()[1])
    with _lock(settings, with_worker), _worker(settings, with_worker):
        Server(app, listener, lambda: _announce(address, token, made=chosen is None, ready_file=ready_file)).run()


@click.command(help="Work on the jobs of a service: one process a queue.")
@click.option("--queues", default="io,run", show_default=True, help="Comma-separated: io, run, learner, actor.CELL, …")
@data_option
def worker(queues: str, data: Path | None) -> None:
    from workers.processes import die_with_parent
    from workers.worker import parse_queues, run_worker

    if "PLACEWRIGHT_PARENT" in os.environ:
        die_with_parent()
    names = parse_queues(queues)
    settings = _settings(data=data)
    _log(logging.INFO)
    run_worker(settings, names)


@click.command(help="Make a new access token for a service and print it, this once.")
@data_option
@click.option("--revoke-others", is_flag=True, help="End all earlier tokens and browser sessions.")
def token(data: Path | None, revoke_others: bool) -> None:
    from backend.core.access import Access
    from backend.core.db import Database
    from backend.core.migrate import migrate

    settings = _settings(data=data)
    migrate(settings.database_url)
    click.echo(Access(Database(settings.database_url), settings).new_token(revoke_others=revoke_others))


class Server:
    """Uvicorn in this process, on a socket that is bound already. SIGTERM and SIGINT end it in order."""

    def __init__(self, app: FastAPI, listener: socket.socket, on_ready: object) -> None:
        import uvicorn

        self.app = app
        self.listener = listener
        self.on_ready = on_ready
        self.server: uvicorn.Server = uvicorn.Server(
            uvicorn.Config(
                app,
                log_level="warning",
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=GRACE_S,
                proxy_headers=False,
                log_config=None,
            )
        )

    def run(self) -> None:
        import asyncio

        with asyncio.Runner(loop_factory=self.server.config.get_loop_factory()) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        import asyncio

        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop)
        # Uvicorn's own handlers would re-raise the signal at the end, before the worker is stopped.
        self.server.capture_signals = contextlib.nullcontext  # type: ignore[method-assign, assignment]
        task = asyncio.create_task(self.server.serve(sockets=[self.listener]))
        while not self.server.started and not task.done():
            await asyncio.sleep(0.01)
        if self.server.started:
            self.on_ready()  # type: ignore[operator]
        await task

    def _stop(self) -> None:
        self.app.state.services.feeds.close()  # streams never end by themselves
        self.server.should_exit = True


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host.strip("[]"), port))
    except OSError as error:
        listener.close()
        raise PlacewrightError(f"cannot listen on {host}:{port}: {error.strerror}; choose another --port") from error
    listener.listen(2048)
    listener.set_inheritable(False)
    return listener


def _address(host: str, port: int) -> str:
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host.strip("[]") else host)
    return f"http://{shown}:{port}"


def _announce(address: str, token: str | None, *, made: bool, ready_file: Path | None) -> None:
    if token is None:
        click.echo("Access with the token printed at the first start; 'placewright token' makes a new one.")
    elif made:
        click.echo("This address holds the access token, which is shown this once ('placewright token' makes another):")
    page = f"{address}/#token={token}" if token and made else f"{address}/"
    click.echo(page)
    sys.stdout.flush()
    if ready_file is not None:
        part = ready_file.with_name(f"{ready_file.name}.part")
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            json.dump({"address": address, "page": page, "pid": os.getpid()}, file)
        part.rename(ready_file)


@contextlib.contextmanager
def _lock(settings: Settings, with_worker: bool) -> Iterator[None]:
    """One service with a worker of its own per data folder: two would both take it for theirs."""
    import fcntl

    if not with_worker:
        yield
        return
    with open(settings.data / "serve.lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PlacewrightError(f"another service already serves the data folder {settings.data}") from None
        yield


@contextlib.contextmanager
def _worker(settings: Settings, wanted: bool) -> Iterator[None]:
    """A supervised worker child while the service runs."""
    if not wanted:
        yield
        return
    from workers.supervisor import Supervisor

    command = [sys.executable, "-m", "workers.cli.main", "worker", "--queues", "io,run"]
    supervisor = Supervisor({"worker": command}, settings.environment())
    stop = threading.Event()
    ready = threading.Event()

    def watch() -> None:
        supervisor.start()
        ready.set()
        supervisor.run(stop)
        supervisor.stop(WORKER_GRACE_S)

    # The thread that starts children must live as long as they do (parent-death signal), hence all of it in one.
    thread = threading.Thread(target=watch, name="supervisor")
    thread.start()
    ready.wait()
    try:
        yield
    finally:
        stop.set()
        thread.join()
