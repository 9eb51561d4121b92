"""Run times explained: physical laws averaged, a Gaussian process on top, weights by validation.

Two candidates answer: the laws with linear effects (types, parameters), and the same with a smooth
remainder. Their weights and the width of the interval are decided on left-out runs, chosen to match
the question: one at a time inside the measured range; the upper half of machines, or of sizes, for
a doubling beyond it (a blend of the two before that); all runs of a set of parameters for
parameters that no run had.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from engine.forecast import BoolArray, FloatArray, IntArray
from engine.models.laws.asked import Asked, share_beyond
from engine.models.laws.design import Rows
from engine.models.laws.left_out_spread import as_foretold, with_one_dof
from engine.models.laws.mixture import (
    MINIMUM_FOR_SMOOTH,
    CandidateLaws,
    Validated,
    Variances,
    validated,
)
from engine.models.laws.sampling import NOISE_DOF
from engine.models.workloads import SAME
from engine.one_thread import one_thread

FOLDS = 5
"""Parts into which the sets of parameters are put when these are left out."""

MINIMUM_LEFT_OUT = 3
"""Runs that a validation needs on either side."""


class LogTimes(NamedTuple):
    """What is said of log time at n places: a Student law of each.

    Attributes:
        mean: (n,).
        scale: (2, n) below and above the mean.
        dof: (n,) degrees of freedom.
    """

    mean: FloatArray
    scale: FloatArray
    dof: FloatArray

    def taken(self, places: IntArray) -> LogTimes:
        return LogTimes(*(part[..., places] for part in self))


@dataclass(frozen=True, eq=False)
class RunTimes:
    """What r configurations say.

    Args:
        rows: of the configurations; repetitions count as one, at their mean log time.
        counts: (r,) how much each counts: one, or the probability that nothing went wrong in it.
        repetition_variance: what a run's log time varies by beyond the mean of its repetitions, on
            average over the configurations; 0 where there are none.
    """

    rows: Rows
    log_seconds: FloatArray
    run_weights: FloatArray
    repetition_variance: float
    candidates: CandidateLaws
    inside: Validated | None
    _beyond: dict[str, Validated | None] = field(default_factory=dict, repr=False)

    @property
    def noise(self) -> float:
        """Scale of log time that the smooth remainder takes for noise; 0 for too few runs to tell
        noise from errors of the laws."""
        processes = self.candidates.processes
        return processes[-1].noise if len(processes) > 1 else 0.0

    @one_thread()
    def moments(self, rows: Rows) -> LogTimes:
        """Of n rows, the mean never less for more input.

        A few rows at a time: so that what the laws say of them stays in the cache.
        """
        starts = range(0, max(1, len(rows)), BLOCK)
        parts = [self._moments(rows.taken(slice(start, start + BLOCK))) for start in starts]
        return LogTimes(*(np.concatenate(column, axis=-1) for column in zip(*parts, strict=True)))

    def _moments(self, rows: Rows) -> LogTimes:
        law, means, variances = self.candidates.moments(rows)
        asked = self.asked(rows)
        variance, dof = self._spread(asked.squared(rows.size), means, variances)
        # Beyond both, the one that is less sure: asking further never makes an interval narrower.
        both = np.flatnonzero((asked.machines > 0.0) & (rows.size > asked.largest))
        if both.size:
            shares = asked.taken(both).squared(rows.size[both], machines_first=True)
            other, other_dof = self._spread(shares, means[:, both], variances.taken(both))
            wider = other > variance[:, both]
            dof[:, both] = np.where(wider, other_dof, dof[:, both])
            variance[:, both] = np.where(wider, other, variance[:, both])
        scale = np.sqrt(variance + self.repetition_variance)
        return LogTimes(self._mean(rows, asked, law, means), *with_one_dof(scale, dof))

    def _spread(
        self, shares: Mapping[str, FloatArray], means: FloatArray, variances: Variances
    ) -> tuple[FloatArray, FloatArray]:
        """(2, n) variance of log time below and above, and the degrees of freedom, by the
        validations that count."""
        variance, dof = np.zeros((2, means.shape[1])), np.zeros((2, means.shape[1]))
        for kind, share in shares.items():
            at = np.flatnonzero(share)
            if at.size:
                found = self.validation(kind)
                parts = variances.taken(at).on_sides(found.weights, means[:, at])
                own, own_dof = found.spread.moments(*parts)
                variance[:, at] += share[at] * own
                dof[:, at] += share[at] * own_dof
        return variance, dof

    def _mean(self, rows: Rows, asked: Asked, law: FloatArray, means: FloatArray) -> FloatArray:
        """(n,) mean of log time from those of the laws (n,) and of the candidates (c, n).

        It never falls as the size grows, whatever remainder and weights say: as a function of what
        the laws say it is the running maximum over the measured sizes, and beyond them it grows as
        the laws do.
        """
        sizes = self._below(float(rows.size.max(initial=0.0)))
        if not len(sizes):
            return self._weighted(asked.shares(rows.size), means)
        laws, course = self.candidates.means(rows, sizes)
        return self._growing(rows, asked, sizes, (laws[0], course[0]), law)

    @one_thread()
    def means(self, rows: Rows, iterations: FloatArray) -> FloatArray:
        """(k, n) what `moments` says of the mean for each of k numbers of iterations in place of
        the rows' own; all rows ask for one size."""
        starts = range(0, len(rows), BLOCK)
        parts = [np.empty((len(iterations), 0))]
        parts += [
            self._means(rows.taken(slice(start, start + BLOCK)), iterations) for start in starts
        ]
        return np.concatenate(parts, axis=1)

    def _means(self, rows: Rows, iterations: FloatArray) -> FloatArray:
        sizes = self._below(float(rows.size[0]))
        known = np.concatenate((rows.size[:1], sizes))
        parts = zip(iterations, *self.candidates.means(rows, known, iterations), strict=True)
        found = []
        for count, laws, course in parts:
            asked = self.asked(rows.iterated(count))
            if len(sizes):
                found.append(self._growing(rows, asked, sizes, (laws[1:], course[1:]), laws[0]))
            else:
                found.append(self._weighted(asked.shares(rows.size), course[0]))
        return np.stack(found)

    def _growing(
        self,
        rows: Rows,
        asked: Asked,
        sizes: FloatArray,
        known: tuple[FloatArray, FloatArray],
        law: FloatArray,
    ) -> FloatArray:
        """(n,) mean of log time where the laws say `law` (n,), by what is `known` for each of s
        sizes: the mean of the laws (s, n), of the candidates (s, c, n)."""
        laws, course = known
        parts = zip(sizes, course, strict=True)
        whole = np.stack([self._weighted(asked.shares(size), part) for size, part in parts])
        whole = np.maximum.accumulate(whole, axis=0)
        beyond, measured = rows.size > self._sizes[-1], len(self._sizes)
        mean = np.empty(len(rows))
        for at, last in ((~beyond, measured), (beyond, len(sizes))):
            if at.any():
                mean[at] = along_laws(laws[:last, at], whole[:last, at], law[at])
        return mean

    def _below(self, largest: float) -> FloatArray:
        """(s,) sizes that decide the mean up to `largest`: the measured ones up to the next one,
        and for a larger size two beyond them."""
        sizes = self._sizes
        if len(sizes) and largest > sizes[-1]:
            sizes = np.concatenate((sizes, sizes[-1] * BETWEEN))
        return np.asarray(sizes[: np.searchsorted(sizes, largest) + 1])

    @cached_property
    def _sizes(self) -> FloatArray:
        """(s,) measured sizes between which the mean is kept from falling; none if there is but
        one, or if the laws alone answer: they never fall."""
        sizes = np.unique(self.rows.size)
        if len(sizes) < 2 or len(self.candidates.processes) == 1:
            return np.empty(0)
        places = np.unique(np.linspace(0, len(sizes) - 1, MOST_SIZES).round().astype(int))
        return np.asarray(sizes[places])

    def _weighted(self, shares: Mapping[str, FloatArray], means: FloatArray) -> FloatArray:
        """(n,) mean of the candidates' (c, n), by the weights that count for each row."""
        mean = np.zeros(means.shape[1])
        for kind, share in shares.items():
            if share.any():
                mean += share * (self.validation(kind).weights @ means)
        return mean

    def asked(self, rows: Rows) -> Asked:
        """What the rows ask for, their size apart."""
        cores = rows.machines * rows.cores, self.rows.machines * self.rows.cores
        return Asked(
            self._new_parameters(rows).astype(float),
            share_beyond(cores[0], float(cores[1].max())),
            float(self.rows.size.max()),
        )

    def _new_parameters(self, rows: Rows) -> BoolArray:
        """(n,) whether no run had the parameters and iterations of a row."""
        asked, back = rows.jobs, np.zeros(len(rows), dtype=np.int64)
        if (asked == asked[:1]).all():
            asked = asked[:1]
        else:
            asked, back = np.unique(asked, axis=0, return_inverse=True)
        near = np.isclose(asked[:, None], self._jobs[None], rtol=SAME, atol=SAME)
        new = np.asarray(~np.any(np.all(near, axis=2), axis=1))
        return np.asarray(new[back.reshape(-1)])

    @cached_property
    def _jobs(self) -> FloatArray:
        """(j, .) the parameters and iterations that runs had."""
        return np.asarray(np.unique(self.rows.jobs, axis=0))

    def validation(self, asked: str) -> Validated:
        """Weights and spread for what is asked; those for inside where nothing else is known."""
        if asked != "inside" and asked not in self._beyond:
            self._beyond[asked] = self._blocked(asked)
        found = self._beyond.get(asked) or self.inside
        if found is not None:
            return found
        weights = np.zeros(len(self.candidates.processes))
        weights[0] = 1.0
        return Validated(weights, as_foretold(NOISE_DOF), np.empty(0))

    def places_of(self, rows: Rows) -> IntArray:
        """(n,) where configurations that this fit has seen are among its own."""
        own = {row.tobytes(): place for place, row in enumerate(self.rows.configurations)}
        return np.asarray([own[row.tobytes()] for row in rows.configurations], dtype=np.int64)

    def _blocked(self, asked: str) -> Validated | None:
        """Validated by extrapolation of the kind asked for: the lower half of runs predicts the
        upper, or runs of other parameters those of each set."""
        if asked == "parameters":
            sets = np.unique(self.rows.jobs, axis=0, return_inverse=True)[1].reshape(-1)
            folds = [sets % FOLDS == fold for fold in range(FOLDS)]
            held_out = [fold for fold in folds if fold.any()]
        else:
            machines = self.rows.machines * self.rows.cores
            values = machines if asked == "machines" else self.rows.size
            held_out = [values > 0.5 * values.max()]
        enough = all((~fold).sum() >= MINIMUM_FOR_SMOOTH for fold in held_out)
        if not enough or sum(fold.sum() for fold in held_out) < MINIMUM_LEFT_OUT:
            return None
        parts = [self._held_out(fold) for fold in held_out]
        return validated(
            np.concatenate([errors for errors, _ in parts], axis=1),
            Variances.joined([variances for _, variances in parts]),
            np.concatenate([self.run_weights[fold] for fold in held_out]),
        )

    def _held_out(self, out: BoolArray) -> tuple[FloatArray, Variances]:
        """(c, k) error and variances of log time of k runs, foretold from the others."""
        rows = self.rows.taken(~out)
        fitted, _ = CandidateLaws.of(rows, self.log_seconds[~out], self.run_weights[~out])
        _, means, variances = fitted.moments(self.rows.taken(out))
        return self.log_seconds[out] - means, variances


