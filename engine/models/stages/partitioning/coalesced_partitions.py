"""The number of partitions to which adaptive execution coalesces a shuffle, by cores and data.

`ShufflePartitionsUtil.coalescePartitions` sets the target size to an equal share of the bytes for
each core, between the least and the advisory size. It joins neighbouring partitions until the next
one would not fit. Whole partitions seldom fill the target, so there are somewhat more than cores: a
second wave.

In: the bytes and partitions of a shuffle in a log. Out: its number of partitions by input and
cores. Explained in docs/models/sparkplan_rules_replay.md#coalesced-shuffles.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from engine.forecast import BoolArray, FloatArray

SIZE_SPREAD = 0.05
"""Relative standard deviation of the sizes of a shuffle's partitions: hashing spreads some hundred
keys in each. It matters only if nearly a whole number of partitions fills the target."""

LOGISTIC = 1.702
"""Scale at which the logistic function approximates the normal distribution function within
0.01."""

REPORTED_SIZE_FACTOR = 1.05
"""Mean factor by which reported block sizes exceed the real ones: `MapStatus` reports them to the
driver in steps of a tenth, rounded up."""

DIGITS = 9
"""Expected counts are rounded to so many digits: smaller probabilities count as 0."""


def coalesced_within(share: FloatArray) -> FloatArray:
    """(n,) expected number of partitions coalesced into one whose target size is (n,) times that of
    a mean partition. Near a whole number it is random whether the last one fits."""
    return np.maximum(1.0, _expected_fit(share))


def coalesced_until(least: FloatArray) -> FloatArray:
    """(n,) expected number of partitions coalesced until they hold (n,) times a mean partition: one
    more than fit below that. A partition below the least size takes the next one too, whatever
    the target."""
    return 1.0 + _expected_fit(least)


def _expected_fit(share: FloatArray) -> FloatArray:
    """(n,) expected number of leading partitions whose sum is at most (n,) times the mean."""
    fit = np.maximum(1.0, np.floor(share))
    fits = _fit_probability(share - fit, fit)
    next_fits = _fit_probability(share - fit - 1.0, fit + 1)
    return np.round(fit - 1.0 + fits + next_fits, DIGITS)


def _fit_probability(spare: FloatArray, number: FloatArray) -> FloatArray:
    """(n,) probability that the sum of (n,) partitions stays below a limit that lies (n,) `spare`
    mean partitions above its expectation: a normal distribution by its logistic approximation."""
    deviations = spare / (SIZE_SPREAD * np.sqrt(number))
    steep = np.minimum(np.maximum(-LOGISTIC * deviations, -40.0), 40.0)
    return np.asarray(1.0 / (1.0 + np.exp(steep)))


MAX_FACTOR = 2.0
"""Above so many times the partitions that the coalescing rule gives, something else made them:
packing whole partitions and coalescing two shuffles alike shift the number by up to half."""


@dataclass(frozen=True)
class CoalescedPartitions:
    """The coalesced partitions of one observed shuffle, or (as arrays) of each of m.

    Args:
        initial: number before coalescing.
        total_bytes: size of the shuffle.
        smallest_bytes, advisory_bytes: least and advisory size of a coalesced partition.
        cores: number of partitions that coalescing aimed at in the log, or aims at on any cluster.
        observed, observed_initial: partitions of the log after and before coalescing.
    """

    initial: float | FloatArray
    total_bytes: float | FloatArray
    smallest_bytes: float | FloatArray
    advisory_bytes: float | FloatArray
    cores: float | FloatArray
    observed: float | FloatArray
    observed_initial: float | FloatArray

    def count(self, cores: FloatArray, ratio: float) -> FloatArray:
        """(n,) partitions at `ratio` times the input on (n,) cores: as the log's if their number
        differs from the rule's by more than one."""
        by_rule = self._by_rule(cores, ratio, self.initial)
        differs = np.abs(self.observed - self._rule_of_log) > 1.0
        as_log = self._as_in_log(by_rule, cores, ratio)
        return self._limited(np.where(differs, as_log, by_rule), ratio)

    def on_log_cores(self, ratio: float) -> FloatArray:
        """() or (m,) partitions on the log's own cluster; at the log's input the observed
        number."""
        cores = np.asarray(self.cores)
        grown = self._by_rule(cores, ratio, self.initial)
        partitions = self._as_in_log(grown, cores, ratio)
        if ratio >= 1.0:
            more = self.observed - self._rule_of_log
            as_ruled = (np.abs(more) <= 1.0) & (self.initial == np.asarray(self.observed_initial))
            partitions = np.where(as_ruled, grown + more, partitions)
        return self._limited(partitions, ratio)

    def _as_in_log(self, by_rule: FloatArray, cores: FloatArray, ratio: float) -> FloatArray:
        """(n,) partitions for the (n,) of the rule. In a log that has fewer, yet enough for all
        bytes, sizes are so unlike that some fit together where two mean ones do not: as much
        between both numbers as there. Otherwise the same factor holds everywhere."""
        fewest = np.minimum(self._fewest(cores, ratio, self.initial), by_rule)
        between = fewest + self._share_between * (by_rule - fewest)
        factor = self.observed / self._rule_of_log
        return np.where(np.isnan(self._share_between), by_rule * factor, between)

    @cached_property
    def _share_between(self) -> FloatArray:
        """() or (m,) place of the log's number from the fewest that hold all bytes (0) to that of
        the rule (1); NaN if it does not lie between, by more than one."""
        by_rule = self._rule_of_log
        fewest = self._fewest(np.asarray(self.cores), 1.0, self.observed_initial)
        between = (fewest <= self.observed) & (self.observed < by_rule - 1.0)
        return np.where(between, self.observed - fewest, np.nan) / np.where(
            between, by_rule - fewest, 1.0
        )

    def _limited(self, partitions: FloatArray, ratio: float) -> FloatArray:
        """(n,) partitions at `ratio` times the input: not so few that they hold more than the
        advisory size and more than those of the log, and no more than are not empty."""
        beyond = np.minimum(1.0, self.observed / np.maximum(1.0, self._advised(1.0)))
        least = np.minimum(self._advised(ratio) * beyond, self._most(ratio, self.initial))
        return np.asarray(
            np.minimum(np.maximum(1.0, np.maximum(partitions, least)), self._nonempty)
        )

    @cached_property
    def _rule_of_log(self) -> FloatArray:
        """() or (m,) partitions that the rule gives for the log, less empty ones."""
        by_rule = self._by_rule(np.asarray(self.cores), 1.0, self.observed_initial)
        return np.where(self._uncoalesced, self.observed, by_rule)

    @cached_property
    def _uncoalesced(self) -> BoolArray:
        """() or (m,) whether the log's bytes left no partitions to coalesce, however unlike their
        sizes are: the mean one has the advisory size, or there are too few for the cores."""
        initial, reported = self.observed_initial, self._reported_bytes(1.0)
        for_cores = self._filled(1.0 / np.asarray(self.cores), initial, reported)
        advised = np.minimum(self._advised(1.0), self._most(1.0, initial))
        return np.maximum(for_cores, advised) >= initial

    @cached_property
    def _nonempty(self) -> FloatArray:
        """() or (m,) partitions that are not empty: Spark drops empty ones. If the log's bytes left
        none to coalesce, the partitions that it had are all that keys were hashed to; of another
        number of partitions the same keys fill the share that is expected of random hashing."""
        empty = np.where(
            self._uncoalesced, np.maximum(0.0, 1.0 - self.observed / self.observed_initial), 0.0
        )
        initial = np.asarray(self.initial)
        return np.asarray(initial * (1.0 - empty ** (self.observed_initial / initial)))

    def _by_rule(self, cores: FloatArray, ratio: float, initial: float | FloatArray) -> FloatArray:
        """(n,) partitions by the rule alone: never fewer of more input."""
        reported = self._reported_bytes(ratio)
        target = np.minimum(1.0 / cores, self.advisory_bytes / reported)
        return self._filled(target, initial, reported)

    def _filled(
        self, target: FloatArray, initial: float | FloatArray, reported: FloatArray
    ) -> FloatArray:
        """(n,) partitions, each filled to a target, (n,) shares of all bytes, with whole ones of
        `initial`: none are joined if two are beyond it."""
        joined = np.maximum(
            coalesced_within(np.asarray(initial * target)), self._least(initial, reported)
        )
        return np.maximum(1.0, self._in_groups(initial / joined, reported))

    def _fewest(self, cores: FloatArray, ratio: float, initial: float | FloatArray) -> FloatArray:
        """(n,) fewest partitions that hold all bytes: each filled to the target by bytes alone."""
        target = np.maximum(cores, self._advised(ratio))
        return np.maximum(1.0, np.minimum(target, self._most(ratio, initial)))

    def _advised(self, ratio: float) -> FloatArray:
        """() or (m,) partitions if each held the advisory size; no whole number."""
        return np.asarray(self.total_bytes * ratio / self.advisory_bytes)

    def _most(self, ratio: float, initial: float | FloatArray) -> FloatArray:
        """() or (m,) partitions that each have the least size, if none is filled further."""
        reported = self._reported_bytes(ratio)
        least = self._least(initial, reported)
        return np.where(least > 1.0, self._in_groups(initial / least, reported), initial)

    def _least(self, initial: float | FloatArray, reported: FloatArray) -> FloatArray:
        """() or (m,) partitions that are joined until they have the least size."""
        return coalesced_until(np.asarray(initial * self.smallest_bytes / reported))

    def _reported_bytes(self, ratio: float) -> FloatArray:
        """() or (m,) bytes of the shuffle at `ratio` times the input, as the driver knows them."""
        return np.maximum(REPORTED_SIZE_FACTOR * self.total_bytes * ratio, LEAST_BYTES)

    def _in_groups(self, groups: FloatArray, reported: FloatArray) -> FloatArray:
        """(n,) partitions when (n,) `groups` of them are joined, of (n,) reported bytes in all: a
        last one below the least size joins the one before it."""
        whole = np.floor(groups)
        last_is_small = (groups - whole) * reported < self.smallest_bytes * groups
        return np.where(last_is_small, whole, groups)


LEAST_BYTES = 1e-9
"""Least reported size of a shuffle: avoids division by zero."""
