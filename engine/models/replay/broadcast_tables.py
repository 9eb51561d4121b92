"""The tables that a log broadcasts: the size that Spark compares with the broadcast threshold, and
its growth.

For a join that was planned as a broadcast, Spark estimates the size from the scanned files,
whatever was grouped or shuffled in between. For one that adaptive execution converted, it is the
measured size of the shuffle. In: the stage models of a log. Out: its broadcast tables. Explained in
docs/models/sparkplan_rules_replay.md#tables-that-are-broadcast.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from engine.models.replay.broadcast_thresholds import broadcast_threshold
from engine.models.stages.durations.task_times import StageModel
from engine.profile import Run
from engine.stage_run import StageRun, total_of

BROADCAST_EXCHANGE = "BroadcastExchange"
"""Plan node that sends a table to every executor."""

SORT_MERGE_SHARE = 0.5
"""Prior: share of sorting and merging in the time that a sort-merge join takes beyond a broadcast
join; the rest goes to the shuffles."""


class TableSize(NamedTuple):
    """The size of a table that Spark compared with the threshold in the log: for files between the
    bytes read of them and their size, but no more than the threshold, since they were broadcast.
    Log-uniform between the two.

    Args:
        least, most: bytes; equal where the log tells how many count.
    """

    least: float
    most: float

    def probability_beyond(self, limit: float, growth: float) -> float:
        """Probability that `growth` times the size exceeds a limit."""
        if self.most * growth <= limit:
            return 0.0
        if self.least * growth > limit:
            return 1.0
        return math.log(self.most * growth / limit) / math.log(self.most / self.least)


@dataclass(frozen=True, eq=False)
class BroadcastTable:
    """A table that a log broadcasts.

    Args:
        build: the stage that sends it (the build side of its joins).
        size: its size in bytes that is compared with the threshold.
        source: the stage whose data determines that size: `build`, or the scan that its rows come
            from.
        shuffled: whether both sides of its joins were shuffled before one was broadcast.
        limit_bytes: up to which size its query broadcasts tables.
    """

    build: StageModel
    size: TableSize
    source: StageModel
    shuffled: bool
    limit_bytes: int

    @property
    def planned(self) -> bool:
        """Whether it was planned as a broadcast although its rows are shuffled after the scan."""
        return self.source is not self.build

    def added_share(self, ratio: float, limit: int | None) -> float:
        """Share of the extra time of a sort-merge join that `ratio` times the input adds to the
        log's plan: sorting and merging where both sides are shuffled in the log already; the
        shuffles alone where adaptive execution converts the join back, since the measured size is
        within a limit (None for never)."""
        if self.shuffled:
            return SORT_MERGE_SHARE
        small_enough = (
            limit is not None
            and self.build.stage.read_bytes * self.build.data_growth(ratio) <= limit
        )
        return 1.0 - SORT_MERGE_SHARE if self.planned and small_enough else 1.0


def broadcast_tables(run: Run, models: Sequence[StageModel]) -> list[BroadcastTable]:
    """The tables that the stages of a run broadcast, without those beyond the threshold already:
    these were broadcast by a hint, or reduced by a filter. Without adaptive execution only the
    joining stages show that a table is broadcast."""
    joiners: dict[int, list[StageRun]] = {}
    for model in models:
        for build in model.stage.joined_broadcasts:
            joiners.setdefault(build, []).append(model.stage)
    by_id = {model.stage.stage_id: model for model in models}
    builds = [
        model
        for stage_id, model in by_id.items()
        if stage_id in joiners or BROADCAST_EXCHANGE in model.stage.operations
    ]
    limits = [broadcast_threshold(run, build.stage).limit_bytes for build in builds]
    candidates = [
        _broadcast_table(build, joiners.get(build.stage.stage_id, ()), by_id, limit)
        for build, limit in zip(builds, limits, strict=True)
        if limit is not None
    ]
    return [table for table in candidates if 0.0 < table.size.least <= table.limit_bytes]


def _broadcast_table(
    model: StageModel, joiners: Sequence[StageRun], by_id: Mapping[int, StageModel], limit: int
) -> BroadcastTable:
    planned = _is_planned_broadcast(model.stage, joiners)
    counted_bytes = None if planned else _shuffled_bytes(model.stage, joiners)
    if counted_bytes is not None:
        return BroadcastTable(model, TableSize(counted_bytes, counted_bytes), model, True, limit)
    source = (scan_below(model, by_id) if planned else None) or model
    least, most = planned_sizes(source.stage)
    size = TableSize(least, max(least, min(most, limit)))
    return BroadcastTable(model, size, source, False, limit)


def planned_sizes(scan: StageRun) -> TableSize:
    """The size of a scan's rows by Spark's planner: the size of its files, times the share of a row
    of the table that the selected columns have. That row is as wide as all columns that scans of
    the log read, or wider, by as much as the files are larger than the bytes read of them."""
    read_share, known_share = scan.row_shares or (1.0, 1.0)
    least = scan.read_bytes * read_share
    if scan.files_bytes is None:
        return TableSize(least, least)
    most = scan.files_bytes * known_share
    return TableSize(min(least, most), most)


def _is_planned_broadcast(stage: StageRun, joiners: Sequence[StageRun]) -> bool:
    """Whether a table whose rows are shuffled after the scan was planned as a broadcast: of a join
    that was planned otherwise both sides are shuffled before adaptive execution converts it."""
    build_shuffled = total_of(stage.shuffle_read_bytes) > 0.0
    return (
        build_shuffled
        and bool(joiners)
        and not any(total_of(s.shuffle_read_bytes) for s in joiners)
    )


def scan_below(model: StageModel, by_id: Mapping[int, StageModel]) -> StageModel | None:
    """The scan of files that the rows of a stage come from, through any number of shuffles; None
    where they come from others too. Spark estimates a join as the product of both sides: the result
    of one is broadcast by a hint, or its sides are tiny."""
    while len(model.stage.parents) == 1 and not model.stage.joined_broadcasts:
        parent = by_id.get(model.stage.parents[0])
        if parent is None:
            return None
        model = parent
    stage = model.stage
    several_inputs = stage.parents or stage.joined_broadcasts or stage.united or stage.paired
    return model if stage.files_bytes and not several_inputs else None


def _shuffled_bytes(stage: StageRun, joiners: Sequence[StageRun]) -> float | None:
    """Bytes, before compression, of a broadcast table that was shuffled first; None where the log
    does not tell."""
    sizes = [
        size
        for joiner in joiners
        for build, size in zip(joiner.joined_broadcasts, joiner.joined_shuffled_bytes, strict=False)
        if build == stage.stage_id and size is not None
    ]
    return sizes[-1] if sizes else None
