"""What runs and a model say of many places at once: a joint normal law of log time.

A forecast gives each composition its own interval; to value a run that has not been made one must
also know how far an error at one place is an error at another. That is this file's prior, a
Gaussian process:

    log T = mean + residual,    cov(residual) = shared(cores, memory, size)
                                              + family(cores, size) + type(cores, size)

Where run times are the evidence, the mean is a power law of cores and size with a wide prior, and
amplitude and length are averaged over a small grid by their likelihood; half of the belief is that,
the other half the fitted model's, which knows physical laws and memory cliffs. Where logs are (or
fewer than three runs), the mean and the spread are the fitted model's alone, which knows stages.
The runs correct it near where they were made, as far as they are not noise (`run_noise.py`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from engine.batch import ClusterBatch
from engine.cluster import Cluster, Workload
from engine.forecast import FloatArray, Forecast, IntArray
from engine.machines.families import family_of
from engine.models.base import FittedModel, by_workload
from engine.models.workloads import completed, same_parameters
from engine.profile import Profile, Run
from engine.runs.run_noise import Noise, run_noise
from engine.runs.slow_runs import calm, without

UNKNOWN_SPREAD = 0.35
"""Spread of log time of a model that gives no interval: a factor of 1.4 either way."""

SMALLEST_SPREAD, MOST_SPREAD = 0.01, 1.0

AMPLITUDES, LENGTHS = (0.3, 0.6), (0.7, 1.5)
"""Grid of the shared residual: its standard deviation (a factor of 1.35 or 1.8), and over how many
e-folds of cores, memory or size it stays alike (twice or four times as many)."""

OWN_PARTS = (0.0, 0.2)
"""Standard deviation of what is a single place's own: none, or the edge of a cliff between two
neighbours, which nothing smooth can follow. As the grid above, weighed by likelihood."""

FAMILY_PART, TYPE_PART = 0.7, 0.3
"""Amplitude of what is peculiar to a family, and to a type, relative to the shared residual."""

CORES_POWER, SIZE_POWER, POWER_SPREAD = -0.7, 0.8, 0.3
"""Prior of the powers in T ~ cores^a size^b: between ideal scaling (-1, 1) and none."""

LEVEL_SPREAD = 2.0
"""Prior spread of log T as a whole: nothing is known of it."""

RUNS_FOR_PROCESS = 3
"""Runs from which on run times speak for themselves."""

EVEN = np.asarray([0.5, 0.5])
"""Weights of the process and of the fitted model. Each knows what the other does not (families of
machines; laws and cliffs), and a dozen runs chosen one by one cannot tell which is the better."""


@dataclass(frozen=True, eq=False)
class Points:
    """n places where the job could run: a cluster and a workload each.

    Args:
        types, families: (n,) names of the instance type and of its family, a name that follows no
            provider's rule standing for itself.
        coordinates: (n, 3) logarithms of cores (nodes or slots where vCPUs are not known), of
            memory in GiB (0 where not known) and of the input size.
    """

    clusters: tuple[Cluster, ...]
    workloads: tuple[Workload, ...]
    types: tuple[str, ...]
    families: tuple[str, ...]
    coordinates: FloatArray

    @classmethod
    def of(
        cls, clusters: Sequence[Cluster], workloads: Sequence[Workload], profile: Profile
    ) -> Points:
        """The places, one cluster and one workload each."""
        wanted = [completed(workload, profile) for workload in workloads]
        names = [cluster.instance_name or "" for cluster in clusters]
        families = [family_of(name) or name for name in names]
        coordinates = [
            _coordinates(cluster, workload)
            for cluster, workload in zip(clusters, wanted, strict=True)
        ]
        return cls(
            tuple(clusters),
            tuple(wanted),
            tuple(names),
            tuple(families),
            np.asarray(coordinates, dtype=float).reshape(-1, 3),
        )

    def __len__(self) -> int:
        return len(self.clusters)

    def joined(self, other: Points) -> Points:
        """These places followed by others."""
        return Points(
            self.clusters + other.clusters,
            self.workloads + other.workloads,
            self.types + other.types,
            self.families + other.families,
            np.concatenate((self.coordinates, other.coordinates)),
        )

    def residual(self, amplitude: float, length: float) -> FloatArray:
        """(n, n) covariance of the residual."""
        family = _equal(self.families)
        same = _equal(self.types)
        near = _alike(self.coordinates[:, [0, 2]], length)
        peculiar = FAMILY_PART**2 * family + TYPE_PART**2 * same
        shared = _alike(self.coordinates, length)
        return np.asarray(amplitude**2 * (shared + peculiar * near))

    def same_place(self) -> FloatArray:
        """(n, n) 1 where type, cores, memory and size are the same, else 0."""
        apart = np.abs(self.coordinates[:, None, :] - self.coordinates[None, :, :]).max(axis=-1)
        return np.asarray(_equal(self.types) * (apart < SAME_PLACE))


SAME_PLACE = 1e-9
"""Coordinates that differ by less are the same but for rounding."""


def _coordinates(cluster: Cluster, workload: Workload) -> tuple[float, float, float]:
    nodes, instance = float(cluster.nodes or cluster.slots or 1), cluster.instance
    cores = nodes * instance.vcpus if instance else nodes
    memory = nodes * instance.memory_gib if instance else math.nan
    size = workload.input_bytes or workload.scale or 1.0
    return (
        math.log(nodes if math.isnan(cores) else cores),
        0.0 if math.isnan(memory) else math.log(memory),
        math.log(size),
    )


def _equal(names: Sequence[str]) -> FloatArray:
    array = np.asarray(names)
    return np.asarray(array[:, None] == array[None, :], dtype=np.float64)


def _alike(coordinates: FloatArray, length: float) -> FloatArray:
    """(n, n) Matern 5/2 correlation, (1 + r + r^2 / 3) exp(-r) with r = sqrt(5) d, for distances d
    in units of `length`.

    Times bend at edges (a cache that fits no longer). The squared exponential, whose functions have
    all derivatives, cannot follow one and then believes runs beside it several times their noise
    away from what was measured; this kernel is the usual one of such searches for that reason.
    """
    differences = coordinates[:, None, :] - coordinates[None, :, :]
    r = math.sqrt(5.0) * np.sqrt(np.square(differences / length).sum(axis=-1))
    return np.asarray((1.0 + r + np.square(r) / 3.0) * np.exp(-r))


@dataclass(frozen=True, eq=False)
class Belief:
    """What is believed of n places: a normal law of the log seconds that runs there take in the
    middle, and how a single run differs from that.

    Args:
        mean, covariance: (n,) and (n, n) of the middle's log seconds.
        noise: (n,) scale of log time of a run about the middle.
        dof: (n,) degrees of freedom of a run's time, whose law is Student's.
    """

    mean: FloatArray
    covariance: FloatArray
    noise: FloatArray
    dof: FloatArray

    @property
    def deviation(self) -> FloatArray:
        """(n,) scale of the log seconds of the next run: a promise is about runs, and so is an
        interval."""
        return self.scale_at(np.diag(self.covariance))

    def scale_at(self, variance: FloatArray) -> FloatArray:
        """(n,) scale of the next run's log seconds at (n,) variances of the middle's."""
        total = np.maximum(variance, 0.0) + np.square(self.noise)
        return np.asarray(np.sqrt(np.maximum(total, SMALLEST_SPREAD**2)))

    @property
    def seconds(self) -> FloatArray:
        """(n,) expected seconds."""
        return expected_seconds(self.mean, self.deviation)

    def taken(self, places: IntArray | slice) -> Belief:
        """The law of some of the places, in their order, also several times."""
        rows = np.arange(len(self.mean))[places]
        covariance = self.covariance[np.ix_(rows, rows)]
        return Belief(self.mean[rows], covariance, self.noise[rows], self.dof[rows])


def expected_seconds(mean: FloatArray, deviation: FloatArray) -> FloatArray:
    """(n,) E[T] in seconds of log-normal times of (n,) mean and deviation."""
    return np.asarray(np.exp(mean + 0.5 * np.square(deviation)))


def believe(fitted: FittedModel, points: Points) -> Belief:
    """What the fitted model and its runs say of some places; runs in which something went wrong,
    which are no noise of the next one, have no say here either."""
    profile, n = calm(fitted.profile), len(points)
    unusual = fitted.unusual_runs(points.workloads[0])
    profile = replace(profile, runs=without(profile.runs, unusual))
    clusters = [run.cluster for run in profile.runs]
    workloads = [run.workload for run in profile.runs]
    every = points.joined(Points.of(clusters, workloads, profile))
    told = forecast_at(fitted, every)
    noise = run_noise(profile, told.usual_scale[n:])
    by_model = _from_model(told, every, n, profile, noise)
    same_job = [run for run in profile.runs if _of_job(run, points.workloads[0])]
    if len(same_job) < RUNS_FOR_PROCESS or profile.has_stages:
        return by_model
    by_runs = _from_runs(points, same_job, profile, noise)
    if np.isnan(by_model.mean).any():
        return by_runs
    return _averaged((by_runs, by_model), EVEN)


def _of_job(run: Run, wanted: Workload) -> bool:
    """Whether a run had the job parameters and iterations that are wanted: of others the process
    knows nothing, as the model does."""
    own = run.workload
    same = same_parameters(own.parameters, wanted.parameters)
    return same and wanted.iterations in (None, own.iterations)


def _from_runs(points: Points, runs: Sequence[Run], profile: Profile, noise: Noise) -> Belief:
    """The process conditioned on runs of one job, averaged over its amplitudes, lengths and own
    parts by their likelihood."""
    clusters, workloads = [run.cluster for run in runs], [run.workload for run in runs]
    every, n = points.joined(Points.of(clusters, workloads, profile)), len(points)
    seconds = np.asarray([run.seconds for run in runs])
    cores = every.coordinates[:, 0] - every.coordinates[:, 0].mean()
    size = every.coordinates[:, 2] - every.coordinates[:, 2].mean()
    mean = CORES_POWER * cores + SIZE_POWER * size
    trend = LEVEL_SPREAD**2 + POWER_SPREAD**2 * (np.outer(cores, cores) + np.outer(size, size))
    level = float(np.mean(np.log(seconds) - mean[n:]))
    laws, likelihoods = [], []
    same = every.same_place()
    for amplitude, length, own in product(AMPLITUDES, LENGTHS, OWN_PARTS):
        covariance = trend + every.residual(amplitude, length) + own**2 * same
        law, likelihood = _conditioned(mean + level, covariance, n, np.log(seconds), noise)
        laws.append(law)
        likelihoods.append(likelihood)
    shares = np.exp(np.asarray(likelihoods) - max(likelihoods))
    return _averaged(laws, shares / shares.sum())


def _conditioned(
    mean: FloatArray, covariance: FloatArray, n: int, observed: FloatArray, noise: Noise
) -> tuple[Belief, float]:
    """The law of the first n places given log times at the others, and its log likelihood."""
    noisy = covariance[n:, n:] + noise.scale**2 * np.eye(len(observed))
    factor = np.linalg.cholesky(noisy)
    white = np.linalg.solve(factor, observed - mean[n:])
    across = np.linalg.solve(factor, covariance[n:, :n])
    after = covariance[:n, :n] - across.T @ across
    total = np.maximum(np.diag(after), 0.0) + noise.scale**2
    law = Belief(
        mean[:n] + across.T @ white,
        after,
        np.full(n, noise.scale),
        noise.dof * np.square(total / noise.scale**2),
    )
    return law, float(-0.5 * white @ white - np.log(np.diag(factor)).sum())


def _averaged(laws: Sequence[Belief], shares: FloatArray) -> Belief:
    """The law with the mean and covariance of a mixture; its degrees of freedom are those of a sum
    of variances (Satterthwaite), as good as the parts that make most of it."""
    mean = np.asarray(sum(share * law.mean for share, law in zip(shares, laws, strict=True)))
    covariance, noise, doubt = np.zeros_like(laws[0].covariance), np.zeros_like(mean), 0.0
    for share, law in zip(shares, laws, strict=True):
        apart = law.mean - mean
        covariance += share * (law.covariance + np.outer(apart, apart))
        noise += share * np.square(law.noise)
        doubt = doubt + share * law.deviation**4 / law.dof
    found = Belief(mean, covariance, np.sqrt(noise), np.full(len(mean), np.inf))
    with np.errstate(divide="ignore"):
        return replace(found, dof=np.asarray(found.deviation**4 / doubt))


def _from_model(told: Forecast, every: Points, n: int, profile: Profile, noise: Noise) -> Belief:
    """The fitted model's forecast, corrected by the residuals of its runs.

    Its interval is about the next run, so that the noise of a run is a part of it, and no run made
    there takes that away. What it gets wrong of its own runs beyond their noise (`misfit`) may be
    peculiar to single places, such as the edge of a memory cliff, which no smooth correction can
    follow: so much is each place's own, and what was measured is believed as it was measured.
    """
    mean, scale = np.log(told.seconds), with_known_scales(told).usual_scale
    known = np.flatnonzero(np.isfinite(mean[n:])) + n
    observed = np.log([profile.runs[place - n].seconds for place in known])
    own = misfit(observed - mean[known], noise.scale) if len(known) else 0.0
    middle = np.maximum(np.square(scale) - noise.scale**2, own**2)
    shared = np.sqrt(middle - own**2)
    unit = every.residual(1.0, LENGTHS[0]) / (1.0 + FAMILY_PART**2 + TYPE_PART**2)
    covariance = unit * np.outer(shared, shared) + own**2 * every.same_place()
    if len(known):
        kept = np.concatenate((np.arange(n), known))
        law, _ = _conditioned(mean[kept], covariance[np.ix_(kept, kept)], n, observed, noise)
        mean, covariance = law.mean, law.covariance
    return Belief(mean[:n], covariance[:n, :n], np.minimum(noise.scale, scale[:n]), told.dof[:n])


def with_known_scales(told: Forecast) -> Forecast:
    """The forecasts with a scale also where the model gives no interval."""

    def known(scale: FloatArray) -> FloatArray:
        scale = np.where(np.isnan(scale), UNKNOWN_SPREAD, scale)
        return np.clip(scale, SMALLEST_SPREAD, MOST_SPREAD)

    return told.rescaled(known)


def misfit(residuals: FloatArray, noise: float) -> float:
    """Standard deviation of log time that a model gets wrong of its own runs, their noise apart.

    Args:
        residuals: (r,) of log seconds.
        noise: standard deviation of log time between repetitions.
    """
    return math.sqrt(max(0.0, float(np.mean(np.square(residuals))) - noise**2))


def forecast_at(fitted: FittedModel, points: Points) -> Forecast:
    """The model's forecasts of n places, one workload each; NaN seconds where it has no answer."""
    told = Forecast.of(np.full(len(points), np.nan), dof=np.nan)
    for workload, places in by_workload(points.workloads):
        batch = ClusterBatch.of([points.clusters[place] for place in places], fitted.profile)
        told = told.patched(places, fitted.forecast(batch, workload))
    return told
