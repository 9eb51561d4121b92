"""What a log tells of the launch order of each of its stages: `LaunchOrder`."""

from __future__ import annotations

from collections.abc import Sequence

from engine.forecast import FloatArray, IntArray
from engine.models.stages.launch_order import LONGEST_FIRST
from engine.models.stages.task_times import Scaled, StageShape
from engine.scheduling.launch_orders import TURNED_TASKS, LaunchOrder, luck_of


def known_orders(
    shapes: Sequence[StageShape],
    slots: int,
    *,
    dispatch_seconds: FloatArray,
    rotation: FloatArray,
    unused_met: IntArray,
) -> tuple[LaunchOrder | None, ...]:
    """(s,) the orders of the stages of a log on so many slots; None where they are launched from
    the longest task to the shortest.

    Args:
        dispatch_seconds, rotation: (s,) as in `Replay`.
        unused_met: (s,) their tasks on slots that never ran one.
    """
    found = list[LaunchOrder | None]()
    columns = zip(shapes, dispatch_seconds, rotation, unused_met, strict=True)
    for shape, idle, turn, met in columns:
        found.append(None if turn == LONGEST_FIRST else _order(shape, slots, idle, turn, int(met)))
    return tuple(found)


def _order(shape: StageShape, slots: int, idle: float, turn: float, met: int) -> LaunchOrder:
    """That of a stage whose tasks are turned so far on its own slots."""
    if shape.stage.tasks > TURNED_TASKS:
        return LaunchOrder(float(turn))
    alike = Scaled(shape.stage.tasks, 1.0)
    tasks = shape.tasks(alike, dispatch_seconds=float(idle), rotation=float(turn))
    lanes = max(1, slots // shape.stage.task_cpus)
    return LaunchOrder(float(turn), luck_of(tasks, lanes, unused=met, turn=float(turn)))
