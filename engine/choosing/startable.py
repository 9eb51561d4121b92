"""Whether a number of executors of one's own starts every stage of a job."""

from __future__ import annotations

from engine.choosing.room import no_room_error
from engine.errors import BadInput
from engine.models.base import FittedModel
from engine.runs.barrier_stages import not_started
from engine.runs.carried_settings import wide_stage
from engine.units import format_count


def require_startable(fitted: FittedModel, max_executors: int, executor_cores: int) -> None:
    """Checks that so many executors of these cores start every stage of a job.

    Raises:
        BadInput: if they have too few slots for a barrier stage, or too few cores for a task.
    """
    wide = wide_stage(fitted.profile)
    if wide is not None and executor_cores < wide.task_cpus:
        raise no_room_error(wide, executor_cores, remedy="raise --executor-cores")
    stage = not_started(fitted.barrier_stages, max_executors, executor_cores)
    if stage is not None:
        tasks = stage.room(max_executors, executor_cores)
        raise BadInput(
            f"{stage.label} starts its {stage.tasks} tasks all at once (barrier mode), and there "
            f"is room for {tasks:.0f} on {format_count(max_executors, 'executor')} of "
            f"{format_count(executor_cores, 'core')}",
            remedy="raise --max-executors or --executor-cores",
        )
