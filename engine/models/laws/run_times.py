"""A fit to run times: laws averaged, a Gaussian process on top, weights by validation.

Two candidate models are mixed: the laws with linear effects (types, parameters), and the same with
a smooth remainder. Their weights and the width of the interval are decided on left-out runs, chosen
to match the question: one at a time inside the measured range (leave-one-out); the upper half of
machines, or of sizes, for a doubling beyond it (a blend of the two before that); all runs of a set
of parameters for parameters that no run had.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from hashlib import blake2b
from typing import NamedTuple

import numpy as np

from engine.distinct import distinct_few_rows
from engine.forecast import BoolArray, FloatArray, IntArray
from engine.models.laws.candidate_models import (
    MINIMUM_FOR_SMOOTH,
    CandidateModels,
    Validation,
    Variances,
    validate,
)
from engine.models.laws.encoding import Rows, merge_repetitions
from engine.models.laws.error_distribution import prior_error_distribution, with_common_dof
from engine.models.laws.extrapolation import Extrapolation, doublings_beyond
from engine.models.laws.machine_interpolation import Compute, along_machines, row_blocks
from engine.models.laws.means_at_sizes import MeansAtSizes, MeansCache, means_cache
from engine.models.laws.observations import NOISE_DOF
from engine.models.workloads import SAME
from engine.one_thread import one_thread

FOLDS = 5
"""Cross-validation folds into which the sets of parameters are divided when these are left out."""

MINIMUM_LEFT_OUT = 3
"""Runs that a validation needs, in training and left out."""

KEPT_ROWS = range(64, 32_769)
"""The means of so many rows at some sizes are kept, with the iterations asked for and with all
others, at the measured sizes and beyond them. Those of more rows would push out all others."""


class LogTimes(NamedTuple):
    """Predicted log times of n rows: a Student distribution of each.

    Attributes:
        mean: (n,).
        scale: (2, n) below and above the mean.
        dof: (n,) degrees of freedom.
    """

    mean: FloatArray
    scale: FloatArray
    dof: FloatArray

    def take(self, indices: IntArray) -> LogTimes:
        return LogTimes(*(part[..., indices] for part in self))


@dataclass(frozen=True, eq=False)
class RunTimeFit:
    """The candidate models fitted to r configurations, with their validations.

    Args:
        rows: of the configurations; repetitions count as one, at their mean log time.
        run_weights: (r,) weight of each: one, or the probability that it is no outlier.
        repetition_variance: what a run's log time varies by beyond the mean of its repetitions, on
            average over the configurations; 0 where there are none.
        leave_one_out: the validation inside the measured range; None for too few runs.
    """

    rows: Rows
    log_seconds: FloatArray
    run_weights: FloatArray
    repetition_variance: float
    candidates: CandidateModels
    leave_one_out: Validation | None
    _extrapolated: dict[str, Validation | None] = field(default_factory=dict, repr=False)
    _kept: MeansCache = field(default_factory=means_cache, repr=False)
    _key: object = field(default_factory=object, repr=False)
    """Its name among the fits that share what is kept, which holds no fit."""

    @property
    def noise(self) -> float:
        """Scale of log time that the smooth remainder takes for noise; 0 for too few runs to tell
        noise from errors of the laws."""
        processes = self.candidates.processes
        return processes[-1].noise if len(processes) > 1 else 0.0

    @one_thread()
    def moments(self, rows: Rows) -> LogTimes:
        """Predicted log times of n rows, the mean monotone in the size; in blocks of rows, whose
        intermediate results stay in the CPU's cache."""
        at_sizes = self._means_at_sizes(rows, None)
        of_candidates = self._along_machines(rows, rows.size, self.candidates.moment_arrays)
        parts = [
            self._moments(
                rows.take(block),
                [each.take(block) for each in at_sizes],
                *(part[..., block] for part in of_candidates),
            )
            for block in row_blocks(len(rows))
        ]
        return LogTimes(*(np.concatenate(column, axis=-1) for column in zip(*parts, strict=True)))

    def _along_machines(self, rows: Rows, sizes: FloatArray, compute: Compute) -> list[FloatArray]:
        """What `compute` has for rows at some sizes (`along_machines`)."""
        largest = rows.with_size(float(sizes.max(initial=0.0)))
        return along_machines(rows, self.candidates.smooth_from(largest), compute)

    def _moments(
        self,
        rows: Rows,
        at_sizes: Sequence[MeansAtSizes],
        law: FloatArray,
        means: FloatArray,
        *variances: FloatArray,
    ) -> LogTimes:
        """`moments` of a block with its `_means_at_sizes` and the moments by its candidates."""
        extrapolation = self.extrapolation(rows)
        # Beyond both, the wider one: going further never makes an interval narrower.
        weightings = [
            extrapolation.variance_weights(rows.size, machines_first=first)
            for first in (False, True)
        ]
        scale, dof = self._scale(weightings, means, Variances(*variances))
        if at_sizes:
            return LogTimes(at_sizes[0].at(rows.size, law), scale, dof)
        mean = self._weighted_mean(extrapolation.mean_weights(rows.size), means)
        return LogTimes(mean, scale, dof)

    @cached_property
    def at_runs(self) -> LogTimes:
        """Log times of the runs themselves as of `moments`, with means that are not made monotone:
        without their laws' times, which the fit has taken already."""
        residuals, variances = self.candidates.at_runs()
        means, inside = self.log_seconds - residuals, {"inside": np.ones(len(self.rows))}
        return LogTimes(
            self._weighted_mean(inside, means), *self._scale([inside], means, variances)
        )

    def _scale(
        self,
        weightings: Sequence[Mapping[str, FloatArray]],
        means: FloatArray,
        variances: Variances,
    ) -> tuple[FloatArray, FloatArray]:
        """(2, n) scale of a run's log time below and above the mean, and (n,) degrees of freedom,
        from the means (c, n) and variances of the candidates: by the weights (n,) of the
        validations, of several weightings by the one that gives the wider interval."""
        # One side after the other, the lower one where it differs.
        differ = np.flatnonzero(variances.side_factors[0] != variances.side_factors[1])
        rows = np.concatenate((np.arange(means.shape[1]), differ))
        sides = np.concatenate((variances.side_factors[1], variances.side_factors[0, differ]))
        used = [q for q in weightings[0] if any(weights[q].any() for weights in weightings)]
        scaled = [self._scaled_variance(q, means, variances, rows, sides) for q in used]
        widest = np.zeros((2, len(rows)))
        for weights in weightings:
            found = np.zeros_like(widest)
            for question, moments in zip(used, scaled, strict=True):
                found += weights[question][rows] * moments
            widest = np.where(found[0] > widest[0], found, widest)
        both = np.stack((widest[:, : means.shape[1]],) * 2, axis=1)
        both[:, 0, differ] = widest[:, means.shape[1] :]
        return with_common_dof(np.sqrt(both[0] + self.repetition_variance), both[1])

    def _scaled_variance(
        self,
        question: str,
        means: FloatArray,
        variances: Variances,
        rows: IntArray,
        sides: FloatArray,
    ) -> FloatArray:
        """(2, m) variance of log time and degrees of freedom by one validation, of m `rows` with
        the variance between laws times (m,) `sides`."""
        validation = self.validation(question)
        parts = variances.on_sides(validation.weights, means, rows, sides)
        return np.stack(validation.error_distribution.moments(*parts))

    @one_thread()
    def means(self, rows: Rows, iterations: FloatArray) -> FloatArray:
        """(k, n) the mean of `moments` for each of k numbers of iterations in place of the rows'
        own; all rows have one size."""
        if not len(rows):
            return np.empty((len(iterations), 0))
        at_sizes = self._means_at_sizes(rows, iterations)
        if not at_sizes:
            return self._at_each(rows, iterations, rows.size[:1])[1][:, 0]
        laws = self.law_means(rows, iterations)
        wanted = zip(at_sizes, laws, strict=True)
        return np.stack([each.at(rows.size, law) for each, law in wanted])

    @one_thread()
    def law_means(self, rows: Rows, iterations: FloatArray) -> FloatArray:
        """(k, n) mean log time of the laws, as of `CandidateModels.law_means`."""

        def compute(rows: Rows) -> list[FloatArray]:
            return [self.candidates.law_means(rows, iterations)]

        return self._along_machines(rows, rows.size, compute)[0]

    def _means_at_sizes(
        self, rows: Rows, iterations: FloatArray | None
    ) -> tuple[MeansAtSizes, ...]:
        """What makes the mean of rows monotone in the size, for each of k numbers of iterations, or
        for their own; none where it is monotone by itself. That of many rows is kept: a step of the
        data size asks for the same rows at another size."""
        measured = self._monotone_sizes
        if not len(measured):
            return ()
        most = float(rows.size.max(initial=0.0))
        parts = [measured] if most <= measured[-1] else [measured, measured[-1] * SIZES_BEYOND]
        sizes = np.concatenate(parts)
        if len(rows) in KEPT_ROWS:
            counts = None if iterations is None else iterations.tobytes()
            key = self._key, counts, blake2b(rows.with_size(1.0).configurations.tobytes()).digest()
            computed = partial(self._at_each, rows, iterations)
            kept = [self._kept.get((*key, of.tobytes()), partial(computed, of)) for of in parts]
            laws, means = (np.concatenate(of, axis=1) for of in zip(*kept, strict=True))
        else:  # the next size is enough
            sizes = sizes[: np.searchsorted(sizes, most) + 1]
            laws, means = self._at_each(rows, iterations, sizes)
        count = min(len(measured), len(sizes))
        return tuple(MeansAtSizes(sizes, count, *pair) for pair in zip(laws, means, strict=True))

    def _at_each(
        self, rows: Rows, iterations: FloatArray | None, sizes: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """`_at_block` of all rows."""
        compute = partial(self._at_block, sizes, iterations)
        laws, means = self._along_machines(rows, sizes, compute)
        return laws, means

    def _at_block(
        self, sizes: FloatArray, iterations: FloatArray | None, rows: Rows
    ) -> tuple[FloatArray, FloatArray]:
        """(k, s, n) mean of the laws, and of all candidates by their weights, at s sizes."""
        laws, candidate_means = self.candidates.means(rows, sizes, iterations)
        means = np.empty_like(laws)
        for index, parts in enumerate(candidate_means):
            of_count = rows if iterations is None else rows.with_iterations(iterations[index])
            extrapolation = self.extrapolation(of_count)
            for mean, size, part in zip(means[index], sizes, parts, strict=True):
                mean[:] = self._weighted_mean(extrapolation.mean_weights(size), part)
        return laws, means

    @cached_property
    def _monotone_sizes(self) -> FloatArray:
        """(s,) measured sizes at which the mean is made monotone; none if there is but one, or if
        the laws are the only candidate: they are monotone."""
        sizes = np.unique(self.rows.size)
        if len(sizes) < 2 or len(self.candidates.processes) == 1:
            return np.empty(0)
        indices = np.unique(np.linspace(0, len(sizes) - 1, MOST_MONOTONE_SIZES).round().astype(int))
        return np.asarray(sizes[indices])

    def _weighted_mean(self, weights: Mapping[str, FloatArray], means: FloatArray) -> FloatArray:
        """(n,) mean of the candidates' means (c, n), by the weighted validations of each row."""
        mean = np.zeros(means.shape[1])
        for question, weight in weights.items():
            if weight.any():
                mean += weight * (self.validation(question).weights @ means)
        return mean

    def extrapolation(self, rows: Rows) -> Extrapolation:
        """How far the rows lie beyond the runs, their size apart."""
        cores = rows.machines * rows.cores, self.rows.machines * self.rows.cores
        return Extrapolation(
            self._new_parameters(rows).astype(float),
            doublings_beyond(cores[0], float(cores[1].max())),
            float(self.rows.size.max()),
        )

    def _new_parameters(self, rows: Rows) -> BoolArray:
        """(n,) whether no run had the parameters and iterations of a row."""
        distinct, inverse = rows.jobs, np.zeros(len(rows), dtype=np.int64)
        if (distinct == distinct[:1]).all():
            distinct = distinct[:1]
        else:
            distinct, inverse = np.unique(distinct, axis=0, return_inverse=True)
        near = np.isclose(distinct[:, None], self._jobs[None], rtol=SAME, atol=SAME)
        new = np.asarray(~np.any(np.all(near, axis=2), axis=1))
        return np.asarray(new[inverse.reshape(-1)])

    @cached_property
    def _jobs(self) -> FloatArray:
        """(j, .) the distinct parameters and iterations of the runs."""
        jobs = self.rows.jobs
        return np.asarray(jobs[distinct_few_rows(jobs)[0]])

    def validation(self, question: str) -> Validation:
        """The validation for a question ("inside", "machines", "size", "parameters"); that for
        inside, or the prior, where it has too few runs."""
        if question != "inside" and question not in self._extrapolated:
            self._extrapolated[question] = self._block_validation(question)
        validation = self._extrapolated.get(question) or self.leave_one_out
        if validation is not None:
            return validation
        weights = np.zeros(len(self.candidates.processes))
        weights[0] = 1.0
        return Validation(weights, prior_error_distribution(NOISE_DOF), np.empty(0))

    def indices_of(self, rows: Rows) -> IntArray:
        """(n,) indices, among the fitted rows, of rows that were fitted."""
        index_of = self._configuration_index
        return np.asarray([index_of[row.tobytes()] for row in rows.configurations], dtype=np.int64)

    @cached_property
    def _configuration_index(self) -> dict[bytes, int]:
        """The index of each fitted row, by the bytes of its numbers."""
        return {row.tobytes(): index for index, row in enumerate(self.rows.configurations)}

    def _block_validation(self, question: str) -> Validation | None:
        """Validation by extrapolation in the direction of the question: the lower half of machines
        or sizes predicts the upper, or runs of other parameters those of each fold."""
        if question == "parameters":
            sets = np.unique(self.rows.jobs, axis=0, return_inverse=True)[1].reshape(-1)
            parts = [sets % FOLDS == part for part in range(FOLDS)]
            folds = [fold for fold in parts if fold.any()]
        else:
            machines = self.rows.machines * self.rows.cores
            values = machines if question == "machines" else self.rows.size
            folds = [values > 0.5 * values.max()]
        enough = all((~fold).sum() >= MINIMUM_FOR_SMOOTH for fold in folds)
        if not enough or sum(fold.sum() for fold in folds) < MINIMUM_LEFT_OUT:
            return None
        parts = [self._predict_fold(fold) for fold in folds]
        return validate(
            np.concatenate([errors for errors, _ in parts], axis=1),
            Variances.joined([variances for _, variances in parts]),
            np.concatenate([self.run_weights[fold] for fold in folds]),
        )

    def _predict_fold(self, out: BoolArray) -> tuple[FloatArray, Variances]:
        """(c, k) error and variances of log time of k runs, predicted from the others."""
        rows = self.rows.take(~out)
        fitted, _ = CandidateModels.of(rows, self.log_seconds[~out], self.run_weights[~out])
        _, means, variances = fitted.moments(self.rows.take(out))
        return self.log_seconds[out] - means, variances


SIZES_BEYOND = np.asarray([2.0**0.5, 2.0])
"""Multiples of the largest measured size at which the mean is made monotone too."""

MOST_MONOTONE_SIZES = 4
"""The most measured sizes at which the mean is made monotone."""


@one_thread()
def fit_run_times(
    rows: Rows,
    seconds: FloatArray,
    run_weights: FloatArray | None = None,
    *,
    draw_share: float = 1.0,
    kept: MeansCache | None = None,
) -> RunTimeFit:
    """The fit to runs of all their types and parameters.

    Args:
        rows, seconds: n runs.
        run_weights: (n,) as far as they are known; None for one.
        draw_share: see `Observations`.
        kept: where its means are kept, with those of other fits; None for a cache of its own.
    """
    first, log_seconds, repetitions, repetition_variance = merge_repetitions(rows, np.log(seconds))
    rows = rows.take(first)
    known_weights = np.ones(len(rows)) if run_weights is None else run_weights[first]
    candidates, posterior_weights = CandidateModels.of(
        rows,
        log_seconds,
        known_weights,
        may_be_outlier=repetitions == 1,
        draw_share=draw_share,
    )
    leave_one_out = None
    if len(rows) >= MINIMUM_LEFT_OUT:
        leave_one_out = validate(
            *candidates.left_out(), posterior_weights, candidates.one_minus_leverage
        )
    return RunTimeFit(
        rows, log_seconds, posterior_weights, repetition_variance, candidates, leave_one_out,
        _kept=means_cache() if kept is None else kept,
    )  # fmt: skip
