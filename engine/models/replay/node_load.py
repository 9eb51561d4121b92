"""The speed of a slot on other nodes: by their CPU score, and by their load, the tasks per vCPU.

On a node with few tasks each has a core of its own, on a fully loaded one mostly a hardware thread
(`engine.machines.hardware_threads`). Only computing gets slower, and tasks that wait leave their
vCPU to others. In: a measured run and other clusters. Out: speeds relative to the run's, with the
standard deviation of their logarithm. Explained in
docs/models/sparkplan_rules_replay.md#threads-that-share-a-core.
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

UNKNOWN_CPU_SHARE = 0.8
"""Prior: CPU time as a share of a task's time, where the log does not tell: before Spark 2.1, in
Python."""

HIGHER_LOAD_SHARE = 0.75
"""Prior: share of the cost of a higher load that is expected. Another job may have used what this
one left of its nodes, so that its tasks shared their cores already."""

LOWER_LOAD_SPREAD, HIGHER_LOAD_SPREAD = 0.3, 0.6
"""Prior: standard deviation of log time, as a share of the change by a lower or higher load:
`SECOND_THREAD` by 0.15, and whether other jobs were there."""

UNKNOWN_CPU_SPREAD_FACTOR = 1.5
"""Factor on that standard deviation where CPU times are unknown."""

_DIGITS = 6
"""Tasks per vCPU are rounded to so many digits: replays are cached by the speed of a slot, which
has to be the same for equally loaded nodes of 3 and of 24 slots, whatever the rounding of the
division."""


@dataclass(frozen=True, eq=False)
class NodeLoad:
    """The load of a measured run's nodes, and the share of their time that its tasks computed."""

    run: Run

    @cached_property
    def tasks_per_vcpu(self) -> float | None:
        """`hardware_threads.tasks_per_vcpu` of the run."""
        return tasks_per_vcpu(self.run)

    @cached_property
    def _cpu_share(self) -> tuple[float, float]:
        """Share of its time that a typical task computes, and the share of the work for which that
        is known."""
        work = np.asarray([stage.task_seconds.total for stage in self.run.stages])
        shares = [_cpu_share_of(stage) for stage in self.run.stages]
        known = np.asarray([share is not None for share in shares])
        filled = np.asarray([UNKNOWN_CPU_SHARE if share is None else share for share in shares])
        if not work.sum() > 0.0:
            return UNKNOWN_CPU_SHARE, 0.0
        return float(work @ filled / work.sum()), float(work @ known / work.sum())

    def speeds(self, batch: ClusterBatch) -> tuple[FloatArray, FloatArray]:
        """(n,) speed of a slot relative to one of the run, and (n,) spread of its logarithm."""
        relative, log_scale = batch.speeds(self.run.cluster.instance)
        vcpus = np.asarray([np.nan if target is None else target.vcpus for target in batch.types])
        threads = np.asarray(
            [1 if target is None else threads_per_core(target) for target in batch.types]
        )
        load = batch.slots / batch.nodes / vcpus[batch.type_index]
        log_times, spread = self._log_times(load, threads[batch.type_index])
        return relative / np.exp(log_times), np.hypot(log_scale, spread)

    def speed_on(self, run: Run) -> tuple[float, float]:
        """`speeds` of the nodes of another run."""
        by_score = speed_of(run.cluster.instance, self.run.cluster.instance, None)
        load, instance = tasks_per_vcpu(run), run.cluster.instance
        if load is None or instance is None:
            return by_score.relative, by_score.log_scale
        threads = np.asarray([threads_per_core(instance)])
        log_times, spread = self._log_times(np.asarray([load]), threads)
        log_scale = math.hypot(by_score.log_scale, float(spread[0]))
        return by_score.relative / float(np.exp(log_times[0])), log_scale

    def notice(self, batch: ClusterBatch) -> Notice | None:
        """The notice about the load of the nodes of the one cluster of `batch`."""
        target = batch.types[int(batch.type_index[0])]
        if target is None or self.tasks_per_vcpu is None or np.isnan(batch.nodes[0]):
            return None
        by_score = speed_of(target, self.run.cluster.instance, batch.catalog).relative
        times = by_score / float(self.speeds(batch)[0][0])
        slots = float(batch.slots[0] / batch.nodes[0])
        return density_factor_notice(self.run, target, slots_per_node=slots, times=times)

    def _log_times(self, load: FloatArray, threads: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(n,) log of the factor on task time on nodes with (n,) tasks per vCPU, relative to the
        run's nodes, and (n,) its standard deviation; 0 where either load is unknown.

        Args:
            threads: (n,) hardware threads per core.
        """
        source, log_load = self.run.cluster.instance, self.tasks_per_vcpu
        if source is None or log_load is None:
            return np.zeros(len(load)), np.zeros(len(load))
        cpu_share, known_share = self._cpu_share
        in_log = self._seconds(np.asarray([log_load]), np.asarray([threads_per_core(source)]))
        seconds = self._seconds(load, threads)
        log_times = np.log(1.0 - cpu_share + cpu_share * seconds / in_log)
        log_times = np.where(np.isfinite(log_times) & np.isfinite(load), log_times, 0.0)
        higher = log_times > 0.0
        spread = np.where(higher, HIGHER_LOAD_SPREAD, LOWER_LOAD_SPREAD) * np.abs(log_times)
        spread *= known_share + (1.0 - known_share) * UNKNOWN_CPU_SPREAD_FACTOR
        return np.where(higher, HIGHER_LOAD_SHARE, 1.0) * log_times, spread

    def _seconds(self, tasks: FloatArray, threads: FloatArray) -> FloatArray:
        """(n,) `relative_time_at_load` with (n,) tasks per vCPU."""
        busy = np.minimum(1.0, np.round(tasks, _DIGITS) * self._cpu_share[0])
        return relative_time_at_load(busy, threads.astype(float))


def _cpu_share_of(stage: StageRun) -> float | None:
    """CPU time of a stage's tasks over their time; None where the log does not tell."""
    if stage.cpu_seconds is None or computes_elsewhere(stage) or not stage.task_seconds.total > 0.0:
        return None
    return min(1.0, stage.cpu_seconds.total / stage.task_seconds.total)
