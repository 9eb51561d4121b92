"""The joint posterior of log time at many points: a Gaussian process over clusters and input sizes.

A forecast gives each composition its own interval. To value a run that has not been made one also
needs the correlation of errors between compositions. It comes from a Gaussian process prior:

    log T = mean + residual,    cov(residual) = shared(cores, memory, size)
                                              + family(cores, size) + type(cores, size)

- Evidence of run times: the mean is a power law of cores and size with a wide prior. Amplitude and
  length scale are averaged over a small grid, weighted by their marginal likelihood. This posterior
  is half of the belief; the other half is the fitted model's, which knows physical laws and memory
  cliffs.
- Evidence of logs (or fewer than three runs): mean and spread are those of the fitted model, which
  knows stages.

Runs correct the belief near their own points, as far as their residuals exceed noise
(`run_noise.py`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from engine.batch import ClusterBatch
from engine.cluster import Workload
from engine.experiments.points import FAMILY_AMPLITUDE, TYPE_AMPLITUDE, Points
from engine.forecast import FloatArray, Forecast, IntArray
from engine.models.base import FittedModel, by_workload
from engine.models.workloads import same_parameters
from engine.profile import Profile, Run
from engine.runs.run_noise import Noise, run_noise
from engine.runs.slow_runs import without, without_outliers

UNKNOWN_SPREAD = 0.35
"""Spread of log time of a model that gives no interval: a factor of 1.4 either way."""

SMALLEST_SPREAD, LARGEST_SPREAD = 0.01, 1.0

AMPLITUDES, LENGTH_SCALES = (0.3, 0.6), (0.7, 1.5)
"""Hyperparameter grid of the shared residual: its standard deviation (a factor of 1.35 or 1.8), and
its length scale in e-folds of cores, memory or size (factors of two or four)."""

NUGGETS = (0.0, 0.2)
"""Standard deviation of the nugget, the part of the residual that is independent at every point:
none, or the edge of a cliff between two neighbours, which no smooth function can follow. Part of
the hyperparameter grid above."""

CORES_EXPONENT, SIZE_EXPONENT, EXPONENT_SPREAD = -0.7, 0.8, 0.3
"""Prior means of the exponents in T ~ cores^a size^b, between ideal scaling (-1, 1) and none, and
their common standard deviation."""

INTERCEPT_SPREAD = 2.0
"""Prior standard deviation of the intercept of log T: uninformative."""

MIN_RUNS_FOR_GAUSSIAN_PROCESS = 3
"""The least number of run times to which the Gaussian process is fitted."""

EQUAL_WEIGHTS = np.asarray([0.5, 0.5])
"""Weights of the Gaussian process and of the fitted model. Each knows what the other does not
(families of machines; laws and cliffs), and a dozen sequential runs cannot decide which is
better."""


@dataclass(frozen=True, eq=False)
class Belief:
    """The joint posterior at n points: a normal distribution of the median log time, and the noise
    of a single run about it.

    Args:
        mean, covariance: (n,) and (n, n) of the median's log seconds.
        noise: (n,) scale of the log time of a run about the median.
        dof: (n,) degrees of freedom of the log time of a run, Student's t.
        by_runs_too: whether a process of the runs alone is part of it, so that its times are not
            those of the model.
    """

    mean: FloatArray
    covariance: FloatArray
    noise: FloatArray
    dof: FloatArray
    by_runs_too: bool = False

    @property
    def deviation(self) -> FloatArray:
        """(n,) predictive scale of the log seconds of the next run: its noise included, since
        deadlines and intervals are about runs."""
        return self.scale_at(np.diag(self.covariance))

    def scale_at(self, variance: FloatArray) -> FloatArray:
        """(n,) predictive scale of the next run's log seconds, for (n,) variances of the median."""
        predictive_variance = np.maximum(variance, 0.0) + np.square(self.noise)
        return np.asarray(np.sqrt(np.maximum(predictive_variance, SMALLEST_SPREAD**2)))

    @property
    def seconds(self) -> FloatArray:
        """(n,) expected seconds."""
        return expected_seconds(self.mean, self.deviation)

    def take(self, indices: IntArray | slice) -> Belief:
        """The marginal distribution of some points, repeated or reordered."""
        rows = np.arange(len(self.mean))[indices]
        covariance = self.covariance[np.ix_(rows, rows)]
        return replace(
            self,
            mean=self.mean[rows],
            covariance=covariance,
            noise=self.noise[rows],
            dof=self.dof[rows],
        )


