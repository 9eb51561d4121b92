"""The cluster that an application ran on, from its executors over time.

A cluster of fixed size is described by its largest state. One whose executors come and go (dynamic
allocation, lost executors) is described by its mean over the time in which stages ran, with a
notice. The step function of cores is kept in either case.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import nan

from engine.catalog import InstanceType
from engine.cluster import Cluster, NodeGroup
from engine.intervals import clipped, united
from engine.notices import Notice
from engine.profile import configured_task_cpus
from engine.sources.distilling.beside_heap import requested_beside_heap, requested_gib
from engine.sources.distilling.settings import is_local, local_cores, memory_gib, worker_type
from engine.sources.logs.application import Application
from engine.sources.logs.entities import Executor
from engine.sources.logs.lost_executors import (
    drained_ms,
    lost_notice,
    scales_with_load,
    was_lost,
    was_stopped,
)
from engine.sources.logs.whole_numbers import whole_number
from engine.units import format_seconds

DRIVERS = frozenset(("driver", "<driver>", "localhost"))
"""Executor ids of the driver, which is the only worker where the master is `local`."""

Span = tuple[int, int]
Steps = list[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class ObservedCluster:
    """The cluster of one application as observed in its log.

    `core_steps` holds (epoch ms, cores from then on). `storage_memory_bytes` is the total over the
    executors of `cluster`.
    """

    cluster: Cluster
    core_steps: Steps
    storage_memory_bytes: float | None
    notices: tuple[Notice, ...]


def observe_cluster(
    application: Application,
    busy: Sequence[Span],
    *,
    end_ms: int,
    ran_on: InstanceType | None,
    last_ends_ms: Mapping[str, int],
) -> ObservedCluster:
    """The cluster that an application ran on.

    Args:
        busy: the times in which stages ran, disjoint and in order.
        ran_on: the instance type of its nodes, if the user named it.
        last_ends_ms: executor id -> end of its last task, where decommissioning is enabled.
    """
    notices: list[Notice] = []
    properties = application.properties
    for name, executor in application.executors.by_id.items():
        executor.drained_ms = drained_ms(executor, properties, last_ends_ms.get(name))
    executors = _workers(application, busy, end_ms, notices)
    steps = _steps(executors, lambda executor: executor.cores or 0, end_ms)
    hosts = _host_steps(executors, end_ms)
    removed = _removed_early(application, executors, busy)
    churns = scales_with_load(properties) or bool(removed)
    slots = _typical_value(steps, busy, churns=churns)
    cores = _usual_cores(executors, end_ms)
    memory = _heap_gib(application, executors)
    number = max(1, round(slots / cores)) if slots and cores else None
    nodes = max(1, round(_typical_value(hosts, busy, churns=churns))) if hosts else None
    instance = ran_on or _stated_type(application, cores)
    return ObservedCluster(
        cluster=Cluster(
            groups=(NodeGroup(nodes, instance),) if nodes else (),
            executors=number,
            executor_cores=cores,
            executor_memory_gib=memory,
            beside=requested_beside_heap(application, memory),
        ),
        core_steps=steps,
        storage_memory_bytes=_storage_bytes(executors, number or 1),
        notices=(*notices, *_varying_notices(application, executors, removed, busy, end_ms)),
    )


def _varying_notices(
    application: Application,
    executors: Sequence[Executor],
    removed: Sequence[Executor],
    busy: Sequence[Span],
    end_ms: int,
) -> Iterator[Notice]:
    """Where the cluster as it is described hides that executors come, go or differ.

    Args:
        removed: the executors that were removed early.
    """
    properties = application.properties
    lost = [executor for executor in removed if was_lost(executor, properties)]
    # Lost executors do not count as dynamic allocation.
    allocated = scales_with_load(properties) or len(lost) < len(removed)
    count = _steps(executors, lambda _: 1, end_ms)
    if allocated and len(dict(_durations(count, busy))) > 1:
        yield _DYNAMIC
    started = application.started_ms or application.first_ms or 0
    if (warning := lost_notice(lost, executors=len(executors), started_ms=started)) is not None:
        yield warning
    if len({executor.cores for executor in executors}) > 1:
        yield _MIXED
    if properties.get("spark.master", "").startswith("k8s"):
        yield _PODS


def _storage_bytes(executors: Sequence[Executor], number: int) -> float | None:
    """Storage memory of `number` executors with the mean of these; None where none is logged."""
    known = [e.storage_bytes for e in executors if e.storage_bytes is not None]
    return sum(known) / len(known) * number if known else None


def _stated_type(application: Application, cores: int | None) -> InstanceType | None:
    """The worker type that the log names; on Databricks one executor has all cores of a node."""
    name = worker_type(application.properties)
    if name is None:
        return None
    databricks = any(key.startswith("spark.databricks.") for key in application.properties)
    return InstanceType(name, float(cores) if cores and databricks else nan, memory_gib=nan)


def _workers(
    application: Application, busy: Sequence[Span], end_ms: int, notices: list[Notice]
) -> list[Executor]:
    """The executors that could run tasks, with their cores and start times filled in."""
    local = is_local(application)
    executors = application.executors
    named = [*executors.by_id.items(), *(("", executor) for executor in executors.replaced)]
    workers = [
        executor
        for name, executor in named
        if executor.cores is not None or executor.concurrent.most or (name in DRIVERS) == local
    ]
    _infer_cores(application, workers, notices)
    unused = _added_after_end(workers, end_ms, notices)
    first = busy[0][0] if busy else 0
    for executor in workers:
        if executor.added_ms is None or executor.added_ms > end_ms:
            executor.added_ms = first
    return [e for e in workers if e.cores and not any(e is other for other in unused)]


def _infer_cores(
    application: Application, workers: Sequence[Executor], notices: list[Notice]
) -> None:
    """Fills in cores that are not logged: as configured, else as many as all other executors have
    if these are enough for what ran at once, else those that the most such tasks held."""
    unknown = [executor for executor in workers if executor.cores is None]
    local = is_local(application)
    configured = local_cores(application) if local else _configured_cores(application)
    held = configured_task_cpus(application.properties)
    told = {executor.cores or 0 for executor in workers if executor.cores is not None}
    most = max((executor.concurrent.most * held for executor in unknown), default=0)
    alike = configured or (told.pop() if len(told) == 1 and max(told) >= most else None)
    for executor in unknown:
        executor.cores = alike or executor.concurrent.most * held or None
    if unknown and not configured:
        notices.append(_LIKE_OTHERS if alike else _LOCAL_CORES if local else _INFERRED_CORES)


def _added_after_end(
    workers: Sequence[Executor], end_ms: int, notices: list[Notice]
) -> list[Executor]:
    """The executors that were added after the end and did no counted work.

    Tasks that they may have started have no end in a log that breaks off. An executor that ran
    tasks before it was added has a wrong clock and is kept, with a notice.
    """
    late = [e for e in workers if e.added_ms is not None and e.added_ms > end_ms]
    unused = [executor for executor in late if not executor.ran_before_it_came]
    idle = [executor for executor in unused if not executor.ran_tasks]
    if idle:
        notices.append(_late_notice(idle, end_ms))
    if len(unused) < len(late):
        notices.append(_WRONG_CLOCK)
    return unused


def _configured_cores(application: Application) -> int | None:
    cores = whole_number(application.properties.get("spark.executor.cores"))
    return cores if cores is not None and cores < 10_000 else None


def _steps(executors: Sequence[Executor], weight: Callable[[Executor], int], end_ms: int) -> Steps:
    """The step function of the summed weights of the executors present."""
    changes: Counter[int] = Counter()
    for executor in executors:
        start = executor.added_ms or 0
        changes[start] += weight(executor)
        until = executor.offered_until_ms
        if until is not None and start <= until < end_ms:
            changes[until] -= weight(executor)
    return _cumulative(changes)


def _host_steps(executors: Sequence[Executor], end_ms: int) -> Steps:
    """The step function of the number of hosts with an executor."""
    spans: dict[str, list[Span]] = {}
    for executor in executors:
        until = executor.offered_until_ms
        end = until if until is not None else end_ms
        start = executor.added_ms or 0
        spans.setdefault(executor.host, []).append((start, max(start, end)))
    changes: Counter[int] = Counter()
    for on_host in spans.values():
        for start, end in united(on_host):
            changes[start] += 1
            if end < end_ms:
                changes[end] -= 1
    return _cumulative(changes)


def _cumulative(changes: Counter[int]) -> Steps:
    total, steps = 0, []
    for time in sorted(changes):
        if changes[time]:
            total += changes[time]
            steps.append((time, total))
    return steps


def _durations(steps: Steps, busy: Sequence[Span]) -> list[tuple[int, int]]:
    """(value, ms for which it held) of a step function within the busy spans."""
    durations: list[tuple[int, int]] = []
    for position, (time, value) in enumerate(steps if busy else ()):
        until = steps[position + 1][0] if position + 1 < len(steps) else busy[-1][1]
        duration = sum(end - start for start, end in clipped(busy, time, until))
        if duration > 0:
            durations.append((value, duration))
    return durations


def _typical_value(steps: Steps, busy: Sequence[Span], *, churns: bool) -> float:
    """The maximum of a step function; its time-weighted mean over busy time where executors come
    and go (`churns`), without the time in which there was no executor yet."""
    if not steps:
        return 0.0
    durations = [(value, ms) for value, ms in _durations(steps, busy) if value > 0]
    if not churns or not durations:
        return float(max(value for _, value in steps))
    return sum(value * ms for value, ms in durations) / sum(ms for _, ms in durations)


def _removed_early(
    application: Application, executors: Sequence[Executor], busy: Sequence[Span]
) -> list[Executor]:
    """The executors that were removed before the last stage ended, other than by the termination of
    the whole application."""
    last = busy[-1][1] if busy else 0
    end = application.ended_ms or application.last_ms
    removed = [e for e in executors if e.removed_ms is not None and e.removed_ms < last]
    return [executor for executor in removed if not was_stopped(executor, end)]


def _usual_cores(executors: Sequence[Executor], end_ms: int) -> int | None:
    """The cores per executor of the size that offered the most core time."""
    offered: Counter[int] = Counter()
    for executor in executors:
        until = executor.offered_until_ms
        cores, last = executor.cores or 0, until if until is not None else end_ms
        offered[cores] += cores * max(1, last - (executor.added_ms or 0))
    return max(offered, key=lambda cores: (offered[cores], cores), default=None)


def _heap_gib(application: Application, executors: Sequence[Executor]) -> float | None:
    """Heap of the most common resource profile, else as configured; the driver's if local."""
    properties = application.properties
    if is_local(application):
        return memory_gib(properties.get("spark.driver.memory"))
    requested = requested_gib(application, executors).get("memory")
    return requested or memory_gib(properties.get("spark.executor.memory"))


