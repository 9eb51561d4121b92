"""Joins that adaptive execution splits for skew, or splits once they read more.

A piece of a hot partition reads the whole partition of the other side. So a join that is split
reads more than was written for it, which tells how many pieces a log has. Which of its tasks these
are has to agree with how Spark cuts the outputs of map tasks.

In: a join, and the stages before it. Out: that join, with its number of tasks by the rule of
`split_partitions.py`. Explained in docs/models/sparkplan_rules_replay.md#coalesced-shuffles.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from engine.models.stages.durations.task_times import StageModel
from engine.models.stages.partitioning.coalesced_partitions import CoalescedPartitions
from engine.models.stages.partitioning.partitions import Growth, PartitionsPerCore
from engine.models.stages.partitioning.split_partitions import SplitJoin, SplitPartitions
from engine.models.stages.partitioning.stage_growth import COALESCED_READS
from engine.stage_run import Measure, total_of

LEAST_READ_AGAIN = 0.5
"""Partitions of the other side that a join reads more than once, from which on it is split: the
bytes of shuffles are exact, and the hash spreads them over partitions."""

MOST_OFF = 1.0 / 3.0
"""Largest error of the pieces by the rule, as a share of those of the log, in which the log shows
that the rule made them: hot partitions of unlike sizes, taken for alike, hold another whole number
of map outputs in each piece."""

MOST_HOT = 100
"""Most hot partitions that are looked for: where more are large, none stands out."""


@dataclass(frozen=True)
class _Join:
    """A join of two shuffles: the side with more bytes may have hot partitions."""

    model: StageModel
    hot_side: StageModel
    other_bytes: float

    @property
    def read(self) -> Measure | None:
        return self.model.stage.shuffle_read_bytes

    @cached_property
    def side_bytes(self) -> float:
        return total_of(self.hot_side.stage.shuffle_write_bytes)

    @property
    def other_partition(self) -> float:
        """Mean size of a partition of the other side."""
        return self.other_bytes / self.model.shuffle_partitions

    @property
    def read_again(self) -> float:
        """Partitions of the other side that are read beyond once each."""
        more = total_of(self.read) - self.side_bytes - self.other_bytes
        return more / self.other_partition

    def rule(self, hot: int, hot_bytes: float, pieces: int) -> SplitPartitions:
        """Its tasks if so many of its partitions are hot, of so many bytes in all, and the log has
        so many pieces of them; one of each if it did not split them."""
        before, settings = float(self.model.shuffle_partitions), self.model.partitioning
        rest_share = 1.0 - hot_bytes / self.side_bytes
        fixed = float(settings.min_coalesced_partitions or settings.parallelism or 0)
        cores = fixed or float(settings.default_parallelism(None))
        total = rest_share * (self.side_bytes + self.other_bytes)
        rest = CoalescedPartitions(
            before - hot, total, settings.smallest_bytes, settings.advisory_bytes,
            cores * rest_share, float(self.model.stage.tasks - pieces), before - hot,
        )  # fmt: skip
        written = self.hot_side.stage.shuffle_write_bytes
        usual = written.quantile(0.5) if written else 0.0
        maps = float(self.hot_side.stage.tasks)
        rest_bytes = rest_share * self.side_bytes / (before - hot)
        return SplitPartitions(
            rest, rest_share, fixed, PartitionsPerCore.constant(maps), maps,
            self.side_bytes / usual if usual else maps, float(hot), hot_bytes / hot, rest_bytes,
            settings.advisory_bytes, settings.skewed_bytes,
        )  # fmt: skip

    def skewed(self, rule: SplitPartitions) -> bool:
        """Whether hot partitions are so much larger than the others that more data splits them."""
        factor = self.model.partitioning.skewed_factor
        return bool(rule.rest_bytes > 0.0 and rule.hot_bytes > factor * rule.rest_bytes)

    @cached_property
    def unsplit(self) -> SplitPartitions | None:
        """The rule of a log that did not split its hot partitions; None if it has none that more
        data splits."""
        hot, total = self.model.hot, total_of(self.read)
        if hot is None:
            return None
        shares = [s for s, at in zip(hot.shares, hot.split_growth, strict=True) if at < math.inf]
        size = sum(shares) * total - len(shares) * self.other_partition
        if not shares or not 0.0 < size < self.side_bytes:
            return None
        rule = self.rule(len(shares), size, len(shares))
        return rule if self.skewed(rule) else None

    @cached_property
    def split(self) -> SplitPartitions | None:
        """The rule that comes nearest to the pieces of a log that split its hot partitions, of the
        fewest that are hot; None if none comes near."""
        rule = min(self._splits, key=_error, default=None)
        return rule if rule is not None and _error(rule) <= MOST_OFF else None

    @property
    def _splits(self) -> Iterator[SplitPartitions]:
        """The rules by number of hot partitions, of which the pieces are the largest tasks of the
        log, or the smallest."""
        n, before = self.model.stage.tasks, self.model.shuffle_partitions
        read = self.read
        if read is None:
            return
        sizes = np.asarray([read.quantile(task / (n - 1)) for task in range(n)])
        again = round(self.read_again)
        for hot in range(1, min(again, before - 1, MOST_HOT) + 1):
            pieces = hot + again
            if not n - pieces <= before - hot or pieces >= n:
                continue
            for side in (sizes[-pieces:], sizes[:pieces]):
                size = float(side.sum()) - pieces * self.other_partition
                if not 0.0 < size < self.side_bytes:
                    continue
                rule = self.rule(hot, size, pieces)
                cut = float(rule.pieces(np.asarray(rule.rule_in_log), 1.0))
                if cut > 1.0 and self.skewed(rule):
                    yield replace(rule, as_in_log=pieces / (hot * cut))


def _error(rule: SplitPartitions) -> float:
    """How far the pieces of a rule are off those of the log, as a share of these."""
    return abs(1.0 - 1.0 / float(rule.as_in_log))


def with_skewed_join(model: StageModel, by_id: Mapping[int, StageModel]) -> StageModel:
    """A stage with its number of tasks by the rule, if it joins two shuffles of which one has hot
    partitions that are split, or that more data splits; else unchanged.

    Args:
        by_id: the stages before it, by their ids.
    """
    join = _join(model, by_id)
    if join is None:
        return model
    rule = join.split if join.read_again > LEAST_READ_AGAIN else join.unsplit
    if rule is None:
        return model
    follows = SplitJoin(
        stage=model.stage, growth=Growth.WORK, shuffle_partitions=model.shuffle_partitions,
        partitioning=model.partitioning, source=join.hot_side, rule_of_log=rule,
    )  # fmt: skip
    return replace(model, follows=follows)


def _join(model: StageModel, by_id: Mapping[int, StageModel]) -> _Join | None:
    """A join of two shuffles whose partitions adaptive execution changed, or may change."""
    stage = model.stage
    sides = [by_id[one] for one in stage.parents if one in by_id]
    changed = bool(COALESCED_READS.intersection(stage.operations)) and not stage.coalesced
    adaptive = model.growth is Growth.COALESCED or (model.growth is Growth.WORK and changed)
    if not adaptive or len(sides) != len(stage.parents) or len(sides) != 2 or stage.tasks < 2:
        return None
    other, hot = sorted(sides, key=lambda side: total_of(side.stage.shuffle_write_bytes))
    other_bytes = total_of(other.stage.shuffle_write_bytes)
    return _Join(model, hot, other_bytes) if other_bytes > 0.0 else None
