"""A Gaussian process on what physical laws leave unexplained of log time.

Rasmussen and Williams, Gaussian Processes for Machine Learning (MIT Press 2006): prediction by
Eqs. 2.25 and 2.26, marginal likelihood 5.8 with its gradient 5.9, leave-one-out 5.12. The kernel
is

    k(x, x') = sum_e effect_e(x) effect_e(x') + a^2 exp(-1/2 sum_c (x_c - x'_c)^2 / l_c^2)
               + b^2 exp(-1/2 (p - p')^2 / w^2)

plus noise: linear effects (the level, types, parameters) with fixed prior spreads, a smooth
remainder with one length per coordinate, and what is peculiar to a number of cores p (log) whatever
else is asked: how partitions fall into waves. The hyperparameters are the most probable ones under
log-normal priors: few runs leave them where the priors are. Away from the runs the remainder
fades: the mean goes back to the physical law, the variance to the prior's.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from engine.forecast import FloatArray

AMPLITUDE, AMPLITUDE_SPREAD = 0.05, 1.0
"""Prior median of the amplitude a of log time and the spread of its log."""

NOISE, NOISE_SPREAD = 0.03, 0.7
"""The same for the noise: repetitions differ by 1 to 4 %."""

WAVES, WAVES_SPREAD, WAVES_LENGTH = 0.02, 1.0, 0.1
"""The same for the amplitude b, and its length w: neighbouring numbers of cores hardly share it."""

LENGTH_SPREAD = 0.7
"""Spread of the log of each length."""

FARTHEST = 3.0
"""Hyperparameters stay within so many spreads of their priors."""

JITTER = 1e-8

MOST_FOR_LENGTHS = 120
"""Runs that the hyperparameters are sought with: of more, a random part (always the same)."""

NOISY = 1.0
"""Noise, in spreads of its prior, from which on it is doubted that it is noise."""

STEPS, SMALL_STEP = 40, 1e-3


@dataclass(frozen=True, eq=False)
class Inputs:
    """n points as the process sees them.

    Args:
        effects: (n, e) columns of the linear effects, each times its prior spread.
        coordinates: (n, c) of the smooth remainder.
        cores: (n, 1) log of the cores in all.
    """

    effects: FloatArray
    coordinates: FloatArray
    cores: FloatArray

    def __len__(self) -> int:
        return len(self.effects)


@dataclass(frozen=True, eq=False)
class Process:
    """The process after r runs.

    Args:
        runs: where they were made.
        amplitude: of the smooth remainder; 0 for none.
        waves: amplitude of what is peculiar to a number of cores.
        lengths: (c,).
        noise: scale of log time.
        inverse: (r, r) of the covariance of the runs.
        counts: (r,) what the variance of each run's noise is divided by.
    """

    runs: Inputs
    amplitude: float
    waves: float
    lengths: FloatArray
    noise: float
    inverse: FloatArray
    counts: FloatArray

    def means(
        self,
        at: Inputs,
        residuals: FloatArray,
        columns: NDArray[np.int64],
        values: FloatArray,
    ) -> FloatArray:
        """(s, n) mean of log time about the law, after residuals (r,) of the runs, at s times the
        same n points, each time with other `values` (s, q), the same for all points, of some
        coordinates, `columns` (q,). What the kernel says of the others is worked out once."""
        behind, runs = self.inverse @ residuals, self.runs
        means = at.effects @ (runs.effects.T @ behind)
        if self.waves > 0.0:
            means += self._waves(at) @ np.bincount(self._cores[1], behind)
        found = np.tile(means, (len(values), 1))
        if self.amplitude > 0.0:
            apart = (values[:, None] - runs.coordinates[:, columns]) / self.lengths[columns]
            weights = behind * np.exp(-0.5 * (apart**2).sum(axis=2))
            x = np.delete(at.coordinates / self.lengths, columns, axis=1)
            y = np.delete(runs.coordinates / self.lengths, columns, axis=1)
            found += self.amplitude**2 * weights @ np.exp(-0.5 * _distances(y, x))
        return found

    def moments(self, at: Inputs, residuals: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(n,) the mean, and (n,) its variance, noise included."""
        effects, behind = at.effects, self.inverse @ residuals
        if self.amplitude == 0.0 and self.waves == 0.0:
            variance = np.einsum("ne,ne->n", effects @ self._effects, effects)
            return effects @ (self.runs.effects.T @ behind), self.noise**2 + variance
        cross = self._cross(at)
        prior = np.einsum("ne,ne->n", effects, effects)
        prior += self.amplitude**2 + self.waves**2 + self.noise**2
        variance = prior - np.einsum("nr,nr->n", cross @ self.inverse, cross)
        return cross @ behind, np.maximum(variance, self.noise**2)

    @cached_property
    def _effects(self) -> FloatArray:
        """(e, e) covariance that the runs leave of the effects where these are all there is, each
        relative to its prior spread (Rasmussen and Williams 2.8): far smaller than `inverse`, and
        no difference of large numbers."""
        x = self.runs.effects * (np.sqrt(self.counts) / self.noise)[:, None]
        return np.asarray(np.linalg.inv(np.eye(x.shape[1]) + x.T @ x))

    def _cross(self, at: Inputs) -> FloatArray:
        """(n, r) covariance with the runs."""
        cross = at.effects @ self.runs.effects.T
        if self.amplitude > 0.0:
            apart = _distances(at.coordinates / self.lengths, self.runs.coordinates / self.lengths)
            cross += self.amplitude**2 * np.exp(-0.5 * apart)
        if self.waves > 0.0:
            cross += self._waves(at)[:, self._cores[1]]
        return np.asarray(cross)

    def _waves(self, at: Inputs) -> FloatArray:
        """(n, u) covariance by what is peculiar to a number of cores, with each that runs had."""
        apart = (at.cores - self._cores[0]) / WAVES_LENGTH
        return np.asarray(self.waves**2 * np.exp(-0.5 * apart**2))

    @cached_property
    def _cores(self) -> tuple[FloatArray, NDArray[np.int64]]:
        """(u,) the numbers of cores that runs had, as logarithms, and (r,) which of them each."""
        return np.unique(self.runs.cores[:, 0], return_inverse=True)

    def left_out(self, residuals: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(r,) error of log time and (r,) variance for each run without it; the noise in it is that
        of a run that counts as one.

        Args:
            residuals: (r, r) of all runs (columns) about the law without run i (rows).
        """
        diagonal = np.diag(self.inverse)
        more = self.noise**2 * (1.0 / self.counts - 1.0)
        return np.einsum("ij,ij->i", residuals, self.inverse) / diagonal, 1.0 / diagonal - more


def _distances(x: FloatArray, y: FloatArray) -> FloatArray:
    """(n, r) squared distances of rows (n, c) and (r, c)."""
    apart = -2.0 * (x @ y.T)
    apart += np.einsum("nc,nc->n", x, x)[:, None]
    apart += np.einsum("rc,rc->r", y, y)
    return np.maximum(apart, 0.0, out=apart)


def linear(runs: Inputs, noise: float, counts: FloatArray) -> Process:
    """The process of linear effects and noise alone."""
    covariance = runs.effects @ runs.effects.T + np.diag(noise**2 / counts)
    lengths = np.ones(runs.coordinates.shape[1])
    return Process(runs, 0.0, 0.0, lengths, noise, np.asarray(np.linalg.inv(covariance)), counts)


def smooth(runs: Inputs, residuals: FloatArray, lengths: FloatArray, counts: FloatArray) -> Process:
    """The process with the most probable hyperparameters after residuals (r,). Runs that count for
    less than half take no part in these.

    Args:
        lengths: (c,) prior medians.
        counts: (r,) how much each run counts.
    """
    centre = np.log(np.concatenate(([AMPLITUDE], lengths, [WAVES, NOISE])))
    spread = np.full(len(centre), LENGTH_SPREAD)
    spread[0], spread[-2:] = AMPLITUDE_SPREAD, (WAVES_SPREAD, NOISE_SPREAD)
    order = np.random.default_rng(0).permutation(len(runs))
    few = order[counts[order] >= 0.5][:MOST_FOR_LENGTHS]
    some = Inputs(runs.effects[few], runs.coordinates[few], runs.cores[few])
    sought = _Posterior(some, residuals[few], centre, spread)
    best = centre + spread * _most_probable(sought, len(centre))
    noise = float(np.exp(best[-1]))
    covariance = _Posterior(runs, residuals, centre, spread).covariance(best)[0]
    covariance += np.diag(noise**2 * (1.0 / counts - 1.0))
    return Process(
        runs=runs,
        amplitude=float(np.exp(best[0])),
        waves=float(np.exp(best[-2])),
        lengths=np.exp(best[1:-2]),
        noise=noise,
        inverse=np.asarray(np.linalg.inv(covariance)),
        counts=counts,
    )


def _most_probable(posterior: _Posterior, count: int) -> FloatArray:
    """Hyperparameters in spreads of their prior, from its medians; and, where these end at much
    noise, from where all that the laws leave is smooth: no step downhill crosses from one to the
    other."""
    found, smoother = _minimum(posterior, np.zeros(count)), np.zeros(count)
    if found[-1] < NOISY:
        return found
    smoother[0], smoother[-2:] = 2.0, -2.0
    other = _minimum(posterior, smoother)
    return min((found, other), key=lambda standard: posterior(standard)[0])


class _Posterior:
    """Minus the log posterior of the hyperparameters and its gradient, both in spreads of the
    prior."""

    def __init__(
        self, runs: Inputs, residuals: FloatArray, centre: FloatArray, spread: FloatArray
    ) -> None:
        self.centre, self.spread = centre, spread
        self._linear = runs.effects @ runs.effects.T + JITTER * np.eye(len(runs))
        x = runs.coordinates
        self._squares = (x[:, None, :] - x[None, :, :]) ** 2
        self._waves = np.exp(-0.5 * _distances(runs.cores, runs.cores) / WAVES_LENGTH**2)
        self._residuals = residuals

    def covariance(self, logs: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(r, r) of the runs, and the smooth part of it."""
        scaled = self._squares @ np.exp(-2.0 * logs[1:-2])
        part = np.exp(2.0 * logs[0] - 0.5 * scaled)
        noise = np.exp(2.0 * logs[-1]) * np.eye(len(part))
        return self._linear + part + np.exp(2.0 * logs[-2]) * self._waves + noise, part

    def __call__(self, standard: FloatArray) -> tuple[float, FloatArray]:
        logs = self.centre + self.spread * standard
        covariance, part = self.covariance(logs)
        factor = np.linalg.cholesky(covariance)
        inverse = np.linalg.inv(covariance)
        weights = inverse @ self._residuals
        value = 0.5 * self._residuals @ weights + np.log(np.diag(factor)).sum()
        slope = 0.5 * (inverse - np.outer(weights, weights))
        by_part = slope * part
        gradient = np.empty_like(logs)
        gradient[0] = 2.0 * by_part.sum()
        apart = np.einsum("ij,ijc->c", by_part, self._squares)
        gradient[1:-2] = apart * np.exp(-2.0 * logs[1:-2])
        gradient[-2] = 2.0 * np.exp(2.0 * logs[-2]) * (slope * self._waves).sum()
        gradient[-1] = 2.0 * np.exp(2.0 * logs[-1]) * np.trace(slope)
        return float(value + 0.5 * standard @ standard), gradient * self.spread + standard


def _minimum(posterior: _Posterior, start: FloatArray) -> FloatArray:
    """Where it is least: BFGS with halved steps (Nocedal and Wright, Numerical Optimization, 6.1).
    SciPy's takes longer to import than this to run."""
    x, (value, gradient) = start, posterior(start)
    inverse = np.eye(len(x))
    for _ in range(STEPS):
        direction = -inverse @ gradient
        direction /= max(1.0, float(np.abs(direction).max()))
        slope = float(direction @ gradient)
        if slope > -(SMALL_STEP**2):
            break
        step = 1.0
        while step > SMALL_STEP:
            candidate = np.clip(x + step * direction, -FARTHEST, FARTHEST)
            new_value, new_gradient = posterior(candidate)
            if new_value <= value + 1e-4 * step * slope:
                break
            step *= 0.5
        else:
            break
        moved, change = candidate - x, new_gradient - gradient
        x, value, gradient = candidate, new_value, new_gradient
        curvature = float(moved @ change)
        if curvature > 1e-10:
            left = np.eye(len(x)) - np.outer(moved, change) / curvature
            inverse = left @ inverse @ left.T + np.outer(moved, moved) / curvature
    return x