def _late_notice(executors: Sequence[Executor], end_ms: int) -> Notice:
    first = min(executor.added_ms or end_ms for executor in executors)
    number = "1 executor was" if len(executors) == 1 else f"{len(executors)} executors were"
    return Notice(
        "late-executors",
        f"{number} added {format_seconds((first - end_ms) / 1000.0)} after the last event and ran "
        "nothing: left out",
        "check that the log was not put together of several",
    )


_DYNAMIC = Notice(
    "dynamic-allocation",
    "executors came and went: the cluster is their mean number while stages ran, and predictions "
    "are for a fixed number of them",
    "for sharper answers log a run with a fixed number of executors",
)
_MIXED = Notice(
    "mixed-executors",
    "executors have different core counts: the cluster is given in the size that offered the most "
    "core time",
    "the total of cores is kept; log a run with equal executors for sharper answers",
)
_PODS = Notice(
    "nodes-from-pods",
    "on Kubernetes every executor has its own address: each measured one counts as a node, and how "
    "many shared a node is not known; on planned nodes of its type there are as many as fit",
    "name nodes, or ask for a number of executors",
)
_WRONG_CLOCK = Notice(
    "wrong-clock",
    "executors ran tasks before the time at which the log says they were added: they count as "
    "there from the first stage on",
    "check the clocks of the hosts, or whether the log was put together of several",
)
_LIKE_OTHERS = Notice(
    "cores-inferred",
    "the log does not say how many cores some executors have: as many as the others",
    "set spark.executor.cores in the job's configuration",
)
_INFERRED_CORES = Notice(
    "cores-inferred",
    "the log does not say how many cores an executor has: as many as tasks ran at once",
    "set spark.executor.cores in the job's configuration",
)
_LOCAL_CORES = replace(_INFERRED_CORES, remedy="name the cores in the master, as in local[8]")
