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

from engine.checkpoints import checkpoint
from engine.forecast import FloatArray
from engine.intervals import union_length
from engine.models.replay.calibration import calibrated
from engine.models.replay.driver_time import DriverTime
from engine.models.replay.node_load import NodeLoad
from engine.models.replay.outcome import ReplayOutcome
from engine.models.replay.stages_by_slots import ReplayCache, StagesBySlots
from engine.models.stages.application_graph import ApplicationGraph, graph_of
from engine.models.stages.durations.contention import contention_growth
from engine.models.stages.durations.launches import driver_launch_seconds, launch_seconds
from engine.models.stages.durations.task_times import StageModel
from engine.models.stages.durations.warm_up import Slowdown
from engine.models.stages.fetched_rows import fetched_rows_shares
from engine.models.stages.linked_stages import relinked
from engine.models.stages.locality import Locality
from engine.models.stages.new_code import new_code_seconds
from engine.models.stages.one_machine import executor_slots_of, of_local_master, waiting_law
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
        checkpoint()
        nodes, tasks = self._scheduled_nodes(slots, ratio, speed, shuffle_partitions)
        scheduled = schedule(
            nodes,
            slots,
            added_seconds=arrivals(self.arrivals, slots),
            executor_slots=self.executor_slots,
            claims=self.graph.claims,
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
            claims=self.graph.claims,
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
        stages = self.stages_by_slots.at(ratio, shuffle_partitions)
        scaled = stages.on_slots(slots, stage_speed)
        counts = tuple(stage.tasks for stage in scaled[0].scaled)
        local, skipped = self.locality.local_stages(counts), self.trees.left_out(counts)
        skipped |= self.recomputed_stages if slots else frozenset()
        combining = self.trees.added_seconds(counts, slots or self.slots)
        nodes, slowed = self.driver.nodes(ratio), []
        for index, model in enumerate(self.models):
            tasks = self._slowed_tasks(index, scaled, float(stage_speed[index]))
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
        scaled: tuple[ScaledStages, dict[int, tuple[Slowdown, ClosedForm]]],
        speed: float,
    ) -> Tasks:
        """The tasks of a stage under the contention and warm-up of some slots.

        Args:
            scaled: the stages on these slots, and their slowdowns and closed forms.
            speed: relative speed of a slot, less the wasted attempts.
        """
        stages, closed_forms = scaled
        slowdown, closed = closed_forms[index]
        return stages.tasks[index].slowed(
            contention=slowdown.contention,
            typical_seconds=self.models[index].typical_seconds(stages.scaled[index].work),
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
        """Seconds that the driver takes to launch a task (`stages/durations/launches.py`)."""
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

    @cached_property
    def stages_by_slots(self) -> StagesBySlots:
        """Its stages on any number of slots."""
        return StagesBySlots(self._table, self.slots, self._cache)

    @cached_property
    def _table(self) -> StageTable:
        return StageTable(
            models=self.models,
            dispatch_seconds=self.dispatch_seconds,
            rotation=self.rotation,
            contention_growth=self.contention_growth,
        )

    @cached_property
    def table_without_idle_time(self) -> StageTable:
        """Its stages as if slots did not idle between tasks, which are launched in any order."""
        nothing = np.zeros(len(self.models))
        return replace(self._table, dispatch_seconds=nothing, rotation=nothing)

    @cached_property
    def arrivals(self) -> FloatArray | None:
        """(slots,) when the run's slots came, where some came late (`first_arrivals`)."""
        return first_arrivals(self.run, self.slots)
