"""What a stage's metrics tell of the Python workers of its tasks.

Spark SQL counts the bytes that it hands to them; since 4.0 also how long they took to start, and to
load the code of their functions: the interpreter, its modules, and what these import. That is done
once for each worker, however much data its tasks have.
"""

from __future__ import annotations

from collections.abc import Iterable

from engine.sources.plan_events import NamedAccumulable
from engine.sources.tasks import LATEST_MS

PYTHON_METRIC = b'"Name":"data sent to Python workers"'
"""Among the metrics of a stage: its tasks handed work to Python."""

STARTS = ("time to start Python workers", "time to initialize Python workers")
"""Metrics of an operator that computes in Python, in milliseconds over all tasks of the stage."""

MS = 1e-3


def python_start_seconds(metrics: Iterable[NamedAccumulable]) -> float | None:
    """How long the workers of all tasks took to start and to load their code; None where the
    metrics do not say. Workers of several operators in one task start beside each other: the
    longest counts."""
    found = [
        max((_milliseconds(one.value) for one in metrics if one.name == name), default=None)
        for name in STARTS
    ]
    told = [each for each in found if each is not None]
    return MS * sum(told) if told else None


def _milliseconds(value: object) -> float:
    """Spark writes the values of SQL metrics as text; one that is no time counts as none."""
    try:
        found = float(str(value))
    except ValueError:
        return 0.0
    return found if 0.0 <= found < LATEST_MS else 0.0
