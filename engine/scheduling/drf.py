"""How many tasks of each job run at once: dominant resource fairness and its alternatives.

A scheduler grants containers one task at a time to the job that has the least; the result of that
process is computed here without making every step of it. Claims of one job are served in their
order, so that a job with several stages fills the first of them first.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.errors import UnknownName

SHARE_DIGITS = 9
SLACK = 1e-9
"""Rounding: a task that exceeds what is left by less than this share of the whole still fits."""


@dataclass(frozen=True, slots=True)
class Claim:
    """Tasks of one stage that want containers.

    Args:
        job: whose share they count to.
        tasks: how many could run now.
        cores, memory_gib: what a container of one task holds (C_i and M_i of BOE Eq. 6).
    """

    job: int
    tasks: int
    cores: float = 1.0
    memory_gib: float = 0.0


@dataclass(frozen=True, slots=True)
class Pool:
    """What the containers of a cluster may hold together (N_cores and B_mem of BOE Eq. 6)."""

    cores: float
    memory_gib: float = math.inf

    def room(self, claim: Claim, *, cores: float = 0.0, memory_gib: float = 0.0) -> int:
        """How many more containers of a claim fit beside those that hold `cores` and so on."""
        most = math.inf
        if claim.cores > 0.0:
            most = (self.cores * (1.0 + SLACK) - cores) / claim.cores
        if claim.memory_gib > 0.0 and math.isfinite(self.memory_gib):
            most = min(most, (self.memory_gib * (1.0 + SLACK) - memory_gib) / claim.memory_gib)
        return max(0, claim.tasks if most == math.inf else min(claim.tasks, math.floor(most)))


def dominant_share(claim: Claim, pool: Pool) -> float:
    """BOE Eq. 6: the larger of a container's shares of the cores and of the memory."""
    return max(claim.cores / pool.cores, claim.memory_gib / pool.memory_gib)


def core_share(claim: Claim, pool: Pool) -> float:
    """A container's share of the cores alone: what max-min fairness over slots compares."""
    return claim.cores / pool.cores


def drf(claims: Sequence[Claim], pool: Pool) -> list[int]:
    """(n,) containers by dominant resource fairness (BOE 5.2.1, Eq. 6)."""
    return _fair(claims, pool, dominant_share)


def max_min(claims: Sequence[Claim], pool: Pool) -> list[int]:
    """(n,) containers by max-min fairness over cores; memory only limits (BOE 5.2.1)."""
    return _fair(claims, pool, core_share)


def fifo(claims: Sequence[Claim], pool: Pool) -> list[int]:
    """(n,) containers when each claim takes what it can before the next one is served: what
    Spark does with the stages of one application."""
    granted, cores, memory = [], 0.0, 0.0
    for claim in claims:
        count = pool.room(claim, cores=cores, memory_gib=memory)
        granted.append(count)
        cores += count * claim.cores
        memory += count * claim.memory_gib
    return granted


Scheduler = Callable[[Sequence[Claim], Pool], list[int]]

SCHEDULERS: dict[str, Scheduler] = {"drf": drf, "max-min": max_min, "fifo": fifo}
"""By the name that a workflow file or an option gives."""


def scheduler_named(name: str, *, where: str | None = None) -> Scheduler:
    """A scheduler by its name.

    Raises:
        UnknownName: for a name that is not in `SCHEDULERS`.
    """
    if name not in SCHEDULERS:
        raise UnknownName("scheduler", name, SCHEDULERS, where=where)
    return SCHEDULERS[name]


def _fair(
    claims: Sequence[Claim], pool: Pool, share_of: Callable[[Claim, Pool], float]
) -> list[int]:
    """Containers granted one at a time to the job of the least share, ties in order of jobs."""
    queues: dict[int, list[int]] = {}
    for place, claim in enumerate(claims):
        queues.setdefault(claim.job, []).append(place)
    if len(queues) <= 1:
        return fifo(claims, pool)
    shares = [share_of(claim, pool) for claim in claims]
    granted = _up_to_level(claims, pool, queues, shares)
    return _one_by_one(claims, pool, queues, shares, granted)


def _up_to_level(
    claims: Sequence[Claim], pool: Pool, queues: dict[int, list[int]], shares: Sequence[float]
) -> list[int]:
    """What everybody has been granted when the first container does not fit, or a little before.

    A job is granted its next task while its share is the least, so all tasks that begin below a
    level are granted before any that begins at it.
    """

    def at(level: float) -> list[int]:
        granted = [0] * len(claims)
        for places in queues.values():
            reached = 0.0
            for place in places:
                share, tasks = shares[place], claims[place].tasks
                if reached >= level * (1.0 - SLACK):
                    break
                below = math.inf if share <= 0.0 else (level - reached) / share
                wanted = tasks if below >= tasks else math.ceil(below - SLACK * below)
                granted[place] = wanted
                reached += wanted * share
                if wanted < tasks:
                    break
        return granted

    def fits(granted: list[int]) -> bool:
        cores = sum(n * claim.cores for n, claim in zip(granted, claims, strict=True))
        memory = sum(n * claim.memory_gib for n, claim in zip(granted, claims, strict=True))
        return cores <= pool.cores and memory <= pool.memory_gib

    low, high = 0.0, 1.0 + max(shares)
    if fits(at(high)):
        return at(high)
    smallest = min((share for share in shares if share > 0.0), default=1.0)
    while high - low > 0.5 * smallest:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if fits(at(middle)) else (low, middle)
    return at(low)


def _one_by_one(
    claims: Sequence[Claim],
    pool: Pool,
    queues: dict[int, list[int]],
    shares: Sequence[float],
    granted: list[int],
) -> list[int]:
    """Grants what is left singly; a job whose next container does not fit is served no more."""
    cores = sum(n * claim.cores for n, claim in zip(granted, claims, strict=True))
    memory = sum(n * claim.memory_gib for n, claim in zip(granted, claims, strict=True))

    def share_of(places: list[int]) -> float:
        """Of a job, so rounded that equal shares are equal however they were added up."""
        return round(sum(granted[place] * shares[place] for place in places), SHARE_DIGITS)

    waiting = [(share_of(places), order, places) for order, places in enumerate(queues.values())]
    heapq.heapify(waiting)
    while waiting:
        _, order, places = heapq.heappop(waiting)
        place = next((p for p in places if granted[p] < claims[p].tasks), None)
        if place is None or not pool.room(claims[place], cores=cores, memory_gib=memory):
            continue
        granted[place] += 1
        cores += claims[place].cores
        memory += claims[place].memory_gib
        heapq.heappush(waiting, (share_of(places), order, places))
    return granted
