"""The expected number of distinct groups (keys) among any number of rows.

Among m rows drawn at random there are D distinct keys, with

    D(m) = θ ((1 + m / θ)^σ - 1) / σ.

For σ < 0 this is the number of species seen, of θ / |σ| in all, whose frequencies have a Gamma
distribution (Fisher, Corbet and Williams 1943); for σ to minus infinity they are equal. For σ = 0
it is Fisher's logarithmic series. For σ > 0 it is the mean of the process of Pitman and Yor (1997)
and, for θ to 0, Heaps' law (1978). A log gives two points of the curve: the groups of a task and
the groups of all tasks together.

In: counts of rows and groups of a stage. Out: the number of groups by rows. Explained in
docs/models/sparkplan_rules_replay.md#rows-that-are-grouped.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from engine.forecast import FloatArray
from engine.stage_run import StageRun

LEAST_SHAPE = -50.0
"""Least σ: the frequencies of keys are practically equal."""

MOST_SHAPE = 0.999
"""Largest σ: practically all rows have a key of their own."""

MAX_LOG_ROWS = 60.0
"""Log of the largest number of rows relative to θ, and minus that of the smallest."""

MAX_ITERATIONS = 60
"""Most iterations of the root search, which usually takes ten."""

TOLERANCE = 1e-7
"""Tolerance of the root search, in log groups."""


@dataclass(frozen=True, slots=True)
class GroupLaw:
    """The number of groups as a function of the number of rows, both relative to all of a log.

    Args:
        tasks: tasks of the log, each with an equal part of the rows.
        power: exponent of Heaps' law, from the groups of one task to those of all.
        shape: σ; None if the log does not say how many rows were grouped.
        scale: θ relative to the rows of the log.
        partitioned_by_key: whether rows are partitioned by key: no two tasks have a group in
            common.
    """

    tasks: int
    power: float
    shape: float | None = None
    scale: float = 0.0
    partitioned_by_key: bool = False

    @classmethod
    def of(cls, stage: StageRun, power: float) -> GroupLaw:
        """Fitted to the row and group counts of a stage, whose exponent is `power`."""
        n, ungrouped = stage.tasks, stage.ungrouped_rows
        each = (stage.grouped_rows or 0.0) / n
        alone = power == 1.0 or (stage.groups or 0.0) <= 1.0
        if alone or not ungrouped or not 0.0 < each * n < ungrouped:
            return cls(n, power)
        return cls(n, power, *_fit(n, n * each / ungrouped, float(n) ** power))

    def groups(self, rows: FloatArray | float) -> FloatArray:
        """(n,) growth of the number of groups at (n,) times the rows of the log. More rows than the
        log's may have other keys: beyond them the observed power law continues."""
        by_power = np.power(rows, self.power)
        if self.shape is None:
            return np.asarray(by_power)
        return np.asarray(np.where(np.asarray(rows) >= 1.0, by_power, self._within(rows, by_power)))

    def _within(self, rows: FloatArray | float, by_power: FloatArray) -> FloatArray:
        """(n,) `groups` for a part of the log's rows.

        If each task of the log had nearly all keys but few rows of each, more evenly than random
        draws give, the sampling law holds only for parts of a task: beyond one task there are at
        least as many groups as by the power law.
        """
        own, every = 1.0 / self.tasks, self._distinct_keys(1.0)
        of_task = max(own**self.power, float(self._distinct_keys(own) / every))
        more = np.maximum(by_power, self._distinct_keys(rows) / every)
        return np.where(
            np.asarray(rows) < own,
            self._distinct_keys(rows) / self._distinct_keys(own) * of_task,
            more,
        )

    def _distinct_keys(self, rows: FloatArray | float) -> FloatArray:
        """(n,) D / θ at (n,) times the rows of the log."""
        return _relative_groups(self.shape or 0.0, np.asarray(rows) / self.scale)

    def partial_groups(self, rows: FloatArray | float, tasks: FloatArray | float) -> FloatArray:
        """(n,) growth of the rows written after partial aggregation, at (n,) times the rows of the
        log in (n,) times as many tasks, each of which groups its own rows."""
        if self.partitioned_by_key:
            return self.groups(rows)
        own = 1.0 / self.tasks
        return np.asarray(tasks * self.groups(own * rows / tasks) / self.groups(own))


def _relative_groups(shape: float, rows: FloatArray | float) -> FloatArray:
    """(n,) D / θ at (n,) rows relative to θ, for σ = `shape`."""
    logarithm = np.log1p(rows)
    return np.asarray(logarithm if shape == 0.0 else np.expm1(shape * logarithm) / shape)


@lru_cache(maxsize=1024)
def _fit(tasks: int, share: float, times: float) -> tuple[float, float]:
    """Fits σ, and θ relative to the rows of all tasks, to the two points that a log gives.

    Where keys are more even than random draws, or no rows have a key in common, the result is the
    nearest bound of σ.

    Args:
        share: groups of one task over its rows.
        times: groups of all tasks over those of one.
    """

    def rows_of_task(shape: float) -> float:
        """Rows of a task relative to θ at which it has `share` groups per row."""
        wanted = math.log(share)
        return math.exp(
            _root(
                lambda u: math.log(_relative_groups(shape, math.exp(u))) - u - wanted,
                -MAX_LOG_ROWS,
                MAX_LOG_ROWS,
            )
        )

    def beyond(shape: float) -> float:
        rows = rows_of_task(shape)
        return math.log(
            _relative_groups(shape, rows * tasks) / _relative_groups(shape, rows) / times
        )

    shape = _root(beyond, LEAST_SHAPE, MOST_SHAPE)
    return shape, 1.0 / (tasks * rows_of_task(shape))


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Root of a monotone function by false position with the Illinois modification; without a sign
    change, the end at which the function is nearer to 0."""
    at_low, at_high = function(low), function(high)
    if at_low * at_high >= 0.0:
        return low if abs(at_low) <= abs(at_high) else high
    middle = low
    for _ in range(MAX_ITERATIONS):
        middle = (low * at_high - high * at_low) / (at_high - at_low)
        value = function(middle)
        if abs(value) < TOLERANCE:
            break
        if value * at_high < 0.0:
            low, at_low = high, at_high
        else:
            at_low /= 2.0
        high, at_high = middle, value
    return middle
