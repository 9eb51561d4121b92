"""The largest number of slots that the stages of a run keep busy at once.

In: the stage models of a run and their partitions on a cluster. Out: numbers of slots. Explained in
docs/models/sparkplan_rules_replay.md#the-curve-over-many-clusters.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from engine.forecast import BoolArray, FloatArray, IntArray
from engine.models.stages.durations.task_times import StageModel
from engine.models.stages.partitioning.partitions import whole_tasks


@dataclass(frozen=True, eq=False)
class BusySlots:
    """Stages that ran side by side in the log do so on any cluster.

    Args:
        models: the s stages.
        cpus: (s,) slots that a task of each holds.
    """

    models: tuple[StageModel, ...]
    cpus: FloatArray

    def max_busy(self, partitions: FloatArray) -> int:
        """The most slots that are ever busy with (s,) partitions of the stages."""
        tasks = whole_tasks(partitions)[0] * self.cpus
        order, sign = self._submissions_and_ends
        return max(1, int(np.cumsum((np.concatenate((tasks, tasks)) * sign)[order]).max()))

    @cached_property
    def follows_cores(self) -> BoolArray:
        """(s,) the stages with a partition for each core."""
        return np.asarray([model.follows_cores for model in self.models], dtype=bool)

    def log_gain_of_core_partitions(
        self, slots: FloatArray, *, busy: FloatArray, in_log: int
    ) -> FloatArray:
        """(n,) log of the factor on the time of tasks on (n,) slots if stages with a partition for
        each core had as many as on the log's slots: a program may have asked for that number, where
        no other log contradicts it. It follows from their share of the work, where all other work
        is as fast as it can be.

        Args:
            busy: (n,) how many of the slots other stages can use.
            in_log: slots of the log.
        """
        share = self._share_by_coincidence
        if not share:
            return np.zeros(len(slots))
        others = (1.0 - share) * in_log / np.maximum(busy, in_log)
        repartitioned = share * in_log / np.maximum(slots, in_log)
        return np.asarray(np.log((others + share) / (others + repartitioned)))

    @cached_property
    def _share_by_coincidence(self) -> float:
        """Share of the work in stages of which one log does not show whether they have a partition
        for each core, or a number that the program asked for."""
        work = np.asarray([model.stage.tasks * model.mean_seconds for model in self.models])
        uncertain = np.asarray([model.per_core_by_coincidence for model in self.models], dtype=bool)
        return float(work[uncertain].sum() / (work.sum() or 1.0))

    @cached_property
    def _submissions_and_ends(self) -> tuple[IntArray, FloatArray]:
        """(2 s,) order in time of the submissions of the s stages and of their ends (indices from s
        on), ends first at the same moment; and the (2 s,) sign of each, 1 for a submission and -1
        for an end."""
        stages = [model.stage for model in self.models]
        moments = [stage.submitted_seconds for stage in stages]
        moments += [stage.completed_seconds for stage in stages]
        sign = np.repeat([1.0, -1.0], len(stages))
        return np.lexsort((sign, np.asarray(moments))), sign
