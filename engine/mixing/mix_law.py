"""Clusters of unlike nodes: how long a job takes on n_t nodes of type t, for several t at once.

OptEx promises times for a composition {n_t}, but its T depends only on the total n (IV-A), so this
law is our own. It builds on the fitted model's predictions for each type alone:

- A node of type t has the capacity g_t = slots x speed, in cores of the measured machine. A
  composition has C = sum_t n_t g_t, and x_t = C / g_t nodes of type t alone have the same capacity.
- Type t does the share w_t = n_t g_t / C of the work. The time is T = sum_t w_t T_t(x_t): the
  model's time at that capacity, including overheads that grow with the cluster, averaged by the
  shares of the work.
- Tasks are not divisible. The last tasks of a stage may run on the slowest cores while the others
  wait. T is therefore stretched by 1 + c (v / v_slow - 1), where v = C / slots is the mean speed of
  a core and c the share of a stage in its last wave (the mean of min(1, slots / tasks) over the
  stages, weighted by their work). Without stages in the evidence c is 0. What is not in tasks waits
  for no core, so that T is at most T_slow on as many slots: a faster core is never slower.
- The spread of log T is that of the member with the widest (among equals, with the fewest degrees
  of freedom): doubts about unlike machines are assumed not to cancel.

With one type this is exactly T_t(n_t), including its spread. All executors of an application have
one shape, so only types with the same cores per executor are mixed; the heap is that of the
smallest.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from engine.choosing.interruptions import NOTHING_LOST, LostWork, with_hold_ups
from engine.choosing.surface import Surface
from engine.forecast import FloatArray, Forecast, IntArray, taken
from engine.mixing.beyond import Beyond, asked_beyond
from engine.mixing.columns import Columns


def coarseness(slots: FloatArray, tasks: FloatArray, work: FloatArray) -> FloatArray:
    """(n,) share of a stage in its last wave: the mean of min(1, slots / tasks).

    Args:
        slots: (n,) tasks that run at once; tasks, work: (s,) of the stages; empty gives 0.
    """
    if not len(tasks) or work.sum() <= 0.0:
        return np.zeros(len(slots))
    share = np.minimum(1.0, slots[:, None] / tasks)
    return np.asarray(share @ (work / work.sum()))


def stretched(
    seconds: FloatArray, *, coarse: FloatArray, mean: FloatArray, slowest: FloatArray
) -> FloatArray:
    """(n,) times, stretched because the last waves wait for the slowest cores.

    Args:
        coarse: (n,) see `coarseness`; mean, slowest: (n,) mean and least speed of a core.
    """
    return np.asarray(seconds * (1.0 + coarse * (mean / slowest - 1.0)))


@dataclass(frozen=True, eq=False)
class MixLaw:
    """The law above over the k types of a surface.

    Args:
        seconds, log_scale, dof: (k, c) of one type alone, on the surface and beyond.
        scale_below: (k, c) its scale below the median; None if symmetric.
        slots, speed: (k,) of a node, and of one of its cores; NaN where the layout is unknown.
        executor_cores: (k,) only types with equal ones are mixed.
        tasks, work: (s,) tasks of the measured stages, and their task seconds.
        interrupted: (k,) interruptions of a node per hour; None without spot nodes.
        safe: (k,) nodes that are never interrupted; None for none.
        lost: what an interruption costs.
        nodes: (c,) the node counts of the columns; None for all from 1 on.
    """

    seconds: FloatArray
    log_scale: FloatArray
    dof: FloatArray
    slots: FloatArray
    speed: FloatArray
    executor_cores: IntArray
    tasks: FloatArray
    work: FloatArray
    interrupted: FloatArray | None = None
    safe: IntArray | None = None
    lost: LostWork = NOTHING_LOST
    scale_below: FloatArray | None = None
    nodes: IntArray | None = None

    @classmethod
    def of(cls, surface: Surface, beyond: Beyond | None = None) -> MixLaw:
        """The law over the predictions of a surface, and those beyond it."""
        candidates, run = surface.candidates, surface.fitted.profile.largest_run
        answering = surface.fitted.answering(surface.workload)
        times = [stage.task_seconds for stage in run.stages] if run else []
        measured = [time for time in times if time is not None]
        told, shape = surface.forecast, surface.shape
        law = cls(
            seconds=surface.uninterrupted,
            log_scale=told.log_scale.reshape(shape),
            scale_below=None if told.symmetric else told.scale_below.reshape(shape),
            dof=told.dof.reshape(shape),
            slots=surface.slots,
            speed=answering.slot_speeds(candidates.grid([1])),
            executor_cores=np.asarray([x.executor_cores for x in candidates.layouts]),
            tasks=np.asarray([float(time.count) for time in measured]),
            work=np.asarray([time.total for time in measured]),
            interrupted=surface.interrupted if surface.spot else None,
            safe=surface.owned if surface.spot else None,
            lost=surface.lost_work,
        )
        return law if beyond is None else law._with(beyond, surface.nodes)

    def _with(self, beyond: Beyond, nodes: IntArray) -> MixLaw:
        """With columns beyond those of the surface."""
        below = None
        if self.scale_below is not None or beyond.scale_below is not None:
            laws = (self, beyond)
            below = np.hstack(
                [law.log_scale if law.scale_below is None else law.scale_below for law in laws]
            )
        return replace(
            self,
            seconds=np.hstack([self.seconds, beyond.beside(self.seconds[:, -1])]),
            log_scale=np.hstack([self.log_scale, beyond.log_scale]),
            scale_below=below,
            dof=np.hstack([self.dof, beyond.dof]),
            nodes=np.append(nodes, beyond.nodes),
        )

    def at(self, nodes: IntArray) -> MixLaw:
        """The law of a surface restricted to some of its node counts."""
        below = self.scale_below
        return replace(
            self,
            seconds=self.seconds[:, nodes - 1],
            log_scale=self.log_scale[:, nodes - 1],
            scale_below=None if below is None else below[:, nodes - 1],
            dof=self.dof[:, nodes - 1],
            nodes=nodes,
        )

    @cached_property
    def columns(self) -> Columns:
        """What the columns are for."""
        if self.nodes is None:
            return Columns.up_to(self.seconds.shape[1])
        return Columns(self.nodes)

    def with_spot(self, rows: IntArray, rates: FloatArray) -> MixLaw:
        """The law over all types on demand, followed by some of them as spot nodes.

        Args:
            rows: (s,) which types; rates: (s,) their interruptions per node and hour.
        """
        k = len(self.slots)
        both = self.taken(np.append(np.arange(k), rows))
        return replace(both, interrupted=np.append(np.zeros(k), rates))

    def taken(self, rows: IntArray) -> MixLaw:
        """The law over some types, repeated or reordered."""
        return taken(
            self, rows, "seconds", "log_scale", "dof", "slots", "speed", "executor_cores",
            "interrupted", "safe", "scale_below",
        )  # fmt: skip

    @cached_property
    def capacity(self) -> FloatArray:
        """(k,) g_t: the capacity of a node in cores of the measured machine."""
        return self.slots * self.speed

    @cached_property
    def twins(self) -> IntArray:
        """(k,) the first type with the same values in this law: a catalog has many types that a
        model cannot tell apart."""
        apart = (self.slots, self.speed, self.executor_cores, self.interrupted, self.safe)
        one_each = [values for values in apart if values is not None]
        tables = [self.seconds, self.log_scale, self.dof, self.scale_below]
        several = [np.ascontiguousarray(table) for table in tables if table is not None]
        # Few numbers tell most apart, and take a small part of the time of all.
        few = np.column_stack((*one_each, *(table[:, [0, -1]] for table in several)))
        first: dict[bytes, list[int]] = {}
        found = np.arange(len(few))
        for row, key in enumerate(map(bytes, few)):
            seen = first.setdefault(key, [])
            same = (
                other
                for other in seen
                if all(bytes(table[row]) == bytes(table[other]) for table in several)
            )
            found[row] = next(same, row)
            if found[row] == row:
                seen.append(row)
        return found

    @cached_property
    def dof_ends(self) -> FloatArray:
        """The fewest and the most degrees of freedom of any prediction; NaN where none are
        known."""
        least = np.fmin.reduce(self.dof, axis=None, initial=np.nan)
        return np.asarray([least, np.fmax.reduce(self.dof, axis=None, initial=np.nan)])

    @cached_property
    def widest(self) -> float:
        """An upper bound on the scale of log T of any composition."""
        scales = [self.log_scale, *([] if self.scale_below is None else [self.scale_below])]
        widest = max(float(np.fmax.reduce(scale, axis=None, initial=0.0)) for scale in scales)
        if self.interrupted is None or not self.interrupted.any():
            return widest
        # At most one node does all of the work, and is interrupted at the highest rate.
        seconds = self.seconds[np.isfinite(self.seconds)]
        one = np.full(len(seconds), self.interrupted.max())
        longest = with_hold_ups(Forecast.of(seconds, 0.0), self.lost, rate=0.0 * one, square=one)
        return float(np.hypot(widest, longest.log_scale.max(initial=0.0)))

    def shares(self, rows: IntArray, counts: IntArray) -> FloatArray:
        """(q,) share of one node of each type in the capacity of (q,) types and their nodes."""
        own = self.capacity[rows]
        return np.asarray(own / (counts * own).sum())

    def all_slowest(self, rows: IntArray, counts: IntArray | FloatArray) -> FloatArray:
        """(n, q) nodes of each member with the slowest cores that have as many slots as the whole
        composition; NaN for the others."""
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
        member, between = counts > 0, self.columns.between
        share = counts * self.capacity[rows]
        total = share.sum(axis=1)
        alike = total[:, None] / self.capacity[rows]
        times = np.where(member, between(self.seconds, rows, alike), 0.0)
        weight = share / total[:, None]
        seconds = (weight * times).sum(axis=1)
        slots = (counts * self.slots[rows]).sum(axis=1)
        waiting = stretched(
            seconds,
            coarse=coarseness(slots, self.tasks, self.work),
            mean=total / slots,
            slowest=np.where(member, self.speed[rows], np.inf).min(axis=1),
        )
        if (counts.astype(bool).sum(axis=1) > 1).any():
            all_slow = self.all_slowest(rows, counts)
            alone = between(self.seconds, rows, np.where(np.isnan(all_slow), 1.0, all_slow))
            most = np.where(np.isnan(all_slow), np.inf, alone).min(axis=1)
            waiting = np.minimum(waiting, np.maximum(seconds, most))
        seconds = waiting
        scale = np.where(member, between(self.log_scale, rows, alike), -np.inf)
        widest = scale.max(axis=1)
        decides = member & ((scale >= widest[:, None]) | np.isnan(scale))
        dof = np.where(decides, between(self.dof, rows, alike), np.inf).min(axis=1)
        below = None
        if self.scale_below is not None:
            below = np.where(member, between(self.scale_below, rows, alike), 0.0).max(axis=1)
        found = Forecast.of(seconds, widest, dof, scale_below=below)
        if self.interrupted is None:
            return found
        exposed = counts if self.safe is None else np.maximum(counts - self.safe[rows], 0)
        rate = self.interrupted[rows] * exposed * self.capacity[rows] / total[:, None]
        square = rate * self.capacity[rows] / total[:, None]
        return with_hold_ups(found, self.lost, rate=rate.sum(axis=1), square=square.sum(axis=1))


def beyond_of(surface: Surface) -> Beyond | None:
    """The times beyond a surface that mixes of its types need; None if none. They are the same for
    every question about a surface."""
    return surface.once(_beyond)


def _beyond(surface: Surface) -> Beyond | None:
    law = MixLaw.of(surface)
    return asked_beyond(surface, law.capacity, law.executor_cores)
