"""References between the stages of a run on which their numbers of partitions depend.

In: the models of a run's stages, in its order. Out: the same, each with the earlier stages whose
partitions it takes over, unites, joins or reads. Explained in
docs/models/sparkplan_rules_replay.md#numbers-that-stay-or-follow-others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from engine.models.stages.durations.task_times import StageModel
from engine.models.stages.paired_inputs import keys_of_same_rows
from engine.models.stages.partitioning.factor_blocks import with_factor_blocks
from engine.models.stages.partitioning.indexed_rows import rdd_partitions
from engine.models.stages.partitioning.joined_rdds import joined_inputs
from engine.models.stages.partitioning.partitioned_stage import PartitionedStage
from engine.models.stages.partitioning.partitions import Growth
from engine.models.stages.partitioning.split_candidates import with_split_candidates
from engine.models.stages.partitioning.stage_growth import is_aqe_coalesced
from engine.models.stages.rebalanced_partitions import with_rebalanced_rows
from engine.models.stages.recomputed_outputs import with_lost_partitions
from engine.models.stages.skewed_joins import with_skewed_join
from engine.profile import Run
from engine.stage_run import Measure, StageRun, total_of

MOST_WRITERS = 8
"""Longest chain of writers, each reading files of the one before, or of joins and unions of several
results, that is followed to find the number of partitions. Each is evaluated again for every
cluster, and each iteration may add one."""


def with_references(run: Run, models: Sequence[StageModel]) -> list[StageModel]:
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
        with_inputs = _with_inputs(run, model, by_id, explicit=explicit)
        if _short_chain(with_inputs.input_stages, chain_length):
            model = with_inputs
        if stage.paired and keys_of_same_rows(stage, {key: by_id[key].stage for key in by_id}):
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


def _with_inputs(
    run: Run, model: StageModel, by_id: Mapping[int, StageModel], *, explicit: bool
) -> StageModel:
    """A stage with the stages that determine the partitions of each input of its union, product or
    join; as it is where it has none."""
    joined = None if model.stage.inputs or explicit else joined_inputs(model.stage, by_id)
    if joined is None:
        inputs = _input_stages(run, model, by_id, explicit=explicit)
        return replace(model, input_stages=inputs, keyed_inputs=0) if inputs else model
    keyed = tuple(one or model for one in joined.keyed)
    return replace(
        model, follows=None, input_stages=(*keyed, *joined.others), keyed_inputs=len(keyed)
    )


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


def _varies_in_partitions(model: StageModel) -> bool:
    """Whether its number of partitions varies: RDD shuffles that read it take it over."""
    return model.growth is Growth.TASKS or model.depends_on_cluster or model.follows is not None
