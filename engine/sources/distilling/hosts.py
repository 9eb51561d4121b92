"""Detects straggler hosts of a run by the run times of their tasks.

Ernest starts a few machines more than it needs and discards the slowest by their memory and network
bandwidth (4.3): a slow machine would teach the model what no other machine repeats. Here the tasks
of the run itself show it, without another benchmark.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import msgspec

from engine.sources.access.codecs import open_path
from engine.sources.access.lines import Lines
from engine.sources.logs.eventlog import BAD_EVENT, TASK_END, AccumulableStripper

SLOW_RATIO = 1.25
"""A host is slow if the median ratio of its task times to those of the same stages on other hosts
is at least this. Machines of one type differ by a few per cent; such a one is worth replacing."""

LEAST_TASKS = 8
"""Minimum number of tasks of a host, and of the other hosts in a stage; fewer are chance."""

LEAST_HOSTS = 3
"""Minimum number of hosts: of two it is unknown which one is typical."""


@dataclass(frozen=True, slots=True)
class SlowHost:
    """A slow host: the median ratio of its task times to the other hosts', and its task count."""

    host: str
    ratio: float
    tasks: int


class _Info(msgspec.Struct):
    host: str = msgspec.field(default="", name="Host")
    failed: bool = msgspec.field(default=False, name="Failed")
    killed: bool = msgspec.field(default=False, name="Killed")


class _Metrics(msgspec.Struct):
    run_ms: int = msgspec.field(default=0, name="Executor Run Time")


class _TaskEnd(msgspec.Struct):
    stage: int = msgspec.field(name="Stage ID")
    info: _Info = msgspec.field(name="Task Info")
    metrics: _Metrics | None = msgspec.field(default=None, name="Task Metrics")


def slow_hosts(log: Path) -> tuple[SlowHost, ...]:
    """The slow hosts of the run in one event log, the slowest first.

    Raises:
        BadInput: for a file that cannot be opened or holds no lines.
    """
    stages = _times(log)
    hosts = {host for times in stages.values() for host in times}
    if len(hosts) < LEAST_HOSTS:
        return ()
    ratios: dict[str, list[float]] = defaultdict(list)
    for times in stages.values():
        for host, host_times in times.items():
            others = [value for other, values in times.items() if other != host for value in values]
            if len(others) >= LEAST_TASKS:
                usual = median(others)
                ratios[host] += [value / usual for value in host_times]
    slow = [
        SlowHost(host, median(host_times), len(host_times))
        for host, host_times in ratios.items()
        if len(host_times) >= LEAST_TASKS and median(host_times) >= SLOW_RATIO
    ]
    return tuple(sorted(slow, key=lambda host: -host.ratio))


def _times(log: Path) -> dict[int, dict[str, list[float]]]:
    """Run times [ms] of successful tasks by stage and host."""
    decode = msgspec.json.Decoder(_TaskEnd).decode
    run_times: dict[int, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    shortened = AccumulableStripper().strip
    with open_path(log) as stream:
        lines = (line for batch in Lines(stream.chunks(), str(log)).batches() for line in batch)
        for line in lines:
            if not line.startswith(TASK_END):
                continue
            try:
                task = decode(shortened(line))
            except BAD_EVENT:
                continue
            ended = task.metrics is not None and not (task.info.failed or task.info.killed)
            if ended and task.info.host and task.metrics and task.metrics.run_ms > 0:
                run_times[task.stage][task.info.host].append(float(task.metrics.run_ms))
    return run_times
