"""Builds a `StageModel` for each stage of an observed run: partitions and task times.

In: a run and its slots. Out: a model per stage, in the run's order. Explained in
docs/models/sparkplan_rules_replay.md#task-times and #partitions.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from engine.models.stages.disturbance import computes_in_python
from engine.models.stages.durations.executor_starts import (
    first_task_seconds,
    start_share,
    warm_and_cold,
    without_start,
)
from engine.models.stages.durations.first_tasks import starts_executors, warm_task
from engine.models.stages.durations.task_times import LEAST_WARM, StageModel
from engine.models.stages.durations.warm_up import assumed_warm_up, warm_up_of
from engine.models.stages.linked_stages import relinked
from engine.models.stages.paired_inputs import pairs_power, pairs_share
from engine.models.stages.partitioning.data_flow import DataFlow
from engine.models.stages.partitioning.inferred_files import (
    PlannedScans,
    inferred_files,
    planned_files,
)
from engine.models.stages.partitioning.partitions import Growth, PartitioningSettings
from engine.models.stages.partitioning.small_tables import SMALL_TABLE_POWER, small_tables
from engine.models.stages.partitioning.stage_growth import growth_of, shuffle_partitions_of
from engine.models.stages.slots_over_time import planned_on, slots_of_stages
from engine.models.stages.stage_matching import code_of
from engine.models.stages.stage_references import with_references
from engine.profile import Run
from engine.stage_run import StageRun


def stage_models(run: Run, slots: int) -> list[StageModel]:
    """The stages of a run on `slots` task slots, in its order."""
    reading = [stage for stage in run.stages if stage.outside_bytes > 0.0]
    knows_input = bool(reading) and run.workload.input_bytes is not None
    queries = {stage.query_settings: stage for stage in run.stages}
    settings = {key: PartitioningSettings.of(run, slots, one) for key, one in queries.items()}
    planned = planned_files(run)
    planning_cores, slots_of = planned_on(run), slots_of_stages(run)
    same_code: dict[Hashable, list[StageModel]] = {}
    python = next((stage.stage_id for stage in run.stages if computes_in_python(stage)), None)
    first, small = min((stage.stage_id for stage in run.stages), default=0), small_tables(run)
    models = []
    for stage in run.stages:
        before = same_code.setdefault(code_of(stage), [])
        of_query = settings[planned.settings_of(stage)]
        planned_for = of_query.planned_on(planning_cores.get(stage.stage_id))
        ran_on = slots_of.get(stage.stage_id, slots)
        model = _model(run, stage, planned_for, planned, ran_on=ran_on, knows_input=knows_input)
        starts = stage.stage_id == python
        small_inputs = small.inputs(stage)
        started = without_start(stage) if start_share(run, stage) else stage
        warm_up = warm_up_of(started, ran_on, ran_before=bool(before), starts_python=starts)
        model = replace(
            model,
            warm_up=warm_up,
            small_table=stage.stage_id in small.stage_ids,
            may_be_small_table=stage.stage_id in small.uncertain_ids,
            small_inputs=small_inputs,
            pairs_power=pairs_power(stage, dict.fromkeys(small_inputs, SMALL_TABLE_POWER)),
            order_seed=stage.stage_id - first,
        )
        model = _with_inferred_times(model, max(1, ran_on // stage.task_cpus), before)
        models.append(model)
        before.append(model)
    excess = EXECUTOR_SHARE * _cold_excess(models)
    warm = [_with_cold(model, excess) for model in models]
    return relinked(with_read_growths(_with_map_outputs(with_references(run, warm))))


def _with_inferred_times(model: StageModel, lanes: int, before: Sequence[StageModel]) -> StageModel:
    """Infers the times of later tasks for a stage in which the log breaks off before it shows them
    (`first_tasks.py`); returns other stages unchanged.

    Args:
        lanes: tasks of the stage that run at once.
        before: the stages of the same code that ran before.
    """
    stage, mean = model.stage, model.mean_seconds
    seen_whole = (other.late_seconds for other in reversed(before) if not other.late_scale)
    sister = next(seen_whole, None)
    warm_time = warm_task(stage, lanes, before=len(before), sister_seconds=sister)
    if warm_time is None:
        return model
    later = min(warm_time.seconds, mean)
    inferred = replace(
        model,
        overhead_seconds=model.overhead_seconds * later / (stage.task_seconds.mean or mean),
        late_scale=warm_time.log_scale,
    )
    if starts_executors(stage):
        warm = model.warm * (later / mean)
        return replace(inferred, warm=warm, mean_seconds=later, cold=model.warm, warm_up=None)
    waves = max(1.0, stage.task_seconds.count / lanes)
    return replace(inferred, warm_up=assumed_warm_up(later / mean, waves))


def _with_map_outputs(models: Sequence[StageModel]) -> list[StageModel]:
    """The stages, with the largest shuffle output of one map task before them
    (`StageModel.map_output_bytes`), if more data makes more such tasks, not larger ones."""
    largest = {
        model.stage.stage_id: written.maximum
        for model in models
        if model.growth in (Growth.TASKS, Growth.COALESCED)
        and (written := model.stage.shuffle_write_bytes) is not None
        and written.maximum is not None
    }

    def with_output(model: StageModel) -> StageModel:
        before = [largest[p] for p in model.stage.parents if p in largest]
        return replace(model, map_output_bytes=max(before)) if before else model

    return [with_output(model) for model in models]


def with_read_growths(models: list[StageModel]) -> list[StageModel]:
    """The stages, with the growth of what they read if it is out of proportion to the input."""
    flow = DataFlow.of(models)
    if flow is None:
        return models
    return [
        _with_read_growth(model, flow, index) if flow.is_out_of_proportion(index) else model
        for index, model in enumerate(models)
    ]


def _with_read_growth(model: StageModel, flow: DataFlow, index: int) -> StageModel:
    """A stage whose read growth, and that of its shuffled inputs, comes from the data flow."""
    own, shuffled = model.stage.stage_id, partial(flow.shuffle_read_growth, index)
    input_stages = tuple(
        replace(one, read_law=shuffled) if one and one.stage.stage_id == own else one
        for one in model.input_stages
    )
    return replace(model, read_law=partial(flow.read_growth, index), input_stages=input_stages)


def _model(
    run: Run,
    stage: StageRun,
    partitioning: PartitioningSettings,
    planned: PlannedScans,
    *,
    ran_on: int,
    knows_input: bool,
) -> StageModel:
    warm, mean, cold = warm_and_cold(stage)
    outside = stage.overhead_seconds.mean if stage.overhead_seconds else None
    return StageModel(
        stage=stage,
        growth=growth_of(run, stage, partitioning, knows_input=knows_input),
        warm=warm,
        mean_seconds=mean,
        cold=cold,
        overhead_seconds=(outside or 0.0) + mean * start_share(run, stage),
        ran_on=ran_on,
        shuffle_partitions=shuffle_partitions_of(run, stage),
        pairs_share=pairs_share(stage) if stage.paired else 0.0,
        partitioning=partitioning,
        unplanned=inferred_files(stage, partitioning, planned),
    )


EXECUTOR_SHARE = 0.6
"""Share of the extra time of a first task on a slot that is the start of its executor, which recurs
in any stage that meets an unused slot. The rest is new code of its own stage, of which each stage
has its own (`warm_up.py`). Measured as CPU time on six executors of one core, of which later stages
met four first: there a first task took 0.8 and 0.95 s longer than the first one of the stage on a
used executor, and the first of all 1.3 and 1.6 s longer than later ones."""


def _cold_excess(models: list[StageModel]) -> float:
    """Mean seconds by which a first task is longer, over the stages that show both kinds."""
    excesses = [(len(first_task_seconds(s.stage)), s.cold_excess) for s in models if len(s.cold)]
    return sum(n * excess for n, excess in excesses) / max(1, sum(n for n, _ in excesses))


def _with_cold(model: StageModel, excess: float) -> StageModel:
    """Gives a stage without separate cold times some: its warm times plus the excess. If all of its
    tasks were first tasks, its times are the cold ones, and the excess is subtracted for the warm.
    """
    stage = model.stage
    if len(model.cold) or excess == 0.0:
        return model
    if starts_executors(stage):
        least = np.minimum(model.warm, LEAST_WARM * model.mean_seconds)
        warm = np.maximum(model.warm - excess, least)
        return replace(model, warm=warm, mean_seconds=float(warm.mean()), cold=model.warm)
    return replace(model, cold=model.warm + excess)
