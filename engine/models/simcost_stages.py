"""What SimCost learns of a run from its log: the costs of its stages, for any input and cluster.

Stages that ran beside each other are one pool of tasks: Eq. 8 adds stages up, as if they never
overlapped. On its own cluster and input a run's costs add up to its time exactly.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from engine.forecast import FloatArray
from engine.models import simcost_costs as costs
from engine.models.replay_report import exclusive_seconds
from engine.models.simcost_costs import Rates
from engine.models.simcost_rates import (
    SHAPE_OF,
    data_of,
    moved_bytes,
    rates_of,
    seconds_per_byte,
    total_of,
    vcores_per_node,
)
from engine.models.task_times import SET_UP_SECONDS, SET_UP_SHARE, Growth, StageShape, shapes_of
from engine.profile import ResourceProfile, Run, StageRun

OVERLAP = 0.5
"""Stages that share more than this part of the shorter one's time are one pool of tasks."""


@dataclass(frozen=True, eq=False)
class Stages:
    """q stages (pools of them) as the cost model needs them: (q,) arrays.

    Args:
        partitions: tasks P. data_bytes: D, what they read, of all tasks together.
        observed_waves: waves that the stage ran in.
        overhead_seconds: O_S. straggler_seconds: what of it was waiting for long tasks.
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

    def merged(self) -> Stages:
        """Stages of equally many partitions (and observed waves) as one that costs the same: Eqs. 9
        to 12 are linear in everything but P."""
        rows = np.column_stack((self.partitions, self.observed_waves))
        alike, place = np.unique(rows, axis=0, return_inverse=True)

        def added(values: FloatArray) -> FloatArray:
            weights = values * self.times
            return np.bincount(place.reshape(-1), weights, len(alike)).astype(float)

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


_PER_BYTE = (
    "compute_seconds_per_byte",
    "input_ratio",
    "output_ratio",
    "read_ratio",
    "write_ratio",
)


@dataclass(frozen=True, eq=False)
class Clusters:
    """u clusters as the cost model needs them: (u,) arrays.

    Args:
        vcores: V. vcores_per_node: V / N.
        speed: of a core, relative to where the costs were learnt.
        rates: (u, 4) seconds per byte in the order of `simcost_rates.moved_bytes`.
        shared: whether these are a node's, which its tasks share.
    """

    vcores: FloatArray
    vcores_per_node: FloatArray
    speed: FloatArray
    rates: FloatArray
    shared: bool


def predicted_seconds(stages: Stages, at: Clusters, *, overhead_seconds: float) -> FloatArray:
    """4.2.2 Eqs. 8 to 12: (u,) seconds of a job whose stages are `merged`."""
    vcores, speed = at.vcores[:, None], at.speed[:, None]
    sharing: costs.Quantity = 1.0
    if at.shared:
        sharing = costs.tasks_at_once_per_node(
            partitions=stages.partitions, vcores=vcores, vcores_per_node=at.vcores_per_node[:, None]
        )
    read, write, read_shuffle, write_shuffle = (
        at.rates[:, column, None] * sharing for column in range(4)
    )
    per_task = stages.data_bytes / stages.partitions
    computing = costs.computing_seconds(
        data_bytes=per_task,
        compute_seconds_per_byte=stages.compute_seconds_per_byte / speed,
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
    of_task = costs.task_seconds(
        overhead_seconds=stages.task_overhead_seconds,
        computing_seconds=computing,
        shuffling_seconds=shuffling,
    )
    of_task = np.asarray(of_task)
    waiting = stages.stragglers(vcores=vcores, speed=speed, task_seconds=of_task)
    of_stage = costs.stage_seconds(
        overhead_seconds=stages.overhead_seconds + waiting,
        partitions=stages.partitions,
        vcores=vcores,
        task_seconds=of_task,
    )
    return costs.job_seconds(overhead_seconds=overhead_seconds, stage_seconds=np.asarray(of_stage))


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
    pools: tuple[tuple[StageShape, ...], ...]
    observed: Stages
    overhead_seconds: float
    faster: float = 0.0
    _inputs: dict[object, tuple[Stages, float]] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, run: Run, resources: ResourceProfile | None = None) -> RunCosts:
        """The costs of a run with stages on a known number of slots."""
        if not run.stages or not run.cluster.slots:
            raise ValueError("costs need stages and slots")
        per_node = vcores_per_node(run.cluster)
        rates = rates_of(run, resources)
        start = np.asarray([stage.submitted_seconds for stage in run.stages])
        end = np.asarray([stage.completed_seconds for stage in run.stages])
        own = exclusive_seconds(start, np.maximum(start, end))
        shapes = shapes_of(run)
        places = pooled(run.stages)
        learner = _Learner(run.cluster.slots, per_node, rates)
        learnt = [
            learner.pool([shapes[p] for p in group], float(own[group].sum())) for group in places
        ]
        columns = {name: np.asarray([row[name] for row, _ in learnt]) for name in learnt[0][0]}
        too_fast = sum(float(own[g].sum()) for g, (_, fast) in zip(places, learnt, strict=True)
                       if fast)  # fmt: skip
        return cls(
            run=run,
            slots=run.cluster.slots,
            slots_per_node=per_node,
            rates=rates,
            pools=tuple(tuple(shapes[p] for p in group) for group in places),
            observed=Stages(**columns),
            overhead_seconds=max(0.0, run.seconds - float(own.sum())),
            faster=too_fast / run.seconds,
        )

    def at(
        self, *, ratio: float, shuffle_partitions: int | None, iterations: float | None
    ) -> tuple[Stages, float]:
        """The (merged) stages and O_J with `ratio` times the input, other shuffle partitions, and
        other iterations."""
        key = (ratio, shuffle_partitions, iterations)
        if key not in self._inputs:
            stages = self._scaled(ratio, shuffle_partitions)
            times, share = self._times(iterations)
            overhead = self.overhead_seconds * share
            self._inputs[key] = replace(stages, times=times).merged(), overhead
            while len(self._inputs) > KEPT_INPUTS:
                del self._inputs[next(iter(self._inputs))]
        return self._inputs[key]

    def _scaled(self, ratio: float, shuffle_partitions: int | None) -> Stages:
        """Partitions and data of each pool with another input; work per task stretches stragglers
        too."""
        partitions, data = [], []
        for pool in self.pools:
            scaled = [(shape.stage, grown(shape, ratio, shuffle_partitions)) for shape in pool]
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

    def peak_bytes(self, ratio: float, shuffle_partitions: int | None) -> float:
        """The largest execution memory of a task with `ratio` times the input; 0 where no task
        told any."""
        shapes = [shape for pool in self.pools for shape in pool]
        return max(
            (shape.stage.peak_execution_memory_bytes.maximum or 0.0)
            * max(1.0, shape.scaled(ratio, shuffle_partitions).work)
            if shape.stage.peak_execution_memory_bytes
            else 0.0
            for shape in shapes
        )

    @property
    def most_useful_slots(self) -> float:
        """No more slots than this are ever busy."""
        return float(self.observed.partitions.max())

    def sizes(self, ratio: float) -> dict[str, float]:
        """Table 3: bytes of intermediate input (all that the stages read as input, from outside or
        from the cache), shuffle and output, with `ratio` times the input."""
        found = dict.fromkeys(("intermediate_bytes", "shuffle_bytes", "output_bytes"), 0.0)
        for pool in self.pools:
            for shape in pool:
                stage, (_, times) = shape.stage, grown(shape, ratio, None)
                found["intermediate_bytes"] += times * total_of(stage.input_bytes)
                found["shuffle_bytes"] += times * total_of(stage.shuffle_write_bytes)
                found["output_bytes"] += times * total_of(stage.output_bytes)
        return found


KEPT_INPUTS = 16
"""Inputs whose stages are kept: enough to step a slider back and forth."""


def grown(shape: StageShape, ratio: float, shuffle_partitions: int | None) -> tuple[float, float]:
    """Tasks of a stage with `ratio` times the input, and its data relative to the observed.

    Tasks are not rounded: a rounded number would make tasks smaller, and a wave faster, where the
    input grows a little.
    """
    stage, scaled = shape.stage, shape.scaled(ratio, shuffle_partitions)
    times = scaled.work * scaled.tasks / stage.tasks
    tasks = float(scaled.tasks)
    if shape.growth in (Growth.TASKS, Growth.MERGED):
        if abs(tasks - stage.tasks * ratio) <= 0.5:
            tasks = max(1.0, stage.tasks * ratio)
        elif tasks > stage.tasks and shape.growth is Growth.TASKS and stage.input_bytes:
            largest = max(shape.split_bytes, stage.input_bytes.maximum or 0.0)
            tasks = max(float(stage.tasks), stage.input_bytes.total * ratio / largest)
    return tasks, times


@dataclass(frozen=True)
class _Learner:
    """Costs of pools that ran on so many slots at these rates."""

    slots: int
    slots_per_node: float
    rates: Rates

    def pool(self, shapes: Sequence[StageShape], seconds: float) -> tuple[dict[str, float], bool]:
        """The costs of one pool that took `seconds`, and whether it moved its data faster than the
        rates allow: then as much of it was in memory already."""
        stages = [shape.stage for shape in shapes]
        tasks = sum(stage.tasks * stage.task_cpus for stage in stages)
        data = sum(data_of(stage) for stage in stages)
        busy = sum((s.task_seconds.mean or 0.0) * s.tasks * s.task_cpus for s in stages)
        waves = int(np.ceil(tasks / self.slots))
        mean = busy / tasks
        longest = max((stage.task_seconds.maximum or 0.0) for stage in stages)
        task = min(mean, seconds / waves)
        outside = sum(
            (s.overhead_seconds.mean or 0.0) * s.tasks * s.task_cpus
            for s in stages
            if s.overhead_seconds
        )
        overhead = min(task, outside / tasks)
        overhead += min(SET_UP_SHARE * (task - overhead), SET_UP_SECONDS)
        moved = moved_bytes(stages)
        sharing = 1.0
        if self.rates.shared:
            sharing = float(
                costs.tasks_at_once_per_node(
                    partitions=tasks, vcores=self.slots, vcores_per_node=self.slots_per_node
                )
            )
        moving = sharing * float(moved @ seconds_per_byte(self.rates)) / tasks
        fits = 1.0 if moving <= task - overhead else (task - overhead) / moving
        rest = max(0.0, seconds - waves * task)
        above = max(0.0, longest - task)
        stragglers = min(rest, above)
        above = min(above, stragglers + (waves - 1) * task)
        ratios = fits * moved / data
        compute = costs.compute_seconds_per_byte(
            task_seconds=task,
            overhead_seconds=overhead,
            moving_seconds=moving * fits,
            data_bytes=data / tasks,
        )
        return {
            "partitions": float(tasks),
            "data_bytes": data,
            "overhead_seconds": rest - stragglers,
            "straggler_seconds": stragglers,
            "longest_seconds": above,
            "observed_waves": float(waves),
            "task_overhead_seconds": overhead,
            "compute_seconds_per_byte": float(compute),
            "input_ratio": float(ratios[0]),
            "output_ratio": float(ratios[1]),
            "read_ratio": float(ratios[2]),
            "write_ratio": float(ratios[3]),
            "times": 1.0,
        }, fits < FASTER


FASTER = 0.9
"""Data that moved in less than this share of the time that the rates allow was not moved so."""


def pooled(stages: Sequence[StageRun]) -> list[list[int]]:
    """Places of the stages by pool, in the order of their start."""
    spans = [(s.submitted_seconds, s.completed_seconds) for s in stages]
    found: list[list[int]] = []
    first, last = 0.0, 0.0
    for place in sorted(range(len(spans)), key=lambda p: spans[p]):
        start, end = spans[place]
        shorter = min(end - start, last - first)
        if found and min(end, last) - start > OVERLAP * shorter:
            found[-1].append(place)
            last = max(last, end)
        else:
            found.append([place])
            first, last = start, end
    return found
