"""Replay of one observed run: its stages, tasks and driver time on another cluster or input.

Tasks are scheduled first in, first out on the slots (`engine.scheduling.stages`); stages keep the
dependencies that they had in the log (`stages/application_graph`); task times come from the stored
quantiles (`stages/task_times`). Three parameters are calibrated on the log itself: the dispatch
delay of a slot between two tasks, the position of the long tasks in the launch order
(`calibration.py`), and the extra time of first tasks on a cold slot.

In: a run; then slots, an input, a speed and shuffle partitions. Out: the outcome of its replay.
Explained in docs/models/sparkplan_rules_replay.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from engine.forecast import BoolArray, FloatArray
from engine.intervals import union_length
from engine.models.replay.busy_slots import BusySlots
from engine.models.replay.calibration import calibrated
from engine.models.replay.driver_time import DriverTime
from engine.models.replay.node_load import NodeLoad
from engine.models.replay.outcome import ReplayOutcome
from engine.models.stages.application_graph import ApplicationGraph, graph_of
from engine.models.stages.durations.contention import contention_growth, slowdown_of
from engine.models.stages.durations.launch_rate import driver_launch_seconds, launch_seconds
from engine.models.stages.durations.task_times import StageModel
from engine.models.stages.durations.warm_up import Slowdown
from engine.models.stages.fetched_rows import fetched_rows_shares
from engine.models.stages.linked_stages import relinked
from engine.models.stages.locality import Locality
from engine.models.stages.new_code import new_code_seconds
from engine.models.stages.one_machine import executor_slots_of, of_local_master, waiting_law
from engine.models.stages.partition_counts import CountedStages, PartitionCounts
from engine.models.stages.replay_cache import ReplayCache
from engine.models.stages.scaled_stages import ScaledStages
from engine.models.stages.slots_over_time import (
    SlotTimeline,
    arrivals,
    first_arrivals,
    has_transient_executors,
    recomputed_stages,
)
from engine.models.stages.stage_models import stage_models
from engine.models.stages.stage_table import StageTable
from engine.models.stages.tree_aggregation import TreeAggregations
from engine.profile import Run
from engine.scheduling.launch_orders import LaunchOrder
from engine.scheduling.stages import Schedule, ScheduledNode, schedule
from engine.scheduling.waves import ClosedForm, Tasks

MOST_SLOTS = 1_000_000
"""No cluster has more: for stages that have the more tasks the more slots there are."""


class _StageTasks(NamedTuple):
    """The tasks of each of s stages, and how many they are where all stages run."""

    slowed: tuple[Tasks, ...]
    counts: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Replay:
    """An observed run, ready to be replayed.

    Args:
        slots: task slots of the log's cluster.
        dispatch_seconds: (s,) time that a slot idles before each task of a stage.
        rotation: (s,) cyclic shift of the launch order of each stage (`calibration.ROTATIONS`).
        contention_growth: (s,) growth of log task time per doubling of concurrent tasks.
        waste: (s,) work of wasted task attempts that lengthened a stage, relative to its work.
        orders: (s,) distribution of the launch order on other slots (`log_launch_orders`).
        rows_share: index of a graph node -> share of the driver's time before it that grows with
            the input, estimated from the rows that the driver fetched.
        driver_growth: further share of all driver time that grows, fitted to other logs
            (`growing_share`).
    """

    run: Run
    slots: int
    graph: ApplicationGraph
    models: tuple[StageModel, ...]
    dispatch_seconds: FloatArray
    rotation: FloatArray
    contention_growth: FloatArray
    waste: FloatArray
    orders: tuple[LaunchOrder, ...] = ()
    rows_share: Mapping[int, float] = field(default_factory=dict)
    driver_growth: float = 0.0
    _cache: ReplayCache = field(default_factory=ReplayCache, repr=False)

    @classmethod
    def of(cls, run: Run) -> Replay:
        """The replay of a run with stages on a known number of slots."""
        if not run.stages or not run.cluster.slots:
            raise ValueError("a replay needs stages and slots")
        models = stage_models(run, run.cluster.slots)
        if of_local_master(run):
            models = relinked(replace(one, law=waiting_law(one.stage)) for one in models)
        graph = graph_of(run)
        rows_shares = fetched_rows_shares(run, graph, models)
        calibration = calibrated(run, graph, models, executor_slots=executor_slots_of(run))
        return cls(
            run=run,
            slots=run.cluster.slots,
            graph=graph,
            models=tuple(models),
            contention_growth=np.asarray([contention_growth(model) for model in models]),
            dispatch_seconds=calibration.dispatch_seconds,
            rotation=calibration.rotation,
            waste=calibration.waste,
            orders=calibration.orders,
            rows_share={node: share.mean for node, share in rows_shares.items()},
        )

    def replayed(
        self,
        slots: int,
        *,
        ratio: float = 1.0,
        speed: float = 1.0,
        shuffle_partitions: int | None = None,
        exact: bool = False,
    ) -> ReplayOutcome:
        """The run on `slots` slots of relative `speed`, with `ratio` times its input.

        Args:
            shuffle_partitions: number of shuffle partitions, None for the run's own.
            exact: task by task (see `engine.scheduling.stages`).
        """
        nodes, tasks = self._scheduled_nodes(slots, ratio, speed, shuffle_partitions)
        scheduled = schedule(
            nodes,
            slots,
            added_seconds=arrivals(self.arrivals, slots),
            executor_slots=self.executor_slots,
            exact=exact,
        )
        return self._outcome(scheduled, nodes, tasks, slots)

    def observed(self) -> ReplayOutcome:
        """The run itself, on the slots that it had while it had them, each stage in the launch
        order of its log."""
        slots = None if has_transient_executors(self.run) else self.slots
        nodes, tasks = self._scheduled_nodes(slots, 1.0, 1.0, None)
        nodes = [replace(node, order=None) for node in nodes]
        log_slots = SlotTimeline.of(self.run.slot_steps, self.slots)
        scheduled = schedule(
            nodes,
            len(log_slots.added_seconds),
            added_seconds=log_slots.added_seconds,
            removed=log_slots.removed,
            executor_slots=self.executor_slots,
        )
        return self._outcome(scheduled, nodes, tasks, self.slots)

    def _scheduled_nodes(
        self, slots: int | None, ratio: float, speed: float, shuffle_partitions: int | None
    ) -> tuple[list[ScheduledNode], _StageTasks]:
        """The nodes of the graph to schedule, with their tasks, and the tasks of each stage.

        Args:
            slots: None for those that each stage had in the log.
        """
        stage_speed = speed / (1.0 + self.waste)
        scaled = self._scaled_stages(slots, ratio, shuffle_partitions, stage_speed)
        counts = tuple(stage.tasks for stage in scaled[0].scaled)
        local, skipped = self.locality.local_stages(counts), self.trees.left_out(counts)
        skipped |= self.recomputed_stages if slots else frozenset()
        combining = self.trees.added_seconds(counts, slots or self.slots)
        nodes, slowed = self.driver.nodes(ratio), []
        log_stages = self._stages_on_log_slots(ratio, shuffle_partitions)
        for index, model in enumerate(self.models):
            tasks = self._slowed_tasks(index, slots, scaled, log_stages, float(stage_speed[index]))
            tasks = Tasks(np.empty(0)) if index in skipped else tasks
            slowed.append(tasks)
            concurrent = max(1, model.ran_on // model.stage.task_cpus)
            node = nodes[self.graph.stage_nodes[index]]
            combining_seconds = combining.get(index, 0.0) / float(stage_speed[index])
            nodes[self.graph.stage_nodes[index]] = replace(
                node,
                delay_seconds=node.delay_seconds + combining_seconds,
                tasks=tasks,
                launching_seconds=driver_launch_seconds(
                    self.launch_seconds, len(tasks), concurrent
                ),
                near=local[index],
                order=self.orders[index],
            )
        return nodes, _StageTasks(tuple(slowed), counts)

    def _slowed_tasks(
        self,
        index: int,
        slots: int | None,
        scaled: tuple[ScaledStages, dict[int, tuple[Slowdown, ClosedForm]]],
        log_stages: ScaledStages,
        speed: float,
    ) -> Tasks:
        """The tasks of a stage under the contention and warm-up of so many slots.

        Args:
            scaled: the stages on these slots, and their closed forms as far as computed.
            log_stages: the stages on the log's slots.
            speed: relative speed of a slot, less the wasted attempts.
        """
        stages, closed_forms = scaled
        model, (slowdown, closed) = self.models[index], closed_forms.get(index, (None, None))
        here = stages.scaled_tasks(index)
        if slowdown is None:
            growth, in_log = self.contention_growth[index], log_stages.scaled_tasks(index)
            slowdown = slowdown_of(model, growth, here, in_log, slots or model.ran_on)
        stage, tasks = here
        return tasks.slowed(
            contention=slowdown.contention,
            typical_seconds=model.mean_seconds * stage.work,
            speed=speed / slowdown.warm,
            known=closed,
        )

    @cached_property
    def driver(self) -> DriverTime:
        """Its driver's time between jobs."""
        return DriverTime(self.run, self.graph, self.models, self.rows_share, self.driver_growth)

    @cached_property
    def locality(self) -> Locality:
        """Which stages have their input on executors that ran others."""
        return Locality.of(self.run)

    @cached_property
    def recomputed_stages(self) -> frozenset[int]:
        """`recomputed_stages` of its run: with executors that stay they do not recur."""
        return recomputed_stages(self.run)

    @cached_property
    def trees(self) -> TreeAggregations:
        """Its tree aggregations, whose combining stages come and go with their partitions."""
        return TreeAggregations.of(self.run.stages)

    @cached_property
    def node_load(self) -> NodeLoad:
        """The load of its nodes with tasks."""
        return NodeLoad(self.run)

    @cached_property
    def new_code_seconds(self) -> float:
        """`new_code_seconds` of its run."""
        return new_code_seconds(self.run, self.models)

    @property
    def executor_slots(self) -> int:
        """`executor_slots_of` its run."""
        return executor_slots_of(self.run)

    @cached_property
    def launch_seconds(self) -> float:
        """Seconds that the driver takes to launch a task (`stages/durations/launch_rate.py`)."""
        return launch_seconds(self.run)

    def with_empty_cache(self) -> Replay:
        """A copy with an empty cache, for changed stages."""
        return replace(self, _cache=ReplayCache())

    def _outcome(
        self, scheduled: Schedule, nodes: Sequence[ScheduledNode], tasks: _StageTasks, slots: int
    ) -> ReplayOutcome:
        indices = np.asarray(self.graph.stage_nodes)
        # A stage's delay exceeds the log's by the combining of its own aggregates.
        combining = [
            nodes[index].delay_seconds - self.graph.nodes[index].delay_seconds
            for index in indices.tolist()
        ]
        start, end = scheduled.start[indices] - combining, scheduled.end[indices]
        return ReplayOutcome(
            seconds=scheduled.seconds,
            driver_seconds=scheduled.seconds - union_length(start, end),
            start=start,
            end=end,
            tasks=tasks.counts,
            slots=slots,
            placed=tasks.slowed,
            tasks_on_unused_slots=scheduled.tasks_on_unused_slots[indices],
        )

    def _scaled_stages(
        self, slots: int | None, ratio: float, shuffle_partitions: int | None, speed: FloatArray
    ) -> tuple[ScaledStages, dict[int, tuple[Slowdown, ClosedForm]]]:
        """The stages with the partitions that they have on so many slots; and by index slowdown and
        closed form at (s,) speeds, where there are enough stages.

        Args:
            slots: None for those of the log.
        """
        stages = self._stages_on_log_slots(ratio, shuffle_partitions)
        if slots is None:
            return stages, {}
        partitions = self._repartitioned(slots, ratio, shuffle_partitions)
        if not partitions:
            return stages, stages.closed_forms(slots, speed)
        indices, wanted = np.asarray(list(partitions)), np.asarray(list(partitions.values()))
        changed = ScaledStages.of(self._table, ratio, wanted, indices, self._cores(slots))
        forms = stages.closed_forms(slots, speed, without=frozenset(partitions))
        forms = {index: form for index, form in forms.items() if index not in partitions}
        forms.update(changed.closed_forms(slots, speed, in_log=stages.in_log))
        return stages.replaced(indices.tolist(), changed), forms

    @cached_property
    def _table(self) -> StageTable:
        return StageTable(
            models=self.models,
            dispatch_seconds=self.dispatch_seconds,
            rotation=self.rotation,
            contention_growth=self.contention_growth,
        )

    def _stages_on_log_slots(self, ratio: float, shuffle_partitions: int | None) -> ScaledStages:
        """The stages on the run's own slots."""

        def compute() -> ScaledStages:
            counts = self._partition_counts(ratio, shuffle_partitions)
            return ScaledStages.of(self._table, ratio, counts.own)

        return self._cache.stages.get((ratio, shuffle_partitions), compute)

    def _repartitioned(
        self, slots: int, ratio: float, shuffle_partitions: int | None
    ) -> dict[int, float]:
        """By index, the partitions of the stages that have another number on so many slots than on
        the log's, or another amount of work."""
        counts, table = self._partition_counts(ratio, shuffle_partitions), self._table
        partitions, work = counts.at(slots), table.prior_work_growth(ratio, self._cores(slots))
        indices = np.flatnonzero(
            (partitions != counts.own) | (work != table.prior_work_growth(ratio))
        )
        return dict(zip(indices.tolist(), partitions[indices].tolist(), strict=True))

    def _cores(self, slots: int) -> float:
        """The cores of a cluster of so many slots."""
        return slots * self.models[0].partitioning.cores_per_slot

    def _partition_counts(self, ratio: float, shuffle_partitions: int | None) -> PartitionCounts:
        """The partitions of the stages, as a function of the slots."""
        counted = self._cache.counted.get(
            shuffle_partitions,
            lambda: CountedStages(self.models, self.slots, shuffle_partitions),
        )
        key = (ratio, shuffle_partitions)
        return self._cache.counts.get(key, lambda: counted.at(ratio))

    def most_useful_slots(self, ratio: float, shuffle_partitions: int | None) -> int:
        """Most slots that are ever busy: the tasks of all stages that ran side by side."""
        key = (ratio, shuffle_partitions)
        return self._cache.useful.get(key, lambda: self._max_busy_slots(ratio, shuffle_partitions))

    def uncertain_slots(
        self, slots: FloatArray, ratio: float, shuffle_partitions: int | None
    ) -> FloatArray:
        """(n,) of (n,) slots, the number by which a prediction is uncertain: those that are ever
        busy, or the log's own. Stages with a partition for each core do not count, which keep any
        number busy (`log_gain_of_core_partitions`)."""
        if self._busy.follows_cores.any():
            useful = self._max_busy_slots(
                ratio, shuffle_partitions, as_observed=self._busy.follows_cores
            )
        else:
            useful = self.most_useful_slots(ratio, shuffle_partitions)
        return np.minimum(slots, max(useful, self.slots))

    def log_gain_of_core_partitions(
        self, slots: FloatArray, ratio: float, shuffle_partitions: int | None
    ) -> FloatArray:
        """(n,) as `BusySlots.log_gain_of_core_partitions`, on (n,) slots."""
        busy = self.uncertain_slots(slots, ratio, shuffle_partitions)
        return self._busy.log_gain_of_core_partitions(slots, busy=busy, in_log=self.slots)

    def _max_busy_slots(
        self, ratio: float, shuffle_partitions: int | None, as_observed: BoolArray | None = None
    ) -> int:
        """`most_useful_slots`, with the partitions of some stages (s,) as on the log's slots."""
        counts = self._partition_counts(ratio, shuffle_partitions)
        wanted = counts.at(MOST_SLOTS)
        if as_observed is not None:
            wanted = np.where(as_observed, counts.own, wanted)
        return self._busy.max_busy(wanted)

    @cached_property
    def _busy(self) -> BusySlots:
        return BusySlots(self.models, self._table.cpus)

    @cached_property
    def arrivals(self) -> FloatArray | None:
        """(slots,) when the run's slots came, where some came late (`first_arrivals`)."""
        return first_arrivals(self.run, self.slots)
