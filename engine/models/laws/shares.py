"""Fits that answer together, each by its weight: those of all runs, and of one type alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.forecast import FloatArray, IntArray
from engine.models.laws.design import Rows
from engine.models.laws.run_times import LogTimes, RunTimes

IGNORED_WEIGHT = 0.01
"""A fit with less weight is not asked."""


@dataclass(frozen=True, eq=False)
class Share:
    """A fit and the weight it has among those that answer."""

    fit: RunTimes
    weight: float


def heaviest(shares: Sequence[Share]) -> RunTimes:
    """The fit that has most of the say."""
    return max(shares, key=lambda share: share.weight).fit


def told_by(shares: Sequence[Sequence[Share]], rows: Rows, family: IntArray) -> LogTimes:
    """What the weighted fits of each row's `family` say. The fit of all runs, which all families
    share, is asked once for those rows where it counts."""
    asked = [_counting(own) for own in shares]
    joint = shares[0][0].fit
    counts = np.asarray([own[0].fit is joint for own in asked])[family]
    by_all = np.cumsum(counts) - 1
    of_all = joint.moments(rows.taken(counts))
    found = LogTimes(np.empty(len(rows)), np.empty((2, len(rows))), np.empty(len(rows)))
    for place in np.unique(family):
        at = np.flatnonzero(family == place)
        mixed = _mixed(
            np.asarray([share.weight for share in asked[place]]),
            [
                of_all.taken(by_all[at])
                if share.fit is joint
                else share.fit.moments(rows.taken(at).alone)
                for share in asked[place]
            ],
        )
        for every, own in zip(found, mixed, strict=True):
            every[..., at] = own
    return found


def means_of(
    shares: Sequence[Sequence[Sequence[Share]]],
    rows: Rows,
    family: IntArray,
    iterations: FloatArray,
) -> FloatArray:
    """(k, n) the mean log time that `told_by` says of n rows of one size with each of k numbers of
    iterations in place of their own, by the `shares` for each number. A fit of all runs that these
    share is asked once."""
    asked = [[_counting(own) for own in each] for each in shares]
    joint, found = shares[0][0][0].fit, np.zeros((len(shares), len(rows)))
    counts = np.any([[own[0].fit is joint for own in each] for each in asked], axis=0)
    by_all, of_all = np.asarray(counts)[family], np.empty_like(found)
    of_all[:, by_all] = joint.means(rows.taken(by_all), iterations)
    for number, each in enumerate(asked):
        for place in np.unique(family):
            at = np.flatnonzero(family == place)
            for share in each[place]:
                if share.fit is joint:
                    told = of_all[number, at]
                else:
                    own = rows.taken(at).alone
                    told = share.fit.means(own, iterations[number : number + 1])[0]
                found[number, at] += share.weight * told
            found[number, at] /= sum(share.weight for share in each[place])
    return found


def _counting(own: Sequence[Share]) -> list[Share]:
    """Those that are asked."""
    return [share for share in own if share.weight >= IGNORED_WEIGHT]


def _mixed(weights: FloatArray, parts: Sequence[LogTimes]) -> LogTimes:
    """The moments of a mixture of answers."""
    weights = weights / weights.sum()
    means, scales, dof = (np.stack(columns) for columns in zip(*parts, strict=True))
    mean = weights @ means
    variance = np.tensordot(weights, scales**2 + ((means - mean) ** 2)[:, None], axes=1)
    return LogTimes(mean, np.sqrt(variance), weights @ dof)


def distinct_rows(rows: Rows, family: IntArray) -> tuple[Rows, IntArray, IntArray]:
    """The rows of each family without repetitions, their families, and where each row went."""
    keys = np.column_stack((rows.configurations, family))
    _, first, back = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    return rows.taken(first), family[first], back.reshape(-1)
