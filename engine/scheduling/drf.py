"""Allocation of containers to jobs: dominant resource fairness (DRF), max-min fairness and FIFO.

A fair scheduler grants containers one at a time to the job with the least share. The result is
computed here without making every step. Claims of one job are served in their order, so a job with
several stages fills the first of them first.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from engine.errors import UnknownName

SHARE_DIGITS = 9
SLACK = 1e-9
"""Rounding tolerance: a container that exceeds what is left by less than this share of the whole
still fits."""


class Claim(NamedTuple):
    """A request of one stage for containers, one for each task.

    Args:
        job: the job to whose share they count.
        tasks: number of tasks that could run now.
        cores, memory_gib: size of a container (C_i and M_i of BOE Eq. 6).
    """

    job: int
    tasks: int
    cores: float = 1.0
    memory_gib: float = 0.0


@dataclass(frozen=True, slots=True)
class Pool:
    """The resources of a cluster's containers in all (N_cores and B_mem of BOE Eq. 6)."""

    cores: float
    memory_gib: float = math.inf

    def room(self, claim: Claim, *, cores: float = 0.0, memory_gib: float = 0.0) -> int:
        """Number of containers of a claim that fit beside those that hold `cores` and
        `memory_gib`."""
        most = math.inf
        if claim.cores > 0.0:
            most = (self.cores * (1.0 + SLACK) - cores) / claim.cores
        if claim.memory_gib > 0.0 and math.isfinite(self.memory_gib):
            most = min(most, (self.memory_gib * (1.0 + SLACK) - memory_gib) / claim.memory_gib)
        return max(0, claim.tasks if most == math.inf else min(claim.tasks, math.floor(most)))

    def holds(self, cores: float, memory_gib: float) -> bool:
        """Whether containers of so much in all fit."""
        slack = 1.0 + SLACK
        return cores <= self.cores * slack and memory_gib <= self.memory_gib * slack


def dominant_share(claim: Claim, pool: Pool) -> float:
    """BOE Eq. 6: the larger of a container's shares of the cores and of the memory."""
    return max(claim.cores / pool.cores, claim.memory_gib / pool.memory_gib)


def core_share(claim: Claim, pool: Pool) -> float:
    """A container's share of the cores alone: what max-min fairness over slots compares."""
    return claim.cores / pool.cores


def drf(claims: Sequence[Claim], pool: Pool, held: Sequence[int] | None = None) -> list[int]:
    """(n,) containers by dominant resource fairness (BOE 5.2.1, Eq. 6)."""
    return _fair(claims, pool, dominant_share, held)


def max_min(claims: Sequence[Claim], pool: Pool, held: Sequence[int] | None = None) -> list[int]:
    """(n,) containers by max-min fairness over cores; memory only limits (BOE 5.2.1)."""
    return _fair(claims, pool, core_share, held)


def fifo(claims: Sequence[Claim], pool: Pool, held: Sequence[int] | None = None) -> list[int]:
    """(n,) containers if each claim takes what it can before the next one is served, as Spark does
    with the stages of one application."""
    granted = [0] * len(claims) if held is None else list(held)
    cores, memory = resources_of(claims, granted)
    for index, claim in enumerate(claims):
        room = pool.room(claim, cores=cores, memory_gib=memory)
        more = min(room, claim.tasks - granted[index])
        granted[index] += more
        cores += more * claim.cores
        memory += more * claim.memory_gib
    return granted


class Scheduler(Protocol):
    """Containers of each claim in a pool: of an empty one, or beside those that are `held`
    already, of which none is taken away."""

    def __call__(
        self, claims: Sequence[Claim], pool: Pool, held: Sequence[int] | None = None
    ) -> list[int]: ...


SCHEDULERS: dict[str, Scheduler] = {"drf": drf, "max-min": max_min, "fifo": fifo}
"""Schedulers by their name in a workflow file or an option."""


