"""Which hosts of a run were slow, told by their tasks.

Ernest starts a few machines more than it needs and discards the slowest by their memory and network
bandwidth (4.3): a machine that limps would teach the model what no other machine repeats. A run's
own tasks say the same without another benchmark.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import msgspec

from engine.sources.access.codecs import open_path
from engine.sources.access.lines import Lines
from engine.sources.logs.eventlog import BAD_EVENT, TASK_END, Shortener

SLOWER = 1.25
"""A host is slow when half of its tasks take so many times as long as their stages' tasks on the
other hosts. The machines of one type differ by a few per cent; this one would be worth changing."""

LEAST_TASKS = 8
"""Tasks of a host, and of the others in a stage, below which chance decides."""

LEAST_HOSTS = 3
"""With two hosts nobody knows which one is the usual one."""


@dataclass(frozen=True, slots=True)
class SlowHost:
    """A host, how many times as long its tasks took as those of the others, and how many it ran."""

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
    """The slow hosts of the run that one event log tells, the slowest first.

    Raises:
        BadInput: for a file that cannot be opened or holds no lines.
    """
    stages = _times(log)
    hosts = {host for times in stages.values() for host in times}
    if len(hosts) < LEAST_HOSTS:
        return ()
    ratios: dict[str, list[float]] = defaultdict(list)
    for times in stages.values():
        for host, own in times.items():
            others = [value for other, values in times.items() if other != host for value in values]
            if len(others) >= LEAST_TASKS:
                usual = median(others)
                ratios[host] += [value / usual for value in own]
    found = [
        SlowHost(host, median(own), len(own))
        for host, own in ratios.items()
        if len(own) >= LEAST_TASKS and median(own) >= SLOWER
    ]
    return tuple(sorted(found, key=lambda slow: -slow.ratio))


def _times(log: Path) -> dict[int, dict[str, list[float]]]:
    """Run times in ms by stage and host, of tasks that succeeded."""
    decode = msgspec.json.Decoder(_TaskEnd).decode
    found: dict[int, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    shortened = Shortener().shortened
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
                found[task.stage][task.info.host].append(float(task.metrics.run_ms))
    return found