def expected_seconds(mean: FloatArray, deviation: FloatArray) -> FloatArray:
    """(n,) E[T] in seconds of log-normal times of (n,) mean and deviation."""
    return np.asarray(np.exp(mean + 0.5 * np.square(deviation)))


def belief_at(fitted: FittedModel, points: Points) -> Belief:
    """The joint posterior at some points, from the fitted model and its runs.

    Runs in which something went wrong are excluded: they say nothing of the next run's noise.
    """
    profile, n = without_outliers(fitted.profile), len(points)
    unusual = fitted.unusual_runs(points.workloads[0])
    profile = replace(profile, runs=without(profile.runs, unusual))
    all_points = points.joined(Points.of_runs(profile.runs, profile))
    forecast = forecast_at(fitted, all_points)
    noise = run_noise(profile, forecast.rms_scale[n:])
    model_belief = _from_model(forecast, all_points, n, profile, noise)
    same_job = [run for run in profile.runs if _is_same_job(run, points.workloads[0])]
    if len(same_job) < MIN_RUNS_FOR_GAUSSIAN_PROCESS or profile.has_stages:
        return model_belief
    belief = _from_runs(points, same_job, profile, noise)
    if not np.isnan(model_belief.mean).any():
        belief = _moment_matched((belief, model_belief), EQUAL_WEIGHTS)
    return replace(belief, by_runs_too=True)


def _is_same_job(run: Run, wanted: Workload) -> bool:
    """Whether a run has the wanted job parameters and iterations: the process has no covariance for
    others, as the model does."""
    workload = run.workload
    same = same_parameters(workload.parameters, wanted.parameters)
    return same and wanted.iterations in (None, workload.iterations)


def _from_runs(points: Points, runs: Sequence[Run], profile: Profile, noise: Noise) -> Belief:
    """The Gaussian process conditioned on runs of one job, averaged over the grid of amplitudes,
    length scales and nuggets, weighted by marginal likelihood."""
    all_points, n = points.joined(Points.of_runs(runs, profile)), len(points)
    seconds = np.asarray([run.seconds for run in runs])
    cores = all_points.coordinates[:, 0] - all_points.coordinates[:, 0].mean()
    size = all_points.coordinates[:, 2] - all_points.coordinates[:, 2].mean()
    mean = CORES_EXPONENT * cores + SIZE_EXPONENT * size
    trend = INTERCEPT_SPREAD**2 + EXPONENT_SPREAD**2 * (
        np.outer(cores, cores) + np.outer(size, size)
    )
    intercept = float(np.mean(np.log(seconds) - mean[n:]))
    posteriors, log_likelihoods = [], []
    same_point = all_points.same_point()
    for amplitude, length, nugget in product(AMPLITUDES, LENGTH_SCALES, NUGGETS):
        covariance = (
            trend + all_points.residual_covariance(amplitude, length) + nugget**2 * same_point
        )
        posterior, log_likelihood = _posterior(
            mean + intercept, covariance, n, np.log(seconds), noise
        )
        posteriors.append(posterior)
        log_likelihoods.append(log_likelihood)
    weights = np.exp(np.asarray(log_likelihoods) - max(log_likelihoods))
    return _moment_matched(posteriors, weights / weights.sum())


def _posterior(
    mean: FloatArray, covariance: FloatArray, n: int, observed: FloatArray, noise: Noise
) -> tuple[Belief, float]:
    """The posterior at the first n points given observed log times at the others, and the log
    marginal likelihood of these (up to a constant)."""
    observed_covariance = covariance[n:, n:] + noise.scale**2 * np.eye(len(observed))
    cholesky = np.linalg.cholesky(observed_covariance)
    whitened = np.linalg.solve(cholesky, observed - mean[n:])
    whitened_cross = np.linalg.solve(cholesky, covariance[n:, :n])
    covariance_after = covariance[:n, :n] - whitened_cross.T @ whitened_cross
    predictive_variance = np.maximum(np.diag(covariance_after), 0.0) + noise.scale**2
    posterior = Belief(
        mean[:n] + whitened_cross.T @ whitened,
        covariance_after,
        np.full(n, noise.scale),
        noise.dof * np.square(predictive_variance / noise.scale**2),
    )
    return posterior, float(-0.5 * whitened @ whitened - np.log(np.diag(cholesky)).sum())


