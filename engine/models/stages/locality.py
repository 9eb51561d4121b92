"""Data locality: stages whose tasks are launched where their input lies, on used executors.

Spark prefers the executors that hold a cached block, and for what is shuffled the hosts with a
fifth or more of the output (`REDUCER_PREF_LOCS_FRACTION` of its MapOutputTracker, up to 1,000
partitions on either side): those of stages of few tasks. Tasks of a join in Spark SQL go to the
hosts that all of its inputs name, or else to those that any does (`ZippedPartitionsBaseRDD`). So a
chain of small stages stays on a few executors of a large cluster, and does not meet a new one with
every stage.

In: a run; then the number of tasks of each stage. Out: whether each stage has local input.
Explained in docs/models/sparkplan_rules_replay.md#first-tasks-on-a-slot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.models.stages.partitioning.stage_growth import UNIONS_AND_PRODUCTS
from engine.profile import Run
from engine.stage_run import StageRun, total_of

FEW_OUTPUTS = 5
"""Most map outputs of equal size of which each has a fifth of all."""


@dataclass(frozen=True)
class Locality:
    """What determines the data locality of the s stages of a run.

    Args:
        cached: (s,) whether the stage reads most of its input from a cache, shuffles aside.
        sources: (s,) indices of the stages whose shuffle output it reads; its own index if these
            were skipped, since they have about as many partitions.
        joins: (s,) whether one local source is enough, since its partitions are joined with the
            others'.
    """

    cached: tuple[bool, ...]
    sources: tuple[tuple[int, ...], ...]
    joins: tuple[bool, ...]

    @classmethod
    def of(cls, run: Run) -> Locality:
        """From a run's stages, in its order."""
        index = {stage.stage_id: number for number, stage in enumerate(run.stages)}
        sources = []
        for number, stage in enumerate(run.stages):
            shuffled = total_of(stage.shuffle_read_bytes) > 0.0
            known = tuple(index[parent] for parent in stage.parents if parent in index)
            sources.append(known or (number,) * shuffled)
        cached = tuple(_reads_cache(stage) for stage in run.stages)
        return cls(cached, tuple(sources), tuple(_joins(stage) for stage in run.stages))

    def local_stages(self, tasks: Sequence[int]) -> tuple[bool, ...]:
        """(s,) whether the stages have their input on used executors, given their (s,) tasks."""
        local = []
        for cached, sources, joins in zip(self.cached, self.sources, self.joins, strict=True):
            few = [tasks[index] <= FEW_OUTPUTS for index in sources]
            local.append(cached or (any(few) if joins else bool(few) and all(few)))
        return tuple(local)


def _joins(stage: StageRun) -> bool:
    """Whether each task of a stage reads all of its shuffles, as in a join; in a union each task
    reads only one."""
    return stage.sql_execution_id is not None and not UNIONS_AND_PRODUCTS.intersection(
        stage.operations
    )


def _reads_cache(stage: StageRun) -> bool:
    """Whether a stage reads most of its input from a cache: the location of cached blocks takes
    precedence over that of other data, including shuffles."""
    return 2.0 * (stage.cached_input_bytes or 0.0) > total_of(stage.input_bytes)
