"""Disturbance of a run by other programs, inferred from how much its tasks waited.

A task that neither computes, collects garbage nor waits for a shuffle waits for a disk, a network
or a core that something else uses. Some stages wait for reasons of their own, but not all of them.
So the waiting of even the calmest stages is attributed to the machine, and may be less or more in
the next run. Jobs that compute in Python are judged by Spark's own part of their work, loading the
tasks' code; and if all tasks wait for a server, that loading shows that the machine was calm.
Waiting for blocks of a shuffle is attributed to the network and its other users.

In: runs with their stages. Out: factors on the time, standard deviations of log time, and warnings.
Explained in docs/models/sparkplan_rules_logs.md#interval-of-logs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from engine.models.stages.job_phases import phases_of
from engine.notices import Notice
from engine.profile import Run
from engine.stage_run import PYTHON_OPERATIONS, StageRun, total_of

CALMEST_SHARE = 0.1
"""Share of the computing time that counts as the calmest stages, whose stretch is taken."""

CALM_STRETCH = 1.25
"""Largest stretch, run time over CPU time, of those stages on an undisturbed machine (public logs
of whole clusters: 1.0 to 1.3)."""

MAX_FETCH_WAIT_SHARE = 0.9
"""Largest share of waiting for shuffles that counts."""

LEAST_CPU_SECONDS = 0.5
"""Least CPU time from which a stretch is measured: tasks of milliseconds mostly start and end."""

UNIFORM_SCALE = 2.0 / math.sqrt(12.0)
"""Standard deviation of the log stretch of the next run, relative to the log stretch of this one:
it is taken to be uniform between none and twice that."""

OTHER_PROCESS_OPERATIONS = (*PYTHON_OPERATIONS, "Gpu")
"""Operations that compute in other processes, or elsewhere, and not in the CPU time of tasks."""

CALM_LOADING_STRETCH = 2.5
"""Largest ratio of elapsed to CPU time of loading a task's code on an undisturbed machine: archives
are read, and the task is fetched from the driver (public logs and jobs on a quiet machine: 1.0 to
2.7)."""

LEAST_LOADING_CPU_SECONDS = 0.1
"""Least CPU time of loading from which its stretch is measured: less is a handful of tasks; the
start of one executor is 0.1 to 0.3."""

MAX_STRETCH_OVER_LOADING = 2.0
"""A busy machine stretches tasks up to about so many times as much as the loading of their code
(docs/models/sparkplan_rules_logs.md): waiting beyond that is the tasks' own."""


def disturbance_factor(run: Run) -> float | None:
    """Factor by which other programs stretched the time of tasks; up to `CALM_STRETCH` is normal.
    None if the log does not tell.

    The CPU time of Python functions is not counted. If there is hardly anything else, the stretch
    of loading the tasks' code is used, relative to a calm machine. Otherwise it limits how much of
    the waiting can be due to other programs.
    """
    computing, loading = computing_stretch(run), loading_stretch(run)
    if loading is None:
        return computing
    relative_loading = loading * CALM_STRETCH / CALM_LOADING_STRETCH
    if computing is not None:
        return min(computing, max(1.0, MAX_STRETCH_OVER_LOADING * relative_loading))
    if not any(computes_elsewhere(stage) for stage in run.stages):
        return None
    return max(1.0, relative_loading)


def computing_stretch(run: Run) -> float | None:
    """Ratio of run time to CPU time in the calmest stages, without garbage collection and waiting
    for shuffles; None if the log does not tell (before Spark 2.1, or too little computing)."""
    measured = [
        (s.cpu_seconds, s.run_seconds, s)
        for s in run.stages
        if s.cpu_seconds is not None and s.run_seconds is not None and not computes_elsewhere(s)
    ]
    cpu = np.asarray([measure.total for measure, _, _ in measured])
    if cpu.sum() < LEAST_CPU_SECONDS:
        return None
    ran = [
        measure.total - total_of(stage.gc_seconds) - total_of(stage.fetch_wait_seconds)
        for _, measure, stage in measured
    ]
    kept = cpu > 0.0
    stretch, cpu = np.asarray(ran)[kept] / cpu[kept], cpu[kept]
    order = np.argsort(stretch, kind="stable")
    share = np.cumsum(cpu[order]) / cpu.sum()
    return max(1.0, float(stretch[order][np.searchsorted(share, CALMEST_SHARE)]))


def loading_stretch(run: Run) -> float | None:
    """Ratio of elapsed to CPU time of loading the code of a run's tasks; None if the log does not
    tell (before Spark 2.1, or too little of it)."""
    measured = [
        (stage.deserialize_seconds, stage.deserialize_cpu_seconds)
        for stage in run.stages
        if stage.deserialize_seconds is not None and stage.deserialize_cpu_seconds is not None
    ]
    cpu = sum(computed for _, computed in measured)
    if cpu < LEAST_LOADING_CPU_SECONDS:
        return None
    return max(1.0, sum(elapsed for elapsed, _ in measured) / cpu)