def _moment_matched(beliefs: Sequence[Belief], weights: FloatArray) -> Belief:
    """The normal distribution with the mean and covariance of a mixture of beliefs.

    Its degrees of freedom are V^2 / sum(w v^2 / nu), with V the variance of the mixture, and v and
    nu those of each belief: Satterthwaite's moments with the weights not squared, since the beliefs
    rest on the same runs and their errors do not cancel.
    """
    mean = np.asarray(
        sum(weight * belief.mean for weight, belief in zip(weights, beliefs, strict=True))
    )
    covariance = np.zeros_like(beliefs[0].covariance)
    noise = np.zeros_like(mean)
    squared_variance_over_dof = 0.0
    for weight, belief in zip(weights, beliefs, strict=True):
        offset = belief.mean - mean
        covariance += weight * (belief.covariance + np.outer(offset, offset))
        noise += weight * np.square(belief.noise)
        squared_variance_over_dof = (
            squared_variance_over_dof + weight * belief.deviation**4 / belief.dof
        )
    mixture = Belief(mean, covariance, np.sqrt(noise), np.full(len(mean), np.inf))
    with np.errstate(divide="ignore"):
        return replace(mixture, dof=np.asarray(mixture.deviation**4 / squared_variance_over_dof))


def _from_model(
    forecast: Forecast, all_points: Points, n: int, profile: Profile, noise: Noise
) -> Belief:
    """The fitted model's forecast, corrected by the residuals of its runs.

    Its interval is about the next run and so includes that run's noise, which no further run
    removes. Its residuals at its own runs beyond their noise (`misfit`) may be specific to single
    points, such as the edge of a memory cliff, which no smooth correction can follow. They become
    the nugget, so that the posterior at a measured point is what was measured there.
    """
    mean, scale = np.log(forecast.seconds), with_bounded_scales(forecast).rms_scale
    known = np.flatnonzero(np.isfinite(mean[n:])) + n
    observed = np.log([profile.runs[index - n].seconds for index in known])
    nugget = misfit(observed - mean[known], noise.scale) if len(known) else 0.0
    median_variance = np.maximum(np.square(scale) - noise.scale**2, nugget**2)
    shared_scale = np.sqrt(median_variance - nugget**2)
    unit = all_points.residual_covariance(1.0, LENGTH_SCALES[0]) / (
        1.0 + FAMILY_AMPLITUDE**2 + TYPE_AMPLITUDE**2
    )
    covariance = unit * np.outer(shared_scale, shared_scale) + nugget**2 * all_points.same_point()
    if len(known):
        rows = np.concatenate((np.arange(n), known))
        posterior, _ = _posterior(mean[rows], covariance[np.ix_(rows, rows)], n, observed, noise)
        mean, covariance = posterior.mean, posterior.covariance
    return Belief(
        mean[:n], covariance[:n, :n], np.minimum(noise.scale, scale[:n]), forecast.dof[:n]
    )


def with_default_scales(forecast: Forecast) -> Forecast:
    """The forecasts, with `UNKNOWN_SPREAD` as the scale where the model gives no interval."""
    return forecast.rescaled(lambda scale: np.where(np.isnan(scale), UNKNOWN_SPREAD, scale))


def with_bounded_scales(forecast: Forecast) -> Forecast:
    """`with_default_scales`, with scales that beliefs can be computed of."""
    known = with_default_scales(forecast)
    return known.rescaled(lambda scale: np.clip(scale, SMALLEST_SPREAD, LARGEST_SPREAD))


def misfit(residuals: FloatArray, noise: float) -> float:
    """Standard deviation of a model's residuals at its own runs, with the noise of runs removed.

    Args:
        residuals: (r,) in log seconds.
        noise: standard deviation of log time between repetitions.
    """
    return math.sqrt(max(0.0, float(np.mean(np.square(residuals))) - noise**2))


def forecast_at(fitted: FittedModel, points: Points) -> Forecast:
    """(n,) forecasts of the model, one workload each; NaN seconds where it predicts nothing."""
    forecast = Forecast.of(np.full(len(points), np.nan), dof=np.nan)
    for workload, indices in by_workload(points.workloads):
        batch = ClusterBatch.of([points.clusters[index] for index in indices], fitted.profile)
        forecast = forecast.with_replaced(indices, fitted.forecast(batch, workload))
    return forecast
