"""What SimCost learns of a run from its log: the costs of its stages, for any input and cluster.

Stages that ran beside each other are one pool of tasks: Eq. 8 adds stages up, as if they never
overlapped. On its own cluster and input a run's costs add up to its time exactly.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from engine.caching import LruCache
from engine.forecast import FloatArray
from engine.given_profiles import ResourceProfile
from engine.intervals import exclusive_seconds
from engine.models.replay.stages_by_slots import CACHED_INPUTS
from engine.models.simcost import costs
from engine.models.simcost.costs import Rates
from engine.models.simcost.rates import (
    SHAPE_OF,
    data_of,
    moved_bytes,
    rates_of,
    seconds_per_byte,
    vcores_per_node,
)
from engine.models.simcost.stages import Clusters, Stages, mean_task_seconds
from engine.models.stages.durations.task_times import StageModel
from engine.models.stages.set_up import SET_UP_SECONDS, SET_UP_SHARE
from engine.models.stages.stage_models import stage_models
from engine.profile import Run
from engine.stage_run import StageRun, total_of

OVERLAP = 0.5
"""Stages that share more than this part of the shorter one's time are one pool of tasks."""


@dataclass(frozen=True, eq=False)
class RunCosts:
    """A run whose costs were learnt.

    Args:
        slots, slots_per_node: of the cluster that it ran on.
        rates: at which it moved its data.
        pools: the observed stages of each pool.
        observed: the costs of the pools as they were.
        overhead_seconds: O_J, the time in which no stage ran.
        faster: share of the time in stages that moved data faster than the rates allow.
    """

    run: Run
    slots: int
    slots_per_node: float
    rates: Rates
    pools: tuple[tuple[StageModel, ...], ...]
    observed: Stages
    overhead_seconds: float
    faster: float = 0.0
    _inputs: LruCache[tuple[Stages, float]] = field(
        default_factory=lambda: LruCache(CACHED_INPUTS), repr=False
    )

    @classmethod
    def of(cls, run: Run, resources: ResourceProfile | None = None) -> RunCosts:
        """The costs of a run with stages on a known number of slots."""
        stages = tuple(stage for stage in run.stages if stage.tasks)
        slots = run.cluster.slots
        if not stages or not slots:
            raise ValueError("costs need stages and slots")
        run = replace(run, stages=stages)
        per_node = vcores_per_node(run.cluster)
        rates = rates_of(run, resources)
        start = np.asarray([stage.submitted_seconds for stage in run.stages])
        end = np.asarray([stage.completed_seconds for stage in run.stages])
        own = exclusive_seconds(start, np.maximum(start, end))
        models = stage_models(run, slots)
        places = pooled(run.stages)
        learner = _Learner(slots, per_node, rates)
        learnt = [
            learner.pool([models[p] for p in group], float(own[group].sum())) for group in places
        ]
        too_fast = sum(
            float(own[group].sum())
            for group, (_, faster) in zip(places, learnt, strict=True)
            if faster
        )
        return cls(
            run=run,
            slots=slots,
            slots_per_node=per_node,
            rates=rates,
            pools=tuple(tuple(models[p] for p in group) for group in places),
            observed=Stages.joined([pool for pool, _ in learnt]),
            overhead_seconds=max(0.0, run.seconds - float(own.sum())),
            faster=too_fast / run.seconds,
        )

    def at(
        self, *, ratio: float, shuffle_partitions: int | None, iterations: float | None
    ) -> tuple[Stages, float]:
        """The (merged) stages and O_J with `ratio` times the input, other shuffle partitions, and
        other iterations."""

        def made() -> tuple[Stages, float]:
            stages = self._scaled(ratio, shuffle_partitions)
            times, share = self._times(iterations)
            of_task = mean_task_seconds(stages, self.cluster_with(self.rates))[0]
            return replace(stages, times=times).merged(of_task), self.overhead_seconds * share

        return self._inputs.get((ratio, shuffle_partitions, iterations), made)

    def cluster_with(self, rates: Rates, *, speed: float = 1.0) -> Clusters:
        """The cluster that the run was observed on, with cores of a relative speed and some
        rates."""
        return Clusters(
            np.asarray([float(self.slots)]),
            np.asarray([self.slots_per_node]),
            np.asarray([speed]),
            seconds_per_byte(rates)[None],
            rates.shared,
        )

    def _scaled(self, ratio: float, shuffle_partitions: int | None) -> Stages:
        """Partitions and data of each pool with another input; work per task stretches stragglers
        too."""
        partitions, data = [], []
        for pool in self.pools:
            scaled = [(model.stage, grown(model, ratio, shuffle_partitions)) for model in pool]
            partitions.append(sum(tasks * stage.task_cpus for stage, (tasks, _) in scaled))
            data.append(sum(data_of(stage) * times for stage, (_, times) in scaled))
        tasks, read = np.asarray(partitions, dtype=float), np.asarray(data)
        was = self.observed.data_bytes / self.observed.partitions
        stretched = (read / tasks) / was
        return replace(
            self.observed,
            partitions=tasks,
            data_bytes=read,
            straggler_seconds=self.observed.straggler_seconds * stretched,
            longest_seconds=self.observed.longest_seconds * stretched,
        )

    def _times(self, iterations: float | None) -> tuple[FloatArray, float]:
        """How often each pool runs, and the factor of the driver's time: what the iterations repeat
        is known by its name."""
        own = self.run.workload.iterations
        plain = np.ones(len(self.pools))
        if own is None or iterations is None or own == iterations:
            return plain, 1.0
        names = Counter(stage.name for stage in self.run.stages)
        repeated = np.asarray(
            [any(names[s.stage.name] >= max(2.0, own / 2.0) for s in pool) for pool in self.pools]
        )
        factor = iterations / own
        share = float(repeated.mean())
        return np.where(repeated, factor, plain), 1.0 + share * (factor - 1.0)

    @property
    def rates_from_shape(self) -> bool:
        """Whether the rates are those of the catalog's shape."""
        return self.rates.origin.startswith(SHAPE_OF)

    def peak_bytes(self, ratio: float, shuffle_partitions: int | None) -> float | None:
        """The largest execution memory of a task with `ratio` times the input; None where no task
        told any."""
        peaks = [
            peak.maximum * max(1.0, model.scaled(ratio, shuffle_partitions).work)
            for pool in self.pools
            for model in pool
            if (peak := model.stage.peak_execution_memory_bytes) is not None and peak.maximum
        ]
        return max(peaks, default=None)

    @property
    def most_useful_slots(self) -> float:
        """No more slots than this are ever busy."""
        return float(self.observed.partitions.max())

    def sizes(self, ratio: float) -> dict[str, float]:
        """Table 3: bytes of intermediate input (all that the stages read as input, from outside or
        from the cache), shuffle and output, with `ratio` times the input."""
        sizes = dict.fromkeys(("intermediate_bytes", "shuffle_bytes", "output_bytes"), 0.0)
        for pool in self.pools:
            for model in pool:
                stage, (_, times) = model.stage, grown(model, ratio, None)
                sizes["intermediate_bytes"] += times * total_of(stage.input_bytes)
                sizes["shuffle_bytes"] += times * total_of(stage.shuffle_write_bytes)
                sizes["output_bytes"] += times * total_of(stage.output_bytes)
        return sizes


