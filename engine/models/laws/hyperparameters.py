"""Posterior mode (maximum a posteriori) of the hyperparameters of the Gaussian process.

Marginal likelihood and its gradient: Rasmussen and Williams, Gaussian Processes for Machine
Learning (MIT Press 2006), 5.8 and 5.9; under log-normal priors, so that few runs leave the
hyperparameters at the prior medians.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from engine.forecast import FloatArray, IntArray
from engine.models.laws.reference_frame import SINGLE, as_single

AMPLITUDE, AMPLITUDE_SPREAD = 0.05, 1.0
"""Prior median of the amplitude of the smooth remainder of log time and the standard deviation of
its log."""

NOISE, NOISE_SPREAD = 0.03, 0.7
"""The same for the noise: repetitions differ by 1 to 4 %."""

WAVES, WAVES_SPREAD = 0.02, 1.0
"""The same for the amplitudes of the wave effects, by cores and by cores and input."""

LENGTH_SPREAD = 0.7
"""Prior standard deviation of the log of each length."""

MOST_PRIOR_SPREADS = 3.0
"""Hyperparameters stay within so many standard deviations of their prior medians."""

JITTER = 1e-8

DOUBTFUL_NOISE = 1.0
"""Noise, in standard deviations of its prior, from which on a second start is tried, in case it is
no noise."""

MOST_STEPS, SMALLEST_STEP = 40, 1e-3

STEPS_PER_INFORMATION = 3
"""Steps after which a long search takes the expected curvature again, in the time of one or two
steps."""

SMALLEST_GAIN = 1e-5
"""Gain of log density that a step promises below which the search ends. Where the density is nearly
flat more is left: with a larger one, some searches stopped short of where a second start helps."""


@dataclass(frozen=True, eq=False)
class Hyperparameters:
    """Hyperparameters of the process: amplitude of the smooth remainder, standard deviation of the
    noise (both of log time), amplitudes (k,) of the waves, lengths (c,) of the coordinates."""

    amplitude: float
    noise: float
    waves: FloatArray
    lengths: FloatArray


@dataclass(frozen=True, eq=False)
class KernelParts:
    """The parts of the covariance of r runs that do not depend on the hyperparameters.

    Args:
        linear: (r, r) covariance by the linear effects.
        waves: (k, r, r) correlations of the wave effects.
        coordinates: (r, c) of the smooth remainder.
        lengths: (c,) prior medians of its lengths.
    """

    linear: FloatArray
    waves: FloatArray
    coordinates: FloatArray
    lengths: FloatArray

    def take(self, indices: IntArray) -> KernelParts:
        """The same for some of the runs."""
        both = np.ix_(indices, indices)
        waves = self.waves[:, indices][:, :, indices]
        return KernelParts(self.linear[both], waves, self.coordinates[indices], self.lengths)

    def covariance(self, at: Hyperparameters) -> tuple[FloatArray, FloatArray]:
        """(r, r) covariance of the runs, noise included, and the part of the smooth remainder."""
        smooth = at.amplitude**2 * np.exp(-0.5 * (at.lengths**-2.0 @ self.squared_distances))
        covariance = self.linear.ravel() + smooth + at.waves**2 @ self.flat_waves
        covariance[:: len(self.linear) + 1] += at.noise**2 + JITTER
        return covariance.reshape(self.linear.shape), smooth.reshape(self.linear.shape)

    @cached_property
    def squared_distances(self) -> FloatArray:
        """(c, r r) squared distances along each coordinate."""
        x = self.coordinates.T
        return np.asarray((x[:, :, None] - x[:, None, :]) ** 2).reshape(len(x), x.shape[1] ** 2)

    @cached_property
    def flat_waves(self) -> FloatArray:
        """(k, r r) the wave correlations, flattened: one matrix product serves all pairs of runs,
        and takes less time than setting up their tensor product."""
        return self.waves.reshape(len(self.waves), self.linear.size)


class Evaluation(NamedTuple):
    """Minus the log posterior density at some hyperparameters.

    Attributes:
        value: up to a constant.
        gradient: (h,) of it.
        at: the hyperparameters.
        inverse: (r, r) inverse covariance of the runs.
        smooth: (r, r) covariance by the smooth remainder.
    """

    value: float
    gradient: FloatArray
    at: Hyperparameters
    inverse: FloatArray
    smooth: FloatArray


@dataclass(frozen=True, eq=False)
class NegativeLogPosterior:
    """Minus the log posterior density of the hyperparameters given residuals (r,), with its
    derivatives.

    They are functions of the logarithms of the hyperparameters, standardised by the prior's medians
    and standard deviations, in the order amplitude, noise, waves, lengths.
    """

    parts: KernelParts
    residuals: FloatArray

    @cached_property
    def _prior(self) -> tuple[FloatArray, FloatArray]:
        """(h,) logs of the prior medians, and (h,) prior standard deviations of the logs."""
        waves, lengths = len(self.parts.waves), len(self.parts.lengths)
        medians = (AMPLITUDE, NOISE, *[WAVES] * waves, *self.parts.lengths)
        spreads = (AMPLITUDE_SPREAD, NOISE_SPREAD, *[WAVES_SPREAD] * waves)
        return np.log(medians), np.asarray((*spreads, *[LENGTH_SPREAD] * lengths))

    def at(self, standard: FloatArray) -> Hyperparameters:
        """The hyperparameters from their standardised logarithms (h,)."""
        medians, spreads = self._prior
        values = np.exp(medians + spreads * standard)
        waves = 2 + len(self.parts.waves)
        return Hyperparameters(float(values[0]), float(values[1]), values[2:waves], values[waves:])

    def __call__(self, standard: FloatArray) -> Evaluation:
        """At standardised logarithms (h,)."""
        at, parts = self.at(standard), self.parts
        covariance, smooth = parts.covariance(at)
        factor = np.linalg.cholesky(covariance)
        inverse = np.asarray(np.linalg.inv(covariance), dtype=np.float64)
        weights = inverse @ self.residuals
        value = 0.5 * self.residuals @ weights + np.log(np.diag(factor)).sum()
        slope = 0.5 * (inverse - weights[:, None] * weights)
        by_smooth = (slope * smooth).ravel()
        length_slopes = parts.squared_distances @ by_smooth
        gradient = np.concatenate(
            (
                [2.0 * by_smooth.sum(), 2.0 * at.noise**2 * slope.trace()],
                2.0 * at.waves**2 * (parts.flat_waves @ slope.ravel()),
                length_slopes * at.lengths**-2.0,
            )
        )
        return Evaluation(
            value=float(value + 0.5 * standard @ standard),
            gradient=gradient * self._prior[1] + standard,
            at=at,
            inverse=inverse,
            smooth=smooth,
        )

    def information(self, evaluation: Evaluation) -> FloatArray:
        """(h, h) expected curvature: the Fisher information of the residuals (Mardia and Marshall,
        Biometrika 1984) and the precision of the prior. By 32-bit numbers: it only says how far to
        step."""
        at, parts, waves = evaluation.at, self.parts, 2 + len(self.parts.waves)
        spreads, runs = self._prior[1], len(self.residuals)
        slopes = np.empty((len(spreads), runs, runs), dtype=SINGLE)
        slopes[0] = 2.0 * evaluation.smooth
        slopes[1] = 2.0 * at.noise**2 * np.eye(runs)
        slopes[2:waves] = 2.0 * at.waves[:, None, None] ** 2 * parts.waves
        distances = parts.squared_distances.reshape(-1, runs, runs)
        slopes[waves:] = distances * at.lengths[:, None, None] ** -2.0 * evaluation.smooth
        relative = as_single(evaluation.inverse) @ slopes
        transposed = relative.swapaxes(1, 2).reshape(len(relative), -1)
        information = 0.5 * relative.reshape(transposed.shape) @ transposed.T
        return np.eye(len(spreads)) + spreads[:, None] * information * spreads

    def maximum_a_posteriori(self) -> Hyperparameters:
        """The posterior mode, searched from the prior's medians; and, where that ends at much
        noise, also from a start at which all residuals are smooth: no step downhill crosses from
        one to the other."""
        start = np.zeros(len(self._prior[0]))
        best, value = _bfgs_minimum(self, start)
        if best[1] >= DOUBTFUL_NOISE:
            start[0], start[1 : 2 + len(self.parts.waves)] = 2.0, -2.0
            other, other_value = _bfgs_minimum(self, start, far=True)
            best = other if other_value < value else best
        return self.at(best)


def _bfgs_minimum(
    posterior: NegativeLogPosterior, start: FloatArray, *, far: bool = False
) -> tuple[FloatArray, float]:
    """A local minimum and its value, by BFGS with step halving (Nocedal and Wright, Numerical
    Optimization, 6.1). SciPy's takes longer to import than this to run.

    Args:
        far: whether the way is long: then the expected curvature replaces that of the steps before
            at the start and every `STEPS_PER_INFORMATION` steps, in half as many steps.
    """
    x, here = start, posterior(start)
    inverse = identity = np.eye(len(x))
    for count in range(MOST_STEPS):
        if far and count % STEPS_PER_INFORMATION == 0:
            inverse = np.asarray(np.linalg.inv(posterior.information(here)), dtype=np.float64)
        direction = -inverse @ here.gradient
        direction /= max(1.0, float(np.abs(direction).max()))
        slope = float(direction @ here.gradient)
        if slope > -SMALLEST_GAIN:
            break
        step = 1.0
        while step > SMALLEST_STEP:
            candidate = np.minimum(x + step * direction, MOST_PRIOR_SPREADS)
            np.maximum(candidate, -MOST_PRIOR_SPREADS, out=candidate)
            there = posterior(candidate)
            if there.value <= here.value + 1e-4 * step * slope:
                break
            step *= 0.5
        else:
            break
        moved, change = candidate - x, there.gradient - here.gradient
        x, here = candidate, there
        curvature = float(moved @ change)
        if curvature > 1e-10:
            left = identity - moved[:, None] * change / curvature
            inverse = left @ inverse @ left.T + moved[:, None] * moved / curvature
    return x, here.value
