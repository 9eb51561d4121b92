"""Replay of one observed run: its stages, tasks and driver time on another cluster or input.

Tasks are scheduled first in, first out on the slots (`engine.scheduling.stages`); stages keep the
dependencies that they had in the log (`stages/application_graph`); task times come from the stored
quantiles (`stages/task_times`). Three parameters are calibrated on the log itself: the dispatch
delay of a slot between two tasks, the position of the long tasks in the launch order
(`calibration.py`), and the extra time of first tasks on a cold slot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from engine.forecast import BoolArray, FloatArray
from engine.intervals import union_length
from engine.models.replay.busy_slots import BusySlots
from engine.models.replay.calibration import calibrated
from engine.models.replay.node_load import NodeLoad
from engine.models.replay.outcome import ReplayOutcome
from engine.models.stages.application_graph import ApplicationGraph, graph_of
from engine.models.stages.durations.contention import contention_growth, slowdown_of
from engine.models.stages.durations.launch_rate import driver_launch_seconds, launch_seconds
from engine.models.stages.durations.task_times import StageModel
from engine.models.stages.durations.warm_up import Slowdown
from engine.models.stages.fetched_rows import (
    FetchedRows,
    fetched_before,
    fetched_bytes_growth,
    fetched_rows_shares,
    growing_share,
)
from engine.models.stages.linked_stages import relinked
from engine.models.stages.locality import Locality
from engine.models.stages.one_machine import executor_slots_of, of_local_master, waiting_law
from engine.models.stages.partition_counts import CountedStages, PartitionCounts
from engine.models.stages.pauses import least_pause_seconds
from engine.models.stages.replay_cache import ReplayCache
from engine.models.stages.scaled_stages import ScaledStages
from engine.models.stages.slots_over_time import (
    Slots,
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
    _kept: ReplayCache = field(default_factory=ReplayCache, repr=False)

    @classmethod
    def of(cls, run: Run) -> Replay:
        """The replay of a run with stages on a known number of slots."""
        if not run.stages or not run.cluster.slots:
            raise ValueError("a replay needs stages and slots")
        models = stage_models(run, run.cluster.slots)
        if of_local_master(run):
            models = relinked(replace(one, law=waiting_law(one.stage)) for one in models)
        graph = graph_of(run)
        rows_share = fetched_rows_shares(run, graph, models)
        learnt = calibrated(run, graph, models, executor_slots=executor_slots_of(run))
        return cls(
            run=run,
            slots=run.cluster.slots,
            graph=graph,
            models=tuple(models),
            contention_growth=np.asarray([contention_growth(model) for model in models]),
            dispatch_seconds=learnt.dispatch_seconds,
            rotation=learnt.rotation,
            waste=learnt.waste,
            orders=learnt.orders,
            rows_share={index: share.mean for index, share in rows_share.items()},
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
        nodes, placed, counts = self._work_on(slots, ratio, speed, shuffle_partitions)
        found = schedule(
            nodes,
            slots,
            added_seconds=arrivals(self.arrivals, slots),
            executor_slots=self.executor_slots,
            exact=exact,
        )
        return self._outcome(found, nodes, counts, slots, placed)

    def observed(self) -> ReplayOutcome:
        """The run itself, on the slots that it had while it had them, each stage in the one order
        in which its log tells that its tasks were launched."""
        slots = None if has_transient_executors(self.run) else self.slots
        nodes, placed, counts = self._work_on(slots, 1.0, 1.0, None)
        nodes = [replace(node, order=None) for node in nodes]
        had = Slots.of(self.run.slot_steps, self.slots)
        added, many = had.added_seconds, self.executor_slots
        found = schedule(
            nodes, len(added), added_seconds=added, removed=had.removed, executor_slots=many
        )
        return self._outcome(found, nodes, counts, self.slots, placed)

    def _work_on(
        self, slots: int | None, ratio: float, speed: float, shuffle_partitions: int | None
    ) -> tuple[list[ScheduledNode], list[Tasks], tuple[int, ...]]:
        """The graph's nodes with their tasks, those of each stage, and how many these are: on so
        many slots, or (None) on those that each had."""
        lasting = speed / (1.0 + self.waste)
        prepared, forms = self._on(slots, ratio, shuffle_partitions, lasting)
        nodes, placed, own = self._nodes(ratio), [], self._prepared(ratio, shuffle_partitions)
        counts = tuple(many.tasks for many in prepared.scaled)
        near, spared = self.locality.local_stages(counts), self.trees.left_out(counts)
        spared |= self.recomputed_stages if slots else frozenset()
        combining = self.trees.added_seconds(counts, slots or self.slots)
        for index, (scaled, tasks) in enumerate(zip(prepared.scaled, prepared.tasks, strict=True)):
            model, (slowdown, closed) = self.models[index], forms.get(index, (None, None))
            if slowdown is None:
                growth, in_log = self.contention_growth[index], own.cut(index)
                there = slots or model.ran_on
                slowdown = slowdown_of(model, growth, (scaled, tasks), in_log, there)
            tasks = tasks.slowed(
                contention=slowdown.contention,
                typical_seconds=model.mean_seconds * scaled.work,
                speed=float(lasting[index]) / slowdown.warm,
                known=closed,
            )
            node = self.graph.stage_nodes[index]
            at = nodes[node]
            tasks = Tasks(np.empty(0)) if index in spared else tasks
            at_once = max(1, model.ran_on // model.stage.task_cpus)
            launching = driver_launch_seconds(self.launch_seconds, len(tasks), at_once)
            known = near[index], self.orders[index]
            delay = at.delay_seconds + combining.get(index, 0.0) / float(lasting[index])
            nodes[node] = ScheduledNode(
                at.after, delay, at.priority, tasks, at.cpus, launching, *known
            )
            placed.append(tasks)
        return nodes, placed, counts

    def _nodes(self, ratio: float) -> list[ScheduledNode]:
        """The graph's nodes with the driver's time for `ratio` times the input."""
        nodes = list(self.graph.nodes)
        for index in self.growing_gaps if ratio != 1.0 else ():
            known, of_all = self.rows_share.get(index, 0.0), self.mean_rows_share
            growing = growing_share(known, of_all=of_all, more=self.driver_growth)
            factor = 1.0 + growing * (self.driver_growth_factor(index, ratio) - 1.0)
            if factor != 1.0:
                delay = nodes[index].delay_seconds * factor
                nodes[index] = replace(nodes[index], delay_seconds=delay)
        return nodes

    def driver_growth_factor(self, index: int, ratio: float) -> float:
        """Growth of what grows of the driver's time before a node of the graph: that of the rows
        that it fetched, or `ratio` where other logs show how much grows in proportion to it."""
        fetched = () if self.driver_growth else self.fetched_before.get(index, ())
        return fetched_bytes_growth(fetched, ratio) if fetched else ratio

    @cached_property
    def fetched_before(self) -> Mapping[int, FetchedRows]:
        """By index of a node of the graph, the rows that the driver fetched before it."""
        return fetched_before(self.graph, self.models)

    @cached_property
    def locality(self) -> Locality:
        """Which stages read what lies on the executors that ran others."""
        return Locality.of(self.run)

    @cached_property
    def recomputed_stages(self) -> frozenset[int]:
        """As `recomputed_stages` its run: executors of a cluster that stays write it once."""
        return recomputed_stages(self.run)

    @cached_property
    def trees(self) -> TreeAggregations:
        """Its tree aggregations, whose combining stages come and go with their partitions."""
        return TreeAggregations.of(self.run.stages)

    @cached_property
    def nodes(self) -> NodeLoad:
        """How full of tasks its nodes were."""
        return NodeLoad(self.run)

    @property
    def executor_slots(self) -> int:
        """As `executor_slots_of` its run."""
        return executor_slots_of(self.run)

    @cached_property
    def launch_seconds(self) -> float:
        """What the driver takes for the launch of a task (`stages/durations/launch_rate.py`)."""
        return launch_seconds(self.run)

    @cached_property
    def growing_gaps(self) -> tuple[int, ...]:
        """Nodes before which the driver may have worked on data: all but the start, the end (unless
        rows were fetched before it) and what is plainly idle (`least_pause_seconds`)."""
        limit = least_pause_seconds(self.run)
        others = set(self.graph.stage_nodes) | ({len(self.graph.nodes) - 1} - set(self.rows_share))
        return tuple(
            index
            for index, node in enumerate(self.graph.nodes)
            if node.after
            and index not in others
            and node.delay_seconds > 0.0
            and (node.delay_seconds < limit or index in self.rows_share)
        )

    @property
    def growing_driver_seconds(self) -> float:
        """Driver time in `growing_gaps`, in seconds."""
        return sum(self.graph.nodes[index].delay_seconds for index in self.growing_gaps)

    @cached_property
    def mean_rows_share(self) -> float:
        """Share of `growing_driver_seconds` that went to rows that the driver fetched."""
        delays = {index: self.graph.nodes[index].delay_seconds for index in self.growing_gaps}
        rows_share = sum(delay * self.rows_share.get(index, 0.0) for index, delay in delays.items())
        return rows_share / sum(delays.values()) if rows_share else 0.0

    def fresh(self) -> Replay:
        """A copy with an empty cache, for changed stages."""
        return replace(self, _kept=ReplayCache())

    def _outcome(
        self,
        found: Schedule,
        nodes: Sequence[ScheduledNode],
        tasks: tuple[int, ...],
        slots: int,
        placed: list[Tasks],
    ) -> ReplayOutcome:
        indices, known = np.asarray(self.graph.stage_nodes), self.graph.nodes
        # What a stage waits for longer than in the log is the combining of its own aggregates.
        combining = [nodes[p].delay_seconds - known[p].delay_seconds for p in indices.tolist()]
        start, end = found.start[indices] - combining, found.end[indices]
        driver = found.seconds - union_length(start, end)
        on_unused = found.tasks_on_unused_slots[indices]
        return ReplayOutcome(
            found.seconds, driver, start, end, tasks, slots, tuple(placed), on_unused
        )

    def _on(
        self, slots: int | None, ratio: float, shuffle_partitions: int | None, speed: FloatArray
    ) -> tuple[ScaledStages, dict[int, tuple[Slowdown, ClosedForm]]]:
        """The stages, those whose number of tasks the cluster decides cut for so many slots; and by
        index slowdown and closed form at (s,) speeds, where there are enough stages."""
        stages = self._prepared(ratio, shuffle_partitions)
        if slots is None:
            return stages, {}
        others = self._cut_otherwise(slots, ratio, shuffle_partitions)
        if not others:
            return stages, stages.closed_forms(slots, speed)
        indices = np.asarray(list(others))
        wanted = np.asarray(list(others.values()))
        changed = ScaledStages.of(self._table, ratio, wanted, indices, self._cores(slots))
        known = stages.closed_forms(slots, speed, without=frozenset(others))
        known = {index: form for index, form in known.items() if index not in others}
        known.update(changed.closed_forms(slots, speed, in_log=stages.in_log))
        return stages.replaced(indices.tolist(), changed), known

    @cached_property
    def _table(self) -> StageTable:
        return StageTable(
            models=self.models,
            dispatch_seconds=self.dispatch_seconds,
            rotation=self.rotation,
            contention_growth=self.contention_growth,
        )

    def _prepared(self, ratio: float, shuffle_partitions: int | None) -> ScaledStages:
        """The stages on the run's own slots."""

        def made() -> ScaledStages:
            return ScaledStages.of(self._table, ratio, self._counts(ratio, shuffle_partitions).own)

        return self._kept.stages.get((ratio, shuffle_partitions), made)

    def _cut_otherwise(
        self, slots: int, ratio: float, shuffle_partitions: int | None
    ) -> dict[int, float]:
        """Partitions by index of the stages that have others on so many slots than on their own, or
        more or less work there."""
        counts, table = self._counts(ratio, shuffle_partitions), self._table
        found, there = counts.at(slots), table.grown(ratio, self._cores(slots))
        indices = np.flatnonzero((found != counts.own) | (there != table.grown(ratio)))
        return dict(zip(indices.tolist(), found[indices].tolist(), strict=True))

    def _cores(self, slots: int) -> float:
        """Of a cluster of so many slots."""
        return slots * self.models[0].partitioning.cores_per_slot

    def _counts(self, ratio: float, shuffle_partitions: int | None) -> PartitionCounts:
        """Their partitions."""
        counted = self._kept.counted.get(
            shuffle_partitions,
            lambda: CountedStages(self.models, self.slots, shuffle_partitions),
        )
        key = (ratio, shuffle_partitions)
        return self._kept.counts.get(key, lambda: counted.at(ratio))

    def most_useful_slots(self, ratio: float, shuffle_partitions: int | None) -> int:
        """No more slots than this are ever busy: the tasks of all stages that ran side by side."""
        key = (ratio, shuffle_partitions)
        return self._kept.useful.get(key, lambda: self._most_busy(ratio, shuffle_partitions))

    def uncertain_slots(
        self, slots: FloatArray, ratio: float, shuffle_partitions: int | None
    ) -> FloatArray:
        """(n,) how many of (n,) slots make an answer unsure: those that are ever busy, or the log's
        own. Stages with a partition for each core do not count, which are busy on any number; of
        these see `log_gain_of_core_partitions`."""
        if self._busy.follows_cores.any():
            useful = self._most_busy(
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

    def _most_busy(
        self, ratio: float, shuffle_partitions: int | None, as_observed: BoolArray | None = None
    ) -> int:
        """`most_useful_slots`, with the partitions of some stages (s,) as on the log's slots."""
        counts = self._counts(ratio, shuffle_partitions)
        wanted = counts.at(MOST_SLOTS)
        if as_observed is not None:
            wanted = np.where(as_observed, counts.own, wanted)
        return self._busy.most(wanted)

    @cached_property
    def _busy(self) -> BusySlots:
        return BusySlots(self.models, self._table.cpus)

    @cached_property
    def arrivals(self) -> FloatArray | None:
        """(slots,) when the run's slots came, where some came late (`first_arrivals`)."""
        return first_arrivals(self.run, self.slots)
