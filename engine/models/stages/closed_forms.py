"""Closed-form durations of all stages of a replay at once, as arrays over the stages.

Logs of hundreds of stages are evaluated at a hundred numbers of slots.

In: a table of stages and their partitions at an input. Out: `ClosedForm`s on any number of slots.
Explained in docs/models/sparkplan_rules_replay.md#waves-and-order-statistics and
#many-stages-at-once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from engine.forecast import FloatArray, IntArray
from engine.models.stages.durations.warm_up import WarmUps, combined, warmed
from engine.models.stages.stage_table import ScaledBatch, StageTable
from engine.scheduling.makespans import Makespans, Outlines
from engine.scheduling.waves import ClosedForm


@dataclass(frozen=True, eq=False)
class StageBatch:
    """The inputs of the closed form for s stages; each (s,) unless said otherwise.

    Args:
        stages: indices of the stages in the log.
        ran_on: slots that the stage had in the log.
        observed: tasks that ran at once in the log.
        cpus: slots of one task.
        task_work: work of a task relative to an observed one.
        partitions: number of partitions, the last one counted by its size.
        contention_growth, law: growth of log task time per doubling of concurrent tasks: the prior,
            and beyond it as fitted to several logs.
        mean_seconds: time of an observed task.
        fixed: (2, s) the fixed part of it, and of one on warm code.
        makespans: their closed form as a function of concurrent tasks and contention.
        warm_ups: the warm-up curves.
    """

    stages: IntArray
    ran_on: FloatArray
    observed: FloatArray
    cpus: FloatArray
    task_work: FloatArray
    partitions: FloatArray
    contention_growth: FloatArray
    law: FloatArray
    mean_seconds: FloatArray
    fixed: FloatArray
    makespans: Makespans
    warm_ups: WarmUps

    @classmethod
    def of(
        cls, table: StageTable, stages: IntArray, batch: ScaledBatch, outlines: Outlines
    ) -> StageBatch:
        """The closed form of the stages at `stages` of a log, at one input."""
        return cls(
            stages=stages,
            ran_on=table.ran_on[stages],
            observed=np.minimum(
                _lanes(table.ran_on[stages], table.cpus[stages]), table.observed[stages]
            ),
            cpus=table.cpus[stages],
            task_work=batch.work,
            partitions=batch.partitions,
            contention_growth=table.contention_growth[stages],
            law=table.law_slots[stages],
            mean_seconds=table.mean_seconds[stages],
            fixed=table.fixed_seconds[:, stages],
            makespans=Makespans(
                tasks=batch.tasks,
                outlines=outlines,
                longest_first=table.longest_first[stages],
                typical=table.typical_seconds(stages, batch.work),
            ),
            warm_ups=table.warm_ups.take(stages),
        )

    def slowdowns(
        self, slots: float | FloatArray, in_log: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """(s,) factors of contention and (s,) of warm-up (`Slowdown`).

        Args:
            in_log: (2, s) `in_log` for the tasks that the stages have on the log's slots.
        """
        doublings = np.log2(np.minimum(self._lanes(slots), self.makespans.tasks) / self.observed)
        factor = warmed(
            self.warm_ups.mean,
            in_log[0],
            busiest=self.busiest(slots),
            busiest_in_log=in_log[1],
            work=self.task_work,
            mean_seconds=self.mean_seconds,
            fixed_seconds=self.fixed[0],
            late_fixed_seconds=self.fixed[1],
        )
        contention, warm = combined(self.contention_growth * doublings, np.log(factor))
        return np.exp(contention + self.law * doublings), np.exp(warm)

    def _lanes(self, slots: float | FloatArray) -> FloatArray:
        """(s,) tasks that run at once on a number of slots, or on (s,) numbers of them."""
        return _lanes(slots, self.cpus)

    def busiest(self, slots: float | FloatArray) -> FloatArray:
        """(s,) work of the busiest slot, in tasks of the observed size."""
        total, _, span = self.makespans.on(self._lanes(slots), np.ones(len(self.stages)))
        size = np.divide(self.partitions, total, out=np.zeros_like(span), where=total > 0)
        return np.asarray(span * size * self.task_work)

    @cached_property
    def in_log(self) -> FloatArray:
        """(2, s) work per slot of the log, in tasks of the observed size: of the mean slot and of
        the busiest."""
        mean = np.maximum(1.0, self.partitions / self._lanes(self.ran_on)) * self.task_work
        return np.stack((mean, self.busiest(self.ran_on)))

    def closed_forms(
        self, slots: float | FloatArray, contention: FloatArray, speed: FloatArray
    ) -> list[ClosedForm]:
        """(s,) sum, longest and expected makespan on the idle cluster, as of `Tasks.slowed`."""
        lanes = self._lanes(slots)
        total, longest, span = (part / speed for part in self.makespans.on(lanes, contention))
        columns = (total, longest, lanes, span)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return [ClosedForm(*row) for row in rows]


def _lanes(slots: float | FloatArray, cpus: FloatArray) -> FloatArray:
    """(s,) tasks that run at once on a number of slots, each holding (s,) `cpus` of them."""
    return np.asarray(np.maximum(1.0, slots // cpus))
