"""Stages as SimCost's cost model sees them, and what they cost on many clusters at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from engine.forecast import FloatArray, IntArray
from engine.models.simcost import costs
from engine.models.simcost.search import Coefficients


@dataclass(frozen=True, eq=False)
class Stages:
    """q stages (pools of them) as the cost model needs them: (q,) arrays.

    Args:
        partitions: tasks P. data_bytes: D, what they read, of all tasks together.
        observed_waves: waves that the stage ran in.
        overhead_seconds: O_S. straggler_seconds: waiting for long tasks, which O_S is without.
        longest_seconds: what the longest task takes above the mean.
        task_overhead_seconds: O_T.
        compute_seconds_per_byte: C_compute.
        input_ratio, output_ratio, read_ratio, write_ratio: input read from outside, output written,
            shuffle read and written, per byte of data.
        times: how often each is run.
    """

    partitions: FloatArray
    data_bytes: FloatArray
    observed_waves: FloatArray
    overhead_seconds: FloatArray
    straggler_seconds: FloatArray
    longest_seconds: FloatArray
    task_overhead_seconds: FloatArray
    compute_seconds_per_byte: FloatArray
    input_ratio: FloatArray
    output_ratio: FloatArray
    read_ratio: FloatArray
    write_ratio: FloatArray
    times: FloatArray

    @classmethod
    def joined(cls, parts: Sequence[Stages]) -> Stages:
        """All stages of some, one after the other."""
        names = (field.name for field in fields(cls))
        return cls(**{n: np.concatenate([getattr(part, n) for part in parts]) for n in names})

    def merged(self, task_seconds: FloatArray) -> Stages:
        """Stages of equally many partitions (and observed waves) as one that costs the same: Eqs. 9
        to 12 are linear in everything but P. So are `stragglers` where the same of their two bounds
        decides for all: no stage ends before its longest task on fewer waves than `spare`.

        Args:
            task_seconds: (q,) of a mean task.
        """
        late = (self.longest_seconds - self.straggler_seconds) / np.maximum(task_seconds, _TINY)
        spare = np.ceil(late / np.maximum(1.0 - 1.0 / self.observed_waves, 0.5))
        rows = np.column_stack((self.partitions, self.observed_waves, np.maximum(spare, 2.0)))
        alike, index = np.unique(rows, axis=0, return_inverse=True)

        def added(values: FloatArray) -> FloatArray:
            weights = values * self.times
            return np.bincount(index.reshape(-1), weights, len(alike)).astype(float)

        data = added(self.data_bytes)
        per_byte = {name: added(getattr(self, name) * self.data_bytes) / data for name in _PER_BYTE}
        return Stages(
            partitions=alike[:, 0],
            observed_waves=alike[:, 1],
            data_bytes=data,
            overhead_seconds=added(self.overhead_seconds),
            straggler_seconds=added(self.straggler_seconds),
            longest_seconds=added(self.longest_seconds),
            task_overhead_seconds=added(self.task_overhead_seconds),
            times=np.ones(len(alike)),
            **per_byte,
        )

    def stragglers(
        self, *, vcores: FloatArray, speed: FloatArray, task_seconds: FloatArray
    ) -> FloatArray:
        """(u, q) seconds that a stage waits for its longest tasks on (u, 1) vcores.

        With as many waves as were observed (or more), as long as then; in a single wave, all of
        what the longest task takes above the mean; linear in 1 / waves between. No stage ends
        before its longest task.
        """
        waves = costs.waves(partitions=self.partitions, vcores=vcores)
        observed = 1.0 / self.observed_waves
        share = np.clip((1.0 / waves - observed) / np.maximum(1.0 - observed, 0.5), 0.0, 1.0)
        usual = self.straggler_seconds + (self.longest_seconds - self.straggler_seconds) * share
        least = self.longest_seconds / speed - (waves - 1.0) * task_seconds
        return np.asarray(np.maximum(usual / speed, least))


_TINY = 1e-12

_PER_BYTE = ("compute_seconds_per_byte", "input_ratio", "output_ratio", "read_ratio", "write_ratio")


@dataclass(frozen=True, eq=False)
class Clusters:
    """u clusters as the cost model needs them: (u,) arrays.

    Args:
        vcores: V. vcores_per_node: V / N.
        speed: of a core, relative to where the costs were learnt.
        rates: (u, 4) seconds per byte in the order of `rates.moved_bytes`.
        shared: whether these are a node's, which its tasks share.
    """

    vcores: FloatArray
    vcores_per_node: FloatArray
    speed: FloatArray
    rates: FloatArray
    shared: bool

    def take(self, rows: IntArray) -> Clusters:
        vcores, per_node = self.vcores[rows], self.vcores_per_node[rows]
        return Clusters(vcores, per_node, self.speed[rows], self.rates[rows], self.shared)


def mean_task_seconds(stages: Stages, at: Clusters) -> FloatArray:
    """4.2.2 Eqs. 10 to 12: (u, q) seconds of a mean task of each stage."""
    sharing: costs.Quantity = 1.0
    if at.shared:
        sharing = costs.tasks_at_once_per_node(
            partitions=stages.partitions,
            vcores=at.vcores[:, None],
            vcores_per_node=at.vcores_per_node[:, None],
        )
    read, write, read_shuffle, write_shuffle = (
        at.rates[:, column, None] * sharing for column in range(4)
    )
    per_task = stages.data_bytes / stages.partitions
    computing = costs.computing_seconds(
        data_bytes=per_task,
        compute_seconds_per_byte=stages.compute_seconds_per_byte / at.speed[:, None],
        read_seconds_per_byte=read,
        write_seconds_per_byte=write,
        input_ratio=stages.input_ratio,
        output_ratio=stages.output_ratio,
    )
    shuffling = costs.shuffling_seconds(
        data_bytes=per_task,
        read_ratio=stages.read_ratio,
        write_ratio=stages.write_ratio,
        read_seconds_per_byte=read_shuffle,
        write_seconds_per_byte=write_shuffle,
    )
    seconds = costs.task_seconds(
        overhead_seconds=stages.task_overhead_seconds,
        computing_seconds=computing,
        shuffling_seconds=shuffling,
    )
    return np.asarray(seconds)


def predicted_seconds(stages: Stages, at: Clusters, *, overhead_seconds: float) -> FloatArray:
    """4.2.2 Eqs. 8 and 9: (u,) seconds of a job whose stages are `merged`."""
    vcores, speed = at.vcores[:, None], at.speed[:, None]
    of_task = mean_task_seconds(stages, at)
    waiting = stages.stragglers(vcores=vcores, speed=speed, task_seconds=of_task)
    of_stage = costs.stage_seconds(
        overhead_seconds=stages.overhead_seconds + waiting,
        partitions=stages.partitions,
        vcores=vcores,
        task_seconds=of_task,
    )
    return costs.job_seconds(overhead_seconds=overhead_seconds, stage_seconds=np.asarray(of_stage))


def transformed(stages: Stages, at: Clusters, *, overhead_seconds: float) -> Coefficients:
    """4.3: the cost model as gamma_0 / V + gamma_1 N + gamma_2 on nodes as those of the one
    cluster, waves counted as P / V; gamma_1 is 0, since a log's overheads are those of its own
    cluster. gamma_2 has the stragglers of as many waves as were observed, on any number of vcores:
    none are fewer."""
    zero = np.zeros_like(stages.partitions)
    still = replace(at, rates=np.zeros_like(at.rates))
    idle = replace(
        stages,
        task_overhead_seconds=zero,
        compute_seconds_per_byte=zero,
        longest_seconds=stages.straggler_seconds,
    )
    gamma_2 = float(predicted_seconds(idle, still, overhead_seconds=overhead_seconds)[0])
    lone = replace(at, vcores=np.ones_like(at.vcores))
    plain = replace(stages, longest_seconds=zero, straggler_seconds=zero)
    none = replace(idle, longest_seconds=zero, straggler_seconds=zero)
    bare = float(predicted_seconds(none, still, overhead_seconds=overhead_seconds)[0])
    alone = float(predicted_seconds(plain, lone, overhead_seconds=overhead_seconds)[0])
    return Coefficients(alone - bare, 0.0, gamma_2)
