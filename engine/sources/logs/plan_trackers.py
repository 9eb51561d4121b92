"""What all that read query plans have in common: nodes of plans, and which stages ran them.

A stage event does not name the nodes of its query's plan. It lists the accumulators that its tasks
updated, and the metrics of a plan's nodes are such accumulators.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Generic, TypeVar

from engine.sources.logs.plan_events import Accumulable, CountedMetric, PlanNode, SqlPlan

Value = TypeVar("Value")
Node = TypeVar("Node")


class PlanTracker(ABC):
    """Collects the nodes of one kind from all plans, and the stages that ran them."""

    @property
    @abstractmethod
    def any_planned(self) -> bool:
        """Whether a plan has such a node; until then metrics of stages need not be decoded."""

    @abstractmethod
    def add_plan(self, event: SqlPlan) -> None:
        """Records such nodes of a plan; those that an earlier plan had stay as they are."""

    @abstractmethod
    def stage_completed(self, stage_id: int, counted: Sequence[CountedMetric]) -> None:
        """Records which of the nodes a completed stage ran, by the accumulators it updated."""


class RanNodes:
    """The nodes that each stage ran, by the accumulator of their output rows."""

    def __init__(self) -> None:
        self._of_stage: dict[int, set[int]] = {}

    def add(self, stage_id: int, nodes: Iterable[int]) -> None:
        """A stage ran these nodes, of which there may be none."""
        if ran := set(nodes):
            self._of_stage.setdefault(stage_id, set()).update(ran)

    def of(self, stage_id: int) -> frozenset[int]:
        """The nodes that a stage ran."""
        return frozenset(self._of_stage.get(stage_id, ()))

    def of_all(self) -> frozenset[int]:
        """The nodes that any stage ran."""
        return frozenset().union(*self._of_stage.values())


class NodeTracker(PlanTracker, Generic[Node]):
    """A tracker of nodes that are keyed by an accumulator of each, mostly that of its output
    rows."""

    def __init__(self) -> None:
        self._nodes: dict[int, Node] = {}
        self._ran = RanNodes()

    @property
    def any_planned(self) -> bool:
        """Whether a plan has such a node."""
        return bool(self._nodes)

    def stage_completed(self, stage_id: int, counted: Sequence[Accumulable]) -> None:
        """Records which of the nodes a completed stage ran, by the accumulators it updated."""
        self._ran.add(stage_id, self._nodes.keys() & {one.accumulator for one in counted})

    def ran_by(self, stage_id: int) -> list[Node]:
        """Those that a stage ran."""
        return [self._nodes[key] for key in self._ran.of(stage_id)]


def nodes_of(plan: PlanNode | None) -> Iterator[PlanNode]:
    """The nodes of a plan: each before those below it, the last child first."""
    return (node for node, _ in nodes_with(plan, None, lambda node, value, child: None))


def nodes_with(
    plan: PlanNode | None,
    top: Value,
    below: Callable[[PlanNode, Value, PlanNode], Value],
    *,
    first_child_first: bool = False,
) -> Iterator[tuple[PlanNode, Value]]:
    """The nodes of a plan, each with what the nodes above tell of it.

    Args:
        top: what is told of the topmost node.
        below: (node, what is told of it, a child of it) -> what is told of the child.
    """
    pending = [] if plan is None else [(plan, top)]
    while pending:
        node, value = pending.pop()
        yield node, value
        children = reversed(node.children) if first_child_first else node.children
        pending.extend((child, below(node, value, child)) for child in children)
