"""What the members of a portfolio do, round by round, and whose result each goes on with. Data and choices, no work.

In: a method, the number of members. Out: `Round`s, the same for every member but for their seeds; after each round
`heir` says from which member's result to go on. Called by the optimiser processes (workers/optimiser.py), each of
which decides for itself: equal results in, equal choices out, so nobody has to lead.

Half of the members survive a round: those with the better results go on with their own, each of the others takes over
one of theirs. So a result that is behind is dropped, and as long as there are four members or more, one good result
does not displace all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

# Of the time: a little search before the global start, so that a busy machine gives something early too.
HEAD_START_SHARE, HEAD_START_S = 0.03, 5.0
GLOBAL_SHARE = 0.35  # of the budget, for rounds of global placement; measured in docs/placement-engine.md
# Seconds; with less there is no global placement: the compiler alone takes some 4 s of a core, and cannot be stopped.
GLOBAL_SECONDS = 10.0
EPISODE_SHARE = {"auto": 0.1, "rl": 0.12}  # of the budget, for a search that begins at the best of the agents' episodes
EPISODES = {"auto": 1, "rl": 7}  # such rounds
# Searches, one a round, each with its whole schedule: how hot it begins follows from what it is given. One long search
# finds more than three short ones; a last, short one betters the result that is best, for all members.
SEARCH_SHARES = (0.8, 0.2)  # of what is left for them; measured in docs/placement-engine.md
TRIALS_PER_STEP = 1000  # a step of global placement takes about as long as so many trials


class Work(Enum):
    """What a round does."""

    GLOBAL = "global"  # rounds of global placement
    SEARCH = "search"  # `improve`
    ANNEAL = "anneal"  # `anneal`
    EPISODE = "episode"  # `improve` from an episode's placement


@dataclass(frozen=True, kw_only=True)
class Round:
    """One round of one member. Shares of a plan add up to 1."""

    work: Work
    share: float  # of the member's budget
    seed: int
    exchange: bool  # whether to look at the others' results before it


def plan(method: str, *, member: int, seed: int, with_global: bool, seconds: float | None = None) -> tuple[Round, ...]:
    """The rounds of one member. seconds: its time budget, None = a budget of work.

    with_global: whether the budget suffices for global placement at all (methods analytic and auto).
    """
    rest = 1.0
    parts: list[tuple[Work, float]] = []
    episodes = [(Work.EPISODE, EPISODE_SHARE.get(method, 0.0))] * EPISODES.get(method, 0)
    rest -= sum(share for _, share in episodes)
    if method == "anneal":
        parts = [(Work.ANNEAL, rest)]
    elif method == "rl":
        parts = [(Work.SEARCH, rest), *episodes]
    else:
        if method in ("analytic", "auto") and with_global:
            head = 0.0 if seconds is None else min(HEAD_START_SHARE, HEAD_START_S / max(seconds, HEAD_START_S))
            if head > 0:
                parts.append((Work.SEARCH, head))
            parts.append((Work.GLOBAL, GLOBAL_SHARE - head))
            rest -= GLOBAL_SHARE
        main, last = (rest * share for share in SEARCH_SHARES)
        parts += [(Work.SEARCH, main), *episodes, (Work.SEARCH, last)]
    return tuple(
        Round(
            work=work,
            share=share,
            seed=(seed + 1009 * member + 100_003 * number) % 2**31,
            exchange=number > 0 and work is not Work.GLOBAL,
        )
        for number, (work, share) in enumerate(parts)
    )


def share_of(total: int, *, member: int, members: int) -> int:
    """A member's part of a budget of work; the parts add up to the total."""
    return total // members + (member < total % members)


def heir(member: int, costs: Sequence[float | None]) -> int:
    """The member whose result `member` goes on with. costs: of all members, None = no result yet.

    The better half (rounded up) keep their own; the k-th of the others takes the k-th best. Ties go by number.
    """
    order = sorted((i for i, cost in enumerate(costs) if cost is not None), key=lambda i: (costs[i], i))
    if member not in order:
        return order[0] if order else member
    rank, kept = order.index(member), (len(order) + 1) // 2
    return member if rank < kept else order[rank - kept]
