"""What a model keeps of the inputs that it was asked about."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from engine.models.stages.partition_counts import CountedStages, PartitionCounts
from engine.models.stages.prepared import PreparedStages

KEPT_INPUTS = 16
"""Inputs of which something is kept: enough to step a slider back and forth."""

Input = tuple[float, int | None]
"""Input relative to the log's, and number of shuffle partitions."""

Key = TypeVar("Key")
Kept = TypeVar("Kept")


@dataclass(frozen=True)
class KeptInputs:
    """What a replay keeps, by input.

    Args:
        stages: those on the run's own slots.
        counts: their partitions, and `counted` what these follow from, by the number of shuffle
            partitions alone.
        useful: slots beyond which none is ever busy.
    """

    stages: OrderedDict[Input, PreparedStages] = field(default_factory=OrderedDict)
    counts: OrderedDict[Input, PartitionCounts] = field(default_factory=OrderedDict)
    counted: OrderedDict[int | None, CountedStages] = field(default_factory=OrderedDict)
    useful: OrderedDict[Input, int] = field(default_factory=OrderedDict)


def kept(
    store: OrderedDict[Key, Kept], key: Key, make: Callable[[], Kept], *, most: int = KEPT_INPUTS
) -> Kept:
    """What is known of an input, made when it is first asked for, in place of the oldest where
    there are more than `most`; threads may ask at once."""
    found = store.get(key)
    if found is None:
        found = store[key] = make()
        while len(store) > most:
            store.popitem(last=False)
    return found
