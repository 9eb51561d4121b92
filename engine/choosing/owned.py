"""Clusters that you own: no prices, the least resource time that meets a deadline.

Resource time is what a job takes from the others on the same cluster: vcore-seconds and, where the
executors' memory is known, theta times the GiB-seconds (SimCost Eq. 1). A model that tells how much
memory the job needs also gives the size of the executors (SimCost 4.2.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from engine.batch import ClusterBatch
from engine.choosing.answer_notices import NO_INTERVAL
from engine.choosing.differences import in_runs, missed_by
from engine.choosing.exact_points import with_exact
from engine.choosing.recommendation import Choice, Goal, Recommendation, Rejected
from engine.choosing.sweeps import significant
from engine.cluster import BesideHeap, Cluster, Layout, Workload
from engine.errors import BadInput, UnknownName
from engine.forecast import FloatArray, Forecast, IntArray, known
from engine.lazy import Lazy
from engine.machines.beside_heap import planned_beside, planned_notices
from engine.memory import beside_of
from engine.models.assured_memory import AssuredMemory
from engine.models.base import FittedModel
from engine.models.simcost.costs import THETA, resource_time, throughput
from engine.models.simcost.search import Round, most_rounds, range_search
from engine.notices import Notice, in_order
from engine.runs.barrier_stages import not_started
from engine.units import format_count

MAX_EXECUTORS = 100_000

LATE = 1e12
"""Times by which a second after the deadline is worse than a vcore-second."""

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
    theta: float = THETA,
    epsilon: int | None = None,
) -> Recommendation:
    """The number and size of executors that meet the deadline with the least resource time.

    Choices have no instance type and no cost: they differ in `executors`, `vcore_seconds`,
    `resource_time` and `layout`. Alternatives are the other numbers that meet the deadline, best
    first; the frontier is that of time against resource time.

    Args:
        executor_memory_gib: None for what the job needs, if the model tells.
        objective: one of `OBJECTIVES`.
        theta: price of a GiB relative to a vcore.
        epsilon: None compares every number of executors. A number searches ranges down to steps of
            that many executors (SimCost's Algorithm 1) and evaluates only a few.

    Raises:
        BadInput: for an impossible goal or number of executors, and whatever the model raises.
        UnknownName: for an unknown objective.
    """
    goal = Goal(deadline_seconds, None, confidence)
    if not 1 <= max_executors <= MAX_EXECUTORS:
        raise BadInput(f"max_executors must lie between 1 and {MAX_EXECUTORS}, not {max_executors}")
    if objective not in OBJECTIVES:
        raise UnknownName("objective", objective, OBJECTIVES)
    if not 0.0 <= theta < np.inf:
        raise BadInput(f"theta must be at least 0, not {theta}")
    workload = workload or fitted.profile.reference_workload
    assured = fitted.assured_memory(workload) if executor_memory_gib is None else None
    question = _Question(
        fitted, workload, goal, executor_cores, executor_memory_gib, assured, objective, theta
    )
    question.require_room(max_executors)
    if epsilon is not None:
        return question.searched(max_executors, epsilon)
    return question.of(range(1, max_executors + 1)).settled().recommendation()


OBJECTIVES = ("resource-time", "runtime", "throughput")
"""What to optimise (SimCost 4.3); for a given input, most throughput means least runtime."""


@dataclass(frozen=True, eq=False)
class _Question:
    """The question, before any number of executors is evaluated."""

    fitted: FittedModel
    workload: Workload
    goal: Goal
    executor_cores: int
    executor_memory_gib: float | None
    assured: AssuredMemory | None
    objective: str
    theta: float

    def of(self, counts: Sequence[int]) -> _Owned:
        """The forecasts for these numbers of executors, ascending."""
        batch = ClusterBatch.of([self.cluster(count) for count in counts], self.fitted.profile)
        return _Owned(self, batch, self.fitted.forecast(batch, self.workload))

    def cluster(self, count: int) -> Cluster:
        """So many executors, with the given or the assured memory."""
        memory, cores = self.executor_memory_gib, self.executor_cores
        if self.assured is not None and cores >= 1:
            memory = self.assured.executor_gib(executors=count, executor_cores=cores)
        return Cluster.of_executors(
            executors=count, executor_cores=cores, executor_memory_gib=memory
        )

    def startable(self, executors: FloatArray) -> np.ndarray:
        """(n,) whether so many executors start the job's barrier stages."""
        stages, cores = self.fitted.barrier_stages, self.executor_cores
        return np.asarray([not_started(stages, count, cores) is None for count in executors])

    def require_room(self, max_executors: int) -> None:
        """Raises BadInput where no number of executors starts the job's barrier stages."""
        stage = not_started(self.fitted.barrier_stages, max_executors, self.executor_cores)
        if stage is None:
            return
        held = stage.room(max_executors, self.executor_cores)
        raise BadInput(
            f"{stage.label} starts its {stage.tasks} tasks all at once (barrier mode), and there "
            f"is room for {held:.0f} on {format_count(max_executors, 'executor')} of "
            f"{format_count(self.executor_cores, 'core')}",
            remedy="raise --max-executors or --executor-cores",
        )

    def searched(self, max_executors: int, epsilon: int) -> Recommendation:
        """The answer of SimCost's range search (Algorithm 1) over the numbers of executors."""
        known: dict[int, float] = {}

        def cost(count: int) -> float:
            if count not in known:
                known[count] = self.of([count]).costs[0]
            return known[count]

        rounds = range_search(cost, domain=max_executors, epsilon=epsilon)
        found = self.of(sorted(known)).recommendation()
        choice = found.recommended
        if choice is not None:
            why = (*choice.why, _walk(rounds, max_executors, epsilon))
            found = replace(found, recommended=replace(choice, why=why))
        return replace(found, optimal=False)

    @property
    def notices(self) -> tuple[Notice, ...]:
        """How the size of the executors came about."""
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


def _walk(rounds: Sequence[Round], domain: int, epsilon: int) -> str:
    """A range search in words: "range search: [0, 150] 30, [0, 60] 12, [0, 24] 15"."""
    steps = ", ".join(f"[{each.low}, {each.high}] {each.chosen}" for each in rounds)
    bound = most_rounds(domain=domain, epsilon=epsilon) if domain > epsilon else 1
    return f"range search: {steps}; at most {max(1, int(np.ceil(bound)))} rounds"


@dataclass(frozen=True, eq=False)
class _Owned:
    """The forecasts of n numbers of executors, ascending; places count from 0."""

    question: _Question
    batch: ClusterBatch
    forecast: Forecast

    @cached_property
    def resource(self) -> FloatArray:
        """(n,) resource time, of vcores alone where memory is unknown; inf without a prediction
        and where Spark ends the job."""
        memory = np.nan_to_num(self.batch.executors * self.batch.executor_memory_gib)
        resource = np.asarray(
            resource_time(
                seconds=self.forecast.seconds,
                vcores=self.batch.vcores,
                memory_gib=memory,
                theta=self.question.theta,
            )
        )
        usable = np.isfinite(resource) & self.question.startable(self.batch.executors)
        return np.where(usable, resource, np.inf)

    @property
    def costs(self) -> FloatArray:
        """(n,) what the objective minimises, with a penalty for missing the deadline that grows
        with lateness."""
        by_time = self.question.objective != "resource-time"
        own = np.where(np.isfinite(self.resource), self.forecast.seconds, np.inf)
        costs = own if by_time else self.resource
        deadline = self.question.goal.deadline_seconds
        return (
            costs
            if deadline is None
            else np.where(self.bounds <= deadline, costs, LATE * self.bounds)
        )

    @cached_property
    def bounds(self) -> FloatArray:
        """(n,) the shortest deadline that is met, as `Surface.bounds`; inf as `resource`."""
        quantile = self.forecast.quantile(self.question.goal.confidence)
        alone = np.nextafter(self.forecast.seconds, np.inf)
        bounds = np.where(np.isnan(quantile), alone, quantile)
        usable = np.isfinite(bounds) & np.isfinite(self.resource)
        return np.where(usable, bounds, np.inf)

    def settled(self) -> _Owned:
        """The same with the numbers of executors that decide evaluated exactly, a few at a time:
        models may interpolate over many."""
        answers, exact = self, set[int]()
        for _ in range(_REFINEMENTS):
            ranked = answers._met()
            best = int(ranked[0]) if len(ranked) else int(answers.bounds.argmin())
            around = {place for place in (best - 1, best, best + 1) if 0 <= place < len(self.batch)}
            if not (new := sorted(around - exact)):
                break
            clusters = [self._cluster(place) for place in new]
            batch = ClusterBatch.of(clusters, self.question.fitted.profile)
            forecast = self.question.fitted.forecast(batch, self.question.workload)
            found = with_exact(answers.forecast, new, forecast, known=exact, row=len(self.batch))
            answers = replace(answers, forecast=found)
            exact.update(new)
        return answers

    def _met(self) -> IntArray:
        """Places that meet the deadline, least resource time first."""
        met = np.isfinite(self.resource)
        if self.question.goal.deadline_seconds is not None:
            met &= self.bounds <= self.question.goal.deadline_seconds
        return self._ranked(np.flatnonzero(met))

    def recommendation(self) -> Recommendation:
        """Least resource time first among those that meet the deadline."""
        deadline, ranked = self.question.goal.deadline_seconds, self._met()
        recommended = nearest = None
        if len(ranked):
            recommended = self._explained(int(ranked[0]))
        elif np.isfinite(self.bounds).any():
            nearest = self._warned(int(self.bounds.argmin()))
        shown = recommended or nearest
        notices = [
            *self.question.fitted.profile.notices,
            *self.question.fitted.answering(self.question.workload).fit_notices,
            *self.question.notices,
            *planned_notices(self.question.fitted.profile),
        ]
        if deadline is not None and shown is not None and shown.low is None:
            notices.append(NO_INTERVAL)
        return Recommendation(
            goal=self.question.goal,
            model=self.question.fitted.model,
            recommended=recommended,
            alternatives=Lazy(ranked[1:], self._choice),
            frontier=Lazy(self._frontier(), self._choice),
            rejected=() if recommended else self._rejected(nearest),
            nearest=nearest,
            optimal=True,
            evaluated=len(self.batch),
            warnings=in_order(notices),
        )

    def _ranked(self, places: IntArray) -> IntArray:
        seconds = significant(self.forecast.seconds[places])
        resource = significant(self.resource[places])
        by_time = self.question.objective != "resource-time"
        keys = (places, resource, seconds) if by_time else (places, seconds, resource)
        return np.asarray(places[np.lexsort(keys)])

    def _frontier(self) -> list[int]:
        """Places that no other beats in time and resource time, fastest first."""
        found: list[int] = []
        least = np.inf
        for place in np.lexsort((self.resource, self.forecast.seconds)):
            if self.resource[place] < least:
                least = self.resource[place]
                found.append(int(place))
        return found

    def _choice(self, place: int) -> Choice:
        executors = int(self.batch.executors[place])
        one = self.forecast.taken([place])
        low, high = (known(bound[0]) for bound in one.interval(self.question.goal.confidence))
        cores, seconds = int(self.batch.executor_cores[place]), float(one.seconds[0])
        memory, size = (
            known(self.batch.executor_memory_gib[place]),
            self.question.workload.input_bytes,
        )
        in_bytes = size is not None and self.question.fitted.profile.input_unit == "bytes"
        return Choice(
            composition={},
            instance=None,
            nodes=None,
            seconds=seconds,
            low=low,
            high=high,
            p_deadline=self._p_deadline(place),
            layout=Layout(1, cores, memory, self._beside(cores, memory)),
            executors=executors,
            vcore_seconds=executors * cores * seconds,
            resource_time=None if memory is None else float(self.resource[place]),
            throughput_bytes_per_second=(
                float(throughput(data_bytes=size, seconds=seconds)) if size and in_bytes else None
            ),
        )

    def _beside(self, cores: int, heap_gib: float | None) -> BesideHeap | None:
        planned = planned_beside(self.question.fitted.profile)
        if planned is None or heap_gib is None:
            return None
        return beside_of(heap_gib, planned.times(cores))

    def _warned(self, place: int) -> Choice:
        """A choice with all of the model's warnings, which take a replay a while to find."""
        batch = ClusterBatch.of([self._cluster(place)], self.question.fitted.profile)
        return replace(
            self._choice(place),
            warnings=self.question.fitted.notices(batch, self.question.workload),
        )

    def _cluster(self, place: int) -> Cluster:
        return self.question.cluster(int(self.batch.executors[place]))

    def _p_deadline(self, place: int) -> float | None:
        if self.question.goal.deadline_seconds is None:
            return None
        one = self.forecast.taken([place])
        return known(one.p_within(self.question.goal.deadline_seconds)[0])

    def _explained(self, place: int) -> Choice:
        choice = self._warned(place)
        deadline = self.question.goal.deadline_seconds
        if place == 0 or deadline is None or self.bounds[place - 1] <= deadline:
            return choice
        if self.batch.executors[place - 1] != self.batch.executors[place] - 1:
            return choice
        if np.isinf(self.bounds[place - 1]):
            started = self.question.startable(self.batch.executors[place - 1 : place])[0]
            fewer = "the model has no prediction for one executor fewer"
            if not started:
                fewer = "one executor fewer has too few slots for its barrier stages"
            return replace(choice, why=(fewer,))
        p = self._p_deadline(place - 1)
        if p is None:
            late = float(self.bounds[place - 1]) - deadline
            missed = missed_by(late, None, deadline_seconds=deadline)
        else:
            allowed = 1.0 - self.question.goal.confidence
            missed = f"misses the deadline {in_runs(1.0 - p, allowed=allowed)}"
        return replace(choice, why=(f"one executor fewer {missed}",))

    def _rejected(self, nearest: Choice | None) -> tuple[Rejected, ...]:
        if (
            nearest is None
            or nearest.executors is None
            or self.question.goal.deadline_seconds is None
        ):
            return (Rejected("", None, "the model has no prediction for it", "no-prediction"),)
        deadline = self.question.goal.deadline_seconds
        late = float(self.bounds.min()) - deadline
        confidence = None if nearest.low is None else self.question.goal.confidence
        missed = missed_by(late, confidence, deadline_seconds=deadline)
        reason = f"{missed} with {format_count(nearest.executors, 'executor')}"
        return (Rejected("", {}, reason, "deadline", nearest.seconds, None, late),)
