"""Processes and their groups: die with the parent, stop a group, find what is left of one. Linux; no database.

A run is started in a session of its own, so its process group is all it ever started; `PLACEWRIGHT_JOB` in the
environment tells its processes from others that were given the same number later.
"""

from __future__ import annotations

import contextlib
import ctypes
import logging
import os
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path

log = logging.getLogger(__name__)

PR_SET_PDEATHSIG = 1  # linux/prctl.h
JOB_VARIABLE = "PLACEWRIGHT_JOB"
PARENT_VARIABLE = "PLACEWRIGHT_PARENT"
TOKEN_VARIABLE = "PLACEWRIGHT_TOKEN"
KILLED_S = 5.0  # for the kernel to end what was killed
POLL_S = 0.05


def die_with_parent(number: int = signal.SIGTERM) -> None:
    """Ask the kernel to signal this process when the one that started it ends. Call first thing in a child.

    The starter names itself in PLACEWRIGHT_PARENT; if it is gone already, this process ends at once.
    """
    try:
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, number)
    except (OSError, AttributeError):
        log.warning("this system has no parent-death signal: children may outlive a killed service")
    parent = os.environ.pop(PARENT_VARIABLE, "")
    if parent and int(parent) != os.getppid():
        raise SystemExit(f"process {parent}, which started this one, is gone")


def process_start_s() -> float:
    """When this process began, on the monotonic clock: before its interpreter and its imports."""
    since_boot_s = float(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
    return time.monotonic() - max(time.clock_gettime(time.CLOCK_BOOTTIME) - since_boot_s, 0.0)


def child_environment(extra: dict[str, str] | None = None, *, dies_with_parent: bool = True) -> dict[str, str]:
    """The environment for a child, which will call `die_with_parent` or not. The access token is the API's alone."""
    inherited = {name: value for name, value in os.environ.items() if name not in (TOKEN_VARIABLE, PARENT_VARIABLE)}
    parent = {PARENT_VARIABLE: str(os.getpid())} if dies_with_parent else {}
    return {**inherited, **(extra or {}), **parent}


def group_members(pgid: int, job_id: str | None = None) -> list[int]:
    """Living processes of a group; with `job_id`, those only that were started for that job."""
    members = []
    for path in Path("/proc").iterdir():
        if not path.name.isdigit():
            continue
        try:
            fields = (path / "stat").read_text().rpartition(")")[2].split()
            if int(fields[2]) != pgid or fields[0] in "ZX":
                continue
            if job_id is not None and f"{JOB_VARIABLE}={job_id}".encode() not in (path / "environ").read_bytes():
                continue
        except (OSError, IndexError):
            continue  # ended meanwhile
        members.append(int(path.name))
    return members


def signal_group(pgid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pgid, number)


def stop_group(pgid: int, job_id: str | None, *, grace_s: float) -> bool:
    """SIGTERM to a group, SIGKILL to what is left after `grace_s`. False: nothing of the job was there.

    Checks first that the group is still that job's, for process numbers are used again.
    """
    if not group_members(pgid, job_id):
        return False
    signal_group(pgid, signal.SIGTERM)
    if wait_until(lambda: not group_members(pgid, job_id), grace_s):
        return True
    log.warning("group %s does not stop, killing it", pgid)
    kill_group(pgid, job_id)
    return True


def kill_group(pgid: int, job_id: str | None) -> None:
    """SIGKILL to a group of the job's, and wait until the kernel has ended it."""
    signal_group(pgid, signal.SIGKILL)
    wait_until(lambda: not group_members(pgid, job_id), KILLED_S)


def wait_until(condition: Callable[[], bool], timeout_s: float) -> bool:
    """Whether `condition` became true within the time."""
    end_s = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() >= end_s:
            return False
        time.sleep(POLL_S)
    return True


def ending(code: int) -> str:
    """How a process ended, in words."""
    if code >= 0:
        return f"ended with code {code}"
    name = signal.Signals(-code).name if -code in signal.Signals._value2member_map_ else ""
    hint = "; out of memory?" if -code == signal.SIGKILL else ""
    return f"was killed (signal {-code} {name}{hint})".replace(" )", ")")


def this_host() -> str:
    """Name of what process numbers mean something within: the machine, or the container on it."""
    try:
        namespace = os.readlink("/proc/self/ns/pid").strip("pid:[]")
    except OSError:
        namespace = ""
    return f"{socket.gethostname()}/{namespace}"
