"""Connections between the machine itself and its network namespaces: a port here stands for a port there.

Servers that were there before (PostgreSQL, Redis on 127.0.0.1) become reachable on a host of `network.py`, and a server
on such a host becomes reachable from the test. Linux, root. Carries bytes; knows nothing of what they mean.
"""

from __future__ import annotations

import ctypes
import os
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Self

CLONE_NEWNET = 0x40000000  # <linux/sched.h>
CHUNK_BYTES = 1 << 16


def in_namespace(namespace: str | None, call: Callable[[], socket.socket]) -> socket.socket:
    """The socket that `call` makes inside a network namespace, where it stays; None: where this process is.

    Raises OSError if the namespace cannot be entered or the call fails so.
    """
    if namespace is None:
        return call()
    results: list[socket.socket] = []
    errors: list[BaseException] = []

    def enter() -> None:  # only this thread moves
        try:
            handle = os.open(f"/run/netns/{namespace}", os.O_RDONLY)
            try:
                if ctypes.CDLL(None, use_errno=True).setns(handle, CLONE_NEWNET) != 0:
                    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), namespace)
            finally:
                os.close(handle)
            results.append(call())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]


class Relay:
    """Whoever connects to `at` in one namespace talks to `to` in another, until the relay is closed.

    `away` and `back` take the server from the network and return it: connections break and further ones are refused.
    """

    def __init__(
        self,
        at: tuple[str, int],
        to: tuple[str, int],
        *,
        at_namespace: str | None = None,
        to_namespace: str | None = None,
    ) -> None:
        self.at, self.at_namespace = at, at_namespace
        self.to, self.to_namespace = to, to_namespace
        self.back()

    def back(self) -> None:
        """Be reachable, for the first time or again at the same port."""
        self.listening = in_namespace(self.at_namespace, lambda: socket.create_server(self.at))
        self.port: int = self.listening.getsockname()[1]
        self.at = (self.at[0], self.port)
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.away()

    def away(self) -> None:
        """Not reachable from now on; what is connected breaks."""
        for each in (self.listening, *self._open):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self.listening.accept()
            except OSError:
                return  # closed
            try:
                far = in_namespace(self.to_namespace, lambda: socket.create_connection(self.to, timeout=10))
            except OSError:
                near.close()  # nobody is there: the caller sees a closed connection
                continue
            far.settimeout(None)
            self._open += [near, far]
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=_carry, args=(source, sink), daemon=True).start()


def _carry(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while chunk := source.recv(CHUNK_BYTES):
            sink.sendall(chunk)
        sink.shutdown(socket.SHUT_WR)
