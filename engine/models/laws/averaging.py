"""Predictions of the posterior over laws: their mean and variance, and the same with any one run
left out.

The posterior is a set of laws with weights. Without any one of the runs it is the same set with
other weights (importance sampling), so leave-one-out draws no law again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace

import numpy as np

from engine.forecast import BoolArray, FloatArray, IntArray
from engine.models.laws.cliff_states import harmonic_mean_shift, side_variance_factors
from engine.models.laws.core_interpolation import CoreInterpolation
from engine.models.laws.draw_weights import systematic_resample
from engine.models.laws.laws import Laws
from engine.models.laws.observations import NOISE_DOF, NOISE_SCALE, Observations
from engine.models.laws.reference_frame import LawFeatures
from engine.models.laws.sampling import PosteriorDraws, posterior
from engine.models.laws.terms import DONE_AGAIN, Points

REPRESENTATIVE_LAWS = 300
"""Laws that stand for the posterior in predictions."""

FAR_MACHINES = 4.0
"""Multiple of the most machines of a run, at which laws are sorted to choose representatives."""

IDENTIFYING_LOG_SPREAD = 0.2
"""Runs that all lie on a cliff identify it if the log of the factor by which it multiplies their
work has more than this standard deviation."""

BLOCK_POINTS = 512
"""Points that are predicted at once."""


@dataclass(frozen=True, eq=False)
class LawPosterior:
    """d equally probable laws given r runs.

    Args:
        effects: (e, d) coefficients of the linear effects, given each law.
        residuals: (r,) log time less the mean law's, effects apart.
        variance: (r,) variance among the laws' predictions for the runs.
        side_factors: (2, r) factors of it below and above the mean.
        residuals_left_out: (r, r) the residuals about the mean law without run i (rows).
        variance_left_out: (r,) variance among the laws' predictions for run i without it.
        noise: scale of log time about the laws.
    """

    laws: Laws
    effects: FloatArray
    residuals: FloatArray
    variance: FloatArray
    side_factors: FloatArray
    residuals_left_out: FloatArray
    variance_left_out: FloatArray
    noise: float

    def moments(self, at: Points, effects: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """(n,) mean log time, effects apart, (n,) variance among the laws about it, effects
        included, and (2, n) factors of that variance below and above the mean. Where some laws say
        that the data fits and others that it does not, the harmonic mean of the two states stands
        for the mean, and the sides differ (`cliff_states`)."""
        mean, variance, sides = np.empty(len(at)), np.empty(len(at)), np.ones((2, len(at)))
        smooth, others, cores = self._without_cliff(at, effects, at.size)
        if cores is not None:
            mean[smooth], variance[smooth] = self._smooth_moments(cores, effects[smooth])
        for rows, part in self._blocks(at, others):
            law_effects = effects[rows] @ self.effects
            mean[rows], deviations, unsure = _mean_and_deviations(
                self.laws, self.laws.log_times_from(part), part.memory_per_input, law_effects
            )
            variance[rows] = _mean_square(deviations)
            sides[:, rows[unsure]] = side_variance_factors(deviations[unsure])
        return mean, variance, sides

    def means(
        self, at: Points, effects: FloatArray, sizes: FloatArray, iterations: FloatArray | None
    ) -> FloatArray:
        """(k, s, n) mean log time, effects apart, with each of k numbers of iterations and s sizes
        in place of the points' own; their own iterations (k = 1) for None."""
        iteration_counts = at.iterations[None] if iterations is None else iterations[:, None]
        if iterations is None and (at.iterations == at.iterations[:1]).all():
            iteration_counts = iteration_counts[:, :1]
        means = np.empty((len(iteration_counts), len(sizes), len(at)))
        smooth, others, cores = self._without_cliff(at, effects, sizes)
        if cores is not None:
            nodes = cores.nodes
            no_effects = np.zeros((len(nodes), effects.shape[1]))
            counts = iteration_counts if iterations is not None else nodes.iterations[None, :1]
            at_nodes = np.empty((len(counts), len(sizes), len(nodes)))
            self._fill_means(at_nodes, np.arange(len(nodes)), nodes, no_effects, sizes, counts)
            means[:, :, smooth] = cores.at_points(at_nodes)
        self._fill_means(means, others, at, effects, sizes, iteration_counts)
        return means

    def _fill_means(
        self,
        means: FloatArray,
        indices: IntArray,
        at: Points,
        effects: FloatArray,
        sizes: FloatArray,
        iterations: FloatArray,
    ) -> None:
        """Computes `means` (k, s, n) at some of the points, in blocks, with each of k numbers of
        iterations, (k, 1) or (k, n)."""
        for rows, part in self._blocks(at.with_size(1.0), indices):
            block_iterations = iterations if iterations.shape[1] == 1 else iterations[:, rows]
            means[:, :, rows] = self.laws.mean_log_times(
                part, effects[rows] @ self.effects, sizes, block_iterations
            )

    def _blocks(self, at: Points, rows: IntArray) -> Iterator[tuple[IntArray, LawFeatures]]:
        """Some of the points by their indices, with their features, in blocks small enough for the
        CPU's cache. Points of similar memory per input are together: where all data fits, no extra
        work is computed."""
        order = rows[np.argsort(at.memory_per_input[rows], kind="stable")]
        features = self.laws.frame.features(at.take(order))
        for start in range(0, len(order), BLOCK_POINTS):
            block = slice(start, start + BLOCK_POINTS)
            yield order[block], features.take(block)

    def _without_cliff(
        self, at: Points, effects: FloatArray, sizes: FloatArray
    ) -> tuple[IntArray, IntArray, CoreInterpolation | None]:
        """Indices of the points with known effects that meet the cliff of no law at any of the
        sizes, those of the others, and how to interpolate the first; all are among the others where
        that is not worth while."""
        largest = np.log(sizes).max(initial=-np.inf)
        per_input = at.with_size(1.0).memory_per_input - largest
        is_smooth = per_input >= self.laws.threshold.max()
        is_smooth &= np.isfinite(effects).all(axis=1)
        smooth = is_smooth.nonzero()[0]
        cores = CoreInterpolation.of(at.take(smooth))
        if cores is None:
            return smooth[:0], np.arange(len(at)), None
        return smooth, (~is_smooth).nonzero()[0], cores

    def _smooth_moments(
        self, cores: CoreInterpolation, effects: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """The first two of `moments` at points with (n, e) effects that meet no cliff, from the
        nodes of their interpolation."""
        # Relative to a usual point: laws that take longer have smaller effects, and the difference
        # of the two large variances would have fewer digits.
        usual = effects.mean(axis=0)
        centred = self.effects - self.effects.mean(axis=1)[:, None]
        parts = np.empty((2 + len(centred), len(cores.nodes)))
        for rows, part in self._blocks(cores.nodes, np.arange(len(cores.nodes))):
            deviations = self.laws.log_times_from(part)
            mean = deviations.mean(axis=1)
            deviations += usual @ centred - mean[:, None]
            with_effects = centred @ deviations.T / len(self.laws)
            parts[:, rows] = np.vstack((mean, _mean_square(deviations), with_effects))
        mean, variance, *covariances = cores.at_points(parts)
        apart = effects - usual
        variance += 2.0 * np.einsum("ne,en->n", apart, np.asarray(covariances))
        variance += np.einsum("ne,ne->n", apart @ (centred @ centred.T / len(self.laws)), apart)
        return mean, np.maximum(variance, 0.0)

    def with_larger_effects(self, ratios: FloatArray) -> LawPosterior:
        """The same for effects whose prior standard deviations are (e,) times as large."""
        return replace(self, effects=self.effects / ratios[:, None])

    def cliff_at(self, log_memory_per_input: float, runs: FloatArray) -> Cliff:
        """Whether data fits at a log memory per input, by the laws whose cliff is identified by the
        runs, at (r,) log memory per input. A cliff that affects all runs alike cannot be told from
        other work, nor can the memory be estimated that would avoid it."""
        beyond_cliff = (log_memory_per_input < self.laws.threshold) & self._identified_by(runs)
        probability = float(beyond_cliff.mean())
        if probability == 0.0:
            return Cliff(0.0, 1.0)
        shares = np.exp(self.laws.log_shares[beyond_cliff])
        extra_work = (
            shares[:, DONE_AGAIN].sum(axis=1)
            * np.exp(self.laws.log_height[beyond_cliff])
            * self.laws.extra_share(np.asarray([log_memory_per_input]), beyond_cliff.nonzero()[0])[
                0
            ]
            / shares.sum(axis=1)
        )
        return Cliff(probability, float(np.exp(np.log1p(extra_work).mean())))

    def _identified_by(self, runs: FloatArray) -> BoolArray:
        """(d,) whether runs lie on both sides of the threshold, or on such different parts of the
        cliff that its form is identified."""
        threshold, height = self.laws.threshold, np.exp(self.laws.log_height)
        differing = (
            np.log1p(height * self.laws.extra_share(runs, slice(None))).std(axis=0)
            > IDENTIFYING_LOG_SPREAD
        )
        return np.asarray(((runs.min() < threshold) & (threshold < runs.max())) | differing)


def _mean_and_deviations(
    laws: Laws, log_times: FloatArray, memory_per_input: FloatArray, effects: FloatArray
) -> tuple[FloatArray, FloatArray, IntArray]:
    """(n,) mean log time, effects apart, as of `LawPosterior.moments`, (n, d) deviations of the
    laws from it, effects included, and (m,) indices of points where it is open whether data fits.

    Args:
        log_times: (n, d) of n points by the laws; they become the deviations.
        memory_per_input: (n,) its logarithm.
        effects: (n, d) at the points, given each law.
    """
    mean = log_times.mean(axis=1)
    log_times += effects
    mean_with_effects = log_times.mean(axis=1)
    unsure, newly_unfit = laws.newly_unfit(memory_per_input)
    shift = np.zeros(len(mean))
    shift[unsure] = harmonic_mean_shift(
        newly_unfit / len(laws), log_times[unsure], mean_with_effects[unsure]
    )
    log_times -= (mean_with_effects + shift)[:, None]
    return mean + shift, log_times, unsure


def _mean_square(deviations: FloatArray) -> FloatArray:
    """(n,) mean square of the rows (n, d)."""
    return np.asarray(np.einsum("nd,nd->n", deviations, deviations) / deviations.shape[1])


@dataclass(frozen=True, slots=True)
class Cliff:
    """Whether data fits in memory at some memory per input.

    Args:
        probability: that it does not.
        slowdown: how many times as long the job then takes, on the fewest machines of the runs.
    """

    probability: float
    slowdown: float


def law_posterior(
    observations: Observations, draws: PosteriorDraws | None = None, *, seed: int = 0
) -> LawPosterior:
    """The posterior over laws given the runs, as equally probable laws; `draws` are those of the
    sampler, where these were made already."""
    draws = draws or posterior(observations, seed=seed)
    left_out, variance_left_out = _leave_one_out(draws)
    laws = _representative_laws(draws.laws, observations.points)
    log_times = laws.log_times_from(observations.features)
    residuals = observations.log_seconds[:, None] - log_times
    effects = observations.coefficients(residuals)
    mean, deviations, unsure = _mean_and_deviations(
        laws, log_times, observations.points.memory_per_input, observations.effects @ effects
    )
    side_factors = np.ones((2, len(observations)))
    side_factors[:, unsure] = side_variance_factors(deviations[unsure])
    sum_of_squares = NOISE_DOF * NOISE_SCALE**2 + observations.misfit(residuals).mean()
    return LawPosterior(
        laws=laws,
        effects=effects,
        residuals=observations.log_seconds - mean,
        variance=_mean_square(deviations),
        side_factors=side_factors,
        residuals_left_out=left_out,
        variance_left_out=variance_left_out,
        noise=float(np.sqrt(sum_of_squares / (NOISE_DOF + observations.runs - 1.0))),
    )


def _representative_laws(laws: Laws, runs: Points) -> Laws:
    """`REPRESENTATIVE_LAWS` laws that stand for all: systematically sampled from their order of
    times on more machines than any run had, where they differ most. Sorted by cliff, so that the
    laws whose cliff an input meets are a slice."""
    far = Points(*(getattr(runs, entry.name).max(keepdims=True) for entry in fields(runs)))
    order = np.argsort(laws.log_times(replace(far, machines=FAR_MACHINES * far.machines))[0])
    representatives = laws.take(
        order[systematic_resample(np.ones(len(laws)), REPRESENTATIVE_LAWS, 0.5)]
    )
    return representatives.take(np.argsort(-representatives.threshold, kind="stable"))


def _leave_one_out(draws: PosteriorDraws) -> tuple[FloatArray, FloatArray]:
    """(r, r) residuals about the mean law without run i (rows), and (r,) variance among the draws'
    predictions for run i without it."""
    observations = draws.observations
    errors, weights = draws.left_out
    mean = np.einsum("rd,rd->r", errors, weights)
    rows, newly_unfit = draws.tempered.newly_unfit(observations.points.memory_per_input)
    shift = np.zeros(len(observations))
    shift[rows] = harmonic_mean_shift(weights[rows] * newly_unfit, -errors[rows], -mean[rows])
    centred = errors - (mean - shift)[:, None]
    return weights @ draws.tempered_residuals.T - np.diag(shift), np.einsum(
        "rd,rd->r", centred**2, weights
    )
