"""What a replay keeps of the inputs that it was asked about."""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.lazy import Recent
from engine.models.stages.partition_counts import CountedStages, PartitionCounts
from engine.models.stages.prepared import PreparedStages

KEPT_INPUTS = 16
"""Inputs of which something is kept: enough to step a slider back and forth."""


@dataclass(frozen=True)
class KeptInputs:
    """By input, relative to the log's, and number of shuffle partitions.

    Args:
        stages: those on the run's own slots.
        counts: their partitions, and `counted` what these follow from, by the number of shuffle
            partitions alone.
        useful: slots beyond which none is ever busy.
    """

    stages: Recent[PreparedStages] = field(default_factory=lambda: Recent(KEPT_INPUTS))
    counts: Recent[PartitionCounts] = field(default_factory=lambda: Recent(KEPT_INPUTS))
    counted: Recent[CountedStages] = field(default_factory=lambda: Recent(KEPT_INPUTS))
    useful: Recent[int] = field(default_factory=lambda: Recent(KEPT_INPUTS))
