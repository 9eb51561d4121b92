"""Stages whose tasks are launched where their input lies, on executors that ran tasks before.

Spark prefers the executors that hold a cached block, and for what is shuffled the hosts with a
fifth or more of the output (`REDUCER_PREF_LOCS_FRACTION` of its MapOutputTracker, up to 1,000
partitions on either side): those of stages of few tasks. So a chain of small stages stays on a few
executors of a large cluster, and does not meet a new one with every stage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.profile import Run, StageRun

FEW_OUTPUTS = 5
"""Outputs of equal size of which each has a fifth of all."""


@dataclass(frozen=True)
class Locality:
    """Of the s stages of a run.

    Args:
        cached: (s,) whether a stage reads most of its input from a cache, what is shuffled apart.
        sources: (s,) places of the stages whose shuffled output it reads; its own where these were
            skipped, which have about as many partitions.
    """

    cached: tuple[bool, ...]
    sources: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, run: Run) -> Locality:
        place = {stage.stage_id: number for number, stage in enumerate(run.stages)}
        sources = []
        for number, stage in enumerate(run.stages):
            shuffled = stage.shuffle_read_bytes is not None and stage.shuffle_read_bytes.total > 0.0
            known = tuple(place[parent] for parent in stage.parents if parent in place)
            sources.append(known or (number,) * shuffled)
        return cls(tuple(_reads_cache(stage) for stage in run.stages), tuple(sources))

    def near(self, tasks: Sequence[int]) -> tuple[bool, ...]:
        """(s,) whether the stages, of so many tasks each, have their input on used executors."""
        return tuple(
            cached or (bool(sources) and all(tasks[place] <= FEW_OUTPUTS for place in sources))
            for cached, sources in zip(self.cached, self.sources, strict=True)
        )


def _reads_cache(stage: StageRun) -> bool:
    """Where its cached blocks lie counts before where other data does, shuffled data too."""
    read = stage.input_bytes.total if stage.input_bytes is not None else 0.0
    return 2.0 * (stage.cached_input_bytes or 0.0) > read
