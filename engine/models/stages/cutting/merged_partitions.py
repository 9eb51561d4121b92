"""Into how many partitions adaptive execution merges a shuffle, on any number of cores.

`ShufflePartitionsUtil.coalescePartitions` gives each core an equal share of the bytes, between the
smallest and the advisory size, and puts partitions beside each other until the next one would not
fit. Whole partitions seldom fill a share, so that there are somewhat more than cores: a second
wave.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from engine.forecast import FloatArray

SPREAD = 0.05
"""Relative standard deviation of the partitions of a shuffle: hashing spreads some hundred keys in
each. Only where a share holds nearly a whole number of partitions does it matter."""

LOGISTIC = 1.702
"""Makes the logistic function a normal distribution's, within 0.01."""


TOLD = 1.05
"""Sizes of blocks are told to the driver in steps of a tenth, rounded up (`MapStatus`)."""

DIGITS = 9
"""A chance below this is none."""


def merged_into_one(share: FloatArray) -> FloatArray:
    """(n,) how many partitions are merged on average where (n,) so many would fill a share: as many
    as fit, which of a whole number is a matter of chance."""
    return np.maximum(1.0, _that_fit(share))


def merged_until(least: FloatArray) -> FloatArray:
    """(n,) how many partitions are merged on average until they hold as much as (n,) so many of the
    mean do: one more than do not reach it. What holds less than the smallest size takes the next
    one too, whatever the share."""
    return 1.0 + _that_fit(least)


def _that_fit(share: FloatArray) -> FloatArray:
    """(n,) how many of the first partitions together hold no more than (n,) so many of the mean."""
    fit = np.maximum(1.0, np.floor(share))
    likely, next_one = _likely(share - fit, fit), _likely(share - fit - 1.0, fit + 1.0)
    return np.round(fit - 1.0 + likely + next_one, DIGITS)


def _likely(spare: FloatArray, number: FloatArray) -> FloatArray:
    """(n,) how likely so many partitions leave some room, of which (n,) is spare on average."""
    deviations = spare / (SPREAD * np.sqrt(number))
    steep = np.minimum(np.maximum(-LOGISTIC * deviations, -40.0), 40.0)
    return np.asarray(1.0 / (1.0 + np.exp(steep)))


MERGED_BEYOND = 2.0
"""So many times the partitions that the rule of merging says are not its doing: packing whole
partitions and two shuffles merged alike make up to half as many more or fewer."""


@dataclass(frozen=True)
class MergedPartitions:
    """The partitions of one observed shuffle, or (as arrays) of each of m.

    Args:
        partitions: before any were merged.
        total_bytes: of all.
        smallest_bytes, advisory_bytes: what a merged one holds at least and at most.
        cores: for which the log's were merged, or which are counted on every cluster.
        seen: as many as the log had, of `seen_of` before merging.
    """

    partitions: float | FloatArray
    total_bytes: float | FloatArray
    smallest_bytes: float | FloatArray
    advisory_bytes: float | FloatArray
    cores: float | FloatArray
    seen: float | FloatArray
    seen_of: float | FloatArray

    def count(self, cores: FloatArray, ratio: float) -> FloatArray:
        """(n,) partitions of `ratio` times the input on so many cores. A log with another number
        than the rule's, by more than one, has as much more or fewer everywhere."""
        ruled, by_rule = self._ruled(cores, ratio, self.partitions), self._own_rule
        off = np.where(np.abs(self.seen - by_rule) > 1.0, self.seen / by_rule, 1.0)
        return np.asarray(np.minimum(np.maximum(ruled * off, 1.0), self._filled))

    def on_own(self, ratio: float) -> FloatArray:
        """() or (m,) the same on the log's own cluster, where it had as many as were seen."""
        by_rule = self._own_rule
        grown = self._ruled(np.asarray(self.cores), ratio, self.partitions)
        found = self.seen * grown / by_rule
        if ratio >= 1.0:
            more = self.seen - by_rule
            as_ruled = (more >= 0.0) & (more <= 1.0) & (self.partitions == np.asarray(self.seen_of))
            found = np.where(as_ruled, grown + more, found)
        return np.asarray(np.minimum(found, self._filled))

    @cached_property
    def _own_rule(self) -> FloatArray:
        """() or (m,) what the rule says of the log."""
        return np.asarray(np.minimum(self._asked, self.seen_of))

    @cached_property
    def _asked(self) -> FloatArray:
        """() or (m,) what the log's bytes ask for, were there as many partitions to merge."""
        return self._ruled(np.asarray(self.cores), 1.0, self.seen_of)

    @cached_property
    def _filled(self) -> FloatArray:
        """() or (m,) partitions that hold anything: Spark drops empty ones. Where the log's bytes
        leave none to merge, those that it had are all that keys were hashed to; of another number
        as many as as many keys fill."""
        few = np.asarray(self._asked >= self.seen_of)
        empty = np.where(few, np.maximum(0.0, 1.0 - self.seen / self.seen_of), 0.0)
        partitions = np.asarray(self.partitions)
        return np.asarray(partitions * (1.0 - empty ** (self.seen_of / partitions)))

    def _ruled(self, cores: FloatArray, ratio: float, partitions: float | FloatArray) -> FloatArray:
        """(n,) by the rule alone. Filled to the advisory size they grow with the input; until then
        their number stays, so that more input is never less time. What is left for a last one is
        merged with that before where it is smaller than the smallest."""
        total = self.total_bytes * ratio
        told = np.maximum(TOLD * total, LEAST_BYTES)
        least = partitions * self.smallest_bytes / told
        into_one = np.maximum(
            merged_into_one(np.asarray(partitions / cores)), merged_until(np.asarray(least))
        )
        for_cores = partitions / into_one
        whole = np.floor(for_cores)
        last_is_small = (for_cores - whole) * told < self.smallest_bytes * for_cores
        for_cores = np.where(last_is_small, whole, for_cores)
        return np.asarray(np.maximum(1.0, np.maximum(total / self.advisory_bytes, for_cores)))


LEAST_BYTES = 1e-9
"""Stands for a smallest size of nothing."""
