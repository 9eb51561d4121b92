"""The two candidate models of run times, and their weights by leave-one-out errors.

The first is the laws with linear effects, the second the same with a smooth remainder. The weights
are after pseudo-BMA+ (`pseudo_bma_weights`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache

import numpy as np

from engine.forecast import BoolArray, FloatArray, IntArray
from engine.models.laws.averaging import LawPosterior, law_posterior
from engine.models.laws.encoding import Encoding, Rows, at_least_as_hard
from engine.models.laws.error_distribution import ErrorDistribution, fit_error_distribution
from engine.models.laws.gaussian_process import GaussianProcess, linear_process, smooth_process
from engine.models.laws.machine_interpolation import CLEAR
from engine.models.laws.observations import NOISE_DOF, Observations
from engine.models.laws.outlier_runs import outlier_posterior
from engine.models.laws.terms import COPIES
from engine.models.laws.type_spread import posterior_type_sd

MINIMUM_FOR_SMOOTH = 5
"""The fewest configurations with which a smooth remainder is considered."""

PENALTY = 1.0
"""Log weight that each further candidate has to make up for: the first, here the laws alone, is the
default."""

SCORE_NOISE, SCORE_RUNS = 0.02, 4.0
"""Prior of the left-out error of a candidate, and the number of runs it counts for: so that of two
candidates that are both nearly exact neither wins by a negligible difference."""

SCORE_SCALES = np.geomspace(0.003, 3.0, 24)
"""Scales of a candidate's left-out errors of log time over which its likelihood is averaged,
log-spaced."""

BOOTSTRAP_DRAWS = 200
"""Bayesian bootstrap draws of the left-out runs for the weights."""

HYPERPARAMETER_COUNT = 3.0
"""Kinds of hyperparameters of the smooth remainder (amplitudes, length-scales, noise). They were
fitted with the run that is then left out, so errors of r runs are scaled by sqrt(r / (r - 3 w)), w
the weight of the smooth candidate."""

MORE_MEMORY = 1.0 + 1e-9
"""Factor that keeps rounding from calling full what has memory for just all data."""


@dataclass(frozen=True, eq=False)
class Variances:
    """Predicted variances of log time by c candidates at n points.

    Args:
        within_laws: (c, n) of runs about a law, by each candidate: noise, and the variance of its
            process.
        between_laws: (n,) among the laws of the posterior.
        side_factors: (2, n) factors of the latter below and above the prediction.
    """

    within_laws: FloatArray
    between_laws: FloatArray
    side_factors: FloatArray

    @classmethod
    def joined(cls, parts: Sequence[Variances]) -> Variances:
        """Those of several sets of points, one after the other."""
        within_laws = np.concatenate([part.within_laws for part in parts], axis=1)
        between_laws = np.concatenate([part.between_laws for part in parts])
        return cls(
            within_laws, between_laws, np.concatenate([part.side_factors for part in parts], axis=1)
        )

    def mixed(self, weights: FloatArray, means: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(n,) variance within a law and (n,) between laws of the mixture of candidates with
        weights (c,) and means (c, n); the variance among their means counts as between laws."""
        between_candidates = weights @ (means - weights @ means) ** 2
        return weights @ self.within_laws, self.between_laws + between_candidates

    def on_sides(
        self, weights: FloatArray, means: FloatArray, points: IntArray, factors: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """The same of (m,) of the points, each on the side where the variance between laws is
        (m,) `factors` of what it is about the mean."""
        within_laws, between_laws = (of[points] for of in self.mixed(weights, means))
        return within_laws, between_laws + self.between_laws[points] * (factors - 1.0)


@dataclass(frozen=True, eq=False)
class CandidateModels:
    """The laws and the processes about them, fitted to some runs; `level` is the runs' mean log
    time, which both are relative to."""

    encoding: Encoding
    level: float
    law: LawPosterior
    processes: tuple[GaussianProcess, ...]

    @classmethod
    def of(
        cls,
        rows: Rows,
        log_seconds: FloatArray,
        run_weights: FloatArray,
        *,
        may_be_outlier: BoolArray | None = None,
        draw_share: float = 1.0,
    ) -> tuple[CandidateModels, FloatArray]:
        """Fitted to rows, one per configuration; and (r,) the weight of each.

        Args:
            run_weights: (r,) as far as they are known.
            may_be_outlier: (r,) rows whose weight is estimated; None for none.
            draw_share: see `Observations`.
        """
        encoding = Encoding.of(rows)
        inputs = encoding.inputs(rows)
        level = float(log_seconds.mean())
        less_than_one = run_weights if (run_weights < 1.0).any() else None
        observations = Observations(
            encoding.points(rows),
            log_seconds - level,
            inputs.effects,
            less_than_one,
            draw_share,
        )
        draws = None
        if may_be_outlier is not None:
            observations, draws = outlier_posterior(
                observations, may_be_outlier, at_least_as_hard(rows)
            )
        run_weights = (
            np.ones(len(rows)) if observations.run_weights is None else observations.run_weights
        )
        law = law_posterior(observations, draws)
        if encoding.measured_types > 1:
            encoding, law = _with_learnt_type_sd(encoding, inputs.effects, law, run_weights)
            inputs = encoding.inputs(rows)
        processes = [linear_process(inputs, law.noise, run_weights)]
        if len(rows) >= MINIMUM_FOR_SMOOTH:
            processes.append(smooth_process(inputs, law.residuals, encoding.lengths, run_weights))
        return cls(encoding, level, law, tuple(processes)), run_weights

    def moments(self, rows: Rows) -> tuple[FloatArray, FloatArray, Variances]:
        """(n,) mean log time of the laws, effects apart, less `level`; (c, n) mean log time by each
        candidate, `level` included; and its variances."""
        inputs = self.encoding.inputs(rows)
        mean, *variances = self.law.moments(self.encoding.points(rows), inputs.effects)
        parts = [process.moments(inputs, self.law.residuals) for process in self.processes]
        return (
            mean,
            np.stack([self.level + mean + part for part, _ in parts]),
            Variances(np.stack([part for _, part in parts]), *variances),
        )

    def moment_arrays(self, rows: Rows) -> tuple[FloatArray, ...]:
        """`moments`, with the arrays of `Variances` one by one."""
        law, means, variances = self.moments(rows)
        return law, means, *(getattr(variances, entry.name) for entry in fields(variances))

    def smooth_from(self, rows: Rows) -> float:
        """The number of machines from which the times of rows can be interpolated along it
        (`machine_interpolation`): beyond all runs and copies, and with memory for all data."""
        runs, points = self.encoding.runs, self.encoding.points(rows)
        # Of what is no number, its own row alone is none.
        fewest_cores = np.fmin.reduce(rows.cores, initial=np.inf)
        most_cores = (runs.machines * runs.cores).max()
        beyond = max(*COPIES, float(runs.machines.max()), float(most_cores / fewest_cores))
        per_machine = points.memory_per_input - np.log(points.machines)
        fits = self.law.laws.threshold.max() - np.fmin.reduce(per_machine, initial=np.inf)
        return max(CLEAR * beyond, MORE_MEMORY * float(np.exp(fits)))

    def at_runs(self) -> tuple[FloatArray, Variances]:
        """(c, r) log time of each run less its mean by each candidate, and the variances there."""
        parts = [process.at_runs(self.law.residuals) for process in self.processes]
        return np.stack([residuals for residuals, _ in parts]), Variances(
            np.stack([part for _, part in parts]), self.law.variance, self.law.side_factors
        )

    def means(
        self, rows: Rows, sizes: FloatArray, iterations: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """(k, s, n) mean log time of the laws, effects apart, less `level`, and (k, s, c, n) mean
        log time by each candidate, `level` included, with each of k numbers of iterations and s
        sizes in place of the rows' own; their own iterations (k = 1) for None. What does not depend
        on these is computed once."""
        encoding, law = self.encoding, self.law
        inputs, grid = encoding.inputs(rows), encoding.size_iteration_grid(sizes, iterations)
        relative = sizes / encoding.largest
        laws = law.means(encoding.points(rows), inputs.effects, relative, iterations)
        parts = [process.means(inputs, law.residuals, grid) for process in self.processes]
        process_means = np.stack(parts, axis=1).reshape(*laws.shape[:2], len(parts), len(rows))
        return laws, self.level + laws[:, :, None] + process_means

    def law_means(self, rows: Rows, iterations: FloatArray) -> FloatArray:
        """(k, n) mean log time of the laws, effects apart, less `level`, of n rows of one size with
        each of k numbers of iterations in place of their own."""
        points, effects = self.encoding.points(rows), self.encoding.inputs(rows).effects
        return self.law.means(points, effects, points.size[:1], iterations)[:, 0]

    @property
    def one_minus_leverage(self) -> FloatArray:
        """(c, r) 1 - leverage of each run under each candidate: the degrees of freedom of its
        left-out error.

        The errors of a law with p parameters fitted to r runs have r - p degrees of freedom,
        although each of the r runs is left out once. With leverages h the likelihood of its
        residuals is the product of those of the left-out errors, each to the power 1 - h (exact
        where the law is linear and its errors are normal).
        """
        law_factor = 1.0 - self.processes[0].run_weights * self.law.variance / self.law.noise**2
        return np.maximum(law_factor, 0.0) * np.stack(
            [process.one_minus_leverage for process in self.processes]
        )

    def left_out(self) -> tuple[FloatArray, Variances]:
        """(c, r) leave-one-out error and variances of log time of each run."""
        parts = [process.left_out(self.law.residuals_left_out) for process in self.processes]
        between_laws = self.law.variance_left_out
        return (
            np.stack([error for error, _ in parts]),
            Variances(
                np.stack([part for _, part in parts]), between_laws, np.ones((2, len(between_laws)))
            ),
        )


def _with_learnt_type_sd(
    encoding: Encoding, effects: FloatArray, law: LawPosterior, run_weights: FloatArray
) -> tuple[Encoding, LawPosterior]:
    """The encoding with the spread of types that the residuals of the mean law show, given the
    runs' effects (r, e) by its prior median; and the laws for effects so encoded."""
    types = encoding.type_columns
    type_sd = posterior_type_sd(effects, types, law.residuals, law.noise, run_weights)
    ratios = np.ones(effects.shape[1])
    ratios[types] = type_sd / encoding.type_sd
    return replace(encoding, type_sd=type_sd), law.with_larger_effects(ratios)


@dataclass(frozen=True, eq=False)
class Validation:
    """Weights (c,) of the candidates, the distribution of studentised errors, and (r,) leave-one-
    out errors of log time of the weighted mean of the candidates."""

    weights: FloatArray
    error_distribution: ErrorDistribution
    errors: FloatArray


def validate(
    errors: FloatArray,
    variances: Variances,
    run_weights: FloatArray,
    one_minus_leverage: FloatArray | None = None,
) -> Validation:
    """The validation by left-out errors (c, r) of runs with weights (r,): weights of the
    candidates, and what the errors of the weighted mean say about its variances.

    Both sides of the prediction are taken together, since how far an error lies beyond the bounds
    of one side depends on what those bounds leave out.

    Args:
        one_minus_leverage: (c, r) degrees of freedom of each error; None for one.
    """
    weights = pseudo_bma_weights(errors, run_weights)
    mean = weights @ errors
    within_laws, between_laws = variances.mixed(weights, errors)
    runs = float(run_weights.sum())
    freedom = max(runs - HYPERPARAMETER_COUNT * (1.0 - weights[0]), 1.0)
    scaled_errors = mean * np.sqrt(runs / freedom)
    error_weights = (
        run_weights if one_minus_leverage is None else run_weights * (weights @ one_minus_leverage)
    )
    return Validation(
        weights,
        fit_error_distribution(
            scaled_errors, within_laws, between_laws, dof=NOISE_DOF, run_weights=error_weights
        ),
        mean,
    )


def pseudo_bma_weights(errors: FloatArray, run_weights: FloatArray) -> FloatArray:
    """(c,) weights of candidates by their errors (c, r) on left-out runs, which have weights (r,).

    The likelihood of the errors is a Student distribution, as intervals are of one: a normal
    distribution takes the largest error for the scale of all. It is averaged over the Bayesian
    bootstrap of the runs (Yao, Vehtari, Simpson and Gelman, Bayesian Analysis 2018, 3.4:
    pseudo-BMA+): else one error of thirty decides. Unlike theirs, the likelihood is that of the
    errors alone, averaged over `SCORE_SCALES`, and not each candidate's predictive density; and
    there is a prior on the error (`SCORE_NOISE`) and on the candidates (`PENALTY`).
    """
    runs = run_weights.sum()
    bootstrap = bayesian_bootstrap_weights(len(run_weights)) * run_weights
    bootstrap *= (runs / bootstrap.sum(axis=1))[:, None]
    densities = _student_log_densities(errors.T[:, :, None])
    log_density = (bootstrap @ densities.reshape(len(run_weights), -1)).reshape(
        len(bootstrap), len(errors), -1
    )
    log_density += SCORE_RUNS * _student_log_densities(SCORE_NOISE)
    log_density -= log_density.max(axis=(1, 2), keepdims=True)
    probabilities = np.exp(log_density, out=log_density).sum(axis=2)
    probabilities *= np.exp(-PENALTY * np.arange(len(errors)))
    return np.asarray((probabilities / probabilities.sum(axis=1, keepdims=True)).mean(axis=0))


def _student_log_densities(errors: FloatArray | float) -> FloatArray:
    """(.., s) log density, up to a constant, of errors (.., 1) under a Student distribution with
    each of `SCORE_SCALES`; (s,) for a single error."""
    beyond = np.log1p((errors / SCORE_SCALES) ** 2 / NOISE_DOF)
    return np.asarray(-0.5 * (NOISE_DOF + 1.0) * beyond - np.log(SCORE_SCALES))


@lru_cache(maxsize=16)
def bayesian_bootstrap_weights(runs: int) -> FloatArray:
    """(b, r) weight of each run in each draw of the Bayesian bootstrap (Rubin, Annals of Statistics
    1981)."""
    return np.random.default_rng(0).dirichlet(np.ones(runs), BOOTSTRAP_DRAWS)
