"""SimCost's memory assurance (4.2.1): how much memory a job of a given input needs.

The curve of resource time over cache memory has an elbow where the data fits, or is flat. The
elbows of samples, regressed to the whole input, say what to give it; executor memory is twice the
cache.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from engine.cluster import LEAST_HEAP_GIB
from engine.errors import BadInput
from engine.forecast import FloatArray
from engine.models.assured_memory import AssuredMemory
from engine.models.simcost.costs import resource_time
from engine.profile import Run
from engine.units import GIB

GRID = (0.5, 1.0, 1.5, 2.0, 2.5)
"""4.2.1: cache memory that is tried first, in multiples of the sample's size."""

REFINED = 5
"""Memories that are tried up to the first of the grid, where the curve is flat."""

CACHE_FRACTION = 0.6
"""4.2.1: theta_cache, the share of a heap beyond its reserve that may hold cached data."""

SAFE_GIB = 300.0 / 1024.0
"""M_safe: what Spark reserves of a heap before it shares it out (the paper leaves it open)."""

EXECUTOR_PER_CACHE = 2.0
"""4.2.1: executor memory is approximated by twice the cache memory."""

FLAT = 0.05
"""Ours: a curve that varies by less than this share of its least value has no elbow."""

FEWEST_FOR_ELBOW = 3


def memory_grid(*, sample_gib: float) -> tuple[float, ...]:
    """4.2.1: the cache memories to try with a sample of so many GiB."""
    return tuple(sample_gib * multiple for multiple in GRID)


def refined_grid(grid: Sequence[float]) -> tuple[float, ...]:
    """4.2.1: where the curve is flat, its beginning is tried again: evenly up to the first memory
    of the grid, in GiB."""
    return tuple(grid[0] * step / REFINED for step in range(1, REFINED + 1))


def is_flat(resource_times: FloatArray) -> bool:
    """4.2.1: whether a curve of resource time over memory has no elbow."""
    return bool(np.ptp(resource_times) <= FLAT * np.min(resource_times))


def elbow(memory_gib: Sequence[float], resource_times: Sequence[float]) -> float:
    """4.2.1: the memory where the derivative of the curve jumps most, in GiB; of a flat curve its
    beginning.

    Args:
        memory_gib: (n,) ascending and distinct. resource_times: (n,), n >= 3.

    Raises:
        BadInput: for fewer than three points, or memories that do not ascend.
    """
    memory, cost = np.asarray(memory_gib, dtype=float), np.asarray(resource_times, dtype=float)
    if len(memory) < FEWEST_FOR_ELBOW or len(memory) != len(cost) or (np.diff(memory) <= 0.0).any():
        raise BadInput(
            "an elbow needs the resource time at three memory sizes or more, in ascending order",
            remedy="run the sample with more memory sizes (0.5 to 2.5 times its input)",
        )
    if is_flat(cost):
        return float(memory[0])
    slope = np.diff(cost) / np.diff(memory)
    return float(memory[1:-1][int(np.argmax(np.diff(slope)))])


def cache_at(assured_gib: Mapping[float, float], *, probability: float = 1.0) -> float:
    """4.2.1: M-hat by linear regression of the assured memories m_i on the probabilities p_i, in
    GiB; one sample is scaled in proportion.

    Args:
        assured_gib: sample probability -> assured cache memory.
    """
    p = np.asarray(list(assured_gib), dtype=float)
    m = np.asarray(list(assured_gib.values()), dtype=float)
    if len(p) == 1:
        return float(m[0] / p[0] * probability)
    slope, start = np.polyfit(p, m, 1)
    return float(max(slope * probability + start, m.min()))


def cache_of_executor(executor_gib: float, *, safe_gib: float = SAFE_GIB) -> float:
    """4.2.1: M_cache = (M_executor - M_safe) x theta_cache, in GiB."""
    return max(0.0, (executor_gib - safe_gib) * CACHE_FRACTION)


def executor_memory(cache_gib: float) -> float:
    """4.2.1: M_executor = 2 M_cache, in GiB over all executors."""
    return EXECUTOR_PER_CACHE * cache_gib


def assured_by_runs(runs: Sequence[Run], *, input_bytes: float | None) -> AssuredMemory | None:
    """4.2.1 on runs: an elbow for each input that was run with three memory sizes or more on the
    same slots, regressed to the wanted input. None where no input was."""
    elbows: dict[float, float] = {}
    starts: tuple[float, ...] = ()
    for (size, _), curve in _resource_times(runs, input_bytes).items():
        if len(curve) < FEWEST_FOR_ELBOW:
            continue
        memory = sorted(curve)
        elbow_gib = elbow(memory, [float(np.mean(curve[gib])) for gib in memory])
        elbows[size] = max(elbows.get(size, 0.0), elbow_gib)
        if elbow_gib == memory[0]:
            starts = refined_grid(memory)
    if not elbows:
        return None
    wanted = input_bytes or max(elbows)
    return AssuredMemory(
        executor_memory(cache_at(elbows, probability=wanted)),
        try_gib=tuple(executor_memory(gib) for gib in starts),
        how=f"elbows of resource time over memory at {len(elbows)} input "
        f"{'size' if len(elbows) == 1 else 'sizes'}",
    )


def _resource_times(
    runs: Sequence[Run], input_bytes: float | None
) -> dict[tuple[float, int], dict[float, list[float]]]:
    """(input in bytes, slots) -> cache memory in GiB -> resource time of each run with it; runs
    that do not say their input have `input_bytes`, and those without a layout are left aside."""
    times: dict[tuple[float, int], dict[float, list[float]]] = {}
    for run in runs:
        cluster, size = run.cluster, run.workload.input_bytes or input_bytes
        executors, heap = cluster.executors, cluster.executor_memory_gib
        if not (size and cluster.vcores and cluster.slots and executors and heap):
            continue
        cost = resource_time(
            seconds=run.seconds, vcores=cluster.vcores, memory_gib=executors * heap
        )
        cache = executors * cache_of_executor(heap)
        times.setdefault((size, cluster.slots), {}).setdefault(cache, []).append(float(cost))
    return times


def executor_grid(sample_bytes: float | None) -> tuple[float, ...]:
    """Executor memory in GiB over all executors for each cache memory of the grid, as far as an
    executor starts with it; empty where the sample's size is not known."""
    if sample_bytes is None:
        return ()
    grid = (executor_memory(gib) for gib in memory_grid(sample_gib=sample_bytes / GIB))
    return tuple(gib for gib in grid if gib >= LEAST_HEAP_GIB)


def assured_by_cache(cached_bytes: float, *, sample_bytes: float | None) -> AssuredMemory:
    """Twice what was seen in the cache, where no run tried other memory sizes."""
    return AssuredMemory(
        executor_memory(cached_bytes / GIB),
        try_gib=executor_grid(sample_bytes),
        how="twice the cached data that the log shows, in proportion to the input",
    )


def assured_by_peak(peak_bytes: float, *, sample_bytes: float | None) -> AssuredMemory:
    """What a job without cached data needs not to spill: the largest peak of a task, in each slot,
    within the share of the heap that Spark gives to execution and storage."""
    return AssuredMemory(
        per_slot_gib=peak_bytes / GIB / CACHE_FRACTION,
        reserved_gib=SAFE_GIB,
        try_gib=executor_grid(sample_bytes),
        how="the largest peak of a task's execution memory in the log; nothing was cached",
    )
