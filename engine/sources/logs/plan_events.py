"""The events that tell the plans of SQL queries and their metrics, as `events`, and what each
stage adds to these."""

from __future__ import annotations

from typing import Any

from msgspec import Raw, Struct, field

from engine.sources.logs.events import UNKNOWN


class PlanMetric(Struct, frozen=True, gc=False):
    """A metric of a node of a query's plan."""

    name: str = field(default="", name="name")
    accumulator: int = field(default=UNKNOWN, name="accumulatorId")


class PlanMetadata(Struct, frozen=True, gc=False):
    """What the plan tells of a scan of files: where they are (cut where long), in which format and
    which columns are read, and how many buckets where each task gets one or more of these."""

    location: str | None = field(default=None, name="Location")
    format: str | None = field(default=None, name="Format")
    schema: str | None = field(default=None, name="ReadSchema")
    buckets: str | None = field(default=None, name="SelectedBucketsCount")


OUTPUT_ROWS = "number of output rows"


class PlanNode(Struct, frozen=True, gc=False):
    """`sparkPlanInfo`: a node of a query's plan with those below it; `text` is what Spark writes of
    it, with its arguments, as it stands in the log."""

    name: str = field(default="", name="nodeName")
    children: tuple[PlanNode, ...] = field(default=(), name="children")
    metadata: PlanMetadata = field(default=PlanMetadata(), name="metadata")
    metrics: tuple[PlanMetric, ...] = field(default=(), name="metrics")
    text: Raw = field(default=Raw(), name="simpleString")

    @property
    def rows(self) -> int | None:
        """The accumulator of the rows that it gives; None where it counts none."""
        return next((m.accumulator for m in self.metrics if m.name == OUTPUT_ROWS), None)


class SqlPlan(Struct, frozen=True, gc=False):
    """The plan in a `SparkListenerSQLExecutionStart` or, since Spark 3.0, in a
    `SparkListenerSQLAdaptiveExecutionUpdate`."""

    execution: int = field(default=UNKNOWN, name="executionId")
    plan: PlanNode | None = field(default=None, name="sparkPlanInfo")


class DriverMetrics(Struct, frozen=True, gc=False):
    """`SparkListenerDriverAccumUpdates`: accumulators and their values."""

    updates: tuple[tuple[int, int], ...] = field(default=(), name="accumUpdates")


class Accumulable(Struct, frozen=True, gc=False):
    """An entry of the `Accumulables` of a stage or a task; a program's own may hold anything."""

    accumulator: int = field(default=UNKNOWN, name="ID")


class NamedAccumulable(Accumulable, frozen=True, gc=False):
    """An entry of the `Accumulables` of a stage or a task with its name, and with what a task added
    to it."""

    name: str | None = field(default=None, name="Name")
    update: Any = field(default=None, name="Update")


class CountedMetric(NamedAccumulable, frozen=True, gc=False):
    """An entry of the `Accumulables` of a stage with what all of its tasks added to it."""

    value: Any = field(default=None, name="Value")

    @property
    def number(self) -> float | None:
        """The value of a metric that counts, which stands in a log as a number or as its text."""
        if isinstance(self.value, str) and self.value.isdecimal():
            return float(self.value) if len(self.value) < LONGEST_NUMBER else None
        counts = isinstance(self.value, int) and 0 <= self.value < 10**LONGEST_NUMBER
        return float(self.value) if counts else None


LONGEST_NUMBER = 20
"""Digits; a long integer has no more."""


class MeteredStage(Struct, frozen=True, gc=False):
    """Which metrics the tasks of a completed stage counted."""

    stage: int = field(name="Stage ID")
    accumulables: tuple[CountedMetric, ...] = field(default=(), name="Accumulables")


class StageMetrics(Struct, frozen=True, gc=False):
    """`SparkListenerStageCompleted`, of which this looks at the metrics alone."""

    info: MeteredStage = field(name="Stage Info")


class MeteredTask(Struct, frozen=True, gc=False):
    """Which metrics a task counted."""

    accumulables: tuple[Accumulable, ...] = field(default=(), name="Accumulables")


class TaskMetered(Struct, frozen=True, gc=False):
    """`SparkListenerTaskEnd`, of which this looks at those metrics alone."""

    info: MeteredTask = field(name="Task Info")


class NamedTask(Struct, frozen=True, gc=False):
    """What a task added to which metrics."""

    accumulables: tuple[NamedAccumulable, ...] = field(default=(), name="Accumulables")


class NamedTaskEnd(Struct, frozen=True, gc=False):
    """`SparkListenerTaskEnd`, of which this looks at those alone."""

    info: NamedTask = field(name="Task Info")


class StageCounts:
    """What each stage adds to the accumulators of a plan, which go on: followed through the stages
    in the order in which these end.

    A sort samples its rows before it shuffles them, for which Spark runs the part of the plan below
    it once more: the second stage that counts its rows ends with those of both.
    """

    def __init__(self) -> None:
        self._before: dict[int, float] = {}
        self._last: dict[int, tuple[int, float]] = {}

    def added(self, accumulator: int, stage_id: int, number: float) -> float:
        """What a stage added, where it left an accumulator at `number`; another attempt of the same
        stage goes on with what the one before counted."""
        last = self._last.get(accumulator)
        if last is not None and last[0] != stage_id:
            self._before[accumulator] = last[1]
        self._last[accumulator] = stage_id, number
        return max(0.0, number - self._before.get(accumulator, 0.0))
