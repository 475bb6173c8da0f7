"""A job's role processes on this machine: start, notice the dead, restart, stop in order.

Each role is a fresh interpreter (`python -m workers.cli.main role NAME --job ID --index I`), never a fork: a process
that has imported jax must not fork. Everything a library reads from its environment is set here, before the child's
first import. Used by the run (workers/role_set.py) and by `placewright train`. Knows nothing of the database.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from backend.jobs.topology import STOP_ORDER, RoleKey
from workers.processes import JOB_VARIABLE, PARENT_VARIABLE

JAX_ROLES = ("learner", "actor", "optimiser")  # the optimiser for global placement
LAST_LINES = 40
STOP_ONE_S = 10.0  # from SIGTERM to SIGKILL of a role that the job no longer wants
ONE_THREAD = {
    name: "1"
    for name in (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "NUMEXPR_NUM_THREADS",
        "NUMBA_NUM_THREADS",
    )
}
# XLA ignores OMP_NUM_THREADS on CPUs; this keeps one operation on one core (measured: docs/learning.md).
XLA_ONE_THREAD = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"


@dataclass(frozen=True, kw_only=True)
class RoleExit:
    """A role process that ended without being told to."""

    key: RoleKey
    code: int  # exit code; -n = killed by signal n
    last_stderr_lines: tuple[str, ...]


@dataclass(kw_only=True)
class _Process:
    popen: subprocess.Popen[bytes]
    log: Path
    reported: bool = False
    kill_at_s: float | None = None  # told to stop; killed if it lives then


def role_command(key: RoleKey, job_id: str) -> list[str]:
    """The command of one role's process."""
    cell = ("--cell", key.cell) if key.cell else ()
    words = ("role", key.role, "--job", job_id, *cell, "--index", str(key.index))
    return [sys.executable, "-m", "workers.cli.main", *words]


def log_name(key: RoleKey) -> str:
    return "-".join(str(part) for part in key if part != "") + ".log"


def may_accelerate() -> bool:
    """Whether the user lets learners use an accelerator of this machine."""
    return os.environ.get("PLACEWRIGHT_ACCELERATOR") == "1"


def role_environment(role: str, *, data_dir: Path, accelerator: bool) -> dict[str, str]:
    """Variables of one role's process beyond those it inherits. Only the learner may see an accelerator."""
    environment = {**ONE_THREAD, "TF_CPP_MIN_LOG_LEVEL": "2", "PYTHONUNBUFFERED": "1", "GRPC_VERBOSITY": "ERROR"}
    if role in JAX_ROLES:
        cache = os.environ.get("JAX_COMPILATION_CACHE_DIR") or data_dir / "cache" / "jax"
        environment |= {
            "JAX_COMPILATION_CACHE_DIR": str(cache),
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.2",
            "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
        }
    if not (role == "learner" and accelerator):
        environment |= {"JAX_PLATFORMS": "cpu", "CUDA_VISIBLE_DEVICES": "", "XLA_FLAGS": XLA_ONE_THREAD}
    return environment


