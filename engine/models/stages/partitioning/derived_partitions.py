"""Partitions that a library makes of another stage's, as many as a rule derives from theirs.

In: the stage whose partitions they are made of. Out: a stage whose number others take over. Its
kinds are in `factor_blocks.py` and `split_candidates.py`. Explained in
docs/models/sparkplan_rules_replay.md#numbers-that-stay-or-follow-others.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.models.stages.partitioning.partitioned_stage import PartitionedStage


@dataclass(frozen=True, eq=False, kw_only=True)
class DerivedPartitions(PartitionedStage):
    """A stage with as many partitions as a rule makes of another stage's.

    Args:
        source: that other stage.
    """

    source: PartitionedStage
