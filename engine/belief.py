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
The runs correct it near where they were made.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from engine.batch import ClusterBatch
from engine.cluster import Cluster, Workload
from engine.forecast import FloatArray
from engine.models.base import FittedModel
from engine.models.workloads import completed
from engine.profile import Profile

RUN_NOISE = 0.03
"""Standard deviation of log time between repetitions of one run: medians of a few repetitions on
public run tables scatter by 0.014 on average."""

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

_FAMILY = re.compile(r"[A-Za-z_-]+")


@dataclass(frozen=True, eq=False)
class Points:
    """n places where the job could run: a cluster and a workload each.

    Args:
        types, families: (n,) names of the instance type and of its kind (letters before a digit).
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
        names = [cluster.instance.name if cluster.instance else "" for cluster in clusters]
        families = [match[0] if (match := _FAMILY.match(name)) else name for name in names]
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

    @classmethod
    def of_runs(cls, profile: Profile) -> Points:
        """The places where the profile's runs were made."""
        runs = profile.runs
        return cls.of([run.cluster for run in runs], [run.workload for run in runs], profile)

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
    """A normal law of log seconds at n places: (n,) mean and (n, n) covariance."""

    mean: FloatArray
    covariance: FloatArray

    @property
    def deviation(self) -> FloatArray:
        """(n,) standard deviation of log seconds."""
        return np.asarray(np.sqrt(np.maximum(np.diag(self.covariance), SMALLEST_SPREAD**2)))

    @property
    def seconds(self) -> FloatArray:
        """(n,) expected seconds."""
        return expected_seconds(self.mean, self.deviation)

    def p_within(self, deadline_seconds: float) -> FloatArray:
        """(n,) P(T <= deadline)."""
        return p_within(self.mean, self.deviation, deadline_seconds)

    def part(self, places: slice) -> Belief:
        """The law of some of the places."""
        return Belief(self.mean[places], self.covariance[places, places])


def expected_seconds(mean: FloatArray, deviation: FloatArray) -> FloatArray:
    """E[T] of a log-normal time."""
    return np.asarray(np.exp(mean + 0.5 * np.square(deviation)))


def p_within(mean: FloatArray, deviation: FloatArray, deadline_seconds: float) -> FloatArray:
    """P(T <= deadline) of a log-normal time."""
    from scipy.special import ndtr

    return np.asarray(ndtr((math.log(deadline_seconds) - mean) / deviation))


def believe(fitted: FittedModel, points: Points) -> Belief:
    """What the fitted model and its runs say of some places."""
    runs = fitted.profile.runs
    by_model = _from_model(fitted, points)
    if len(runs) < RUNS_FOR_PROCESS or fitted.profile.has_stages:
        return by_model
    by_runs = _from_runs(points, fitted.profile)
    if np.isnan(by_model.mean).any():
        return by_runs
    return _averaged((by_runs, by_model), EVEN)


def _from_runs(points: Points, profile: Profile) -> Belief:
    """The process conditioned on the runs, averaged over its amplitudes, lengths and own parts by
    their likelihood."""
    every = points.joined(Points.of_runs(profile))
    seconds = np.asarray([run.seconds for run in profile.runs])
    n = len(points)
    cores = every.coordinates[:, 0] - every.coordinates[:, 0].mean()
    size = every.coordinates[:, 2] - every.coordinates[:, 2].mean()
    mean = CORES_POWER * cores + SIZE_POWER * size
    trend = LEVEL_SPREAD**2 + POWER_SPREAD**2 * (np.outer(cores, cores) + np.outer(size, size))
    level = float(np.mean(np.log(seconds) - mean[n:]))
    laws, likelihoods = [], []
    same = every.same_place()
    for amplitude, length, own in product(AMPLITUDES, LENGTHS, OWN_PARTS):
        covariance = trend + every.residual(amplitude, length) + own**2 * same
        law, likelihood = _conditioned(mean + level, covariance, n, np.log(seconds))
        laws.append(law)
        likelihoods.append(likelihood)
    shares = np.exp(np.asarray(likelihoods) - max(likelihoods))
    return _averaged(laws, shares / shares.sum())


