"""Recommendation on an owned cluster: without prices, the least resource time within a deadline.

Resource time is what a job takes from others on the same cluster: vcore-seconds and, where the
memory of executors is known, theta times the GiB-seconds (SimCost Eq. 1). A model that predicts the
memory that the job needs also sets the size of the executors (SimCost 4.2.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from engine.batch import ClusterBatch
from engine.caching import Lazy
from engine.choosing.answer_notices import time_alone_notice
from engine.choosing.difference_texts import in_runs, missed_by
from engine.choosing.exact_points import with_exact_points
from engine.choosing.objectives import OBJECTIVE_SYNONYMS
from engine.choosing.recommendation import Choice, Goal, Recommendation, Rejected
from engine.choosing.room import require_startable
from engine.choosing.sweeps import significant
from engine.cluster import BesideHeap, Cluster, Layout, Workload
from engine.errors import BadInput, UnknownName
from engine.forecast import FloatArray, Forecast, IntArray, none_if_nan
from engine.machines.beside_heap import planned_beside, planned_beside_notices
from engine.memory import planned_beside_heap
from engine.models.assured_memory import AssuredMemory
from engine.models.base import FittedModel
from engine.models.simcost.costs import THETA, resource_time, throughput
from engine.models.simcost.search import Round, most_rounds, range_search
from engine.notices import Notice, in_order
from engine.runs.barrier_stages import not_started
from engine.units import format_count

MAX_EXECUTORS = 100_000

LATENESS_PENALTY = 1e12
"""How many vcore-seconds a second counts where the deadline is missed."""

_REFINEMENTS = 16
"""The most rounds of exact re-evaluation; each settles the best number of the previous one."""


def recommend_owned(
    fitted: FittedModel,
    *,
    executor_cores: int,
    executor_memory_gib: float | None = None,
    max_executors: int,
    workload: Workload | None = None,
    deadline_seconds: float | None = None,
    confidence: float = 0.9,
    objective: str = "resource-time",
    theta: float | None = None,
    epsilon: int | None = None,
) -> Recommendation:
    """The number and size of executors that meet the deadline with the least resource time.

    Choices have no instance type and no cost: they differ in `executors`, `vcore_seconds`,
    `resource_time` and `layout`. Alternatives are the other numbers that meet the deadline, best
    first; the frontier is that of time against resource time.

    Args:
        executor_memory_gib: None for what the job needs, if the model tells.
        objective: one of `OBJECTIVES`.
        theta: price of a GiB relative to a vcore; None for `THETA`, where memory is known.
        epsilon: None compares every number of executors. A number searches ranges down to steps of
            that many executors (SimCost's Algorithm 1) and evaluates only a few.

    Raises:
        BadInput: for an impossible goal or number of executors, and whatever the model raises.
        UnknownName: for an unknown objective.
    """
    if not 1 <= max_executors <= MAX_EXECUTORS:
        raise BadInput(f"max_executors must lie between 1 and {MAX_EXECUTORS}, not {max_executors}")
    if objective not in OBJECTIVES:
        raise UnknownName("objective", objective, OBJECTIVES)
    if theta is not None and not 0.0 <= theta < np.inf:
        raise BadInput(f"theta must be at least 0, not {theta}")
    goal = Goal(
        deadline_seconds, None, confidence, objective=objective, max_executors=max_executors
    )
    workload = workload or fitted.profile.reference_workload
    assured_memory = fitted.assured_memory(workload) if executor_memory_gib is None else None
    if theta is not None and executor_memory_gib is None and assured_memory is None:
        raise BadInput(
            "theta prices memory, and that of the executors is not known",
            remedy="add --executor-memory, or leave theta out",
        )
    problem = _OwnedProblem(
        fitted,
        workload,
        goal,
        executor_cores,
        executor_memory_gib,
        assured_memory,
        objective,
        THETA if theta is None else theta,
    )
    require_startable(fitted, max_executors, executor_cores)
    if epsilon is not None:
        return problem.range_searched(max_executors, epsilon)
    return problem.evaluated(range(1, max_executors + 1)).refined().recommendation()


OBJECTIVES = ("resource-time", "time", *OBJECTIVE_SYNONYMS)
"""What to optimise (SimCost 4.3)."""


@dataclass(frozen=True, eq=False)
class _OwnedProblem:
    """The optimisation problem, before any number of executors is evaluated."""

    fitted: FittedModel
    workload: Workload
    goal: Goal
    executor_cores: int
    executor_memory_gib: float | None
    assured: AssuredMemory | None
    objective: str
    theta: float

    def evaluated(self, counts: Sequence[int]) -> _ExecutorCounts:
        """The forecasts for these numbers of executors, ascending."""
        batch = ClusterBatch.of([self.cluster(count) for count in counts], self.fitted.profile)
        return _ExecutorCounts(self, batch, self.fitted.forecast(batch, self.workload))

    def cluster(self, count: int) -> Cluster:
        """A cluster of `count` executors, with the given or the assured memory."""
        memory, cores = self.executor_memory_gib, self.executor_cores
        if self.assured is not None and cores >= 1:
            memory = self.assured.executor_gib(executors=count, executor_cores=cores)
        return Cluster.of_executors(
            executors=count, executor_cores=cores, executor_memory_gib=memory
        )

    def startable(self, executors: FloatArray) -> np.ndarray:
        """(n,) whether each number of executors starts the job's barrier stages."""
        stages, cores = self.fitted.barrier_stages, self.executor_cores
        return np.asarray([not_started(stages, count, cores) is None for count in executors])

    def range_searched(self, max_executors: int, epsilon: int) -> Recommendation:
        """The answer of SimCost's range search (Algorithm 1) over the numbers of executors."""
        costs: dict[int, float] = {}

        def cost(count: int) -> float:
            if count not in costs:
                costs[count] = self.evaluated([count]).penalised_objective[0]
            return costs[count]

        rounds = range_search(cost, domain=max_executors, epsilon=epsilon)
        recommendation = self.evaluated(sorted(costs)).recommendation()
        choice = recommendation.recommended
        if choice is not None:
            why = (*choice.why, _search_text(rounds, max_executors, epsilon))
            recommendation = replace(recommendation, recommended=replace(choice, why=why))
        return replace(recommendation, optimal=False)

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Notices on how the size of the executors was determined."""
        if self.assured is None:
            return ()
        grid = ", ".join(f"{gib:.3g}" for gib in self.assured.try_gib)
        more = f"; sample runs with {grid} GiB in all would tell more" if grid else ""
        return (
            Notice(
                "assured-memory",
                f"executor memory: {self.assured.how}",
                f"set it with --executor-memory{more}",
            ),
        )


def _search_text(rounds: Sequence[Round], domain: int, epsilon: int) -> str:
    """A range search in words: "range search: [0, 150] 30, [0, 60] 12, [0, 24] 15"."""
    steps = ", ".join(f"[{each.low}, {each.high}] {each.chosen}" for each in rounds)
    bound = most_rounds(domain=domain, epsilon=epsilon) if domain > epsilon else 1
    return f"range search: {steps}; at most {max(1, int(np.ceil(bound)))} rounds"


@dataclass(frozen=True, eq=False)
class _ExecutorCounts:
    """Forecasts for n numbers of executors, ascending."""

    problem: _OwnedProblem
    batch: ClusterBatch
    forecast: Forecast

    @cached_property
    def resource_time(self) -> FloatArray:
        """(n,) resource time, of vcores alone where memory is unknown; inf without a prediction
        and where Spark ends the job."""
        memory = np.nan_to_num(self.batch.executors * self.batch.executor_memory_gib)
        resource = np.asarray(
            resource_time(
                seconds=self.forecast.seconds,
                vcores=self.batch.vcores,
                memory_gib=memory,
                theta=self.problem.theta,
            )
        )
        usable = np.isfinite(resource) & self.problem.startable(self.batch.executors)
        return np.where(usable, resource, np.inf)

    @property
    def penalised_objective(self) -> FloatArray:
        """(n,) what the objective minimises, with a penalty for missing the deadline that grows
        with lateness."""
        by_time = self.problem.objective != "resource-time"
        usable_seconds = np.where(np.isfinite(self.resource_time), self.forecast.seconds, np.inf)
        minimised = usable_seconds if by_time else self.resource_time
        deadline = self.problem.goal.deadline_seconds
        if deadline is None:
            return minimised
        late = LATENESS_PENALTY * self.least_deadlines
        return np.where(self.least_deadlines <= deadline, minimised, late)

    @cached_property
    def least_deadlines(self) -> FloatArray:
        """(n,) the shortest deadline that is met, as `Surface.log_least_deadlines`; inf where
        `resource_time` is."""
        quantile = self.forecast.quantile(self.problem.goal.confidence)
        alone = np.nextafter(self.forecast.seconds, np.inf)
        deadlines = np.where(np.isnan(quantile), alone, quantile)
        usable = np.isfinite(deadlines) & np.isfinite(self.resource_time)
        return np.where(usable, deadlines, np.inf)

    def refined(self) -> _ExecutorCounts:
        """The same with the best number of executors and its neighbours evaluated exactly, until
        the best one no longer changes: models may interpolate over many."""
        counts, exact = self, set[int]()
        for _ in range(_REFINEMENTS):
            ranked = counts._meeting_deadline()
            best = int(ranked[0]) if len(ranked) else int(counts.least_deadlines.argmin())
            neighbours = {
                index for index in (best - 1, best, best + 1) if 0 <= index < len(self.batch)
            }
            if not (unrefined := sorted(neighbours - exact)):
                break
            clusters = [self._cluster(index) for index in unrefined]
            batch = ClusterBatch.of(clusters, self.problem.fitted.profile)
            forecast = self.problem.fitted.forecast(batch, self.problem.workload)
            corrected = with_exact_points(
                counts.forecast, unrefined, forecast, exact_before=exact, row_length=len(self.batch)
            )
            counts = replace(counts, forecast=corrected)
            exact.update(unrefined)
        return counts

    def _meeting_deadline(self) -> IntArray:
        """Indices that meet the deadline, best first."""
        met = np.isfinite(self.resource_time)
        if self.problem.goal.deadline_seconds is not None:
            met &= self.least_deadlines <= self.problem.goal.deadline_seconds
        return self._ranked(np.flatnonzero(met))

    def recommendation(self) -> Recommendation:
        """Least resource time first among those that meet the deadline."""
        deadline, ranked = self.problem.goal.deadline_seconds, self._meeting_deadline()
        recommended = nearest = None
        if len(ranked):
            recommended = self._with_reason(int(ranked[0]))
        elif np.isfinite(self.least_deadlines).any():
            nearest = self._with_warnings(int(self.least_deadlines.argmin()))
        shown = recommended or nearest
        notices = [
            *self.problem.fitted.profile.notices,
            *self.problem.fitted.answering(self.problem.workload).fit_notices,
            *self.problem.notices,
            *planned_beside_notices(self.problem.fitted.profile),
        ]
        if deadline is not None and shown is not None and shown.low is None:
            notices.append(time_alone_notice(self.problem.fitted.model))
        return Recommendation(
            goal=self.problem.goal,
            model=self.problem.fitted.model,
            recommended=recommended,
            alternatives=Lazy(ranked[1:], self._choice),
            frontier=Lazy(self._frontier(), self._choice),
            rejected=() if recommended else self._rejected(nearest),
            nearest=nearest,
            optimal=True,
            evaluated=len(self.batch),
            warnings=in_order(notices),
        )

    def _ranked(self, indices: IntArray) -> IntArray:
        seconds = significant(self.forecast.seconds[indices])
        resource = significant(self.resource_time[indices])
        by_time = self.problem.objective != "resource-time"
        keys = (indices, resource, seconds) if by_time else (indices, seconds, resource)
        return np.asarray(indices[np.lexsort(keys)])

    def _frontier(self) -> list[int]:
        """Indices of the Pareto front of time and resource time, fastest first."""
        indices: list[int] = []
        least_resource = np.inf
        for index in np.lexsort((self.resource_time, self.forecast.seconds)):
            if self.resource_time[index] < least_resource:
                least_resource = self.resource_time[index]
                indices.append(int(index))
        return indices

    def _choice(self, index: int) -> Choice:
        executors = int(self.batch.executors[index])
        forecast = self.forecast.take([index])
        low, high = (
            none_if_nan(bound[0]) for bound in forecast.interval(self.problem.goal.confidence)
        )
        cores, seconds = int(self.batch.executor_cores[index]), float(forecast.seconds[0])
        memory = none_if_nan(self.batch.executor_memory_gib[index])
        size = self.problem.workload.input_bytes
        in_bytes = size is not None and self.problem.fitted.profile.input_unit == "bytes"
        return Choice(
            composition={},
            instance=None,
            nodes=None,
            seconds=seconds,
            low=low,
            high=high,
            p_deadline=self._p_deadline(index),
            layout=Layout(1, cores, memory, self._beside(cores, memory)),
            executors=executors,
            vcore_seconds=executors * cores * seconds,
            resource_time=None if memory is None else float(self.resource_time[index]),
            throughput_bytes_per_second=(
                float(throughput(data_bytes=size, seconds=seconds)) if size and in_bytes else None
            ),
        )

    def _beside(self, cores: int, heap_gib: float | None) -> BesideHeap | None:
        planned = planned_beside(self.problem.fitted.profile)
        if planned is None or heap_gib is None:
            return None
        return planned_beside_heap(heap_gib, planned.times(cores))

    def _with_warnings(self, index: int) -> Choice:
        """A choice with all of the model's warnings, which are slow to find for a replay."""
        batch = ClusterBatch.of([self._cluster(index)], self.problem.fitted.profile)
        return replace(
            self._choice(index),
            warnings=self.problem.fitted.notices(batch, self.problem.workload),
        )

    def _cluster(self, index: int) -> Cluster:
        return self.problem.cluster(int(self.batch.executors[index]))

    def _p_deadline(self, index: int) -> float | None:
        if self.problem.goal.deadline_seconds is None:
            return None
        forecast = self.forecast.take([index])
        return none_if_nan(forecast.p_within(self.problem.goal.deadline_seconds)[0])

    def _with_reason(self, index: int) -> Choice:
        choice = self._with_warnings(index)
        deadline = self.problem.goal.deadline_seconds
        if index == 0 or deadline is None or self.least_deadlines[index - 1] <= deadline:
            return choice
        if self.batch.executors[index - 1] != self.batch.executors[index] - 1:
            return choice
        if np.isinf(self.least_deadlines[index - 1]):
            started = self.problem.startable(self.batch.executors[index - 1 : index])[0]
            fewer = "the model has no prediction for one executor fewer"
            if not started:
                fewer = "one executor fewer has too few slots for its barrier stages"
            return replace(choice, why=(fewer,))
        p = self._p_deadline(index - 1)
        if p is None:
            late = float(self.least_deadlines[index - 1]) - deadline
            missed = missed_by(late, None, deadline_seconds=deadline)
        else:
            allowed = 1.0 - self.problem.goal.confidence
            missed = f"misses the deadline {in_runs(1.0 - p, allowed=allowed)}"
        return replace(choice, why=(f"one executor fewer {missed}",))

    def _rejected(self, nearest: Choice | None) -> tuple[Rejected, ...]:
        if (
            nearest is None
            or nearest.executors is None
            or self.problem.goal.deadline_seconds is None
        ):
            return (Rejected("", None, "the model has no prediction for it", "no-prediction"),)
        deadline = self.problem.goal.deadline_seconds
        late = float(self.least_deadlines.min()) - deadline
        confidence = None if nearest.low is None else self.problem.goal.confidence
        missed = missed_by(late, confidence, deadline_seconds=deadline)
        reason = f"{missed} with {format_count(nearest.executors, 'executor')}"
        missed_deadline = Rejected(
            "", {}, reason, "deadline", nearest.seconds, None, late, p_deadline=nearest.p_deadline
        )
        return (missed_deadline,)
