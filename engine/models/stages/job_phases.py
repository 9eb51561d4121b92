"""The phases of OptEx in a logged run, and the times of its unit RDD operations.

Sidhanta, Golab, Mukhopadhyay, "OptEx", CCGrid 2016, II and III-C. The paper measured the phases of
a representative job with a JVM profiler; here they follow from an event log by the rules below
(docs/models/optex.md). They add up to the run's time.

In: runs with their stages. Out: seconds per phase, and mean times of operations.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from engine.forecast import FloatArray
from engine.intervals import united
from engine.profile import Run
from engine.stage_run import Measure, StageRun, total_of

ITERATIVE_REPETITIONS = 3
"""Fewest repetitions of one stage that make a run iterative."""

EM_ITERATIONS = 1000
"""Iterations of the expectation-maximisation that attributes stage times to operations."""

EQUAL_WEIGHT = 0.002
"""Weight of the initial, equal attribution in each iteration."""


@dataclass(frozen=True, slots=True)
class Phases:
    """Seconds of a run in each phase of II; they add up to its time.

    Args:
        init: from the start of the application to its first executor.
        prep: the rest of the time in which no stage ran: allocation, scheduling, planning.
        sharing: of the time in which stages ran, the share of the tasks' slots outside the
            executor's run time: shipping and unpacking closures and broadcast variables,
            returning results and accumulators.
        communication: the share that waited for shuffle blocks of other tasks.
        execution: the rest.
        busy_slots: task slots at work, on average over the time in which stages ran.
    """

    init: float
    prep: float
    sharing: float
    communication: float
    execution: float
    busy_slots: float


def phases_of(run: Run) -> Phases:
    """The phases of a run with stages."""
    driver = driver_seconds(run)
    began = min(stage.submitted_seconds for stage in run.stages)
    init = min(run.cores[0][0] if run.cores else began, began, driver)
    busy = run.seconds - driver
    slot_seconds = sum(stage.task_seconds.total for stage in run.stages)
    sharing = busy * _share([stage.overhead_seconds for stage in run.stages], slot_seconds)
    waiting = busy * _share([stage.fetch_wait_seconds for stage in run.stages], slot_seconds)
    sharing, waiting = min(sharing, busy), min(waiting, busy - min(sharing, busy))
    return Phases(
        init=max(0.0, init),
        prep=driver - max(0.0, init),
        sharing=sharing,
        communication=waiting,
        execution=busy - sharing - waiting,
        busy_slots=slot_seconds / busy if busy > 0.0 else 1.0,
    )


def _share(measures: Sequence[Measure | None], slot_seconds: float) -> float:
    """Share of the slot time `slot_seconds`; a measure that no task reported counts 0: nothing was
    fetched."""
    return (
        sum(measure.total for measure in measures if measure is not None) / slot_seconds
        if slot_seconds
        else 0.0
    )


def driver_seconds(run: Run) -> float:
    """Time in which no stage of a run was running, from its log or else from its stages."""
    driver = run.driver_seconds
    if driver is None:
        ran = united((stage.submitted_seconds, stage.completed_seconds) for stage in run.stages)
        driver = run.seconds - sum(end - max(0.0, start) for start, end in ran if end > 0.0)
    return min(max(0.0, driver), run.seconds)


_NUMBERED = re.compile(r"^(WholeStageCodegen) \(\d+\)$")
_CALL_SITE = re.compile(r"^\s*(\S+) at ")
_PLAN_DETAILS = frozenset({"AQEShuffleRead"})
"""Operations that adaptive execution adds if the data is small, without work of their own."""


def operations_of(stage: StageRun) -> Mapping[str, int]:
    """How often a task of the stage performs each unit RDD operation.

    The operations are the RDD scopes, and the action that the stage's call site names (count,
    collect, first: actions make no RDD) if it is not a scope. A stage of an SQL query is named
    after the query's action as a whole, so only its scopes count, and a closure ($anonfun$...)
    names none. Spark before 1.4 writes no scopes: then the call site is all there is.
    """
    counts = stage.operation_counts or (1,) * len(stage.operations)
    operations: Counter[str] = Counter()
    for name, count in zip(stage.operations, counts, strict=True):
        if count and name not in _PLAN_DETAILS:
            operations[_NUMBERED.sub(r"\1", name.strip())] += count
    site = _CALL_SITE.match(stage.name)
    action = site and stage.sql_execution_id is None and not site[1].startswith("$")
    if site and action and site[1] not in stage.operations:
        operations[site[1]] += 1
    return operations or {stage.name: 1}


def is_iterative(run: Run) -> bool:
    """Whether the job iterates: by its number of iterations if known, else by repeated stages."""
    iterations = run.workload.iterations
    return iterations > 1.0 if iterations is not None else repetitions(run) >= ITERATIVE_REPETITIONS


def repetitions(run: Run) -> int:
    """How often the run performs its most repeated stage (same call site, same operations)."""
    counts = Counter(
        (stage.name, frozenset(operations_of(stage)))
        for stage in run.stages
        if stage.sql_execution_id is None
    )
    return max(counts.values(), default=0)


@dataclass(frozen=True, eq=False)
class UnitOperations:
    """The k unit RDD operations of some runs: names, mean times, and counts in each run.

    Args:
        mean_seconds: (k,) slot time of one operation in one task, without waiting for shuffles.
        counts: (r, k) occurrences over all tasks of each run.
    """

    names: tuple[str, ...]
    mean_seconds: FloatArray
    counts: FloatArray


def unit_operations(runs: Sequence[Run]) -> UnitOperations:
    """Mean time and count of each unit RDD operation (III-C: M_a^k), averaged over all its
    occurrences.

    Spark runs the operations of a stage as one pipeline and times only the task as a whole. Task
    time is attributed to operations by expectation-maximisation for a sum of Poisson times: in
    proportion to the mean time of each operation over all stages, from equal shares on, until
    converged. `EQUAL_WEIGHT` keeps a little of the equal shares, since operations that always occur
    together cannot be separated otherwise. The total stays that of the tasks.
    """
    mixes: dict[frozenset[tuple[str, int]], int] = {}
    rows: list[tuple[int, int, StageRun]] = []
    for run_index, run in enumerate(runs):
        for stage in run.stages:
            mix = frozenset(operations_of(stage).items())
            rows.append((run_index, mixes.setdefault(mix, len(mixes)), stage))
    names = tuple(sorted({name for mix in mixes for name, _ in mix}))
    per_task = np.asarray([[dict(mix).get(name, 0) for name in names] for mix in mixes], float)
    tasks, seconds = np.zeros((len(runs), len(mixes))), np.zeros(len(mixes))
    for run_index, row, stage in rows:
        tasks[run_index, row] += stage.task_seconds.count
        seconds[row] += _computing(stage)
    occurrences = tasks.sum(axis=0)[:, None] * per_task
    total_occurrences = np.maximum(occurrences.sum(axis=0), TINY)
    even = mean = _attributed(occurrences, np.ones(len(names)), seconds) / total_occurrences
    for _ in range(EM_ITERATIONS):
        mean = (
            _attributed(occurrences, (1.0 - EQUAL_WEIGHT) * mean + EQUAL_WEIGHT * even, seconds)
            / total_occurrences
        )
    return UnitOperations(names, mean, tasks @ per_task)


def _attributed(occurrences: FloatArray, weights: FloatArray, seconds: FloatArray) -> FloatArray:
    """(k,) time of each operation if the (m,) seconds of stages are divided among (m, k)
    occurrences in proportion to their (k,) weights."""
    spent = occurrences * weights
    shares = spent / np.maximum(spent.sum(axis=1, keepdims=True), TINY)
    return np.asarray((shares * seconds[:, None]).sum(axis=0))


TINY = 1e-300


def _computing(stage: StageRun) -> float:
    """Slot time of a stage's tasks without waiting for shuffles."""
    waited = total_of(stage.fetch_wait_seconds)
    return max(0.0, stage.task_seconds.total - waited)
