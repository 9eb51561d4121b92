"""How far the rows of a stage fall together when they are grouped: within each task, and in all.

An aggregation of SQL groups the rows of each task before it shuffles them (`partial_sum`), and
brings the groups of all tasks together behind the shuffle. The plan of the query has both as nodes
that count the rows they give: tasks that have the same keys give many times the groups that there
are, tasks with keys of their own give each once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from engine.sources.logs.plan_events import CountedMetric, PlanNode, SqlPlan, StageCounts

GROUPING = b'Aggregate"'
"""What a line holds that tells a plan with an aggregation."""

_GROUPS = frozenset(("HashAggregate", "SortAggregate"))
"""Nodes whose groups take as much however many rows they have. What collects rows or sorts them for
percentiles is another node (`ObjectHashAggregate`), whose groups grow."""

_SHUFFLE = "Exchange"
_KEEPS_ROWS = (
    "Project", "InputAdapter", "WholeStageCodegen", "ShuffleQueryStage", "Sort", "AQEShuffleRead",
    "CustomShuffleReader",
)  # fmt: skip
"""Nodes, or how their names begin, that give as many rows as they get."""

_IN_PART = re.compile(rb"\bpartial_")
"""What the text of an aggregation holds whose groups are brought together behind the shuffle: what
ends one hands on rows like any others, whatever groups another makes of these."""

_DISTINCT = re.compile(rb"keys=(.*), functions=\[\]")
"""One without functions, which does not say which it is: what brings its groups together has the
same keys."""

_NORMALIZED = re.compile(
    rb"knownfloatingpointnormalized\(normalizenanandzero\(([^()]*)\)\) AS [^#]*#\d+"
)
"""A key of floating point, of which only the first of both makes all zeros one."""


class Grouped(NamedTuple):
    """What the tasks of a stage group: so many rows (None where the log does not say), which are so
    many after each task has grouped its own, and so many groups in all."""

    ungrouped: float | None
    rows: float
    groups: float


class GroupedRows:
    """Follows the plans, and which stages counted the rows of their aggregations."""

    def __init__(self) -> None:
        self._merged_by: dict[int, int] = {}
        self._grouped_from: dict[int, int] = {}
        self._watched: set[int] = set()
        self._counted: dict[int, tuple[int, float]] = {}
        self._counts = StageCounts()
        self._handed_on: dict[int, int] = {}

    @property
    def any_planned(self) -> bool:
        """Whether a plan told of such an aggregation."""
        return bool(self._merged_by)

    def planned(self, told: SqlPlan) -> None:
        """Notes the aggregations of a plan before and behind each shuffle, by the accumulators of
        their rows."""
        waiting: list[tuple[PlanNode, PlanNode | None]] = []
        if told.plan is not None:
            waiting.append((told.plan, None))
        while waiting:
            node, above = waiting.pop()
            if node.name == _SHUFFLE and len(node.children) == 1:
                if above is not None:
                    self._shuffled(_grouped(node.children[0]), above)
                above = None
            elif node.name in _GROUPS:
                above = node
            elif not node.name.startswith(_KEEPS_ROWS):
                above = None
            waiting.extend((child, above) for child in node.children)

    def _shuffled(self, before: PlanNode | None, above: PlanNode) -> None:
        """Notes an aggregation before a shuffle, where the one behind it ends it."""
        if before is None or not _is_ended_by(before, above):
            return
        rows, groups = before.rows, above.rows
        if rows is not None and groups is not None:
            self._merged_by[rows] = groups
            self._watched |= {rows, groups}
            below = _rows_below(before)
            if below is not None:
                self._grouped_from[rows] = below
                self._watched.add(below)

    def completed(self, stage_id: int, counted: Sequence[CountedMetric]) -> None:
        """Notes what a stage counted of them."""
        for metric in counted:
            number = metric.number
            if metric.accumulator not in self._watched or number is None:
                continue
            own = self._counts.added(metric.accumulator, stage_id, number)
            self._counted[metric.accumulator] = stage_id, own
            if metric.accumulator in self._merged_by:
                self._handed_on[stage_id] = metric.accumulator

    def of(self, stage_id: int, in_part: Callable[[int], bool]) -> Grouped | None:
        """What the tasks of a stage group; None where they do not, or only some of the groups were
        brought together.

        Args:
            in_part: whether a stage ran some of its partitions alone.
        """
        before = self._handed_on.get(stage_id)
        merged = None if before is None else self._counted.get(self._merged_by[before])
        if before is None or merged is None or in_part(merged[0]):
            return None
        rows, groups = self._counted[before][1], merged[1]
        return Grouped(self._rows_of(before), rows, groups) if 0.0 < groups <= rows else None

    def _rows_of(self, before: int) -> float | None:
        """How many rows an aggregation got, where the same stage counted them."""
        below = self._grouped_from.get(before)
        found = None if below is None else self._counted.get(below)
        if found is None or found[0] != self._counted[before][0]:
            return None
        return found[1] if found[1] >= self._counted[before][1] else None


def _rows_below(node: PlanNode) -> int | None:
    """The accumulator of the rows that an aggregation gets; None where nothing in its stage counts
    as many."""
    while len(node.children) == 1:
        node = node.children[0]
        if node.rows is not None:
            return node.rows
        if not node.name.startswith(_KEEPS_ROWS):
            return None
    return None


def _grouped(node: PlanNode) -> PlanNode | None:
    """The aggregation whose groups a shuffle sends as they are."""
    while node.name not in _GROUPS and len(node.children) == 1:
        if not node.name.startswith(_KEEPS_ROWS):
            return None
        node = node.children[0]
    return node if node.name in _GROUPS else None


def _is_ended_by(before: PlanNode, above: PlanNode) -> bool:
    """Whether one aggregation brings the groups of the other together."""
    if _IN_PART.search(bytes(before.text)):
        return True
    keys, others = (_distinct_keys(node) for node in (before, above))
    return keys is not None and keys == others


def _distinct_keys(node: PlanNode) -> bytes | None:
    found = _DISTINCT.search(bytes(node.text))
    return _NORMALIZED.sub(rb"\1", found[1]) if found else None
