"""A Gaussian process on the residuals of log time that the laws leave.

Rasmussen and Williams, Gaussian Processes for Machine Learning (MIT Press 2006): prediction by Eqs.
2.41 and 2.42, which are 2.25 and 2.26 of the whole kernel without a difference of large numbers,
marginal likelihood 5.8 with its gradient 5.9, leave-one-out 5.12. The kernel is

    k(x, x') = sum_e effect_e(x) effect_e(x') + a^2 exp(-1/2 sum_c (x_c - x'_c)^2 / l_c^2)
               + b^2 exp(-1/2 (p - p')^2 / w^2) + c^2 exp(-1/2 ((p - p')^2 + (z - z')^2) / w^2)

plus noise. Its parts: linear effects (the level, types, parameters) with fixed prior spreads; a
smooth remainder, squared-exponential with one length per coordinate; and the waves in which
partitions fall on slots: an effect peculiar to a number of cores p (log), whatever else is asked,
and one peculiar to p together with an input z (log), since partitions follow the input. The last is
left out where no two runs share both: it would be noise by another name. The hyperparameters are
their posterior mode under log-normal priors: few runs leave them where the priors are. Away from
the runs the remainder fades: the mean goes back to the law, the variance to the prior's.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from engine.distinct import distinct_few_rows
from engine.forecast import FloatArray
from engine.models.laws.hyperparameters import JITTER, KernelParts, NegativeLogPosterior
from engine.models.laws.remainder import (
    ProcessInputs,
    Remainder,
    SizeIterationGrid,
    wave_correlation,
)

MOST_FOR_HYPERPARAMETERS = 120
"""The most runs that the hyperparameters are fitted to: of more, a random subset (always the same).
"""


@dataclass(frozen=True, eq=False)
class GaussianProcess:
    """The process conditioned on r runs.

    Args:
        runs: where they were made.
        amplitude: of the smooth remainder; 0 for none.
        waves: (k,) amplitudes of the wave effects: by cores, and by cores and input.
        lengths: (c,) of the coordinates.
        noise: standard deviation of log time.
        inverse: (r, r) inverse covariance of the runs.
        run_weights: (r,) what the variance of each run's noise is divided by.
    """

    runs: ProcessInputs
    amplitude: float
    waves: FloatArray
    lengths: FloatArray
    noise: float
    inverse: FloatArray
    run_weights: FloatArray

    def means(
        self, at: ProcessInputs, residuals: FloatArray, grid: SizeIterationGrid
    ) -> FloatArray:
        """(s, n) mean of log time about the law, given residuals (r,) of the runs, at the points
        with each size and iterations of the grid."""
        dual_weights = self.inverse @ residuals
        linear = at.effects @ (self.runs.effects.T @ dual_weights)
        if self._is_linear:
            return np.tile(linear, (len(grid.sizes), 1))
        return linear + self._remainder.means(at, dual_weights, grid)

    def moments(self, at: ProcessInputs, residuals: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(n,) the mean, and (n,) its variance, noise included."""
        effects, dual_weights = at.effects, self.inverse @ residuals
        mean = effects @ (self.runs.effects.T @ dual_weights)
        variance = np.full(len(at), self.noise**2)
        if not self._is_linear:
            precision, by_effect = self._precision_about_effects
            squares, products = self._remainder.forms(
                at, precision, np.column_stack((by_effect, dual_weights))
            )
            mean += products[:, -1]
            effects = effects - products[:, :-1]
            variance += np.maximum(self._remainder.variance - squares, 0.0)
        return mean, variance + np.einsum("ne,ne->n", effects @ self._effect_covariance, effects)

    @property
    def _is_linear(self) -> bool:
        """Whether linear effects and noise are all."""
        return self.amplitude == 0.0 and not len(self.waves)

    @cached_property
    def _remainder(self) -> Remainder:
        return Remainder(self.runs, self.amplitude, self.waves, self.lengths)

    @cached_property
    def _precision_about_effects(self) -> tuple[FloatArray, FloatArray]:
        """(r, r) inverse of the runs' covariance without that by the linear effects, and (r, e) its
        product with their effects."""
        covariance = np.diag(self.noise**2 / self.run_weights)
        if not self._is_linear:
            covariance += self._remainder.covariance + JITTER * np.eye(len(self.runs))
        precision = np.asarray(np.linalg.inv(covariance))
        return precision, precision @ self.runs.effects

    @cached_property
    def _effect_covariance(self) -> FloatArray:
        """(e, e) posterior covariance of the linear effects, each relative to its prior standard
        deviation (Rasmussen and Williams 2.8 and 2.42): far smaller than `inverse`, and no
        difference of large numbers."""
        explained = self.runs.effects.T @ self._precision_about_effects[1]
        return np.asarray(np.linalg.inv(np.eye(len(explained)) + explained))

    def at_runs(self, residuals: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(r,) residuals of the runs less the mean, and (r,) its variance, noise included: as
        `moments` there, since the covariance with the runs is that of the runs less their noise."""
        noise = self.noise**2 / self.run_weights
        variance = noise * (1.0 - noise * self.inverse.diagonal())
        return noise * (self.inverse @ residuals), self.noise**2 + np.maximum(variance, 0.0)

    @property
    def one_minus_leverage(self) -> FloatArray:
        """(r,) one less each run's leverage, the weight of its own observation in its fit."""
        return np.asarray(self.noise**2 / self.run_weights * np.diag(self.inverse))

    def left_out(self, residuals: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(r,) leave-one-out error of log time and (r,) its variance for each run; the noise in the
        variance is that of a run of weight one.

        Args:
            residuals: (r, r) of all runs (columns) about the law without run i (rows).
        """
        diagonal = np.diag(self.inverse)
        extra_noise = self.noise**2 * (1.0 / self.run_weights - 1.0)
        return np.einsum(
            "ij,ij->i", residuals, self.inverse
        ) / diagonal, 1.0 / diagonal - extra_noise


def _wave_correlations(runs: ProcessInputs) -> FloatArray:
    """(k, r, r) correlations of the wave effects of the runs: by cores, and by cores and input
    where some runs share both."""
    by_cores = wave_correlation(runs.cores, runs.cores)
    configurations = np.column_stack((runs.cores, runs.sizes))
    if np.ptp(runs.sizes) == 0.0 or len(distinct_few_rows(configurations)[0]) == len(runs):
        return by_cores[None]
    return np.stack((by_cores, by_cores * wave_correlation(runs.sizes, runs.sizes)))


def linear_process(runs: ProcessInputs, noise: float, run_weights: FloatArray) -> GaussianProcess:
    """The process of linear effects and noise alone."""
    covariance = runs.effects @ runs.effects.T + np.diag(noise**2 / run_weights)
    lengths = np.ones(runs.coordinates.shape[1])
    inverse = np.asarray(np.linalg.inv(covariance))
    return GaussianProcess(runs, 0.0, np.empty(0), lengths, noise, inverse, run_weights)


def smooth_process(
    runs: ProcessInputs, residuals: FloatArray, lengths: FloatArray, run_weights: FloatArray
) -> GaussianProcess:
    """The process with the posterior mode of its hyperparameters given residuals (r,). Runs with a
    weight below one half take no part in these.

    Args:
        lengths: (c,) prior medians.
        run_weights: (r,) weight of each run.
    """
    order = np.random.default_rng(0).permutation(len(runs))
    chosen = order[run_weights[order] >= 0.5][:MOST_FOR_HYPERPARAMETERS]
    parts = KernelParts(
        runs.effects @ runs.effects.T, _wave_correlations(runs), runs.coordinates, lengths
    )
    mode = NegativeLogPosterior(parts.take(chosen), residuals[chosen]).maximum_a_posteriori()
    covariance = parts.covariance(mode)[0] + np.diag(mode.noise**2 * (1.0 / run_weights - 1.0))
    inverse = np.asarray(np.linalg.inv(covariance))
    return GaussianProcess(
        runs,
        mode.amplitude,
        mode.waves,
        mode.lengths,
        mode.noise,
        inverse,
        run_weights,
    )
