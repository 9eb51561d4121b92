"""Fairness against a plain grant-one-at-a-time loop, and the paper's figures."""

import math
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import UnknownName
from engine.scheduling.drf import (
    SCHEDULERS,
    Claim,
    Pool,
    Scheduler,
    core_share,
    dominant_share,
    drf,
    fifo,
    max_min,
    scheduler_named,
)


def one_at_a_time(claims: Sequence[Claim], pool: Pool, *, dominant: bool) -> list[int]:
    """DRF's own algorithm: the job of the least share gets a container while one of its stages,
    sought in their order, has one that fits."""
    granted = [0] * len(claims)

    def fits(place: int) -> bool:
        counts = [n + (p == place) for p, n in enumerate(granted)]
        cores = sum(n * c.cores for n, c in zip(counts, claims, strict=True))
        memory = sum(n * c.memory_gib for n, c in zip(counts, claims, strict=True))
        return cores <= pool.cores * (1 + 1e-9) and memory <= pool.memory_gib * (1 + 1e-9)

    open_jobs = sorted({claim.job for claim in claims})
    while open_jobs:

        def share(job: int) -> float:
            total = 0.0
            for count, claim in zip(granted, claims, strict=True):
                if claim.job == job:
                    cores, memory = claim.cores / pool.cores, claim.memory_gib / pool.memory_gib
                    total += count * (max(cores, memory) if dominant else cores)
            return round(total, 9)

        job = min(open_jobs, key=lambda j: (share(j), j))
        waiting = (p for p, c in enumerate(claims) if c.job == job and granted[p] < c.tasks)
        place = next((p for p in waiting if fits(p)), None)
        if place is None:
            open_jobs.remove(job)
        else:
            granted[place] += 1
    return granted


claims = st.lists(
    st.builds(
        Claim,
        job=st.integers(0, 3),
        tasks=st.integers(1, 12),
        cores=st.sampled_from([1.0, 2.0]),
        memory_gib=st.sampled_from([0.0, 1.0, 2.0, 3.0, 5.0]),
    ),
    min_size=1,
    max_size=6,
)


@given(claims=claims, cores=st.integers(1, 40), memory=st.integers(1, 60))
@settings(max_examples=150, deadline=None)
@pytest.mark.parametrize("name", ["drf", "max-min"])
def test_grants_what_one_at_a_time_would(
    name: str, claims: list[Claim], cores: int, memory: int
) -> None:
    claims = sorted(claims, key=lambda claim: claim.job)
    pool = Pool(float(cores), float(memory))
    found = SCHEDULERS[name](claims, pool)
    if len({claim.job for claim in claims}) == 1:
        return  # one job is served first in first out, whatever its share
    assert found == one_at_a_time(claims, pool, dominant=name == "drf")


@pytest.mark.parametrize("name", sorted(SCHEDULERS))
def test_a_stage_passes_on_what_its_containers_do_not_fit(name: str) -> None:
    """Alone or beside another job, where 3 GiB were left free."""
    large, small, beside = Claim(0, 4, 1.0, 5.0), Claim(0, 4, 1.0, 1.0), Claim(1, 1, 1.0, 1.0)
    assert SCHEDULERS[name]([large, small], Pool(8.0, 8.0)) == [1, 3]
    assert SCHEDULERS[name]([large, small, beside], Pool(8.0, 9.0)) in ([1, 3, 1], [1, 4, 0])


@given(claims=claims, cores=st.integers(1, 40), memory=st.integers(1, 60))
@settings(max_examples=80, deadline=None)
@pytest.mark.parametrize("name", sorted(SCHEDULERS))
def test_never_more_than_there_is_or_is_wanted(
    name: str, claims: list[Claim], cores: int, memory: int
) -> None:
    found = SCHEDULERS[name](claims, Pool(float(cores), float(memory)))
    assert all(0 <= n <= claim.tasks for n, claim in zip(found, claims, strict=True))
    assert sum(n * c.cores for n, c in zip(found, claims, strict=True)) <= cores * (1 + 1e-6)
    assert sum(n * c.memory_gib for n, c in zip(found, claims, strict=True)) <= memory * (1 + 1e-6)


def test_fig_7_memory_is_the_dominant_resource() -> None:
    pool = Pool(1000.0, 12.0)

    def wants(*memory: float) -> list[Claim]:
        return [Claim(job, 99, 1.0, gib) for job, gib in enumerate(memory)]

    assert drf(wants(2.0, 2.0, 2.0), pool) == [2, 2, 2]
    assert drf(wants(2.0, 4.0, 2.0), pool) == [2, 1, 2]
    assert drf([Claim(0, 4, 1.0, 3.0)], pool) == [4]


def test_eq_6_dominant_shares_are_equal() -> None:
    """The example of the DRF paper: 9 cores and 18 GB, tasks of (1, 4) and (3, 1)."""
    pool = Pool(9.0, 18.0)
    tasks = [Claim(0, 99, 1.0, 4.0), Claim(1, 99, 3.0, 1.0)]
    first, second = drf(tasks, pool)
    assert (first, second) == (3, 2)
    assert first * dominant_share(tasks[0], pool) == pytest.approx(2 / 3)
    assert second * dominant_share(tasks[1], pool) == pytest.approx(2 / 3)


def test_max_min_compares_cores_alone() -> None:
    pool = Pool(8.0, math.inf)
    tasks = [Claim(0, 99, 1.0, 7.0), Claim(1, 99, 1.0, 1.0)]
    assert max_min(tasks, pool) == [4, 4]
    assert core_share(tasks[0], pool) == pytest.approx(1 / 8)


@pytest.mark.parametrize(
    ("scheduler", "counts"), [(drf, [1, 1, 2]), (max_min, [1, 1, 2]), (fifo, [2, 0, 2])]
)
def test_what_is_held_stays_and_the_rest_is_granted(
    scheduler: Scheduler, counts: list[int]
) -> None:
    claims = [Claim(0, 2), Claim(1, 1), Claim(2, 2)]
    assert scheduler(claims, Pool(4.0), [0, 0, 2]) == counts


def test_fifo_serves_the_first_stage_first() -> None:
    assert fifo([Claim(0, 5), Claim(0, 5)], Pool(8.0)) == [5, 3]


def test_thousands_of_slots_are_granted_at_once() -> None:
    found = drf([Claim(job, 100_000) for job in range(7)], Pool(10_000.0))
    assert sum(found) == 10_000
    assert max(found) - min(found) <= 1


def test_an_unknown_scheduler_names_the_known_ones() -> None:
    with pytest.raises(UnknownName, match="max-min"):
        scheduler_named("fairest")
