"""The outlines of many stages' task times at one input, computed as arrays.

As `StageModel.tasks`, but for all stages of a log at once: for each its outline, which is some of
its task times in ascending order and the number of tasks that each stands for, and the sum of all
times. Stages with similar numbers of tasks are computed together. In: the table of stages and their
partitions. Out: `Outlines`. Explained in docs/models/sparkplan_rules_replay.md#many-stages-at-once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from engine.forecast import FloatArray, IntArray
from engine.models.stages.durations.launches import last_launched
from engine.models.stages.durations.quantile_sums import QuantileSums
from engine.models.stages.durations.task_times import PLACED_TASKS
from engine.models.stages.set_up import SET_UP_SECONDS
from engine.models.stages.stage_table import OUTLINE_PROBABILITIES, ScaledBatch, StageTable
from engine.scheduling.makespans import BODY, EVERY_TASK, TAIL_STEPS, Outlines

FEW_TASKS = 32
"""Stages of up to so many tasks are a group of their own, so that thousands of them need no wider
arrays."""

ROUNDING = 1e-12
"""Relative tolerance of equal times."""


def groups_by_size(stages: IntArray, batch: ScaledBatch) -> list[tuple[IntArray, IntArray]]:
    """Groups of stages of similar size that are computed together.

    Returns:
        For each group, its rows of `batch` and the indices of its stages in the log.
    """
    size = np.searchsorted((FEW_TASKS, EVERY_TASK, PLACED_TASKS), batch.tasks)
    by_size = (np.flatnonzero(size == group) for group in range(4))
    return [(rows, stages[rows]) for rows in by_size if rows.size]


def outlines(table: StageTable, stages: IntArray, batch: ScaledBatch) -> Outlines:
    """The outlines of the stages of one group."""
    tasks = batch.tasks[0]
    if tasks > PLACED_TASKS:
        result = _outlines_of_many(table, stages, batch)
    else:
        result = (_outlines_by_rank if tasks <= EVERY_TASK else _outlines_by_sums)(
            table, stages, batch
        )
    return _with_computed(table, result, stages, batch, np.flatnonzero(table.hot[stages]))


def _outlines_of_many(table: StageTable, stages: IntArray, batch: ScaledBatch) -> Outlines:
    """Outlines of stages of more than `PLACED_TASKS` tasks, as
    `times_from_quantiles` and `StageModel.tasks`, at some probabilities."""
    n, (at, counts, end) = batch.tasks[:, None], _grid(batch.tasks)
    column = np.arange(at.shape[1])
    depth = table.base_depth[stages, : len(column)]
    gap, (longest, before) = table.last_gap[stages][:, None], table.ends_at(stages, n)
    tail = (at > 1.0 - gap) & (column <= end)
    tail &= tail.sum(axis=1, keepdims=True) > 1
    above = before + (longest - before) * (depth / np.log(gap * 2.0 * n))
    times = np.where(tail, above, table.base_times[stages, : len(column)])
    times = np.where(column < end, times, longest)
    others_total = np.einsum("ij,ij->i", times, np.where(column < end, counts, 0.0))[:, None]
    tasks_of_longest = np.take_along_axis(counts, end, axis=1)
    times *= np.where(
        column < end, table.factor(stages, n, longest * tasks_of_longest, others_total), 1.0
    )
    ordered = table.scaled_seconds(stages, times, batch.work[:, None])
    return Outlines(ordered, counts, np.einsum("ij,ij->i", ordered, counts))


def _outlines_by_rank(table: StageTable, stages: IntArray, batch: ScaledBatch) -> Outlines:
    """Outlines of stages of up to `EVERY_TASK` tasks, with every task, as `times_from_quantiles`
    and `StageModel.tasks`."""
    n, points = batch.tasks[:, None], table.points[stages][:, None]
    rank = np.arange(int(batch.tasks.max()))
    exists, same_count = rank < n, n == points
    middle = np.minimum((rank + 0.5) / n, 1.0 - 0.5 / n)
    at = np.where(same_count, np.minimum(rank, n - 1.0), middle * (points - 1.0))
    times = table.between(stages, at)
    gap, (longest, before) = table.last_gap[stages][:, None], table.ends_at(stages, n)
    tail = (middle > 1.0 - gap) & exists
    tail &= (tail.sum(axis=1, keepdims=True) > 1) & ~same_count
    if tail.any():
        depth, reach = np.log(gap) - np.log(1.0 - middle), np.log(gap * 2.0 * n)
        part = np.divide(depth, reach, out=np.zeros_like(depth), where=tail)
        times = np.where(tail, before + (longest - before) * part, times)
    keeps = (n > points) & (points > 1)
    kept = np.where(keeps, longest, 0.0)
    free = exists & (rank < n - keeps)
    times = np.where(exists & ~free, longest, times)
    others_total = np.where(free, times, 0.0).sum(axis=1, keepdims=True)
    factor = table.factor(stages, n, kept, others_total)
    times *= np.where(free & ~same_count & (points > 1), factor, 1.0)
    if (fewer := (n < points)[:, 0] | (same_count[:, 0] & table.sampled[stages])).any():
        shares = table.means_of_shares(stages[fewer], n[fewer])
        times[fewer, : shares.shape[1]] = shares
    ordered = table.scaled_seconds(stages, times, _work_by_rank(table, stages, batch, len(rank)))
    ordered = _ascending(np.where(exists, ordered, np.inf))
    total = np.where(exists, ordered, 0.0).sum(axis=1)
    return Outlines(
        np.where(exists, ordered, np.take_along_axis(ordered, n.astype(np.int64) - 1, axis=1)),
        exists.astype(float),
        total,
    )


def _outlines_by_sums(table: StageTable, stages: IntArray, batch: ScaledBatch) -> Outlines:
    """Outlines of stages between the two sizes, as `times_from_quantiles`, `StageModel.tasks` and
    `outline`: some task times are computed, and the sum of all in closed form. Stages in which two
    tasks are out of order are computed one by one."""
    rescaled = _RescaledTimes.of(table, stages, batch)
    n, longest = batch.tasks, rescaled.longest
    last, shorter = _last_tasks(table, stages, batch, rescaled.times)
    whole_seconds = table.scaled_seconds(stages, rescaled.times(last), batch.work[:, None])
    total = _total(table, stages, batch, rescaled) + (shorter - whole_seconds)[:, 0]
    at, counts, _ = _grid(n)
    rank = np.minimum(np.floor(at * n[:, None]), n[:, None] - 1.0)
    partial = batch.last < 1.0
    passed = rescaled.times(n[:, None] - 2.0)[:, 0] > longest * (1.0 + ROUNDING)
    # One task may be out of order: the last one launched, or the longest if others, scaled to the
    # mean, exceed it.
    last_observed = table.unscaled_seconds(stages, shorter[:, 0], batch.work)
    moved_seconds = np.where(partial, last_observed, longest)
    seconds = table.scaled_seconds(stages, longest[:, None], batch.work[:, None])
    seconds = np.where(partial[:, None], shorter, seconds)
    last = np.where(partial[:, None], last, n[:, None] - 1.0)
    insertion_rank = rescaled.sums.below(moved_seconds / rescaled.factor)[:, None]
    is_moved = (partial | passed)[:, None]
    shifted = is_moved & (rank > insertion_rank) & (rank <= last)
    ordered = table.scaled_seconds(stages, rescaled.times(rank - shifted), batch.work[:, None])
    ordered = np.where(is_moved & (rank == insertion_rank), seconds, ordered)
    result, both_moved = Outlines(ordered, counts, total), partial & passed
    points = np.maximum(table.points[stages], 2)
    return _with_computed(table, result, stages, batch, np.flatnonzero(both_moved | (n <= points)))


@dataclass(frozen=True, eq=False)
class _RescaledTimes:
    """Task times of m stages at the observed size: the longest of each is kept, the others are
    scaled to the mean.

    Args:
        sums: the times before scaling, and their partial sums.
        n: (m,) number of tasks.
        longest: (m,) longest time.
        rest: (m,) sum of all other times before scaling.
        factor: (m,) scale factor of these.
    """

    sums: QuantileSums
    n: FloatArray
    longest: FloatArray
    rest: FloatArray
    factor: FloatArray

    @classmethod
    def of(cls, table: StageTable, stages: IntArray, batch: ScaledBatch) -> _RescaledTimes:
        """The task times of the stages of a group."""
        n, points = batch.tasks, np.maximum(table.points[stages], 2)
        tail = n - np.floor(n - n / (points - 1.0) - 0.5) > 2.0
        longest = table.ends_at(stages, n[:, None])[0]
        sums = QuantileSums.of(table.values_of(stages, longest), points, n, tail)
        longest, others_total = longest[:, 0], sums.sum_to(n - 1.0)
        factor = table.factor(stages, n[:, None], longest[:, None], others_total[:, None])[:, 0]
        factor = np.where(table.points[stages] > 1, factor, 1.0)
        return cls(sums, n, longest, others_total, factor)

    def times(self, rank: FloatArray) -> FloatArray:
        """(m, p) times at (m, p) ranks."""
        result = self.sums.at(rank) * self.factor[:, None]
        return np.where(rank < self.n[:, None] - 1.0, result, self.longest[:, None])

    def sum_up_to(self, limit: FloatArray) -> FloatArray:
        """(m,) sum of all times, each counted up to (m,) limits."""
        count = self.sums.below(limit / self.factor)
        beyond = limit * (self.n - 1.0 - count) + np.minimum(self.longest, limit)
        return self.factor * self.sums.sum_to(count) + beyond


def _total(
    table: StageTable, stages: IntArray, batch: ScaledBatch, rescaled: _RescaledTimes
) -> FloatArray:
    """(m,) sum of the times of all tasks if each had a whole partition."""
    overhead, share = table.overhead[stages], table.set_up_share[stages]
    up_to = rescaled.sum_up_to(overhead), rescaled.sum_up_to(overhead + SET_UP_SECONDS / share)
    fixed = (1.0 - share) * up_to[0] + share * up_to[1]
    total = fixed + (rescaled.factor * rescaled.rest + rescaled.longest - fixed) * batch.work
    return total + batch.tasks * table.dispatch_seconds[stages]


def _with_computed(
    table: StageTable, result: Outlines, stages: IntArray, batch: ScaledBatch, rows: IntArray
) -> Outlines:
    """The outlines with some rows replaced by those of tasks computed one by one."""
    each = batch.take(rows).each()
    for row, index, scaled in zip(rows.tolist(), stages[rows].tolist(), each, strict=True):
        tasks = table.tasks_of(index, scaled)
        times, counts = tasks.outlined
        result.ordered[row, : len(times)], result.ordered[row, len(times) :] = times, times[-1]
        result.counts[row, : len(times)], result.counts[row, len(times) :] = counts, 0.0
        result.total[row] = tasks.total
    return result


def _last_tasks(
    table: StageTable,
    stages: IntArray,
    batch: ScaledBatch,
    times: Callable[[FloatArray], FloatArray],
) -> tuple[FloatArray, FloatArray]:
    """(m, 1) rank and (m, 1) time of the task that is launched last and has a partial partition;
    rank 0 for stages without one."""
    rank = np.zeros((len(stages), 1))
    for row, last in _partial_ranks(table, stages, batch):
        rank[row] = last
    return rank, table.scaled_seconds(stages, times(rank), (batch.work * batch.last)[:, None])


def _work_by_rank(
    table: StageTable, stages: IntArray, batch: ScaledBatch, ranks: int
) -> FloatArray:
    """(m, 1) or (m, ranks) relative work of each task; less for a last one that is partial."""
    partial = list(_partial_ranks(table, stages, batch))
    if not partial:
        return batch.work[:, None]
    work = np.repeat(batch.work[:, None], ranks, axis=1)
    for row, rank in partial:
        work[row, rank] *= batch.last[row]
    return work


def _partial_ranks(
    table: StageTable, stages: IntArray, batch: ScaledBatch
) -> Iterator[tuple[int, int]]:
    """Each row whose task that is launched last has a partial partition, and the rank of that
    task."""
    for row in np.flatnonzero(batch.last < 1.0).tolist():
        index, n = int(stages[row]), int(batch.tasks[row])
        yield row, last_launched(table.models[index].order_seed, n, float(table.rotation[index]))


def _grid(tasks: FloatArray) -> tuple[FloatArray, FloatArray, IntArray]:
    """`outline_of` for (m,) numbers of tasks: (m, p) probabilities, (m, p) tasks that each stands
    for, and the (m, 1) last column of each row, beyond which there are none."""
    halvings = TAIL_STEPS * np.maximum(1.0, np.floor(np.log2(tasks / BODY)))
    kept = np.searchsorted(OUTLINE_PROBABILITIES[BODY:], 1.0 - 1.0 / tasks)
    end = BODY + np.minimum(kept, halvings).astype(np.int64)[:, None]
    column = np.arange(int(end.max()) + 1)
    at = np.where(column < end, OUTLINE_PROBABILITIES[: len(column)], 1.0 - 0.5 / tasks[:, None])
    upper = np.ones_like(at)
    upper[:, :-1] = np.where(column[:-1] < end, (at[:, :-1] + at[:, 1:]) / 2.0, 1.0)
    return at, np.diff(upper, axis=1, prepend=0.0) * tasks[:, None], end


def _ascending(rows: FloatArray) -> FloatArray:
    """(m, p) rows sorted in ascending order; most already are."""
    falling = np.flatnonzero((rows[:, 1:] < rows[:, :-1]).any(axis=1))
    if falling.size:
        rows[falling] = np.sort(rows[falling], axis=1)
    return rows
