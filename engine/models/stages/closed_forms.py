"""Closed-form durations of all stages of a replay at once, as arrays over the stages.

The same equations as `Tasks.expected_makespan`, `slowdown_of` and `Tasks.slowed` for one stage:
logs of hundreds of stages are evaluated at a hundred numbers of slots.

In: a table of stages and their partitions at an input. Out: `ClosedForm`s on any number of slots.
Explained in docs/models/sparkplan_rules_replay.md#waves-and-order-statistics and
#many-stages-at-once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from engine.forecast import FloatArray, IntArray
from engine.models.stages.durations.warm_up import WarmUps, combined_each, warmed
from engine.models.stages.outlines import Outlines
from engine.models.stages.stage_table import ScaledBatch, StageTable
from engine.scheduling.waves import EXPECTED_MAXIMUM, IN_STEP, NO_SPREAD, ClosedForm

FEWEST_STAGES = 12
"""Fewer stages are evaluated one by one as fast."""


@dataclass(frozen=True, eq=False)
class StageBatch:
    """The inputs of the closed form for s stages; each (s,) unless said otherwise.

    Args:
        stages: indices of the stages in the log.
        count: number of tasks.
        ran_on: slots that the stage had in the log.
        observed: tasks that ran at once in the log.
        cpus: slots of one task.
        task_work: work of a task relative to an observed one.
        partitions: number of partitions, the last one counted by its size.
        contention_growth, law: growth of log task time per doubling of concurrent tasks: the prior,
            and beyond it as fitted to several logs.
        typical: time of a typical task.
        fixed: (2, s) the fixed part of a task and of a warm one, times the work beyond one
            (`warm_up_factor`).
        total, longest, square: sum, maximum and sum of squares of the task times.
        capped: (3, s) `Tasks.squares_up_to` of the typical time.
        longest_first: 1 if tasks are launched from the longest to the shortest.
        points, beyond: (s, p) `Residuals`.
        warm_ups: the warm-up curves.
    """

    stages: IntArray
    count: FloatArray
    ran_on: FloatArray
    observed: FloatArray
    cpus: FloatArray
    task_work: FloatArray
    partitions: FloatArray
    contention_growth: FloatArray
    law: FloatArray
    typical: FloatArray
    fixed: FloatArray
    total: FloatArray
    longest: FloatArray
    square: FloatArray
    capped: FloatArray
    longest_first: FloatArray
    points: FloatArray
    beyond: FloatArray
    warm_ups: WarmUps

    @classmethod
    def of(
        cls, table: StageTable, stages: IntArray, batch: ScaledBatch, outlines: Outlines
    ) -> StageBatch:
        """The closed form of the stages at `stages` of a log, at one input."""
        times, counts = outlines.ordered, outlines.counts
        typical = table.mean_seconds[stages] * batch.work
        work = counts * times
        outlined, square = work.sum(axis=1), np.einsum("ij,ij->i", work, times)
        divisor = np.where(outlined > 0.0, outlined, 1.0)
        points, beyond = _residuals(times, counts, work, divisor)
        return cls(
            stages=stages,
            count=batch.tasks,
            ran_on=table.ran_on[stages],
            observed=np.minimum(
                _lanes(table.ran_on[stages], table.cpus[stages]), table.observed[stages]
            ),
            cpus=table.cpus[stages],
            task_work=batch.work,
            partitions=batch.partitions,
            contention_growth=table.contention_growth[stages],
            law=table.law_slots[stages],
            typical=typical,
            fixed=table.fixed_seconds[:, stages] * np.maximum(0.0, batch.work - 1.0),
            total=outlines.total,
            longest=times[:, -1],
            square=square * (outlines.total / divisor),
            capped=_capped(times, counts, typical),
            longest_first=table.longest_first[stages],
            points=points,
            beyond=beyond,
            warm_ups=table.warm_ups.take(stages),
        )

    def slowdowns(self, slots: int, in_log: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(s,) factors of contention and (s,) of warm-up, as `slowdown_of`.

        Args:
            in_log: (2, s) `in_log` for the tasks that the stages have on the log's slots.
        """
        doublings = np.log2(np.minimum(self._lanes(slots), self.count) / self.observed)
        factor = warmed(
            self.warm_ups.mean,
            in_log[0],
            busiest=self._busiest(slots),
            busiest_in_log=in_log[1],
            typical_seconds=self.typical,
            fixed_seconds=self.fixed[0],
            late_fixed_seconds=self.fixed[1],
        )
        contention, warm = combined_each(self.contention_growth * doublings, np.log(factor))
        return np.exp(contention + self.law * doublings), np.exp(warm)

    def _lanes(self, slots: float | FloatArray) -> FloatArray:
        """(s,) tasks that run at once on a number of slots, or on (s,) numbers of them."""
        return _lanes(slots, self.cpus)

    def _busiest(self, slots: float | FloatArray) -> FloatArray:
        """(s,) work of the busiest slot, in tasks of the observed size."""
        _, _, span = self._spans(slots, np.ones(len(self.count)))
        size = np.divide(self.partitions, self.total, out=np.zeros_like(span), where=self.total > 0)
        return np.asarray(span * size * self.task_work)

    @cached_property
    def in_log(self) -> FloatArray:
        """(2, s) work per slot of the log, in tasks of the observed size: of the mean slot and of
        the busiest (`work_of_slots`)."""
        mean = np.maximum(1.0, self.partitions / self._lanes(self.ran_on)) * self.task_work
        return np.stack((mean, self._busiest(self.ran_on)))

    def closed_forms(
        self, slots: int, contention: FloatArray, speed: FloatArray
    ) -> list[ClosedForm]:
        """(s,) sum, longest and expected makespan on the idle cluster, as of `Tasks.slowed`."""
        total, longest, span = (part / speed for part in self._spans(slots, contention))
        columns = (total, longest, self._lanes(slots), span)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return [ClosedForm(*row) for row in rows]

    def _spans(
        self, slots: float | FloatArray, contention: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """(s,) sum, (s,) longest and (s,) expected makespan at speed 1 under (s,) contention."""
        grown = contention - 1.0
        up_to, crossed, squared = self.capped
        lanes = self._lanes(slots)
        total = self.total + grown * up_to
        longest = self.longest + grown * np.minimum(self.longest, self.typical)
        mean = total / self.count
        square = (self.square + 2.0 * grown * crossed + grown**2 * squared) / self.count
        rounds = np.ceil(self.count / lanes)
        variance = square - mean**2
        spread = np.sqrt(np.where(variance > NO_SPREAD * mean**2, variance, 0.0))
        in_step = mean * rounds + spread * np.sqrt(2.0 * rounds * np.log(lanes))
        ratio = np.divide(total, self.total, out=np.ones_like(total), where=self.total > 0.0)
        left = self._exceeded_by(np.minimum(1.0, ratio * EXPECTED_MAXIMUM / lanes))
        left = left + grown * np.minimum(left, self.typical)
        divisor = np.where(mean > 0.0, mean, 1.0)
        above = np.maximum(0.0, left - square / (2.0 * divisor))
        spaced = total / lanes + np.where(self.longest_first, 0.0, above)
        together = spread * np.sqrt(rounds) < IN_STEP * mean
        span = np.maximum(longest, np.where(together, in_step, spaced))
        span = np.where(lanes >= self.count, longest, span)
        return total, longest, np.where((lanes == 1.0) | (total <= 0.0), total, span)

    def _exceeded_by(self, share: FloatArray) -> FloatArray:
        """(s,) `Residuals.exceeded_by`."""
        rows, last = np.arange(len(share)), self.beyond.shape[1] - 1
        index = (self.beyond < share[:, None]).sum(axis=1)
        high = np.clip(index, 1, last)
        low_share, high_share = self.beyond[rows, high - 1], self.beyond[rows, high]
        width = high_share - low_share
        part = (share - low_share) / np.where(width > 0.0, width, 1.0)
        low, up = self.points[rows, high - 1], self.points[rows, high]
        result = low + np.clip(part, 0.0, 1.0) * (up - low)
        return np.where(index == 0, self.points[:, 0], result)


def _lanes(slots: float | FloatArray, cpus: FloatArray) -> FloatArray:
    """(s,) tasks that run at once on a number of slots, each holding (s,) `cpus` of them."""
    return np.asarray(np.maximum(1.0, slots // cpus))


def _capped(times: FloatArray, counts: FloatArray, typical: FloatArray) -> FloatArray:
    """(3, s) `Tasks.squares_up_to` of (s,) typical times."""
    capped = np.minimum(times, typical[:, None])
    weighed = counts * capped
    squares = (np.einsum("ij,ij->i", weighed, by) for by in (times, capped))
    return np.asarray([weighed.sum(axis=1), *squares])


def _residuals(
    times: FloatArray, counts: FloatArray, work: FloatArray, divisor: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """(s, p) `Residuals.points` and `Residuals.beyond`; after its last point a stage's residual
    falls to 0 at a share of 1."""
    end = np.zeros((len(times), 1))
    points = np.concatenate((times[:, ::-1], end), axis=1)
    share, above = np.cumsum(work[:, ::-1], axis=1), np.cumsum(counts[:, ::-1], axis=1)
    beyond = (share - above * points[:, :-1]) / divisor[:, None]
    return points, np.concatenate((beyond, end + 1.0), axis=1)
