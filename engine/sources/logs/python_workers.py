"""What the metrics of tasks and stages tell of the Python workers of tasks.

Spark SQL counts the bytes that it hands to them; since 4.0 also how long they took to start, and to
load the code of their functions: the interpreter, its modules, and what these import. That is done
once for each worker, however much data its tasks have.

A worker serves one task after the other (`spark.python.worker.reuse`), and counts its
initialization from the end of the one before: nearly all of what it then tells is the time for
which it waited for work, minutes where the driver or other stages came between. Its task tells of
no start, which lay before the task.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

import msgspec

from engine.sources.logs.plan_events import NamedAccumulable, NamedTaskEnd
from engine.sources.logs.task_rows import LATEST_MS

PYTHON_METRIC = b'"Name":"data sent to Python workers"'
"""Among the metrics of a stage: its tasks handed work to Python."""

STARTS = ("time to start Python workers", "time to initialize Python workers")
"""Metrics of an operator that computes in Python, in milliseconds."""

_STARTED = b'"Name":"%s"' % STARTS[0].encode()
"""Among the metrics of a task: it started a worker."""

MS = 1e-3

_decode_task = msgspec.json.Decoder(NamedTaskEnd).decode


class WorkerStarts:
    """How long the tasks of a stage took to start workers and to load their code."""

    __slots__ = ("seconds",)

    def __init__(self) -> None:
        self.seconds = 0.0

    def task_ended(self, line: bytes) -> None:
        """The end of a task, as it stands in the log; a damaged one tells nothing."""
        if _STARTED in line:
            with suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                self.seconds += start_seconds(_decode_task(line).info.accumulables)


def start_seconds(metrics: Iterable[NamedAccumulable]) -> float:
    """How long the workers of a task took that it started. Those of several operators start beside
    each other: the longest counts."""
    told = list(metrics)
    return MS * sum(
        max((_milliseconds(one.update) for one in told if one.name == name), default=0.0)
        for name in STARTS
    )


def tells_starts(metrics: Iterable[NamedAccumulable]) -> bool:
    """Whether the metrics of a stage say how long its workers took."""
    return any(one.name in STARTS for one in metrics)


def _milliseconds(value: object) -> float:
    """Spark writes the values of SQL metrics as text; one that is no time counts as none."""
    try:
        found = float(str(value))
    except ValueError:
        return 0.0
    return found if 0.0 <= found < LATEST_MS else 0.0
