"""Builds a `StageModel` for each stage of an observed run: partitions, task times, references.

In: a run and its slots. Out: a model per stage, in the run's order. Explained in
docs/models/sparkplan_rules_replay.md#task-times and #partitions.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
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
from engine.models.stages.paired_inputs import keys_of_same_rows, pairs_power, pairs_share
from engine.models.stages.partitioning.data_flow import DataFlow
from engine.models.stages.partitioning.factor_blocks import with_factor_blocks
from engine.models.stages.partitioning.indexed_rows import rdd_partitions
from engine.models.stages.partitioning.inferred_files import (
    PlannedScans,
    inferred_files,
    planned_files,
)
from engine.models.stages.partitioning.joined_rdds import joined_inputs
from engine.models.stages.partitioning.partitioned_stage import PartitionedStage
from engine.models.stages.partitioning.partitions import Growth, PartitioningSettings
from engine.models.stages.partitioning.small_tables import SMALL_TABLE_POWER, small_tables
from engine.models.stages.partitioning.split_candidates import with_split_candidates
from engine.models.stages.partitioning.stage_growth import (
    growth_of,
    is_aqe_coalesced,
    shuffle_partitions_of,
)
from engine.models.stages.rebalanced_partitions import with_rebalanced_rows
from engine.models.stages.recomputed_outputs import with_lost_partitions
from engine.models.stages.skewed_joins import with_skewed_join
from engine.models.stages.slots_over_time import planned_on, slots_of_stages
from engine.models.stages.stage_matching import code_of
from engine.profile import Run
from engine.stage_run import Measure, StageRun, total_of


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
    return relinked(with_read_growths(_with_map_outputs(_with_references(run, warm))))


MOST_WRITERS = 8
"""Longest chain of writers, each reading files of the one before, or of joins and unions of several
results, that is followed to find the number of partitions. Each is evaluated again for every
cluster, and each iteration may add one."""


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


def _with_references(run: Run, models: Sequence[StageModel]) -> list[StageModel]:
    """The stages, with references to those on which their number of partitions depends.

    These are the stage whose number they take over (`_with_followed_stage`), for each input of a
    union or product the stage that stored or shuffles it, and the writer of scanned files.
    """
    explicit = "spark.default.parallelism" in run.config
    by_id, chain_length = dict[int, StageModel](), dict[int, int]()
    input_readers, linked = dict[int, StageModel](), list[StageModel]()
    for model in models:
        stage = model.stage
        if model.growth is Growth.WORK:
            last = input_readers.get(rdd_partitions(stage))
            model = _with_followed_stage(model, by_id, last, explicit=explicit)
            model = with_split_candidates(with_factor_blocks(model, by_id), by_id)
        model = with_lost_partitions(model, linked)
        model = with_rebalanced_rows(run, with_skewed_join(model, by_id), by_id)
        joined = None if stage.inputs or explicit else joined_inputs(stage, by_id)
        inputs = (
            _input_stages(run, model, by_id, explicit=explicit)
            if joined is None
            else (*(one or model for one in joined.keyed), *joined.others)
        )
        if inputs and _short_chain(inputs, chain_length):
            model = replace(
                model,
                follows=model.follows if joined is None else None,
                input_stages=inputs,
                keyed_inputs=0 if joined is None else len(joined.keyed),
            )
        if stage.paired:
            before = {stage_id: earlier.stage for stage_id, earlier in by_id.items()}
            if keys_of_same_rows(stage, before):
                model = replace(model, pairs_power=1.0)
        length = _longest_chain((model, *model.input_stages), chain_length)
        length += int(_several(model.input_stages))
        if stage.files_by in by_id and chain_length[stage.files_by] < MOST_WRITERS:
            model = replace(model, written_by=by_id[stage.files_by])
            length = max(length, 1 + chain_length[stage.files_by])
        by_id[stage.stage_id], chain_length[stage.stage_id] = model, length
        if model.growth is Growth.TASKS and stage.outside_bytes > 0.0:
            input_readers[rdd_partitions(stage)] = model
        linked.append(model)
    return linked


def _several(input_stages: Sequence[PartitionedStage | None]) -> bool:
    """Whether more than one input has the partitions of an earlier stage."""
    return sum(one is not None for one in input_stages) > 1


def _short_chain(
    input_stages: Sequence[PartitionedStage | None], chain_length: Mapping[int, int]
) -> bool:
    """Whether the unions and joins of several inputs before a stage are few enough to be followed.
    A loop that unites what it has with what it makes of it evaluates each twice for the next."""
    longest = _longest_chain(input_stages, chain_length)
    return not _several(input_stages) or longest < MOST_WRITERS


def _longest_chain(
    models: Sequence[PartitionedStage | None], chain_length: Mapping[int, int]
) -> int:
    """The longest chain that ends in one of some stages, or in one that it follows; 0 if none
    does."""
    known = [one for one in models if one is not None]
    known += [one.follows for one in known if one.follows is not None]
    return max((chain_length.get(one.stage.stage_id, 0) for one in known), default=0)


def _with_followed_stage(
    model: StageModel,
    by_id: Mapping[int, StageModel],
    outside: StageModel | None,
    *,
    explicit: bool,
) -> StageModel:
    """A stage with the earlier one whose number of partitions it takes over.

    - A stage that reads a cache or checkpoint has the partitions of the stage that stored it. If
      that is unknown, those of the last stage that read input in as many partitions.
    - RDD shuffles without an explicit number take the largest of their inputs', unless
      `spark.default.parallelism` is set (Spark's default partitioner).
    - A stage that takes the first rows runs some of these partitions, of the same size.

    Args:
        by_id: the earlier stages by id.
        outside: the last stage that read from outside in as many partitions.
        explicit: whether `spark.default.parallelism` is set.
    """
    stage, maker, followed = model.stage, model.stage.stored_by, list[StageModel]()
    if maker is not None:
        followed = [by_id[maker]] if maker in by_id else []
    elif _reads_cache_alone(stage):
        followed = [outside] if outside is not None else []
    elif (
        not explicit
        and stage.sql_execution_id is None
        and (rdd_partitions(stage) > 1 or stage.in_part)
    ):
        followed = [
            by_id[p] for p in stage.parents if p in by_id and _varies_in_partitions(by_id[p])
        ]
    largest = max(followed, key=lambda source: source.stage.tasks, default=None)
    if largest is None:
        return model
    if stage.in_part:
        whole = maker is not None or _reads_like_partitions_of(stage, largest, by_id)
        return replace(model, part_of=largest) if whole else model
    same = rdd_partitions(largest.stage) == rdd_partitions(stage)
    return replace(model, follows=largest) if same else model


def _reads_cache_alone(stage: StageRun) -> bool:
    """Whether a stage reads nothing but a cache, whose partitions it has."""
    cached = total_of(stage.input_bytes) > 0.0 and stage.outside_bytes <= 0.0
    return cached and not (total_of(stage.shuffle_read_bytes) or stage.coalesced or stage.in_part)


def _reads_like_partitions_of(
    stage: StageRun, whole: StageModel, by_id: Mapping[int, StageModel]
) -> bool:
    """Whether the tasks of a stage that runs some partitions of a shuffle read as much each as if
    the shuffle had as many partitions as `whole`: then the program set no other number."""
    read = total_of(stage.shuffle_read_bytes) / stage.tasks
    before = (by_id[parent].stage for parent in stage.parents if parent in by_id)
    wrote = sum(total_of(one.shuffle_write_bytes) for one in before) / whole.stage.tasks
    return read > 0.0 and 1.0 / MAX_SIZE_FACTOR < wrote / read < MAX_SIZE_FACTOR


MAX_SIZE_FACTOR = 1.5
"""Largest factor by which a partition may differ from the mean."""


def _input_stages(
    run: Run, model: StageModel, by_id: Mapping[int, StageModel], *, explicit: bool
) -> tuple[PartitionedStage | None, ...]:
    """For each input of a union or product the stage that determines its number of partitions. RDD
    shuffles take over the number of an earlier stage, as in `_with_followed_stage`."""
    input_stages = list[PartitionedStage | None]()
    for index, source in enumerate(model.stage.inputs):
        if source.origin == "shuffled":
            shuffled = _shuffled_input(run, model, index)
            parents = (by_id[p] for p in model.stage.parents if p in by_id)
            varying = [other for other in parents if _varies_in_partitions(other)]
            same_tasks = [other for other in varying if other.stage.tasks == shuffled.stage.tasks]
            if same_tasks and model.stage.sql_execution_id is None and not explicit:
                shuffled = replace(shuffled, follows=same_tasks[0])
            input_stages.append(shuffled)
        else:
            input_stages.append(None if source.stored_by is None else by_id.get(source.stored_by))
    return tuple(input_stages)


def _shuffled_input(run: Run, model: StageModel, index: int) -> PartitionedStage:
    """A shuffled input of a union or product as a stage of its own. In a product each of its
    partitions is read once for each partition of the other input."""
    stage, counts = model.stage, model.stage.paired or model.stage.united
    tasks, inputs = counts[index], zip(counts, stage.inputs, strict=True)
    shuffled_count = sum(number for number, source in inputs if source.origin == "shuffled")
    read = total_of(stage.shuffle_read_bytes) * tasks / shuffled_count
    read *= tasks / stage.tasks if stage.paired else 1.0
    alone = replace(
        stage,
        tasks=tasks,
        paired=(),
        united=(),
        inputs=(),
        shuffle_read_bytes=Measure(tasks, read, (read / tasks,)),
    )
    growth = Growth.COALESCED if is_aqe_coalesced(run, alone, model.partitioning) else Growth.WORK
    return PartitionedStage(
        stage=alone,
        growth=growth,
        shuffle_partitions=model.shuffle_partitions,
        partitioning=model.partitioning,
    )


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


def _varies_in_partitions(model: StageModel) -> bool:
    """Whether its number of partitions varies: RDD shuffles that read it take it over."""
    return model.growth is Growth.TASKS or model.depends_on_cluster or model.follows is not None


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
