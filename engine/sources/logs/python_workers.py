"""Start-up time of Python workers, from the metrics of tasks and stages.

Spark SQL counts the bytes sent to Python workers and, since 4.0, the time they took to start and to
initialise: the interpreter, its modules and their imports. That happens once per worker, whatever
the amount of data.

A worker serves one task after another (`spark.python.worker.reuse`) and measures its initialisation
from the end of the previous task. For a reused worker that is almost entirely time spent waiting
for work, which can be minutes. Such a task reports no start time, so only tasks that report one are
counted.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

import msgspec

from engine.sources.logs.plan_events import NamedAccumulable, TaskEndAccumulables
from engine.sources.logs.task_rows import LATEST_MS

PYTHON_METRIC = b'"Name":"data sent to Python workers"'
"""In the metrics of a stage: its tasks sent data to Python."""

STARTS = ("time to start Python workers", "time to initialize Python workers")
"""Metrics of an operator that computes in Python, in milliseconds."""

_STARTED = b'"Name":"%s"' % STARTS[0].encode()
"""In the metrics of a task: it started a worker."""

MS = 1e-3

_decode_task = msgspec.json.Decoder(TaskEndAccumulables[NamedAccumulable]).decode


class WorkerStarts:
    """Sums the time that the tasks of a stage took to start and initialise Python workers."""

    __slots__ = ("seconds",)

    def __init__(self) -> None:
        self.seconds = 0.0

    def task_ended(self, line: bytes) -> None:
        """Adds the time in a task end line; a damaged one counts as zero."""
        if _STARTED in line:
            with suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                self.seconds += start_seconds(_decode_task(line).info.accumulables)


def start_seconds(metrics: Iterable[NamedAccumulable]) -> float:
    """Start and initialisation time of the workers that a task started. The workers of several
    operators start in parallel, so the longest of each metric counts."""
    entries = list(metrics)
    return MS * sum(
        max((_milliseconds(one.update) for one in entries if one.name == name), default=0.0)
        for name in STARTS
    )


def has_start_metrics(metrics: Iterable[NamedAccumulable]) -> bool:
    """Whether the metrics of a stage include the start-up time of its workers."""
    return any(one.name in STARTS for one in metrics)


def _milliseconds(value: object) -> float:
    """A SQL metric as milliseconds; Spark writes it as text. An invalid value counts as 0."""
    try:
        start_ms = float(str(value))
    except ValueError:
        return 0.0
    return start_ms if 0.0 <= start_ms < LATEST_MS else 0.0