def scheduler_named(name: str, *, where: str | None = None) -> Scheduler:
    """A scheduler by its name.

    Raises:
        UnknownName: for a name that is not in `SCHEDULERS`.
    """
    if name not in SCHEDULERS:
        raise UnknownName("scheduler", name, SCHEDULERS, where=where)
    return SCHEDULERS[name]


def _fair(
    claims: Sequence[Claim],
    pool: Pool,
    share_of: Callable[[Claim, Pool], float],
    held: Sequence[int] | None,
) -> list[int]:
    """(n,) containers granted one at a time to the job of the least share; ties go by the order of
    jobs."""
    queues: dict[int, list[int]] = {}
    for index, claim in enumerate(claims):
        queues.setdefault(claim.job, []).append(index)
    if len(queues) <= 1:
        return fifo(claims, pool, held)
    shares = [share_of(claim, pool) for claim in claims]
    granted = _up_to_level(claims, pool, queues, shares) if held is None else list(held)
    return _one_by_one(claims, pool, queues, shares, granted)


def resources_of(claims: Sequence[Claim], counts: Sequence[int]) -> tuple[float, float]:
    """Cores and GiB that so many containers of each claim take."""
    cores = memory = 0.0
    for n, claim in zip(counts, claims, strict=True):
        cores += n * claim.cores
        memory += n * claim.memory_gib
    return cores, memory


def _up_to_level(
    claims: Sequence[Claim], pool: Pool, queues: dict[int, list[int]], shares: Sequence[float]
) -> list[int]:
    """(n,) containers granted when the first one does not fit, or a little before, by bisection.

    A job is granted its next container while its share is the least. So all containers that begin
    below a level of the share are granted before any that begins at it.
    """
    rows = [[(p, shares[p], claims[p].tasks) for p in indices] for indices in queues.values()]

    def at(level: float) -> list[int]:
        granted = [0] * len(claims)
        for claimed in rows:
            reached = 0.0
            for index, share, tasks in claimed:
                if reached >= level * (1.0 - SLACK):
                    break
                below = math.inf if share <= 0.0 else (level - reached) / share
                wanted = tasks if below >= tasks else math.ceil(below - SLACK * below)
                granted[index] = wanted
                reached += wanted * share
                if wanted < tasks:
                    break
        return granted

    def fits(granted: list[int]) -> bool:
        cores, memory = resources_of(claims, granted)
        return cores <= pool.cores and memory <= pool.memory_gib

    low, high = 0.0, 1.0 + max(shares)
    if fits(all_granted := at(high)):
        return all_granted
    smallest = min((share for share in shares if share > 0.0), default=1.0)
    fitting = at(low)
    while high - low > 0.5 * smallest:
        middle = 0.5 * (low + high)
        if fits(granted := at(middle)):
            low, fitting = middle, granted
        else:
            high = middle
    return fitting


def _one_by_one(
    claims: Sequence[Claim],
    pool: Pool,
    queues: dict[int, list[int]],
    shares: Sequence[float],
    granted: list[int],
) -> list[int]:
    """Grants the rest one by one: where a container of a stage does not fit, one of the job's next
    stage that does; a job none of whose containers fit gets no more."""
    cores, memory = resources_of(claims, granted)

    def share_of(indices: list[int]) -> float:
        """Share of a job, rounded so that equal shares are equal in whatever order they were
        summed."""
        return round(sum(granted[index] * shares[index] for index in indices), SHARE_DIGITS)

    waiting = [
        (share_of(indices), order, indices)
        for order, indices in enumerate(queues.values())
        if any(granted[index] < claims[index].tasks for index in indices)
    ]
    heapq.heapify(waiting)
    while waiting:
        _, order, indices = heapq.heappop(waiting)
        fitting = (
            p for p in indices
            if granted[p] < claims[p].tasks
            and pool.room(claims[p], cores=cores, memory_gib=memory)
        )  # fmt: skip
        if (index := next(fitting, None)) is None:
            continue
        granted[index] += 1
        cores += claims[index].cores
        memory += claims[index].memory_gib
        heapq.heappush(waiting, (share_of(indices), order, indices))
    return granted
