"""What a replay keeps of the inputs that it was asked about."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from engine.models.partitions import PartitionCount
from engine.models.stage_batch import StageBatch
from engine.models.task_times import Scaled
from engine.waves import Tasks

KEPT_INPUTS = 16
"""Inputs of which something is kept: enough to step a slider back and forth."""

Input = tuple[float, int | None]
"""Input relative to the log's, and number of shuffle partitions."""

Stages = tuple[tuple[Scaled, Tasks], ...]
Kept = TypeVar("Kept")


@dataclass(frozen=True)
class KeptInputs:
    """By input.

    Args:
        stages: their tasks on the run's own slots.
        counts: partitions of those whose number depends on the cluster.
        batches: all stages at once, in closed form.
        useful: slots beyond which none is ever busy.
        asked_once: the last inputs that were asked about.
    """

    stages: OrderedDict[Input, Stages] = field(default_factory=OrderedDict)
    counts: OrderedDict[Input, tuple[PartitionCount, ...]] = field(default_factory=OrderedDict)
    batches: OrderedDict[Input, StageBatch] = field(default_factory=OrderedDict)
    useful: OrderedDict[Input, int] = field(default_factory=OrderedDict)
    asked_once: OrderedDict[Input, bool] = field(default_factory=OrderedDict)


def kept(store: OrderedDict[Input, Kept], key: Input, make: Callable[[], Kept]) -> Kept:
    """What is known of an input, made when it is first asked for; threads may ask at once."""
    found = store.get(key)
    if found is None:
        found = store[key] = make()
        while len(store) > KEPT_INPUTS:
            store.popitem(last=False)
    return found
