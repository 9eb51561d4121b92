"""How large Spark takes the tables to be that a log broadcasts, and how these grow.

What was planned as a broadcast Spark estimated from the files below it, whatever was grouped or
shuffled on the way; what adaptive execution made one it had counted, shuffled.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from engine.models.stages.durations.task_times import StageModel
from engine.stage_run import StageRun, total_of

BROADCAST_EXCHANGE = "BroadcastExchange"
"""What plans call the operation that sends a table to every executor."""

SORTED_SHARE = 0.5
"""Of what a join by sort and merge takes beside a broadcast, what sorting and merging take; the
rest goes to the shuffles."""


class TableSize(NamedTuple):
    """What of a table counts against the threshold in the log: of files between what was read of
    them and all of them, but no more than the threshold, as they were broadcast. Every size between
    is as likely as its double.

    Args:
        least, most: bytes; equal where the log tells how many count.
    """

    least: float
    most: float

    def beyond(self, limit: float, growth: float) -> float:
        """How probable it is that so many times the size are more than a limit."""
        if self.most * growth <= limit:
            return 0.0
        if self.least * growth > limit:
            return 1.0
        return math.log(self.most * growth / limit) / math.log(self.most / self.least)


@dataclass(frozen=True, eq=False)
class Table:
    """A table that a log broadcasts.

    Args:
        build: the stage that sends it (the build side of its joins).
        size: what of it counts against the threshold.
        source: the stage by whose data it counts: that one, or the scan that its rows come from.
        shuffled: whether both sides of its joins were shuffled before one was broadcast.
    """

    build: StageModel
    size: TableSize
    source: StageModel
    shuffled: bool

    @property
    def planned(self) -> bool:
        """Whether it was planned as a broadcast and is shuffled on the way."""
        return self.source is not self.build

    def share(self, ratio: float, limit: int | None) -> float:
        """Of what its join takes by sort and merge beside a broadcast, what `ratio` times the input
        adds to the log's plan: sorting and merging where the sides were shuffled before, and the
        shuffles alone where adaptive execution, up to a limit (None for never), then finds it small
        enough."""
        if self.shuffled:
            return SORTED_SHARE
        small = (
            limit is not None
            and self.build.stage.read_bytes * self.build.data_growth(ratio) <= limit
        )
        return 1.0 - SORTED_SHARE if self.planned and small else 1.0


def tables(models: Sequence[StageModel], limit: float) -> list[Table]:
    """Those that the stages of a log broadcast, but for what is beyond a limit already: that was
    asked for by a hint, or cut down by a filter. Without adaptive execution only who joins a table
    tells that it is broadcast."""
    joiners: dict[int, list[StageRun]] = {}
    for model in models:
        for build in model.stage.joined_broadcasts:
            joiners.setdefault(build, []).append(model.stage)
    by_id = {model.stage.stage_id: model for model in models}
    sent = [
        model
        for stage_id, model in by_id.items()
        if stage_id in joiners or BROADCAST_EXCHANGE in model.stage.operations
    ]
    broadcast = [_table(one, joiners.get(one.stage.stage_id, ()), by_id, limit) for one in sent]
    return [table for table in broadcast if 0.0 < table.size.least <= limit]


def _table(
    model: StageModel, joiners: Sequence[StageRun], by_id: Mapping[int, StageModel], limit: float
) -> Table:
    source = _scan_below(model, by_id) if _is_planned(model.stage, joiners) else None
    counted = None if source else _shuffled_bytes(model.stage, joiners)
    if counted is not None:
        return Table(model, TableSize(counted, counted), model, True)
    source = source or model
    return Table(model, _planned_size(source.stage, limit), source, False)


def _planned_size(scan: StageRun, limit: float) -> TableSize:
    """What Spark's planner takes the rows of a scan for: of its files the share that the columns
    handed on have of a row of the table. That row is as wide as all columns that scans of the log
    read, or wider: as much as the files are more than what was read of them."""
    of_read, of_known = scan.row_shares or (1.0, 1.0)
    least = scan.read_bytes * of_read
    if scan.files_bytes is None:
        return TableSize(least, least)
    most = scan.files_bytes * of_known
    least = min(least, most)
    return TableSize(least, max(least, min(most, limit)))


def _is_planned(stage: StageRun, joiners: Sequence[StageRun]) -> bool:
    """Whether a table that was shuffled on the way was planned as a broadcast: of a join that was
    planned otherwise both sides are shuffled before adaptive execution turns it."""
    shuffled = total_of(stage.shuffle_read_bytes) > 0.0
    return shuffled and bool(joiners) and not any(total_of(s.shuffle_read_bytes) for s in joiners)


def _scan_below(model: StageModel, by_id: Mapping[int, StageModel]) -> StageModel | None:
    """The scan of files that the rows of a stage come from, however often they were shuffled on the
    way; None where they come from others too. Of a join Spark takes the product of both sides: what
    comes of one was asked for by a hint, or its sides are tiny."""
    while len(model.stage.parents) == 1 and not model.stage.joined_broadcasts:
        below = by_id.get(model.stage.parents[0])
        if below is None:
            return None
        model = below
    stage = model.stage
    several = stage.parents or stage.joined_broadcasts or stage.united or stage.paired
    return model if stage.files_bytes and not several else None


def _shuffled_bytes(stage: StageRun, joiners: Sequence[StageRun]) -> float | None:
    """Bytes, before compression, of what a stage broadcasts that was shuffled first; None where the
    log does not say."""
    sizes = [
        size
        for joiner in joiners
        for build, size in zip(joiner.joined_broadcasts, joiner.joined_shuffled_bytes, strict=False)
        if build == stage.stage_id and size is not None
    ]
    return sizes[-1] if sizes else None
