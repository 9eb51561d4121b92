"""Broadcast hash joins, and sort-merge joins that could become one, read from query plans.

For each stage: which other stages produced the broadcast (build) side of its joins, how large the
shuffled sides of its sort-merge joins are, and how many rows its joins of any kind return. A stage
event does not name its joins, which are inside generated code, and the stage that built a broadcast
is not one of its parents. The plan contains both; a stage ran the plan nodes whose metrics
(accumulators) it updated.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from engine.sources.logs.plan_events import CountedMetric, PlanNode, SqlPlan, StageCounts
from engine.sources.logs.plan_trackers import PlanTracker, RanNodes, nodes_of

JOIN = b'"BroadcastHashJoin"'
OTHER_JOINS = (b'"SortMergeJoin', b'"ShuffledHashJoin', b'"BroadcastNestedLoopJoin"')
"""Text in the log line of a plan that contains a join of that kind."""

_JOIN, _BROADCAST_EXCHANGE = "BroadcastHashJoin", "BroadcastExchange"
_EXCHANGE, _DATA_SIZE = "Exchange", "data size"
_MERGE = "SortMergeJoin"
_JOINS = frozenset((_JOIN, _MERGE, "ShuffledHashJoin", "BroadcastNestedLoopJoin"))
_SKEWED = "(skew=true)"
"""What the name of a join ends in, of which adaptive execution split the largest partitions."""

_KIND = re.compile(rb"\], ([A-Z][A-Za-z]{3,20})\b")
"""The join type in a node's `simpleString`, after the join keys."""

_BUILD_SIDES = {
    b"Inner": (0, 1), b"Cross": (0, 1), b"LeftOuter": (1,), b"LeftSemi": (1,), b"LeftAnti": (1,),
    b"LeftSingle": (1,), b"ExistenceJoin": (1,), b"RightOuter": (0,),
}  # fmt: skip
"""Join type -> which of the two sides (0 left, 1 right) Spark may broadcast."""


@dataclass(frozen=True, slots=True)
class PlannedJoin:
    """The accumulators of a broadcast hash join in a plan.

    Args:
        build_accumulators: all metrics of the nodes that produce the broadcast (build) side.
        streamed_rows: row count of the other (streamed) side; None where no node counts it.
        build_shuffle_size: bytes of the shuffle below the broadcast; None without one.
    """

    build_accumulators: frozenset[int]
    streamed_rows: int | None
    build_shuffle_size: int | None


@dataclass(frozen=True, slots=True)
class JoinedBroadcast:
    """The build side of a broadcast join that a stage ran.

    Args:
        build_stage: the stage that produced it.
        streamed_rows: rows of the stage's own side that were joined; None where not logged.
        shuffled_bytes: its uncompressed bytes if it was shuffled first, which adaptive execution
            compares with the broadcast threshold; None where not logged.
    """

    build_stage: int
    streamed_rows: float | None
    shuffled_bytes: float | None


class MergedSide(NamedTuple):
    """A shuffled side of a sort-merge join.

    Args:
        shuffled_bytes: its uncompressed bytes, as adaptive execution compares them.
        stage: the stage that wrote them.
    """

    shuffled_bytes: float
    stage: int


