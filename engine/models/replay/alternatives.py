"""Alternative replays of one log, under other hypotheses that the log is consistent with.

One log cannot distinguish causes that differ at another input. The number of splits may be one that
the program requested, and stay, or grow with the number of files; files that are not split may get
larger instead, and two splits may be two files. Small tables may grow with the input, and tables in
one file that are taken to grow may be small ones. Of the two inputs of a Cartesian product one may
stay, where with both growing the pairs grow with the square, and the rows of a join may be such
pairs; how much time goes to pairs is a guess, as is the share of the driver's time that goes to
fetched rows. More data may have more of the folders that a stage opens files in. Scans may have
been planned before all executors were registered, and the size of files that no plan reports may be
smaller or larger. The replay assumes one hypothesis each, and its interval is widened to reach the
times of the others. Further logs decide between them.

In: the replay of a log. Out: replays with other stage models or driver time, one per hypothesis.
Explained in docs/models/sparkplan_rules_replay.md#what-one-log-leaves-open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from engine.forecast import FloatArray
from engine.models.replay.replayed_run import Replay
from engine.models.replay.times import SCALE_PER_HALF_WIDTH_90, Times
from engine.models.stages.durations.task_times import StageModel
from engine.models.stages.fetched_rows import fetched_rows_shares
from engine.models.stages.linked_stages import relinked
from engine.models.stages.paired_inputs import pairs_power
from engine.models.stages.partitioning.partitions import Growth
from engine.models.stages.stage_models import with_read_growths
from engine.models.stages.tree_aggregation import combines_aggregates

Hypothesis = tuple[Callable[[StageModel], bool], Callable[[StageModel], StageModel]]
"""Which stages a hypothesis is about, and such a stage under it."""


def alternatives_of(replay: Replay) -> tuple[Replay, ...]:
    """The replays of a log, each under one alternative hypothesis that its stages leave open."""

    def with_multiplied_rows(model: StageModel) -> StageModel:
        return replace(model, law=replace(model.law, work=multiplied_rows_share(replay, model)))

    hypotheses: tuple[Hypothesis, ...] = (
        (lambda model: model.may_keep_split_count, partial(replace, growth=Growth.WORK)),
        (lambda model: model.may_be_whole_files, _with_whole_files),
        (lambda model: model.pairing_uncertain, _with_both_growing),
        (lambda model: model.pairing_uncertain, partial(replace, pairs_share=1.0, pairs_power=1.0)),
        (lambda model: multiplied_rows_share(replay, model) > 0.0, with_multiplied_rows),
        (group_growth_uncertain, partial(replace, read_law=None, small_table=False)),
        (lambda model: model.folders_uncertain, partial(replace, files_follow_data=True)),
    )
    others = (
        *_changed(replay, hypotheses),
        *_with_small_tables(replay),
        *_other_driver_times(replay),
    )
    return (*others, *alternatives_at_log_input(replay))


def alternatives_at_log_input(replay: Replay) -> tuple[Replay, ...]:
    """The alternatives that differ at the observed input too, on other slots. Scans may have been
    planned before all executors were registered: then they are split for as few cores on any
    cluster. Files whose size no plan reports may be at either bound of it."""
    hypotheses: tuple[Hypothesis, ...] = (
        (lambda model: model.planning_cores is not None, _with_planning_cores),
        (lambda model: model.file_sizes_uncertain, partial(_with_file_sizes, 0)),
        (lambda model: model.file_sizes_uncertain, partial(_with_file_sizes, 1)),
    )
    return tuple(_changed(replay, hypotheses))


def _with_both_growing(model: StageModel) -> StageModel:
    return replace(model, pairs_share=1.0, pairs_power=pairs_power(model.stage))


def _with_whole_files(model: StageModel) -> StageModel:
    return replace(model, law=replace(model.law, partition_power=1.0))


def group_growth_uncertain(model: StageModel) -> bool:
    """Whether a stage whose number of groups seems to be fixed may still read more with a larger
    input: the groups are inferred from the tasks of one log, and a larger input may be one of more
    shops, not of more days. Tree aggregations have as many aggregates as tasks, whatever the
    input."""
    in_tree = combines_aggregates(model.stage)
    return model.read_law is not None and model.law.task_power is None and not in_tree


def small_table_uncertain(model: StageModel) -> bool:
    """Whether a stage scans one file that is taken to grow with the input, and may be a small table
    as far as the logs show."""
    return model.may_be_small_table and model.law.task_power is None


def _with_small_tables(replay: Replay) -> Iterator[Replay]:
    """The replay in which such files are small tables, and what reads them grows as they do."""
    if any(map(small_table_uncertain, replay.models)):
        models = [
            replace(model, small_table=True) if small_table_uncertain(model) else model
            for model in replay.models
        ]
        models = relinked(with_read_growths(models))
        yield replace(replay, models=tuple(models)).with_empty_cache()


def multiplied_rows_share(replay: Replay, model: StageModel) -> float:
    """The share of a join's output rows in excess of the rows of both its inputs.

    Keys repeat on both sides then, and with no more keys the output grows like pairs, with the
    square of the input. 0 where there is no excess, or logs of other inputs show how its work
    grows."""
    stage, output = model.stage, model.stage.joined_output_records
    if output is None or model.law.task_power is not None:
        return 0.0
    broadcast_ids = set(stage.joined_broadcasts)
    tables = (one for one in replay.run.stages if one.stage_id in broadcast_ids)
    streamed = max(
        [stage.read_records, *(joined_rows or 0.0 for joined_rows in stage.joined_records)]
    )
    read = streamed + sum(table.read_records for table in tables)
    return max(0.0, 1.0 - read / output) if streamed > 0.0 and output > 0.0 else 0.0


def _with_planning_cores(model: StageModel) -> StageModel:
    rule = replace(model.partitioning, min_scan_partitions=model.planning_cores)
    return replace(model, partitioning=rule)


def _with_file_sizes(bound: int, model: StageModel) -> StageModel:
    return replace(model, unplanned=model.unplanned and model.unplanned.others[bound])


def _other_driver_times(replay: Replay) -> tuple[Replay, ...]:
    """The replays with the low and the high end of the interval of the driver time that goes to
    fetched rows, where no other log shows how that grows."""
    shares = fetched_rows_shares(replay.run, replay.graph, replay.models)
    if not shares or replay.driver_growth:
        return ()
    low, high = ({p: getattr(s, end) for p, s in shares.items()} for end in ("low", "high"))
    return replace(replay, rows_share=low), replace(replay, rows_share=high)


def _changed(replay: Replay, hypotheses: Sequence[Hypothesis]) -> Iterator[Replay]:
    """The replay under each hypothesis that concerns any of its stages: with these changed, and
    with them the stages that have the same partitions."""
    for is_open, other in hypotheses:
        if any(map(is_open, replay.models)):
            models = [other(model) if is_open(model) else model for model in replay.models]
            yield replace(replay, models=tuple(relinked(models))).with_empty_cache()


def least_scale_reaching(assumed: Times, others: Sequence[Times]) -> FloatArray:
    """(n,) least standard deviation of log time with which a 90 % interval around the assumed times
    reaches all the other times."""
    if not others:
        return np.zeros(len(assumed.seconds))
    distances = [np.abs(np.log(other.seconds / assumed.seconds)) for other in others]
    return np.asarray(SCALE_PER_HALF_WIDTH_90 * np.max(distances, axis=0, initial=0.0))