def grown(model: StageModel, ratio: float, shuffle_partitions: int | None) -> tuple[float, float]:
    """Partitions of a stage with `ratio` times the input, and its data relative to the observed.

    The last partition may be a partial one: a rounded number would make tasks smaller, and a wave
    faster, where the input grows a little.
    """
    scaled = model.scaled(ratio, shuffle_partitions)
    return scaled.partitions, scaled.work * scaled.partitions / model.stage.tasks


@dataclass(frozen=True)
class _Learner:
    """Costs of pools that ran on so many slots at these rates."""

    slots: int
    slots_per_node: float
    rates: Rates

    def pool(self, models: Sequence[StageModel], seconds: float) -> tuple[Stages, bool]:
        """The costs of one pool that took `seconds`, and whether it moved its data faster than the
        rates allow: then as much of it was in memory already."""
        stages = [model.stage for model in models]
        tasks = sum(stage.tasks * stage.task_cpus for stage in stages)
        data = sum(data_of(stage) for stage in stages)
        busy = sum((s.task_seconds.mean or 0.0) * s.tasks * s.task_cpus for s in stages)
        waves = int(np.ceil(tasks / self.slots))
        task_seconds = min(busy / tasks, seconds / waves)
        task_overhead = _task_overhead(stages, tasks, task_seconds)
        moved = moved_bytes(stages)
        moving = self._sharing(tasks) * float(moved @ seconds_per_byte(self.rates)) / tasks
        room = task_seconds - task_overhead
        fits = 1.0 if moving <= room else room / moving
        ratios = (fits * moved / data)[:, None]
        compute = costs.compute_seconds_per_byte(
            task_seconds=task_seconds,
            overhead_seconds=task_overhead,
            moving_seconds=moving * fits,
            data_bytes=data / tasks,
        )
        overhead, stragglers, longest = _straggling(stages, seconds, waves, task_seconds)
        learnt = Stages(
            partitions=np.asarray([float(tasks)]),
            data_bytes=np.asarray([data]),
            observed_waves=np.asarray([float(waves)]),
            overhead_seconds=np.asarray([overhead]),
            straggler_seconds=np.asarray([stragglers]),
            longest_seconds=np.asarray([longest]),
            task_overhead_seconds=np.asarray([task_overhead]),
            compute_seconds_per_byte=np.asarray([float(compute)]),
            input_ratio=ratios[0],
            output_ratio=ratios[1],
            read_ratio=ratios[2],
            write_ratio=ratios[3],
            times=np.ones(1),
        )
        return learnt, fits < FASTER

    def _sharing(self, tasks: float) -> float:
        """Tasks that share the throughput of a node; 1 where the rates are those of a task."""
        if not self.rates.shared:
            return 1.0
        at_once = costs.tasks_at_once_per_node(
            partitions=tasks, vcores=self.slots, vcores_per_node=self.slots_per_node
        )
        return float(at_once)


