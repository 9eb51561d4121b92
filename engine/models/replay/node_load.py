"""How fast a slot of other nodes is: by CPU score, and by how full of tasks those nodes are.

On a node that is half full each task has a core of its own, on a full one mostly a thread of one
(`engine.machines.hardware_threads`). Only computing gets slower, and tasks that wait leave their
vCPU to others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from engine.batch import ClusterBatch
from engine.forecast import FloatArray
from engine.machines.hardware_threads import (
    density_factor_notice,
    relative_time_at_load,
    tasks_per_vcpu,
    threads_per_core,
)
from engine.machines.transfer import speed_of
from engine.models.stages.disturbance import computes_elsewhere
from engine.notices import Notice
from engine.profile import Run
from engine.stage_run import StageRun

UNKNOWN_COMPUTING = 0.8
"""Prior: share of its time that a task computes where no log says: before Spark 2.1, in Python."""

COUNTED_SHARE = 0.75
"""Prior: share of what fuller nodes cost that is counted. What the job left of its nodes another
one may have used, so that its tasks shared their cores already."""

EMPTIER_SPREAD, FULLER_SPREAD = 0.3, 0.6
"""Prior: standard deviation of log time, as a share of what emptier and what fuller nodes change:
`SECOND_THREAD` by 0.15, and whether other jobs were there."""

UNKNOWN_COMPUTING_FACTOR = 1.5
"""Factor on that spread where it is not known how much tasks compute."""

_DIGITS = 6
"""Tasks per vCPU are rounded to so many digits: replays are kept by the speed of a slot, which has
to be one for equally full nodes of 3 and of 24 slots, whatever the rounding of the division."""


@dataclass(frozen=True, eq=False)
class NodeLoad:
    """How full a measured run's nodes were, and how much of their time its tasks computed."""

    run: Run

    @cached_property
    def before(self) -> float | None:
        """`tasks_per_vcpu` of the run."""
        return tasks_per_vcpu(self.run)

    @cached_property
    def _computing(self) -> tuple[float, float]:
        """Share of its time that a typical task computes, and of how much of it that is known."""
        work = np.asarray([stage.task_seconds.total for stage in self.run.stages])
        shares = [_computing_share(stage) for stage in self.run.stages]
        known = np.asarray([share is not None for share in shares])
        each = np.asarray([UNKNOWN_COMPUTING if share is None else share for share in shares])
        if not work.sum() > 0.0:
            return UNKNOWN_COMPUTING, 0.0
        return float(work @ each / work.sum()), float(work @ known / work.sum())

    def speeds(self, batch: ClusterBatch) -> tuple[FloatArray, FloatArray]:
        """(n,) speed of a slot relative to one of the run, and (n,) spread of its logarithm."""
        relative, doubt = batch.speeds(self.run.cluster.instance)
        vcpus = np.asarray([np.nan if kind is None else kind.vcpus for kind in batch.types])
        threads = np.asarray(
            [1 if kind is None else threads_per_core(kind) for kind in batch.types]
        )
        after = batch.slots / batch.nodes / vcpus[batch.type_index]
        log_times, spread = self._log_times(after, threads[batch.type_index])
        return relative / np.exp(log_times), np.hypot(doubt, spread)

    def speed_on(self, run: Run) -> tuple[float, float]:
        """`speeds` of the nodes of another run."""
        known = speed_of(run.cluster.instance, self.run.cluster.instance, None)
        after, instance = tasks_per_vcpu(run), run.cluster.instance
        if after is None or instance is None:
            return known.relative, known.log_scale
        threads = np.asarray([threads_per_core(instance)])
        log_times, spread = self._log_times(np.asarray([after]), threads)
        log_scale = math.hypot(known.log_scale, float(spread[0]))
        return known.relative / float(np.exp(log_times[0])), log_scale

    def notice(self, batch: ClusterBatch) -> Notice | None:
        """What is to be said of the nodes of the one cluster of `batch`."""
        target = batch.types[int(batch.type_index[0])]
        if target is None or self.before is None or np.isnan(batch.nodes[0]):
            return None
        by_score = speed_of(target, self.run.cluster.instance, batch.catalog).relative
        times = by_score / float(self.speeds(batch)[0][0])
        slots = float(batch.slots[0] / batch.nodes[0])
        return density_factor_notice(self.run, target, slots_per_node=slots, times=times)

    def _log_times(self, after: FloatArray, threads: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(n,) log of the factor on task time on nodes with `after` tasks per vCPU, relative to the
        run's nodes, and (n,) its spread; 0 where either is unknown.

        Args:
            threads: (n,) hardware threads per core.
        """
        source, before = self.run.cluster.instance, self.before
        if source is None or before is None:
            return np.zeros(len(after)), np.zeros(len(after))
        computing, known_share = self._computing
        in_log = self._seconds(np.asarray([before]), np.asarray([threads_per_core(source)]))
        seconds = self._seconds(after, threads)
        log_times = np.log(1.0 - computing + computing * seconds / in_log)
        log_times = np.where(np.isfinite(log_times) & np.isfinite(after), log_times, 0.0)
        fuller = log_times > 0.0
        spread = np.where(fuller, FULLER_SPREAD, EMPTIER_SPREAD) * np.abs(log_times)
        spread *= known_share + (1.0 - known_share) * UNKNOWN_COMPUTING_FACTOR
        return np.where(fuller, COUNTED_SHARE, 1.0) * log_times, spread

    def _seconds(self, tasks: FloatArray, threads: FloatArray) -> FloatArray:
        """`relative_time_at_load` with so many tasks per vCPU."""
        busy = np.minimum(1.0, np.round(tasks, _DIGITS) * self._computing[0])
        return relative_time_at_load(busy, threads.astype(float))


def _computing_share(stage: StageRun) -> float | None:
    """Share of a stage's task time that its tasks computed; None where the log does not say."""
    if stage.cpu_seconds is None or computes_elsewhere(stage) or not stage.task_seconds.total > 0.0:
        return None
    return min(1.0, stage.cpu_seconds.total / stage.task_seconds.total)
