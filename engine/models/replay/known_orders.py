"""What a log tells of the launch order of each of its stages: `LaunchOrder`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from engine.forecast import FloatArray, IntArray
from engine.models.stages.launch_order import LONGEST_FIRST
from engine.models.stages.partitions import Scaled
from engine.models.stages.task_times import StageShape
from engine.scheduling.launch_orders import TURNED_TASKS, LaunchOrder, luck_of


def known_orders(
    shapes: Sequence[StageShape],
    slots: int,
    *,
    dispatch_seconds: FloatArray,
    rotation: FloatArray,
    unused_met: IntArray,
) -> tuple[LaunchOrder, ...]:
    """(s,) the orders of the stages of a log on so many slots.

    Args:
        dispatch_seconds, rotation: (s,) as in `Replay`.
        unused_met: (s,) their tasks on slots that never ran one.
    """
    columns = zip(shapes, dispatch_seconds, rotation, unused_met, strict=True)
    return tuple(
        _order(shape, slots, float(idle), float(turn), int(met))
        for shape, idle, turn, met in columns
    )


def _order(shape: StageShape, slots: int, idle: float, turn: float, met: int) -> LaunchOrder:
    """That of a stage whose tasks are turned so far on its own slots."""
    by = 0.0 if turn == LONGEST_FIRST else turn
    if shape.stage.tasks > TURNED_TASKS:
        return LaunchOrder(by)
    return LaunchOrder(by, partial(_luck, shape, slots, idle=idle, rotation=turn, met=met, turn=by))


def _luck(
    shape: StageShape, slots: int, *, idle: float, rotation: float, met: int, turn: float
) -> float:
    alike = Scaled(shape.stage.tasks, 1.0)
    tasks = shape.tasks(alike, dispatch_seconds=idle, rotation=rotation)
    lanes = max(1, slots // shape.stage.task_cpus)
    return luck_of(tasks, lanes, unused=met, turn=turn)