def _straggling(
    stages: Sequence[StageRun], seconds: float, waves: int, task_seconds: float
) -> tuple[float, float, float]:
    """Of the seconds of a pool beyond its waves of mean tasks: the overhead, the stragglers, and by
    how much its longest task may exceed a mean one."""
    rest = max(0.0, seconds - waves * task_seconds)
    longest = max((stage.task_seconds.maximum or 0.0) for stage in stages)
    above = max(0.0, longest - task_seconds)
    stragglers = min(rest, above)
    return rest - stragglers, stragglers, min(above, stragglers + (waves - 1) * task_seconds)


def _task_overhead(stages: Sequence[StageRun], tasks: float, task_seconds: float) -> float:
    """Seconds of a mean task that are no work on data: outside its run time, and its set-up."""
    outside = sum(
        (s.overhead_seconds.mean or 0.0) * s.tasks * s.task_cpus
        for s in stages
        if s.overhead_seconds
    )
    overhead = min(task_seconds, outside / tasks)
    return overhead + min(SET_UP_SHARE * (task_seconds - overhead), SET_UP_SECONDS)


FASTER = 0.9
"""Data that moved in less than this share of the time that the rates allow was not moved so."""


def pooled(stages: Sequence[StageRun]) -> list[list[int]]:
    """Places of the stages by pool, in the order of their start."""
    spans = [(s.submitted_seconds, s.completed_seconds) for s in stages]
    pools: list[list[int]] = []
    first, last = 0.0, 0.0
    for index in sorted(range(len(spans)), key=lambda p: spans[p]):
        start, end = spans[index]
        shorter = min(end - start, last - first)
        if pools and min(end, last) - start > OVERLAP * shorter:
            pools[-1].append(index)
            last = max(last, end)
        else:
            pools.append([index])
            first, last = start, end
    return pools
