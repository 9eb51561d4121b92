"""How far other programs disturbed a run, as its own tasks tell.

A task that neither computes, collects garbage nor waits for a shuffle waits for a disk, a network
or a core that somebody else has. Some stages wait for good reasons, and not all of them: what even
the calmest ones waited is taken to be the machine's doing, and may be less or more the next time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from engine.profile import Measure, Notice, Run, StageRun

CALMEST = 0.1
"""Share of the computing that the calmest stages do: how far theirs was stretched counts."""

CALM = 1.25
"""Tasks on a machine of their own run up to so many times as long as they compute in those stages
(public logs of whole clusters: 1.0 to 1.3)."""

LEAST_CPU_SECONDS = 0.5
"""Less computing tells nothing: tasks of milliseconds mostly start and end."""

EVENLY = 2.0 / math.sqrt(12.0)
"""Standard deviation of the log of the next run's stretch, relative to the log of this one's: it
may be anything from none to twice as much (in log), evenly."""

ELSEWHERE = ("Python", "Pandas", "Arrow", "Gpu")
"""Operations whose computing happens in other processes, or elsewhere, and is not in CPU times."""


def stretch_of(run: Run) -> float | None:
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
        measure.total - _total(stage.gc_seconds) - _total(stage.fetch_wait_seconds)
        for _, measure, stage in told
    ]
    kept = cpu > 0.0
    stretch, cpu = np.asarray(ran)[kept] / cpu[kept], cpu[kept]
    order = np.argsort(stretch, kind="stable")
    share = np.cumsum(cpu[order]) / cpu.sum()
    return max(1.0, float(stretch[order][np.searchsorted(share, CALMEST)]))


def disturbance_spread(runs: Sequence[Run]) -> float:
    """Standard deviation of log time that the disturbance of the runs behind a prediction brings;
    0 for calm ones, and where no log tells."""
    known = [stretch for run in runs if (stretch := stretch_of(run)) is not None]
    excess = [max(0.0, math.log(stretch / CALM)) for stretch in known]
    return EVENLY * sum(excess) / len(excess) if excess else 0.0


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
    worst = max((stretch_of(run) or 1.0 for run in runs), default=1.0)
    if worst < WORTH_SAYING:
        return None
    return Notice(
        "busy-machine",
        f"in the stages that do nine tenths of the computing tasks took at least {worst:.1f} times "
        "as long as they computed: other programs or slow disks held them up, and the next run may "
        "meet more or less of that",
        "log a run on a machine that nothing else uses",
    )


WORTH_SAYING = 2.0


def computes_elsewhere(stage: StageRun) -> bool:
    """Whether other processes do its work: Python functions, or a graphics card.

    A Python program names the stages of its SQL queries too, but their plan says what runs in
    Python.
    """
    of_python = stage.sql_execution_id is None and ".py:" in stage.name
    return of_python or any(
        part in operation for operation in stage.operations for part in ELSEWHERE
    )


def _total(measure: Measure | None) -> float:
    return measure.total if measure is not None else 0.0
