"""Renews the references between the stages of a run after some stages were replaced.

In: stage models in the order of a run. Out: the same models, with references to each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from engine.models.stages.durations.task_times import StageModel
from engine.models.stages.partitioning.derived_partitions import DerivedPartitions
from engine.models.stages.partitioning.partitioned_stage import PartitionedStage

Stage = TypeVar("Stage", bound=PartitionedStage)


def relinked(models: Iterable[StageModel]) -> list[StageModel]:
    """The stages in their order, each referring to the current version of the earlier stages on
    which its partitions depend (`follows`, `part_of`, `written_by`, `input_stages`, and the
    `source` of derived partitions). So what was fitted to one stage counts for those that take over
    its partitions."""
    by_id, linked = dict[int, StageModel](), list[StageModel]()
    for model in models:
        renewed = _renewed(model, by_id)
        by_id[model.stage.stage_id] = renewed
        linked.append(renewed)
    return linked


def _renewed(model: Stage, by_id: Mapping[int, StageModel]) -> Stage:
    """A stage with renewed references to `by_id`; the same object if none of these changed.

    A shuffled input and derived partitions, as stages of their own, have the id of this stage,
    which is not in `by_id`: their references are renewed instead.
    """

    def current(reference: PartitionedStage) -> PartitionedStage:
        if reference.stage.stage_id == model.stage.stage_id:
            return _renewed(reference, by_id)
        return by_id.get(reference.stage.stage_id, reference)

    references: dict[str, PartitionedStage | None] = {
        "follows": model.follows,
        "part_of": model.part_of,
        "written_by": model.written_by,
    }
    if isinstance(model, DerivedPartitions):
        references["source"] = model.source
    new = {name: one and current(one) for name, one in references.items()}
    changed: dict[str, Any] = {
        name: one for name, one in new.items() if one is not references[name]
    }
    inputs = tuple(one and current(one) for one in model.input_stages)
    if any(one is not old for one, old in zip(inputs, model.input_stages, strict=True)):
        changed["input_stages"] = inputs
    return replace(model, **changed) if changed else model
