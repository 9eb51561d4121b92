"""Renews the references between the stages of a run after some stages were replaced.

In: stage models in the order of a run. Out: the same models, with references to each other.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from engine.models.stages.durations.task_times import StageModel
from engine.models.stages.partitioning.partitioned_stage import PartitionedStage


def relinked(models: Iterable[StageModel]) -> list[StageModel]:
    """The stages in their order, each referring to the current version of the earlier stages on
    which its partitions depend (`follows`, `part_of`, `written_by`, `input_stages`). So what was
    fitted to one stage counts for those that take over its partitions."""
    by_id, linked = dict[int, StageModel](), list[StageModel]()
    for model in models:
        renewed = _renewed(model, by_id)
        by_id[model.stage.stage_id] = renewed
        linked.append(renewed)
    return linked


def _renewed(model: StageModel, by_id: dict[int, StageModel]) -> StageModel:
    """A stage with renewed references to `by_id`; the same object if none of these changed.

    A shuffled input, as a stage of its own, has the id of this stage and is not in `by_id`.
    """

    def current(reference: PartitionedStage) -> PartitionedStage:
        return by_id.get(reference.stage.stage_id, reference)

    follows = model.follows and current(model.follows)
    part_of = model.part_of and current(model.part_of)
    written_by = model.written_by and current(model.written_by)
    input_stages = tuple(reference and current(reference) for reference in model.input_stages)
    old = (model.follows, model.part_of, model.written_by, *model.input_stages)
    new = (follows, part_of, written_by, *input_stages)
    if all(reference is other for reference, other in zip(old, new, strict=True)):
        return model
    return replace(
        model, follows=follows, part_of=part_of, written_by=written_by, input_stages=input_stages
    )
