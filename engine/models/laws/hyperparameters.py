"""The most probable hyperparameters of the process on what physical laws leave unexplained.

Marginal likelihood and its gradient: Rasmussen and Williams, Gaussian Processes for Machine
Learning (MIT Press 2006), 5.8 and 5.9; under log-normal priors, so that few runs leave them where
these are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from engine.forecast import FloatArray, IntArray

AMPLITUDE, AMPLITUDE_SPREAD = 0.05, 1.0
"""Prior median of the amplitude of the smooth remainder of log time and the spread of its log."""

NOISE, NOISE_SPREAD = 0.03, 0.7
"""The same for the noise: repetitions differ by 1 to 4 %."""

WAVES, WAVES_SPREAD = 0.02, 1.0
"""The same for the amplitudes of what is peculiar to numbers of cores, and to these and inputs."""

LENGTH_SPREAD = 0.7
"""Spread of the log of each length."""

FARTHEST = 3.0
"""Hyperparameters stay within so many spreads of their priors."""

JITTER = 1e-8

NOISY = 1.0
"""Noise, in spreads of its prior, from which on it is doubted that it is noise."""

STEPS, SMALL_STEP = 40, 1e-3


@dataclass(frozen=True, eq=False)
class Hyperparameters:
    """Of the process: amplitude of the smooth remainder, scale of the noise (both of log time),
    amplitudes (k,) of the waves, lengths (c,) of the coordinates."""

    amplitude: float
    noise: float
    waves: FloatArray
    lengths: FloatArray


@dataclass(frozen=True, eq=False)
class KnownParts:
    """What the covariance of r runs is made of, hyperparameters apart.

    Args:
        linear: (r, r) by the linear effects.
        waves: (k, r, r) correlations of what is peculiar to numbers of cores.
        coordinates: (r, c) of the smooth remainder.
        lengths: (c,) prior medians of its lengths.
    """

    linear: FloatArray
    waves: FloatArray
    coordinates: FloatArray
    lengths: FloatArray

    def taken(self, places: IntArray) -> KnownParts:
        """The same of some of the runs."""
        both = np.ix_(places, places)
        waves = self.waves[:, places][:, :, places]
        return KnownParts(self.linear[both], waves, self.coordinates[places], self.lengths)

    def covariance(self, at: Hyperparameters) -> tuple[FloatArray, FloatArray]:
        """(r, r) of the runs, and the smooth part of it."""
        smooth = at.amplitude**2 * np.exp(-0.5 * (at.lengths**-2.0 @ self.squares))
        found = self.linear.ravel() + smooth + at.waves**2 @ self.flat_waves
        found[:: len(self.linear) + 1] += at.noise**2 + JITTER
        return found.reshape(self.linear.shape), smooth.reshape(self.linear.shape)

    @cached_property
    def squares(self) -> FloatArray:
        """(c, r r) squared distances along each coordinate."""
        x = self.coordinates.T
        return np.asarray((x[:, :, None] - x[:, None, :]) ** 2).reshape(len(x), x.shape[1] ** 2)

    @cached_property
    def flat_waves(self) -> FloatArray:
        """(k, r r) the waves: one product serves all pairs of runs, and takes less than their
        tensor product does to set up."""
        return self.waves.reshape(len(self.waves), self.linear.size)


@dataclass(frozen=True, eq=False)
class Posterior:
    """Minus the log posterior of the hyperparameters after residuals (r,), and its gradient. Both
    are of the hyperparameters' logarithms in spreads of the prior about its medians, in the order
    amplitude, noise, waves, lengths."""

    parts: KnownParts
    residuals: FloatArray

    @cached_property
    def _prior(self) -> tuple[FloatArray, FloatArray]:
        """(h,) prior medians as logarithms, and spreads."""
        waves, lengths = len(self.parts.waves), len(self.parts.lengths)
        medians = (AMPLITUDE, NOISE, *[WAVES] * waves, *self.parts.lengths)
        spreads = (AMPLITUDE_SPREAD, NOISE_SPREAD, *[WAVES_SPREAD] * waves)
        return np.log(medians), np.asarray((*spreads, *[LENGTH_SPREAD] * lengths))

    def at(self, standard: FloatArray) -> Hyperparameters:
        """The hyperparameters that (h,) numbers stand for."""
        medians, spreads = self._prior
        values = np.exp(medians + spreads * standard)
        waves = 2 + len(self.parts.waves)
        return Hyperparameters(float(values[0]), float(values[1]), values[2:waves], values[waves:])

    def __call__(self, standard: FloatArray) -> tuple[float, FloatArray]:
        at, parts = self.at(standard), self.parts
        covariance, smooth = parts.covariance(at)
        factor = np.linalg.cholesky(covariance)
        inverse = np.linalg.inv(covariance)
        weights = inverse @ self.residuals
        value = 0.5 * self.residuals @ weights + np.log(np.diag(factor)).sum()
        slope = 0.5 * (inverse - np.outer(weights, weights))
        by_smooth = (slope * smooth).ravel()
        apart = parts.squares @ by_smooth
        gradient = np.concatenate(
            (
                [2.0 * by_smooth.sum(), 2.0 * at.noise**2 * slope.trace()],
                2.0 * at.waves**2 * (parts.flat_waves @ slope.ravel()),
                apart * at.lengths**-2.0,
            )
        )
        return float(value + 0.5 * standard @ standard), gradient * self._prior[1] + standard

    def most_probable(self) -> Hyperparameters:
        """Found from the prior's medians; and, where that ends at much noise, from where all that
        the laws leave is smooth: no step downhill crosses from one to the other."""
        start = np.zeros(len(self._prior[0]))
        found = _minimum(self, start)
        if found[1] >= NOISY:
            start[0], start[1 : 2 + len(self.parts.waves)] = 2.0, -2.0
            other = _minimum(self, start)
            found = min((found, other), key=lambda standard: self(standard)[0])
        return self.at(found)


def _minimum(posterior: Posterior, start: FloatArray) -> FloatArray:
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
