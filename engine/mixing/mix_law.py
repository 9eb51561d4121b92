"""The mix law: how long a job takes on a cluster of several types, n_t nodes of each type t.

OptEx predicts the time of a composition {n_t}, but its T depends only on the total n (IV-A), so
this law is our own. It builds on the fitted model's predictions for each type alone:

- A node of type t has the capacity g_t = slots x speed, in cores of the measured machine. A
  composition has C = sum_t n_t g_t, and x_t = C / g_t nodes of type t alone have the same capacity.
- Type t does the share w_t = n_t g_t / C of the work. The time is T = sum_t w_t T_t(x_t): the
  model's time of each type at that capacity, including overheads that grow with the cluster,
  weighted by the shares of the work.
- Tasks are not divisible. The last tasks of a stage may run on the slowest cores while the others
  wait. T is therefore stretched by 1 + c (v / v_slow - 1), where v = C / slots is the mean speed of
  a core and c the share of a stage in its last wave (the mean of min(1, slots / cores that its
  tasks hold) over the stages, weighted by their work). Without stages in the evidence c is 0. Time
  outside tasks waits for no core, so T is capped at T_slow on as many slots: a faster core never
  slows a cluster down.
- The scale of log T is the largest of its members' (among equals, with the fewest degrees of
  freedom): errors about different types are assumed not to cancel.

With one type this is exactly T_t(n_t), including its spread. All executors of an application have
one shape, so only types with the same cores per executor are mixed; the heap is that of the
smallest.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from engine.choosing.interruptions import NOTHING_LOST, LostWork, with_interruption_delays
from engine.choosing.surface import Surface
from engine.forecast import FloatArray, Forecast, IntArray, take_rows
from engine.mixing.beyond_surface import BeyondSurface, forecast_beyond
from engine.mixing.node_counts import NodeCounts


def last_wave_share(slots: FloatArray, task_cores: FloatArray, work: FloatArray) -> FloatArray:
    """(n,) share of a stage in its last wave: the work-weighted mean of min(1, slots / cores that
    all its tasks would hold at once).

    Args:
        slots: (n,) cores that tasks hold at once.
        task_cores, work: (s,) of the stages; empty gives 0.
    """
    if not len(task_cores) or work.sum() <= 0.0:
        return np.zeros(len(slots))
    share = np.minimum(1.0, slots[:, None] / task_cores)
    return np.asarray(share @ (work / work.sum()))


def stretched(
    seconds: FloatArray, *, last_wave: FloatArray, mean: FloatArray, slowest: FloatArray
) -> FloatArray:
    """(n,) times, stretched because last waves wait for the slowest cores.

    Args:
        last_wave: (n,) see `last_wave_share`; mean, slowest: (n,) mean and least speed of a core.
    """
    return np.asarray(seconds * (1.0 + last_wave * (mean / slowest - 1.0)))


@dataclass(frozen=True, eq=False)
class MixLaw:
    """The mix law over the k types of a surface.

    Args:
        seconds, log_scale, dof: (k, c) forecasts of each type alone, on the surface and beyond.
        scale_below: (k, c) its scale below the median; None if symmetric.
        slots: (k,) of a node; NaN where the layout is unknown.
        speed: (k,) of one of its cores; NaN as `slots`.
        executor_cores: (k,) only types with equal ones are mixed.
        task_cores: (s,) cores that all tasks of each measured stage would hold at once, tasks x
            CPUs per task.
        work: (s,) task seconds of these stages.
        interruption_rates: (k,) interruptions of a node per hour; None without spot nodes.
        uninterruptible: (k,) nodes that are never interrupted; None for none.
        lost_work: what an interruption costs.
        nodes: (c,) the node counts of the columns; None for all from 1 on.
    """

    seconds: FloatArray
    log_scale: FloatArray
    dof: FloatArray
    slots: FloatArray
    speed: FloatArray
    executor_cores: IntArray
    task_cores: FloatArray
    work: FloatArray
    interruption_rates: FloatArray | None = None
    uninterruptible: IntArray | None = None
    lost_work: LostWork = NOTHING_LOST
    scale_below: FloatArray | None = None
    nodes: IntArray | None = None

    @classmethod
    def of(cls, surface: Surface, beyond: BeyondSurface | None = None) -> MixLaw:
        """The law over the predictions of a surface, and those beyond it."""
        candidates, run = surface.candidates, surface.fitted.profile.largest_run
        answering = surface.fitted.answering(surface.workload)
        stages = [(stage, stage.task_seconds) for stage in run.stages] if run else []
        measured = [(stage, times) for stage, times in stages if times is not None]
        forecast, shape = surface.forecast, surface.shape
        law = cls(
            seconds=surface.uninterrupted,
            log_scale=forecast.log_scale.reshape(shape),
            scale_below=None if forecast.symmetric else forecast.scale_below.reshape(shape),
            dof=forecast.dof.reshape(shape),
            slots=surface.slots,
            speed=answering.slot_speeds(candidates.grid([1])),
            executor_cores=np.asarray([layout.executor_cores for layout in candidates.layouts]),
            task_cores=np.asarray(
                [float(time.count * stage.task_cpus) for stage, time in measured]
            ),
            work=np.asarray([time.total for _, time in measured]),
            interruption_rates=surface.interruption_rates if surface.spot else None,
            uninterruptible=surface.rented.owned if surface.spot else None,
            lost_work=surface.lost_work,
        )
        return law if beyond is None else law._extended(beyond, surface.nodes)

    def _extended(self, beyond: BeyondSurface, nodes: IntArray) -> MixLaw:
        """The law with the columns beyond the surface appended."""
        scale_below = None
        if self.scale_below is not None or beyond.scale_below is not None:
            laws = (self, beyond)
            scale_below = np.hstack(
                [law.log_scale if law.scale_below is None else law.scale_below for law in laws]
            )
        return replace(
            self,
            seconds=np.hstack([self.seconds, beyond.corrected_seconds(self.seconds[:, -1])]),
            log_scale=np.hstack([self.log_scale, beyond.log_scale]),
            scale_below=scale_below,
            dof=np.hstack([self.dof, beyond.dof]),
            nodes=np.append(nodes, beyond.nodes),
        )

    def at(self, nodes: IntArray) -> MixLaw:
        """The law of a surface restricted to some of its node counts."""
        scale_below = self.scale_below
        return replace(
            self,
            seconds=self.seconds[:, nodes - 1],
            log_scale=self.log_scale[:, nodes - 1],
            scale_below=None if scale_below is None else scale_below[:, nodes - 1],
            dof=self.dof[:, nodes - 1],
            nodes=nodes,
        )

    @cached_property
    def node_counts(self) -> NodeCounts:
        """The node counts of the columns."""
        if self.nodes is None:
            return NodeCounts.up_to(self.seconds.shape[1])
        return NodeCounts(self.nodes)

    def with_spot(self, rows: IntArray, interruption_rates: FloatArray) -> MixLaw:
        """The law over all types on demand, followed by some of them as spot nodes.

        Args:
            rows: (s,) which types.
            interruption_rates: (s,) their interruptions per node and hour.
        """
        k = len(self.slots)
        both = self.take(np.append(np.arange(k), rows))
        return replace(both, interruption_rates=np.append(np.zeros(k), interruption_rates))

    def take(self, rows: IntArray) -> MixLaw:
        """The law over some types, repeated or reordered."""
        return take_rows(
            self, rows, "seconds", "log_scale", "dof", "slots", "speed", "executor_cores",
            "interruption_rates", "uninterruptible", "scale_below",
        )  # fmt: skip

    @cached_property
    def capacity(self) -> FloatArray:
        """(k,) g_t: the capacity of a node in cores of the measured machine."""
        return self.slots * self.speed

    @cached_property
    def identical_types(self) -> IntArray:
        """(k,) the first type with identical values in this law: a catalog has many types that a
        model cannot distinguish."""
        node_values = (
            self.slots,
            self.speed,
            self.executor_cores,
            self.interruption_rates,
            self.uninterruptible,
        )
        known_values = [values for values in node_values if values is not None]
        tables = [self.seconds, self.log_scale, self.dof, self.scale_below]
        curves = [np.ascontiguousarray(table) for table in tables if table is not None]
        # Comparing few numbers first distinguishes most types, in a small part of the time.
        keys = np.column_stack((*known_values, *(table[:, [0, -1]] for table in curves)))
        first: dict[bytes, list[int]] = {}
        representatives = np.arange(len(keys))
        for row, key in enumerate(map(bytes, keys)):
            rows_of_key = first.setdefault(key, [])
            same = (
                other
                for other in rows_of_key
                if all(bytes(table[row]) == bytes(table[other]) for table in curves)
            )
            representatives[row] = next(same, row)
            if representatives[row] == row:
                rows_of_key.append(row)
        return representatives

    @property
    def dof_range(self) -> FloatArray:
        """The fewest and the most degrees of freedom of any prediction; NaN where none are
        known."""
        least = np.fmin.reduce(self.dof, axis=None, initial=np.nan)
        return np.asarray([least, np.fmax.reduce(self.dof, axis=None, initial=np.nan)])

    @property
    def widest(self) -> float:
        """An upper bound on the scale of log T of any composition."""
        scales = [self.log_scale, *([] if self.scale_below is None else [self.scale_below])]
        widest = max(float(np.fmax.reduce(scale, axis=None, initial=0.0)) for scale in scales)
        if self.interruption_rates is None or not self.interruption_rates.any():
            return widest
        # At most one node does all of the work, and is interrupted at the highest rate.
        seconds = self.seconds[np.isfinite(self.seconds)]
        rates = np.full(len(seconds), self.interruption_rates.max())
        longest = with_interruption_delays(
            Forecast.of(seconds, 0.0), self.lost_work, rate=0.0 * rates, square=rates
        )
        return float(np.hypot(widest, longest.log_scale.max(initial=0.0)))

    def shares(self, rows: IntArray, counts: IntArray) -> FloatArray:
        """(q,) share of one node of each type in the capacity of a composition of (q,) types."""
        capacity = self.capacity[rows]
        return np.asarray(capacity / (counts * capacity).sum())

    def slowest_equivalents(self, rows: IntArray, counts: IntArray | FloatArray) -> FloatArray:
        """(n, q) for members with the slowest cores, the number of their nodes with as many slots
        as the whole composition; NaN for the others."""
        speed = np.where(counts > 0, self.speed[rows], np.inf)
        slots = (counts * self.slots[rows]).sum(axis=1, keepdims=True)
        slow = (counts > 0) & (speed <= speed.min(axis=1, keepdims=True))
        return np.where(slow, slots / self.slots[rows], np.nan)

    def forecast(self, rows: IntArray, counts: IntArray | FloatArray) -> Forecast:
        """The times of n compositions.

        Args:
            rows, counts: (n, q) types and their nodes; a count of 0 is no member. The law is
                defined for real counts as well.
        """
        member, interpolated = counts > 0, self.node_counts.interpolated
        share = counts * self.capacity[rows]
        total = share.sum(axis=1)
        equivalent_nodes = total[:, None] / self.capacity[rows]
        times = np.where(member, interpolated(self.seconds, rows, equivalent_nodes), 0.0)
        weight = share / total[:, None]
        seconds = (weight * times).sum(axis=1)
        seconds = self._with_last_waves(seconds, rows, counts, total)
        scale = np.where(member, interpolated(self.log_scale, rows, equivalent_nodes), -np.inf)
        largest_scale = scale.max(axis=1)
        decides = member & ((scale >= largest_scale[:, None]) | np.isnan(scale))
        dof = np.where(decides, interpolated(self.dof, rows, equivalent_nodes), np.inf).min(axis=1)
        scale_below = None
        if self.scale_below is not None:
            scale_below = np.where(
                member, interpolated(self.scale_below, rows, equivalent_nodes), 0.0
            ).max(axis=1)
        forecast = Forecast.of(seconds, largest_scale, dof, scale_below=scale_below)
        if self.interruption_rates is None:
            return forecast
        exposed = counts
        if self.uninterruptible is not None:
            exposed = np.maximum(counts - self.uninterruptible[rows], 0)
        rate = self.interruption_rates[rows] * exposed * self.capacity[rows] / total[:, None]
        square = rate * self.capacity[rows] / total[:, None]
        return with_interruption_delays(
            forecast, self.lost_work, rate=rate.sum(axis=1), square=square.sum(axis=1)
        )

    def _with_last_waves(
        self,
        seconds: FloatArray,
        rows: IntArray,
        counts: IntArray | FloatArray,
        capacity: FloatArray,
    ) -> FloatArray:
        """(n,) times, stretched by last waves on the slowest cores, and at most the time of these
        cores alone; `capacity` is that of the compositions."""
        slots = (counts * self.slots[rows]).sum(axis=1)
        stretched_seconds = stretched(
            seconds,
            last_wave=last_wave_share(slots, self.task_cores, self.work),
            mean=capacity / slots,
            slowest=np.where(counts > 0, self.speed[rows], np.inf).min(axis=1),
        )
        if not (counts.astype(bool).sum(axis=1) > 1).any():
            return stretched_seconds
        slowest_nodes = self.slowest_equivalents(rows, counts)
        slowest_seconds = self.node_counts.interpolated(
            self.seconds, rows, np.where(np.isnan(slowest_nodes), 1.0, slowest_nodes)
        )
        longest = np.where(np.isnan(slowest_nodes), np.inf, slowest_seconds).min(axis=1)
        return np.asarray(np.minimum(stretched_seconds, np.maximum(seconds, longest)))


def beyond_of(surface: Surface) -> BeyondSurface | None:
    """The forecasts beyond a surface that mixes of its types need, None if none; computed once for
    each surface."""
    return surface.cached(_beyond)


def _beyond(surface: Surface) -> BeyondSurface | None:
    law = MixLaw.of(surface)
    return forecast_beyond(surface, law.capacity, law.executor_cores)
