"""Typed structures of SQL plan and metric events (as `events`), and per-stage metric increments."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from msgspec import Raw, Struct, field

from engine.sources.logs.events import UNKNOWN


class PlanMetric(Struct, frozen=True, gc=False):
    """A metric of a plan node: its name and accumulator."""

    name: str = field(default="", name="name")
    accumulator: int = field(default=UNKNOWN, name="accumulatorId")


class PlanMetadata(Struct, frozen=True, gc=False):
    """The metadata of a file scan node: location (truncated where long), format, columns read, the
    selected buckets where tasks read buckets, and the filters that choose partitions of a table."""

    location: str | None = field(default=None, name="Location")
    format: str | None = field(default=None, name="Format")
    schema: str | None = field(default=None, name="ReadSchema")
    buckets: str | None = field(default=None, name="SelectedBucketsCount")
    partition_filters: str | None = field(default=None, name="PartitionFilters")


OUTPUT_ROWS = "number of output rows"

CACHE_SCAN = "InMemoryTableScan"
"""What reads a cached query, as a node of a plan and as an operation."""

NAMED_CACHE_SCAN = "Scan In-memory table "
"""How its name begins where the cache has one (`CACHE TABLE`), which follows
(`InMemoryTableScanExec.nodeName`)."""


class PlanNode(Struct, frozen=True, gc=False):
    """`sparkPlanInfo`: a plan node with its children; `text` is its raw `simpleString`, which
    contains its arguments."""

    name: str = field(default="", name="nodeName")
    children: tuple[PlanNode, ...] = field(default=(), name="children")
    metadata: PlanMetadata = field(default=PlanMetadata(), name="metadata")
    metrics: tuple[PlanMetric, ...] = field(default=(), name="metrics")
    text: Raw = field(default=Raw(), name="simpleString")

    @property
    def rows(self) -> int | None:
        """The accumulator of its output rows; None where it does not count them."""
        return self.accumulator(OUTPUT_ROWS)

    def accumulator(self, metric: str) -> int | None:
        """The accumulator of one of its metrics, by name; None where it has none of that name."""
        return next((known.accumulator for known in self.metrics if known.name == metric), None)


class SqlPlan(Struct, frozen=True, gc=False):
    """The plan in a `SparkListenerSQLExecutionStart` or, since Spark 3.0, in a
    `SparkListenerSQLAdaptiveExecutionUpdate`."""

    execution: int = field(default=UNKNOWN, name="executionId")
    plan: PlanNode | None = field(default=None, name="sparkPlanInfo")


class DriverMetrics(Struct, frozen=True, gc=False):
    """`SparkListenerDriverAccumUpdates`: accumulators and their values."""

    updates: tuple[tuple[int, int], ...] = field(default=(), name="accumUpdates")


class Accumulable(Struct, frozen=True, gc=False):
    """An entry of the `Accumulables` of a stage or a task; user accumulators may hold anything."""

    accumulator: int = field(default=UNKNOWN, name="ID")


class NamedAccumulable(Accumulable, frozen=True, gc=False):
    """An entry of the `Accumulables` of a stage or a task, with its name and the task's update."""

    name: str | None = field(default=None, name="Name")
    update: Any = field(default=None, name="Update")


class CountedMetric(NamedAccumulable, frozen=True, gc=False):
    """An entry of the `Accumulables` of a stage, with the accumulated value."""

    value: Any = field(default=None, name="Value")

    @property
    def number(self) -> float | None:
        """The value of a counter, which is logged as a number or as text; None for other values."""
        if isinstance(self.value, str) and self.value.isdecimal():
            return float(self.value) if len(self.value) < LONGEST_NUMBER else None
        counts = isinstance(self.value, int) and 0 <= self.value < 10**LONGEST_NUMBER
        return float(self.value) if counts else None


LONGEST_NUMBER = 20
"""Digits; a 64-bit integer has no more."""


class StageAccumulables(Struct, frozen=True, gc=False):
    """`Stage Info` of a completed stage, metrics only."""

    stage: int = field(name="Stage ID")
    accumulables: tuple[CountedMetric, ...] = field(default=(), name="Accumulables")


class StageMetrics(Struct, frozen=True, gc=False):
    """`SparkListenerStageCompleted`, metrics only."""

    info: StageAccumulables = field(name="Stage Info")


Entry = TypeVar("Entry", bound=Accumulable)


class TaskAccumulables(Struct, Generic[Entry], frozen=True, gc=False):
    """`Task Info`, the task's accumulators only, of each what an `Entry` holds."""

    accumulables: tuple[Entry, ...] = field(default=(), name="Accumulables")


class TaskEndAccumulables(Struct, Generic[Entry], frozen=True, gc=False):
    """`SparkListenerTaskEnd`, accumulators only."""

    info: TaskAccumulables[Entry] = field(name="Task Info")


class StageCounts:
    """The increment of each stage to a plan's accumulators, which are cumulative over stages.

    Stages are passed in the order in which they end. (A sort samples its input before shuffling, so
    Spark runs the plan below it twice: the second stage reports the rows of both.)
    """

    def __init__(self) -> None:
        self._total_before: dict[int, float] = {}
        self._last_value: dict[int, tuple[int, float]] = {}

    def added(self, accumulator: int, stage_id: int, number: float) -> float:
        """The stage's increment, given the accumulator's value `number` at its end. A later attempt
        of the same stage continues the count of the earlier one."""
        last = self._last_value.get(accumulator)
        if last is not None and last[0] != stage_id:
            self._total_before[accumulator] = last[1]
        self._last_value[accumulator] = stage_id, number
        return max(0.0, number - self._total_before.get(accumulator, 0.0))
