"""Shuffles of queries whose partitions the program has a say in: `repartition(64)`, `REBALANCE`.

Spark keeps a number that is named, whatever is configured and however small the partitions are.
Plans of Spark 3 say so in the text of the exchange; before, only rows that are dealt out in turn
show it. Rebalanced partitions are cut or joined to the advisory size; those for which a table
format names a size of its own are not told apart from other shuffles.
"""

from __future__ import annotations

import re

from engine.sources.logs.plan_events import SqlPlan
from engine.sources.logs.plan_trackers import NodeTracker, nodes_of

NAMED_NUMBER, REBALANCED = b", REPARTITION_", b", REBALANCE_PARTITIONS_BY_"
DEALT_OUT = b" RoundRobinPartitioning("
"""One of them is in each plan with such an exchange, but for other exchanges of Spark 3.0."""

_EXCHANGE, _RECORDS_READ = "Exchange", "records read"

_REQUESTED = re.compile(
    rb"(\d{1,9})\), (?:REPARTITION_(?:BY|WITH)_NUM|false)\b"
    rb'|"Exchange RoundRobinPartitioning\((\d{1,9})\)"\Z'
    rb"|, REBALANCE_PARTITIONS_BY_(?:NONE|COL)\b(?!, \d)"
)
"""In the text of an exchange: since Spark 3.1, in 3.0 (whether the number may be changed), before,
and of rebalanced rows."""


class RequestedPartitions(NodeTracker[int | None]):
    """Collects the numbers of partitions that the program named for exchanges of all plans, None
    for rebalanced ones, and the stages that read them.

    They are keyed by the accumulator of the records that are read of the exchange.
    """

    def add_plan(self, event: SqlPlan) -> None:
        """Records such exchanges of a plan."""
        for node in nodes_of(event.plan):
            match = _REQUESTED.search(bytes(node.text)) if node.name == _EXCHANGE else None
            if match is None:
                continue
            number = match[1] or match[2]
            for metric in node.metrics:
                if metric.name == _RECORDS_READ:
                    self._nodes.setdefault(metric.accumulator, int(number) if number else None)

    def has(self, stage_id: int, tasks: int) -> bool:
        """Whether the program named the number of tasks of a stage."""
        return tasks in self.ran_by(stage_id)

    def rebalances(self, stage_id: int) -> bool:
        """Whether a stage reads rebalanced rows."""
        return None in self.ran_by(stage_id)
