"""The stages of a run, with what each hangs on as it is among them: its partitions, its files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from engine.models.stages.cutting.partitioned_stage import PartitionedStage
from engine.models.stages.durations.task_times import StageShape


def linked(shapes: Iterable[StageShape]) -> list[StageShape]:
    """The stages in their order, each with those before that it hangs on (`follows`, `part_of`,
    `written_by`, `input_stages`) as they are now: what was learnt of one counts for those that have
    its partitions."""
    by_id, found = dict[int, StageShape](), list[StageShape]()
    for shape in shapes:
        new = _with_those(shape, by_id)
        by_id[shape.stage.stage_id] = new
        found.append(new)
    return found


def _with_those(shape: StageShape, by_id: dict[int, StageShape]) -> StageShape:
    """One of them, given those before it: itself where it hangs on none that changed. What it reads
    of a shuffle, as a stage of its own, has its number and is not among those."""

    def now(one: PartitionedStage) -> PartitionedStage:
        return by_id.get(one.stage.stage_id, one)

    follows, part_of = shape.follows and now(shape.follows), shape.part_of and now(shape.part_of)
    written_by = shape.written_by and now(shape.written_by)
    input_stages = tuple(one and now(one) for one in shape.input_stages)
    before = (shape.follows, shape.part_of, shape.written_by, *shape.input_stages)
    told = (follows, part_of, written_by, *input_stages)
    if all(one is other for one, other in zip(before, told, strict=True)):
        return shape
    return replace(
        shape, follows=follows, part_of=part_of, written_by=written_by, input_stages=input_stages
    )
