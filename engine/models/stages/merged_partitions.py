"""Into how many partitions adaptive execution merges a shuffle, on any number of cores.

`ShufflePartitionsUtil.coalescePartitions` gives each core an equal share of the bytes, between the
smallest and the advisory size, and puts partitions beside each other until the next one would not
fit. Whole partitions seldom fill a share, so that there are somewhat more than cores: a second
wave.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.forecast import FloatArray

SPREAD = 0.05
"""Relative standard deviation of the partitions of a shuffle: hashing spreads some hundred keys in
each. Only where a share holds nearly a whole number of partitions does it matter."""

LOGISTIC = 1.702
"""Makes the logistic function a normal distribution's, within 0.01."""


def together(share: FloatArray) -> FloatArray:
    """(n,) how many partitions are merged on average where (n,) so many would fill a share: as many
    as fit, which of a whole number is a matter of chance."""
    fit = np.maximum(1.0, np.floor(share))
    likely, next_one = (
        1.0 / (1.0 + np.exp(-LOGISTIC * np.clip(spare / (SPREAD * np.sqrt(number)), -40.0, 40.0)))
        for number in (fit, fit + 1.0)
        for spare in (share - number,)
    )
    return np.asarray(np.maximum(1.0, fit - 1.0 + likely + next_one))


@dataclass(frozen=True, slots=True)
class MergedPartitions:
    """The partitions of one observed shuffle.

    Args:
        partitions: before any were merged.
        total_bytes: of all.
        smallest_bytes, advisory_bytes: what a merged one holds at least and at most.
        cores: for which the log's were merged, or which are counted on every cluster.
        seen: as many as the log had, of `seen_of` before merging.
    """

    partitions: float
    total_bytes: float
    smallest_bytes: float
    advisory_bytes: float
    cores: float
    seen: float
    seen_of: float

    def count(self, cores: FloatArray, ratio: float) -> FloatArray:
        """(n,) partitions of `ratio` times the input on so many cores. A log with another number
        than the rule's, by more than one, has as much more or fewer everywhere."""
        ruled = self._ruled(cores, ratio, self.partitions)
        by_rule = self._own_rule
        if abs(self.seen - by_rule) > 1.0:
            ruled = ruled * (self.seen / by_rule)
        return np.asarray(np.clip(ruled, 1.0, self.partitions))

    def on_own(self, ratio: float) -> float:
        """The same on the log's own cluster, where it had as many as were seen."""
        by_rule = self._own_rule
        grown = float(self._ruled(np.asarray([self.cores]), ratio, self.partitions)[0])
        if ratio >= 1.0 and 0.0 <= self.seen - by_rule <= 1.0 and self.partitions == self.seen_of:
            return min(self.seen + grown - by_rule, self.partitions)
        return min(self.seen * grown / by_rule, self.partitions)

    @property
    def _own_rule(self) -> float:
        return min(float(self._ruled(np.asarray([self.cores]), 1.0, self.seen_of)[0]), self.seen_of)

    def _ruled(self, cores: FloatArray, ratio: float, partitions: float) -> FloatArray:
        """(n,) by the rule alone. Filled to the advisory size they grow with the input; until then
        their number stays, so that more input is never less time. What is left for a last one is
        merged with that before where it is smaller than the smallest."""
        total = self.total_bytes * ratio
        for_cores = partitions / together(partitions / cores)
        whole = np.floor(for_cores)
        last_is_small = (for_cores - whole) * total < self.smallest_bytes * for_cores
        for_cores = np.where(last_is_small, whole, for_cores)
        most = total / self.smallest_bytes if self.smallest_bytes > 0.0 else np.inf
        wanted = np.maximum(total / self.advisory_bytes, np.minimum(for_cores, most))
        return np.asarray(np.maximum(1.0, wanted))