def _conditioned(
    mean: FloatArray, covariance: FloatArray, n: int, observed: FloatArray
) -> tuple[Belief, float]:
    """The law of the first n places given log times at the others, and its log likelihood."""
    noisy = covariance[n:, n:] + RUN_NOISE**2 * np.eye(len(observed))
    factor = np.linalg.cholesky(noisy)
    white = np.linalg.solve(factor, observed - mean[n:])
    across = np.linalg.solve(factor, covariance[n:, :n])
    law = Belief(mean[:n] + across.T @ white, covariance[:n, :n] - across.T @ across)
    return law, float(-0.5 * white @ white - np.log(np.diag(factor)).sum())


def _averaged(laws: Sequence[Belief], shares: FloatArray) -> Belief:
    """The normal law with the mean and covariance of a mixture."""
    mean = np.asarray(sum(share * law.mean for share, law in zip(shares, laws, strict=True)))
    covariance = np.zeros_like(laws[0].covariance)
    for share, law in zip(shares, laws, strict=True):
        apart = law.mean - mean
        covariance += share * (law.covariance + np.outer(apart, apart))
    return Belief(mean, covariance)


def _from_model(fitted: FittedModel, points: Points) -> Belief:
    """The fitted model's forecast, corrected by the residuals of its runs.

    What it gets wrong of its own runs beyond their noise (`misfit`) may be peculiar to single
    places, such as the edge of a memory cliff, which no smooth correction can follow: so much is
    each place's own, and what was measured is believed as it was measured.
    """
    n = len(points)
    every = points.joined(Points.of_runs(fitted.profile))
    mean, deviation = _log_forecast(fitted, every)
    unit = every.residual(1.0, LENGTHS[0]) / (1.0 + FAMILY_PART**2 + TYPE_PART**2)
    covariance = unit * np.outer(deviation, deviation)
    known = np.flatnonzero(np.isfinite(mean[n:])) + n
    if not len(known):
        return Belief(mean[:n], covariance[:n, :n])
    kept = np.concatenate((np.arange(n), known))
    observed = np.log([fitted.profile.runs[place - n].seconds for place in known])
    covariance += misfit(observed - mean[known]) ** 2 * every.same_place()
    law, _ = _conditioned(mean[kept], covariance[np.ix_(kept, kept)], n, observed)
    return law


def misfit(residuals: FloatArray) -> float:
    """Standard deviation of log time that a model gets wrong of its own runs, their noise apart.

    Args:
        residuals: (r,) of log seconds.
    """
    return math.sqrt(max(0.0, float(np.mean(np.square(residuals))) - RUN_NOISE**2))


def _log_forecast(fitted: FittedModel, points: Points) -> tuple[FloatArray, FloatArray]:
    """(n,) mean and (n,) standard deviation of log time; NaN mean where there is no answer.

    A Student law with few degrees of freedom is replaced by the normal law of its variance (of
    that with three, where it has none).
    """
    mean, deviation = np.full(len(points), np.nan), np.full(len(points), UNKNOWN_SPREAD)
    for workload, places in _by_workload(points.workloads):
        batch = ClusterBatch.of([points.clusters[place] for place in places], fitted.profile)
        forecast = fitted.forecast(batch, workload)
        dof = np.maximum(forecast.dof, 3.0)
        with np.errstate(invalid="ignore", divide="ignore"):
            wider = np.sqrt(np.where(np.isinf(dof), 1.0, dof / (dof - 2.0)))
            spread = forecast.log_scale * wider
            mean[places] = np.log(forecast.seconds)
        deviation[places] = np.where(np.isnan(spread), UNKNOWN_SPREAD, spread)
    return mean, np.clip(deviation, SMALLEST_SPREAD, MOST_SPREAD)


def _by_workload(workloads: Sequence[Workload]) -> list[tuple[Workload, list[int]]]:
    """Equal workloads together, so that each is forecast once."""
    groups: list[tuple[Workload, list[int]]] = []
    for place, workload in enumerate(workloads):
        for known, places in groups:
            if known == workload:
                places.append(place)
                break
        else:
            groups.append((workload, [place]))
    return groups
