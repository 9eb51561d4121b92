"""How far the rows of a stage fall together when they are grouped: within each task, and in all.

An aggregation of SQL groups the rows of each task before it shuffles them (`partial_sum`), and
brings the groups of all tasks together behind the shuffle. The plan of the query has both as nodes
that count the rows they give: tasks that have the same keys give many times the groups that there
are, tasks with keys of their own give each once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from engine.sources.plan_events import CountedMetric, PlanNode, SqlPlan

GROUPING = b'"HashAggregate"'
"""What a line holds that tells a plan with an aggregation."""

_GROUPS = frozenset(("HashAggregate", "SortAggregate"))
"""Nodes whose groups take as much however many rows they have. What collects rows or sorts them for
percentiles is another node (`ObjectHashAggregate`), whose groups grow."""

_SHUFFLE, _ROWS = "Exchange", "number of output rows"
_KEEPS_ROWS = ("Project", "InputAdapter", "WholeStageCodegen", "ShuffleQueryStage", "Sort")
"""Nodes, or how their names begin, that give as many rows as they get."""


class GroupedRows:
    """Follows the plans, and which stages counted the rows of their aggregations."""

    def __init__(self) -> None:
        self._merged_by: dict[int, int] = {}
        self._watched: set[int] = set()
        self._counted: dict[int, tuple[int, float]] = {}
        self._handed_on: dict[int, int] = {}

    @property
    def any_planned(self) -> bool:
        """Whether a plan told of such an aggregation."""
        return bool(self._merged_by)

    def planned(self, told: SqlPlan) -> None:
        """Notes the aggregations of a plan before and behind each shuffle, by the accumulators of
        their rows."""
        waiting: list[tuple[PlanNode, int | None]] = []
        if told.plan is not None:
            waiting.append((told.plan, None))
        while waiting:
            node, above = waiting.pop()
            if node.name == _SHUFFLE and len(node.children) == 1:
                before = _grouped(node.children[0])
                if before is not None and above is not None:
                    self._merged_by[before] = above
                    self._watched |= {before, above}
                above = None
            elif node.name in _GROUPS:
                above = _rows_of(node)
            elif len(node.children) > 1:
                above = None
            waiting.extend((child, above) for child in node.children)

    def completed(self, stage_id: int, counted: Sequence[CountedMetric]) -> None:
        """Notes what a stage counted of them."""
        for metric in counted:
            number = metric.number
            if metric.accumulator not in self._watched or number is None:
                continue
            self._counted[metric.accumulator] = stage_id, number
            if metric.accumulator in self._merged_by:
                self._handed_on[stage_id] = metric.accumulator

    def of(self, stage_id: int, in_part: Callable[[int], bool]) -> tuple[float, float] | None:
        """How many rows the tasks of a stage hand on after each has grouped its own, and how many
        groups these are in all; None where they do not, or only some of them were brought together.

        Args:
            in_part: whether a stage ran some of its partitions alone.
        """
        before = self._handed_on.get(stage_id)
        merged = None if before is None else self._counted.get(self._merged_by[before])
        if before is None or merged is None or in_part(merged[0]):
            return None
        rows, groups = self._counted[before][1], merged[1]
        return (rows, groups) if 0.0 < groups <= rows else None


def _grouped(node: PlanNode) -> int | None:
    """The accumulator of the rows of an aggregation whose groups a shuffle sends as they are."""
    while node.name not in _GROUPS and len(node.children) == 1:
        if not node.name.startswith(_KEEPS_ROWS):
            return None
        node = node.children[0]
    return _rows_of(node) if node.name in _GROUPS else None


def _rows_of(node: PlanNode) -> int | None:
    return next((m.accumulator for m in node.metrics if m.name == _ROWS), None)
