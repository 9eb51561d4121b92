"""Changes of join strategy with the input: broadcast joins that become sort-merge joins with more
data, and the reverse with less.

A replay has the physical plan of its log. A table beyond `spark.sql.autoBroadcastJoinThreshold` is
shuffled instead of broadcast, and the other side of the join with it: both are written, read,
sorted and merged. A log with the small table does not show the time for that, but the rows that
reach the join. So the time is estimated from the rows of both sides, at rates that are priors. What
a broadcast saves with less data is in `converted_joins.py`. In: a replay, an input and clusters.
Out: log factors on the time, and warnings. Explained in
docs/models/sparkplan_rules_replay.md#tables-that-are-broadcast.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from engine.distinct import distinct
from engine.forecast import FloatArray
from engine.models.replay.broadcast_tables import BroadcastTable, TableSize, broadcast_tables
from engine.models.replay.broadcast_thresholds import broadcast_threshold, conversion_threshold
from engine.models.replay.converted_joins import NEGLIGIBLE, ConvertedJoin, converted_joins
from engine.models.replay.replayed_run import Replay
from engine.models.replay.times import Times
from engine.models.stages.durations.task_times import StageModel
from engine.notices import Notice
from engine.runs.stage_labels import numbered_label
from engine.stage_run import StageRun, total_of
from engine.units import format_bytes, format_seconds

RECORDS_PER_SECOND, BYTES_PER_SECOND = 1e6, 100e6
"""Prior: rates at which a core takes either side through shuffle, sort and merge, in rows or, for
wide rows, in bytes; as for other rows (`stages/set_up.py`) and disks. Spark
3.5.9 took 0.02 to 2.2 CPU microseconds more for a row than with a broadcast
(docs/models/sparkplan_rules_replay.md#tables-that-are-broadcast)."""

MOST_SAVED = 0.5
"""Largest share of a run's time that broadcast joins in place of sort-merge joins save."""


@dataclass(frozen=True, eq=False)
class OutgrownBroadcast:
    """A table that is broadcast in a log and may exceed the broadcast threshold with more data.

    Args:
        growth: factor of its size that counts against the threshold.
        share: share of the cost of a sort-merge join that is added (`BroadcastTable.added_share`).
        probable: whether it exceeds the threshold with a probability of at least 0.5.
        joined: the stages that join their rows with it (the streamed side), and the number of their
            rows that reach the join; None where the log does not say.
        partitions: maximum number of shuffle partitions.
        run_over_cpu: run time over CPU time of tasks that read shuffles.
    """

    table: BroadcastTable
    growth: float
    share: float
    probable: bool
    joined: tuple[tuple[StageModel, float | None], ...]
    partitions: int
    run_over_cpu: float

    def seconds(self, ratio: float, slots: FloatArray) -> FloatArray:
        """(n,) seconds that shuffling, sorting and merging both sides add on (n,) slots, at `ratio`
        times the input."""
        added = np.zeros(len(slots))
        for model, streamed_rows in self.joined:
            added += self._added(model, streamed_rows, ratio, slots)
        return added

    def _added(
        self, model: StageModel, streamed_rows: float | None, ratio: float, slots: FloatArray
    ) -> FloatArray:
        """(n,) seconds that one join adds, with the number of coalesced shuffle partitions that
        adaptive execution makes of its size."""
        build, read = self.table.build, model.stage.read_records
        rows = read if streamed_rows is None else streamed_rows
        share = min(1.0, rows / read) if read else 1.0
        growth = model.data_growth(ratio)
        build_growth = build.data_growth(ratio) if self.table.planned else self.growth
        shuffled = model.stage.read_bytes * share * growth + build.stage.read_bytes * build_growth
        rows = rows * growth + build.stage.read_records * build_growth
        work = max(rows / RECORDS_PER_SECOND, shuffled / BYTES_PER_SECOND) * self.run_over_cpu
        work *= self.share
        settings = model.partitioning
        distinct_slots, slot_index = distinct(slots)
        cores = (distinct_slots * settings.cores_per_slot).astype(int).tolist()
        tasks = [min(settings.coalesced_count(shuffled, n), self.partitions) for n in cores]
        return np.asarray(work / model.concurrent_tasks(slots, np.ceil(tasks)[slot_index]))


def run_over_cpu_time(stages: Sequence[StageRun]) -> float:
    """Run time over CPU time of the tasks that read shuffles, or of all tasks where none does: the
    added tasks wait for cores and disks as these do."""
    reading = [stage for stage in stages if total_of(stage.shuffle_read_bytes) > 0.0] or stages
    timed = [one for one in reading if one.cpu_seconds is not None and one.run_seconds is not None]
    computed = sum(total_of(stage.cpu_seconds) for stage in timed)
    ran = sum(total_of(stage.run_seconds) for stage in timed)
    return max(1.0, ran / computed) if computed > 0.0 else 1.0


def _joined_with(
    models: Sequence[StageModel], table: int
) -> tuple[tuple[StageModel, float | None], ...]:
    """The stages that join their rows with the table of stage id `table`, once per join, and the
    number of their rows that reached the join (None where unknown)."""
    joined: list[tuple[StageModel, float | None]] = []
    for model in models:
        stage = model.stage
        streamed_rows = stage.joined_records or (None,) * len(stage.joined_broadcasts)
        joins = zip(stage.joined_broadcasts, streamed_rows, strict=True)
        joined += [(model, rows) for build, rows in joins if build == table]
    return tuple(joined)


class JoinEffect(NamedTuple):
    """Effect on a replay of joins that have another strategy than in the log.

    Args:
        log_factor: (n,) log of the factor on the time, for the changes with a probability of at
            least 0.5.
        reach: (n,) distance in log time that the interval has to reach beside that: to the plan of
            the log, or to the plan with all possible changes.
    """

    log_factor: FloatArray
    reach: FloatArray


@dataclass(frozen=True, eq=False)
class ChangedJoins:
    """The joins of a log that may have another strategy at `ratio` times its input.

    Args:
        shuffle_partitions: number of shuffle partitions; None for that of the log.
    """

    replay: Replay
    ratio: float
    shuffle_partitions: int | None = None

    @cached_property
    def outgrown(self) -> list[OutgrownBroadcast]:
        """The broadcasts of the log that may exceed the threshold.

        Tables grow in proportion to the input, unless other logs show their growth. A table beyond
        the threshold in the log already was broadcast by a hint, or cut down by a filter, and stays
        so. A small table, which grows slower, may grow in proportion too: possible, not probable.
        """
        if self.ratio <= 1.0:
            return []
        run, models = self.replay.run, self.replay.models
        run_over_cpu = run_over_cpu_time(run.stages)
        broadcasts = list[OutgrownBroadcast]()
        for table in broadcast_tables(run, models):
            source, threshold = table.source, table.limit_bytes
            growth = source.data_growth(self.ratio)
            probable = table.size.probability_beyond(threshold, growth) >= 0.5
            if source.small_table and source.law.data_power is None and not probable:
                growth = self.ratio
            if table.size.probability_beyond(threshold, growth) <= NEGLIGIBLE:
                continue
            joined = _joined_with(models, table.build.stage.stage_id)
            partitions = self.shuffle_partitions or table.build.shuffle_partitions
            share = table.added_share(self.ratio, conversion_threshold(run, table.build.stage))
            broadcasts.append(
                OutgrownBroadcast(table, growth, share, probable, joined, partitions, run_over_cpu)
            )
        return broadcasts

    def effect(self, slots: FloatArray, speed: FloatArray, times: Times) -> JoinEffect:
        """The effect of `outgrown` broadcasts and of `converted` joins on a replay that takes (n,)
        `times` on (n,) slots of (n,) relative speeds.

        It is uncertain both ways: tables may not grow or shrink, adaptive execution may convert a
        join back or leave it, and files may count for more than was read of them."""
        if not self.outgrown and not self.converted:
            return JoinEffect(np.zeros(len(slots)), np.zeros(len(slots)))
        known_slots = _slots_or_one(slots)
        added = [(one.seconds(self.ratio, known_slots), one.probable) for one in self.outgrown]
        saved = [(self._saved_seconds(one, known_slots), one.probable) for one in self.converted]
        changes = np.asarray([seconds for seconds, _ in added] + [-seconds for seconds, _ in saved])
        probable = np.asarray([is_probable for _, is_probable in added + saved])
        log_factor, possible = (
            np.log1p(np.maximum(some.sum(axis=0) / speed / times.seconds, -MOST_SAVED))
            for some in (changes[probable], changes)
        )
        return JoinEffect(log_factor, np.maximum(np.abs(log_factor), np.abs(possible - log_factor)))

    def _saved_seconds(self, join: ConvertedJoin, slots: FloatArray) -> FloatArray:
        return join.saved_seconds(self.ratio, slots, self.shuffle_partitions)

    @property
    def most_useful_slots(self) -> int:
        """Number of slots beyond which the time that `effect` adds does not fall: the
        partitions of its shuffles; 0 where it adds nothing."""
        return max(
            (
                broadcast.partitions * model.stage.task_cpus
                for broadcast in self.outgrown
                for model, _ in broadcast.joined
            ),
            default=0,
        )

    @cached_property
    def converted(self) -> list[ConvertedJoin]:
        """The sort-merge joins of the log that may be broadcast joins."""
        return converted_joins(self.replay.run, self.replay.models, self.ratio)

    def notices(self, slots: float, speed: float) -> list[Notice | None]:
        """The warnings that a join may have another strategy, on so many slots of a relative
        speed."""
        return [self.broadcast_notice(slots, speed), self.conversion_notice(slots, speed)]

    def conversion_notice(self, slots: float, speed: float = 1.0) -> Notice | None:
        """The warning that sort-merge joins may become broadcast joins with less data: about the
        longest of the probable ones, or of all if none is probable."""
        if not self.converted:
            return None
        named = [one for one in self.converted if one.probable] or self.converted
        join = max(named, key=lambda one: one.model.stage.task_seconds.total)
        label = numbered_label(join.model.stage)
        known_slots = np.asarray([slots])
        saved = float(sum(self._saved_seconds(one, known_slots)[0] for one in named)) / speed
        held = (
            "The time is that with the broadcast; the interval reaches up to {} more"
            if join.probable
            else "The time is that of the log's plan; the interval reaches up to {} less"
        ).format(format_seconds(saved))
        in_log, shrunk = _size(join.size), _size(join.size, join.growth)
        table = f"that Spark takes for {in_log} by its files" if join.planned else f"of {in_log}"
        return Notice(
            "broadcast-possible",
            f"{label} sorts and merges a table {table}, {shrunk} if that shrinks as it is taken "
            f"to: Spark may broadcast it then. {held}, inferred from what the join takes",
            "add a log of a run with less input",
            subject=label,
            severity=saved,
        )

    def broadcast_notice(self, slots: float, speed: float = 1.0) -> Notice | None:
        """The warning about the largest of the `outgrown` tables, on so many slots of a relative
        speed."""
        if not self.outgrown:
            return None
        named = [one for one in self.outgrown if one.probable] or self.outgrown
        largest = max(named, key=lambda one: one.table.size.most * one.growth)
        label = numbered_label(largest.table.build.stage)
        setting, _ = broadcast_threshold(self.replay.run, largest.table.build.stage)
        condition = (
            "With the wanted input it is taken to have"
            if largest.growth == largest.table.source.data_growth(self.ratio)
            else "If it grows with the input it has"
        )
        in_log, grown = _sizes(largest.table, largest.growth)
        possibly = "" if largest.probable else "that may be "
        added = float(sum(one.seconds(self.ratio, np.asarray([slots]))[0] for one in named)) / speed
        return Notice(
            "broadcast-outgrown",
            f"{label} broadcasts {in_log}. {condition} {grown}: "
            f"{possibly}more than {setting} ({format_bytes(largest.table.limit_bytes)}), so that "
            f"Spark shuffles both sides of the join instead. {_cost(largest, added)}",
            "add a log of a run with more input, or keep the broadcast by a hint",
            subject=label,
            severity=added,
        )


def _slots_or_one(slots: FloatArray) -> FloatArray:
    """(n,) slots, 1 where they are not known: the times there are not known either."""
    return np.maximum(1.0, np.nan_to_num(slots, nan=1.0))


def _size(size: TableSize, growth: float = 1.0) -> str:
    """`growth` times a size in words: its bounds where they differ."""
    least, most = (format_bytes(one * growth) for one in size)
    return most if least == most else f"{least} to {most}"


def _sizes(table: BroadcastTable, growth: float) -> tuple[str, str]:
    """A table with its size in the log, and the size at `growth` times that, in words."""
    least, most = (format_bytes(one) for one in table.size)
    if least == most:
        return f"a table of {most} to every executor", _size(table.size, growth)
    origin = "was read for it" if table.planned else "it reads"
    sizes = f"{least} (which {origin}) to {most} (its files, as far as they may be broadcast)"
    return f"a table to every executor that Spark takes for {sizes}", _size(table.size, growth)


def _cost(broadcast: OutgrownBroadcast, added: float) -> str:
    """Whether the predicted time or its interval contains the added seconds, in words."""
    if added <= 0.0:
        return "Neither the time nor its interval holds that: the log does not tell who joins it"
    seconds = f"about {format_seconds(added)} for that, inferred from the rows of both sides"
    if broadcast.probable:
        return f"The time holds up to {seconds}; the interval reaches the time without it"
    return f"The time is that of the log's plan; the interval holds {seconds}"
