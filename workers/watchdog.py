"""Looks at what the roles of a job report and says what a person must know: no progress, refused data, full disks.

In: role records, what is missing, a clock. Out: messages for the job's events, each once; those that go on are
repeated after twice the time. Knows nothing of processes or the database.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from backend.jobs.records import RoleRecord

NO_STEPS_S = 30.0  # without a step of any role: longer than a start on a busy machine


class Watchdog:
    """What one run has told so far."""

    def __init__(self, no_steps_s: float = NO_STEPS_S, clock: Callable[[], float] = time.monotonic) -> None:
        self._no_steps_s = no_steps_s
        self._clock = clock
        self._steps: dict[str, tuple[int, int]] = {}  # role id -> counters
        self._moved_s = clock()
        self._tell_after_s = no_steps_s
        self._refused: dict[str, int] = {}
        self._checkpoint_error = ""

    def look(self, roles: Sequence[RoleRecord], missing: Sequence[str]) -> list[str]:
        """Messages for what is new since the last look."""
        return [*self._no_steps(roles, missing), *self._refusals(roles), *self._checkpoints(roles)]

    def _no_steps(self, roles: Sequence[RoleRecord], missing: Sequence[str]) -> list[str]:
        now_s = self._clock()
        steps = {r.id: (int(r.stats.get("steps") or 0), int(r.stats.get("policy_version") or 0)) for r in roles}
        if any(counters != self._steps.get(role_id, (0, 0)) for role_id, counters in steps.items()):
            self._moved_s, self._tell_after_s = now_s, self._no_steps_s
        self._steps = steps
        silent_s = now_s - self._moved_s
        if silent_s < self._tell_after_s:
            return []
        self._tell_after_s = 2 * silent_s
        states = [
            f"{record.key}: {record.state}"
            for record in roles
            if record.role != "optimiser" and not record.ended and record.state != "running"
        ]
        causes = [*missing, *states] or ["nothing that the roles know of"]
        more = f" and {len(causes) - 8} more" if len(causes) > 8 else ""
        return [f"no steps for {silent_s:.0f} s: waiting for {'; '.join(causes[:8])}{more}"]

    def _refusals(self, roles: Sequence[RoleRecord]) -> list[str]:
        """At 1, 2, 4, … of a process: a broken actor must not fill the timeline."""
        messages = []
        for record in roles:
            count, told = int(record.stats.get("rejected_unrolls") or 0), self._refused.get(record.id, 0)
            if count and count >= 2 * told:
                self._refused[record.id] = count
                last = record.stats.get("last_rejection")
                messages.append(f"{record.key} has refused {count} unrolls, the last {last}")
        return messages

    def _checkpoints(self, roles: Sequence[RoleRecord]) -> list[str]:
        errors = [str(r.stats["checkpoint_error"]) for r in roles if r.stats.get("checkpoint_error")]
        error = errors[0] if errors else ""
        if error == self._checkpoint_error:
            return []
        before, self._checkpoint_error = self._checkpoint_error, error
        if error:
            return [f"no checkpoint can be written ({error}); the last good one is kept, learning goes on"]
        return [f"checkpoints are written again (before: {before})"]


class RollingRestart:
    """Which role of a rolling restart ends next: one at a time, and the one before must be there again."""

    def __init__(self) -> None:
        self._ended: RoleRecord | None = None  # whose successor is awaited

    def next(self, roles: Sequence[RoleRecord], alive: Callable[[RoleRecord], bool]) -> RoleRecord | None:
        """The role to end now, if any."""
        if self._ended is not None:
            before = self._ended
            successors = (r for r in roles if r.key == before.key and r.id != before.id and alive(r))
            if not any(successor.state != "starting" and not successor.stop_requested for successor in successors):
                return None
        self._ended = next((r for r in roles if r.restart_requested and not r.stop_requested and alive(r)), None)
        return self._ended
