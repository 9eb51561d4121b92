"""Mixtures of fits: the fit of all runs and the fit of one machine type alone, each with its
weight."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.forecast import FloatArray, IntArray
from engine.models.laws.encoding import Rows
from engine.models.laws.run_times import LogTimes, RunTimeFit

NEGLIGIBLE_WEIGHT = 0.01
"""A fit with less weight is not evaluated."""


@dataclass(frozen=True, eq=False)
class WeightedFit:
    """A fit and its weight in the mixture."""

    fit: RunTimeFit
    weight: float


def heaviest_fit(fits: Sequence[WeightedFit]) -> RunTimeFit:
    """The fit with the largest weight."""
    return max(fits, key=lambda weighted: weighted.weight).fit


def mixed_log_times(
    fits: Sequence[Sequence[WeightedFit]], rows: Rows, sources: IntArray
) -> LogTimes:
    """Log times of rows by the mixture of the fits for each row's measured type, `sources` (n,).
    The fit of all runs, common to all types, is evaluated once for the rows where its weight
    counts."""
    significant = [_significant(type_fits) for type_fits in fits]
    joint = fits[0][0].fit
    uses_joint = np.asarray([type_fits[0].fit is joint for type_fits in significant])[sources]
    joint_index = np.cumsum(uses_joint) - 1
    by_joint = joint.moments(rows.take(uses_joint))
    result = LogTimes(np.empty(len(rows)), np.empty((2, len(rows))), np.empty(len(rows)))
    for source in np.unique(sources):
        at = np.flatnonzero(sources == source)
        mixed = _mixture_moments(
            np.asarray([weighted.weight for weighted in significant[source]]),
            [
                by_joint.take(joint_index[at])
                if weighted.fit is joint
                else weighted.fit.moments(rows.take(at).in_own_cores)
                for weighted in significant[source]
            ],
        )
        for column, values in zip(result, mixed, strict=True):
            column[..., at] = values
    return result


def scales_at_runs(fits: Sequence[Sequence[WeightedFit]]) -> FloatArray:
    """(r,) scale of log time at each configuration of the fit of all runs, on average of both
    sides: by the mixture for its type, and by the fit of all runs alone where the type's own knows
    nothing of its parameters."""
    joint = fits[0][0].fit
    variance = np.mean(joint.at_runs.scale**2, axis=0)
    for type_fits in fits:
        significant = _significant(type_fits)
        if any(weighted.fit is not joint for weighted in significant):
            at = joint.indices_of(type_fits[1].fit.rows)
            mixed = _mixture_moments(
                np.asarray([weighted.weight for weighted in significant]),
                [
                    joint.at_runs.take(at) if weighted.fit is joint else weighted.fit.at_runs
                    for weighted in significant
                ],
            )
            variance[at] = np.mean(mixed.scale**2, axis=0)
    return np.asarray(np.sqrt(variance))


def mixed_means(
    fits: Sequence[Sequence[Sequence[WeightedFit]]],
    rows: Rows,
    sources: IntArray,
    iterations: FloatArray,
) -> FloatArray:
    """(k, n) mean log time, as of `mixed_log_times`, of n rows of one size with each of k numbers
    of iterations in place of their own, by the `fits` for each number. The fit of all runs, common
    to these, is evaluated once."""
    significant = [[_significant(type_fits) for type_fits in each] for each in fits]
    joint, result = fits[0][0][0].fit, np.zeros((len(fits), len(rows)))
    uses_joint = np.any(
        [[type_fits[0].fit is joint for type_fits in each] for each in significant], axis=0
    )
    by_all, by_joint = np.asarray(uses_joint)[sources], np.empty_like(result)
    by_joint[:, by_all] = joint.means(rows.take(by_all), iterations)
    for number, each in enumerate(significant):
        for source in np.unique(sources):
            at = np.flatnonzero(sources == source)
            for weighted in each[source]:
                if weighted.fit is joint:
                    mean = by_joint[number, at]
                else:
                    type_rows = rows.take(at).in_own_cores
                    mean = weighted.fit.means(type_rows, iterations[number : number + 1])[0]
                result[number, at] += weighted.weight * mean
            result[number, at] /= sum(weighted.weight for weighted in each[source])
    return result


def _significant(fits: Sequence[WeightedFit]) -> list[WeightedFit]:
    """The fits with more than a negligible weight."""
    return [weighted for weighted in fits if weighted.weight >= NEGLIGIBLE_WEIGHT]


def _mixture_moments(weights: FloatArray, parts: Sequence[LogTimes]) -> LogTimes:
    """The mean and scale of a mixture of predictions; its degrees of freedom are their weighted
    mean."""
    weights = weights / weights.sum()
    means, scales, dof = (np.stack(columns) for columns in zip(*parts, strict=True))
    mean = weights @ means
    variance = np.tensordot(weights, scales**2 + ((means - mean) ** 2)[:, None], axes=1)
    return LogTimes(mean, np.sqrt(variance), weights @ dof)


def distinct_rows(rows: Rows, sources: IntArray) -> tuple[Rows, IntArray, IntArray]:
    """The distinct rows for each source, their sources, and the index of each row among them."""
    keys = np.column_stack((rows.configurations, sources))
    _, first, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    return rows.take(first), sources[first], inverse.reshape(-1)
