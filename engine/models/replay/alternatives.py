"""What one log leaves open of its stages: the same run as it would be if something else were true.

What looks alike in a log need not be with another input. Splits that a program asked for stay as
many, where files become more; files that nothing cuts may get larger instead, and two splits may be
two files. Small tables may grow with the input. Of two inputs that are paired one may stay, where
pairs of both become as many as the square, and rows of a join may be such pairs; how much goes to
pairs is a guess, as is what of the driver's time goes to rows that it fetched. Scans may have been
cut before executors came, and files of which no plan tells be smaller or larger. A replay holds one
thing, and its interval reaches what the others would take. More logs tell which it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from engine.forecast import FloatArray
from engine.models.replay.broadcasts import records_of
from engine.models.replay.replayed_run import Replay
from engine.models.replay.times import REACHED, Times
from engine.models.stages.cutting.data_flow import TREES
from engine.models.stages.cutting.partitions import Growth
from engine.models.stages.durations.task_times import StageShape
from engine.models.stages.fetched_rows import time_on_rows
from engine.models.stages.linked_stages import linked
from engine.models.stages.paired_inputs import pairs_power


def alternatives_of(replay: Replay) -> tuple[Replay, ...]:
    """The replays of a log that hold the other, as far as its stages leave that open."""
    stay = _changed(replay, lambda shape: shape.may_stay, partial(replace, growth=Growth.WORK))
    files = _changed(replay, lambda shape: shape.may_be_files, _as_files)
    both = _changed(replay, lambda shape: shape.pairs_open, _both_grow)
    one = _changed(
        replay, lambda shape: shape.pairs_open, partial(replace, pairs_share=1.0, pairs_power=1.0)
    )
    multiplied = _changed(
        replay,
        lambda shape: multiplied_share(replay, shape) > 0.0,
        lambda shape: replace(shape, law=replace(shape.law, work=multiplied_share(replay, shape))),
    )
    more = _changed(replay, groups_open, partial(replace, growing=None, small_table=False))
    others = (stay, files, both, one, multiplied, more)
    found = (other for other in others if other is not None)
    return (*found, *_other_driver(replay), *other_cuts(replay))


def other_cuts(replay: Replay) -> tuple[Replay, ...]:
    """Those that differ on other slots as well: scans that are planned before executors come, as
    those with splits for fewer cores than the log's may have been, are cut for as few on any
    cluster; and files of which no plan tells are as small or as large as they may be."""
    early = _changed(replay, lambda shape: shape.early_cores is not None, _cut_early)
    small, large = (
        _changed(replay, lambda shape: shape.files_open, partial(_of_files, place))
        for place in (0, 1)
    )
    return tuple(found for found in (early, small, large) if found is not None)


def _both_grow(shape: StageShape) -> StageShape:
    return replace(shape, pairs_share=1.0, pairs_power=pairs_power(shape.stage))


def _as_files(shape: StageShape) -> StageShape:
    return replace(shape, law=replace(shape.law, partitions=1.0))


def groups_open(shape: StageShape) -> bool:
    """Whether what it reads may grow with the input all the same: groups are told of by the tasks
    of one log, and a larger input may be one of more shops, not of more days. Aggregates of a tree
    are as many as tasks, whatever the input."""
    of_a_tree = bool(shape.stage.operations) and TREES.issuperset(shape.stage.operations)
    return shape.growing is not None and shape.law.cut is None and not of_a_tree


def multiplied_share(replay: Replay, shape: StageShape) -> float:
    """The share of the rows which a join gives that are more than those of both its sides: keys
    repeat on both, and rows grow as pairs do where there are no more keys. 0 where it gives no
    more, or logs of other inputs tell how its work grows."""
    stage, given = shape.stage, shape.stage.joined_output_records
    if given is None or shape.law.cut is not None:
        return 0.0
    sent = set(stage.joined_broadcasts)
    tables = (one for one in replay.run.stages if one.stage_id in sent)
    own = max([records_of(stage), *(met or 0.0 for met in stage.joined_records)])
    read = own + sum(map(records_of, tables))
    return max(0.0, 1.0 - read / given) if own > 0.0 and given > 0.0 else 0.0


def _cut_early(shape: StageShape) -> StageShape:
    rule = replace(shape.partitioning, scanned_for=shape.early_cores)
    return replace(shape, partitioning=rule)


def _of_files(place: int, shape: StageShape) -> StageShape:
    return replace(shape, unplanned=shape.unplanned and shape.unplanned.others[place])


def _other_driver(replay: Replay) -> tuple[Replay, ...]:
    """The driver with less and with more of its time on rows that it fetched, where no other log
    says how that grows."""
    shares = time_on_rows(replay.run, replay.graph, replay.shapes)
    if not shares or replay.driver_growth:
        return ()
    low, high = ({p: getattr(s, end) for p, s in shares.items()} for end in ("low", "high"))
    return replace(replay, on_rows=low), replace(replay, on_rows=high)


def _changed(
    replay: Replay,
    is_open: Callable[[StageShape], bool],
    other: Callable[[StageShape], StageShape],
) -> Replay | None:
    """The replay with what is open of its stages changed, in those too that have their partitions;
    None where nothing is."""
    if not any(map(is_open, replay.shapes)):
        return None
    shapes = [other(shape) if is_open(shape) else shape for shape in replay.shapes]
    return replace(replay, shapes=tuple(linked(shapes))).fresh()


def reaching(held: Times, others: Sequence[Times]) -> FloatArray:
    """(n,) spread of log time with which a 90 % interval just reaches the other times: none is
    narrower, and one that reaches them anyhow is no wider."""
    apart = [np.abs(np.log(other.seconds / held.seconds)) for other in others]
    return REACHED * np.max(apart, axis=0, initial=0.0) if apart else np.zeros(len(held.seconds))
