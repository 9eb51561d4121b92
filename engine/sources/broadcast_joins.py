"""Which stages join their rows with rows that other stages broadcast, by the plans of queries.

A stage does not name such a join, which is within its generated code, nor is who made the rows one
of its parents. The plan holds both, and who counted the metrics of which of its nodes ran them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from engine.sources.plan_events import CountedMetric, PlanNode, SqlPlan

JOIN = b'"BroadcastHashJoin"'
"""What a line holds that tells a plan with such a join."""

_JOIN, _MADE, _ROWS = "BroadcastHashJoin", "BroadcastExchange", "number of output rows"


@dataclass(frozen=True, slots=True)
class Join:
    """A join of a plan, as accumulators: `makers` are all that count in what makes the rows that
    are broadcast, `met` counts the rows of the other side; None where nothing does."""

    makers: frozenset[int]
    met: int | None


class BroadcastJoins:
    """Follows the plans, and which stages counted the metrics of their nodes."""

    def __init__(self) -> None:
        self._joins: dict[int, Join] = {}
        self._watched: set[int] = set()
        self._ran: dict[int, set[int]] = {}
        self._last: dict[int, int] = {}
        self._counted: dict[tuple[int, int], float] = {}

    @property
    def any_planned(self) -> bool:
        """Whether a plan told of such a join."""
        return bool(self._joins)

    def planned(self, told: SqlPlan) -> None:
        """Notes the joins of a plan by the accumulator of their rows."""
        for node in _with_all_below(told.plan):
            rows = _rows_of(node)
            if node.name != _JOIN or rows is None or rows in self._joins:
                continue
            sides = [_broadcast(child) for child in node.children]
            made = [one for side in sides for top in side for one in _with_all_below(top)]
            others = [child for child, side in zip(node.children, sides, strict=True) if not side]
            met = next((one for child in others for one in _counting(child)), None)
            makers = frozenset(metric.accumulator for one in made for metric in one.metrics)
            self._joins[rows] = Join(makers, met)
            self._watched |= makers

    def completed(self, stage_id: int, counted: Sequence[CountedMetric]) -> None:
        """Notes which joins a stage ran, and what it made for others."""
        values = {metric.accumulator: metric.number for metric in counted}
        for rows in self._joins.keys() & values.keys():
            self._ran.setdefault(stage_id, set()).add(rows)
            met = self._joins[rows].met
            number = None if met is None else values.get(met)
            if number is not None:
                self._counted[stage_id, rows] = number
        for accumulator in self._watched & values.keys():
            self._last[accumulator] = max(stage_id, self._last.get(accumulator, stage_id))

    def of(self, stage_id: int, known: Iterable[int]) -> list[tuple[int, float | None]]:
        """The stages, of those that are known, which made the rows that one joined its own with;
        and how many of its own met these, None where the log does not say. Of what takes several
        stages to make the last one sends it."""
        found, there = dict[int, float | None](), set(known) - {stage_id}
        for rows in self._ran.get(stage_id, ()):
            made = (self._last[a] for a in self._joins[rows].makers if a in self._last)
            maker = max((stage for stage in made if stage in there), default=None)
            if maker is not None:
                found[maker] = self._counted.get((stage_id, rows))
        return sorted(found.items())


def _with_all_below(node: PlanNode | None) -> list[PlanNode]:
    found, waiting = [], [] if node is None else [node]
    while waiting:
        found.append(waiting.pop())
        waiting.extend(found[-1].children)
    return found


def _rows_of(node: PlanNode) -> int | None:
    """The accumulator of the rows that a node gives."""
    return next((m.accumulator for m in node.metrics if m.name == _ROWS), None)


def _broadcast(node: PlanNode) -> tuple[PlanNode, ...]:
    """What makes the rows of a side of a join where these are broadcast: below its exchange, which
    stands at the top but for nodes that only say where it comes from."""
    while node.name != _MADE and len(node.children) == 1 and not node.metrics:
        node = node.children[0]
    return node.children if node.name == _MADE else ()


def _counting(node: PlanNode) -> list[int]:
    """The accumulator of the rows of the first node, from one downwards, that counts them."""
    while _rows_of(node) is None and len(node.children) == 1:
        node = node.children[0]
    rows = _rows_of(node)
    return [] if rows is None else [rows]