def disturbance_spread(runs: Sequence[Run]) -> float:
    """Standard deviation of log time due to disturbances of the runs behind a prediction, of their
    machines and of the network between them; 0 for calm runs, and if no log tells."""
    network = [fetch_wait_log(run) for run in runs if run.stages]
    mean = sum(network) / len(network) if network else 0.0
    return math.hypot(machine_spread(runs), UNIFORM_SCALE * mean)


def machine_spread(runs: Sequence[Run]) -> float:
    """The part of `disturbance_spread` due to other programs on the machines, for time in which
    anything works."""
    known = [stretch for run in runs if (stretch := disturbance_factor(run)) is not None]
    machines = [max(0.0, math.log(stretch / CALM_STRETCH)) for stretch in known]
    return UNIFORM_SCALE * sum(machines) / len(machines) if machines else 0.0


def fetch_wait_log(run: Run) -> float:
    """Log of the factor by which waiting for blocks of a shuffle lengthened a run.

    It depends on others on the network: a stage of one query waited 24 s per task in one run, and
    next to nothing in two others (docs/models/sparkplan_measured_logs.md#stages-of-real-clusters).
    """
    share = min(phases_of(run).communication / run.seconds, MAX_FETCH_WAIT_SHARE)
    return -math.log1p(-share)


def with_disturbance(spread: float, runs: Sequence[Run], *, measured: bool) -> float:
    """A standard deviation of log time, widened by the disturbance of the runs behind a prediction.

    Args:
        measured: whether `spread` is measured by how well runs predict each other. Then it includes
            some of the disturbance, which is its lower bound; a prior does not include it.
    """
    disturbance = disturbance_spread(runs)
    return max(spread, disturbance) if measured else math.hypot(spread, disturbance)


def busy_machine_notice(runs: Sequence[Run]) -> Notice | None:
    """The warning that a machine was busy, if the stretch of a run is at least
    `BUSY_NOTICE_STRETCH`."""
    worst = max(runs, key=lambda run: disturbance_factor(run) or 1.0, default=None)
    if worst is None or (disturbance_factor(worst) or 1.0) < BUSY_NOTICE_STRETCH:
        return None
    computing, loading = computing_stretch(worst), loading_stretch(worst)
    if computing is not None and computing == disturbance_factor(worst):
        finding = (
            f"tasks took at least {computing:.1f} times the CPU time that they used, in the stages "
            "that do nine tenths of the computing"
        )
    elif loading is None or loading <= CALM_LOADING_STRETCH:
        return None
    else:
        no_cpu_times = "functions in Python do not tell how much they computed"
        long_waits = "tasks waited far longer than they computed"
        finding = (
            f"to load their code tasks took {loading:.1f} times the CPU time that it needed "
            f"({no_cpu_times if computing is None else long_waits})"
        )
    return Notice(
        "busy-machine",
        f"{finding}: other programs or slow disks held them up; the next run may meet more or less "
        "of that",
        "log a run on a machine that nothing else uses",
    )


BUSY_NOTICE_STRETCH = 2.0


def shuffle_wait_notice(runs: Sequence[Run]) -> Notice | None:
    """The warning that a run waited long for blocks of shuffles."""
    worst = max((run for run in runs if run.stages), key=fetch_wait_log, default=None)
    if worst is None or (times := math.exp(fetch_wait_log(worst))) < NOTICE_FETCH_FACTOR:
        return None
    return Notice(
        "waits-for-shuffles",
        f"tasks waited for blocks of shuffles so long that the run took {times:.1f} times as long: "
        "the next one may find the network freer or busier",
        "log a run while the network is quiet",
    )


NOTICE_FETCH_FACTOR = 1.25


def disturbance_notices(runs: Sequence[Run]) -> tuple[Notice | None, ...]:
    """Warnings of disturbances of a model's runs, which may differ the next time."""
    return busy_machine_notice(runs), shuffle_wait_notice(runs)


def computes_elsewhere(stage: StageRun) -> bool:
    """Whether a stage's work is done in other processes: by Python functions, or by a GPU."""
    return computes_in_python(stage) or _performs(stage, OTHER_PROCESS_OPERATIONS)


def computes_in_python(stage: StageRun) -> bool:
    """Whether a stage's work is done by Python workers.

    Stages of a Python program's SQL queries are named after it too, but their plan says what runs
    in Python.
    """
    of_python = stage.sql_execution_id is None and ".py:" in stage.name
    return of_python or _performs(stage, PYTHON_OPERATIONS)


def _performs(stage: StageRun, patterns: Sequence[str]) -> bool:
    return any(pattern in operation for operation in stage.operations for pattern in patterns)
