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

from workers.processes import JOB_VARIABLE, PARENT_VARIABLE
from workers.topology import Topology

ROLES = ("replay", "learner", "cache", "actor", "optimiser")  # order of starting; those before serve those after
STOP_ORDER = ("optimiser", "actor", "learner", "cache", "replay")  # writers before readers before servers
JAX_ROLES = ("learner", "actor", "optimiser")  # the optimiser for global placement
LAST_LINES = 40
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

    role: str
    index: int
    code: int  # exit code; -n = killed by signal n
    last_stderr_lines: tuple[str, ...]


@dataclass(kw_only=True)
class _Process:
    popen: subprocess.Popen[bytes]
    log: Path
    reported: bool = False


def role_counts(topology: Topology) -> dict[str, int]:
    """Processes of each role, in order of starting."""
    counts = (topology.replay_shards, topology.learners, topology.caches, topology.actors, topology.optimisers)
    return dict(zip(ROLES, counts, strict=True))


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
    topology: Topology
    log_dir: Path
    environment: Mapping[str, str] = field(default_factory=dict)  # added to every role's
    options: Mapping[str, Sequence[str]] = field(default_factory=dict)  # role -> further words of its command
    accelerator: bool = field(default_factory=may_accelerate)
    _processes: dict[tuple[str, int], _Process] = field(default_factory=dict)

    def start(self) -> None:
        """Start every role that the topology asks for. Returns at once; roles find each other by themselves."""
        self.log_dir.mkdir(parents=True, exist_ok=True)
        for role, count in role_counts(self.topology).items():
            for index in range(count):
                self._spawn(role, index)

    def poll(self) -> list[RoleExit]:
        """Roles that have ended since the last call. Never blocks."""
        exits = []
        for (role, index), process in self._processes.items():
            code = process.popen.poll()
            if code is not None and not process.reported:
                process.reported = True
                exits.append(RoleExit(role=role, index=index, code=code, last_stderr_lines=_tail(process.log)))
        return exits

    def restart(self, role: str, index: int) -> None:
        """Start a role again, after ending it if it still runs."""
        known = self._processes.get((role, index))
        if known is not None and known.popen.poll() is None:
            known.popen.kill()
            known.popen.wait()
        self._spawn(role, index)

    def pids(self) -> dict[tuple[str, int], int]:
        """Process ids of the roles that run."""
        return {key: process.popen.pid for key, process in self._processes.items() if process.popen.poll() is None}

    def stop(self, deadline_s: float) -> None:
        """End all roles in order (STOP_ORDER): SIGTERM, and SIGKILL for what is left when `deadline_s` is over."""
        end_s = time.monotonic() + deadline_s
        present = [role for role in STOP_ORDER if any(name == role for name, _ in self._processes)]
        for number, role in enumerate(present):
            running = [p.popen for (name, _), p in self._processes.items() if name == role and p.popen.poll() is None]
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

    def _spawn(self, role: str, index: int) -> None:
        log = self.log_dir / f"{role}-{index}.log"
        environment = {
            **os.environ,
            **self.environment,
            **role_environment(role, data_dir=self.data_dir, accelerator=self.accelerator),
            "PLACEWRIGHT_DATA": str(self.data_dir),
            "PLACEWRIGHT_DATABASE_URL": self.database_url,
            JOB_VARIABLE: self.job_id,
            PARENT_VARIABLE: str(os.getpid()),
        }
        command = [sys.executable, "-m", "workers.cli.main", "role", role, "--job", self.job_id, "--index", str(index)]
        with log.open("ab") as output:
            popen = subprocess.Popen(
                [*command, *self.options.get(role, ())],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        self._processes[role, index] = _Process(popen=popen, log=log)


def _tail(log: Path) -> tuple[str, ...]:
    try:
        with log.open(errors="replace") as file:
            return tuple(line.rstrip("\n") for line in deque(file, LAST_LINES))
    except OSError:
        return ()
