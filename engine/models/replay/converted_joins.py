"""The sort-merge joins of a log that Spark may plan, or turn while it runs, as broadcast joins with
less data.

Spark plans a broadcast by the size of the scanned files. Of a join that it planned otherwise
adaptive execution makes one once a shuffled side has ended, by its measured size; then both sides
were shuffled already. In: the stage models of a log and an input. Out: the joins that change, and
the seconds that this saves. Explained in
docs/models/sparkplan_rules_replay.md#tables-that-are-broadcast.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from engine.forecast import FloatArray
from engine.models.replay.broadcast_tables import TableSize, planned_sizes, scan_below
from engine.models.replay.broadcast_thresholds import conversion_threshold, planned_threshold
from engine.models.stages.durations.task_times import StageModel
from engine.models.stages.partitioning.data_flow import limits_rows_per_task
from engine.profile import Run

MERGING_SHARE = 0.5
"""Share of the time of a sort-merge join stage that a broadcast of one side saves: Spark 3.5.9 took
0.3 to 0.7 of the CPU time with it. Of a stage of several joins each has as much of it."""

SHUFFLING_SHARE = 0.25
"""Share of the time of a scan that goes to shuffling its rows."""

NEGLIGIBLE = 0.05
"""Probability up to which an outcome is left out of the 90 % interval."""


@dataclass(frozen=True, eq=False)
class ConvertedJoin:
    """A sort-merge join of a log that is a broadcast join with less data.

    Args:
        model: the stage that sorts and merges.
        shuffled: the stages whose shuffle is saved too, if the broadcast is planned: those of the
            other side.
        size: its size in the log by which Spark decides.
        growth: factor of that size with less data.
        planned: whether that is the size of its files, by which the broadcast is planned.
        probable: whether it is one with a probability of at least 0.5.
    """

    model: StageModel
    shuffled: tuple[StageModel, ...]
    size: TableSize
    growth: float
    planned: bool
    probable: bool

    def saved_seconds(
        self, ratio: float, slots: FloatArray, shuffle_partitions: int | None
    ) -> FloatArray:
        """(n,) seconds that the broadcast saves on (n,) slots, at `ratio` times the input."""
        share = MERGING_SHARE / len(self.model.stage.merged_bytes)
        saved = share * _seconds(self.model, ratio, slots, shuffle_partitions)
        for model in self.shuffled:
            saved += SHUFFLING_SHARE * _seconds(model, ratio, slots, shuffle_partitions)
        return saved


def converted_joins(run: Run, models: Sequence[StageModel], ratio: float) -> list[ConvertedJoin]:
    """The sort-merge joins of a run that may be broadcast joins at `ratio` times its input; none
    from 1 on."""
    by_id = {model.stage.stage_id: model for model in models}
    merging = [model for model in models if model.stage.merged_bytes] if ratio < 1.0 else []
    return [join for model in merging for join in _joins_of(run, model, by_id, ratio)]


def _joins_of(
    run: Run, model: StageModel, by_id: Mapping[int, StageModel], ratio: float
) -> Iterator[ConvertedJoin]:
    """The joins of one stage that change, of each what is most probable: planned so, or turned
    while it runs. A side whose rows are limited keeps its size."""
    stage, limit = model.stage, conversion_threshold(run, model.stage)
    writers = stage.merged_stages or (None,) * len(stage.merged_bytes)
    for in_log, stage_id in zip(stage.merged_bytes, writers, strict=True):
        writer = None if stage_id is None else by_id.get(stage_id)
        if writer is not None and limits_rows_per_task(writer.stage):
            continue
        planned = None if writer is None else _planned(run, model, writer, by_id, ratio)
        growth, size = _output_growth(model, writer, ratio), TableSize(in_log, in_log)
        small_enough = limit is not None and in_log > limit >= in_log * growth
        if small_enough and not (planned and planned.probable):
            yield ConvertedJoin(model, (), size, growth, False, True)
        elif planned is not None:
            yield planned


def _output_growth(model: StageModel, writer: StageModel | None, ratio: float) -> float:
    """Growth of a side of a join: that of what its stage reads, unless it groups rows or is not
    known, else that of both sides."""
    known = writer is not None and writer.stage.grouped_rows is None
    return (writer if writer is not None and known else model).data_growth(ratio)


def _planned(
    run: Run,
    model: StageModel,
    writer: StageModel,
    by_id: Mapping[int, StageModel],
    ratio: float,
) -> ConvertedJoin | None:
    """The join as it is planned with less data, if a side of it is small enough by its files. In
    the log they were larger than what is broadcast, unless a hint kept them from that. A small
    table, which shrinks slower, may shrink in proportion too: possible, not probable."""
    source, limit = scan_below(writer, by_id), planned_threshold(run, model.stage)
    if source is None or limit is None:
        return None
    least, most = planned_sizes(source.stage)
    size = TableSize(max(least, limit), most)
    if most <= limit:
        return None
    growth = source.data_growth(ratio)
    probable = size.probability_beyond(limit, growth) < 0.5
    if source.small_table and source.law.data_power is None and not probable:
        growth = ratio
    if size.probability_beyond(limit, growth) >= 1.0 - NEGLIGIBLE:
        return None
    parents = model.stage.parents
    others = [by_id[one] for one in parents if one in by_id and one != writer.stage.stage_id]
    shuffled = tuple(others) if len(parents) == 2 else ()
    return ConvertedJoin(model, shuffled, size, growth, True, probable)


def _seconds(
    model: StageModel, ratio: float, slots: FloatArray, shuffle_partitions: int | None
) -> FloatArray:
    """(n,) seconds that the tasks of a stage take on (n,) slots, at `ratio` times the input. There
    may be more of them on more slots, but their work is that on the log's."""
    on_log = model.scaled(ratio, shuffle_partitions)
    counts = model.partition_count(ratio, shuffle_partitions)
    tasks = np.ceil(counts.on(slots * model.partitioning.cores_per_slot))
    work = model.mean_seconds * on_log.work * on_log.partitions
    return np.asarray(work / model.concurrent_tasks(slots, tasks))
