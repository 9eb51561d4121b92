"""Alternative replays of one log, under other hypotheses that the log is consistent with.

One log cannot distinguish causes that differ at another input. The number of splits may be one that
the program requested, and stay, or grow with the number of files; files that are not split may get
larger instead, and two splits may be two files. Small tables may grow with the input. Of the two
inputs of a Cartesian product one may stay, where with both growing the pairs grow with the square,
and the rows of a join may be such pairs; how much time goes to pairs is a guess, as is the share of
the driver's time that goes to fetched rows. Scans may have been planned before all executors were
registered, and the size of files that no plan reports may be smaller or larger. The replay assumes
one hypothesis each, and its interval is widened to reach the times of the others. Further logs
decide between them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from engine.forecast import FloatArray
from engine.models.replay.broadcasts import records_of
from engine.models.replay.replayed_run import Replay
from engine.models.replay.times import SCALE_PER_HALF_WIDTH_90, Times
from engine.models.stages.durations.task_times import StageModel
from engine.models.stages.fetched_rows import fetched_rows_shares
from engine.models.stages.linked_stages import relinked
from engine.models.stages.paired_inputs import pairs_power
from engine.models.stages.partitioning.partitions import Growth
from engine.models.stages.tree_aggregation import combines_aggregates


def alternatives_of(replay: Replay) -> tuple[Replay, ...]:
    """The replays of a log, each under one alternative hypothesis that its stages leave open."""
    stay = _changed(
        replay, lambda model: model.may_keep_split_count, partial(replace, growth=Growth.WORK)
    )
    files = _changed(replay, lambda model: model.may_be_whole_files, _as_files)
    both = _changed(replay, lambda model: model.pairing_uncertain, _both_grow)
    one = _changed(
        replay,
        lambda model: model.pairing_uncertain,
        partial(replace, pairs_share=1.0, pairs_power=1.0),
    )
    multiplied = _changed(
        replay,
        lambda model: multiplied_rows_share(replay, model) > 0.0,
        lambda model: replace(
            model, law=replace(model.law, work=multiplied_rows_share(replay, model))
        ),
    )
    more = _changed(
        replay, group_growth_uncertain, partial(replace, growing=None, small_table=False)
    )
    candidates = (stay, files, both, one, multiplied, more)
    others = (other for other in candidates if other is not None)
    return (*others, *_other_driver(replay), *alternatives_at_log_input(replay))


def alternatives_at_log_input(replay: Replay) -> tuple[Replay, ...]:
    """The alternatives that differ at the observed input too, on other slots. Scans planned before
    all executors were registered, as those with splits for fewer cores than the log's may have
    been, are split for as few cores on any cluster; files whose size no plan reports are as small
    or as large as they may be."""
    early = _changed(replay, lambda model: model.planning_cores is not None, _cut_early)
    small, large = (
        _changed(replay, lambda model: model.file_sizes_uncertain, partial(_of_files, bound))
        for bound in (0, 1)
    )
    return tuple(other for other in (early, small, large) if other is not None)


def _both_grow(model: StageModel) -> StageModel:
    return replace(model, pairs_share=1.0, pairs_power=pairs_power(model.stage))


def _as_files(model: StageModel) -> StageModel:
    return replace(model, law=replace(model.law, partitions=1.0))


def group_growth_uncertain(model: StageModel) -> bool:
    """Whether a stage whose groups seem to be fixed may still read more with a larger input: the
    groups are inferred from the tasks of one log, and a larger input may be one of more shops, not
    of more days. Tree aggregations have as many aggregates as tasks, whatever the input."""
    of_a_tree = combines_aggregates(model.stage)
    return model.growing is not None and model.law.cut is None and not of_a_tree


def multiplied_rows_share(replay: Replay, model: StageModel) -> float:
    """The share of a join's output rows in excess of the rows of both its inputs.

    Keys repeat on both sides then, and with no more keys the output grows like pairs, with the
    square of the input. 0 where there is no excess, or logs of other inputs show how its work
    grows."""
    stage, output = model.stage, model.stage.joined_output_records
    if output is None or model.law.cut is not None:
        return 0.0
    sent = set(stage.joined_broadcasts)
    tables = (one for one in replay.run.stages if one.stage_id in sent)
    streamed = max([records_of(stage), *(met or 0.0 for met in stage.joined_records)])
    read = streamed + sum(map(records_of, tables))
    return max(0.0, 1.0 - read / output) if streamed > 0.0 and output > 0.0 else 0.0


def _cut_early(model: StageModel) -> StageModel:
    rule = replace(model.partitioning, min_scan_partitions=model.planning_cores)
    return replace(model, partitioning=rule)


def _of_files(bound: int, model: StageModel) -> StageModel:
    return replace(model, unplanned=model.unplanned and model.unplanned.others[bound])


def _other_driver(replay: Replay) -> tuple[Replay, ...]:
    """The replays with the low and the high end of the interval of the driver time that goes to
    fetched rows, where no other log shows how that grows."""
    shares = fetched_rows_shares(replay.run, replay.graph, replay.models)
    if not shares or replay.driver_growth:
        return ()
    low, high = ({p: getattr(s, end) for p, s in shares.items()} for end in ("low", "high"))
    return replace(replay, rows_share=low), replace(replay, rows_share=high)


def _changed(
    replay: Replay,
    is_open: Callable[[StageModel], bool],
    other: Callable[[StageModel], StageModel],
) -> Replay | None:
    """The replay with its open stages changed, and with them the stages that have the same
    partitions; None where no stage is open."""
    if not any(map(is_open, replay.models)):
        return None
    models = [other(model) if is_open(model) else model for model in replay.models]
    return replace(replay, models=tuple(relinked(models))).with_empty_cache()


def least_scale_reaching(assumed: Times, others: Sequence[Times]) -> FloatArray:
    """(n,) least standard deviation of log time with which a 90 % interval around the assumed times
    reaches all the other times."""
    apart = [np.abs(np.log(other.seconds / assumed.seconds)) for other in others]
    return (
        SCALE_PER_HALF_WIDTH_90 * np.max(apart, axis=0, initial=0.0)
        if apart
        else np.zeros(len(assumed.seconds))
    )
