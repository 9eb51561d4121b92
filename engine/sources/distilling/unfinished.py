"""Stages whose tasks did not all end: what a log does not tell, and what was given up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine.notices import Notice
from engine.sources.distilling.executed import Executed, Fruitless
from engine.sources.distilling.idle_time import Clock
from engine.sources.logs.application import Application
from engine.stage_run import StageRun
from engine.units import format_count, format_seconds


def tasks_missing(
    application: Application,
    executed: Mapping[int, Executed],
    stages: Sequence[StageRun],
    fruitless: Sequence[Fruitless],
    clock: Clock,
    seconds: float,
) -> tuple[str, ...]:
    """Tasks that the log does not see end, of stages that did not fail, in words; nothing for none.

    Args:
        stages, fruitless: of the run, with and without a task that succeeded.
        seconds: how long the run took.
    """
    short = [
        (stage.tasks, stage.task_seconds.count, stage.submitted_seconds)
        for stage in stages
        if stage.task_seconds.count < stage.tasks and not executed[stage.stage_id].failed
    ]
    short += [(s.tasks, 0, clock.seconds(s.start_ms)) for s in fruitless if not s.failed]
    if not short:
        return ()
    tasks = sum(own for own, _, _ in short)
    missing = tasks - sum(ended for _, ended, _ in short)
    verb = "is" if missing == 1 else "are"
    text = f"{missing} of {tasks} tasks of {format_count(len(short), 'stage')} {verb} missing"
    if application.ended_ms is not None:
        return (text,)
    begun = seconds - min(at for _, _, at in short)
    return (f"{text}, begun in the last {format_seconds(max(0.0, begun))}",)


def failed_notices(
    executed: Mapping[int, Executed],
    stages: Sequence[StageRun],
    fruitless: Sequence[Fruitless],
    *,
    stopped: bool,
) -> list[Notice]:
    """Stages that were given up: their work is only in part what the job would need.

    Args:
        stopped: whether it is a micro-batch in which its query was stopped: Spark then cancels the
            jobs, whose stages have not failed.
    """
    failed = [
        (stage.tasks, stage.task_seconds.count)
        for stage in stages
        if executed[stage.stage_id].failed
        and not (stopped and executed[stage.stage_id].stage.cancelled)
    ]
    failed += [(stage.tasks, 0) for stage in fruitless if stage.failed]
    if not failed:
        return []
    tasks, done = sum(own for own, _ in failed), sum(ended for _, ended in failed)
    return [
        Notice(
            "failed-stages",
            f"{format_count(len(failed), 'stage')} failed with {done} of {tasks} tasks done: the "
            "run did less work than one that succeeds",
            "give the log of a run that succeeded",
        )
    ]
