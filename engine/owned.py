"""Clusters that one owns: no prices, the least resource time that meets a deadline.

Resource time is executors x cores x seconds (SimCost's T_R at vcore level): what a job takes away
from the others that share the cluster.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from engine.batch import ClusterBatch
from engine.choices import NO_INTERVAL, Lazy, in_runs, known, plural
from engine.cluster import Cluster, Layout, Workload
from engine.errors import BadInput
from engine.forecast import FloatArray, Forecast
from engine.models.base import FittedModel, distinct
from engine.recommendation import Choice, Goal, Recommendation, Rejected
from engine.surface import patched
from engine.sweeps import IntArray, significant
from engine.units import format_seconds

MAX_EXECUTORS = 100_000

_REFINEMENTS = 16
"""Rounds of exact re-evaluation at most; each settles the best number of the one before."""


def recommend_owned(
    fitted: FittedModel,
    *,
    executor_cores: int,
    executor_memory_gib: float | None = None,
    max_executors: int,
    workload: Workload | None = None,
    deadline_seconds: float | None = None,
    confidence: float = 0.9,
) -> Recommendation:
    """The number of executors that takes the least resource time and meets the deadline.

    Choices have no instance and no cost: `executors`, `vcore_seconds` and `layout` tell them
    apart. Alternatives are the other numbers that meet the deadline, least resource time first;
    the frontier is that of time against resource time.

    Raises:
        BadInput: for an impossible goal or number of executors, and what the model raises.
    """
    goal = Goal(deadline_seconds, None, confidence)
    if not 1 <= max_executors <= MAX_EXECUTORS:
        raise BadInput(f"max_executors must lie between 1 and {MAX_EXECUTORS}, not {max_executors}")
    clusters = [
        Cluster.of_executors(
            executors=count, executor_cores=executor_cores, executor_memory_gib=executor_memory_gib
        )
        for count in range(1, max_executors + 1)
    ]
    workload = workload or fitted.profile.reference_workload
    batch = ClusterBatch.of(clusters, fitted.profile)
    answers = _Owned(fitted, workload, goal, batch, fitted.forecast(batch, workload))
    return answers.settled().recommendation()


@dataclass(frozen=True, eq=False)
class _Owned:
    """The forecasts of 1 ... n executors; places count from 0."""

    fitted: FittedModel
    workload: Workload
    goal: Goal
    batch: ClusterBatch
    forecast: Forecast

    @cached_property
    def vcore_seconds(self) -> FloatArray:
        """(n,) resource time; inf without a prediction."""
        resource = self.batch.slots * self.forecast.seconds
        return np.where(np.isfinite(resource), resource, np.inf)

    @cached_property
    def bounds(self) -> FloatArray:
        """(n,) the shortest deadline that is met, as `Surface.bounds`; inf without a prediction."""
        quantile = self.forecast.quantile(self.goal.confidence)
        alone = np.nextafter(self.forecast.seconds, np.inf)
        bounds = np.where(np.isnan(quantile), alone, quantile)
        return np.where(np.isfinite(bounds), bounds, np.inf)

    def settled(self) -> _Owned:
        """The same with the deciding numbers of executors evaluated exactly, a few at a time, where
        the model interpolates over many."""
        answers, exact = self, set[int]()
        for _ in range(_REFINEMENTS):
            best = answers._best()
            around = {place for place in (best - 1, best, best + 1) if 0 <= place < len(self.batch)}
            if not (new := sorted(around - exact)):
                break
            exact.update(new)
            clusters = [self._cluster(place) for place in new]
            batch = ClusterBatch.of(clusters, self.fitted.profile)
            forecast = self.fitted.forecast(batch, self.workload)
            answers = replace(answers, forecast=patched(answers.forecast, new, forecast))
        return answers

    def _best(self) -> int:
        ranked = self._met()
        return int(ranked[0]) if len(ranked) else int(self.bounds.argmin())

    def _met(self) -> IntArray:
        """Places that meet the deadline, least resource time first."""
        met = np.isfinite(self.vcore_seconds)
        if self.goal.deadline_seconds is not None:
            met &= self.bounds <= self.goal.deadline_seconds
        return self._ranked(np.flatnonzero(met))

    def recommendation(self) -> Recommendation:
        """Least resource time first among those that meet the deadline."""
        deadline, ranked = self.goal.deadline_seconds, self._met()
        recommended = nearest = None
        if len(ranked):
            recommended = self._explained(int(ranked[0]))
        elif np.isfinite(self.bounds).any():
            nearest = self._warned(int(self.bounds.argmin()))
        shown = recommended or nearest
        notices = [*self.fitted.profile.notices, *self.fitted.fit_notices]
        if deadline is not None and shown is not None and shown.low is None:
            notices.append(NO_INTERVAL)
        return Recommendation(
            goal=self.goal,
            model=self.fitted.model,
            recommended=recommended,
            alternatives=Lazy(ranked[1:], self._choice),
            frontier=Lazy(self._frontier(), self._choice),
            rejected=() if recommended else self._rejected(nearest),
            nearest=nearest,
            optimal=True,
            evaluated=len(self.batch),
            warnings=distinct(notices),
        )

    def _ranked(self, places: IntArray) -> IntArray:
        seconds, resource = self.forecast.seconds[places], self.vcore_seconds[places]
        order = np.lexsort((places, significant(seconds), significant(resource)))
        return np.asarray(places[order])

    def _frontier(self) -> list[int]:
        """Places that no other beats in time and resource time, fastest first."""
        found: list[int] = []
        least = np.inf
        for place in np.lexsort((self.vcore_seconds, self.forecast.seconds)):
            if self.vcore_seconds[place] < least:
                least = self.vcore_seconds[place]
                found.append(int(place))
        return found

    def _choice(self, place: int) -> Choice:
        executors = place + 1
        one = Forecast(*(x[[place]] for x in vars(self.forecast).values()))
        low, high = (known(bound[0]) for bound in one.interval(self.goal.confidence))
        cores = int(self.batch.executor_cores[place])
        return Choice(
            composition={},
            instance=None,
            nodes=None,
            seconds=float(one.seconds[0]),
            low=low,
            high=high,
            p_deadline=self._p_deadline(place),
            layout=Layout(1, cores, known(self.batch.executor_memory_gib[place])),
            executors=executors,
            vcore_seconds=float(self.vcore_seconds[place]),
        )

    def _warned(self, place: int) -> Choice:
        """A choice with all that the model warns of, which a replay takes a while to find."""
        batch = ClusterBatch.of([self._cluster(place)], self.fitted.profile)
        return replace(self._choice(place), warnings=self.fitted.notices(batch, self.workload))

    def _cluster(self, place: int) -> Cluster:
        return Cluster.of_executors(
            executors=place + 1,
            executor_cores=int(self.batch.executor_cores[place]),
            executor_memory_gib=known(self.batch.executor_memory_gib[place]),
        )

    def _p_deadline(self, place: int) -> float | None:
        if self.goal.deadline_seconds is None:
            return None
        one = Forecast(*(x[[place]] for x in vars(self.forecast).values()))
        return known(one.p_within(self.goal.deadline_seconds)[0])

    def _explained(self, place: int) -> Choice:
        choice = self._warned(place)
        deadline = self.goal.deadline_seconds
        if place == 0 or deadline is None or self.bounds[place - 1] <= deadline:
            return choice
        p = self._p_deadline(place - 1)
        late = float(self.forecast.seconds[place - 1]) - deadline
        missed = in_runs(1.0 - p) if p is not None else f"by {format_seconds(max(late, 0.0))}"
        return replace(choice, why=(f"one executor fewer misses the deadline {missed}",))

    def _rejected(self, nearest: Choice | None) -> tuple[Rejected, ...]:
        if nearest is None or nearest.executors is None or self.goal.deadline_seconds is None:
            return (Rejected("", None, "the model has no prediction for it", "no-prediction"),)
        late = float(self.bounds.min()) - self.goal.deadline_seconds
        reason = (
            f"misses the deadline by {format_seconds(late)} at "
            f"{plural(nearest.executors, 'executor')}"
        )
        return (Rejected("", {}, reason, "deadline", nearest.seconds, None, late),)
