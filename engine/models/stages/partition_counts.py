"""The numbers of partitions of all stages of a run at once, on any number of slots.

The planner evaluates the same stages on hundreds of clusters. Stages whose partitions follow the
same kind of rule are computed together, as arrays.

In: stage models; then an input; then slots. Out: numbers of partitions. Explained in
docs/models/sparkplan_rules_replay.md#partitions.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from engine.forecast import FloatArray, IntArray
from engine.models.stages.durations.task_times import StageModel
from engine.models.stages.partitioning.partitions import (
    LEAST_CORES,
    PartitionRule,
    ScalingPartitionRule,
)
from engine.models.stages.tree_aggregation import NO_TREES, TreeAggregations

Rule = TypeVar("Rule", bound=PartitionRule)


@dataclass(frozen=True, eq=False)
class PartitionCounts:
    """The partitions of s stages at one input, as a function of the slots.

    Args:
        own: (s,) partitions on the run's own slots, and on any for stages without a rule.
        own_slots: the run's slots.
        ratio: the input relative to the run's.
        ruled: indices of stages whose number depends on the cluster, with the rule of all of them.
        cores_per_slot: as `PartitioningSettings.cores_per_slot`.
        planned_on: (s,) cores for which each stage was planned in the log, if executors came and
            went; None if those are the run's.
        trees: the tree aggregations, whose combining stages follow from the stages before them.
    """

    own: FloatArray
    own_slots: int
    ratio: float
    ruled: list[tuple[IntArray, PartitionRule]]
    cores_per_slot: float = 1.0
    planned_on: FloatArray | None = None
    trees: TreeAggregations = NO_TREES

    def at(self, slots: float) -> FloatArray:
        """(s,) partitions on a number of slots, as `PartitionCount.at`."""
        if slots == self.own_slots and self.planned_on is None:
            return self.own
        result, cluster_cores = self.own.copy(), slots * self.cores_per_slot
        cores = np.asarray(max(cluster_cores, LEAST_CORES))
        for stages, rule in self.ruled:
            result[stages] = rule.count(cores, self.ratio)
        if self.planned_on is not None:
            result = np.where(self.planned_on == cluster_cores, self.own, result)
        return self.trees.counted(result)


@dataclass(frozen=True, eq=False)
class CountedStages:
    """The partitions of a run's stages as a function of the input, for one configured number of
    shuffle partitions (None for the log's)."""

    models: Sequence[StageModel]
    slots: int
    shuffle_partitions: int | None

    def at(self, ratio: float) -> PartitionCounts:
        """Their partitions at `ratio` times the input, as `StageModel.partition_count`."""
        own, others = np.empty(len(self.models)), list[tuple[int, PartitionRule]]()
        for stages, rule in self._ruled:
            own[stages] = rule.on_log_cores(ratio)
        for index in self._others:
            count = self.models[index].partition_count(ratio, self.shuffle_partitions)
            own[index] = count.own
            if count.rule is not None:
                others.append((index, count.rule))
        counting = [(at, rule) for at, rule in self._ruled if self.models[at[0]].depends_on_cluster]
        ruled = [*counting, *by_rule_type(others)]
        per_slot, planned_on = self._cores_per_slot, self._planned_on
        own = self._trees.counted(own)
        return PartitionCounts(own, self.slots, ratio, ruled, per_slot, planned_on, self._trees)

    @cached_property
    def _trees(self) -> TreeAggregations:
        return TreeAggregations.of([model.stage for model in self.models])

    @property
    def _cores_per_slot(self) -> float:
        return self.models[0].partitioning.cores_per_slot if self.models else 1.0

    @cached_property
    def _planned_on(self) -> FloatArray | None:
        """As `PartitionCounts.planned_on`."""
        sources = [model.partition_source(self.shuffle_partitions) for model in self.models]
        cores = [stage.partitioning.log_cores for stage in sources]
        same = set(cores) <= {round(self.slots * self._cores_per_slot)}
        return None if same else np.asarray(cores, dtype=float)

    @cached_property
    def _rules(self) -> list[ScalingPartitionRule | None]:
        return [model.rule(self.shuffle_partitions) for model in self.models]

    @cached_property
    def _ruled(self) -> list[tuple[IntArray, ScalingPartitionRule]]:
        """Stages with a rule, those whose number depends on the cluster before the others."""
        result: list[tuple[IntArray, ScalingPartitionRule]] = []
        for counts in (True, False):
            result += by_rule_type(
                [
                    (index, rule)
                    for index, rule in enumerate(self._rules)
                    if rule is not None and self.models[index].depends_on_cluster == counts
                ]
            )
        return result

    @cached_property
    def _others(self) -> list[int]:
        return [index for index, rule in enumerate(self._rules) if rule is None]


def by_rule_type(rules: Sequence[tuple[int, Rule]]) -> list[tuple[IntArray, Rule]]:
    """Groups stages by the kind of their rule: (m,) indices, and one rule for all m of them."""
    by_type: dict[Hashable, list[tuple[int, Rule]]] = {}
    for index, rule in rules:
        by_type.setdefault(_rule_type(rule), []).append((index, rule))
    return [
        (np.asarray([index for index, _ in same_type]), stacked([rule for _, rule in same_type]))
        for same_type in by_type.values()
    ]


def _rule_type(rule: Any) -> Hashable:
    """The type of a rule, and of what it is composed of: `stacked` combines these one by one."""
    parts = [getattr(rule, field.name) for field in fields(rule)]
    return type(rule), *(_rule_type(part) for part in parts if is_dataclass(part))


def stacked(rules: Sequence[Any]) -> Any:
    """Combines m rules of one kind into a rule whose numbers are (m,) arrays."""
    values = {}
    for field in fields(rules[0]):
        of_all = [getattr(rule, field.name) for rule in rules]
        values[field.name] = stacked(of_all) if is_dataclass(of_all[0]) else np.asarray(of_all)
    return replace(rules[0], **values)
