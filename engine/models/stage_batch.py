"""The stages of a replay at once: how long each takes on so many slots in closed form.

The same equations as `Tasks.expected_makespan`, `Replay.slowdown` and `Tasks.slowed` for one stage,
over arrays: a log of hundreds of stages is asked for a hundred numbers of slots.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.forecast import FloatArray
from engine.models.task_times import Scaled, StageShape
from engine.models.warm_up import WarmUp
from engine.waves import EXPECTED_MAXIMUM, IN_STEP, ClosedForm, Tasks

FEWEST_STAGES = 12
"""Fewer are answered one by one as fast."""


@dataclass(frozen=True, eq=False)
class StageBatch:
    """What the closed form needs of s stages; each of (s,) unless said otherwise.

    Args:
        count: tasks.
        observed: tasks that ran at once in the log.
        cpus: slots of one task.
        own: tasks of the observed size for each task on one slot.
        partitions: whole ones and the part of the last.
        growth, law: log of task time per doubling of tasks at once: prior, and what logs tell.
        typical: time of a typical task.
        total, longest, square: of the task times: sum, longest, sum of squares.
        capped: (3, s) `Tasks.squares_up_to` of the typical time.
        longest_first: launch order.
        points, beyond: (s, p) `Residuals`.
        waves, means, late: (s, w), (s, w), (s,) `WarmUp`.
    """

    count: FloatArray
    observed: FloatArray
    cpus: FloatArray
    own: FloatArray
    partitions: FloatArray
    growth: FloatArray
    law: FloatArray
    typical: FloatArray
    total: FloatArray
    longest: FloatArray
    square: FloatArray
    capped: FloatArray
    longest_first: FloatArray
    points: FloatArray
    beyond: FloatArray
    waves: FloatArray
    means: FloatArray
    late: FloatArray

    @classmethod
    def of(
        cls,
        shapes: Sequence[StageShape],
        stages: Sequence[tuple[Scaled, Tasks]],
        growth: FloatArray,
        slots: int,
    ) -> StageBatch:
        """The stages of a log that ran on so many slots, for one input."""
        scaled, tasks = [many for many, _ in stages], [found for _, found in stages]
        typical = [s.mean_seconds * many.work for s, many in zip(shapes, scaled, strict=True)]
        capped = [t.squares_up_to(limit) for t, limit in zip(tasks, typical, strict=True)]
        points, beyond = _padded_residuals(tasks)
        waves, means, late = _padded_warm_ups([shape.warm_up for shape in shapes])
        return cls(
            np.asarray([float(many.tasks) for many in scaled]),
            np.asarray([float(min(slots, shape.stage.tasks)) for shape in shapes]),
            np.asarray([float(shape.stage.task_cpus) for shape in shapes]),
            np.asarray([many.work for many in scaled]),
            np.asarray([many.partitions for many in scaled]),
            np.asarray(growth, dtype=float),
            np.asarray([shape.law.slots for shape in shapes]),
            np.asarray(typical),
            np.asarray([found.total for found in tasks]),
            np.asarray([found.longest for found in tasks]),
            np.asarray([found.mean_square * len(found) for found in tasks]),
            np.asarray(capped).T,
            np.asarray([found.longest_first for found in tasks]),
            points,
            beyond,
            waves,
            means,
            late,
        )

    def slowdowns(self, slots: int) -> FloatArray:
        """(s,) `Replay.slowdown`."""
        doublings = np.log2(np.minimum(float(slots), self.count) / self.observed)
        own = np.maximum(1.0, self.partitions / np.maximum(1.0, slots // self.cpus)) * self.own
        grown, warm = self.growth * doublings, np.log(self._warm(own))
        larger = np.where(np.abs(grown) > np.abs(warm), grown, warm)
        both = np.where(grown * warm > 0.0, larger, grown + warm)
        return np.asarray(np.exp(both + self.law * doublings))

    def _warm(self, own: FloatArray) -> FloatArray:
        """(s,) `WarmUp.mean`."""
        rows = np.arange(len(own))
        last, at = self.waves[:, -1], np.maximum(own, self.waves[:, 0])
        high = np.clip((self.waves < at[:, None]).sum(axis=1), 1, self.waves.shape[1] - 1)
        below, above = self.waves[rows, high - 1], self.waves[rows, high]
        width = np.log(above / below)
        part = np.log(np.clip(at, below, above) / below) / np.where(width > 0.0, width, 1.0)
        first, second = self.means[rows, high - 1], self.means[rows, high]
        inside = first + part * (second - first)
        return np.asarray(np.where(at <= last, inside, (last + (at - last) * self.late) / at))

    def closed_forms(
        self, slots: int, slowdowns: FloatArray, speed: FloatArray
    ) -> list[ClosedForm]:
        """(s,) sum, longest and expected makespan on the idle cluster of tasks `Tasks.slowed`."""
        grown = slowdowns - 1.0
        up_to, crossed, squared = self.capped
        lanes = np.maximum(1.0, slots // self.cpus)
        total = (self.total + grown * up_to) / speed
        longest = (self.longest + grown * np.minimum(self.longest, self.typical)) / speed
        mean = total / self.count
        square = (self.square + 2.0 * grown * crossed + grown**2 * squared) / self.count / speed**2
        rounds = np.ceil(self.count / lanes)
        spread = np.sqrt(np.maximum(0.0, square - mean**2))
        in_step = mean * rounds + spread * np.sqrt(2.0 * rounds * np.log(lanes))
        ratio = np.divide(
            total * speed, self.total, out=np.ones_like(total), where=self.total > 0.0
        )
        left = self._exceeded_by(np.minimum(1.0, ratio * EXPECTED_MAXIMUM / lanes))
        left = (left + grown * np.minimum(left, self.typical)) / speed
        whole = np.where(mean > 0.0, mean, 1.0)
        spaced = total / lanes + np.where(self.longest_first, 0.0, left - square / (2.0 * whole))
        together = spread * np.sqrt(rounds) < IN_STEP * mean
        span = np.maximum(longest, np.where(together, in_step, spaced))
        span = np.where((lanes == 1.0) | (total <= 0.0), total, span)
        found = zip(total.tolist(), longest.tolist(), lanes.tolist(), span.tolist(), strict=True)
        return [ClosedForm(*values) for values in found]

    def _exceeded_by(self, share: FloatArray) -> FloatArray:
        """(s,) `Residuals.exceeded_by`."""
        rows, last = np.arange(len(share)), self.beyond.shape[1] - 1
        place = (self.beyond < share[:, None]).sum(axis=1)
        high = np.clip(place, 1, last)
        low_share, high_share = self.beyond[rows, high - 1], self.beyond[rows, high]
        width = high_share - low_share
        part = (share - low_share) / np.where(width > 0.0, width, 1.0)
        low, up = self.points[rows, high - 1], self.points[rows, high]
        found = low + np.clip(part, 0.0, 1.0) * (up - low)
        return np.where(place == 0, self.points[:, 0], found)


def _padded_residuals(tasks: Sequence[Tasks]) -> tuple[FloatArray, FloatArray]:
    """(s, p) points and shares beyond; after its last point a stage's residual falls to none at a
    share of one."""
    tables = [found.residuals for found in tasks]
    longest = max(len(table.points) for table in tables) + 1
    points, beyond = np.zeros((len(tables), longest)), np.ones((len(tables), longest))
    for row, table in enumerate(tables):
        points[row, : len(table.points)] = table.points
        beyond[row, : len(table.beyond)] = table.beyond
    return points, beyond


def _padded_warm_ups(
    curves: Sequence[WarmUp | None],
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(s, w) waves, (s, w) means and (s,) late rates; 1 throughout where there is no curve. Shorter
    curves repeat their first point."""
    longest = max((len(curve.waves) for curve in curves if curve is not None), default=0) + 1
    waves, means = np.ones((len(curves), longest)), np.ones((len(curves), longest))
    late = np.ones(len(curves))
    for row, curve in enumerate(curves):
        if curve is not None:
            missing = longest - len(curve.waves)
            waves[row] = np.concatenate((np.full(missing, curve.waves[0]), curve.waves))
            means[row] = np.concatenate((np.full(missing, curve.means[0]), curve.means))
            late[row] = curve.late
    return waves, means, late