@dataclass(kw_only=True)
class RoleSet:
    """The processes of one job's roles. Not thread-safe; one owner calls it."""

    job_id: str
    data_dir: Path
    database_url: str
    wanted: Sequence[RoleKey]  # in order of starting
    log_dir: Path
    environment: Mapping[str, str] = field(default_factory=dict)  # added to every role's
    options: Mapping[str, Sequence[str]] = field(default_factory=dict)  # role -> further words of its command
    accelerator: bool = field(default_factory=may_accelerate)
    _processes: dict[RoleKey, _Process] = field(default_factory=dict)

    def start(self) -> None:
        """Start every role that is wanted. Returns at once; roles find each other by themselves."""
        self.log_dir.mkdir(parents=True, exist_ok=True)
        self.set_wanted(self.wanted)

    def set_wanted(self, wanted: Sequence[RoleKey]) -> None:
        """Start what is missing, and begin to stop what is too many. To be called again until `surplus` is empty.

        Of those too many, writers end before the servers that they write to. What ended by itself is not missing: that
        is for the owner to judge, see `poll`.
        """
        self.wanted = list(wanted)
        for key in self.wanted:
            if key not in self._processes:
                self._spawn(key)
        surplus = self.surplus()
        first = next((role for role in STOP_ORDER if any(key.role == role for key in surplus)), None)
        for key in surplus:
            if key.role == first:
                self.stop_one(key)

    def surplus(self) -> list[RoleKey]:
        """Roles that run although they are not wanted."""
        return [key for key in self.pids() if key not in self.wanted]

    def poll(self) -> list[RoleExit]:
        """Roles that have ended by themselves since the last call. Never blocks."""
        exits = []
        for key, process in list(self._processes.items()):
            code = process.popen.poll()
            if process.kill_at_s is not None:
                if code is not None:
                    del self._processes[key]
                elif time.monotonic() > process.kill_at_s:
                    process.popen.kill()
            elif code is not None and not process.reported:
                process.reported = True
                exits.append(RoleExit(key=key, code=code, last_stderr_lines=_tail(process.log)))
        return exits

    def stop_one(self, key: RoleKey) -> None:
        """Tell one role to end; if it is wanted, `set_wanted` starts it again once it has. Never blocks."""
        process = self._processes.get(key)
        if process is not None and process.kill_at_s is None:
            # An optimiser that is told to stop takes its round for done; killed, it goes on from its last result.
            process.popen.send_signal(signal.SIGKILL if key.role == "optimiser" else signal.SIGTERM)
            process.kill_at_s = time.monotonic() + STOP_ONE_S

    def restart(self, key: RoleKey) -> None:
        """Start a role again, after ending it if it still runs."""
        known = self._processes.get(key)
        if known is not None and known.popen.poll() is None:
            known.popen.kill()
            known.popen.wait()
        self._spawn(key)

    def pids(self) -> dict[RoleKey, int]:
        """Process ids of the roles that run."""
        return {key: process.popen.pid for key, process in self._processes.items() if process.popen.poll() is None}

    def stop(self, deadline_s: float) -> None:
        """End all roles in order (STOP_ORDER): SIGTERM, and SIGKILL for what is left when `deadline_s` is over."""
        end_s = time.monotonic() + deadline_s
        present = [role for role in STOP_ORDER if any(key.role == role for key in self._processes)]
        for number, role in enumerate(present):
            running = [p.popen for key, p in self._processes.items() if key.role == role and p.popen.poll() is None]
            for popen in running:
                popen.send_signal(signal.SIGTERM)
            role_end_s = time.monotonic() + max(0.1, (end_s - time.monotonic()) / (len(present) - number))
            for popen in running:
                try:
                    popen.wait(max(0.05, role_end_s - time.monotonic()))
                except subprocess.TimeoutExpired:
                    popen.kill()
                    popen.wait()
        self._processes.clear()

    def _spawn(self, key: RoleKey) -> None:
        log = self.log_dir / log_name(key)
        environment = {
            **os.environ,
            **self.environment,
            **role_environment(key.role, data_dir=self.data_dir, accelerator=self.accelerator),
            "PLACEWRIGHT_DATA": str(self.data_dir),
            "PLACEWRIGHT_DATABASE_URL": self.database_url,
            JOB_VARIABLE: self.job_id,
            PARENT_VARIABLE: str(os.getpid()),
        }
        with log.open("ab") as output:
            popen = subprocess.Popen(
                [*role_command(key, self.job_id), *self.options.get(key.role, ())],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        self._processes[key] = _Process(popen=popen, log=log)


def _tail(log: Path) -> tuple[str, ...]:
    try:
        with log.open(errors="replace") as file:
            return tuple(line.rstrip("\n") for line in deque(file, LAST_LINES))
    except OSError:
        return ()
