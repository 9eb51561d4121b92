"""Which stages join their rows with rows that other stages broadcast, or merge two shuffles that
might be, by the plans of queries.

A stage does not name such a join, which is within its generated code, nor is who made the rows that
are broadcast one of its parents. The plan holds both, and who counted the metrics of which of its
nodes ran them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from engine.sources.logs.plan_events import CountedMetric, PlanNode, SqlPlan, StageCounts

JOIN = b'"BroadcastHashJoin"'
MERGE = b'"SortMergeJoin"'
"""What a line holds that tells a plan with a join of either kind."""

_JOIN, _MADE = "BroadcastHashJoin", "BroadcastExchange"
_SHUFFLED, _SIZE = "Exchange", "data size"
_MERGE = "SortMergeJoin"
_KIND = re.compile(rb"\], ([A-Z][A-Za-z]{3,20})\b")
"""The kind of a join in the text of its node, after the columns by which it joins."""

_SENT = {
    b"Inner": (0, 1), b"Cross": (0, 1), b"LeftOuter": (1,), b"LeftSemi": (1,), b"LeftAnti": (1,),
    b"RightOuter": (0,),
}  # fmt: skip
"""Which of the two sides of a join of a kind Spark may broadcast."""


@dataclass(frozen=True, slots=True)
class Join:
    """A join of a plan, as accumulators: `makers` are all that count in what makes the rows that
    are broadcast, `met` counts the rows of the other side, `shuffled` the bytes that a shuffle held
    of the former; None where nothing does."""

    makers: frozenset[int]
    met: int | None
    shuffled: int | None


@dataclass(frozen=True, slots=True)
class Joined:
    """What a stage joined its rows with: the stage that made it, how many rows of its own met it,
    and its bytes before compression where it was shuffled first, which adaptive execution holds
    against its threshold; None where the log does not say."""

    maker: int
    met: float | None
    shuffled_bytes: float | None


class BroadcastJoins:
    """Follows the plans, and which stages counted the metrics of their nodes."""

    def __init__(self) -> None:
        self._joins: dict[int, Join] = {}
        self._merges: dict[int, tuple[int, ...]] = {}
        self._watched: set[int] = set()
        self._ran: dict[int, set[int]] = {}
        self._merged: dict[int, set[int]] = {}
        self._most_rows: dict[int, float] = {}
        self._last: dict[int, int] = {}
        self._counted: dict[tuple[int, int], float] = {}
        self._counts = StageCounts()
        self._sizes: set[int] = set()
        self._shuffled: dict[int, float] = {}

    @property
    def any_planned(self) -> bool:
        """Whether a plan told of such a join, or of a shuffle of which one may become one."""
        return bool(self._joins or self._sizes)

    def planned(self, told: SqlPlan) -> None:
        """Notes the joins of a plan by the accumulator of their rows, and its shuffles."""
        for node in _with_all_below(told.plan):
            if node.name == _SHUFFLED:  # a plan that broadcasts it comes when its stage has ended
                self._sizes.update(m.accumulator for m in node.metrics if m.name == _SIZE)
            rows = node.rows
            if node.name == _MERGE and rows is not None:
                self._merges.setdefault(rows, _sides_to_send(node))
            if node.name != _JOIN or rows is None or rows in self._joins:
                continue
            sides = [_broadcast(child) for child in node.children]
            made = [one for side in sides for top in side for one in _with_all_below(top)]
            others = [child for child, side in zip(node.children, sides, strict=True) if not side]
            met = next((one for child in others for one in _counting(child)), None)
            makers = frozenset(metric.accumulator for one in made for metric in one.metrics)
            self._joins[rows] = Join(makers, met, _bytes_of_shuffle(made))
            self._watched |= makers

    def completed(self, stage_id: int, counted: Sequence[CountedMetric]) -> None:
        """Notes which joins a stage ran, and what it made for others."""
        values = {metric.accumulator: metric.number for metric in counted}
        given = [
            self._counts.added(rows, stage_id, values[rows] or 0.0)
            for rows in values.keys() & (self._joins.keys() | self._merges.keys())
        ]
        if given:
            self._most_rows[stage_id] = max(given)
        for rows in self._joins.keys() & values.keys():
            self._ran.setdefault(stage_id, set()).add(rows)
            met = self._joins[rows].met
            number = None if met is None else values.get(met)
            if number is not None:
                self._counted[stage_id, rows] = self._counts.added(rows, stage_id, number)
        for rows in self._merges.keys() & values.keys():
            self._merged.setdefault(stage_id, set()).add(rows)
        for accumulator in self._watched & values.keys():
            self._last[accumulator] = max(stage_id, self._last.get(accumulator, stage_id))
        for accumulator in self._sizes & values.keys():
            number = values[accumulator]
            if number is not None:
                self._shuffled[accumulator] = number

    def most_rows(self, stage_id: int) -> float | None:
        """The most rows that a join of a stage gives; None where it joins none."""
        return self._most_rows.get(stage_id)

    def merged_bytes(self, stage_id: int) -> tuple[float, ...]:
        """Bytes, before compression, of the smaller shuffled side of each join by sort and merge of
        a stage, of those that Spark may broadcast."""
        merged = (self._merges[rows] for rows in sorted(self._merged.get(stage_id, ())))
        sizes = ([self._shuffled[side] for side in one if side in self._shuffled] for one in merged)
        return tuple(min(known) for known in sizes if known)

    def of(self, stage_id: int, known: Iterable[int]) -> list[Joined]:
        """What one joined its rows with, made by stages that are known, once for each join. Of what
        takes several stages to make the last one sends it."""
        found, there = list[Joined](), set(known) - {stage_id}
        for rows in sorted(self._ran.get(stage_id, ())):
            join = self._joins[rows]
            made = (self._last[a] for a in join.makers if a in self._last)
            maker = max((stage for stage in made if stage in there), default=None)
            if maker is not None:
                held = None if join.shuffled is None else self._shuffled.get(join.shuffled)
                found.append(Joined(maker, self._counted.get((stage_id, rows)), held))
        return sorted(found, key=lambda one: one.maker)


def _sides_to_send(merge: PlanNode) -> tuple[int, ...]:
    """The accumulators of the bytes of those sides of a join by sort and merge that Spark may
    broadcast; none where the plan does not tell its kind, or neither was shuffled."""
    found = _KIND.search(bytes(merge.text))
    sent = _SENT.get(found[1], ()) if found and len(merge.children) == 2 else ()
    sizes = (_bytes_below(merge.children[side]) for side in sent)
    return tuple(size for size in sizes if size is not None)


def _bytes_below(node: PlanNode) -> int | None:
    """The accumulator of the bytes of the shuffle that a side of a join comes from, by which Spark
    estimates how large it is, whatever it does to single rows or groups of it."""
    while node.name != _SHUFFLED and len(node.children) == 1:
        node = node.children[0]
    if node.name != _SHUFFLED:
        return None
    return next((m.accumulator for m in node.metrics if m.name == _SIZE), None)


def _with_all_below(node: PlanNode | None) -> list[PlanNode]:
    found, waiting = [], [] if node is None else [node]
    while waiting:
        found.append(waiting.pop())
        waiting.extend(found[-1].children)
    return found


def _broadcast(node: PlanNode) -> tuple[PlanNode, ...]:
    """What makes the rows of a side of a join where these are broadcast: below its exchange, which
    stands at the top but for nodes that only say where it comes from."""
    while node.name != _MADE and len(node.children) == 1 and not node.metrics:
        node = node.children[0]
    return node.children if node.name == _MADE else ()


def _counting(node: PlanNode) -> list[int]:
    """The accumulator of the rows of the first node, from one downwards, that counts them."""
    while node.rows is None and len(node.children) == 1:
        node = node.children[0]
    rows = node.rows
    return [] if rows is None else [rows]


def _bytes_of_shuffle(made: Iterable[PlanNode]) -> int | None:
    """The accumulator of the bytes of the last shuffle before a broadcast, where nothing but what
    reads it lies between."""
    node = next(iter(made), None)
    while node is not None and node.name != _SHUFFLED:
        between = node.rows is not None or len(node.children) != 1
        node = None if between else node.children[0]
    metrics = node.metrics if node is not None else ()
    return next((m.accumulator for m in metrics if m.name == _SIZE), None)
