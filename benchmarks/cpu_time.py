"""A run as a machine would show it that has nothing else to do.

Other programs make tasks wait for a core: their CPU time tells how long they would have taken. On a
machine under load, that compares runs which the clock cannot. No log tells how long the driver
would have taken: its time is guessed, or left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from engine.profile import Run
from engine.stage_run import Measure, StageRun

LEAST_SHARE = 0.05
"""No stage computes for less of its time than this share of what tasks of its run do in the mean:
on a very busy machine these compute for two or three hundredths of it."""

TIMES = (
    "task_seconds", "overhead_seconds", "run_seconds", "gc_seconds", "fetch_wait_seconds",
    "first_wave_seconds",
)  # fmt: skip
"""What is measured in seconds of each task."""


def times_of(stage: StageRun, share: float) -> dict[str, Any]:
    """The stage's times, each this share of what it was."""
    return {name: _scaled(getattr(stage, name), share) for name in TIMES}


def in_cpu_time(run: Run, *, driver: bool = True) -> Run:
    """The run with its times as its tasks computed.

    While a stage runs, time passes by the CPU time of its tasks over their run time; between stages
    by the mean of the run, or not at all without the `driver`. What kind of master ran it is left
    out: tasks that share one machine's cores are what CPU time does without. So is the driver time
    that the clock told: it is longer than this whole run where the machine was busy, and what takes
    phases from it (`optex`) would find no work. Without it, it follows from the stages.
    """
    usual = busy_share(run) or LEAST_SHARE
    shares = [_cpu_share(stage, least=LEAST_SHARE * usual) for stage in run.stages]
    at = _clock(run, shares, usual=usual if driver else 0.0)
    stages = tuple(
        replace(
            stage,
            submitted_seconds=at(stage.submitted_seconds),
            completed_seconds=at(stage.completed_seconds),
            **times_of(stage, share),
        )
        for stage, share in zip(run.stages, shares, strict=True)
    )
    jobs = tuple(
        replace(
            job,
            submitted_seconds=at(job.submitted_seconds),
            completed_seconds=None if job.completed_seconds is None else at(job.completed_seconds),
        )
        for job in run.jobs
    )
    cores = tuple((at(moment), cores) for moment, cores in run.cores)
    config = {key: value for key, value in run.config.items() if key != "spark.master"}
    return replace(
        run,
        seconds=at(run.seconds),
        stages=stages,
        jobs=jobs,
        cores=cores,
        driver_seconds=None,
        config=config,
    )


def _clock(run: Run, shares: Sequence[float], *, usual: float) -> Callable[[float], float]:
    """Seconds since the start -> those that count of them.

    Args:
        shares: of each stage, how fast time passes while it runs; usual: between stages.
    """
    ends = {0.0, run.seconds}
    for stage in run.stages:
        ends |= {stage.submitted_seconds, stage.completed_seconds}
    ends |= {job.submitted_seconds for job in run.jobs}
    ends |= {job.completed_seconds for job in run.jobs if job.completed_seconds is not None}
    ends |= {at for at, _ in run.cores}
    moments = sorted(ends)
    passed = [0.0]
    for low, high in pairwise(moments):
        active = [
            share
            for stage, share in zip(run.stages, shares, strict=True)
            if stage.submitted_seconds < high and stage.completed_seconds > low
        ]
        passed.append(passed[-1] + (high - low) * (float(np.mean(active)) if active else usual))
    return lambda moment: float(np.interp(moment, moments, passed))


def _cpu_share(stage: StageRun, *, least: float) -> float:
    if stage.cpu_seconds is None or stage.run_seconds is None or not stage.run_seconds.total:
        return 1.0
    return min(1.0, max(least, stage.cpu_seconds.total / stage.run_seconds.total))


def _scaled(measure: Measure | None, factor: float) -> Measure | None:
    if measure is None:
        return None
    points = tuple(factor * value for value in measure.quantiles)
    return Measure(measure.count, factor * measure.total, points)


def busy_share(run: Run) -> float:
    """Share of their run time that the tasks of a run computed."""
    ran = sum(s.run_seconds.total for s in run.stages if s.run_seconds)
    cpu = sum(s.cpu_seconds.total for s in run.stages if s.cpu_seconds)
    return cpu / ran if ran else 0.0
