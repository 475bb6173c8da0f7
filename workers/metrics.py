"""From what the roles of a job report to the figures shown: role records in, one dict of floats out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from backend.jobs.records import RoleRecord

# Rates add up over processes; the others are means over the processes that report them.
SUMMED = {
    "actor": ("episodes_per_s", "steps_per_s"),
    "optimiser": ("search_trials_per_s",),
}
AVERAGED = {
    "actor": ("episode_cost_mean",),
    "learner": ("loss", "policy_lag", "policy_version", "learner_steps_per_s", "data_wait_share"),
}


def role_metrics(roles: Sequence[RoleRecord]) -> dict[str, float]:
    """Values of one moment (names: backend.schemas.MetricPoint). Figures that no role has yet are left out."""
    values: dict[str, float] = {}
    for names, combine in ((SUMMED, sum), (AVERAGED, _mean)):
        for role, wanted in names.items():
            for name in wanted:
                found = [float(r.stats[name]) for r in roles if r.role == role and r.stats.get(name) is not None]
                if found:
                    values[name] = float(combine(found))
    return values


def search_progress(optimisers: Sequence[RoleRecord]) -> float:
    """How much of a budget of work is done, 0-1: the mean over the members of a portfolio."""
    newest = {record.index: float(record.stats.get("progress") or 0.0) for record in optimisers}
    return _mean(newest.values()) if newest else 0.0


def _mean(numbers: Iterable[float]) -> float:
    listed = list(numbers)
    return sum(listed) / len(listed)
