"""A Gaussian process on the residuals of log time that the laws leave.

Rasmussen and Williams, Gaussian Processes for Machine Learning (MIT Press 2006): prediction by Eqs.
2.25 and 2.26, marginal likelihood 5.8 with its gradient 5.9, leave-one-out 5.12. The kernel is

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
from engine.forecast import FloatArray, IntArray
from engine.models.laws.hyperparameters import KernelParts, NegativeLogPosterior

WAVES_LENGTH = 0.1
"""The length w: neighbouring numbers of cores, and inputs, hardly share the effect peculiar to one.
"""

MOST_FOR_HYPERPARAMETERS = 120
"""The most runs that the hyperparameters are fitted to: of more, a random subset (always the same).
"""


@dataclass(frozen=True, eq=False)
class ProcessInputs:
    """n points as the process sees them.

    Args:
        effects: (n, e) columns of the linear effects, each times its prior standard deviation.
        coordinates: (n, c) of the smooth remainder.
        cores: (n,) log of the cores in all.
        sizes: (n,) log of the input.
    """

    effects: FloatArray
    coordinates: FloatArray
    cores: FloatArray
    sizes: FloatArray

    def __len__(self) -> int:
        return len(self.effects)


@dataclass(frozen=True, eq=False)
class SizeIterationGrid:
    """Sizes, and iterations, that replace those of points: s combinations.

    Args:
        columns: (q,) the coordinates that change.
        values: (s, q) what these become, the same for all points.
        sizes: (s,) log of the input.
    """

    columns: IntArray
    values: FloatArray
    sizes: FloatArray


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
        with each size and iterations of the grid. The parts of the kernel that do not change are
        computed once."""
        dual_weights, runs = self.inverse @ residuals, self.runs
        means = np.tile(at.effects @ (runs.effects.T @ dual_weights), (len(grid.sizes), 1))
        if len(self.waves):
            means += self._wave_weights(dual_weights, grid.sizes) @ _wave_correlation(
                self._distinct_cores[0], at.cores
            )
        if self.amplitude > 0.0:
            columns = grid.columns
            scaled = (grid.values[:, None] - runs.coordinates[:, columns]) / self.lengths[columns]
            weights = dual_weights * np.exp(-0.5 * (scaled**2).sum(axis=2))
            x = np.delete(at.coordinates / self.lengths, columns, axis=1)
            y = np.delete(runs.coordinates / self.lengths, columns, axis=1)
            means += self.amplitude**2 * weights @ np.exp(-0.5 * _squared_distances(y, x))
        return means

    def _wave_weights(self, dual_weights: FloatArray, sizes: FloatArray) -> FloatArray:
        """(s, u) weight of each distinct number of cores of the runs in the mean, at s sizes."""
        distinct, inverse = self._distinct_cores
        if len(self.waves) == 1:
            weights = np.bincount(inverse, self.waves[0] ** 2 * dual_weights)
            return np.broadcast_to(weights, (len(sizes), len(distinct)))
        weights = self.waves[0] ** 2 + self.waves[1] ** 2 * _wave_correlation(
            sizes, self.runs.sizes
        )
        return np.asarray((weights * dual_weights) @ (inverse[:, None] == np.arange(len(distinct))))

    def moments(self, at: ProcessInputs, residuals: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(n,) the mean, and (n,) its variance, noise included."""
        effects, dual_weights = at.effects, self.inverse @ residuals
        if self.amplitude == 0.0 and not len(self.waves):
            variance = np.einsum("ne,ne->n", effects @ self._effect_covariance, effects)
            return effects @ (self.runs.effects.T @ dual_weights), self.noise**2 + variance
        cross = self._cross_covariance(at)
        prior = np.einsum("ne,ne->n", effects, effects)
        prior += self.amplitude**2 + self.waves @ self.waves + self.noise**2
        variance = prior - np.einsum("nr,nr->n", cross @ self.inverse, cross)
        return cross @ dual_weights, np.maximum(variance, self.noise**2)

    @cached_property
    def _effect_covariance(self) -> FloatArray:
        """(e, e) posterior covariance of the linear effects where these are all there is, each
        relative to its prior standard deviation (Rasmussen and Williams 2.8): far smaller than
        `inverse`, and no difference of large numbers."""
        x = self.runs.effects * (np.sqrt(self.run_weights) / self.noise)[:, None]
        return np.asarray(np.linalg.inv(np.eye(x.shape[1]) + x.T @ x))

    def at_runs(self, residuals: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(r,) residuals of the runs less the mean, and (r,) its variance, noise included: as
        `moments` there, since the covariance with the runs is that of the runs less their noise."""
        noise = self.noise**2 / self.run_weights
        variance = noise * (1.0 - noise * self.inverse.diagonal())
        return noise * (self.inverse @ residuals), self.noise**2 + np.maximum(variance, 0.0)

    def _cross_covariance(self, at: ProcessInputs) -> FloatArray:
        """(n, r) covariance with the runs."""
        cross = at.effects @ self.runs.effects.T
        if self.amplitude > 0.0:
            apart = _squared_distances(
                at.coordinates / self.lengths, self.runs.coordinates / self.lengths
            )
            cross += self.amplitude**2 * np.exp(-0.5 * apart)
        if len(self.waves):
            distinct, inverse = self._distinct_cores
            correlation = _wave_correlation(at.cores, distinct)[:, inverse]
            cross += self.waves[0] ** 2 * correlation
            if len(self.waves) > 1:
                one_size = bool((at.sizes == at.sizes[:1]).all())
                sizes = at.sizes[:1] if one_size else at.sizes
                correlation *= _wave_correlation(sizes, self.runs.sizes)
                cross += self.waves[1] ** 2 * correlation
        return np.asarray(cross)

    @cached_property
    def _distinct_cores(self) -> tuple[FloatArray, IntArray]:
        """(u,) the distinct numbers of cores of the runs, as logarithms, and (r,) the index of each
        run's."""
        return np.unique(self.runs.cores, return_inverse=True)

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


def _squared_distances(x: FloatArray, y: FloatArray) -> FloatArray:
    """(n, r) squared distances of rows (n, c) and (r, c)."""
    apart = -2.0 * (x @ y.T)
    apart += np.einsum("nc,nc->n", x, x)[:, None]
    apart += np.einsum("rc,rc->r", y, y)
    return np.maximum(apart, 0.0, out=apart)


def _wave_correlation(x: FloatArray, y: FloatArray) -> FloatArray:
    """(n, r) correlation of the wave effects of numbers of cores, or of inputs, (n,) and (r,)."""
    return np.asarray(np.exp(-0.5 * ((x[:, None] - y) / WAVES_LENGTH) ** 2))


def _wave_correlations(runs: ProcessInputs) -> FloatArray:
    """(k, r, r) correlations of the wave effects of the runs: by cores, and by cores and input
    where some runs share both."""
    by_cores = _wave_correlation(runs.cores, runs.cores)
    configurations = np.column_stack((runs.cores, runs.sizes))
    if np.ptp(runs.sizes) == 0.0 or len(distinct_few_rows(configurations)[0]) == len(runs):
        return by_cores[None]
    return np.stack((by_cores, by_cores * _wave_correlation(runs.sizes, runs.sizes)))


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
