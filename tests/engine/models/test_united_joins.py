"""Unions of what a program has with a join of it: partitions double with each iteration."""

from dataclasses import replace

import pytest
from real_logs import log_pair, tasks_of

from engine.models.stages.partitioning.partitioned_stage import PartitionedStage
from engine.models.stages.stage_models import stage_models
from engine.models.stages.stage_references import MOST_WRITERS
from engine.profile import Run
from engine.stage_run import StageRun

FEW, MORE = log_pair("closure")
"""Paths of a graph: `paths.union(paths.join(edges)).distinct()`, three times, of four files on two
slots and of twelve on four (Spark 3.5.9)."""


def unions(run: Run) -> list[StageRun]:
    return [stage for stage in run.stages if "union" in stage.operations]


def test_a_join_is_an_input_of_a_union() -> None:
    assert [stage.united for stage in unions(FEW)] == [(4, 4), (8, 8), (16, 16)]
    assert [stage.united for stage in unions(MORE)] == [(12, 12), (24, 24), (48, 48)]
    for stage in unions(FEW):
        assert [source.origin for source in stage.inputs] == ["stored", "shuffled"]


@pytest.mark.parametrize(("log", "other", "ratio"), [(FEW, MORE, 3.0), (MORE, FEW, 1.0 / 3.0)])
def test_every_stage_has_the_observed_tasks(log: Run, other: Run, ratio: float) -> None:
    tasks = tasks_of(log, other.cluster.slots, ratio)
    assert sorted(tasks) == sorted(stage.tasks for stage in other.stages)


def test_a_long_loop_is_followed_in_parts() -> None:
    """Each iteration evaluates the one before twice: a chain of 60 would never end."""
    first, union = FEW.stages[0], unions(FEW)[1]
    stored, shuffled = union.inputs
    stages = [first, replace(unions(FEW)[0], stage_id=100, parents=(first.stage_id,))]
    for number in range(101, 160):
        inputs = replace(stored, stored_by=number - 1), shuffled
        stages.append(
            replace(
                union, stage_id=number, parents=(number - 1,), inputs=inputs, tasks=16,
                united=(8, 8),
            )
        )  # fmt: skip
    depth = dict[int, int]()

    def depth_of(model: PartitionedStage) -> int:
        known = [one for one in model.input_stages if one is not None]
        sources = [model.follows, *known, *(one.follows for one in known)]
        below = [
            depth[one.stage.stage_id] for one in sources if one and one.stage.stage_id in depth
        ]
        return max(below, default=0) + int(len(known) > 1)

    models = stage_models(replace(FEW, stages=tuple(stages)), 2)
    for model in models:
        depth[model.stage.stage_id] = depth_of(model)
    assert 0 < max(depth.values()) <= MOST_WRITERS
    assert all(model.scaled(3.0, None, 8).tasks >= model.stage.tasks for model in models)
