"""How the stages of an observed run behave: where their partitions come from, cold tasks, order."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from engine.forecast import FloatArray
from engine.models.stages.cutting.data_flow import DataFlow
from engine.models.stages.cutting.inferred_files import PlannedScans, inferred_files, planned_files
from engine.models.stages.cutting.partitioned_stage import PartitionedStage
from engine.models.stages.cutting.partitions import Growth, PartitioningSettings
from engine.models.stages.cutting.small_tables import small_tables
from engine.models.stages.cutting.stage_growth import (
    growth_of,
    is_merged,
    shuffle_partitions_of,
)
from engine.models.stages.disturbance import computes_in_python
from engine.models.stages.durations.drawn_times import drawn
from engine.models.stages.durations.first_tasks import starts_executors, warm_task
from engine.models.stages.durations.python_workers import start_share, without_start
from engine.models.stages.durations.task_times import LEAST_WARM, StageShape
from engine.models.stages.durations.warm_up import falling_to, warm_up_of
from engine.models.stages.linked_stages import linked
from engine.models.stages.match import code_of
from engine.models.stages.paired_inputs import keys_of_same_rows, pairs_power, pairs_share
from engine.models.stages.slots_over_time import planned_on, slots_of_stages
from engine.profile import Run
from engine.stage_run import Measure, StageRun, total_of


def shapes_of(run: Run, slots: int) -> list[StageShape]:
    """The stages of a run on so many slots, in its order."""
    reading = [stage for stage in run.stages if stage.outside_bytes > 0.0]
    knows_input = bool(reading) and run.workload.input_bytes is not None
    settings, planned = PartitioningSettings.of(run, slots), planned_files(run)
    cores, had = planned_on(run), slots_of_stages(run)
    alike: dict[Hashable, list[StageShape]] = {}
    python = next((stage.stage_id for stage in run.stages if computes_in_python(stage)), None)
    shapes = []
    for stage in run.stages:
        before = alike.setdefault(code_of(stage), [])
        own = settings.planned_on(cores.get(stage.stage_id))
        there = had.get(stage.stage_id, slots)
        shape = _shape(run, stage, own, planned, ran_on=there, knows_input=knows_input)
        starts = stage.stage_id == python
        once = without_start(stage) if start_share(run, stage) else stage
        warm_up = warm_up_of(once, there, before=len(before), starts_python=starts)
        shape = replace(shape, warm_up=warm_up)
        shape = _from_first_tasks(shape, max(1, there // stage.task_cpus), before)
        shapes.append(shape)
        before.append(shape)
    small = small_tables(run)
    shapes = [replace(one, small_table=one.stage.stage_id in small) for one in shapes]
    excess = EXECUTOR_SHARE * _cold_excess(shapes)
    warm = [_with_cold(shape, excess) for shape in shapes]
    return linked(_with_flow(_with_outputs(_with_followers(run, warm))))


MOST_WRITERS = 8
"""So many writers, each of files that the one before wrote, say how the last files are cut: each is
asked anew for every cluster, and a loop that writes and reads its files has one in each turn."""


def _from_first_tasks(shape: StageShape, lanes: int, before: Sequence[StageShape]) -> StageShape:
    """A stage in which a log breaks off before later tasks show what they take: they are inferred
    (`first_tasks.py`). Others are as they are.

    Args:
        before: the stages of the same code that ran before.
    """
    stage, mean = shape.stage, shape.mean_seconds
    seen_whole = (other.late_seconds for other in reversed(before) if not other.late_scale)
    sister = next(seen_whole, None)
    found = warm_task(stage, lanes, before=len(before), sister_seconds=sister)
    if found is None:
        return shape
    later = min(found.seconds, mean)
    told = replace(
        shape,
        overhead_seconds=shape.overhead_seconds * later / (stage.task_seconds.mean or mean),
        late_scale=found.log_scale,
    )
    if starts_executors(stage):
        warm = shape.warm * (later / mean)
        return replace(told, warm=warm, mean_seconds=later, cold=shape.warm, warm_up=None)
    waves = max(1.0, stage.task_seconds.count / lanes)
    return replace(told, warm_up=falling_to(later / mean, waves))


def _with_followers(run: Run, shapes: Sequence[StageShape]) -> list[StageShape]:
    """The stages, with those whose number of partitions they take over (`_following`); each stored
    input of a union or a product has that of the stage that made it, and each shuffled input
    follows rules of its own."""
    named = "spark.default.parallelism" in run.config
    followers, by_id, writers = list(shapes), dict[int, StageShape](), dict[int, int]()
    outside = dict[int, StageShape]()
    for place, shape in enumerate(shapes):
        stage = shape.stage
        if shape.growth is Growth.WORK:
            followers[place] = _following(shape, by_id, outside.get(stage.tasks), named=named)
        if stage.inputs:
            input_stages = _input_stages(run, shape, by_id, named=named)
            followers[place] = replace(followers[place], input_stages=input_stages)
        if stage.paired:
            before = {number: one.stage for number, one in by_id.items()}
            if keys_of_same_rows(stage, before):
                followers[place] = replace(followers[place], pairs_power=1.0)
        sources = (followers[place].follows, *followers[place].input_stages)
        behind = max((writers.get(one.stage.stage_id, 0) for one in sources if one), default=0)
        if stage.files_by in by_id and writers[stage.files_by] < MOST_WRITERS:
            followers[place] = replace(followers[place], written_by=by_id[stage.files_by])
            behind = max(behind, 1 + writers[stage.files_by])
        by_id[stage.stage_id], writers[stage.stage_id] = followers[place], behind
        if shape.growth is Growth.TASKS and stage.outside_bytes > 0.0:
            outside[stage.tasks] = followers[place]
    return followers


def _following(
    shape: StageShape, by_id: Mapping[int, StageShape], outside: StageShape | None, *, named: bool
) -> StageShape:
    """A stage with the one whose number of partitions it takes over, of those before it.

    What reads a cache or a checkpoint has those of the stage that made it, whatever decides how
    many these are; where that is not known, of the last that read as many from outside. Shuffles
    of RDDs that name no number take the largest of their inputs', unless
    `spark.default.parallelism` says one (Spark's default partitioner). Who takes the first rows of
    these has some of those partitions, which are as large as they are.

    Args:
        outside: the last that read from outside in as many tasks.
        named: whether it does.
    """
    stage, maker, above = shape.stage, shape.stage.stored_by, list[StageShape]()
    if maker is not None:
        above = [by_id[maker]] if maker in by_id else []
    elif _reads_cache_alone(stage):
        above = [outside] if outside is not None else []
    elif not named and stage.sql_execution_id is None and (stage.tasks > 1 or stage.in_part):
        above = [by_id[p] for p in stage.parents if p in by_id and _hands_on(by_id[p])]
    largest = max(above, key=lambda one: one.stage.tasks, default=None)
    if largest is None:
        return shape
    if stage.in_part:
        whole = maker is not None or _has_its_share(stage, largest, by_id)
        return replace(shape, part_of=largest) if whole else shape
    return replace(shape, follows=largest) if largest.stage.tasks == stage.tasks else shape


def _reads_cache_alone(stage: StageRun) -> bool:
    """Whether all that a stage reads is from a cache, whose partitions it has."""
    cached = total_of(stage.input_bytes) > 0.0 and stage.outside_bytes <= 0.0
    return cached and not (total_of(stage.shuffle_read_bytes) or stage.coalesced or stage.in_part)


def _has_its_share(stage: StageRun, whole: StageShape, by_id: Mapping[int, StageShape]) -> bool:
    """Whether the tasks of a stage read as much of its shuffles as so many partitions have where
    there are as many as `whole` has: the program asked for no other number."""
    read = total_of(stage.shuffle_read_bytes) / stage.tasks
    before = (by_id[parent].stage for parent in stage.parents if parent in by_id)
    wrote = sum(total_of(one.shuffle_write_bytes) for one in before) / whole.stage.tasks
    return read > 0.0 and 1.0 / UNEVEN < wrote / read < UNEVEN


UNEVEN = 1.5
"""So many times the mean a partition may have."""


def _input_stages(
    run: Run, shape: StageShape, by_id: Mapping[int, StageShape], *, named: bool
) -> tuple[PartitionedStage | None, ...]:
    """What says how many partitions each input of a union or a product has (`by_id` are the stages
    before). Shuffles of RDDs take over those of a stage before, as in `_following`."""
    found = list[PartitionedStage | None]()
    for place, one in enumerate(shape.stage.inputs):
        if one.origin == "shuffled":
            one_input = _shuffled_input(run, shape, place)
            before = [by_id[p] for p in shape.stage.parents if p in by_id and _hands_on(by_id[p])]
            alike = [other for other in before if other.stage.tasks == one_input.stage.tasks]
            if alike and shape.stage.sql_execution_id is None and not named:
                one_input = replace(one_input, follows=alike[0])
            found.append(one_input)
        else:
            found.append(None if one.stored_by is None else by_id.get(one.stored_by))
    return tuple(found)


def _shuffled_input(run: Run, shape: StageShape, place: int) -> PartitionedStage:
    """One of the inputs that a stage combines, of those that it reads of shuffles, as a stage of
    its own. In a product each of its partitions is read once for each of the other input's."""
    stage, numbers = shape.stage, shape.stage.paired or shape.stage.united
    tasks, told = numbers[place], zip(numbers, stage.inputs, strict=True)
    together = sum(number for number, one in told if one.origin == "shuffled")
    read = total_of(stage.shuffle_read_bytes) * tasks / together
    read *= tasks / stage.tasks if stage.paired else 1.0
    alone = replace(
        stage,
        tasks=tasks,
        paired=(),
        united=(),
        inputs=(),
        shuffle_read_bytes=Measure(tasks, read, (read / tasks,)),
    )
    growth = Growth.MERGED if is_merged(run, alone, shape.partitioning) else Growth.WORK
    return PartitionedStage(
        stage=alone,
        growth=growth,
        shuffle_partitions=shape.shuffle_partitions,
        partitioning=shape.partitioning,
    )


def _with_outputs(shapes: Sequence[StageShape]) -> list[StageShape]:
    """The stages, with the largest output of one task whose like more data makes more of."""
    largest = {
        shape.stage.stage_id: written.maximum
        for shape in shapes
        if shape.growth in (Growth.TASKS, Growth.MERGED)
        and (written := shape.stage.shuffle_write_bytes) is not None
        and written.maximum is not None
    }

    def with_output(shape: StageShape) -> StageShape:
        before = [largest[p] for p in shape.stage.parents if p in largest]
        return replace(shape, map_output_bytes=max(before)) if before else shape

    return [with_output(shape) for shape in shapes]


def _with_flow(shapes: list[StageShape]) -> list[StageShape]:
    """The stages, with what says how much more those read that do not grow in proportion."""
    flow = DataFlow.of(shapes)
    if flow is None:
        return shapes
    return [
        _with_read_growth(shape, flow, place) if flow.is_out_of_proportion(place) else shape
        for place, shape in enumerate(shapes)
    ]


def _with_read_growth(shape: StageShape, flow: DataFlow, place: int) -> StageShape:
    """A stage that reads more as the data flow says, and so do its shuffled inputs."""
    own, shuffled = shape.stage.stage_id, partial(flow.shuffle_read_growth, place)
    input_stages = [
        replace(one, growing=shuffled) if one and one.stage.stage_id == own else one
        for one in shape.input_stages
    ]
    return replace(
        shape, growing=partial(flow.read_growth, place), input_stages=tuple(input_stages)
    )


def _hands_on(shape: StageShape) -> bool:
    """Whether shuffles of RDDs that read a stage have as many partitions as an input has."""
    return shape.growth is Growth.TASKS or shape.counts_slots or shape.follows is not None


def _shape(
    run: Run,
    stage: StageRun,
    partitioning: PartitioningSettings,
    planned: PlannedScans,
    *,
    ran_on: int,
    knows_input: bool,
) -> StageShape:
    warm, mean, cold = warm_and_cold(stage)
    outside = stage.overhead_seconds.mean if stage.overhead_seconds else None
    return StageShape(
        stage=stage,
        growth=growth_of(run, stage, partitioning, knows_input=knows_input),
        warm=warm,
        mean_seconds=mean,
        cold=cold,
        overhead_seconds=(outside or 0.0) + mean * start_share(run, stage),
        ran_on=ran_on,
        shuffle_partitions=shuffle_partitions_of(run),
        pairs_share=pairs_share(stage) if stage.paired else 0.0,
        pairs_power=pairs_power(stage),
        partitioning=partitioning,
        unplanned=inferred_files(stage, partitioning, planned),
    )


def warm_and_cold(stage: StageRun) -> tuple[FloatArray, float, FloatArray]:
    """(q,) ascending times in seconds that all tasks of a stage take on slots that ran tasks
    before, their mean, and the same on slots that never did; none of the latter where all tasks
    were first tasks, since then nothing tells them apart.

    What data a task has is none of its slot's doing: a first task is one like the others, and what
    starting its executor took it. So a long one stays, whatever slot it meets elsewhere.
    """
    every = stage.task_seconds
    values, first = np.asarray(every.quantiles, dtype=float), first_tasks(stage)
    mean = every.mean or 0.0
    if not 0 < len(first) <= every.count - MINIMUM_WARM:
        return values, mean, np.empty(0)
    later = _without(drawn(values, every.count, mean), first)
    excess = _start_seconds(first, later)
    most = max(float(later.max()), float(later.mean()) * uneven_data(stage))
    least = np.minimum(first, later.min())
    started = np.clip(first - excess, least, np.maximum(least, most))
    warm = np.sort(np.concatenate((later, started)))
    return warm, float(warm.mean()), warm + excess


def first_tasks(stage: StageRun) -> FloatArray:
    """(k,) times of the tasks that met a slot that never ran one."""
    first = stage.first_wave_seconds
    if first is None or not first.count:
        return np.empty(0)
    return drawn(np.asarray(first.quantiles, dtype=float), first.count, first.mean or 0.0)


def _start_seconds(first: FloatArray, later: FloatArray) -> float:
    """What first tasks take longer than later ones of the same rank, in the median: a long one
    among them counts as one."""
    ranks = (np.arange(len(first)) + 0.5) / len(first)
    return max(0.0, float(np.median(np.sort(first) - np.quantile(later, ranks))))


def uneven_data(stage: StageRun) -> float:
    """How many times the mean the task has that reads most. What a first task takes beyond that,
    and beyond all later ones, is a slow start of its executor and none of its data."""
    read = (stage.shuffle_read_bytes, stage.input_bytes)
    found = [m.maximum / m.mean for m in read if m is not None and m.maximum and m.mean]
    return max(found, default=1.0)


MINIMUM_WARM = 3
"""Fewer warm tasks say nothing about the difference to cold ones."""


def _without(values: FloatArray, taken: FloatArray) -> FloatArray:
    """Sorted values less, for each one taken, the nearest that is still there."""
    left = values.tolist()
    for value in np.sort(taken)[::-1].tolist():
        place = bisect_left(left, value)
        near = [p for p in (place - 1, place) if 0 <= p < len(left)]
        left.pop(min(near, key=lambda p: abs(left[p] - value)))
    return np.asarray(left)


EXECUTOR_SHARE = 0.6
"""Of what the first task on a slot takes longer, this is the start of its executor, and comes again
in whatever stage meets a slot never used before. The rest is the new code of its own stage, which
other stages have of their own (`warm_up.py`). Processor time of tasks on six executors of one core,
of which later stages met four first: there a first task took 0.8 and 0.95 s longer than the first
one of the stage on a used executor, and the first of all 1.3 and 1.6 s longer than later ones."""


def _cold_excess(shapes: list[StageShape]) -> float:
    """Seconds by which a first task takes longer, over the stages that show both kinds."""
    seen = [(len(first_tasks(s.stage)), s.cold_excess) for s in shapes if len(s.cold)]
    count = sum(n for n, _ in seen)
    return sum(n * excess for n, excess in seen) / count if count else 0.0


def _with_cold(shape: StageShape, excess: float) -> StageShape:
    """Stages that saw no first task would, on more slots: their tasks plus the excess. Where all
    tasks were first tasks, the excess is in their times already."""
    stage = shape.stage
    if len(shape.cold) or excess == 0.0:
        return shape
    if starts_executors(stage):
        least = np.minimum(shape.warm, LEAST_WARM * shape.mean_seconds)
        warm = np.maximum(shape.warm - excess, least)
        return replace(shape, warm=warm, mean_seconds=float(warm.mean()), cold=shape.warm)
    return replace(shape, cold=shape.warm + excess)
