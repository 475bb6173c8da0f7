"""Processes of a measurement and how they are told what to do: one JSON object a line in, one a line out.

A child is `python -m benchmarks.menger.<module> <kind>`; it calls `serve` with its commands. All see one clock, for
time.monotonic() is the machine's.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.menger.network import Host

ROOT = Path(__file__).resolve().parent.parent.parent


class Child:
    """A process on a host. `tell` sends a command, `answer` waits for its answer; `ask` does both."""

    def __init__(self, host: Host, module: str, *words: str) -> None:
        command = [sys.executable, "-m", f"benchmarks.menger.{module}", *words]
        self._name = " ".join([module, *words])
        self.process = host.start(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)

    def tell(self, command: str, **values: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"command": command, **values}) + "\n")
        self.process.stdin.flush()

    def answer(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self._name} ended with code {self.process.wait()}")
        return json.loads(line)

    def ask(self, command: str, **values: Any) -> Any:
        self.tell(command, **values)
        return self.answer()

    def kill(self) -> None:
        """kill -9. `ip netns exec` becomes the program itself, so the process is the child."""
        self.process.kill()
        self.process.wait()


def serve(commands: Mapping[str, Callable[..., Any]]) -> None:
    """Carry out what is asked until the input ends."""
    for line in sys.stdin:
        values = json.loads(line)
        print(json.dumps(commands[values.pop("command")](**values)), flush=True)
