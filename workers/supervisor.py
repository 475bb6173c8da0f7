"""Child processes that must run as long as this one does: started again when they end, stopped in order at the end.

Used by `placewright serve` (for its worker) and by `placewright worker` (for one Celery process a queue).
"""

from __future__ import annotations

import logging
import subprocess
import threading
import time
from collections.abc import Sequence

from workers.processes import child_environment, ending

log = logging.getLogger(__name__)

# A child that ends at once each time must not eat a processor: the wait doubles up to a minute, and is forgotten
# once a child has lived for a while.
FIRST_WAIT_S, LAST_WAIT_S = 1.0, 60.0
LIVED_S = 30.0


class Supervisor:
    """Keeps named commands running. The thread that calls `start` must live as long as the process does: the kernel
    ties the children's parent-death signal to it."""

    def __init__(self, commands: dict[str, Sequence[str]], environment: dict[str, str]) -> None:
        self.commands = commands
        self.environment = environment
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        self._started_s: dict[str, float] = {}
        self._wait_s: dict[str, float] = dict.fromkeys(commands, FIRST_WAIT_S)
        self._due_s: dict[str, float] = {}

    def start(self) -> None:
        for name in self.commands:
            self._start(name)

    def _start(self, name: str) -> None:
        # A session of its own: Ctrl-C in a terminal reaches the parent only, which then stops children in order.
        self._children[name] = subprocess.Popen(
            list(self.commands[name]),
            stdin=subprocess.DEVNULL,
            env=child_environment(self.environment),
            start_new_session=True,
        )
        self._started_s[name] = time.monotonic()

    def check(self) -> None:
        """Start again what has ended, each after its wait."""
        now_s = time.monotonic()
        for name, child in self._children.items():
            code = child.poll()
            if code is None:
                continue
            if name not in self._due_s:
                if now_s - self._started_s[name] > LIVED_S:
                    self._wait_s[name] = FIRST_WAIT_S
                self._due_s[name] = now_s + self._wait_s[name]
                log.error("%s %s; started again in %.0f s", name, ending(code), self._wait_s[name])
                self._wait_s[name] = min(LAST_WAIT_S, 2 * self._wait_s[name])
            elif now_s >= self._due_s[name]:
                del self._due_s[name]
                self._start(name)

    def run(self, stop: threading.Event, poll_s: float = 0.5) -> None:
        """Check until told to stop, then stop all children."""
        while not stop.wait(poll_s):
            self.check()

    def stop(self, grace_s: float) -> None:
        """SIGTERM to all, SIGKILL to what is left after `grace_s`."""
        for child in self._children.values():
            if child.poll() is None:
                child.terminate()
        end_s = time.monotonic() + grace_s
        for name, child in self._children.items():
            try:
                child.wait(timeout=max(0.0, end_s - time.monotonic()))
            except subprocess.TimeoutExpired:
                log.error("%s does not stop, killing it", name)
                child.kill()
                child.wait()
