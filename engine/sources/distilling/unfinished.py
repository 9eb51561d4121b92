"""Stages with unfinished tasks: cut off by the end of the log, or failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine.notices import Notice
from engine.sources.distilling.executed import ExecutedStage, UnsuccessfulStage
from engine.sources.distilling.idle_time import Clock
from engine.sources.logs.application import Application
from engine.stage_run import StageRun
from engine.units import format_count, format_seconds


def tasks_missing(
    application: Application,
    executed: Mapping[int, ExecutedStage],
    stages: Sequence[StageRun],
    unsuccessful: Sequence[UnsuccessfulStage],
    clock: Clock,
    seconds: float,
) -> tuple[str, ...]:
    """How many tasks of stages that did not fail have no logged end, as text; empty for none.

    Args:
        stages, unsuccessful: the run's stages with and without a successful task.
    """
    short = [
        (stage.tasks, stage.task_seconds.count, stage.submitted_seconds)
        for stage in stages
        if stage.task_seconds.count < stage.tasks and not executed[stage.stage_id].failed
    ]
    short += [(s.tasks, 0, clock.seconds(s.start_ms)) for s in unsuccessful if not s.failed]
    if not short:
        return ()
    tasks = sum(number for number, _, _ in short)
    missing = tasks - sum(ended for _, ended, _ in short)
    verb = "is" if missing == 1 else "are"
    text = f"{missing} of {tasks} tasks of {format_count(len(short), 'stage')} {verb} missing"
    if application.ended_ms is not None:
        return (text,)
    begun = seconds - min(at for _, _, at in short)
    return (f"{text}, begun in the last {format_seconds(max(0.0, begun))}",)


def failed_notice(
    executed: Mapping[int, ExecutedStage],
    stages: Sequence[StageRun],
    unsuccessful: Sequence[UnsuccessfulStage],
    *,
    stopped: bool,
) -> Notice | None:
    """The notice about failed stages, whose work is only a part of what the job needs.

    Args:
        stopped: whether the run is a micro-batch in which its query was stopped: Spark then cancels
            the jobs, whose stages have not failed.
    """
    failed = [
        (stage.tasks, stage.task_seconds.count)
        for stage in stages
        if executed[stage.stage_id].failed
        and not (stopped and executed[stage.stage_id].stage.cancelled)
    ]
    failed += [(stage.tasks, 0) for stage in unsuccessful if stage.failed]
    if not failed:
        return None
    tasks, done = sum(number for number, _ in failed), sum(ended for _, ended in failed)
    return Notice(
        "failed-stages",
        "the run did less work than one that succeeds: "
        f"{format_count(len(failed), 'stage')} failed with {done} of {tasks} tasks done",
        "give the log of a run that succeeded",
    )
