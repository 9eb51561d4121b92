"""Renews the references between the stages of a run after some stages were replaced."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from engine.models.stages.durations.task_times import StageModel
from engine.models.stages.partitioning.partitioned_stage import PartitionedStage


def relinked(shapes: Iterable[StageModel]) -> list[StageModel]:
    """The stages in their order, each referring to the current version of the earlier stages on
    which its partitions depend (`follows`, `part_of`, `written_by`, `input_stages`). So what was
    fitted to one stage counts for those that take over its partitions."""
    by_id, found = dict[int, StageModel](), list[StageModel]()
    for shape in shapes:
        renewed = _renewed(shape, by_id)
        by_id[shape.stage.stage_id] = renewed
        found.append(renewed)
    return found


def _renewed(shape: StageModel, by_id: dict[int, StageModel]) -> StageModel:
    """A stage with renewed references to `by_id`; the same object if none of these changed.

    A shuffled input, as a stage of its own, has the id of this stage and is not in `by_id`.
    """

    def current(one: PartitionedStage) -> PartitionedStage:
        return by_id.get(one.stage.stage_id, one)

    follows = shape.follows and current(shape.follows)
    part_of = shape.part_of and current(shape.part_of)
    written_by = shape.written_by and current(shape.written_by)
    input_stages = tuple(one and current(one) for one in shape.input_stages)
    old = (shape.follows, shape.part_of, shape.written_by, *shape.input_stages)
    new = (follows, part_of, written_by, *input_stages)
    if all(one is other for one, other in zip(old, new, strict=True)):
        return shape
    return replace(
        shape, follows=follows, part_of=part_of, written_by=written_by, input_stages=input_stages
    )
