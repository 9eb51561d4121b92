"""The number of partitions of a join of RDDs, by those of its inputs.

Spark's `Partitioner.defaultPartitioner` takes the partitioner of an input, of several that of the
most partitions, unless another input has ten times as many: then, or where none has one, the join
has as many as its largest input. In: the partitions of its inputs. Out: those of the join.
Explained in docs/models/sparkplan_rules_replay.md#numbers-that-stay-or-follow-others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from engine.forecast import FloatArray
from engine.models.stages.partitioning.partitions import (
    WHOLE,
    PartitionCount,
    PartitioningSettings,
    PartitionRule,
    PartitionsPerCore,
)

DROPS_PARTITIONER = 10
"""Spark drops the partitioner of an input if another has so many times its partitions
(`Partitioner.isEligiblePartitioner`)."""


@dataclass(frozen=True)
class LargestInput:
    """The partitions of the larger of two inputs, of one stage or (as arrays) of m."""

    one: PartitionRule
    other: PartitionRule

    def count(self, cores: FloatArray, ratio: float) -> FloatArray:
        """(n,) partitions at `ratio` times the input on (n,) cores."""
        return np.maximum(self.one.count(cores, ratio), self.other.count(cores, ratio))


@dataclass(frozen=True)
class JoinedPartitions:
    """The partitions of a join of RDDs, of one stage or (as arrays) of m.

    Args:
        keyed, others: the rule of the largest input that has a partitioner, and of the largest
            without; of none 0 partitions.
    """

    keyed: PartitionRule
    others: PartitionRule

    def count(self, cores: FloatArray, ratio: float) -> FloatArray:
        """(n,) partitions at `ratio` times the input on (n,) cores."""
        keyed, others = (
            np.ceil(side.count(cores, ratio) - WHOLE) for side in (self.keyed, self.others)
        )
        return np.asarray(np.where(others >= DROPS_PARTITIONER * keyed, others, keyed))


def joined_count(
    known: Sequence[PartitionCount | None],
    keyed_inputs: int,
    settings: PartitioningSettings,
    ratio: float,
) -> PartitionCount:
    """Partitions of a join at `ratio` times its inputs.

    Args:
        known: those of its inputs, of which the first `keyed_inputs` have a partitioner.
    """
    counts = [one for one in known if one is not None]
    keyed, others = counts[:keyed_inputs], counts[keyed_inputs:]
    most_keyed, most_others = (
        max((math.ceil(one.own - WHOLE) for one in inputs), default=0) for inputs in (keyed, others)
    )
    own = float(most_others if most_others >= DROPS_PARTITIONER * most_keyed else most_keyed)
    if not any(one.depends_on_cluster for one in (*keyed, *others)):
        return PartitionCount(own)
    rule = JoinedPartitions(_largest(keyed), _largest(others))
    return PartitionCount(own, settings.log_cores, rule, ratio)


def _largest(inputs: Sequence[PartitionCount]) -> PartitionRule:
    rules: list[PartitionRule] = [
        one.rule or PartitionsPerCore.constant(one.own) for one in inputs
    ] or [PartitionsPerCore.constant(0.0)]
    return reduce(LargestInput, rules)