BETWEEN = np.asarray([2.0**0.5, 2.0])
"""Times the largest measured size at which the mean is kept from falling too."""

MOST_SIZES = 4
"""Measured sizes at which the mean is kept from falling."""

BLOCK = 1024
"""Rows that are answered at once."""


def along_laws(law: FloatArray, whole: FloatArray, wanted: FloatArray) -> FloatArray:
    """(n,) log time where the laws say `wanted` (n,): `whole` (k, n) as a piecewise linear, never
    falling function of `law` (k, n); slope 1 outside."""
    below = np.minimum(wanted - law[0], 0.0)
    beyond = np.maximum(wanted - law[-1], 0.0)
    result = whole[0].copy()
    for place in range(len(law) - 1):
        width = law[place + 1] - law[place]
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.clip((wanted - law[place]) / width, 0.0, 1.0)
        share = np.where(width > FLAT, share, wanted >= law[place + 1] - FLAT)
        result += share * (whole[place + 1] - whole[place])
    return np.asarray(result + below + beyond)


FLAT = 1e-12
"""Differences of log time that are none."""


@one_thread()
def fit_run_times(
    rows: Rows, seconds: FloatArray, run_weights: FloatArray | None = None
) -> RunTimes:
    """What runs say about all of their types and parameters.

    Args:
        rows, seconds: n runs.
        counts: (n,) how much each counts, as far as that is known; None for one.
    """
    first, log_seconds, repetitions, repetition = _once(rows, np.log(seconds))
    rows = rows.taken(first)
    known = np.ones(len(rows)) if run_weights is None else run_weights[first]
    candidates, counted = CandidateLaws.of(rows, log_seconds, known, may=repetitions == 1)
    inside = None
    if len(rows) >= MINIMUM_LEFT_OUT:
        inside = validated(*candidates.left_out(), counted, candidates.free)
    return RunTimes(rows, log_seconds, counted, repetition, candidates, inside)


def _once(rows: Rows, log_seconds: FloatArray) -> tuple[IntArray, FloatArray, IntArray, float]:
    """(c,) the first place of each configuration, its mean log time, how often it was run, and the
    variance of a run beyond that of such means: leaving out only one of several repetitions would
    test nothing. What the means vary by, a k-th of the variance among k repetitions, is in their
    left-out errors already."""
    _, first, group = np.unique(rows.configurations, axis=0, return_index=True, return_inverse=True)
    group = group.reshape(-1)
    count = np.bincount(group)
    mean = np.bincount(group, log_seconds) / count
    repeated = len(log_seconds) - len(first)
    order = np.argsort(first)
    found = first[order], mean[order], count[order]
    if repeated == 0:
        return *found, 0.0
    variance = float(((log_seconds - mean[group]) ** 2).sum() / repeated)
    known = repeated / (repeated + NOISE_DOF)
    return *found, known * variance * float(1.0 - (1.0 / count).mean())