class BroadcastJoins(PlanTracker):
    """Collects the joins of all plans, and which stages updated the metrics of their nodes.

    Joins are keyed by the accumulator of their output rows.
    """

    def __init__(self) -> None:
        self._joins: dict[int, PlannedJoin] = {}
        self._merges: dict[int, tuple[int, ...]] = {}
        self._rows_of_joins: set[int] = set()
        self._watched: set[int] = set()
        self._ran_joins = RanNodes()
        self._ran_merges = RanNodes()
        self._max_rows_of_stage: dict[int, float] = {}
        self._last_stage: dict[int, int] = {}
        self._streamed_rows: dict[tuple[int, int], float] = {}
        self._stage_counts = StageCounts()
        self._size_accumulators: set[int] = set()
        self._shuffles: dict[int, MergedSide] = {}

    @property
    def any_planned(self) -> bool:
        """Whether a plan has a join, or a shuffle that could be replaced by a broadcast."""
        return bool(self._rows_of_joins or self._size_accumulators)

    def add_plan(self, event: SqlPlan) -> None:
        """Records the joins and the shuffles of a plan."""
        for node in nodes_of(event.plan):
            # The plan that broadcasts a shuffle follows after its stage ended.
            if node.name == _EXCHANGE and (size := node.accumulator(_DATA_SIZE)) is not None:
                self._size_accumulators.add(size)
            rows, name = node.rows, node.name.removesuffix(_SKEWED)
            if rows is None or name not in _JOINS:
                continue
            self._rows_of_joins.add(rows)
            if name == _MERGE:
                self._merges.setdefault(rows, _build_sizes(node))
            if name != _JOIN or rows in self._joins:
                continue
            self._joins[rows] = join = _planned_join(node)
            self._watched |= join.build_accumulators

    def stage_completed(self, stage_id: int, counted: Sequence[CountedMetric]) -> None:
        """Records which joins a completed stage ran and which build sides it produced."""
        values = {metric.accumulator: metric.number for metric in counted}
        output_rows = [
            self._stage_counts.added(rows, stage_id, values[rows] or 0.0)
            for rows in self._rows_of_joins & values.keys()
        ]
        if output_rows:
            self._max_rows_of_stage[stage_id] = max(output_rows)
        self._ran_joins.add(stage_id, self._joins.keys() & values.keys())
        self._ran_merges.add(stage_id, self._merges.keys() & values.keys())
        for rows in self._joins.keys() & values.keys():
            streamed_rows = self._joins[rows].streamed_rows
            number = None if streamed_rows is None else values.get(streamed_rows)
            if number is not None:
                self._streamed_rows[stage_id, rows] = self._stage_counts.added(
                    rows, stage_id, number
                )
        for accumulator in self._watched & values.keys():
            self._last_stage[accumulator] = max(
                stage_id, self._last_stage.get(accumulator, stage_id)
            )
        for accumulator in self._size_accumulators & values.keys():
            number = values[accumulator]
            if number is not None:
                self._shuffles[accumulator] = MergedSide(number, stage_id)

    def max_rows(self, stage_id: int) -> float | None:
        """The largest output row count of the stage's joins; None where it has no join."""
        return self._max_rows_of_stage.get(stage_id)

    def merged(self, stage_id: int) -> list[MergedSide]:
        """The smaller broadcastable side of each sort-merge join of a stage. Only sides that were
        shuffled count."""
        merged = (self._merges[rows] for rows in sorted(self._ran_merges.of(stage_id)))
        sides = ([self._shuffles[side] for side in one if side in self._shuffles] for one in merged)
        return [min(known) for known in sides if known]

    def of(self, stage_id: int, known: Iterable[int]) -> list[JoinedBroadcast]:
        """The broadcast build sides of a stage's joins, one per join, by build stage.

        Args:
            known: the stages that may have produced them. Where several stages contribute to a
                build side, the last of them broadcasts it.
        """
        joined = list[JoinedBroadcast]()
        candidates = set(known) - {stage_id}
        for rows in sorted(self._ran_joins.of(stage_id)):
            join = self._joins[rows]
            built = candidates & {self._last_stage.get(each) for each in join.build_accumulators}
            if built:
                size, streamed = join.build_shuffle_size, self._streamed_rows.get((stage_id, rows))
                shuffle = None if size is None else self._shuffles.get(size)
                shuffled_bytes = None if shuffle is None else shuffle.shuffled_bytes
                joined.append(JoinedBroadcast(max(built), streamed, shuffled_bytes))
        return sorted(joined, key=lambda join: join.build_stage)


def _build_sizes(merge: PlanNode) -> tuple[int, ...]:
    """The shuffle-size accumulators of those sides of a sort-merge join that Spark may broadcast;
    empty where the plan does not state the join type, or neither side was shuffled."""
    kind = _KIND.search(bytes(merge.text))
    sides = _BUILD_SIDES.get(kind[1], ()) if kind and len(merge.children) == 2 else ()
    sizes = (_shuffle_size_below(merge.children[side]) for side in sides)
    return tuple(size for size in sizes if size is not None)


def _shuffle_size_below(node: PlanNode) -> int | None:
    """The size accumulator of the shuffle below one side of a join. Spark estimates the side by
    that size, whatever operators on rows or groups lie between (`LogicalQueryStage.computeStats`);
    None without a shuffle, or if the side is a join itself."""
    while node.name != _EXCHANGE and len(node.children) == 1:
        node = node.children[0]
    return node.accumulator(_DATA_SIZE) if node.name == _EXCHANGE else None


def _planned_join(node: PlanNode) -> PlannedJoin:
    """The accumulators of a join: those below its broadcast side, and what counts the other."""
    sides = [(child, _build_side(child)) for child in node.children]
    build_nodes = [below for _, tops in sides for top in tops for below in nodes_of(top)]
    counters = (_row_counter(child) for child, tops in sides if not tops)
    return PlannedJoin(
        frozenset(metric.accumulator for below in build_nodes for metric in below.metrics),
        next((count for count in counters if count is not None), None),
        next((_shuffle_size_below(top) for _, tops in sides for top in tops), None),
    )


def _build_side(node: PlanNode) -> tuple[PlanNode, ...]:
    """The plan below the broadcast exchange of one side of a join; empty where the side is not
    broadcast. Wrapper nodes without metrics above the exchange are skipped."""
    while node.name != _BROADCAST_EXCHANGE and len(node.children) == 1 and not node.metrics:
        node = node.children[0]
    return node.children if node.name == _BROADCAST_EXCHANGE else ()


def _row_counter(node: PlanNode) -> int | None:
    """The row-count accumulator of the first node from this one downwards that has one."""
    while node.rows is None and len(node.children) == 1:
        node = node.children[0]
    return node.rows
