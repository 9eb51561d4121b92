"""The number of partitions of a join of RDDs, by those of its inputs.

Spark's `Partitioner.defaultPartitioner` takes the partitioner of an input, of several that of the
most partitions, unless another input has more than ten times as many (`drops_partitioner`): then,
or where none has one, the join has as many as its largest input. In: the partitions of its inputs.
Out: those of the join. Explained in
docs/models/sparkplan_rules_replay.md#numbers-that-stay-or-follow-others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache, reduce

import numpy as np

from engine.forecast import BoolArray, FloatArray
from engine.models.stages.partitioning.partitions import (
    WHOLE,
    PartitionCount,
    PartitioningSettings,
    PartitionRule,
    PartitionsPerCore,
)


def drops_partitioner(most: FloatArray | float, keyed: FloatArray | float) -> BoolArray:
    """Whether Spark drops the partitioner of an input of `keyed` partitions beside one of `most`
    (numbers, or arrays that broadcast): unless `log10(most) - log10(keyed) < 1`
    (`Partitioner.isEligiblePartitioner`). Of exactly ten times as many the rounding decides."""
    limit = 10.0 * keyed
    drops, tenfold = np.asarray(most > limit), np.asarray(most == limit)
    if np.count_nonzero(tenfold):
        counts = np.broadcast_to(keyed, drops.shape)[tenfold].tolist()
        drops[tenfold] = [_drops_at_tenfold(count) for count in counts]
    return drops


@lru_cache(maxsize=4096)
def _drops_at_tenfold(keyed: float) -> bool:
    """The rule for exactly ten times the partitions. A JVM on x86 has the nearest double of each
    logarithm there, which `math.log10` and `np.log10` miss by a digit at times."""
    most, least = (float(Decimal(count).log10()) for count in (10.0 * keyed, keyed))
    return most - least >= 1.0


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
        return np.asarray(np.where(drops_partitioner(others, keyed), others, keyed))


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
    own = float(most_others if drops_partitioner(most_others, most_keyed) else most_keyed)
    if not any(one.depends_on_cluster for one in (*keyed, *others)):
        return PartitionCount(own)
    rule = JoinedPartitions(_largest(keyed), _largest(others))
    return PartitionCount(own, settings.log_cores, rule, ratio)


def _largest(inputs: Sequence[PartitionCount]) -> PartitionRule:
    rules: list[PartitionRule] = [
        one.rule or PartitionsPerCore.constant(one.own) for one in inputs
    ] or [PartitionsPerCore.constant(0.0)]
    return reduce(LargestInput, rules)
