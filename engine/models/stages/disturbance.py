"""How far other programs disturbed a run, as its own tasks tell.

A task that neither computes, collects garbage nor waits for a shuffle waits for a disk, a network
or a core that somebody else has. Some stages wait for good reasons, and not all of them: what even
the calmest ones waited is taken to be the machine's doing, and may be less or more the next time.
Jobs that compute in Python are judged by what is Spark's own in them, loading their tasks' code;
and where all tasks wait for a server, that loading shows that the machine was calm. What tasks
waited for blocks of a shuffle is the doing of the network and of who else uses it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from engine.models.stages.job_phases import phases_of
from engine.notices import Notice
from engine.profile import Run
from engine.stage_run import PYTHON_OPERATIONS, StageRun, total_of

CALMEST = 0.1
"""Share of the computing that the calmest stages do: how far theirs was stretched counts."""

CALM = 1.25
"""Tasks on a machine of their own run up to so many times as long as they compute in those stages
(public logs of whole clusters: 1.0 to 1.3)."""

MOST_FETCHING = 0.9
"""A run of hardly anything but waiting for shuffles is as unsure as one of so large a share."""

LEAST_CPU_SECONDS = 0.5
"""Less computing tells nothing: tasks of milliseconds mostly start and end."""

EVENLY = 2.0 / math.sqrt(12.0)
"""Standard deviation of the log of the next run's stretch, relative to the log of this one's: it
may be anything from none to twice as much (in log), evenly."""

ELSEWHERE = (*PYTHON_OPERATIONS, "Gpu")
"""Operations whose computing happens in other processes, or elsewhere, and is not in CPU times."""


CALM_LOADING = 2.5
"""Tasks on a machine of their own take up to so many times as long to load their code as that
computes: archives are read, and the task is fetched from the driver (public logs and jobs on a
quiet machine: 1.0 to 2.7)."""

LEAST_LOADING_CPU_SECONDS = 0.1
"""Less is a handful of tasks; the start of one executor is 0.1 to 0.3."""

BEYOND_LOADING = 2.0
"""A busy machine stretches tasks up to about so many times as much as the loading of their code
(docs/models/sparkplan_rules_logs.md): what tasks waited beyond is their own."""


def stretch_of(run: Run) -> float | None:
    """By which factor other programs stretched the time of tasks, `CALM` being none to speak of;
    None where the log does not tell.

    Functions in Python compute where no CPU time is counted. Where there is hardly anything else,
    the loading of their tasks' code tells, which is Spark's own: so many times as much as where it
    is calm. Elsewhere it says how much of what tasks waited can be others' doing.
    """
    computing, loading = computing_stretch(run), loading_stretch(run)
    if loading is None:
        return computing
    alike = loading * CALM / CALM_LOADING
    if computing is not None:
        return min(computing, max(1.0, BEYOND_LOADING * alike))
    return max(1.0, alike) if any(computes_elsewhere(stage) for stage in run.stages) else None


def computing_stretch(run: Run) -> float | None:
    """By which factor tasks ran longer than they computed in the calmest stages; None where the
    log does not tell (before Spark 2.1, or too little computing)."""
    told = [
        (s.cpu_seconds, s.run_seconds, s)
        for s in run.stages
        if s.cpu_seconds is not None and s.run_seconds is not None and not computes_elsewhere(s)
    ]
    cpu = np.asarray([measure.total for measure, _, _ in told])
    if cpu.sum() < LEAST_CPU_SECONDS:
        return None
    ran = [
        measure.total - total_of(stage.gc_seconds) - total_of(stage.fetch_wait_seconds)
        for _, measure, stage in told
    ]
    kept = cpu > 0.0
    stretch, cpu = np.asarray(ran)[kept] / cpu[kept], cpu[kept]
    order = np.argsort(stretch, kind="stable")
    share = np.cumsum(cpu[order]) / cpu.sum()
    return max(1.0, float(stretch[order][np.searchsorted(share, CALMEST)]))


def loading_stretch(run: Run) -> float | None:
    """By which factor loading the code of a run's tasks took longer than it computed; None where
    the log does not tell (before Spark 2.1, or too little of it)."""
    told = [
        (stage.deserialize_seconds, stage.deserialize_cpu_seconds)
        for stage in run.stages
        if stage.deserialize_seconds is not None and stage.deserialize_cpu_seconds is not None
    ]
    cpu = sum(computed for _, computed in told)
    if cpu < LEAST_LOADING_CPU_SECONDS:
        return None
    return max(1.0, sum(taken for taken, _ in told) / cpu)


def disturbance_spread(runs: Sequence[Run]) -> float:
    """Standard deviation of log time that the disturbance of the runs behind a prediction brings,
    of their machines and of the network between them; 0 for calm ones, and where no log tells."""
    network = [fetching(run) for run in runs if run.stages]
    mean = sum(network) / len(network) if network else 0.0
    return math.hypot(machine_spread(runs), EVENLY * mean)


def machine_spread(runs: Sequence[Run]) -> float:
    """What of `disturbance_spread` other programs on the machines bring, while anything works."""
    known = [stretch for run in runs if (stretch := stretch_of(run)) is not None]
    machines = [max(0.0, math.log(stretch / CALM)) for stretch in known]
    return EVENLY * sum(machines) / len(machines) if machines else 0.0


def fetching(run: Run) -> float:
    """Log of how many times as long a run took as without its waiting for blocks of a shuffle,
    which others on the network decide: one stage of one query waited for them 24 s a task in one
    run, and next to nothing in two others (docs/models/sparkplan_measured_clusters.md)."""
    share = min(phases_of(run).communication / run.seconds, MOST_FETCHING)
    return -math.log1p(-share)


def with_disturbance(spread: float, runs: Sequence[Run], *, tested: bool) -> float:
    """A standard deviation of log time with the disturbance of the runs behind a prediction.

    Args:
        tested: whether `spread` comes from how well enough runs foretell each other. It holds some
            of the disturbance then, which is the least that it is; a prior knows nothing of it.
    """
    disturbance = disturbance_spread(runs)
    return max(spread, disturbance) if tested else math.hypot(spread, disturbance)


def busy_notice(runs: Sequence[Run]) -> Notice | None:
    """The warning that the machines were busy, where one was twice as slow as it could be."""
    worst = max(runs, key=lambda run: stretch_of(run) or 1.0, default=None)
    if worst is None or (stretch_of(worst) or 1.0) < WORTH_SAYING:
        return None
    computing, loading = computing_stretch(worst), loading_stretch(worst)
    if computing is not None and computing == stretch_of(worst):
        what = (
            f"tasks took at least {computing:.1f} times the CPU time that they used, in the stages "
            "that do nine tenths of the computing"
        )
    elif loading is None or loading <= CALM_LOADING:
        return None
    else:
        silent = "functions in Python do not tell how much they computed"
        waited = "tasks waited far longer than they computed"
        what = (
            f"to load their code tasks took {loading:.1f} times the CPU time of it "
            f"({silent if computing is None else waited})"
        )
    return Notice(
        "busy-machine",
        f"{what}: other programs or slow disks held them up; the next run may meet more or less "
        "of that",
        "log a run on a machine that nothing else uses",
    )


WORTH_SAYING = 2.0


def network_notice(runs: Sequence[Run]) -> Notice | None:
    """The warning that a run waited long for blocks of shuffles."""
    worst = max((run for run in runs if run.stages), key=fetching, default=None)
    if worst is None or (times := math.exp(fetching(worst))) < WORTH_SAYING_FETCHING:
        return None
    return Notice(
        "waits-for-shuffles",
        f"tasks waited for blocks of shuffles so long that the run took {times:.1f} times as long: "
        "the next one may find the network freer or busier",
        "log a run while the network is quiet",
    )


WORTH_SAYING_FETCHING = 1.25


def held_up_notices(runs: Sequence[Run]) -> tuple[Notice | None, ...]:
    """What held a model's runs up that may be otherwise the next time."""
    return busy_notice(runs), network_notice(runs)


def computes_elsewhere(stage: StageRun) -> bool:
    """Whether other processes do its work: Python functions, or a graphics card.

    A Python program names the stages of its SQL queries too, but their plan says what runs in
    Python.
    """
    return computes_in_python(stage) or _does(stage, ELSEWHERE)


def computes_in_python(stage: StageRun) -> bool:
    """Whether Python workers do its work."""
    of_python = stage.sql_execution_id is None and ".py:" in stage.name
    return of_python or _does(stage, PYTHON_OPERATIONS)


def _does(stage: StageRun, kinds: Sequence[str]) -> bool:
    return any(kind in operation for operation in stage.operations for kind in kinds)
