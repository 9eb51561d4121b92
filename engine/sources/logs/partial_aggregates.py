"""Row counts of partial and final aggregates: rows in, groups per task, and distinct groups.

A SQL aggregation first groups the rows within each task (partial aggregate, `partial_sum`) and
merges the groups of all tasks after the shuffle (final aggregate). The query plan has both as nodes
that count their output rows. Tasks that share keys emit each group many times; tasks with disjoint
keys emit each group once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from engine.sources.logs.plan_events import CountedMetric, PlanNode, SqlPlan, StageCounts
from engine.sources.logs.plan_trackers import PlanTracker, nodes_with

GROUPING = b'Aggregate"'
"""Text in the log line of a plan that contains an aggregate."""

_AGGREGATES = frozenset(("HashAggregate", "SortAggregate"))
"""Aggregates with a fixed size per group. `ObjectHashAggregate`, which collects rows or computes
percentiles, is left out: its groups grow with their rows."""

_SHUFFLE = "Exchange"
_ROW_PRESERVING = (
    "Project", "InputAdapter", "WholeStageCodegen", "ShuffleQueryStage", "Sort", "AQEShuffleRead",
    "CustomShuffleReader",
)  # fmt: skip
"""Name prefixes of nodes that output as many rows as they read."""

_PARTIAL = re.compile(rb"\bpartial_")
"""Marks a partial aggregate in a node's text. A final aggregate emits ordinary rows, even where
another aggregate follows."""

_DISTINCT = re.compile(rb"keys=(.*), functions=\[\]")
"""An aggregate without functions (`distinct`), whose text does not tell partial from final; the
final one has the same keys."""

_NORMALIZED = re.compile(
    rb"knownfloatingpointnormalized\(normalizenanandzero\(([^()]*)\)\) AS [^#]*#\d+"
)
"""A floating-point key, which only the partial aggregate normalises (-0.0 and NaN)."""


class GroupCounts(NamedTuple):
    """Row counts of a partial aggregate and its final one.

    Args:
        ungrouped: input rows of the partial aggregate; None where not logged.
        rows: its output rows: groups per task, summed over the tasks.
        groups: distinct groups, the output rows of the final aggregate.
    """

    ungrouped: float | None
    rows: float
    groups: float


class PartialAggregates(PlanTracker):
    """Collects the aggregates of all plans, and the row counts that stages report for them.

    Aggregates are keyed by the accumulator of their output rows.
    """

    def __init__(self) -> None:
        self._final_of_partial: dict[int, int] = {}
        self._input_of_partial: dict[int, int] = {}
        self._watched: set[int] = set()
        self._counted: dict[int, tuple[int, float]] = {}
        self._stage_counts = StageCounts()
        self._partial_of_stage: dict[int, int] = {}

    @property
    def any_planned(self) -> bool:
        """Whether a plan has a partial aggregate with its final one."""
        return bool(self._final_of_partial)

    def add_plan(self, event: SqlPlan) -> None:
        """Records the pairs of partial and final aggregate around each shuffle of a plan."""
        top: PlanNode | None = None
        for node, final in nodes_with(event.plan, top, _aggregate_above):
            if final is not None and node.name == _SHUFFLE and len(node.children) == 1:
                self._add_pair(_partial_aggregate(node.children[0]), final)

    def _add_pair(self, partial: PlanNode | None, final: PlanNode) -> None:
        """Records a partial aggregate, if the aggregate after the shuffle is its final one."""
        if partial is None or not _is_final_of(partial, final):
            return
        rows, groups = partial.rows, final.rows
        if rows is not None and groups is not None:
            self._final_of_partial[rows] = groups
            self._watched |= {rows, groups}
            inputs = _input_rows_of(partial)
            if inputs is not None:
                self._input_of_partial[rows] = inputs
                self._watched.add(inputs)

    def stage_completed(self, stage_id: int, counted: Sequence[CountedMetric]) -> None:
        """Records the row counts that a completed stage added to the aggregates."""
        for metric in counted:
            number = metric.number
            if metric.accumulator not in self._watched or number is None:
                continue
            added = self._stage_counts.added(metric.accumulator, stage_id, number)
            self._counted[metric.accumulator] = stage_id, added
            if metric.accumulator in self._final_of_partial:
                self._partial_of_stage[stage_id] = metric.accumulator

    def of(self, stage_id: int, in_part: Callable[[int], bool]) -> GroupCounts | None:
        """The counts of a stage's partial aggregate; None where it has none, or where the stage of
        the final aggregate ran only some of its partitions.

        Args:
            in_part: tells of a stage id whether only some of its partitions ran.
        """
        partial = self._partial_of_stage.get(stage_id)
        final = None if partial is None else self._counted.get(self._final_of_partial[partial])
        if partial is None or final is None or in_part(final[0]):
            return None
        rows, groups = self._counted[partial][1], final[1]
        return (
            GroupCounts(self._input_rows(partial), rows, groups) if 0.0 < groups <= rows else None
        )

    def _input_rows(self, partial: int) -> float | None:
        """Input rows of a partial aggregate, where the same stage counted them."""
        inputs = self._input_of_partial.get(partial)
        counted = None if inputs is None else self._counted.get(inputs)
        if counted is None or counted[0] != self._counted[partial][0]:
            return None
        return counted[1] if counted[1] >= self._counted[partial][1] else None


def _aggregate_above(node: PlanNode, above: PlanNode | None, child: PlanNode) -> PlanNode | None:
    """The aggregate that gets the rows of a child of `node` as they are; None without one.

    Args:
        above: the one that gets those of the node.
    """
    if node.name in _AGGREGATES:
        return node
    return above if node.name.startswith(_ROW_PRESERVING) else None


def _input_rows_of(node: PlanNode) -> int | None:
    """The accumulator of an aggregate's input rows: that of the nearest node below that counts
    rows, with only row-preserving nodes between; None without one."""
    while len(node.children) == 1:
        node = node.children[0]
        if node.rows is not None:
            return node.rows
        if not node.name.startswith(_ROW_PRESERVING):
            return None
    return None


def _partial_aggregate(node: PlanNode) -> PlanNode | None:
    """The aggregate directly below a shuffle, with only row-preserving nodes between."""
    while node.name not in _AGGREGATES and len(node.children) == 1:
        if not node.name.startswith(_ROW_PRESERVING):
            return None
        node = node.children[0]
    return node if node.name in _AGGREGATES else None


def _is_final_of(partial: PlanNode, final: PlanNode) -> bool:
    """Whether `final` merges the groups of `partial`."""
    if _PARTIAL.search(bytes(partial.text)):
        return True
    keys, final_keys = (_distinct_keys(node) for node in (partial, final))
    return keys is not None and keys == final_keys


def _distinct_keys(node: PlanNode) -> bytes | None:
    match = _DISTINCT.search(bytes(node.text))
    return _NORMALIZED.sub(rb"\1", match[1]) if match else None
