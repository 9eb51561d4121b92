"""How many groups rows have: those of one task, those of all tasks, and those of more data.

Rows drawn from keys have D groups among the first m of them, with

    D(m) = θ ((1 + m / θ)^σ - 1) / σ.

For σ below 0 these are the keys that are met of θ / |σ|, whose frequencies have a Gamma
distribution (Fisher, Corbet and Williams 1943), and for σ to minus infinity are equal; for σ of 0
it is Fisher's logarithmic series; above 0 it is the mean of the process of Pitman and Yor (1997)
and, for θ to 0, Heaps' law (1978). What each task of a log grouped and what there is in all are two
points of it.
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
"""So far down the frequencies of keys are as good as equal."""

MOST_SHAPE = 0.999
"""And so far up all rows have keys of their own."""

FURTHEST = 60.0
"""Log of the largest number of rows relative to θ, and minus that of the smallest."""

STEPS = 60
"""Of a search, which mostly takes ten."""

CLOSE = 1e-7
"""Relative to what is searched for."""


@dataclass(frozen=True, slots=True)
class GroupLaw:
    """How many groups there are of any number of rows, both relative to all of a log.

    Args:
        tasks: of the log, each with an equal part of the rows.
        power: with which groups grow from those of one task to those of all (Heaps' law).
        shape: σ, and `scale` θ relative to the rows of the log; None where it does not tell rows.
        apart: whether no two tasks have a group in common, however many there are.
    """

    tasks: int
    power: float
    shape: float | None = None
    scale: float = 0.0
    apart: bool = False

    @classmethod
    def of(cls, stage: StageRun, power: float) -> GroupLaw:
        """As the counts of a stage say, whose groups grow by that power."""
        n, ungrouped = stage.tasks, stage.ungrouped_rows
        each = (stage.grouped_rows or 0.0) / n
        alone = power == 1.0 or (stage.groups or 0.0) <= 1.0
        if alone or not ungrouped or not 0.0 < each * n < ungrouped:
            return cls(n, power)
        return cls(n, power, *_fitted(n, n * each / ungrouped, float(n) ** power))

    def groups(self, rows: FloatArray | float) -> FloatArray:
        """(n,) so many times the groups of the log are there of (n,) so many times its rows. What
        is beyond these may have other keys, and goes on with the power that was seen."""
        by_power = np.power(rows, self.power)
        if self.shape is None:
            return np.asarray(by_power)
        return np.asarray(np.where(np.asarray(rows) >= 1.0, by_power, self._within(rows, by_power)))

    def _within(self, rows: FloatArray | float, by_power: FloatArray) -> FloatArray:
        """(n,) `groups` of less than all rows. Where each task of the log had nearly all keys but
        few rows of each, more evenly than by chance, the law of drawn keys goes for parts of a task
        alone: beyond one there are no fewer than by the power."""
        own, every = 1.0 / self.tasks, self._met(1.0)
        of_task = max(own**self.power, float(self._met(own) / every))
        more = np.maximum(by_power, self._met(rows) / every)
        return np.where(np.asarray(rows) < own, self._met(rows) / self._met(own) * of_task, more)

    def _met(self, rows: FloatArray | float) -> FloatArray:
        """(n,) D / θ of (n,) so many times the rows of the log."""
        return _grown(self.shape or 0.0, np.asarray(rows) / self.scale)

    def handed_on(self, rows: FloatArray | float, tasks: FloatArray | float) -> FloatArray:
        """(n,) so many times the rows of the log are handed on by (n,) so many times as many tasks,
        which have (n,) so many times its rows in all and group their own."""
        if self.apart:
            return self.groups(rows)
        own = 1.0 / self.tasks
        return np.asarray(tasks * self.groups(own * rows / tasks) / self.groups(own))


def _grown(shape: float, rows: FloatArray | float) -> FloatArray:
    """(n,) D / θ of (n,) so many rows, relative to θ."""
    logarithm = np.log1p(rows)
    return np.asarray(logarithm if shape == 0.0 else np.expm1(shape * logarithm) / shape)


@lru_cache(maxsize=1024)
def _fitted(tasks: int, share: float, times: float) -> tuple[float, float]:
    """σ, and θ relative to the rows of all tasks, of which one leaves a `share` of its rows as
    groups, and all have so many times as many as one. The nearest where rows are more even than by
    chance, or none have a key in common."""

    def rows_of_task(shape: float) -> float:
        """Relative to θ, where it leaves as many groups."""
        wanted = math.log(share)
        return math.exp(
            _root(lambda u: math.log(_grown(shape, math.exp(u))) - u - wanted, -FURTHEST, FURTHEST)
        )

    def beyond(shape: float) -> float:
        rows = rows_of_task(shape)
        return math.log(_grown(shape, rows * tasks) / _grown(shape, rows) / times)

    shape = _root(beyond, LEAST_SHAPE, MOST_SHAPE)
    return shape, 1.0 / (tasks * rows_of_task(shape))


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a monotonous function is 0, by false position with halved ends (Illinois); the end that
    is nearer where it is nowhere."""
    at_low, at_high = function(low), function(high)
    if at_low * at_high >= 0.0:
        return low if abs(at_low) <= abs(at_high) else high
    middle = low
    for _ in range(STEPS):
        middle = (low * at_high - high * at_low) / (at_high - at_low)
        found = function(middle)
        if abs(found) < CLOSE:
            break
        if found * at_high < 0.0:
            low, at_low = high, at_high
        else:
            at_low /= 2.0
        high, at_high = middle, found
    return middle
